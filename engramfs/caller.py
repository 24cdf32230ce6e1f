"""Who asks: the numbers that the kernel sends with a request, and what /proc tells about them."""

from __future__ import annotations

import os
import time

from engramfs.ports import Caller as AnyCaller

_KEPT_SECONDS = 1.0  # a thread number is not given out again so soon
_KEPT = 256
_processes: dict[int, tuple[float, int]] = {}


class Caller:
    """The caller of one operation. `pid` looks into /proc, the rest is at hand.

    The kernel names the thread; it waits for our answer, so /proc still shows it.
    """

    __slots__ = ("gid", "tid", "uid")

    def __init__(self, tid: int, uid: int, gid: int) -> None:
        self.tid = tid
        self.uid = uid
        self.gid = gid

    @property
    def pid(self) -> int:
        """The process of the thread; the thread's own number where /proc does not show it."""
        if self.tid == 0:
            return 0
        now = time.monotonic()
        known = _processes.get(self.tid)
        if known is not None and now - known[0] < _KEPT_SECONDS:
            return known[1]
        pid = process_of(self.tid)
        if len(_processes) >= _KEPT:
            _processes.clear()
        _processes[self.tid] = (now, pid)
        return pid

    @property
    def sid(self) -> int:
        """The session of the process; 0 where that is gone, or in another container."""
        try:
            return os.getsid(self.tid) if self.tid else 0
        except OSError:
            return 0


def asker(caller: AnyCaller) -> str:
    """Who asks, as demand tells sessions apart."""
    return f"{caller.uid}:{caller.sid}"


def process_of(tid: int) -> int:
    """The process (thread group) that the thread belongs to; `tid` itself when that is unknown."""
    try:
        with open(f"/proc/{tid}/status", "rb") as file:  # noqa: PTH123  (a hot path)
            status = file.read()
    except OSError:
        return tid
    at = status.find(b"\nTgid:")
    return int(status[at + 6 :].split(None, 1)[0]) if at >= 0 else tid
