"""The mounts and the close watcher that the program tests share."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mounted import Mounted, mounted


@pytest.fixture(scope="session")
def closewatch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The preloaded library that compares fstat before every close with stat after it."""
    library = tmp_path_factory.mktemp("closewatch") / "closewatch.so"
    source = Path(__file__).with_name("closewatch.c")
    subprocess.run(
        ["gcc", "-O1", "-Wall", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True
    )
    return library


@pytest.fixture(scope="module", params=["shown", "never"])
def mount(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mounted]:
    """A mount whose documents carry their ids, and one that never shows any."""
    place = tmp_path_factory.mktemp(request.param)
    with mounted(place, flags=("--embed", "off", "--id-in-file", request.param)) as running:
        (running.root / "task").mkdir(exist_ok=True)
        yield running
