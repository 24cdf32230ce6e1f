"""Errors -> errno numbers: the one place that names errno for what programs see.

A refused document is EPROTO, raised by the tree as FsError; an Invalid that reaches this table is a
bad request, catalogue or name.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping

from engine import errors
from engramfs.errors import FsError

_NUMBERS: Mapping[type[BaseException], int] = {
    errors.NotFound: errno.ENOENT,
    errors.Invalid: errno.EINVAL,
    errors.Unsupported: errno.EOPNOTSUPP,
    errors.Conflict: errno.EBUSY,
    errors.StoreHeld: errno.EBUSY,
    errors.StoreFull: errno.ENOSPC,
    errors.StoreCorrupt: errno.EIO,
    errors.SchemaTooNew: errno.EIO,
    errors.EmbedderFailed: errno.EIO,
    MemoryError: errno.ENOMEM,
}


def number(error: BaseException) -> int | None:
    """The errno of an error that a program may meet; None for one that is a bug of ours."""
    if isinstance(error, FsError):
        return code_number(error.code)
    if isinstance(error, OSError):
        return error.errno or errno.EIO
    for kind, found in _NUMBERS.items():
        if isinstance(error, kind):
            return found
    return None


def code_number(code: str) -> int:
    """The number behind a name such as "EPERM"; AttributeError for a name that is none."""
    found: int = getattr(errno, code)
    return found
