"""Overlay -> engram name: a write with the plain file's bytes, mode and time."""

from __future__ import annotations

import os
import stat
from contextlib import ExitStack

from engine.model import Commit, Entry
from engramfs.address import EngramFile, Plain, forbidden_engram_shape
from engramfs.commits import Commits
from engramfs.errors import FsError
from engramfs.files import File, place_of
from engramfs.ground import Ground, read_all
from engramfs.handles import PlainHandle
from engramfs.ports import Caller
from engramfs.refusals import Refusals
from engramfs.staging import Staged, too_big


class Arriving:
    """Takes plain files, and refused bytes, as engrams."""

    def __init__(self, ground: Ground, commits: Commits, refusals: Refusals) -> None:
        self._ground = ground
        self._commits = commits
        self._refusals = refusals

    def arrive(self, old: Plain, new: EngramFile, no_replace: bool, caller: Caller) -> None:
        """EPROTO leaves everything as it was. EPERM for what is no regular file, EEXIST, EBUSY."""
        ground = self._ground
        found = ground.overlay.stat(old.parts)
        if not stat.S_ISREG(found.st_mode):
            raise FsError("EPERM", forbidden_engram_shape(new, "directory, symlink or fifo"))
        if found.st_size > ground.settings.file_bytes:
            raise too_big(ground.settings.file_bytes)
        writers = [
            (number, handle)
            for number, handle in list(ground.handles.items())
            if isinstance(handle, PlainHandle) and handle.inode == found.st_ino and handle.writes
        ]
        with ExitStack() as stack:
            for _, handle in writers:  # they wait: what they write next belongs to the engram
                stack.enter_context(handle.lock)
            descriptor = ground.overlay.open(old.parts, os.O_RDONLY)
            try:
                data = read_all(descriptor)
                found = os.fstat(descriptor)
            finally:
                os.close(descriptor)
            commit = self.write(
                new,
                data,
                no_replace,
                caller,
                mode=found.st_mode & 0o777,
                mtime_ns=found.st_mtime_ns,
                born_ns=ground.births.get(found.st_ino),
                file=ground.files.left_as(found.st_ino),
            )
            ground.births.pop(found.st_ino, None)
            for number, handle in writers:
                handle.became = self._staged(handle, new, data, commit.entry)
                if number in ground.handles:
                    ground.handles[number] = handle.became
            ground.overlay.unlink(old.parts)

    def write(
        self,
        new: EngramFile,
        data: bytes,
        no_replace: bool,
        caller: Caller,
        *,
        mode: int | None = None,
        mtime_ns: int | None = None,
        born_ns: int | None = None,
        file: File | None = None,
    ) -> Commit:
        """Put bytes at a path as a rename does: what stood there is replaced, not written into.

        `file` left for the overlay before, is still open, and comes back.
        """
        ground, place = self._ground, place_of(new)
        with ground.locks.hold(place, place if file is None else file.place):
            target = ground.entry(place)
            over = ground.files.get(place)
            taken = target is not None or (over is not None and over.pending and not over.refused)
            if no_replace and taken:
                raise FsError("EEXIST", f"{ground.path(new)} is there already")
            young = _younger(target, born_ns)
            if young and ground.settings.on_conflict == "refuse":
                raise self._refusals.conflict_refused(new, data)
            commit = self._commit(new, data, caller, mode, mtime_ns, target, over)
            if file is not None:
                self._return(file, commit.entry)
            ground.files.arrive(file, new, target, commit.entry)
            if young and commit.changed and target is not None:
                self._refusals.conflict(new, target)
            return commit

    def _return(self, file: File, entry: Entry) -> None:
        """What is written to the open file of an engram that comes back is the engram's again."""
        plain = self._ground.files.take_plain(file)
        if plain is not None:
            os.close(plain)
        self._ground.files.returned(file)
        for handle in file.staged():
            handle.base_entry, handle.amends = entry, entry.seq

    def _commit(
        self,
        new: EngramFile,
        data: bytes,
        caller: Caller,
        mode: int | None,
        mtime_ns: int | None,
        target: Entry | None,
        over: File | None,
    ) -> Commit:
        try:
            return self._commits.write_path(
                new,
                data,
                caller,
                mode=mode,
                mtime_ns=self._ground.clock() if mtime_ns is None else mtime_ns,
                inode=self._ground.engine.new_inode() if target is None else None,
                renamed_onto=True,
            )
        except FsError:
            if target is None and over is None:
                self._commits.stand_again_at(new)  # sed -i.bak, patch: the backup was made first
            raise

    def _staged(self, handle: PlainHandle, new: EngramFile, data: bytes, entry: Entry) -> Staged:
        """The same open file, writing the engram from now on."""
        staged = Staged(
            handle.caller.pid,
            base=data,
            base_entry=entry,
            readable=True,
            limit=self._ground.settings.file_bytes,
            now_ns=self._ground.clock(),
        )
        staged.amends = entry.seq
        staged.spare = handle.descriptor
        self._ground.files.attach(new, entry, staged)
        return staged


def _younger(target: Entry | None, born_ns: int | None) -> bool:
    """Was the target written after the temporary was created? Unknown where that was not seen."""
    return (
        born_ns is not None
        and target is not None
        and not target.empty
        and target.written_ns > born_ns
    )
