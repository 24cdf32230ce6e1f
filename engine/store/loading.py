"""Fill the memory of an engine from its store, once, at open."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

from engine.errors import StoreCorrupt, StoreFull
from engine.index import Documents, Index
from engine.store import vectors, versions
from engine.store.connection import Store
from engine.store.extensions import Cursor
from engine.store.fulltext import Fulltext
from engine.store.versions import Version

log = logging.getLogger(__name__)

_BATCH = 1_000  # engrams whose unfolded terms are read at a time
_SPARE_VECTORS = 1_000  # of texts that are gone; fewer are not looked for


def load(store: Store, index: Index, fulltext: Fulltext, *, with_vectors: bool) -> list[Version]:
    """Fill `index` with every live document, and return all engrams' present versions.

    An engram whose row cannot be read is left out and named in the store's `troubles`. Vectors are
    left out where no model is used. Runs before anybody else has the store.
    """
    damaged: dict[int, str] = {}
    with store.cursor() as cursor:
        present = versions.load_current(cursor, damaged)
    for engram, reason in damaged.items():
        log.error("%s", reason)
        store.troubles[f"engram {engram}"] = reason
    live = sorted(
        (version for version in present if version.deleted_ns is None),
        key=lambda version: version.first_doc,
    )
    parts = sum(version.part_count for version in live)
    if with_vectors:
        _drop_unused(store, parts)
        load_vectors(store, index)
    store.fit_memory(parts)  # not before: the vectors, read once, would fill it and stay there
    folded = fulltext.base.folded
    with store.cursor() as cursor:
        index.add_many(_documents(cursor, live, folded))
    index.set_base(fulltext.base, ())
    return present


def load_vectors(store: Store, index: Index) -> None:
    """Fill the matrix, in batches: all rows at once would cost the memory twice.

    Vectors of a wrong length are dropped: their texts wait for new ones.
    """
    with store.cursor() as cursor:
        model = vectors.model(cursor)
        number = vectors.count(cursor)
    if model is None or not number:
        return
    index.reserve_vectors(number, model.dimension)
    try:
        _load_vectors(store, index, model.dimension)
    except StoreCorrupt as error:
        with store.transaction() as cursor:
            dropped = vectors.drop_damaged(cursor, model.dimension)
        log.error("%s; %d of them are made again", error.message, dropped)
        _load_vectors(store, index, model.dimension)


def _load_vectors(store: Store, index: Index, dimension: int) -> None:
    with store.cursor() as cursor:
        for hashes, matrix in vectors.load(cursor, dimension, store.config.load_batch):
            index.add_vectors(hashes, matrix)


def _drop_unused(store: Store, parts: int) -> None:
    """Vectors outlive their texts, which may come back; where most do, those of no text go.

    At open, because memory and store then agree on which texts have a vector.
    """
    with store.cursor() as cursor:
        if vectors.count(cursor) <= _SPARE_VECTORS + 2 * parts:
            return
    try:
        with store.transaction() as cursor:
            log.info("dropped %d vectors of texts long gone", vectors.drop_unused(cursor))
    except StoreFull as error:
        log.warning("vectors of texts long gone cannot be dropped: %s", error)


def _documents(cursor: Cursor, live: Sequence[Version], folded: int) -> Iterator[Documents]:
    for start in range(0, len(live), _BATCH):
        batch = live[start : start + _BATCH]
        unfolded = [version.parts_seq for version in batch if version.first_doc >= folded]
        terms = versions.terms_of(cursor, unfolded)
        for version in batch:
            lengths, hashes = versions.unpack_documents(version.documents)
            text = terms.get(version.parts_seq) if version.first_doc >= folded else None
            yield Documents(
                version.engram,
                version.first_doc,
                lengths,
                hashes,
                None if text is None else versions.split_terms(text),
            )
