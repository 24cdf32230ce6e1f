"""Staged bytes -> the engine: commit or refuse, at flush, fsync, release, truncate and shutdown.

The rules are those of the contract's "Writing: fail closed, nothing lost". A place's lock is held
while its commit runs, so writers of one path take turns and nobody else waits.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from engine.errors import Conflict, EmbedderFailed, Invalid, StoreFull
from engine.model import Commit, Draft, Entry
from engramfs.address import EngramFile
from engramfs.aliases import Aliases
from engramfs.errors import FsError
from engramfs.files import File, place_of
from engramfs.ground import Ground, by, not_there
from engramfs.handles import Pinned
from engramfs.locks import Place
from engramfs.ports import Caller
from engramfs.refusals import Refusals
from engramfs.staging import Snapshot, Staged, too_big

log = logging.getLogger(__name__)

_TRIES = 8  # of a write that other writers outside the mount overtake again and again


class Commits:
    """Decides what becomes of the bytes of a handle."""

    def __init__(self, ground: Ground, refusals: Refusals, aliases: Aliases) -> None:
        self._ground = ground
        self._refusals = refusals
        self._aliases = aliases

    # -- when --------------------------------------------------------------
    def flush(self, handle: Staged, caller: Caller) -> None:
        """Every close. Does nothing for a clean handle, nor for a process that neither opened nor
        wrote it. Raises EPROTO, EBUSY, or the error of a failed write."""
        if not handle.dirty:
            return
        pid = caller.pid
        if not handle.belongs(pid):
            return
        defer = pid != handle.opener and self._ground.alive(handle.opener)
        try:
            if handle.poison is not None:
                raise handle.poison
            if not handle.empty:  # a shell closes between truncating and writing
                self.commit(handle, by(caller), defer=defer)
        finally:
            if handle.dirty:
                self._ground.closing.add(handle)  # `release` decides

    def fsync(self, handle: Staged, caller: Caller) -> None:
        """The caller wants to know now."""
        if not handle.dirty:
            return
        if handle.poison is not None:
            raise handle.poison
        if not handle.empty:
            self.commit(handle, by(caller))

    def release(self, handle: Staged) -> None:
        """The last descriptor of the handle is closed: what is not committed now never will be.

        A refusal is put on record, not raised: nobody hears the answer to a release.
        """
        try:
            self._release(handle)
        except StoreFull as error:
            full = FsError("ENOSPC", error.message, error.hint)
            with suppress(StoreFull):  # a line may fit where a document does not
                self._refusals.failed_write(handle.file.address, full)
            log.error("%s was not stored: %s", self._ground.path(handle.file.address), error)
            raise
        finally:
            self._ground.closing.drop(handle)

    def _release(self, handle: Staged) -> None:
        if not handle.dirty:
            return
        writer = f"pid:{handle.opener}"
        if handle.poison is not None:
            self._refusals.failed_write(handle.file.address, handle.poison)
            return
        if handle.empty:
            self._release_empty(handle, writer)
        elif handle.judged != handle.changes:
            try:
                self.commit(handle, writer)
            except FsError as error:
                if error.code not in ("EPROTO", "EBUSY", "EIO"):
                    raise

    # -- how ---------------------------------------------------------------
    @contextmanager
    def hold(self, file: File) -> Iterator[Place]:
        """The lock of the place where the file is; a rename may move it while we wait."""
        while True:
            place = file.place
            with self._ground.locks.hold(place):
                if file.place == place:
                    yield place
                    return

    def commit(self, handle: Staged, writer: str, *, defer: bool = False) -> None:
        """Store the staged bytes where the file is now.

        defer: the refusal is not for this caller; nothing is raised or recorded, the handle stays
        dirty. Raises EPROTO, EBUSY, EIO (an embedder that must run first failed), StoreFull.
        """
        ground, file = self._ground, handle.file
        self._follow(file)
        with self.hold(file):
            if file.gone or file.plain is not None:
                self._store_elsewhere(handle)
                return
            snapshot = handle.snapshot(lambda: ground.current(file))
            if snapshot.changes == handle.settled:
                return
            try:
                before, snapshot, commit = self._put(handle, writer)
            except (Invalid, EmbedderFailed, _Younger) as error:
                if defer:
                    return
                raise self._refused(handle, snapshot, error) from None
            self._stored(handle, snapshot, before, commit)

    def _store_elsewhere(self, handle: Staged) -> None:
        """The file was renamed to an overlay name, or is gone: then the bytes are kept."""
        file = handle.file
        snapshot = handle.snapshot(lambda: self._ground.current(file))
        if file.plain is not None:
            os.ftruncate(file.plain, len(snapshot.data))
            os.pwrite(file.plain, snapshot.data, 0)
            set_attributes(file.plain, handle.kept_mode, handle.mtime_ns)
        elif snapshot.data:
            self._refusals.late_write(file.address, snapshot.data)
        handle.committed(snapshot, None)

    def _put(self, handle: Staged, writer: str) -> tuple[Entry | None, Snapshot, Commit]:
        """(the version before, what was stored, the commit); again when somebody outside the mount
        committed in between and that matters: to an append, and under `on_conflict = "refuse"`."""
        ground, file = self._ground, handle.file
        strict = ground.settings.on_conflict == "refuse"
        for _ in range(_TRIES):
            before = ground.entry(file.place)
            snapshot = handle.snapshot(lambda: ground.current(file))
            if strict and not snapshot.appending and _younger(handle, before):
                raise _Younger
            expect = None
            if strict or snapshot.appending:
                expect = 0 if before is None else before.source_seq
            draft = Draft(
                kind=file.address.kind,
                slug=file.address.slug,
                source=snapshot.data,
                name=file.address.name if before is None else before.name,
                mode=_mode(handle, before),
                mtime_ns=handle.mtime_ns,
                ctime_ns=handle.ctime_ns,
                inode=file.inode if file.pending else None,
                by=writer,
                amends=handle.amends,
            )
            try:
                commit = ground.engine.put(ground.scope, draft, expect=expect)
            except Conflict:
                continue
            return before, snapshot, commit
        raise _Younger

    def _stored(
        self, handle: Staged, snapshot: Snapshot, before: Entry | None, commit: Commit
    ) -> None:
        file = handle.file
        if commit.changed and not snapshot.appending and before is not None:
            overtaken = commit.replaced is not None and commit.replaced != before.seq
            if _younger(handle, before) or overtaken:
                self._refusals.conflict(file.address, before)
        handle.committed(snapshot, commit.entry)
        file.settled(commit.entry)
        for other in list(file.handles):
            if isinstance(other, Pinned):
                _ = other.pid  # older than the committed bytes now: know its process while it lives

    def _refused(
        self, handle: Staged, snapshot: Snapshot, error: Invalid | EmbedderFailed | _Younger
    ) -> FsError:
        """Put it on record once, and let the engram that the path lost stand again."""
        file = handle.file
        if handle.judged != snapshot.changes or handle.error is None:
            if isinstance(error, _Younger):
                handle.error = self._refusals.conflict_refused(file.address, snapshot.data)
            else:
                handle.error = self._refusals.document(file.address, error, snapshot.data)
            handle.judged = snapshot.changes
        if file.pending:
            file.refused = True
            self.stand_again(file)
        return handle.error

    def stand_again(self, file: File) -> None:
        """The new content of a path was refused: the engram that it lost is revived at once."""
        lost = file.lost
        if lost is None:
            return
        address = file.address
        commit = self._ground.engine.revive(
            self._ground.scope, lost.id, kind=address.kind, slug=address.slug
        )
        file.settled(commit.entry)
        for handle in file.staged():
            handle.base_entry = commit.entry

    def stand_again_at(self, address: EngramFile) -> None:
        """A rename onto a path that lost an engram was refused: that engram stands again."""
        ground = self._ground
        lost = ground.engine.lost(ground.scope, address.kind, address.slug)
        if lost is not None:
            ground.engine.revive(ground.scope, lost.id, kind=address.kind, slug=address.slug)

    def _follow(self, file: File) -> None:
        """Know what became of the file: it may be unlinked, which is not removed yet; and another
        way in (the command line, the API) may have moved or deleted the engram."""
        if self._aliases.hides:
            self._aliases.hidden(file.address)
        if file.gone or file.pending or not file.id or file.plain is not None:
            return
        ground = self._ground
        here = ground.entry(file.place)
        if here is not None and here.id == file.id:
            return
        mine = ground.engine.by_id(ground.scope, file.id)
        if mine is None or not ground.shown(mine.kind):
            ground.files.detach(file, here)
        elif (mine.kind, mine.slug) == file.place:
            file.id = mine.id  # a copy took over its original's id
        else:
            directory = ground.engine.catalogue.directory(mine.kind)
            ground.files.move(file, EngramFile(mine.kind, directory, mine.slug, mine.name))

    # -- nothing in it -----------------------------------------------------
    def _release_empty(self, handle: Staged, writer: str) -> None:
        """Emptied and closed: the empty document if the kind allows it, else a blank if the file is
        new, else refused and on record."""
        ground, file = self._ground, handle.file
        self._follow(file)
        with self.hold(file):
            if file.gone or file.plain is not None:
                self._store_elsewhere(handle)
                return
            if file.pending and any(each is not handle and each.dirty for each in file.staged()):
                return  # another handle on the new file still decides
            before = ground.entry(file.place)
            snapshot = handle.snapshot(bytes)
            try:
                before, snapshot, commit = self._put(handle, writer)
            except (Invalid, EmbedderFailed, _Younger) as error:
                if isinstance(error, Invalid) and (before is None or before.empty):
                    self._keep_blank(handle, before)
                    handle.committed(snapshot, None)
                else:
                    self._refused(handle, snapshot, error)
                return
            self._stored(handle, snapshot, before, commit)

    def _keep_blank(self, handle: Staged, before: Entry | None) -> None:
        file = handle.file
        mode = handle.kept_mode
        if mode is None:
            mode = file.mode if before is None else before.mode
        self._ground.engine.keep_blank(
            self._ground.scope,
            file.address.kind,
            file.address.slug,
            file.address.name if before is None else before.name,
            file.inode if before is None else before.inode,
            mode,
            handle.mtime_ns,
            handle.ctime_ns,
        )
        file.pending = file.refused = False
        file.lost = None

    # -- without a handle --------------------------------------------------
    def write_path(
        self,
        address: EngramFile,
        source: bytes,
        caller: Caller,
        *,
        mode: int | None = None,
        mtime_ns: int | None = None,
        inode: int | None = None,
        renamed_onto: bool = False,
    ) -> Commit:
        """Commit bytes at a path at once: `truncate` by path, and what a rename brings.

        The caller holds the place's lock. Raises EPROTO (on record), StoreFull.
        """
        ground = self._ground
        if len(source) > ground.settings.file_bytes:
            raise too_big(ground.settings.file_bytes)
        draft = Draft(
            kind=address.kind,
            slug=address.slug,
            source=source,
            name=address.name,
            mode=mode,
            mtime_ns=mtime_ns,
            inode=inode,
            by=by(caller),
            renamed_onto=renamed_onto,
        )
        try:
            return ground.engine.put(ground.scope, draft)
        except (Invalid, EmbedderFailed) as error:
            raise self._refusals.document(address, error, source) from None

    def truncate_path(self, address: EngramFile, size: int, caller: Caller) -> None:
        """truncate(2): a commit of the first `size` bytes, judged like any other."""
        ground = self._ground
        with ground.locks.hold(place_of(address)):
            entry = ground.entry(place_of(address))
            if entry is None:
                raise not_there()
            if size > ground.settings.file_bytes:
                raise too_big(ground.settings.file_bytes)
            if entry.empty and size == 0:
                return
            source = ground.source(entry)[:size]
            source += bytes(size - len(source))
            self.write_path(address, source, caller, mtime_ns=ground.clock())


def set_attributes(descriptor: int, mode: int | None, mtime_ns: int | None) -> None:
    """chmod and utimens of a plain file that was an engram; None leaves a thing alone."""
    if mode is not None:
        os.fchmod(descriptor, mode)
    if mtime_ns is not None:
        os.utime(descriptor, ns=(mtime_ns, mtime_ns))


class _Younger(Exception):
    """Under `on_conflict = "refuse"`: the path's version is younger than the handle."""


def _younger(handle: Staged, before: Entry | None) -> bool:
    """Has the path another version than the one that the handle started from?"""
    if before is None or before.empty:
        return False
    base = handle.base_entry
    return base is None or base.source_seq != before.source_seq


def _mode(handle: Staged, before: Entry | None) -> int | None:
    """Permission bits that go with the commit: those set on the handle, or of the new file."""
    if handle.kept_mode is not None:
        return handle.kept_mode
    return handle.file.mode if before is None else None
