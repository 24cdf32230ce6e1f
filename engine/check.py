"""Prove that everything in a store agrees: bytes, rows, views, index, vectors, edges.

Reads all of it. Each finding is a Problem whose key says where: store, bytes, path, parts, index,
vectors or edges.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator

import numpy as np

from engine.embedding import prepared_again
from engine.entries import is_live, place_of
from engine.errors import EngineError, Problem, StoreCorrupt
from engine.linking import After
from engine.links import resolve
from engine.model import Entry, Link
from engine.state import State
from engine.store import contents, edges, places, vectors, versions
from engine.store.edges import DANGLING
from engine.store.versions import NO_HASH, Version, entry_of, unpack_documents

_BATCH = 200
_REINDEX = "run `engramfs check --repair`"
_RESTORE = "restore it from a backup, or write it again"
_UNIT = 1e-3  # how far the length of a vector may be from 1


def check(state: State) -> tuple[Problem, ...]:
    """Every disagreement found; empty for a sound store. Holds the writer lock."""
    with state.store.lock:
        unreadable: dict[int, str] = {}
        with state.store.cursor() as cursor:
            rows = versions.load_current(cursor, unreadable)
        return (
            *(Problem(reason, key="store", hint=_RESTORE) for reason in unreadable.values()),
            *_rows(state, rows),
            *_paths(state),
            *_bytes(state),
            *_content(state, rows),
            *_documents(state, rows),
            *_vectors(state),
            *_edges(state),
            *_memory(state),
        )


def _name(entry: Entry) -> str:
    return f"{entry.kind}/{entry.name} ({entry.id})"


def _rows(state: State, rows: list[Version]) -> Iterator[Problem]:
    """The table of entries is what the rows say."""
    stored = {row.engram: entry_of(row) for row in rows}
    held = {entry.no: entry for entry in state.entries.all()}
    for no in sorted(stored.keys() | held.keys()):
        one, other = stored.get(no), held.get(no)
        if one != other:
            known = one or other
            assert known is not None
            yield Problem(
                f"the entry of {_name(known)} is not what its row says", key="store",
                hint="open the store again",
            )


def _paths(state: State) -> Iterator[Problem]:
    """One live engram a path, an id and an inode."""
    live = state.entries.live()
    for what, counted in (
        ("path", Counter(place_of(entry) for entry in live)),
        ("id", Counter(entry.id for entry in state.entries.all())),
        ("inode", Counter(entry.inode for entry in (*live, *state.entries.blanks()))),
    ):
        for value, times in counted.items():
            if times > 1:
                yield Problem(f"{times} engrams share the {what} {value}", key="path")
    for entry in live:
        if state.entries.at(place_of(entry)) != entry:
            yield Problem(f"{_name(entry)} is not listed at its path", key="path")


def _bytes(state: State) -> Iterator[Problem]:
    """Every engram's bytes are those that were written."""
    for entry in state.entries.all():
        with state.store.cursor() as cursor:
            found = contents.sealed(cursor, entry.source_seq)
            row = contents.bare(cursor, entry.seq)
        if found is None:
            what = f"the bytes of {_name(entry)} are missing"
        elif hashlib.sha256(found[1]).hexdigest() != found[0]:
            what = f"the bytes of {_name(entry)} are damaged"
        elif row is None or row.sha256 != found[0] or len(found[1]) != entry.size:
            what = f"the bytes of {_name(entry)} are not those of its row"
        else:
            continue
        yield Problem(what, key="bytes", hint=_RESTORE)


def _content(state: State, rows: list[Version]) -> Iterator[Problem]:
    """Parts and terms are what a fresh analysis of the bytes gives."""
    live = {row.seq: row for row in rows if row.deleted_ns is None}
    seqs = sorted(live)
    for start in range(0, len(seqs), _BATCH):
        batch = seqs[start : start + _BATCH]
        with state.store.cursor() as cursor:
            terms = versions.terms_of(cursor, [live[seq].parts_seq for seq in batch])
        for seq in batch:
            entry = state.entries.get(live[seq].engram)
            if entry is None or not is_live(entry):
                continue
            try:
                content = prepared_again(state, entry)
                with state.store.cursor() as cursor:
                    row = versions.rows(cursor, [seq])[seq]
            except StoreCorrupt:
                continue  # named with its bytes
            except EngineError as error:
                yield Problem(f"{_name(entry)}: {error}", key="parts", hint=_REINDEX)
                continue
            stored = (row.parts, row.documents, terms.get(row.parts_seq), row.shown_size)
            fresh = (content.stored_parts, content.documents, content.terms, len(content.shown))
            if stored != fresh:
                yield Problem(
                    f"parts or terms of {_name(entry)} are not those of its bytes",
                    key="parts", hint=_REINDEX,
                )
            yield from _written_edges(state, entry, content.links)


