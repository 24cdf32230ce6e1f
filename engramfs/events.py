"""The log behind `.events`: one JSON object a line for every commit since the mount.

It only grows, as a file that is followed must; the last megabyte is kept. A reader's offset 0 is
the oldest line that was kept when it opened the log, so `cat` sees what there is and `tail -f`
goes on from there however much is dropped behind it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from engine.model import Change
from engine.slug import nfc
from engramfs.errors import FsError
from engramfs.render import as_json, instant

KEPT_BYTES = 1 << 20
Paths = Callable[[str, str], str]


class EventLog:
    """Lines in memory. Safe from any thread."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._lock = threading.Lock()
        self._kept_bytes = kept_bytes
        self._lines: deque[bytes] = deque()
        self._start = 0  # bytes dropped so far
        self._end = 0  # bytes ever appended

    def append(self, line: bytes) -> None:
        """Add one line, which ends with a line feed."""
        with self._lock:
            self._lines.append(line)
            self._end += len(line)
            while self._end - self._start > self._kept_bytes and len(self._lines) > 1:
                self._start += len(self._lines.popleft())

    def whole(self) -> bytes:
        """The lines that are kept."""
        with self._lock:
            return b"".join(self._lines)

    def follow(self) -> Follower:
        """A reader that begins with the oldest line kept now."""
        with self._lock:
            return Follower(self, self._start)

    def extent(self) -> tuple[int, int]:
        """(bytes dropped so far, bytes ever appended)."""
        with self._lock:
            return self._start, self._end

    def read(self, start: int, size: int) -> bytes:
        """At most `size` bytes from the place `start`, counted over everything ever appended."""
        with self._lock:
            begin = self._end
            if start >= begin:
                return b""
            pieces: list[bytes] = []
            for line in reversed(self._lines):  # followers read near the end
                pieces.append(line)
                begin -= len(line)
                if begin <= start:
                    break
            skip = max(0, start - begin)
            return b"".join(reversed(pieces))[skip : skip + size]


class Follower:
    """One open `.events`, as a session (`engramfs.ports.Session`)."""

    def __init__(self, log: EventLog, base: int) -> None:
        self._log = log
        self._base = base

    def size(self) -> int:
        """What fstat shows for this handle now."""
        return self._log.extent()[1] - self._base

    def read(self, size: int, offset: int) -> bytes:
        """Bytes at `offset` of this handle; b"" when nothing is there yet.

        A reader so slow that its place was dropped goes on with the oldest line kept.
        """
        dropped = self._log.extent()[0]
        if self._base + offset < dropped:
            self._base = dropped - offset
        return self._log.read(self._base + offset, size)

    def write(self, data: bytes, offset: int) -> int:
        """Always refused."""
        raise FsError("EACCES", ".events is generated; it can only be read")

    def truncate(self, size: int) -> None:
        """Always refused."""
        raise FsError("EACCES", ".events is generated; it can only be read")

    def flush(self) -> None:
        """Nothing is pending."""

    def close(self) -> None:
        """Nothing is held."""


def within(change: Change, kinds: frozenset[str] | None) -> Change | None:
    """A commit as it is for whoever sees these kinds (None: all) alone; None for one of others.

    What comes from a kind that they do not see is new to them, and what leaves to one is gone.
    """
    here = kinds is None or change.kind in kinds
    former = change.former
    if kinds is None or former is None or (here and former[0] in kinds):
        return change if here else None
    if here:
        return replace(change, event="create", former=None)
    if former[0] not in kinds:
        return None
    kind, name = former
    return replace(change, event="delete", kind=kind, slug=nfc(name), name=name, former=None)


def line_of(change: Change, path_of: Paths) -> bytes:
    """The line of `.events` for one commit; `path_of(kind, name)` is the path shown to users."""
    shown = {
        "time": instant(change.time_ns, milliseconds=True),
        "event": change.event,
        "path": path_of(change.kind, change.name),
        "id": change.id,
    }
    if change.former is not None:
        shown["from"] = path_of(*change.former)
    return as_json(shown)
