"""The floor of the filesystem benchmark: a dictionary for a tree, behind the project's own adapter.

What a mount of it costs is what the kernel, libfuse, ctypes and the interpreter cost; whatever
engramfs needs more is its own. It keeps bytes and attributes in memory and judges nothing.
"""

from __future__ import annotations

import logging
import os
import stat
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from engramfs.caller import Caller
from engramfs.errors import FsError
from engramfs.ports import Attributes, Listed, Opened

if TYPE_CHECKING:
    from engramfs.tree import Tree

ROOT = 1


@dataclass(slots=True)
class _Node:
    inode: int
    path: str
    mode: int
    mtime_ns: int
    ctime_ns: int
    data: bytearray = field(default_factory=bytearray)
    entries: dict[str, int] = field(default_factory=dict)
    xattrs: dict[str, bytes] = field(default_factory=dict)
    nlink: int = 1


class MemoryTree:
    """The surface of `engramfs.tree.Tree`, answered from a dictionary of paths."""

    def __init__(self, direct_io: bool = True) -> None:
        now = time.time_ns()
        self.direct_io = direct_io
        self.root = _Node(ROOT, "", stat.S_IFDIR | 0o755, now, now)
        self.paths: dict[str, int] = {"/": ROOT}
        self.nodes: dict[int, _Node] = {ROOT: self.root}
        self.handles: dict[int, _Node] = {}
        self.last_handle = 0
        self.last_inode = ROOT

    # -- names ------------------------------------------------------------------

    def resolve(self, path: str, caller: Caller) -> int:
        try:
            return self.paths[path]
        except KeyError:
            raise FsError("ENOENT", f"{path} does not exist") from None

    def _add(self, parent: int, name: str, mode: int) -> _Node:
        directory = self.nodes[parent]
        if name in directory.entries:
            raise FsError("EEXIST", f"{name} exists")
        self.last_inode += 1
        now = time.time_ns()
        node = _Node(self.last_inode, f"{directory.path}/{name}", mode, now, now)
        self.nodes[node.inode] = node
        self.paths[node.path] = directory.entries[name] = node.inode
        directory.mtime_ns = directory.ctime_ns = now
        return node

    def _drop(self, parent: int, name: str) -> None:
        directory = self.nodes[parent]
        if name not in directory.entries:
            raise FsError("ENOENT", f"{name} does not exist")
        del self.paths[f"{directory.path}/{name}"]
        node = self.nodes[directory.entries.pop(name)]
        node.nlink -= 1
        directory.mtime_ns = directory.ctime_ns = time.time_ns()

    # -- attributes -------------------------------------------------------------

    def stat(self, path: str, caller: Caller) -> Attributes:
        return self.getattr(self.resolve(path, caller), caller)

    def getattr(self, inode: int, caller: Caller, handle: int | None = None) -> Attributes:
        node = self.nodes[inode]
        return Attributes(
            inode,
            node.mode,
            node.nlink,
            len(node.data),
            node.mtime_ns,
            node.ctime_ns,
            node.mtime_ns,
            0,
            0,
        )

    def chmod(self, inode: int, mode: int, caller: Caller, handle: int | None = None) -> None:
        node = self.nodes[inode]
        node.mode = stat.S_IFMT(node.mode) | mode
        node.ctime_ns = time.time_ns()

    def chown(
        self, inode: int, uid: int, gid: int, caller: Caller, handle: int | None = None
    ) -> None:
        self.nodes[inode].ctime_ns = time.time_ns()

    def utimens(
        self,
        inode: int,
        atime_ns: int | None,
        mtime_ns: int | None,
        caller: Caller,
        handle: int | None = None,
    ) -> None:
        node = self.nodes[inode]
        node.ctime_ns = time.time_ns()
        if mtime_ns is not None:
            node.mtime_ns = mtime_ns

    def truncate(self, inode: int, size: int, caller: Caller, handle: int | None = None) -> None:
        node = self.nodes[inode]
        if size < len(node.data):
            del node.data[size:]
        else:
            node.data.extend(bytes(size - len(node.data)))
        node.mtime_ns = node.ctime_ns = time.time_ns()

    def access(self, inode: int, mask: int, caller: Caller) -> None:
        pass

    # -- files ------------------------------------------------------------------

    def _opened(self, node: _Node) -> Opened:
        self.last_handle += 1
        self.handles[self.last_handle] = node
        return Opened(self.last_handle, self.direct_io)

    def open(self, inode: int, flags: int, caller: Caller) -> Opened:
        node = self.nodes[inode]
        if flags & os.O_TRUNC:
            self.truncate(inode, 0, caller)
        return self._opened(node)

    def create(
        self, parent: int, name: str, mode: int, flags: int, caller: Caller
    ) -> tuple[Attributes, Opened]:
        node = self._add(parent, name, stat.S_IFREG | mode)
        return self.getattr(node.inode, caller), self._opened(node)

    def mknod(self, parent: int, name: str, mode: int, caller: Caller) -> Attributes:
        if not stat.S_ISREG(mode):
            raise FsError("EPERM", f"{name} can only be a regular file")
        return self.getattr(self._add(parent, name, mode).inode, caller)

    def read(self, handle: int, size: int, offset: int) -> bytes:
        return bytes(self.handles[handle].data[offset : offset + size])

    def write(self, handle: int, data: bytes, offset: int, flags: int, caller: Caller) -> int:
        node = self.handles[handle]
        if flags & os.O_APPEND:
            offset = len(node.data)
        if offset > len(node.data):
            node.data.extend(bytes(offset - len(node.data)))
        node.data[offset : offset + len(data)] = data
        node.mtime_ns = node.ctime_ns = time.time_ns()
        return len(data)

    def fallocate(self, handle: int, mode: int, offset: int, length: int, caller: Caller) -> None:
        raise FsError("EOPNOTSUPP", "memory is not allocated ahead")

    def flush(self, handle: int, caller: Caller) -> None:
        pass

    def fsync(self, handle: int, caller: Caller) -> None:
        pass

    def release(self, handle: int, caller: Caller) -> None:
        del self.handles[handle]

    # -- directories ------------------------------------------------------------

    def readdir(self, inode: int, caller: Caller) -> list[Listed]:
        nodes = self.nodes
        return [
            Listed(name, one, stat.S_IFMT(nodes[one].mode))
            for name, one in nodes[inode].entries.items()
        ]

    def mkdir(self, parent: int, name: str, mode: int, caller: Caller) -> Attributes:
        node = self._add(parent, name, stat.S_IFDIR | mode)
        return self.getattr(node.inode, caller)

    def rmdir(self, parent: int, name: str, caller: Caller) -> None:
        inode = self.nodes[parent].entries.get(name)
        if inode is not None and self.nodes[inode].entries:
            raise FsError("ENOTEMPTY", f"{name} is not empty")
        self._drop(parent, name)

    def unlink(self, parent: int, name: str, caller: Caller) -> None:
        self._drop(parent, name)

    def rename(
        self, parent: int, name: str, new_parent: int, new_name: str, flags: int, caller: Caller
    ) -> None:
        old, new = self.nodes[parent], self.nodes[new_parent]
        if name not in old.entries:
            raise FsError("ENOENT", f"{name} does not exist")
        if flags & 1 and new_name in new.entries:
            raise FsError("EEXIST", f"{new_name} exists")
        first, second = self.nodes[old.entries[name]], new.entries.get(new_name)
        if flags & 2:
            if second is None:
                raise FsError("ENOENT", f"{new_name} does not exist")
            other = self.nodes[second]
            first.path, other.path = other.path, first.path
            old.entries[name], new.entries[new_name] = other.inode, first.inode
            self.paths[other.path] = other.inode
        else:
            if second is not None:
                self._drop(new_parent, new_name)
            del self.paths[first.path], old.entries[name]
            first.path = f"{new.path}/{new_name}"
            new.entries[new_name] = first.inode
        self.paths[first.path] = first.inode
        first.ctime_ns = time.time_ns()

    def symlink(self, parent: int, name: str, target: str, caller: Caller) -> Attributes:
        node = self._add(parent, name, stat.S_IFLNK | 0o777)
        node.data[:] = os.fsencode(target)
        return self.getattr(node.inode, caller)

    def readlink(self, inode: int, caller: Caller) -> str:
        return os.fsdecode(bytes(self.nodes[inode].data))

    def link(self, inode: int, new_parent: int, new_name: str, caller: Caller) -> Attributes:
        raise FsError("EPERM", "hard links are not kept")

    # -- the rest ---------------------------------------------------------------

    def getxattr(self, inode: int, name: str, caller: Caller) -> bytes:
        try:
            return self.nodes[inode].xattrs[name]
        except KeyError:
            raise FsError("ENODATA", f"no attribute {name}") from None

    def setxattr(self, inode: int, name: str, value: bytes, flags: int, caller: Caller) -> None:
        self.nodes[inode].xattrs[name] = value

    def listxattr(self, inode: int, caller: Caller) -> list[str]:
        return list(self.nodes[inode].xattrs)

    def removexattr(self, inode: int, name: str, caller: Caller) -> None:
        if self.nodes[inode].xattrs.pop(name, None) is None:
            raise FsError("ENODATA", f"no attribute {name}")

    def statfs(self) -> os.statvfs_result:
        return os.statvfs("/")

    def shutdown(self) -> None:
        pass


def main(mountpoint: str, *flags: str) -> None:
    """Mount a memory tree until it is unmounted; say "ready" once it answers."""
    from engramfs.fuse import Adapter, Options

    options = Options(
        read_only="read-only" in flags, permissions=os.geteuid() != 0, source="engramfs-floor"
    )
    tree = cast("Tree", MemoryTree())
    Adapter(tree, mountpoint, options, lambda: print("ready", flush=True))


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    main(*sys.argv[1:])
