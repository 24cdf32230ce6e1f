"""Settings of all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.ending import engines_end

# Nothing fails for being slow: a machine that is busy would decide about it. (`settings()` is what
# hypothesis has for this machine; on one that integrates it draws the same examples each time.)
settings.register_profile(
    "untimed", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("untimed")


@pytest.fixture(autouse=True)
def _engines_end_with_their_test() -> Iterator[None]:
    """Those of fixtures that several tests share are opened before, and end with these."""
    with engines_end():
        yield
