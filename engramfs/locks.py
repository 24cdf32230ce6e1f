"""One lock a place: writers of one path take turns, writers of different paths never meet."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

Place = tuple[str, str]  # kind (the catalogue's spelling), slug (NFC)


class PlaceLocks:
    """Reentrant locks that exist while somebody holds or waits for them."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._held: dict[Place, tuple[threading.RLock, list[int]]] = {}

    @contextmanager
    def hold(self, *places: Place) -> Iterator[None]:
        """Hold several at once, always in the same order, so that two renames cannot wait for
        each other."""
        with ExitStack() as stack:
            for place in sorted(set(places)):
                stack.enter_context(self._one(place))
            yield

    @contextmanager
    def _one(self, place: Place) -> Iterator[None]:
        with self._guard:
            lock, users = self._held.setdefault(place, (threading.RLock(), [0]))
            users[0] += 1
        try:
            with lock:
                yield
        finally:
            with self._guard:
                users[0] -= 1
                if not users[0]:
                    del self._held[place]
