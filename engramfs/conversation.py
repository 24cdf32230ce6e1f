"""The write-then-read form of a control file: one open handle, a request in, its answer out.

The handle looks like a file that holds the request and then the answer, so a reader goes on from
where its writing ended. Writing again after reading begins the next request.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from engramfs.errors import FsError

REQUEST_BYTES = 1 << 20


class Conversation:
    """One handle; a session of `engramfs.ports`.

    `ask(request)` judges a request and remembers it as this caller's last: it raises for a bad one.
    `answer(request)` runs it. `idle()` is what a reader gets who has written nothing.
    """

    def __init__(
        self,
        ask: Callable[[bytes], None],
        answer: Callable[[bytes], bytes],
        idle: Callable[[], bytes],
    ) -> None:
        self._ask = ask
        self._answer = answer
        self._idle = idle
        self._lock = threading.Lock()
        self._request = bytearray()
        self._base = 0  # the offset of the handle where the request begins
        self._asked = True  # nothing is written that was not yet judged
        self._answered: bytes | None = None

    def write(self, data: bytes, offset: int) -> int:
        """Part of a request. EFBIG beyond 1 MiB, EINVAL for a gap."""
        with self._lock:
            if not self._request or self._answered is not None:
                self._request, self._base, self._answered = bytearray(), offset, None
            at = offset - self._base
            if at < 0 or at > len(self._request):
                raise FsError(
                    "EINVAL", "a request is written without gaps", "write it from its beginning on"
                )
            if at + len(data) > REQUEST_BYTES:
                raise FsError("EFBIG", f"a request has at most {REQUEST_BYTES} bytes")
            self._request[at : at + len(data)] = data
            self._asked = False
            return len(data)

    def truncate(self, size: int) -> None:
        """Emptying begins anew; a request cannot be cut otherwise."""
        with self._lock:
            if size:
                raise FsError("EINVAL", "a control file can only be emptied, not cut to a size")
            self._request, self._base, self._answered = bytearray(), 0, None
            self._asked = True

    def read(self, size: int, offset: int) -> bytes:
        """The request runs at the first read behind it. Errors are those of the request."""
        with self._lock:
            if self._answered is None:
                self._judge()
                self._answered = (
                    self._answer(bytes(self._request)) if self._request else self._idle()
                )
            at = offset - self._base
            if at < 0:
                return b""
            whole = bytes(self._request) + self._answered
            return whole[at : at + size]

    def size(self) -> int:
        """What fstat shows: everything up to the end of the answer, once there is one."""
        with self._lock:
            return self._base + len(self._request) + len(self._answered or b"")

    def flush(self) -> None:
        """A close: what was written and not read is judged now, so that close can fail."""
        with self._lock:
            self._judge()

    def close(self) -> None:
        """Nothing is held."""

    def _judge(self) -> None:
        if not self._asked:
            self._asked = True
            self._ask(bytes(self._request))
