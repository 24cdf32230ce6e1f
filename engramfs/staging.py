"""A handle that writes an engram: its bytes are staged here until a flush commits them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.model import Entry
from engramfs.errors import FsError

if TYPE_CHECKING:
    from engramfs.files import File

Current = Callable[[], bytes]  # the bytes of the file as committed now


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Staged bytes at one moment. `changes` tells whether more was written since."""

    data: bytes
    changes: int
    appended: int  # how many bytes of `data` come from appends; 0 for a whole-file handle
    appending: bool


class Staged:
    """One writer's view of a file: whole-file bytes, or only what it appended.

    `base` are the bytes at open, the starting point of writes in place; None where they are not
    needed. `changes` counts writes and truncations, `settled` is its value at the last commit.
    """

    __slots__ = (
        "_limit", "amends", "appended", "base", "base_entry", "changed_ns", "changes", "error",
        "file", "judged", "kept_at_ns", "kept_mode", "kept_mtime_ns", "lock", "opener", "poison",
        "readable", "settled", "spare", "whole", "writers",
    )  # fmt: skip

    file: File  # given by `Files.attach`

    def __init__(
        self,
        opener: int,
        *,
        base: bytes | None,
        base_entry: Entry | None,
        readable: bool,
        limit: int,
        now_ns: int,
    ) -> None:
        self.opener = opener  # process
        self.writers: set[int] = set()  # processes
        self.base = base
        self.base_entry = base_entry
        self.readable = readable
        self.whole: bytearray | None = None
        self.appended = bytearray()
        self.changes = 0
        self.settled = 0
        self.changed_ns = now_ns
        self.kept_mtime_ns: int | None = None  # set by utimens; a later write clears it
        self.kept_mode: int | None = None
        self.kept_at_ns = 0  # when one of them was set
        self.poison: FsError | None = None
        self.judged = -1  # value of `changes` whose refusal is on record already
        self.error: FsError | None = None  # … and what it raised
        self.amends: int | None = None  # seq of this handle's last commit
        self.spare: int | None = None  # descriptor of the plain file it was before a rename
        self.lock = threading.RLock()
        self._limit = limit

    # -- what it is --------------------------------------------------------
    @property
    def dirty(self) -> bool:
        return self.changes != self.settled

    @property
    def empty(self) -> bool:
        """Emptied, and nothing written since."""
        return self.whole is not None and not self.whole

    @property
    def mtime_ns(self) -> int:
        return self.changed_ns if self.kept_mtime_ns is None else self.kept_mtime_ns

    @property
    def ctime_ns(self) -> int:
        """When its bytes or attributes changed last."""
        return max(self.changed_ns, self.kept_at_ns)

    def belongs(self, pid: int) -> bool:
        """Did this process open or write it?"""
        return pid == self.opener or pid in self.writers

    def shows(self, current: Entry | None) -> bool:
        """Does its process see other attributes than everybody else, who see `current`?"""
        if self.dirty:
            return True
        base = self.base_entry
        return (
            self.readable
            and base is not None
            and current is not None
            and base.source_seq != current.source_seq
        )

    def content(self, current: Current) -> bytes:
        """The bytes as this handle sees them."""
        with self.lock:
            if self.whole is not None:
                return bytes(self.whole)
            if self.appended or self.base is None:
                return current() + self.appended
            return self.base

    def size(self, current: Current) -> int:
        with self.lock:
            if self.whole is not None:
                return len(self.whole)
            return len(self.content(current))

    def read(self, size: int, offset: int, current: Current) -> bytes:
        with self.lock:
            if self.whole is not None:
                return bytes(self.whole[offset : offset + size])
            return self.content(current)[offset : offset + size]

    # -- changing it -------------------------------------------------------
    def write(
        self, data: bytes, offset: int, *, append: bool, pid: int, now_ns: int, current: Current
    ) -> int:
        """Stage `data`. With `append` the offset is ignored: the kernel's may be stale.

        EFBIG poisons the handle: until it is truncated nothing of it can be committed.
        """
        with self.lock:
            if self.poison is not None:
                raise self.poison
            if not data:
                return 0
            if append and self.whole is None:
                self._fit(len(current()) + len(self.appended) + len(data))
                self.appended += data
            else:
                at = len(self._all(current)) if append else offset
                self._fit(at + len(data))
                whole = self._all(current)
                if at > len(whole):
                    whole.extend(bytes(at - len(whole)))
                whole[at : at + len(data)] = data
            self._changed(pid, now_ns)
            return len(data)

    def truncate(self, size: int, *, pid: int, now_ns: int, current: Current) -> None:
        """Cut or extend with zeroes; makes it a whole-file handle, and lifts the poison."""
        with self.lock:
            if size > self._limit:
                raise too_big(self._limit)
            if size == 0:
                self.whole = bytearray()
                self.appended = bytearray()
            whole = self._all(current)
            if size < len(whole):
                del whole[size:]
            else:
                whole.extend(bytes(size - len(whole)))
            self.poison = None
            self._changed(pid, now_ns)

    def keep(self, now_ns: int, *, mode: int | None = None, mtime_ns: int | None = None) -> None:
        """Attributes set before the commit; they go with it."""
        with self.lock:
            self.kept_at_ns = now_ns
            if mode is not None:
                self.kept_mode = mode
            if mtime_ns is not None:
                self.kept_mtime_ns = mtime_ns

    def _changed(self, pid: int, now_ns: int) -> None:
        self.writers.add(pid)
        self.changes += 1
        self.changed_ns = now_ns
        self.kept_mtime_ns = None

    def _all(self, current: Current) -> bytearray:
        if self.whole is None:
            start = current() if self.appended or self.base is None else self.base
            self.whole = bytearray(start) + self.appended
            self.appended = bytearray()
        return self.whole

    def _fit(self, size: int) -> None:
        if size > self._limit:
            self.poison = too_big(self._limit)
            raise self.poison

    # -- committing it -----------------------------------------------------
    def snapshot(self, current: Current) -> Snapshot:
        with self.lock:
            return Snapshot(
                self.content(current), self.changes, len(self.appended), self.whole is None
            )

    def committed(self, snapshot: Snapshot, entry: Entry | None) -> None:
        """`snapshot` is stored now, as `entry` (None: it went elsewhere)."""
        with self.lock:
            self.settled = snapshot.changes
            self.error = None
            if snapshot.appending:
                self.base = snapshot.data
                del self.appended[: snapshot.appended]
            if entry is not None:
                self.base_entry = entry
                self.amends = entry.seq
            if self.changes == snapshot.changes:
                self.kept_mode = self.kept_mtime_ns = None


def too_big(limit: int) -> FsError:
    """EFBIG."""
    return FsError(
        "EFBIG",
        f"an engram can have {limit // (1 << 20)} MiB at most",
        "keep what is larger beside it, as an attachment",
    )
