"""The protocol-free filesystem, keyed by inode: what a program sees, without any FUSE.

Every operation raises FsError, an engine error, or OSError (from the overlay);
`engramfs.errno_table.number` maps all three. Anything else is a bug.
Flags are Linux's numbers (os.O_*); rename flags 1 NOREPLACE, 2 EXCHANGE, 4 WHITEOUT.
`caller` is who asks (`engramfs.ports.Caller`; `pid` is read lazily).
Handles are integers of this tree, never file descriptors.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from engine.engine import Engine
from engine.namespace import Scope
from engramfs.ports import Attributes, Caller, Control, Listed, Opened, Overlay

ROOT = 1


@dataclass(frozen=True, slots=True)
class TreeSettings:
    """How one mountpoint behaves."""

    root_kind: str | None = None  # roots mode: the kind whose members stand at the root
    only_kinds: frozenset[str] | None = None  # prefix mode: the kinds shown; None: all
    show_id: bool = True
    on_conflict: str = "win"  # or "refuse"
    read_only: bool = False
    umask: int = 0o022  # of directories and files that no program created
    uid: int = 0
    gid: int = 0


class Tree:
    """One mountpoint over one engine and one exact scope."""

    def __init__(
        self,
        engine: Engine,
        scope: Scope,
        overlay: Overlay,
        control: Control,
        settings: TreeSettings = TreeSettings(),
        *,
        clock: Callable[[], int] = ...,  # nanoseconds
        alive: Callable[[int], bool] = ...,  # does this process still exist?
    ) -> None: ...

    # -- names -------------------------------------------------------------
    def resolve(self, path: str, caller: Caller) -> int:
        """"/deal/acme.md" -> inode. Serves `.fuse_hidden*` aliases too. ENOENT, ENOTDIR, EINVAL."""

    def lookup(self, parent: int, name: str, caller: Caller) -> Attributes: ...

    # -- attributes --------------------------------------------------------
    def getattr(self, inode: int, caller: Caller, handle: int | None = None) -> Attributes: ...

    def chmod(self, inode: int, mode: int, caller: Caller, handle: int | None = None) -> None: ...

    def chown(
        self, inode: int, uid: int, gid: int, caller: Caller, handle: int | None = None
    ) -> None:
        """-1 leaves a number alone."""

    def utimens(
        self, inode: int, atime_ns: int | None, mtime_ns: int | None, caller: Caller,
        handle: int | None = None,
    ) -> None:
        """None leaves a time alone (UTIME_OMIT); the adapter turns UTIME_NOW into the clock."""

    def truncate(
        self, inode: int, size: int, caller: Caller, handle: int | None = None
    ) -> None: ...

    # -- files -------------------------------------------------------------
    def open(self, inode: int, flags: int, caller: Caller) -> Opened: ...

    def create(
        self, parent: int, name: str, mode: int, flags: int, caller: Caller
    ) -> tuple[Attributes, Opened]:
        """Open the file, made first where it is missing (EEXIST with O_EXCL)."""

    def read(self, handle: int, size: int, offset: int) -> bytes: ...

    def write(self, handle: int, data: bytes, offset: int, flags: int, caller: Caller) -> int:
        """`flags`: the open flags as the kernel sends them with this write (O_APPEND)."""

    def fallocate(
        self, handle: int, mode: int, offset: int, length: int, caller: Caller
    ) -> None: ...

    def flush(self, handle: int, caller: Caller) -> None: ...

    def fsync(self, handle: int, caller: Caller) -> None: ...

    def release(self, handle: int, caller: Caller) -> None: ...

    # -- directories -------------------------------------------------------
    def readdir(self, inode: int, caller: Caller) -> list[Listed]:
        """Without `.` and `..`."""

    def mkdir(self, parent: int, name: str, mode: int, caller: Caller) -> Attributes: ...

    def rmdir(self, parent: int, name: str, caller: Caller) -> None: ...

    def unlink(self, parent: int, name: str, caller: Caller) -> None: ...

    def rename(
        self, parent: int, name: str, new_parent: int, new_name: str, flags: int, caller: Caller
    ) -> None: ...

    def mknod(self, parent: int, name: str, mode: int, caller: Caller) -> Attributes:
        """Regular files only; EPERM for everything else."""

    def symlink(self, parent: int, name: str, target: str, caller: Caller) -> Attributes: ...

    def readlink(self, inode: int, caller: Caller) -> str: ...

    def link(self, inode: int, new_parent: int, new_name: str, caller: Caller) -> Attributes: ...

    # -- the rest ----------------------------------------------------------
    def getxattr(self, inode: int, name: str, caller: Caller) -> bytes: ...

    def setxattr(
        self, inode: int, name: str, value: bytes, flags: int, caller: Caller
    ) -> None: ...

    def listxattr(self, inode: int, caller: Caller) -> list[str]: ...

    def removexattr(self, inode: int, name: str, caller: Caller) -> None: ...

    def access(self, inode: int, mask: int, caller: Caller) -> None: ...

    def statfs(self) -> os.statvfs_result: ...

    def shutdown(self) -> None:
        """Commit every dirty handle, or keep its bytes in `.rejected`. The tree is then closed."""
