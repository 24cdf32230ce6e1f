"""chmod, chown, utimens and truncate.

On a path where the caller's process has a dirty handle they act on the handle and go with its
commit; otherwise on what is committed.
"""

from __future__ import annotations

import os
from contextlib import suppress

from engramfs.address import EngramFile, KindDirectory, Misnamed, Plain, Root, Special, Walk
from engramfs.aliases import Alias, Aliases
from engramfs.commits import Commits, set_attributes
from engramfs.errors import FsError
from engramfs.files import File, place_of
from engramfs.ground import Ground, OpenHandle, not_there
from engramfs.handles import Pinned, PlainHandle, Talk
from engramfs.inodes import Node
from engramfs.looking import missing
from engramfs.ports import Caller
from engramfs.staging import Staged

_KEEP_SIZE = 1  # FALLOC_FL_KEEP_SIZE


class Metadata:
    """Changes attributes."""

    def __init__(self, ground: Ground, aliases: Aliases, commits: Commits) -> None:
        self._ground = ground
        self._aliases = aliases
        self._commits = commits

    # -- permission bits -----------------------------------------------------
    def chmod(self, node: Node, mode: int, caller: Caller, handle: OpenHandle | None) -> None:
        """Permission bits only; setuid, setgid and sticky are dropped for engrams."""
        ground = self._ground
        ground.require_writable()
        if isinstance(handle, PlainHandle):
            os.fchmod(handle.descriptor, mode & 0o1777)
            return
        if isinstance(handle, Staged) and _waits(handle):
            handle.keep(ground.clock(), mode=mode & 0o777)
            return
        if isinstance(node, Plain):
            self._require_shown(node)
            ground.overlay.chmod(node.parts, mode)
            return
        if isinstance(node, Walk):
            raise FsError("EACCES", f"{node.top} is generated")
        file = self._engram_or_directory(node, handle)
        if isinstance(node, KindDirectory):
            ground.engine.set_directory(ground.scope, node.kind, mode=mode & 0o777)
        elif isinstance(node, Root):
            ground.chmod_root(mode)
        elif file is not None:
            self._attributes(file, caller, mode=mode & 0o777)

    def chown(
        self, node: Node, uid: int, gid: int, caller: Caller, handle: OpenHandle | None
    ) -> None:
        """Everything belongs to the mounting user: to them it is 0, root's wish is ignored."""
        ground = self._ground
        ground.require_writable()
        if isinstance(handle, PlainHandle):
            os.fchown(handle.descriptor, uid, gid)
            return
        if isinstance(node, Plain):
            self._require_shown(node)
            ground.overlay.chown(node.parts, uid, gid)
            return
        self._engram_or_directory(node, handle)
        mine = uid in (-1, ground.settings.uid) and gid in (-1, ground.settings.gid)
        if not mine and caller.uid != 0:
            raise FsError("EPERM", "engrams belong to the user who mounted them")

    # -- times ---------------------------------------------------------------
    def utimens(
        self,
        node: Node,
        atime_ns: int | None,
        mtime_ns: int | None,
        caller: Caller,
        handle: OpenHandle | None,
    ) -> None:
        """None leaves a time alone. An engram's atime is its mtime: it cannot be set alone."""
        ground = self._ground
        ground.require_writable()
        if isinstance(handle, PlainHandle):
            found = os.fstat(handle.descriptor)
            os.utime(handle.descriptor, ns=_times(found, atime_ns, mtime_ns))
            return
        if isinstance(handle, Staged) and _waits(handle):
            handle.keep(ground.clock(), mtime_ns=mtime_ns)
            return
        if isinstance(node, Plain):
            self._require_shown(node)
            found = ground.overlay.stat(node.parts)
            ground.overlay.utimens(node.parts, *_times(found, atime_ns, mtime_ns))
            return
        file = self._engram_or_directory(node, handle)
        if mtime_ns is None:
            return
        if isinstance(node, Root):
            ground.touch_root(mtime_ns)
        elif isinstance(node, KindDirectory):
            ground.engine.set_directory(ground.scope, node.kind, mtime_ns=mtime_ns)
            with suppress(FileNotFoundError):  # if no plain file was ever put there
                ground.overlay.utimens((node.directory,), mtime_ns, mtime_ns)
        elif file is not None:
            self._attributes(file, caller, mtime_ns=mtime_ns)

    # -- size ----------------------------------------------------------------
    def truncate(self, node: Node, size: int, caller: Caller, handle: OpenHandle | None) -> None:
        """EFBIG, EINVAL for a handle that only reads, EPROTO for a path that would be refused."""
        ground = self._ground
        if isinstance(handle, Talk):
            handle.session.truncate(size)
            return
        if isinstance(node, Special):
            mode = ground.control.mode(node.name.name) if node.request is None else None
            if mode is None or not mode & 0o222 or node.rest:
                raise FsError("EACCES", f"{node.name.name} is generated and can only be read")
            return  # a request is written whole; there is nothing to cut
        if isinstance(node, Walk):
            raise FsError("EACCES", f"{node.top} is generated", "open the file to empty it")
        ground.require_writable()
        if isinstance(handle, PlainHandle):
            os.ftruncate(handle.descriptor, size)
        elif isinstance(handle, Staged):
            self._cut(handle, size, caller)
        elif isinstance(handle, Pinned):
            raise FsError("EINVAL", "the file is open for reading only")
        elif isinstance(node, Plain):
            self._require_shown(node)
            descriptor = ground.overlay.open(node.parts, os.O_WRONLY)
            try:
                os.ftruncate(descriptor, size)
            finally:
                os.close(descriptor)
        elif isinstance(node, EngramFile):
            self._truncate_path(node, size, caller)
        elif isinstance(node, Alias):
            raise FsError("ESTALE", "the file was removed or replaced")
        elif isinstance(node, Misnamed):
            missing(node)
        else:
            raise FsError("EISDIR", "it is a directory")

    def reserve(self, handle: Staged, mode: int, size: int, caller: Caller) -> None:
        """fallocate: with KEEP_SIZE nothing is to be done; without, the file grows by zeroes."""
        if mode & ~_KEEP_SIZE:
            raise FsError("EOPNOTSUPP", "an engram's file has no holes and no blocks")
        file = handle.file
        if not mode & _KEEP_SIZE and size > handle.size(lambda: self._ground.current(file)):
            self._cut(handle, size, caller)

    def _truncate_path(self, address: EngramFile, size: int, caller: Caller) -> None:
        if self._aliases.hides and self._aliases.hidden(address):
            raise not_there()
        file = self._ground.files.get(place_of(address))
        own = None if file is None else self._pending_or_own(file, caller)
        if own is not None:
            self._cut(own, size, caller)
        else:
            self._commits.truncate_path(address, size, caller)

    def _cut(self, handle: Staged, size: int, caller: Caller) -> None:
        ground, file = self._ground, handle.file
        handle.truncate(
            size, pid=caller.pid, now_ns=ground.clock(), current=lambda: ground.current(file)
        )

    # -- what they share -------------------------------------------------------
    def _require_shown(self, address: Plain) -> None:
        if self._ground.outside(address.parts):
            raise not_there()
        if self._aliases.hides and self._aliases.hidden(address):
            raise not_there()

    def _engram_or_directory(self, node: Node, handle: OpenHandle | None) -> File | None:
        """The file whose attributes are meant; None for a directory. EACCES for generated ones."""
        if isinstance(handle, Staged):
            return handle.file
        if isinstance(handle, Pinned) and handle.file is not None:
            return handle.file
        if isinstance(node, EngramFile):
            if self._aliases.hides and self._aliases.hidden(node):
                raise not_there()
            file = self._ground.files.get(place_of(node))
            if file is not None:
                return file
            entry = self._ground.entry(place_of(node))
            if entry is None:
                raise not_there()
            return File(node, entry.id)
        if isinstance(node, Alias):
            if node.file is None:
                raise FsError("ESTALE", "the file was removed")
            return node.file
        if isinstance(node, Special):
            raise FsError("EACCES", f"{node.name.name} is generated")
        if isinstance(node, Misnamed):
            missing(node)
        return None

    def _pending_or_own(self, file: File, caller: Caller) -> Staged | None:
        """The caller's own dirty handle, or any handle of a file that has nothing committed."""
        own = file.dirty_of(caller)
        if own is None and file.pending and self._ground.entry(file.place) is None:
            own = next(iter(file.staged()), None)
        return own

    def _attributes(
        self,
        file: File,
        caller: Caller,
        *,
        mode: int | None = None,
        mtime_ns: int | None = None,
    ) -> None:
        ground = self._ground
        own = self._pending_or_own(file, caller)
        if own is not None:
            own.keep(ground.clock(), mode=mode, mtime_ns=mtime_ns)
            return
        if file.plain is not None:
            set_attributes(file.plain, mode, mtime_ns)
            return
        if file.gone:
            return  # nobody can see them any more
        with self._commits.hold(file) as place:
            entry = ground.entry(place)
            if entry is None:
                raise not_there()
            if not entry.empty:
                ground.engine.set_attributes(ground.scope, entry, mode=mode, mtime_ns=mtime_ns)
                return
            ground.engine.keep_blank(
                ground.scope,
                entry.kind,
                entry.slug,
                entry.name,
                entry.inode,
                entry.mode if mode is None else mode,
                entry.mtime_ns if mtime_ns is None else mtime_ns,
            )


def _waits(handle: Staged) -> bool:
    """Will the handle still commit something that attributes can go with?"""
    return handle.dirty or handle.file.gone


def _times(found: os.stat_result, atime_ns: int | None, mtime_ns: int | None) -> tuple[int, int]:
    return (
        found.st_atime_ns if atime_ns is None else atime_ns,
        found.st_mtime_ns if mtime_ns is None else mtime_ns,
    )
