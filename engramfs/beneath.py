"""Opening a directory below a descriptor, never through a symlink and never out of it.

Also the system calls beside it that the standard library lacks: renameat2 and fallocate.

`openat2` with RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS does it in one call; where the kernel (before
5.6) or a sandbox does not know it, every component is opened by itself with O_NOFOLLOW.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Sequence
from functools import cache

_OPENAT2 = 437  # the same number on every architecture
_RESOLVE_NO_MAGICLINKS, _RESOLVE_NO_SYMLINKS, _RESOLVE_BENEATH = 0x02, 0x04, 0x08
_RESOLVE = _RESOLVE_BENEATH | _RESOLVE_NO_SYMLINKS | _RESOLVE_NO_MAGICLINKS
_DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_libc = ctypes.CDLL(None, use_errno=True)


class _How(ctypes.Structure):
    """`struct open_how` of openat2(2)."""

    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


def open_directory(root: int, parts: Sequence[str]) -> int:
    """A new O_PATH descriptor of the directory `parts` below `root`. Raises OSError."""
    if kernel_resolves():
        return _open_at_once(root, parts)
    return open_by_component(root, parts)


def open_by_component(root: int, parts: Sequence[str]) -> int:
    """The same without openat2."""
    descriptor = os.open(".", _DIRECTORY, dir_fd=root)
    for part in parts:
        if part in ("", ".", "..") or "/" in part:
            os.close(descriptor)
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), part)
        try:
            inner = os.open(part, _DIRECTORY | os.O_NOFOLLOW, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = inner
    return descriptor


@cache
def kernel_resolves() -> bool:
    """Whether openat2 works here."""
    try:
        root = os.open("/", _DIRECTORY)
        try:
            os.close(_open_at_once(root, ()))
        finally:
            os.close(root)
    except OSError:
        return False
    return True


def rename(old_directory: int, old: str, new_directory: int, new: str, flags: int) -> None:
    """renameat2(2): `flags` are the kernel's (1 NOREPLACE, 2 EXCHANGE). Raises OSError."""
    if not flags:
        os.rename(old, new, src_dir_fd=old_directory, dst_dir_fd=new_directory)
        return
    if _libc.renameat2(old_directory, os.fsencode(old), new_directory, os.fsencode(new), flags):
        raise _last_error(old, new)


def fallocate(descriptor: int, mode: int, offset: int, length: int) -> None:
    """fallocate(2), which the standard library has only without `mode`. Raises OSError."""
    if _libc.fallocate64(descriptor, mode, ctypes.c_int64(offset), ctypes.c_int64(length)):
        raise _last_error(f"descriptor {descriptor}")


def _open_at_once(root: int, parts: Sequence[str]) -> int:
    path = os.fsencode("/".join(parts) or ".")
    how = _How(_DIRECTORY, 0, _RESOLVE)
    descriptor: int = _libc.syscall(
        ctypes.c_long(_OPENAT2), root, path, ctypes.byref(how), ctypes.c_size_t(ctypes.sizeof(how))
    )
    if descriptor < 0:
        raise _last_error("/".join(parts))
    return descriptor


def _last_error(*names: str) -> OSError:
    number = ctypes.get_errno()
    if len(names) == 1:
        return OSError(number, os.strerror(number), names[0])
    return OSError(number, os.strerror(number), names[0], None, names[1])
