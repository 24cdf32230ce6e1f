"""The protocol-free filesystem, keyed by inode: what a program sees, without any FUSE.

Every operation raises FsError, an engine error, or OSError (from the overlay);
`engramfs.errno_table.number` maps all three. Anything else is a bug.
Flags are Linux's numbers (os.O_*); rename flags 1 NOREPLACE, 2 EXCHANGE, 4 WHITEOUT.
`caller` is who asks (`engramfs.ports.Caller`; `pid` is read lazily).
Handles are integers of this tree, never file descriptors.

The rooms: looking (paths, attributes), listing, opener, staging and commits (writes), metadata,
xattrs, making, renaming (moving, leaving, arriving), aliases (libfuse's hidden files), rejected,
walks (`.graph` and `.views`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.errors import EngineError
from engramfs import alive as processes
from engramfs import overlay as plain
from engramfs.aliases import Alias, Aliases
from engramfs.arriving import Arriving
from engramfs.commits import Commits
from engramfs.errors import FsError
from engramfs.ground import Ground, OpenHandle
from engramfs.ground import TreeSettings as TreeSettings
from engramfs.handles import Pinned, PlainHandle, Talk, bad_handle
from engramfs.inodes import ROOT as ROOT
from engramfs.inodes import Node
from engramfs.leaving import Leaving
from engramfs.listing import Listing
from engramfs.looking import Looking
from engramfs.making import Making
from engramfs.metadata import Metadata
from engramfs.moving import Moving
from engramfs.opener import Opener
from engramfs.ports import Attributes, Caller, Control, Listed, Opened, Overlay
from engramfs.refusals import Refusals
from engramfs.refused_names import RefusedNames, tells
from engramfs.rejected import RejectedFiles
from engramfs.renaming import Renaming
from engramfs.staging import Staged
from engramfs.walks import Walks
from engramfs.xattrs import Xattrs

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.namespace import Scope


class Tree:
    """One mountpoint over one engine and one exact scope."""

    def __init__(
        self,
        engine: Engine,
        scope: Scope,
        overlay: Overlay,
        control: Control,
        settings: TreeSettings | None = None,
        *,
        clock: Callable[[], int] = time.time_ns,
        alive: Callable[[int], bool] = processes.alive,
        holds: Callable[[int, str], bool] = processes.holds,
    ) -> None:
        """`clock` gives nanoseconds; `alive` tells whether a process still exists, `holds`
        whether it has a file open."""
        settings = settings or TreeSettings()
        ground = Ground(engine, scope, overlay, control, settings, clock, alive, holds)
        refusals = Refusals(ground)
        rejected = RejectedFiles(ground)
        self._ground = ground
        self.names = RefusedNames(ground)
        self._aliases = Aliases(
            ground, lambda address, writer: self._making.remove(address, writer)
        )
        self._walks = walks = Walks(ground, self._aliases, self.names)
        self._looking = Looking(ground, self._aliases, rejected, walks)
        self._commits = Commits(ground, refusals, self._aliases)
        self._opener = Opener(ground, self._looking, self._aliases, rejected, walks)
        self._making = Making(ground, self._opener, self._aliases, rejected, walks)
        self._metadata = Metadata(ground, self._aliases, self._commits)
        self._xattrs = Xattrs(ground, self._aliases)
        self._listing = Listing(ground, self._aliases, rejected, walks)
        self._renaming = Renaming(
            ground,
            self._looking,
            self._aliases,
            self._opener,
            rejected,
            walks,
            Moving(ground, self._commits, refusals),
            Leaving(ground),
            Arriving(ground, self._commits, refusals),
        )

    # -- names -------------------------------------------------------------
    def resolve(self, path: str, caller: Caller) -> int:
        """ "/deal/acme.md" -> inode. Serves `.fuse_hidden*` aliases too. ENOENT, ENOTDIR.

        An alias has a number of its own; its attributes show the file's inode.
        """
        return self._looking.number(self._looking.parse(path), caller)

    def lookup(self, parent: int, name: str, caller: Caller) -> Attributes:
        """The attributes of an entry of a directory; its inode can be used from then on."""
        self._step()
        address = self._looking.child(parent, name)
        self._looking.number(address, caller)
        return self._looking.look(address, caller)

    def stat(self, path: str, caller: Caller) -> Attributes:
        """`resolve` and `getattr` in one, for a binding that knows paths: half the work."""
        self._step()
        return self._looking.stat(path, caller)

    # -- attributes --------------------------------------------------------
    def getattr(self, inode: int, caller: Caller, handle: int | None = None) -> Attributes:
        """ENOENT, ESTALE."""
        self._step()
        if handle is not None:
            held = self._ground.handles.get(handle)
            found = None if held is None else self._looking.fstat(held, caller)
            if found is not None:
                return found
        node = self._ground.inodes.node(inode)
        if isinstance(node, Alias):
            return self._looking.alias(node, caller)
        return self._looking.look(node, caller)

    def chmod(self, inode: int, mode: int, caller: Caller, handle: int | None = None) -> None:
        """On a dirty handle of the caller's process it goes with the commit."""
        self._step()
        node, held = self._both(inode, handle)
        self._metadata.chmod(node, mode, caller, held)

    def chown(
        self, inode: int, uid: int, gid: int, caller: Caller, handle: int | None = None
    ) -> None:
        """-1 leaves a number alone. EPERM unless it changes nothing, or root asks."""
        self._step()
        node, held = self._both(inode, handle)
        self._metadata.chown(node, uid, gid, caller, held)

    def utimens(
        self,
        inode: int,
        atime_ns: int | None,
        mtime_ns: int | None,
        caller: Caller,
        handle: int | None = None,
    ) -> None:
        """None leaves a time alone (UTIME_OMIT); the adapter turns UTIME_NOW into the clock."""
        self._step()
        node, held = self._both(inode, handle)
        self._metadata.utimens(node, atime_ns, mtime_ns, caller, held)

    def truncate(self, inode: int, size: int, caller: Caller, handle: int | None = None) -> None:
        """By handle it is staged; by path it is a commit, refused with EPROTO."""
        self._step()
        node, held = self._both(inode, handle)
        self._metadata.truncate(node, size, caller, held)

    # -- files -------------------------------------------------------------
    def open(self, inode: int, flags: int, caller: Caller) -> Opened:
        """Readers' bytes are pinned; a write handle is staged until flush, fsync or rename."""
        self._step()
        return self._opener.open(self._ground.inodes.node(inode), flags, caller)

    @tells(0)
    def create(
        self, parent: int, name: str, mode: int, flags: int, caller: Caller
    ) -> tuple[Attributes, Opened]:
        """Open the file, made first where it is missing (EEXIST with O_EXCL)."""
        self._step()
        address = self._looking.child(parent, name)
        found, opened = self._opener.create(address, mode, flags, caller)
        self._ground.inodes.remember(found.inode, address)
        return found, opened

    def read(self, handle: int, size: int, offset: int) -> bytes:
        """EBADF; EIO is an error of the store."""
        held = self._ground.handles.get(handle)
        if isinstance(held, Staged):
            file = held.file
            return held.read(size, offset, lambda: self._ground.current(file))
        if held is None:
            raise bad_handle()
        return held.read(size, offset)

    def write(self, handle: int, data: bytes, offset: int, flags: int, caller: Caller) -> int:
        """`flags`: the open flags as the kernel sends them with this write (O_APPEND). EFBIG."""
        self._step()
        held = self._ground.handles.get(handle)
        if isinstance(held, PlainHandle):
            with held.lock:
                if held.became is None:
                    return held.write(data, offset, flags)
            held = held.became
        if isinstance(held, Staged):
            return self._stage(held, data, offset, flags, caller)
        if isinstance(held, Talk):
            return held.session.write(data, offset)
        raise bad_handle()

    def fallocate(self, handle: int, mode: int, offset: int, length: int, caller: Caller) -> None:
        """Of an engram, whose bytes are staged in memory, only the size can be reserved."""
        self._step()
        held = self._ground.handles.get(handle)
        if isinstance(held, PlainHandle):
            plain.fallocate(held.descriptor, mode, offset, length)
        elif isinstance(held, Staged):
            self._metadata.reserve(held, mode, offset + length, caller)
        else:
            raise bad_handle()

    def flush(self, handle: int, caller: Caller) -> None:
        """Every close. EPROTO: refused, read `.errors`."""
        self._step()
        held = self._ground.handles.get(handle)
        if isinstance(held, Staged):
            self._commits.flush(held, caller)
        elif isinstance(held, Talk):
            held.session.flush()

    def fsync(self, handle: int, caller: Caller) -> None:
        """Like flush, for whoever asks."""
        self._step()
        held = self._ground.handles.get(handle)
        if isinstance(held, Staged):
            self._commits.fsync(held, caller)
        elif isinstance(held, PlainHandle):
            os.fsync(held.descriptor)

    def release(self, handle: int, caller: Caller) -> None:
        """The last descriptor is closed: what is dirty is committed, or refused and on record."""
        if self._aliases.hides:
            self._aliases.step()
        held = self._ground.handles.pop(handle, None)
        if isinstance(held, Pinned):
            if held.file is not None:
                self._leave(held)
            else:
                self._looking.forget(held)
        elif isinstance(held, Staged):
            try:
                self._commits.release(held)
            finally:
                self._leave(held)
        elif isinstance(held, PlainHandle):
            if held.became is None:
                held.close()
        elif isinstance(held, Talk):
            self._looking.forget(held)
            self._walks.forget(held)
            held.session.close()

    # -- directories -------------------------------------------------------
    def readdir(self, inode: int, caller: Caller) -> list[Listed]:
        """Without `.` and `..`."""
        self._step()
        return self._listing.entries(self._ground.inodes.node(inode), caller)

    @tells(0)
    def mkdir(self, parent: int, name: str, mode: int, caller: Caller) -> Attributes:
        """A plain directory, or in open mode a kind."""
        self._step()
        self._making.mkdir(self._looking.child(parent, name), mode)
        return self.lookup(parent, name, caller)

    def rmdir(self, parent: int, name: str, caller: Caller) -> None:
        """ENOTEMPTY. An empty kind of a catalogue: nothing happens."""
        self._step()
        self._making.rmdir(self._looking.child(parent, name))

    def unlink(self, parent: int, name: str, caller: Caller) -> None:
        """A soft delete for engrams."""
        self._step()
        self._making.unlink(self._looking.child(parent, name), caller)

    @tells(2)
    def rename(
        self, parent: int, name: str, new_parent: int, new_name: str, flags: int, caller: Caller
    ) -> None:
        """renameat2. EPROTO leaves everything as it was."""
        old = self._looking.child(parent, name)
        new = self._looking.child(new_parent, new_name)
        self._renaming.rename(old, new, flags, caller)

    @tells(0)
    def mknod(self, parent: int, name: str, mode: int, caller: Caller) -> Attributes:
        """Regular files only; EPERM for everything else."""
        self._making.mknod(self._looking.child(parent, name), mode)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        found, opened = self.create(parent, name, mode & 0o7777, flags, caller)
        self.release(opened.handle, caller)
        return found

    @tells(0)
    def symlink(self, parent: int, name: str, target: str, caller: Caller) -> Attributes:
        """In the overlay, and in `.graph`, where it makes an edge."""
        self._step()
        self._making.symlink(self._looking.child(parent, name), target, caller)
        return self.lookup(parent, name, caller)

    def readlink(self, inode: int, caller: Caller) -> str:
        """EINVAL for what is no symlink."""
        self._step()
        return self._making.readlink(self._ground.inodes.node(inode))

    def link(self, inode: int, new_parent: int, new_name: str, caller: Caller) -> Attributes:
        """Overlay only; EPERM for engrams."""
        self._step()
        node = self._ground.inodes.node(inode)
        self._making.link(node, self._looking.child(new_parent, new_name))
        return self.lookup(new_parent, new_name, caller)

    # -- the rest ----------------------------------------------------------
    def getxattr(self, inode: int, name: str, caller: Caller) -> bytes:
        """ENODATA where there is none."""
        self._step()
        return self._xattrs.get(self._ground.inodes.node(inode), name)

    def setxattr(self, inode: int, name: str, value: bytes, flags: int, caller: Caller) -> None:
        """EOPNOTSUPP on engrams, but for `user.engram.*` and ACLs, which are ignored."""
        self._step()
        self._xattrs.set(self._ground.inodes.node(inode), name, value, flags)

    def listxattr(self, inode: int, caller: Caller) -> list[str]:
        """The names that have a value."""
        self._step()
        return self._xattrs.list(self._ground.inodes.node(inode))

    def removexattr(self, inode: int, name: str, caller: Caller) -> None:
        """Like setxattr."""
        self._step()
        self._xattrs.remove(self._ground.inodes.node(inode), name)

    def access(self, inode: int, mask: int, caller: Caller) -> None:
        """Is it there, and may the mount be written? Permission bits are the kernel's to judge."""
        self.getattr(inode, caller)
        if mask & os.W_OK:
            self._ground.require_writable()

    def statfs(self) -> os.statvfs_result:
        """Of the disk that holds the store."""
        return self._ground.overlay.statvfs()

    def shutdown(self) -> None:
        """Commit every dirty handle, or keep its bytes in `.rejected`. The tree is then closed.

        Raises the first error of the store, after every handle was tried.
        """
        self._aliases.settle_all()
        self._walks.close()
        failed: Exception | None = None
        for number, held in list(self._ground.handles.items()):
            if isinstance(held, Staged):
                try:
                    self._commits.release(held)
                except (EngineError, FsError, OSError) as error:
                    failed = failed or error
            if isinstance(held, PlainHandle):
                os.fsync(held.descriptor)
            del self._ground.handles[number]
        if failed is not None:
            raise failed

    # -- inside ------------------------------------------------------------
    def _step(self) -> None:
        """What this native thread hid in its last call is removed: this call is not the rename."""
        if self._aliases.hides:
            self._aliases.step()

    def _both(self, inode: int, handle: int | None) -> tuple[Node, OpenHandle | None]:
        held = None if handle is None else self._ground.handles.get(handle)
        return self._ground.inodes.node(inode), held

    def _stage(self, held: Staged, data: bytes, offset: int, flags: int, caller: Caller) -> int:
        file = held.file
        return held.write(
            data,
            offset,
            append=bool(flags & os.O_APPEND),
            pid=caller.pid,
            now_ns=self._ground.clock(),
            current=lambda: self._ground.current(file),
        )

    def _leave(self, held: Pinned | Staged) -> None:
        file = self._ground.files.leave(held)
        plain = None if file is None else self._ground.files.take_plain(file)
        if plain is not None:
            os.close(plain)
        if isinstance(held, Staged) and held.spare is not None:
            os.close(held.spare)
            held.spare = None
