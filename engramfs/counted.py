"""An overlay that counts its changes, so that what was seen of a directory can be kept until one.

The directory of a kind is looked up with every path that goes through it; asking the overlay each
time for its mtime would be the larger part of that.
"""

from __future__ import annotations

import os

from engramfs.ports import Names, Overlay


class CountedOverlay:
    """Delegates to `inner`; `changes` grows with every call that can change a directory."""

    def __init__(self, inner: Overlay) -> None:
        self._inner = inner
        self.changes = 0
        self.stat = inner.stat
        self.entries = inner.entries
        self.readlink = inner.readlink
        self.statvfs = inner.statvfs
        self.chmod = inner.chmod
        self.chown = inner.chown
        self.getxattr = inner.getxattr
        self.setxattr = inner.setxattr
        self.listxattr = inner.listxattr
        self.removexattr = inner.removexattr

    # Counted after the call: whoever looks in between may keep the old state only until then.
    def open(self, path: Names, flags: int, mode: int = 0o644) -> int:
        try:
            return self._inner.open(path, flags, mode)
        finally:
            if flags & os.O_CREAT:
                self.changes += 1

    def mkdir(self, path: Names, mode: int) -> None:
        try:
            self._inner.mkdir(path, mode)
        finally:
            self.changes += 1

    def rmdir(self, path: Names) -> None:
        try:
            self._inner.rmdir(path)
        finally:
            self.changes += 1

    def unlink(self, path: Names) -> None:
        try:
            self._inner.unlink(path)
        finally:
            self.changes += 1

    def rename(self, old: Names, new: Names, flags: int) -> None:
        try:
            self._inner.rename(old, new, flags)
        finally:
            self.changes += 1

    def symlink(self, target: str, path: Names) -> None:
        try:
            self._inner.symlink(target, path)
        finally:
            self.changes += 1

    def link(self, old: Names, new: Names) -> None:
        try:
            self._inner.link(old, new)
        finally:
            self.changes += 1

    def utimens(self, path: Names, atime_ns: int, mtime_ns: int) -> None:
        try:
            self._inner.utimens(path, atime_ns, mtime_ns)
        finally:
            self.changes += 1
