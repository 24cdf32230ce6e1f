"""The adapter between libfuse3 (through mfusepy) and a tree: translate and delegate.

libfuse calls with paths; the tree is keyed by inode, so each call resolves its path first. A call
that has a handle uses the inode that the handle was opened with: it is right after a rename too.

What this adds to the binding: rename flags, the handles of truncate, chmod, chown and utimens,
UTIME_NOW and UTIME_OMIT, one errno table, and one Python thread state a native thread (made and
destroyed for every single call otherwise, which halves the speed).
"""

from __future__ import annotations

import ctypes
import errno
import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from engramfs.caller import Caller
from engramfs.errno_table import number
from engramfs.errors import FsError

if TYPE_CHECKING:
    from engramfs.ports import Attributes, Opened
    from engramfs.tree import Tree

_INSTALL = "install it with: apt-get install fuse3"

os.environ["FUSE_LIBRARY_NAME"] = "fuse3"  # with both libraries present mfusepy would take libfuse2
try:
    import mfusepy
except (OSError, AttributeError) as _error:
    raise FsError("ENODEV", "libfuse3 is not on this machine", _INSTALL) from _error
if mfusepy.fuse_version_major != 3:
    raise FsError("ENODEV", f"libfuse {mfusepy.fuse_version_major} was found, not 3", _INSTALL)

log = logging.getLogger("engramfs.fuse")

THREADS = 10  # of libfuse, taken in turn; a slow control file occupies one for a second at most

_UTIME_NOW = (1 << 30) - 1
_UTIME_OMIT = (1 << 30) - 2
_CAPABLE_READDIRPLUS = 3 << 13  # and its automatic form; without cached attributes it only costs
# Else the kernel sends the lookups of one directory one after another, and a question by name holds
# up all others. libfuse before 3.17 does not tell the kernel that it is wanted.
_CAPABLE_PARALLEL_DIROPS = 1 << 18
_NOBODY = 0xFFFF_FFFF  # -1 as uid or gid: leave it alone
_BLOCK = 4096
_SPACE = (
    *("f_bsize", "f_frsize", "f_blocks", "f_bfree", "f_bavail"),
    *("f_files", "f_ffree", "f_favail", "f_namemax"),
)

# What libfuse is told that we implement. Left out: lock and flock (the kernel keeps them itself),
# lseek and copy_file_range (the kernel falls back), ioctl (ENOTTY), bmap, poll.
_OFFERED = """
    getattr readlink mknod mkdir unlink rmdir symlink rename link chmod chown truncate utimens
    open create read write flush fsync release fallocate readdir access statfs
    setxattr getxattr listxattr removexattr
"""


@dataclass(frozen=True, slots=True)
class Options:
    """How a mountpoint is mounted."""

    allow_other: bool = False
    read_only: bool = False
    # The kernel judges permission bits. It costs a getattr for each part of a path.
    permissions: bool = True
    source: str = "engramfs"  # what `mount` and `df` show as the device: the store


class _Thread(threading.local):
    """What is known of the native thread that calls; it lives as long as that."""

    context: Any = None


_thread = _Thread()


def _enter() -> Any:
    """Give this native thread a lasting thread state, and find where libfuse keeps its caller."""
    ctypes.pythonapi.PyGILState_Ensure()
    _thread.context = mfusepy._libfuse.fuse_get_context().contents
    return _thread.context


def _caller() -> Caller:
    context = _thread.context
    return Caller(context.pid, context.uid, context.gid)


