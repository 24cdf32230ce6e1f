"""Who asks: the numbers that the kernel sends with a request, and what /proc tells about them."""

from __future__ import annotations

import time

_KEPT_SECONDS = 1.0  # a thread number is not given out again so soon
_KEPT = 256
_processes: dict[int, tuple[float, int]] = {}


class Caller:
    """The caller of one operation. `pid` and `sid` look into /proc, the rest is at hand.

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
        """The session of the process; 0 where /proc does not show it."""
        return session_of(self.pid)


def process_of(tid: int) -> int:
    """The process (thread group) that the thread belongs to; `tid` itself when that is unknown."""
    try:
        with open(f"/proc/{tid}/status", "rb") as file:  # noqa: PTH123  (a hot path)
            status = file.read()
    except OSError:
        return tid
    at = status.find(b"\nTgid:")
    return int(status[at + 6 :].split(None, 1)[0]) if at >= 0 else tid


def session_of(pid: int) -> int:
    """The session id of a process, 0 when that is unknown."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            stat = file.read()
    except OSError:
        return 0
    # The command name stands in parentheses and may hold anything, so count behind the last one:
    # state, parent, process group, session.
    fields = stat[stat.rfind(b")") + 1 :].split()
    return int(fields[3]) if len(fields) > 3 else 0
