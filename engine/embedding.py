"""Vectors for the texts of parts: before a commit (inline), or behind it (background)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.document import parse
from engine.entries import is_live
from engine.errors import EmbedderFailed, EngineError
from engine.host_parts import Hosted
from engine.model import Entry
from engine.objects import hosted_of
from engine.prepare import Prepared, prepare, unjudged
from engine.state import State
from engine.store import vectors
from engine.texts_ahead import unembedded
from engine.worker import Embedding

Vector = NDArray[np.float32]
Vectors = NDArray[np.float32]

log = logging.getLogger(__name__)


def embedding_of(state: State) -> Embedding:
    """What the background worker needs to embed this store."""

    def embed(text: str) -> Vector:
        if state.embedder is None:
            raise EmbedderFailed("there is no model to embed with", 'open with embed="off"')
        return np.asarray(state.embedder.embed_passages([text])[0])

    def release() -> None:
        if state.embedder is not None:
            state.embedder.release()

    return Embedding(
        pending=lambda most: state.index.pending(most),
        texts=lambda hashes: texts(state, hashes),
        embed=embed,
        store=lambda hashes, made: keep(state, hashes, made),
        release=release,
    )


def embed_missing(state: State, content: Prepared) -> dict[bytes, Vector]:
    """embed = "inline": the vectors of texts that have none yet, before they are committed.

    Raises EmbedderFailed.
    """
    if state.embed != "inline":
        return {}
    wanted = dict(unembedded(content, state.index.has_vector))
    if not wanted:
        return {}
    if state.embedder is None:
        raise EmbedderFailed("there is no model to embed with", 'open the store with embed="off"')
    made = state.embedder.embed_passages(list(wanted.values()))
    return dict(zip(wanted, made, strict=True))


def texts(state: State, hashes: Sequence[bytes]) -> Mapping[bytes, str]:
    """The texts of live parts that wait for their vectors; others are left out.

    Those that a commit or the preparing for others left behind are there; else the engram is
    prepared again.
    """
    found: dict[bytes, str] = {}
    tried: set[int] = set()
    for hash in hashes:
        rows = state.index.rows_waiting(hash)
        text = state.texts_ahead.take(hash)
        for no, _ in rows:
            entry = state.entries.get(no)
            if text is None and no not in tried and entry is not None and is_live(entry):
                tried.add(no)
                state.texts_ahead.add(_again(state, entry))
                text = state.texts_ahead.take(hash)
        if rows and text is not None:
            found[hash] = text
    return found


def keep(state: State, hashes: Sequence[bytes], made: Vectors) -> None:
    """Store vectors, then let searches see them."""
    with state.store.lock:
        fresh = [at for at, hash in enumerate(hashes) if not state.index.has_vector(hash)]
        new, rows = [hashes[at] for at in fresh], made[fresh]
        waiting = state.index.rows_waiting
        with state.store.transaction() as cursor:
            vectors.add(cursor, new, rows)
            if state.index.pending_count == sum(bool(waiting(hash)) for hash in new):
                vectors.end_anew(cursor)
                state.store.troubles.pop(vectors.TROUBLE, None)
        state.index.add_vectors(new, rows)


def prepared_again(
    state: State, entry: Entry, source: bytes | None = None, hosted: Hosted | None = None
) -> Prepared:
    """An engram's stored bytes and host's parts, prepared anew: what all derived must agree with.

    `source` and `hosted` are those where the caller has them.
    """
    document = parse(state.sources.written(entry) if source is None else source, state.config)
    properties = state.properties.of(entry.no)
    bench = state.bench()
    head = unjudged(document, bench, entry.kind, entry.slug, entry.name, properties)
    if hosted is None:
        hosted = hosted_of(state, entry)
    return prepare(document, head, entry.id, bench, hosted)


def _again(state: State, entry: Entry) -> list[tuple[bytes, str]]:
    """(hash, text) of the parts of an engram that wait for their vectors."""
    try:
        content = prepared_again(state, entry)
    except EngineError as error:
        log.warning("%s/%s cannot be embedded: %s", entry.kind, entry.name, error)
        return []
    return unembedded(content, state.index.has_vector)