def _written_edges(state: State, entry: Entry, links: tuple[Link, ...]) -> Iterator[Problem]:
    rows = {
        (row.relation, row.written, row.heading, row.origin)
        for row in state.edges.out(entry.no)
        if row.origin != "link"
    }
    written = {
        (link.relation, link.target, link.heading, link.origin)
        for link in links
    }
    if rows - written:
        yield Problem(
            f"{_name(entry)} has edges that its text does not express", key="edges", hint=_REINDEX
        )
    after = After(state)
    for link in links:
        key = (link.relation, link.target, link.heading, link.origin)
        if key not in rows and resolve(link, entry, after) != entry.no:
            yield Problem(
                f"{_name(entry)} lacks the edge of its link to `{link.target}`",
                key="edges", hint=_REINDEX,
            )


def _documents(state: State, rows: list[Version]) -> Iterator[Problem]:
    """The index holds the documents of the live engrams, with their lengths and postings."""
    snapshot = state.index.snapshot()
    live = [row for row in rows if row.deleted_ns is None]
    wanted: dict[int, tuple[int, int, int]] = {}
    for row in live:
        lengths, _ = unpack_documents(row.documents)
        for position, length in enumerate(lengths.tolist()):
            wanted[row.first_doc + position] = (row.engram, position, length)
    at = np.flatnonzero(snapshot.live)
    held = {
        int(snapshot.doc_number[i]): (
            int(snapshot.doc_engram[i]), int(snapshot.doc_position[i]), int(snapshot.doc_length[i])
        )
        for i in at.tolist()
    }
    if wanted != held:
        wrong = {engram for doc, (engram, _, _) in (*wanted.items(), *held.items())
                 if wanted.get(doc) != held.get(doc)}
        yield Problem(
            f"the index and the rows disagree on the documents of {len(wrong)} engrams",
            key="index", hint=_REINDEX,
        )
        return
    yield from _postings(state, live)


def _postings(state: State, live: list[Version]) -> Iterator[Problem]:
    wanted: Counter[tuple[str, int]] = Counter()
    with state.store.cursor() as cursor:
        texts = versions.terms_of(cursor, [row.parts_seq for row in live])
    for row in live:
        text = texts.get(row.parts_seq)
        if text is not None:
            for position, terms in enumerate(versions.split_terms(text)):
                wanted.update((term, row.first_doc + position) for term in terms)
    held: Counter[tuple[str, int]] = Counter()
    snapshot = state.index.snapshot()
    for term in {term for term, _ in wanted}:
        found, counts = snapshot.postings(term)
        for i, tf in zip(found.tolist(), counts.tolist(), strict=True):
            if snapshot.live[i]:
                held[(term, int(snapshot.doc_number[i]))] += tf
    wrong = {doc for (_, doc), _ in (wanted - held).items()}
    wrong |= {doc for (_, doc), _ in (held - wanted).items()}
    if wrong:
        yield Problem(
            f"the postings of {len(wrong)} documents are not those of their terms",
            key="index", hint=_REINDEX,
        )


def _vectors(state: State) -> Iterator[Problem]:
    """Stored vectors are of one length, normalised, and the same in memory."""
    if state.embed == "off":
        return
    with state.store.cursor() as cursor:
        model = vectors.model(cursor)
        if model is None:
            return
        bad = missing = 0
        try:
            for hashes, matrix in vectors.load(cursor, model.dimension, 20_000):
                lengths = np.linalg.norm(matrix, axis=1)
                bad += int(np.count_nonzero(np.abs(lengths - 1.0) > _UNIT))
                missing += sum(not state.index.has_vector(hash) for hash in hashes)
        except StoreCorrupt as error:
            yield Problem(str(error), key="vectors", hint="run `engramfs reindex --embed`")
            return
    if bad:
        yield Problem(
            f"{bad} vectors are not of length 1", key="vectors",
            hint="run `engramfs reindex --embed`",
        )
    if missing:
        yield Problem(
            f"{missing} stored vectors are not in memory", key="vectors",
            hint="open the store again",
        )
    pending = set(state.index.pending())
    if NO_HASH in pending:
        yield Problem("a part that is never embedded waits for a vector", key="vectors")


def _edges(state: State) -> Iterator[Problem]:
    """Edges in memory are the stored ones, and their ends exist."""
    with state.store.cursor() as cursor:
        stored = edges.load(cursor)
    if Counter(stored) != Counter(state.edges.all()):
        yield Problem(
            "the edges in memory are not the stored ones", key="edges", hint="open the store again"
        )
    for row in stored:
        for end in (row.source, row.target):
            if end != DANGLING and state.entries.get(end) is None:
                yield Problem(
                    f"an edge {row.relation} to `{row.written}` has an end that is no engram",
                    key="edges", hint=_REINDEX,
                )


def _memory(state: State) -> Iterator[Problem]:
    """What places remember, copies and blanks are the stored ones."""
    with state.store.cursor() as cursor:
        formers = places.load_formers(cursor)
        copies = places.load_copies(cursor)
        blanks = places.load_blanks(cursor)
    held = [copied for copied in copies if copied not in state.entries.copies(copied.original)]
    places_of = {place_of(blank): blank.inode for blank in blanks}
    own = {place_of(blank): blank.inode for blank in state.entries.blanks()}
    if formers != dict(state.entries.formers()) or held or places_of != own:
        yield Problem(
            "former places, copies or empty entries in memory are not the stored ones",
            key="store", hint="open the store again",
        )
