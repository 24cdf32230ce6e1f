"""embed = "inline": a commit embeds what it adds before it is stored, and fails with that."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.errors import EmbedderFailed
from engine.prepare import Prepared
from engine.state import State
from engine.store.versions import NO_HASH

Vector = NDArray[np.float32]


def embed_missing(state: State, content: Prepared) -> dict[bytes, Vector]:
    """Vectors of the parts' texts that have none yet; nothing unless embedding is inline.

    Raises EmbedderFailed.
    """
    if state.embed != "inline":
        return {}
    texts = {
        hash: part.embed_text
        for hash, part in zip(content.hashes, content.parts, strict=True)
        if hash != NO_HASH and not state.index.has_vector(hash)
    }
    if not texts:
        return {}
    if state.embedder is None:
        raise EmbedderFailed("there is no model to embed with", 'open the store with embed="off"')
    vectors = state.embedder.embed_passages(list(texts.values()))
    return dict(zip(texts, vectors, strict=True))
