"""Prove the index: its documents are those of the rows, its postings those of the terms.

Postings are compared by one number a document, the sum of a hash of each term it holds, so that
memory stays at a few bytes a document however long the texts are.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from engine.errors import Problem
from engine.snapshot import Snapshot
from engine.state import State
from engine.store import fulltext, vectors, versions
from engine.store.documents import NO_HASH, unpack_documents
from engine.store.folded import FoldedBase
from engine.store.versions import Version

Sums = NDArray[np.uint64]

_BATCH = 500  # engrams whose terms are read at a time
_REINDEX = "run `engramfs check --repair`"


def check_documents(state: State, rows: list[Version]) -> Iterator[Problem]:
    """The index holds the documents of the live engrams, with their lengths and postings."""
    live = [row for row in rows if row.deleted_ns is None]
    snapshot = state.index.snapshot()
    wanted: dict[int, tuple[int, int, int]] = {}
    for row in live:
        lengths, _ = unpack_documents(row.documents)
        for position, length in enumerate(lengths.tolist()):
            wanted[row.first_doc + position] = (row.engram, position, length)
    at = np.flatnonzero(snapshot.live)
    columns = (snapshot.doc_number, snapshot.doc_engram, snapshot.doc_position, snapshot.doc_length)
    held = {
        doc: (engram, position, length)
        for doc, engram, position, length in zip(
            *(column[at].tolist() for column in columns), strict=True
        )
    }
    if wanted != held:
        differ = wanted.items() ^ held.items()
        engrams = {engram for _, (engram, _, _) in differ}
        what = f"the index and the rows disagree on the documents of {len(engrams)} engrams"
        yield Problem(what, key="index", hint=_REINDEX)
        return
    wrong = np.count_nonzero(
        (_of_terms(state, live, snapshot) != _of_postings(state, snapshot))[at]
    )
    if wrong:
        what = f"the postings of {wrong} documents are not those of their terms"
        yield Problem(what, key="index", hint=_REINDEX)


def _hash(term: str) -> int:
    return int.from_bytes(blake2b(term.encode(), digest_size=8).digest(), "little")


def _of_terms(state: State, live: list[Version], snapshot: Snapshot) -> Sums:
    """By row of the index the sum of the hashes of the stored terms."""
    numbers = snapshot.doc_number
    sums: Sums = np.zeros(snapshot.rows, np.uint64)
    hashes: dict[str, int] = {}
    for start in range(0, len(live), _BATCH):
        batch = live[start : start + _BATCH]
        with state.store.cursor() as cursor:
            texts = versions.terms_of(cursor, [row.parts_seq for row in batch])
        for row in batch:
            first = int(np.searchsorted(numbers, row.first_doc))
            lines = versions.split_terms(texts[row.parts_seq]) if row.parts_seq in texts else []
            for position, terms in enumerate(lines[: row.part_count]):
                total = 0
                for term in terms:
                    if term not in hashes:
                        hashes[term] = _hash(term)
                    total += hashes[term]
                sums[first + position] = np.uint64(total & 0xFFFF_FFFF_FFFF_FFFF)
    return sums


def _of_postings(state: State, snapshot: Snapshot) -> Sums:
    """The same from base and tails."""
    sums: Sums = np.zeros(snapshot.rows, np.uint64)
    if isinstance(snapshot.base, FoldedBase) and snapshot.base.folded:
        with state.store.cursor() as cursor:
            for texts, term, doc, tf in fulltext.postings(cursor, snapshot.base.table):
                hashes = np.array([_hash(text) for text in texts], np.uint64)
                rows = snapshot.base_rows[doc]
                there = rows >= 0
                with np.errstate(over="ignore"):
                    np.add.at(sums, rows[there], (hashes[term] * tf.astype(np.uint64))[there])
    for tail, origin in snapshot.tails:
        for text, at, tf in tail.items():
            rows = at + origin
            known = (rows >= 0) & (rows < snapshot.rows)
            with np.errstate(over="ignore"):
                np.add.at(sums, rows[known], np.uint64(_hash(text)) * tf[known].astype(np.uint64))
    return sums


def check_vectors(state: State) -> Iterator[Problem]:
    """Stored vectors are of one length, normalised, and the same in memory."""
    if state.embed == "off":
        return
    with state.store.cursor() as cursor:
        model = vectors.model(cursor)
        if model is None:
            return
        missing = 0
        bad: list[int] = []
        for hashes, _ in vectors.load(cursor, model.dimension, state.config.load_batch, bad):
            missing += sum(not state.index.has_vector(hash) for hash in hashes)
    if bad:
        what = f"{len(bad)} stored vectors are not {model.dimension} numbers of length 1"
        yield Problem(what, key="vectors", hint="open the store again, and they are made anew")
    if missing:
        what = f"{missing} stored vectors are not in memory"
        yield Problem(what, key="vectors", hint="open the store again")
    if NO_HASH in state.index.pending():
        yield Problem("a part that is never embedded waits for a vector", key="vectors")
