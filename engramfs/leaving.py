"""Engram -> overlay name: its bytes become a plain file, the engram is soft-deleted."""

from __future__ import annotations

import os
from itertools import count

from engine.model import Entry
from engramfs.address import EngramFile, Plain
from engramfs.errors import FsError
from engramfs.files import File, place_of
from engramfs.ground import HIDDEN, Ground, by, not_there
from engramfs.ports import Caller


class Leaving:
    """Writes plain files for engrams that leave."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._number = count(1).__next__

    def leave(self, old: EngramFile, new: Plain, no_replace: bool, caller: Caller) -> None:
        """ENOENT, EEXIST with `no_replace`, EISDIR."""
        ground = self._ground
        with ground.locks.hold(place_of(old)):
            source = ground.entry(place_of(old))
            file = ground.files.get(place_of(old))
            if source is not None:
                data, mode, mtime_ns = ground.source(source), source.mode, source.mtime_ns
            elif file is not None and file.pending and not file.refused:
                data, mode, mtime_ns = self._staged(file, caller)
            else:
                raise not_there()
            there = self._there(new)
            descriptor = self.write(new, data, mode, mtime_ns, no_replace, keep=True)
            try:
                self._delete(source, caller)
            except BaseException:
                os.close(descriptor)
                if not there:
                    ground.overlay.unlink(new.parts)
                raise
            inode = os.fstat(descriptor).st_ino
            written = file is not None and bool(file.staged())
            if not written:
                os.close(descriptor)
            if file is not None:
                ground.files.left(file, source, inode, descriptor if written else None)

    def write(
        self,
        new: Plain,
        data: bytes,
        mode: int,
        mtime_ns: int,
        no_replace: bool,
        *,
        keep: bool = False,
    ) -> int:
        """A plain file with these bytes, whole or not at all. `keep`: returns its descriptor."""
        ground = self._ground
        temporary = (*new.parts[:-1], f"{HIDDEN}-{os.getpid()}-{self._number()}")
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
        descriptor = ground.overlay.open(temporary, flags, mode)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            os.utime(descriptor, ns=(mtime_ns, mtime_ns))
            ground.overlay.rename(temporary, new.parts, 1 if no_replace else 0)
            ground.born(os.fstat(descriptor).st_ino)
        except BaseException:
            os.close(descriptor)
            ground.overlay.unlink(temporary)
            raise
        if not keep:
            os.close(descriptor)
            return -1
        return descriptor

    def _there(self, new: Plain) -> bool:
        try:
            self._ground.overlay.stat(new.parts)
        except FileNotFoundError:
            return False
        return True

    def _staged(self, file: File, caller: Caller) -> tuple[bytes, int, int]:
        """(bytes, mode, mtime) of a new file that is still open."""
        handle = file.dirty_of(caller) or next(iter(file.staged()), None)
        if handle is None:
            return b"", file.mode, file.born_ns
        if handle.poison is not None:
            raise FsError(handle.poison.code, handle.poison.message, handle.poison.hint)
        mode = file.mode if handle.kept_mode is None else handle.kept_mode
        return handle.content(lambda: self._ground.current(file)), mode, handle.mtime_ns

    def _delete(self, source: Entry | None, caller: Caller) -> None:
        ground = self._ground
        if source is None:
            return
        if source.empty:
            ground.engine.drop_blank(ground.scope, source.kind, source.slug)
        else:
            ground.engine.delete(ground.scope, source.id, why="overlay", by=by(caller))
