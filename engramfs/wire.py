"""What goes over the store's socket: one JSON object a line, both ways.

A request is `{"command": …, "namespace": [[name, value], …], "arguments": {…}}`. The answer is any
number of `{"progress": {…}}` lines and then one `{"result": {…}}` or `{"error": {…}}`; then the
connection takes the next request. Bytes travel as base64.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from engine import errors

Message = dict[str, Any]

PATH_LIMIT = 107  # bytes of a socket's path that the kernel takes

# How an error is spelled on the wire, and the exit code that the command line gives it.
_EXIT = {
    "Invalid": 1,
    "StoreHeld": 4,
    "StoreCorrupt": 3,
    "SchemaTooNew": 3,
}


class Failed(Exception):
    """A command failed: a sentence for the user, and the exit code of the command line."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class Stream(Protocol):
    """What a connected socket's `makefile("rwb")` gives."""

    def readline(self) -> bytes: ...

    def write(self, data: bytes, /) -> int: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...


def failure(error: Exception) -> Failed:
    """The failure that an error of the engine or of the filesystem means to a user."""
    if isinstance(error, Failed):
        return error
    if isinstance(error, errors.Invalid):
        return Failed("\n".join(str(problem) for problem in error.problems))
    return Failed(str(error), _EXIT.get(type(error).__name__, 1))


def send(stream: Stream, message: Message) -> None:
    """Write one message."""
    stream.write(json.dumps(message, ensure_ascii=False).encode() + b"\n")
    stream.flush()


def receive(stream: Stream) -> Message | None:
    """Read one message; None at the end. ValueError if it is no JSON object."""
    line = stream.readline()
    if not line:
        return None
    message = json.loads(line)
    if not isinstance(message, dict):
        raise ValueError("a message is a JSON object")
    return message


@contextmanager
def _address(path: Path) -> Iterator[str]:
    """A name of `path` that fits: a long one is reached through its directory's descriptor."""
    if len(os.fsencode(path)) <= PATH_LIMIT:
        yield str(path)
        return
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{directory}/{path.name}"
    finally:
        os.close(directory)


def listen(path: Path) -> socket.socket:
    """Bind and listen at `path` (replacing what a killed server left), for its owner only."""
    path.unlink(missing_ok=True)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o077)
    try:
        with _address(path) as address:
            server.bind(address)
    finally:
        os.umask(before)
    path.chmod(0o700)
    server.listen(64)
    return server


def connect(path: Path) -> socket.socket:
    """Connect to the server at `path`; OSError where none listens."""
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _address(path) as address:
            client.connect(address)
    except OSError:
        client.close()
        raise
    return client
