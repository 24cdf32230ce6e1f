"""One store, one model: nothing is embedded before the store's vectors are known to be the model's.

A model that cannot be read when the store is opened may be there later, and be another than the one
that made the vectors. So it is asked again, at the next text.

An embedder may be the host's own, so what it gives is judged here: a vector of another length, or
of no direction, would be found by nothing and find nothing, in silence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from engine.embed import Embedder, Floats
from engine.errors import EmbedderFailed, EngineError, Unsupported
from engine.store import vectors
from engine.store.connection import Store
from engine.store.vectors import Model, are_unit

_T = TypeVar("_T")
_HOST = "it is the host program's; let it give finite vectors of its dimension and of length 1"


class Agreed:
    """An Embedder for the vectors of one store. `trouble` is why its last use failed, or ""."""

    def __init__(self, embedder: Embedder, store: Store) -> None:
        self._embedder = embedder
        self._store = store
        self._agreed = False
        self.trouble = ""

    def agree(self, *, re_embed: bool = False) -> None:
        """The store's vectors are the embedder's, or there are none.

        `re_embed`: another model's vectors go, once this one has embedded a text. Raises
        EmbedderFailed when the model cannot be used, Unsupported when the vectors are another's.
        """
        self._told(lambda: self._agree(re_embed))

    @property
    def fingerprint(self) -> str:
        return self._embedder.fingerprint

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    @property
    def max_tokens(self) -> int:
        return self._embedder.max_tokens

    def embed_passages(self, texts: Sequence[str]) -> Floats:
        return self._told(
            lambda: self._ready(lambda: self._embedder.embed_passages(texts), len(texts))
        )

    def embed_query(self, text: str) -> Floats:
        return self._told(lambda: self._ready(lambda: self._embedder.embed_query(text)))

    def count_tokens(self, text: str) -> int:
        return self._embedder.count_tokens(text)

    def release(self) -> None:
        self._embedder.release()

    def _agree(self, re_embed: bool) -> None:
        wanted = Model(self._embedder.fingerprint, self._embedder.dimension)
        with self._store.cursor() as cursor:
            others = re_embed and vectors.model(cursor) not in (None, wanted)
        if others:
            self._judged(lambda: self._embedder.embed_query("text"))
        with self._store.transaction() as cursor:
            if others:
                vectors.drop_all(cursor)
            vectors.agree(cursor, wanted)
        self._agreed = True

    def _ready(self, embed: Callable[[], Floats], *texts: int) -> Floats:
        if not self._agreed:
            try:
                self._agree(re_embed=False)
            except Unsupported as error:
                raise EmbedderFailed(error.message, error.hint) from error
        return self._judged(embed, *texts)

    def _judged(self, embed: Callable[[], Floats], *texts: int) -> Floats:
        """float32[*texts, dimension], each of length 1; EmbedderFailed for anything else."""
        try:
            made = np.asarray(embed(), np.float32)
        except EngineError:
            raise
        except Exception as error:
            raise EmbedderFailed(
                f"the embedder failed: {type(error).__name__}: {error}", _HOST
            ) from error
        wanted = (*texts, self._embedder.dimension)
        if made.shape != wanted:
            raise EmbedderFailed(
                f"the embedder gave an array of the shape {made.shape}, not {wanted}", _HOST
            )
        every = np.atleast_2d(made)
        wrong = every[~are_unit(every)]
        if len(wrong):
            length = np.linalg.norm(wrong[0])
            raise EmbedderFailed(f"the embedder gave a vector of the length {length:g}", _HOST)
        return made

    def _told(self, use: Callable[[], _T]) -> _T:
        try:
            result = use()
        except EmbedderFailed as error:
            self.trouble = str(error)
            raise
        self.trouble = ""
        return result
