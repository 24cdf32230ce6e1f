"""What `stat` shows of each kind of thing. Pure: values in, attributes out."""

from __future__ import annotations

import os
import stat

from engine.model import Entry
from engramfs.inodes import OVERLAY
from engramfs.ports import Attributes

_PERMISSIONS = 0o777


def of_entry(entry: Entry, size: int, uid: int, gid: int) -> Attributes:
    """An engram or blank. `size`: of the bytes as shown. Reads are not recorded: atime is mtime."""
    return Attributes(
        entry.inode,
        stat.S_IFREG | entry.mode,
        1,
        size,
        entry.mtime_ns,
        entry.ctime_ns,
        entry.mtime_ns,
        uid,
        gid,
    )


def of_plain(found: os.stat_result) -> Attributes:
    """A file of the overlay, under a number of its own range."""
    return Attributes(
        found.st_ino + OVERLAY,
        found.st_mode,
        found.st_nlink,
        found.st_size,
        found.st_mtime_ns,
        found.st_ctime_ns,
        found.st_atime_ns,
        found.st_uid,
        found.st_gid,
    )


def of_file(
    inode: int, mode: int, size: int, mtime_ns: int, ctime_ns: int, uid: int, gid: int
) -> Attributes:
    """A regular file that is no engram (yet)."""
    return Attributes(
        inode, stat.S_IFREG | mode & _PERMISSIONS, 1, size, mtime_ns, ctime_ns, mtime_ns, uid, gid
    )


def of_directory(inode: int, mode: int, mtime_ns: int, uid: int, gid: int) -> Attributes:
    """A directory that is not the overlay's."""
    return Attributes(
        inode, stat.S_IFDIR | mode & _PERMISSIONS, 2, 0, mtime_ns, mtime_ns, mtime_ns, uid, gid
    )


def of_symlink(inode: int, size: int, mtime_ns: int, uid: int, gid: int) -> Attributes:
    """A generated symlink; `size` is the length of its target in bytes."""
    return Attributes(
        inode, stat.S_IFLNK | _PERMISSIONS, 1, size, mtime_ns, mtime_ns, mtime_ns, uid, gid
    )
