"""Texts that wait for their vectors, kept from when they were cut, so as not to cut them again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from engine.prepare import Prepared
from engine.store.documents import NO_HASH

_MOST = 8 * 1024 * 1024  # characters


def unembedded(content: Prepared, has_vector: Callable[[bytes], bool]) -> list[tuple[bytes, str]]:
    """(hash, text) of the parts that are to be embedded and are not."""
    pairs = zip(content.hashes, content.parts, strict=True)
    return [
        (hash, part.embed_text) for hash, part in pairs if hash != NO_HASH and not has_vector(hash)
    ]


class TextsAhead:
    """hash -> text, the newest ones; written by commits, read by the background."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._held: dict[bytes, str] = {}  # the newest last
        self._size = 0
        self._lock = threading.Lock()

    def add(self, texts: Iterable[tuple[bytes, str]]) -> None:
        """Keep them; the oldest go when it is too much."""
        with self._lock:
            for hash, text in texts:
                self._size += len(text) - len(self._held.pop(hash, ""))
                self._held[hash] = text
            while self._size > self._most:
                self._size -= len(self._held.pop(next(iter(self._held))))

    def take(self, hash: bytes) -> str | None:
        """The text of a hash, which is not kept any longer; None when it is not here."""
        with self._lock:
            text = self._held.pop(hash, None)
            self._size -= len(text or "")
            return text
