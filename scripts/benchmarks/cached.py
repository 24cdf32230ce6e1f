"""An embedder that remembers on disk what it made, so that a rerun embeds nothing anew."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.embed import Embedder

Vectors = NDArray[np.float32]
HASH_BYTES = 32


class CachedEmbedder:
    """`embedder`, with its vectors kept in one file a model: records of SHA-256 and floats.

    A record that a killed run left half written is dropped. Questions and passages are told apart,
    because a model may read them differently.
    """

    def __init__(self, embedder: Embedder, directory: Path) -> None:
        self._embedder = embedder
        self.fingerprint = embedder.fingerprint
        self.dimension = embedder.dimension
        self.max_tokens = embedder.max_tokens
        self.made = 0  # texts that the model itself read
        directory.mkdir(parents=True, exist_ok=True)
        self._path = directory / f"vectors-{self.fingerprint[:16]}.bin"
        self._known: dict[bytes, Vectors] = {}
        self._load()

    def _load(self) -> None:
        if not self._path.is_file():
            return
        size = HASH_BYTES + 4 * self.dimension
        raw = self._path.read_bytes()
        whole = len(raw) - len(raw) % size
        if whole < len(raw):
            with self._path.open("r+b") as file:
                file.truncate(whole)
        for at in range(0, whole, size):
            self._known[raw[at : at + HASH_BYTES]] = np.frombuffer(
                raw, np.float32, self.dimension, at + HASH_BYTES
            )

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """float32[len(texts), dimension]."""
        found = [self._one(text, "passage") for text in texts]
        return np.stack(found) if found else np.empty((0, self.dimension), np.float32)

    def embed_query(self, text: str) -> Vectors:
        """float32[dimension]."""
        return self._one(text, "query")

    def count_tokens(self, text: str) -> int:
        """As the model counts."""
        return self._embedder.count_tokens(text)

    def release(self) -> None:
        """Give the model's memory back."""
        self._embedder.release()

    def _one(self, text: str, role: str) -> Vectors:
        key = hashlib.sha256(f"{role}\0{text}".encode("utf-8", "replace")).digest()
        vector = self._known.get(key)
        if vector is None:
            if role == "query":
                vector = self._embedder.embed_query(text)
            else:
                vector = self._embedder.embed_passages([text])[0]
            self._known[key] = vector
            self.made += 1
            with self._path.open("ab") as file:
                file.write(key + np.asarray(vector, np.float32).tobytes())
        return vector
