"""Waiting for what another thread or process does."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(condition: Callable[[], bool]) -> None:
    """Go on as soon as it is true. The time is only there to end a test that hangs."""
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.005)
