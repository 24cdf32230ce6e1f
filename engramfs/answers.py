"""Answers in memory: bounded by number and by age, least recently used out first."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from engine.errors import NotFound

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

PACK_SECONDS = 600.0
PACKS = 256
PACK_BYTES = 16 * 1024 * 1024


class Kept(Generic[Key, Value]):
    """A mapping that forgets. Safe from any thread.

    A value lives `seconds` after it was put, counted by `clock` (monotonic, in seconds); with
    `renew`, after it was last read. Beyond `most` values, or `most_weight` together as `weigh`
    weighs them, the one unused for longest goes.
    """

    def __init__(
        self,
        most: int,
        seconds: float,
        clock: Callable[[], float],
        *,
        renew: bool = False,
        weigh: Callable[[Value], int] = lambda _: 0,
        most_weight: int = 0,
    ) -> None:
        self._weigh = weigh
        self._most_weight = most_weight
        self._weight = 0
        self._most = most
        self._seconds = seconds
        self._clock = clock
        self._renew = renew
        self._lock = threading.Lock()
        self._values: OrderedDict[Key, tuple[float, Value]] = OrderedDict()

    def get(self, key: Key) -> Value | None:
        """The value, or None when there is none or it is too old."""
        with self._lock:
            found = self._values.get(key)
            if found is None:
                return None
            at, value = found
            now = self._clock()
            if now - at > self._seconds:
                self._forget(key)
                return None
            self._values[key] = (now if self._renew else at, value)
            self._values.move_to_end(key)
            return value

    def put(self, key: Key, value: Value) -> None:
        """Keep `value` under `key`, anew when there was one."""
        with self._lock:
            self._forget(key)
            self._values[key] = (self._clock(), value)
            self._weight += self._weigh(value)
            while len(self._values) > self._most or self._weight > self._most_weight:
                self._forget(next(iter(self._values)))

    def _forget(self, key: Key) -> None:
        held = self._values.pop(key, None)
        if held is not None:
            self._weight -= self._weigh(held[1])


class Packs:
    """The answers of recalls by their tokens, for ten minutes after they were last read.

    `owner` is who may ask for them again: a mountpoint, or the scope of a command.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._kept: Kept[tuple[Hashable, str], bytes] = Kept(
            PACKS, PACK_SECONDS, clock, renew=True, weigh=len, most_weight=PACK_BYTES
        )

    def put(self, owner: Hashable, token: str, answer: bytes) -> None:
        """Keep an answer."""
        self._kept.put((owner, token), answer)

    def again(self, token: str, *owners: Hashable) -> bytes:
        """The answer of `token` that one of `owners` got; NotFound."""
        for owner in owners:
            found = self._kept.get((owner, token))
            if found is not None:
                return found
        raise NotFound(
            f"no answer has the token {token}",
            f"answers are kept for {PACK_SECONDS / 60:.0f} minutes; ask again",
        )
