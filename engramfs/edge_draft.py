"""One open, writable file of an edge; a session of `engramfs.ports`.

Nothing is stored before a close. An emptied file is not judged at a close but when it is given up:
a shell that redirects into it closes it once before it has written.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

from engramfs.errors import FsError

MOST_BYTES = 64 * 1024  # five values of 4 KiB, with room for escapes


class EdgeDraft:
    """Bytes that are to become the file. `save(data)` stores them, or raises and tells why.

    `appends`: opened with O_APPEND, so that offsets do not count.
    """

    def __init__(self, base: bytes, save: Callable[[bytes], None], *, appends: bool) -> None:
        self._data = bytearray(base)
        self._save = save
        self._appends = appends
        self._lock = threading.Lock()
        self.dirty = False
        self._refused = False  # since the last write

    def write(self, data: bytes, offset: int) -> int:
        """EFBIG beyond 64 KiB."""
        with self._lock:
            at = len(self._data) if self._appends else offset
            if at + len(data) > MOST_BYTES:
                raise FsError("EFBIG", f"the file of an edge has at most {MOST_BYTES} bytes")
            self._data[at : at + len(data)] = bytes(max(at - len(self._data), 0)) + data
            self.dirty, self._refused = True, False
            return len(data)

    def read(self, size: int, offset: int) -> bytes:
        with self._lock:
            return bytes(self._data[offset : offset + size])

    def truncate(self, size: int) -> None:
        with self._lock:
            if size > MOST_BYTES:
                raise FsError("EFBIG", f"the file of an edge has at most {MOST_BYTES} bytes")
            self._data[size:] = bytes(max(size - len(self._data), 0))
            self.dirty, self._refused = True, False

    def size(self) -> int:
        return len(self._data)

    def flush(self) -> None:
        """A close: what was written is stored or refused; refused bytes can be written anew."""
        if self._data:
            self._store()

    def close(self) -> None:
        """The last close, which cannot fail any more: why it would have is told by `save`, unless
        a close has been told already."""
        if not self._refused:
            with suppress(FsError):
                self._store()

    def _store(self) -> None:
        with self._lock:
            if self.dirty:
                self._refused = True
                self._save(bytes(self._data))
                self.dirty = self._refused = False
