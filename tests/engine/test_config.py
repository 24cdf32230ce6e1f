"""What a host may set, and what is refused before anything is opened with it."""

from __future__ import annotations

import pytest

from engine.config import Config
from engine.errors import Invalid


@pytest.mark.parametrize(
    "zone", ["", "Mars/Olympus", "Europe", "../etc/passwd", "/UTC", "a\x00b", "\ud800"]
)
def test_a_time_zone_that_is_none_is_refused(zone: str) -> None:
    """It would fail every recall that looks at times."""
    with pytest.raises(Invalid) as refused:
        Config(time_zone=zone)
    assert [problem.key for problem in refused.value.problems] == ["time_zone"]


def test_a_role_that_is_none_is_refused() -> None:
    """Without any role that there is, everybody's words would be given."""
    with pytest.raises(Invalid, match="`usr` is no source role") as refused:
        Config(recall_source_roles=("usr", "user"), time_zone="Mars")
    assert [problem.key for problem in refused.value.problems] == [
        "time_zone",
        "recall_source_roles",
    ]
    assert Config(recall_source_roles=("user",), time_zone="Europe/Berlin").time_zone
