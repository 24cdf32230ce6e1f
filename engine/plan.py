"""One commit: what it writes, in one transaction, and what it changes in the views afterwards.

The operations of the engine (put, rename, delete …) only decide; they fill a Plan, and `run`
carries it out under the writer lock. No view moves before the transaction is committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from engine.entries import Copied, Former, Place, is_live, place_of
from engine.index import Documents
from engine.model import Change, Entry
from engine.prepare import Prepared
from engine.state import State
from engine.store import edges as stored_edges
from engine.store import places, vectors, versions
from engine.store.edges import EdgeRow
from engine.store.versions import Version, entry_of
from engine.texts_ahead import unembedded

Vector = NDArray[np.float32]

_EDGES = 200  # stored with one statement
_TURNED = 8  # edges of an engram that are changed one by one, rather than all stored anew


@dataclass(slots=True)
class Plan:
    """Everything that one commit does. Filled under the writer lock."""

    now_ns: int
    rows: list[Version] = field(default_factory=list)
    contents: dict[int, Prepared] = field(default_factory=dict)  # by engram: to be indexed
    looked_at: dict[int, Prepared] = field(default_factory=dict)  # only their links count
    remember: dict[Place, Former] = field(default_factory=dict)
    forget: list[Place] = field(default_factory=list)
    copies: list[Copied] = field(default_factory=list)
    drop_copies: list[int] = field(default_factory=list)
    absorb: dict[str, int] = field(default_factory=dict)
    merged: dict[int, int] = field(default_factory=dict)  # edges to the one go to the other
    awaiting: dict[int, tuple[int, int]] = field(default_factory=dict)  # original: copy, due
    settled: list[int] = field(default_factory=list)
    edges: dict[int, tuple[EdgeRow, ...]] = field(default_factory=dict)  # by source
    unlinked: list[EdgeRow] = field(default_factory=list)  # edges of origin link that go
    linked: list[EdgeRow] = field(default_factory=list)  # … and that come
    blanks: list[Place] = field(default_factory=list)
    clears: dict[Place, bool] = field(default_factory=dict)  # path: its refused bytes too?
    vectors: dict[bytes, Vector] = field(default_factory=dict)  # of texts embedded before
    changes: list[Change] = field(default_factory=list)

    @property
    def one_row(self) -> bool:
        """Is a row of `version` all that it stores? Mostly it is."""
        others = (
            self.forget, self.remember, self.drop_copies, self.copies, self.absorb, self.blanks,
            self.edges, self.unlinked, self.linked, self.clears, self.vectors,
        )  # fmt: skip
        return len(self.rows) == 1 and not any(others)

    def add(self, row: Version, content: Prepared | None = None) -> Entry:
        """A new state of an engram, with its documents where they are new; returns its entry."""
        self.rows.append(row)
        if content is not None:
            self.contents[row.engram] = content
        return entry_of(row)

    def tell(self, event: str, entry: Entry, former: tuple[str, str] | None = None) -> None:
        """What subscribers hear of it."""
        self.changes.append(
            Change(
                self.now_ns,
                event,
                entry.id,
                entry.namespace,
                entry.kind,
                entry.slug,
                entry.name,
                former,
            )
        )


def run(state: State, plan: Plan) -> None:
    """Carry a plan out; the caller holds the writer lock and calls `state.tell` after letting go.

    Raises StoreFull or StoreCorrupt with nothing changed, neither in the store nor in the views.
    """
    with state.store.transaction(one_statement=plan.one_row) as cursor:
        if len(plan.rows) > 1:
            versions.append_many(cursor, plan.rows)
        elif plan.rows:
            versions.append(cursor, plan.rows[0])
        for place in plan.forget:
            places.forget(cursor, place)
        for place, former in plan.remember.items():
            places.remember(cursor, place, former)
        for original in plan.drop_copies:
            places.drop_copies(cursor, original)
        for copied in plan.copies:
            places.add_copy(cursor, copied)
        for id, no in plan.absorb.items():
            places.absorb(cursor, id, no)
        for place in plan.blanks:
            places.drop_blank(cursor, place)
        fresh: list[EdgeRow] = []
        for source, rows in plan.edges.items():
            written = [row for row in rows if row.origin != "link"]
            had = [row for row in state.edges.out(source) if row.origin != "link"]
            turned = _turned(had, written)
            if turned is not None:
                stored_edges.turn(cursor, turned)
            elif state.edges.out(source):
                stored_edges.replace_written(cursor, source, written, had=True)
            else:
                fresh += written
        for start in range(0, len(fresh), _EDGES):
            stored_edges.add(cursor, fresh[start : start + _EDGES])
        for edge in plan.unlinked:
            stored_edges.unlink(cursor, edge)
        stored_edges.add(cursor, plan.linked)
        for place, bytes_too in plan.clears.items():
            state.refusals.clear_rows(cursor, place, bytes_too=bytes_too)
        if plan.vectors:
            vectors.add(cursor, list(plan.vectors), np.stack(list(plan.vectors.values())))
    _swap(state, plan)


def _turned(had: Sequence[EdgeRow], now: Sequence[EdgeRow]) -> list[EdgeRow] | None:
    """The edges that lead elsewhere now, if that is all that changed, and of few of them: of a page
    with a thousand links one finds its target at a time."""
    if len(had) != len(now):
        return None
    turned = []
    for old, new in zip(had, now, strict=True):
        if old != new:
            if replace(old, target=new.target, updated_ns=new.updated_ns) != new:
                return None
            turned.append(new)
    return turned if len(turned) <= _TURNED else None


def _swap(state: State, plan: Plan) -> None:
    entries = [entry_of(row) for row in plan.rows]
    before = {entry.no: state.entries.get(entry.no) for entry in entries}
    killed: list[int] = []
    added: list[Documents] = []
    for row, entry in zip(plan.rows, entries, strict=True):
        content = plan.contents.get(entry.no)
        if not is_live(entry):
            killed.append(entry.no)
            state.names.remove(entry.no)
            state.languages.remove(entry.no)
            state.properties.remove(entry.no)
        elif content is not None:
            added.append(
                Documents(
                    entry.no,
                    row.first_doc,
                    content.lengths,
                    content.hashes,
                    [part.terms for part in content.parts],
                )
            )
            state.sources.keep(entry, content.source, content.shown)
            if state.embed == "background":
                state.texts_ahead.add(unembedded(content, state.index.has_vector))
    state.index.add_many(added, killed=killed)
    state.entries.swap(entries)
    for row, entry in zip(plan.rows, entries, strict=True):
        content = plan.contents.get(entry.no)
        if is_live(entry) and content is not None:
            state.names.set(entry, content.head.aliases)
            state.languages.set(entry.no, content.head.lang)
            state.properties.set(entry.no, row.properties)
        state.damaged.pop(entry.no, None)
    _swap_memory(state, plan)
    _touch_directories(state, plan, entries, before)


def _swap_memory(state: State, plan: Plan) -> None:
    entries = state.entries
    for place in plan.forget:
        entries.forget(place)
    for place, former in plan.remember.items():
        entries.remember(place, former)
    for original in plan.drop_copies:
        entries.drop_copies(original)
    for copied in plan.copies:
        entries.add_copy(copied)
    for id, no in plan.absorb.items():
        entries.absorb(id, no)
    for original, (copy, due) in plan.awaiting.items():
        entries.await_succession(original, copy, due)
    for original in plan.settled:
        entries.end_succession(original)
    for place in plan.blanks:
        entries.drop_blank(place)
    for source, rows in plan.edges.items():
        state.edges.set(source, rows)
    for row in plan.rows:
        if row.deleted_ns is not None:
            state.edges.orphan(row.engram)
    for place, bytes_too in plan.clears.items():
        state.refusals.cleared(place, bytes_too=bytes_too)
    if plan.vectors:
        state.index.add_vectors(list(plan.vectors), np.stack(list(plan.vectors.values())))


def _touch_directories(
    state: State, plan: Plan, entries: list[Entry], before: dict[int, Entry | None]
) -> None:
    """A directory's mtime moves when one of its names comes or goes, not when a file changes."""
    came = {
        (place_of(entry), entry.name)
        for entry in entries
        if is_live(entry) and place_of(entry) not in plan.blanks
    }
    went = {
        (place_of(old), old.name) for old in before.values() if old is not None and is_live(old)
    }
    for (namespace, kind, _), _name in came ^ went:
        state.touch_directory(namespace, kind, plan.now_ns)
