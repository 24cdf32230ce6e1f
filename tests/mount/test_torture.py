"""A few seconds of `scripts/torture`: random operations, compared with a dictionary."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.torturing.__main__ import run


@pytest.mark.parametrize("kills", [0, 1], ids=["undisturbed", "killed"])
def test_random_operations_agree_with_a_dictionary(tmp_path: Path, kills: int) -> None:
    assert run(tmp_path, seconds=4 + 3 * kills, processes=2, kills=kills, seed=kills) > 0
