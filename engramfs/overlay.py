"""The overlay: a plain directory beside the store, passed through unchanged.

It holds what lives in a mount without being an engram: editor temporaries, attachments, `.git`.
It is reached only beneath one directory descriptor and never through a symlink: a symlink in it can
be made and read, following it is left to the reader's kernel. Errors are the OSErrors of the
system calls.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from engine.model import Namespace
from engramfs import beneath
from engramfs.ports import Names

_KEPT_BITS = 0o1777  # no setuid, no setgid
_KEPT_FLAGS = os.O_ACCMODE | os.O_TRUNC | os.O_SYNC | os.O_DSYNC
_ALWAYS = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
_IGNORED_XATTRS = ("user.engram.", "system.posix_acl_")


def directory_name(namespace: Namespace) -> str:
    """The name, below the store's `overlay/`, of the directory of one namespace."""
    if not namespace:
        return "_"
    name = ",".join(f"{quote(key, safe='')}={quote(value, safe='')}" for key, value in namespace)
    if len(name) <= 200:
        return name
    return f"{name[:160]}-{hashlib.sha256(name.encode()).hexdigest()[:32]}"


class PlainFiles:
    """The overlay of one namespace, in the directory `root`, which is made when missing."""

    def __init__(self, root: Path) -> None:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._root = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def close(self) -> None:
        """Give the descriptor back; no method works afterwards."""
        os.close(self._root)

    # -- looking -----------------------------------------------------------

    def stat(self, path: Names) -> os.stat_result:
        """lstat: symlinks are shown, never followed."""
        if not path:
            return os.fstat(self._root)
        with self._parent(path) as (directory, name):
            return os.stat(name, dir_fd=directory, follow_symlinks=False)

    def entries(self, path: Names) -> list[tuple[str, int, int]]:
        """(name, st_ino, type bits) of every entry; [] when the directory is missing."""
        try:
            with self._directory(path) as directory:
                readable = os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=directory)
        except FileNotFoundError:
            return []
        try:
            with os.scandir(readable) as found:
                return [(entry.name, entry.inode(), _type_bits(entry)) for entry in found]
        finally:
            os.close(readable)

    def readlink(self, path: Names) -> str:
        """The target as written."""
        with self._parent(path) as (directory, name):
            return os.readlink(name, dir_fd=directory)

    def statvfs(self) -> os.statvfs_result:
        """Of the disk that holds the store."""
        return os.fstatvfs(self._root)

    # -- files -------------------------------------------------------------

    def open(self, path: Names, flags: int, mode: int = 0o644) -> int:
        """A real descriptor of a regular file; the caller closes it.

        O_APPEND never reaches it (the kernel's offset for appends may be stale: see `write`), and a
        write-only open becomes read-write where the file's mode allows. `mode` holds for a new file
        exactly as given: the reader's kernel has already applied the umask.
        """
        wanted = (flags & _KEPT_FLAGS) | _ALWAYS
        with self._parent(path, make=bool(flags & os.O_CREAT)) as (directory, name):
            while True:
                if flags & os.O_CREAT:
                    with suppress(FileExistsError):
                        return _create(directory, name, wanted, mode)
                    if flags & os.O_EXCL:
                        raise OSError(errno.EEXIST, os.strerror(errno.EEXIST), name)
                try:
                    return _open_regular(directory, name, wanted)
                except FileNotFoundError:
                    if not flags & os.O_CREAT:
                        raise

    def link(self, old: Names, new: Names) -> None:
        """A hard link; both names are of the overlay."""
        with self._parent(old) as source, self._parent(new, make=True) as target:
            os.link(
                source[1],
                target[1],
                src_dir_fd=source[0],
                dst_dir_fd=target[0],
                follow_symlinks=False,
            )

    def symlink(self, target: str, path: Names) -> None:
        """A symlink holding any text."""
        with self._parent(path, make=True) as (directory, name):
            os.symlink(target, name, dir_fd=directory)

    def unlink(self, path: Names) -> None:
        """Remove a name that is no directory."""
        with self._parent(path) as (directory, name):
            os.unlink(name, dir_fd=directory)

    def rename(self, old: Names, new: Names, flags: int) -> None:
        """renameat2 with the kernel's flags (1 NOREPLACE, 2 EXCHANGE)."""
        with self._parent(old) as source, self._parent(new, make=True) as target:
            beneath.rename(*source, *target, flags)

    # -- directories -------------------------------------------------------

    def mkdir(self, path: Names, mode: int) -> None:
        """`mode` as given: the reader's kernel has already applied the umask."""
        with self._parent(path, make=True) as (directory, name):
            os.mkdir(name, 0o700, dir_fd=directory)
            _chmod(directory, name, mode & _KEPT_BITS)

    def rmdir(self, path: Names) -> None:
        """Remove an empty directory."""
        with self._parent(path) as (directory, name):
            os.rmdir(name, dir_fd=directory)

    # -- attributes --------------------------------------------------------

    def chmod(self, path: Names, mode: int) -> None:
        """Setuid and setgid bits are dropped."""
        if not path:
            os.fchmod(self._root, mode & _KEPT_BITS)
            return
        with self._parent(path) as (directory, name):
            _chmod(directory, name, mode & _KEPT_BITS)

    def chown(self, path: Names, uid: int, gid: int) -> None:
        """-1 leaves a number alone."""
        with self._parent(path) as (directory, name):
            os.chown(name, uid, gid, dir_fd=directory, follow_symlinks=False)

    def utimens(self, path: Names, atime_ns: int, mtime_ns: int) -> None:
        """Both times in nanoseconds since the epoch."""
        if not path:
            os.utime(self._root, ns=(atime_ns, mtime_ns))
            return
        with self._parent(path) as (directory, name):
            os.utime(name, ns=(atime_ns, mtime_ns), dir_fd=directory, follow_symlinks=False)

    def getxattr(self, path: Names, name: str) -> bytes:
        """ENODATA for everything outside `user.`."""
        if not name.startswith("user."):
            raise OSError(errno.ENODATA, os.strerror(errno.ENODATA), name)
        with self._object(path) as proc:
            return os.getxattr(proc, name)

    def setxattr(self, path: Names, name: str, value: bytes, flags: int) -> None:
        """What describes engrams, and ACLs, are ignored: copying them must not fail."""
        if name.startswith(_IGNORED_XATTRS):
            return
        _only_user(name)
        with self._object(path) as proc:
            os.setxattr(proc, name, value, flags)

    def listxattr(self, path: Names) -> list[str]:
        """The `user.` names only."""
        with self._object(path) as proc:
            return [name for name in os.listxattr(proc) if name.startswith("user.")]

    def removexattr(self, path: Names, name: str) -> None:
        """What cannot be set is removed without an error."""
        if name.startswith(_IGNORED_XATTRS):
            return
        _only_user(name)
        with self._object(path) as proc:
            os.removexattr(proc, name)

    # -- reaching ----------------------------------------------------------

    @contextmanager
    def _directory(self, path: Names) -> Iterator[int]:
        if not path:
            yield self._root
            return
        descriptor = beneath.open_directory(self._root, path)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def _parent(self, path: Names, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """The directory that holds the last name of `path`, and that name.

        `make`: a kind's directory exists in the overlay only once something plain is in it.
        """
        if not path or path[-1] in ("", ".", "..") or "/" in path[-1]:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), "/".join(path))
        if make and len(path) == 2:
            self._make_kept(path[0])
        with self._directory(path[:-1]) as directory:
            yield directory, path[-1]

    def _make_kept(self, name: str) -> None:
        """Make a kind's directory where it is missing. For whoever looks it was always there, so
        the time of the root stays."""
        found = os.fstat(self._root)
        with suppress(FileExistsError):
            os.mkdir(name, 0o755, dir_fd=self._root)
            os.utime(self._root, ns=(found.st_atime_ns, found.st_mtime_ns))

    @contextmanager
    def _object(self, path: Names) -> Iterator[str]:
        """A path of the file itself that no symlink can divert: xattr calls know no `dir_fd`."""
        if not path:
            yield f"/proc/self/fd/{self._root}"
            return
        with self._parent(path) as (directory, name), _pinned(directory, name) as proc:
            yield proc