def _text(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


def _fill(stat: Any, attributes: Attributes) -> None:
    """Write the attributes into a struct stat that libfuse has zeroed."""
    stat.st_ino = attributes.inode
    stat.st_mode = attributes.mode
    stat.st_nlink = attributes.nlink
    stat.st_uid = attributes.uid
    stat.st_gid = attributes.gid
    stat.st_size = attributes.size
    stat.st_blksize = _BLOCK
    stat.st_blocks = (attributes.size + 511) >> 9
    moment = stat.st_atimespec
    moment.tv_sec, moment.tv_nsec = divmod(attributes.atime_ns, 1_000_000_000)
    moment = stat.st_mtimespec
    moment.tv_sec, moment.tv_nsec = divmod(attributes.mtime_ns, 1_000_000_000)
    moment = stat.st_ctimespec
    moment.tv_sec, moment.tv_nsec = divmod(attributes.ctime_ns, 1_000_000_000)


def _nanoseconds(moment: Any) -> int | None:
    """A timespec of utimensat: None leaves the time alone."""
    if moment.tv_nsec == _UTIME_OMIT:
        return None
    if moment.tv_nsec == _UTIME_NOW:
        return time.time_ns()
    return int(moment.tv_sec * 1_000_000_000 + moment.tv_nsec)


def _give(value: bytes, buffer: Any, size: int) -> int:
    """Answer a getxattr or listxattr: the size alone is asked for with a null buffer."""
    if not buffer or not size:
        return len(value)
    if len(value) > size:
        return -errno.ERANGE
    ctypes.memmove(buffer, value, len(value))
    return len(value)


def _opened(fi: Any, opened: Opened) -> None:
    fi.fh = opened.handle
    fi.direct_io = opened.direct_io


class Adapter(mfusepy.FUSE):  # type: ignore[misc]
    """One mountpoint. Making one mounts it and serves it until it is unmounted.

    The methods carry the names under which the binding looks for its callbacks.
    """

    def __init__(
        self, tree: Tree, mountpoint: str, options: Options, ready: Callable[[], None]
    ) -> None:
        self._tree = tree
        self._ready = ready
        self._inodes: dict[int, int] = {}  # of open handles
        flags: dict[str, object] = {}
        if (mfusepy.fuse_version_major, mfusepy.fuse_version_minor) >= (3, 12):
            flags["max_threads"] = THREADS
            flags["max_idle_threads"] = THREADS
        super().__init__(
            SimpleNamespace(use_ns=True, **dict.fromkeys(_OFFERED.split(), True)),
            mountpoint,
            raw_fi=True,
            foreground=True,
            auto_unmount=True,
            fsname=options.source.replace("\\", "\\\\").replace(",", "\\,"),
            subtype="engramfs",
            use_ino=True,
            # Attributes differ by process while a handle is dirty: the kernel may not keep any.
            attr_timeout=0,
            entry_timeout=0,
            negative_timeout=0,
            allow_other=options.allow_other,
            default_permissions=options.permissions or options.allow_other,
            ro=options.read_only,
            **flags,
        )

    def _wrapper(self, func: Callable[..., int | None], *arguments: object) -> int:
        """Every call from libfuse passes here, once."""
        if _thread.context is None:
            _enter()
        try:
            return func(*arguments) or 0
        except BaseException as error:
            code = number(error) or errno.EIO
            if code == errno.EIO:
                log.exception("%s failed", func.__name__)
            return -code

    def init_fuse_3(self, connection: Any, config: Any) -> None:
        super().init_fuse_3(connection, config)
        capable = connection.contents.capable
        connection.contents.want &= ~_CAPABLE_READDIRPLUS
        connection.contents.want |= capable & _CAPABLE_PARALLEL_DIROPS
        self._ready()

    def destroy(self, _private: object) -> None:
        """Nothing: the composition root closes the tree."""

    # -- attributes ------------------------------------------------------------

    def _inode(self, path: bytes | None, fip: Any, caller: Caller) -> tuple[int, int | None]:
        """(inode, handle) of a call that may have a handle."""
        if fip:
            handle: int = fip.contents.fh
            inode = self._inodes.get(handle)
            if inode is not None:
                return inode, handle
        if path is None:
            raise FsError("ENOENT", "the file is gone")
        return self._tree.resolve(_text(path), caller), None

    def _parent(self, path: bytes, caller: Caller) -> tuple[int, str]:
        """(inode of the directory, name in it)."""
        directory, _, name = _text(path).rpartition("/")
        return self._tree.resolve(directory or "/", caller), name

    def getattr_fuse_3(self, path: bytes | None, buffer: Any, fip: Any) -> None:
        if fip or path is None:
            caller = _caller()
            inode, handle = self._inode(path, fip, caller)
            _fill(buffer.contents, self._tree.getattr(inode, caller, handle))
        else:
            _fill(buffer.contents, self._tree.stat(_text(path), _caller()))

    def chmod_fuse_3(self, path: bytes | None, mode: int, fip: Any) -> None:
        caller = _caller()
        inode, handle = self._inode(path, fip, caller)
        self._tree.chmod(inode, mode & 0o7777, caller, handle)

    def chown_fuse_3(self, path: bytes | None, uid: int, gid: int, fip: Any) -> None:
        caller = _caller()
        inode, handle = self._inode(path, fip, caller)
        uid, gid = (-1 if one == _NOBODY else one for one in (uid, gid))
        self._tree.chown(inode, uid, gid, caller, handle)

    def truncate_fuse_3(self, path: bytes | None, size: int, fip: Any) -> None:
        caller = _caller()
        inode, handle = self._inode(path, fip, caller)
        self._tree.truncate(inode, size, caller, handle)

    def utimens_fuse_3(self, path: bytes | None, times: Any, fip: Any) -> None:
        caller = _caller()
        inode, handle = self._inode(path, fip, caller)
        accessed = modified = time.time_ns()
        if times:
            self._tree.utimens(
                inode,
                _nanoseconds(times.contents.actime),
                _nanoseconds(times.contents.modtime),
                caller,
                handle,
            )
        else:
            self._tree.utimens(inode, accessed, modified, caller, handle)

    def access(self, path: bytes, mask: int) -> None:
        caller = _caller()
        self._tree.access(self._tree.resolve(_text(path), caller), mask, caller)

    # -- files -----------------------------------------------------------------

    def open(self, path: bytes, fip: Any) -> None:
        caller = _caller()
        fi = fip.contents
        inode = self._tree.resolve(_text(path), caller)
        opened = self._tree.open(inode, fi.flags, caller)
        self._inodes[opened.handle] = inode
        _opened(fi, opened)
        if fi.flags & (os.O_ACCMODE | os.O_TRUNC) == os.O_RDONLY:
            fi.noflush = 1  # nothing can be dirty: spares a call at each close

    def create(self, path: bytes, mode: int, fip: Any) -> None:
        caller = _caller()
        fi = fip.contents
        parent, name = self._parent(path, caller)
        attributes, opened = self._tree.create(parent, name, mode & 0o7777, fi.flags, caller)
        self._inodes[opened.handle] = attributes.inode
        _opened(fi, opened)

    def read(self, _path: bytes | None, buffer: Any, size: int, offset: int, fip: Any) -> int:
        data = self._tree.read(fip.contents.fh, size, offset)
        ctypes.memmove(buffer, data, len(data))
        return len(data)

    def write(self, _path: bytes | None, buffer: Any, size: int, offset: int, fip: Any) -> int:
        fi = fip.contents
        data = ctypes.string_at(buffer, size)
        return self._tree.write(fi.fh, data, offset, fi.flags, _caller())

    def fallocate(self, _path: bytes | None, mode: int, offset: int, length: int, fip: Any) -> None:
        self._tree.fallocate(fip.contents.fh, mode, offset, length, _caller())

    def flush(self, _path: bytes | None, fip: Any) -> None:
        self._tree.flush(fip.contents.fh, _caller())

    def fsync(self, _path: bytes | None, _data_only: int, fip: Any) -> None:
        self._tree.fsync(fip.contents.fh, _caller())

    def release(self, _path: bytes | None, fip: Any) -> None:
        handle = fip.contents.fh
        self._inodes.pop(handle, None)
        self._tree.release(handle, _caller())

    # -- directories -----------------------------------------------------------

    def readdir_fuse_3(
        self, path: bytes | None, buffer: Any, filler: Any, _offset: int, _fip: Any, _flags: int
    ) -> None:
        caller = _caller()
        if path is None:
            raise FsError("ENOENT", "the directory is gone")
        inode = self._tree.resolve(_text(path), caller)
        stat = mfusepy.c_stat()
        stat.st_mode = 0o040000
        stat.st_ino = inode  # an entry with inode 0 would be hidden, these two included
        filler(buffer, b".", stat, 0, 0)
        filler(buffer, b"..", stat, 0, 0)
        for listed in self._tree.readdir(inode, caller):
            stat.st_mode = listed.mode
            stat.st_ino = listed.inode
            filler(buffer, listed.name.encode("utf-8", "surrogateescape"), stat, 0, 0)

    def mkdir(self, path: bytes, mode: int) -> None:
        caller = _caller()
        self._tree.mkdir(*self._parent(path, caller), mode & 0o7777, caller)

    def mknod(self, path: bytes, mode: int, _device: int) -> None:
        caller = _caller()
        self._tree.mknod(*self._parent(path, caller), mode, caller)

    def unlink(self, path: bytes) -> None:
        caller = _caller()
        self._tree.unlink(*self._parent(path, caller), caller)

    def rmdir(self, path: bytes) -> None:
        caller = _caller()
        self._tree.rmdir(*self._parent(path, caller), caller)

    def symlink(self, target: bytes, path: bytes) -> None:
        caller = _caller()
        self._tree.symlink(*self._parent(path, caller), _text(target), caller)

    def readlink(self, path: bytes, buffer: Any, size: int) -> None:
        caller = _caller()
        target = self._tree.readlink(self._tree.resolve(_text(path), caller), caller)
        data = target.encode("utf-8", "surrogateescape")[: size - 1] + b"\0"
        ctypes.memmove(buffer, data, len(data))

    def rename_fuse_3(self, old: bytes, new: bytes, flags: int) -> None:
        caller = _caller()
        self._tree.rename(*self._parent(old, caller), *self._parent(new, caller), flags, caller)

    def link(self, old: bytes, new: bytes) -> None:
        caller = _caller()
        inode = self._tree.resolve(_text(old), caller)
        self._tree.link(inode, *self._parent(new, caller), caller)

    # -- the rest --------------------------------------------------------------

    def statfs(self, _path: bytes, buffer: Any) -> None:
        found = self._tree.statfs()
        target = buffer.contents
        for name in _SPACE:
            setattr(target, name, getattr(found, name))

    def getxattr(self, path: bytes, name: bytes, buffer: Any, size: int) -> int:
        # The kernel asks for capabilities before every write, `ls -l` for ACLs and labels of every
        # file: nothing here has any, so that no path needs to be looked at.
        if not name.startswith(b"user."):
            return -errno.ENODATA
        caller = _caller()
        inode = self._tree.resolve(_text(path), caller)
        return _give(self._tree.getxattr(inode, _text(name), caller), buffer, size)

    def setxattr(self, path: bytes, name: bytes, value: Any, size: int, flags: int) -> None:
        caller = _caller()
        inode = self._tree.resolve(_text(path), caller)
        self._tree.setxattr(inode, _text(name), ctypes.string_at(value, size), flags, caller)

    def listxattr(self, path: bytes, buffer: Any, size: int) -> int:
        caller = _caller()
        names = self._tree.listxattr(self._tree.resolve(_text(path), caller), caller)
        data = b"".join(name.encode("utf-8", "surrogateescape") + b"\0" for name in names)
        return _give(data, buffer, size)

    def removexattr(self, path: bytes, name: bytes) -> None:
        caller = _caller()
        inode = self._tree.resolve(_text(path), caller)
        self._tree.removexattr(inode, _text(name), caller)
