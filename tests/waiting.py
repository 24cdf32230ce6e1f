"""Waiting for what another thread or process does."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from engramfs.alive import alive


def until(condition: Callable[[], bool]) -> None:
    """Go on as soon as it is true. The time is only there to end a test that hangs."""
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.005)


def gone(pid: int) -> bool:
    """Has the process ended, with all its threads, so that it holds nothing any more? Nobody may
    have waited for it yet."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except FileNotFoundError:
        return True
    return threads == [str(pid)] and not alive(pid)