def write(descriptor: int, data: bytes, offset: int, flags: int) -> int:
    """Write all of `data` to a file of `PlainFiles.open`; with O_APPEND in `flags`, at its end."""
    if flags & os.O_APPEND:
        return os.pwritev(descriptor, [data], 0, os.RWF_APPEND)
    return os.pwrite(descriptor, data, offset)


def fallocate(descriptor: int, mode: int, offset: int, length: int) -> None:
    """fallocate(2), with the kernel's `mode` bits (keep size, punch hole …)."""
    beneath.fallocate(descriptor, mode, offset, length)


@contextmanager
def _pinned(directory: int, name: str) -> Iterator[str]:
    descriptor = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    try:
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def _chmod(directory: int, name: str, mode: int) -> None:
    with _pinned(directory, name) as proc:
        Path(proc).chmod(mode)


def _create(directory: int, name: str, flags: int, mode: int) -> int:
    descriptor = _readable_too(directory, name, flags | os.O_CREAT | os.O_EXCL)
    os.fchmod(descriptor, mode & _KEPT_BITS)
    return descriptor


def _open_regular(directory: int, name: str, flags: int) -> int:
    # Without O_TRUNC first: a fifo or device that was put here from outside must not be touched.
    descriptor = _readable_too(directory, name, flags & ~os.O_TRUNC)
    try:
        found = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(found):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), name)
        if not stat.S_ISREG(found):
            raise OSError(errno.EPERM, os.strerror(errno.EPERM), name)
        if flags & os.O_TRUNC:
            os.truncate(f"/proc/self/fd/{descriptor}", 0)  # works for a read-only open too
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _readable_too(directory: int, name: str, flags: int) -> int:
    """Open read-write where write-only is asked: the kernel may read a page before writing it."""
    if flags & os.O_ACCMODE == os.O_WRONLY:
        with suppress(PermissionError):
            both = (flags & ~os.O_ACCMODE) | os.O_RDWR
            return os.open(name, both, 0o600, dir_fd=directory)
    return os.open(name, flags, 0o600, dir_fd=directory)


def _type_bits(entry: os.DirEntry[str]) -> int:
    if entry.is_symlink():
        return stat.S_IFLNK
    if entry.is_dir(follow_symlinks=False):
        return stat.S_IFDIR
    if entry.is_file(follow_symlinks=False):
        return stat.S_IFREG
    return stat.S_IFMT(entry.stat(follow_symlinks=False).st_mode)


def _only_user(name: str) -> None:
    if not name.startswith("user."):
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP), name)
