"""Engram -> engram: one transaction of the engine, and the open files go along."""

from __future__ import annotations

from engine.config import Config
from engine.errors import Conflict, Invalid
from engine.model import Entry
from engramfs.address import EngramFile
from engramfs.commits import Commits
from engramfs.errors import FsError
from engramfs.files import File, place_of
from engramfs.ground import Ground, by, not_there
from engramfs.ports import Caller
from engramfs.refusals import Refusals
from engramfs.staging import Staged

_TEMPORARY_NS = Config().grace_ns  # an engram younger than this may be a program's temporary


class Moving:
    """Renames within the tree of engrams."""

    def __init__(self, ground: Ground, commits: Commits, refusals: Refusals) -> None:
        self._ground = ground
        self._commits = commits
        self._refusals = refusals

    def move(self, old: EngramFile, new: EngramFile, no_replace: bool, caller: Caller) -> None:
        """ENOENT, EEXIST with `no_replace`, EPROTO when the new kind refuses it, EBUSY."""
        ground = self._ground
        self._commit_own(old, caller)
        with ground.locks.hold(place_of(old), place_of(new)):
            source = ground.entry(place_of(old))
            file = ground.files.get(place_of(old))
            if source is None and (file is None or not file.pending or file.refused):
                raise not_there()
            if place_of(old) == place_of(new):
                self._respell(new, source, file, caller)
                return
            target = ground.entry(place_of(new))
            over = ground.files.get(place_of(new))
            taken = target is not None or (over is not None and over.pending and not over.refused)
            if no_replace and taken:
                raise FsError("EEXIST", f"{ground.path(new)} is there already")
            if source is None:
                assert file is not None
                self._move_pending(file, new, taken, target, caller)
            elif source.empty:
                self._move_blank(source, file, new, taken, target, caller)
            else:
                self._move_engram(source, file, new, target, over, caller)

    # -- the four things that can be moved -----------------------------------
    def _move_engram(
        self,
        source: Entry,
        file: File | None,
        new: EngramFile,
        target: Entry | None,
        over: File | None,
        caller: Caller,
    ) -> None:
        ground = self._ground
        young = target is not None and self._younger(source, target)
        if young and ground.settings.on_conflict == "refuse":
            raise self._refusals.conflict_refused(new, ground.source(source))
        try:
            commit = ground.engine.rename(
                ground.scope, source.id, new.kind, new.slug, name=new.name, by=by(caller),
                rewrite=ground.settings.rewrite_links,
            )  # fmt: skip
        except Conflict as error:
            raise FsError("EEXIST", error.message, error.hint) from None
        except Invalid as error:
            refusal = self._refusals.document(new, error, None)
            if target is None and over is None:
                self._commits.stand_again_at(new)
            raise refusal from None
        ground.files.arrive(file, new, target, commit.entry)
        if young and target is not None:
            self._refusals.conflict(new, target)

    def _move_blank(
        self,
        source: Entry,
        file: File | None,
        new: EngramFile,
        taken: bool,
        target: Entry | None,
        caller: Caller,
    ) -> None:
        """An empty entry moves as it is; onto something it is a write of the empty document."""
        ground = self._ground
        if taken:
            put = self._commits.write_path(new, b"", caller, mtime_ns=source.mtime_ns).entry
        else:
            put = self._keep(source, new)
        ground.engine.drop_blank(ground.scope, source.kind, source.slug)
        ground.files.arrive(file, new, target, put)

    def _move_pending(
        self,
        file: File,
        new: EngramFile,
        taken: bool,
        target: Entry | None,
        caller: Caller,
    ) -> None:
        """A new file that is still open: what is written so far is committed at the new name."""
        ground = self._ground
        handle = file.dirty_of(caller) or next((each for each in file.staged()), None)
        if handle is not None and handle.poison is not None:
            raise handle.poison
        if (handle is None or not handle.dirty or handle.empty) and not taken:
            ground.files.arrive(file, new, target, None)
            file.lost = ground.engine.lost(ground.scope, new.kind, new.slug)
            return
        snapshot = None if handle is None else handle.snapshot(lambda: ground.current(file))
        commit = self._commits.write_path(
            new,
            b"" if snapshot is None else snapshot.data,
            caller,
            mode=_mode(file, handle),
            mtime_ns=None if handle is None else handle.mtime_ns,
            inode=file.inode,
            renamed_onto=True,
        )
        ground.files.arrive(file, new, target, commit.entry)
        file.settled(commit.entry)
        if handle is not None and snapshot is not None:
            handle.committed(snapshot, commit.entry)

    def _respell(
        self, new: EngramFile, source: Entry | None, file: File | None, caller: Caller
    ) -> None:
        """The same name in another normal form: a listing shows the bytes of the last rename."""
        ground = self._ground
        if source is not None and source.name != new.name:
            if source.empty:
                self._keep(source, new)
            else:
                ground.engine.rename(
                    ground.scope, source.id, new.kind, new.slug, name=new.name, by=by(caller)
                )
        if file is not None:
            file.address = new

    # -- what they share -----------------------------------------------------
    def _commit_own(self, old: EngramFile, caller: Caller) -> None:
        """A program that renames an engram it is still writing means the bytes written so far.

        Before the two places are locked: a commit takes the lock of its own.
        """
        file = self._ground.files.get(place_of(old))
        own = None if file is None or file.pending else file.dirty_of(caller)
        if own is None:
            return
        if own.poison is not None:
            raise own.poison
        if not own.empty:
            self._commits.commit(own, by(caller))

    def _keep(self, source: Entry, new: EngramFile) -> Entry:
        return self._ground.engine.keep_blank(
            self._ground.scope,
            new.kind,
            new.slug,
            new.name,
            source.inode,
            source.mode,
            source.mtime_ns,
        )

    def _younger(self, source: Entry, target: Entry) -> bool:
        """Is `source` a temporary, and was the target written after it was made?"""
        temporary = self._ground.clock() - source.created_ns <= _TEMPORARY_NS
        return temporary and not target.empty and target.written_ns > source.created_ns


def _mode(file: File, handle: Staged | None) -> int:
    if handle is None or handle.kept_mode is None:
        return file.mode
    return handle.kept_mode
