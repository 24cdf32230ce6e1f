"""Fill the memory of an engine from its store, once, at open."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.errors import StoreFull
from engine.index import Documents, Index
from engine.store import vectors, versions
from engine.store.connection import Store
from engine.store.documents import unpack_documents
from engine.store.extensions import Cursor
from engine.store.fulltext import Fulltext
from engine.store.versions import Version

log = logging.getLogger(__name__)

_BATCH = 1_000  # engrams whose unfolded terms are read at a time
_SPARE_VECTORS = 1_000  # of texts that are gone; fewer are not looked for


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a store held: every engram's present version, and what is damaged.

    `unreadable` are the engrams whose row cannot be read, with the reason. Of the `unproved` live
    ones what is derived from their bytes is damaged, so that the index has not all of it.
    """

    present: list[Version]
    unreadable: dict[int, str]
    unproved: list[int]


def load(store: Store, index: Index, fulltext: Fulltext, *, with_vectors: bool) -> Loaded:
    """Fill `index` with every live document that is as it was stored.

    Vectors are left out where no model is used. Runs before anybody else has the store.
    """
    unreadable: dict[int, str] = {}
    with store.cursor() as cursor:
        present = versions.load_current(cursor, unreadable)
    for reason in unreadable.values():
        log.error("%s", reason)
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
    unproved: list[int] = []
    with store.cursor() as cursor:
        index.add_many(_documents(cursor, live, folded, unproved))
    index.set_base(fulltext.base, ())
    if not index.pending_count:
        store.troubles.pop(vectors.TROUBLE, None)
    return Loaded(present, unreadable, unproved)


def load_vectors(store: Store, index: Index) -> None:
    """Fill the matrix, in batches: all rows at once would cost the memory twice.

    Damaged ones are left out and dropped: their texts wait for new ones.
    """
    with store.cursor() as cursor:
        model = vectors.model(cursor)
        number = vectors.count(cursor)
    if model is None or not number:
        return
    index.reserve_vectors(number, model.dimension)
    damaged: list[int] = []
    with store.cursor() as cursor:
        for hashes, matrix in vectors.load(
            cursor, model.dimension, store.config.load_batch, damaged
        ):
            index.add_vectors(hashes, matrix)
    if damaged:
        said = f"{len(damaged)} stored vectors were damaged; those that are needed are made again"
        store.troubles[vectors.TROUBLE] = said
        log.error("%s", said)
        try:
            with store.transaction() as cursor:
                vectors.drop_damaged(cursor, damaged)
        except StoreFull as error:
            log.warning("damaged vectors cannot be dropped: %s", error)


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


def _documents(
    cursor: Cursor, live: Sequence[Version], folded: int, unproved: list[int]
) -> Iterator[Documents]:
    """Documents that are as they were stored; engrams with others are added to `unproved`."""
    for start in range(0, len(live), _BATCH):
        batch = live[start : start + _BATCH]
        unfolded = [version.parts_seq for version in batch if version.first_doc >= folded]
        terms = versions.terms_of(cursor, unfolded)
        for version in batch:
            text = terms.get(version.parts_seq) if version.first_doc >= folded else None
            known = version.first_doc < folded or version.terms_sound(text)
            if not (version.documents_sound and known):
                unproved.append(version.engram)
                continue
            lengths, hashes = unpack_documents(version.documents)
            yield Documents(
                version.engram,
                version.first_doc,
                lengths,
                hashes,
                None if text is None else versions.split_terms(text),
            )
