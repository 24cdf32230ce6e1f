"""Open handles: bytes pinned at open, plain files passed through, conversations with control files.

Handles that write engrams are in `engramfs.staging`.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from engine.model import Entry
from engramfs import overlay
from engramfs.errors import FsError
from engramfs.ports import Attributes, Caller, Session

if TYPE_CHECKING:
    from engramfs.files import File
    from engramfs.staging import Staged


class Pinned:
    """A reader's bytes, as they were at open.

    `entry` is the version they are of; `fixed` are the attributes of what is no engram.
    """

    __slots__ = ("_caller", "_pid", "data", "entry", "file", "fixed")
    kept_direct = True

    def __init__(
        self,
        data: bytes,
        caller: Caller,
        *,
        file: File | None = None,
        entry: Entry | None = None,
        fixed: Attributes | None = None,
    ) -> None:
        self.data = data
        self.file = file
        self.entry = entry
        self.fixed = fixed
        self._caller: Caller | None = caller
        self._pid = 0

    @property
    def pid(self) -> int:
        """The process that opened it: looked up only once somebody asks, for it costs."""
        if self._caller is not None:
            self._pid = self._caller.pid
            self._caller = None
        return self._pid

    def belongs(self, pid: int) -> bool:
        """Is it this process's own?"""
        return self.pid == pid

    def shows(self, current: Entry | None) -> bool:
        """Does its process see other attributes than everybody else, who see `current`?"""
        mine = self.entry
        if mine is None or current is None:
            return mine is not current
        return mine.source_seq != current.source_seq

    def read(self, size: int, offset: int) -> bytes:
        return self.data[offset : offset + size]


class PlainHandle:
    """A descriptor of the overlay.

    When its file is renamed onto an engram's name the handle goes on as `became`.
    """

    __slots__ = ("became", "caller", "descriptor", "flags", "inode", "lock")

    def __init__(self, descriptor: int, flags: int, caller: Caller) -> None:
        self.descriptor = descriptor
        self.flags = flags
        self.caller = caller
        self.inode = os.fstat(descriptor).st_ino
        self.lock = threading.Lock()  # writers only: a rename turns it into a staged handle
        self.became: Staged | None = None

    @property
    def writes(self) -> bool:
        return self.flags & os.O_ACCMODE != os.O_RDONLY

    def read(self, size: int, offset: int) -> bytes:
        return os.pread(self.descriptor, size, offset)

    def write(self, data: bytes, offset: int, flags: int) -> int:
        """The caller holds `lock` and has looked at `became`."""
        return overlay.write(self.descriptor, data, offset, flags)

    def close(self) -> None:
        os.close(self.descriptor)


class Talk:
    """A conversation with a control file."""

    __slots__ = ("attributes", "caller", "name", "session")

    def __init__(self, session: Session, caller: Caller, name: str) -> None:
        self.session = session
        self.caller = caller
        self.name = name

    def read(self, size: int, offset: int) -> bytes:
        return self.session.read(size, offset)


def bad_handle() -> FsError:
    """EBADF, for a number that is no open handle, or one opened for something else."""
    return FsError("EBADF", "the file is not open for this")
