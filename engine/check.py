"""Prove that everything in a store agrees: bytes, rows, views, index, vectors, edges.

Reads all of it. Each finding is a Problem whose key says where: store, bytes, path, parts, index,
vectors, edges or events.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping

from engine.check_index import check_documents, check_vectors
from engine.embedding import prepared_again
from engine.entries import is_live, place_of
from engine.errors import EngineError, Problem, StoreCorrupt
from engine.linking import After
from engine.links import resolve
from engine.model import Entry, Link
from engine.objects import hosted_in
from engine.reindex import fresh_of, stored_of
from engine.state import State
from engine.store import edges, places, versions
from engine.store.edges import DANGLING
from engine.store.extensions import Cursor
from engine.store.versions import Version, entry_of

_BATCH = 200  # engrams read at a time
_REINDEX = "run `engramfs check --repair`"
_RESTORE = "restore it from a backup, or write it again"
_GIVE_AGAIN = "let the host give them again with `replace_parts`, or none"
_REOPEN = "open the store again"


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
            *_contents(state, rows, After(state)),
            *check_documents(state, rows),
            *check_vectors(state),
            *_edges(state),
            *(Problem(told, key="events", hint=_REINDEX) for told in state.demand.problems()),
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
        known = one or other
        if one != other and known is not None:
            what = f"the entry of {_name(known)} is not what its row says"
            yield Problem(what, key="store", hint=_REOPEN)


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


# -- bytes and what is derived from them ------------------------------------------
def _contents(state: State, rows: list[Version], after: After) -> Iterator[Problem]:
    for start in range(0, len(rows), _BATCH):
        batch = rows[start : start + _BATCH]
        with state.store.cursor() as cursor:
            found = _filled(cursor, [row.seq for row in batch])
        for row in batch:
            entry = state.entries.get(row.engram)
            if entry is None:
                continue
            filled = found.get(row.seq)
            damage = _damage(entry, filled)
            if damage is not None:
                yield Problem(f"the bytes of {_name(entry)} {damage}", key="bytes", hint=_RESTORE)
            elif filled is not None and is_live(entry):
                yield from _derived(state, entry, filled, after)


def _filled(cursor: Cursor, seqs: list[int]) -> Mapping[int, Version]:
    """Rows with parts, terms and bytes; those that lost one of them are missing."""
    try:
        return versions.rows(cursor, seqs, source=True, terms=True)
    except StoreCorrupt:
        if len(seqs) == 1:
            return {}
        return {seq: row for one in seqs for seq, row in _filled(cursor, [one]).items()}


def _damage(entry: Entry, row: Version | None) -> str | None:
    if row is None or row.source is None:
        return "or its parts are missing"
    if hashlib.sha256(row.source).hexdigest() != row.sha256 or len(row.source) != entry.size:
        return "are damaged"
    return None


def _derived(state: State, entry: Entry, row: Version, after: After) -> Iterator[Problem]:
    """Parts, terms and edges are what a fresh analysis of bytes and host's parts gives."""
    hosted = hosted_in(row)
    if not hosted.sound:
        what = f"the host's parts of {_name(entry)} are damaged"
        yield Problem(what, key="parts", hint=_GIVE_AGAIN)
    try:
        content = prepared_again(state, entry, row.source, hosted)
    except EngineError as error:
        yield Problem(f"{_name(entry)}: {error}", key="parts", hint=_REINDEX)
        return
    if stored_of(row) != fresh_of(content):
        what = f"parts or terms of {_name(entry)} are not those of its bytes"
        yield Problem(what, key="parts", hint=_REINDEX)
    yield from _expressed(state, entry, content.links, after)


def _expressed(
    state: State, entry: Entry, links: tuple[Link, ...], after: After
) -> Iterator[Problem]:
    """The edges of an engram are those that its text expresses."""
    own = [row for row in state.edges.out(entry.no) if row.origin != "link"]
    rows = {(row.relation, row.written, row.heading, row.origin) for row in own}
    written = {(link.relation, link.target, link.heading, link.origin): link for link in links}
    if rows - written.keys():
        what = f"{_name(entry)} has edges that its text does not express"
        yield Problem(what, key="edges", hint=_REINDEX)
    for key, link in written.items():
        if key not in rows:
            what = f"{_name(entry)} lacks the edge of its link to `{link.target}`"
            yield Problem(what, key="edges", hint=_REINDEX)
    dangling = [row for row in own if row.target == DANGLING]
    for row in dangling:
        expressed = written.get((row.relation, row.written, row.heading, row.origin))
        if expressed is not None and resolve(expressed, entry, after) is not None:
            what = f"the link of {_name(entry)} to `{row.written}` dangles, but its target is there"
            yield Problem(what, key="edges", hint=_REINDEX)


# -- memory against the store --------------------------------------------------------
def _edges(state: State) -> Iterator[Problem]:
    """Edges in memory are the stored ones, and their ends exist."""
    with state.store.cursor() as cursor:
        stored = list(edges.load(cursor).rows())
    if Counter(stored) != Counter(state.edges.all()):
        what = "the edges in memory are not the stored ones"
        yield Problem(what, key="edges", hint=_REOPEN)
    for row in stored:
        for end in (row.source, row.target):
            if end != DANGLING and state.entries.get(end) is None:
                what = f"an edge {row.relation} to `{row.written}` has an end that is no engram"
                yield Problem(what, key="edges", hint=_REINDEX)


def _memory(state: State) -> Iterator[Problem]:
    """What places remember, copies and blanks are the stored ones."""
    with state.store.cursor() as cursor:
        formers = places.load_formers(cursor)
        copies = places.load_copies(cursor)
        absorbed = places.load_absorbed(cursor)
        blanks = places.load_blanks(cursor)
    held = state.entries
    agree = (
        formers == dict(held.formers())
        and all(copied in held.copies(copied.original) for copied in copies)
        and all(held.absorbed_by(id) == no for id, no in absorbed.items())
        and {place_of(one): one.inode for one in blanks}
        == {place_of(one): one.inode for one in held.blanks()}
    )
    if not agree:
        what = "former places, copies or empty entries in memory are not the stored ones"
        yield Problem(what, key="store", hint=_REOPEN)
