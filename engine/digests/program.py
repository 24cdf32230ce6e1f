"""A program of the user's: bytes in on its standard input, bytes out, within a time.

It runs in a session of its own, without a terminal and away from every mount, and ends together
with all the processes of its group: when it is done, when it takes too long or says too much, and
when the engine closes. There is no shell unless the user names one.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from engine.visible import one_line

_CHUNK = 65_536  # bytes: what a pipe holds
_SAID = 4_096  # bytes of its complaints that are kept, the last ones
_SHOWN = 200  # characters of them in a message


class NoAnswer(Exception):
    """Why there is none: the rest of a sentence that begins with the program's name.

    `code` is its exit code where it ended by itself, else None.
    """

    def __init__(self, reason: str, code: int | None = None) -> None:
        super().__init__(reason)
        self.code = code


class Program:
    """One program and how to run it; one run at a time."""

    def __init__(
        self, words: Sequence[str], *, seconds: float, environment: Mapping[str, str]
    ) -> None:
        """`words` are the program and its arguments, `environment` all the variables it gets."""
        self.words = tuple(words)
        self._seconds = seconds
        self._environment = dict(environment)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    @property
    def name(self) -> str:
        """The program as a message names it."""
        return one_line(self.words[0])[:_SHOWN] if self.words else "nothing"

    def run(self, given: bytes, most: int, **variables: str) -> bytes:
        """What it writes, at most `most` bytes, for what it is given. NoAnswer says why not."""
        process = self._start(variables)
        try:
            written, said = _talk(process, given, most, time.monotonic() + self._seconds)
        except TimeoutError:
            raise NoAnswer(f"did not end within {self._seconds:g} seconds") from None
        finally:
            code = self._end(process)
        if self._stopped:
            raise NoAnswer("was ended, as the store is being closed")
        if code < 0:
            raise NoAnswer(f"was ended by the signal {_signal(-code)}{said}", code)
        if code:
            raise NoAnswer(f"ended with exit code {code}{said}", code)
        return written

    def stop(self) -> None:
        """End what runs, and start nothing any more."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                _kill(self._process)

    def _start(self, variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._stopped:
                raise NoAnswer("is not started, as the store is being closed")
            try:
                self._process = subprocess.Popen(
                    self.words,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    bufsize=0,
                    cwd="/",
                    env={**self._environment, **variables},
                    start_new_session=True,
                )
            except (OSError, ValueError, IndexError) as error:
                why = error.strerror if isinstance(error, OSError) else str(error)
                raise NoAnswer(f"cannot be started: {why}") from error
            return self._process

    def _end(self, process: subprocess.Popen[bytes]) -> int:
        """Kill what is left of its group, and return its exit code."""
        with self._lock:
            _kill(process)
            self._process = None  # from here on its number may be another's
        code = process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with suppress(OSError):  # it may have closed its end
                    pipe.close()
        return code


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the group. Until its leader is waited for, nobody else can have its number."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _talk(
    process: subprocess.Popen[bytes], given: bytes, most: int, deadline: float
) -> tuple[bytes, str]:
    """(what it wrote; its last complaint, as the end of a message). Returns when it has ended.

    TimeoutError, and NoAnswer for one that writes more than `most`.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    written, said = bytearray(), bytearray()
    rest = memoryview(given)
    ended = os.pidfd_open(process.pid)
    try:
        with selectors.DefaultSelector() as ready:
            for pipe in (process.stdin, process.stdout, process.stderr):
                os.set_blocking(pipe.fileno(), False)
            ready.register(ended, selectors.EVENT_READ)
            ready.register(process.stdin, selectors.EVENT_WRITE)
            ready.register(process.stdout, selectors.EVENT_READ, written)
            ready.register(process.stderr, selectors.EVENT_READ, said)
            over = False
            while not over:
                found = ready.select(max(0.0, deadline - time.monotonic()))
                if not found or time.monotonic() > deadline:
                    raise TimeoutError
                over = any(key.fileobj == ended for key, _ in found)
                if over:
                    _kill(process)  # whoever it left behind would keep its pipes open
                for key in list(ready.get_map().values()):
                    if key.fileobj is process.stdin:
                        rest = _feed(key, rest, ready)
                    elif key.data is not None:
                        _drain(key, ready, over)
                if len(written) > most:
                    raise NoAnswer(f"wrote more than {most} bytes")
                del said[:-_SAID]
    finally:
        os.close(ended)
    lines = said.decode("utf-8", "replace").strip().splitlines()
    return bytes(written), f": {one_line(lines[-1])[:_SHOWN]}" if lines else ""


def _feed(
    key: selectors.SelectorKey, rest: memoryview, ready: selectors.BaseSelector
) -> memoryview:
    """Write as much as goes; close the pipe behind the last byte, or when nobody reads it."""
    try:
        if rest:
            rest = rest[os.write(key.fd, rest[:_CHUNK]) :]
    except BlockingIOError:
        return rest
    except BrokenPipeError:
        rest = rest[:0]
    if not rest:
        ready.unregister(key.fileobj)
        key.fileobj.close()  # type: ignore[union-attr]  # a pipe
    return rest


def _drain(key: selectors.SelectorKey, ready: selectors.BaseSelector, over: bool) -> None:
    """Read what is there; all of it once the program has ended."""
    while True:
        try:
            data = os.read(key.fd, _CHUNK)
        except BlockingIOError:
            return
        if not data:
            ready.unregister(key.fileobj)
            return
        key.data.extend(data)
        if not over:
            return


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
