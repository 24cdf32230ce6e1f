"""What the tree needs from outside, as small protocols, and the plain values that cross its border.

Names are text as the operating system's file-name decoding gives it (surrogates stand for bytes
that are no UTF-8). Paths of the overlay are tuples of names below its root; () is the root.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import NamedTuple, Protocol

Names = tuple[str, ...]


class Caller(Protocol):
    """Who asks. `pid` and `sid` may cost a look into /proc: they are read only when needed."""

    @property
    def tid(self) -> int:
        """The thread as the kernel names it; 0 for the kernel itself."""

    @property
    def pid(self) -> int:
        """The process (thread group) of `tid`."""

    @property
    def sid(self) -> int:
        """The session of the process, or 0."""

    @property
    def uid(self) -> int: ...

    @property
    def gid(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Process:
    """A caller whose numbers are known."""

    pid: int
    tid: int
    uid: int
    gid: int
    sid: int


class Attributes(NamedTuple):
    """What `stat` shows. Sizes in bytes, times in nanoseconds, `mode` with its type bits.

    A tuple, not a dataclass: one is made for every getattr, and this is four times as fast.
    """

    inode: int
    mode: int
    nlink: int
    size: int
    mtime_ns: int
    ctime_ns: int
    atime_ns: int
    uid: int
    gid: int


class Opened(NamedTuple):
    """An open handle. `direct_io`: the kernel must neither cache nor read ahead."""

    handle: int
    direct_io: bool


class Listed(NamedTuple):
    """One entry of a directory listing."""

    name: str
    inode: int
    mode: int  # type bits as in st_mode

    @property
    def is_directory(self) -> bool:
        return stat.S_ISDIR(self.mode)


class Overlay(Protocol):
    """The directory of plain files. Every method raises OSError as the kernel would have."""

    def stat(self, path: Names) -> os.stat_result:
        """lstat: symlinks are shown, never followed."""

    def entries(self, path: Names) -> list[tuple[str, int, int]]:
        """(name, st_ino, type bits as in st_mode) of every entry but `.` and `..`; [] when the
        directory itself is missing (a kind whose overlay directory was never needed)."""

    def open(self, path: Names, flags: int, mode: int = 0o644) -> int:
        """A real file descriptor; O_CREAT, O_EXCL and O_TRUNC as given; O_NOFOLLOW and O_CLOEXEC
        always; the caller closes it. Missing *parents* of a file directly in a kind directory
        (path of length 2, or 1) are made when O_CREAT is given."""

    def mkdir(self, path: Names, mode: int) -> None: ...

    def rmdir(self, path: Names) -> None: ...

    def unlink(self, path: Names) -> None: ...

    def rename(self, old: Names, new: Names, flags: int) -> None:
        """renameat2; `flags` are the kernel's (1 NOREPLACE, 2 EXCHANGE)."""

    def symlink(self, target: str, path: Names) -> None: ...

    def readlink(self, path: Names) -> str: ...

    def link(self, old: Names, new: Names) -> None: ...

    def chmod(self, path: Names, mode: int) -> None:
        """Setuid and setgid bits are dropped."""

    def chown(self, path: Names, uid: int, gid: int) -> None: ...

    def utimens(self, path: Names, atime_ns: int, mtime_ns: int) -> None: ...

    def getxattr(self, path: Names, name: str) -> bytes: ...

    def setxattr(self, path: Names, name: str, value: bytes, flags: int) -> None: ...

    def listxattr(self, path: Names) -> list[str]: ...

    def removexattr(self, path: Names, name: str) -> None: ...

    def statvfs(self) -> os.statvfs_result: ...


class Session(Protocol):
    """One open control file in its write-then-read form. Errors are engine errors or FsError."""

    def write(self, data: bytes, offset: int) -> int: ...

    def read(self, size: int, offset: int) -> bytes: ...

    def truncate(self, size: int) -> None: ...

    def size(self) -> int:
        """What fstat shows to the process that opened it."""

    def flush(self) -> None: ...

    def close(self) -> None: ...


class Control(Protocol):
    """The control files of one mountpoint's root (`.rejected` excepted: the tree serves it)."""

    def reserved(self, name: str) -> bool:
        """Is it a special name of any release, alone or in its `?` or `:` form?"""

    def mode(self, name: str) -> int | None:
        """Type and permission bits of a reserved name that exists now; None: ENOENT."""

    def serve(self, name: str, caller: Caller) -> bytes:
        """The whole answer; the same bytes from lookup to open (it keeps answers for seconds).
        Raises Invalid, NotFound, Unsupported or FsError."""

    def live(self, name: str) -> bool:
        """Does an open reader see what is appended later (`.events`)? It is opened as a session
        whose `size` grows; every other name is pinned at open by `serve`."""

    def session(self, name: str, caller: Caller) -> Session:
        """Open a bare name (no `?`) for writing, or for writing and reading, or a live name."""
