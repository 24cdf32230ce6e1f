"""Identities: UUIDv7 (RFC 9562, section 5.7), which sort by the time they were made."""

from __future__ import annotations

import os
import re
import threading
import time
import uuid
from collections.abc import Callable

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)

_RANDOM_BITS = 74  # rand_a and rand_b together
_RANDOM_MASK = (1 << _RANDOM_BITS) - 1


def maker(clock: Callable[[], int] = time.time_ns) -> Callable[[], str]:
    """A maker of UUIDv7 strings, lower case, each greater than the one before (method 2 of 6.2).

    `clock` gives nanoseconds since the epoch; it may stand still or run backwards.
    """
    lock = threading.Lock()
    random = _Pool()
    last_ms = 0
    last_random = 0

    def make() -> str:
        nonlocal last_ms, last_random
        milliseconds = clock() // 1_000_000
        with lock:
            if milliseconds > last_ms:
                last_ms = milliseconds
                last_random = random.take(10) & (_RANDOM_MASK >> 1)
            else:
                last_random += 1 + random.take(4)
                if last_random > _RANDOM_MASK:
                    last_ms += 1
                    last_random = random.take(10) & (_RANDOM_MASK >> 1)
            return _assemble(last_ms, last_random)

    return make


class _Pool:
    """Random bytes fetched by the thousand: a call to the kernel for each id costs 0.1 ms."""

    def __init__(self) -> None:
        self._bytes = b""
        self._at = 0

    def take(self, count: int) -> int:
        """A random number of `count` bytes."""
        if self._at + count > len(self._bytes):
            self._bytes, self._at = os.urandom(4_096), 0
        self._at += count
        return int.from_bytes(self._bytes[self._at - count : self._at])


def _assemble(milliseconds: int, random: int) -> str:
    value = (milliseconds & ((1 << 48) - 1)) << 80
    value |= 0x7 << 76
    value |= (random >> 62) << 64
    value |= 0b10 << 62
    value |= random & ((1 << 62) - 1)
    return str(uuid.UUID(int=value))


uuid7 = maker()
