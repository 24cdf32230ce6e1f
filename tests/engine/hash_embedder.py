"""An embedder for tests that need vectors and not their quality."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from engine.embed import Floats
from engine.text import analyse


class HashEmbedder:
    """Each term adds a fixed pseudo-random direction: texts with common words are near one another.

    It knows no meaning. Deterministic, a few microseconds a text, no model.
    """

    def __init__(self, dimension: int = 32, name: str = "hash") -> None:
        self.fingerprint = f"{name}-{dimension}"
        self.dimension = dimension
        self.max_tokens = 256
        self.texts: list[str] = []  # every text that was embedded, in order
        self.released = 0

    def embed_passages(self, texts: Sequence[str]) -> Floats:
        self.texts += texts
        return np.array([self.embed_query(text) for text in texts], np.float32).reshape(
            len(texts), self.dimension
        )

    def embed_query(self, text: str) -> Floats:
        vector = sum((self._direction(term) for term in analyse(text)), self._direction(""))
        return np.asarray(vector / np.linalg.norm(vector), np.float32)

    def count_tokens(self, text: str) -> int:
        return len(text.split()) + 2

    def release(self) -> None:
        self.released += 1

    def _direction(self, term: str) -> Floats:
        seed = int.from_bytes(blake2b(term.encode(), digest_size=8).digest(), "big")
        return np.random.default_rng(seed).standard_normal(self.dimension).astype(np.float32)
