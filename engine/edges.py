"""The edges of all engrams in memory, and which of them wait for a target to appear.

An edge waits while it dangles or while its target is deleted. A link that leads to its own engram
is no edge, but another may take that name: its row is kept, hidden, and waits too. The names by
which it could find a target are keys of an index, so that a commit learns with a few dictionary
reads whether any link waits for what it makes; a plain Put does not pay for links that others left
dangling.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from heapq import merge
from typing import NamedTuple

import numpy as np

from engine.graph import Numbers, Topology
from engine.model import Entry, Link
from engine.slug import fold
from engine.store.edges import DANGLING, EdgeColumns, EdgeRow, columns_of

_SUFFIXES = (".md", ".html")


def keys_of_target(written: str, heading: str = "") -> set[str]:
    """Folded names under which what a link names could appear: whole, last step, stem, id."""
    whole = fold(written.strip())
    last = whole.rstrip("/").rpartition("/")[2]
    keys = {whole, last}
    for suffix in _SUFFIXES:
        if last.endswith(suffix):
            keys.add(last.removesuffix(suffix))
    if heading:
        for mark in ("#", "# "):  # a title such as "C# basics"
            keys.add(fold(f"{written.strip()}{mark}{heading}"))
    return keys - {""}


def keys_of_engram(entry: Entry, aliases: Iterable[str]) -> set[str]:
    """Folded names by which links can find an engram."""
    names = (entry.id, entry.slug, entry.name, entry.title, *aliases)
    return {fold(name) for name in names} - {""}


def link_of(row: EdgeRow, to_kind: str | None = None) -> Link:
    """The link as its author wrote it, to be resolved again."""
    return Link(row.relation, row.written, row.heading, row.origin, None, to_kind)


@dataclass(frozen=True, slots=True)
class _Now:
    """Columns and their topology, and what changed since: rows by source (they stand for all of
    that source's), those of them with a note, and the sources of those rows by target. The sets
    are replaced, never changed, so that readers need no lock."""

    columns: EdgeColumns
    topology: Topology
    changed: dict[int, tuple[EdgeRow, ...]]
    noted: dict[int, tuple[EdgeRow, ...]]
    into: dict[int, frozenset[int]]


class Unfolded(NamedTuple):
    """The columns, the sources whose rows there hold no more, and their rows with a note."""

    columns: EdgeColumns
    changed: Collection[int]
    noted: Mapping[int, tuple[EdgeRow, ...]]


class Step(NamedTuple):
    """One edge with just what walking needs."""

    source: int
    target: int
    relation: str
    confidence: float | None
    held: EdgeRow | tuple[EdgeColumns, int]

    @property
    def row(self) -> EdgeRow:
        """All of it."""
        held = self.held
        return held if isinstance(held, EdgeRow) else held[0].row(held[1])


class Edges:
    """Rows by source and by target. Changed under the writer lock only, read without."""

    def __init__(self, columns: EdgeColumns | None = None) -> None:
        columns = columns_of(()) if columns is None else columns
        self._now = _Now(columns, Topology(columns.source, columns.target), {}, {}, {})
        self._waiting: dict[str, set[int]] = {}
        self._sorted: tuple[tuple[EdgeRow, ...], dict[int, list[EdgeRow]]] = ((), {})
        self.changes = 0  # grows with every change
        waits = (columns.target == DANGLING) | (columns.target == columns.source)
        for at in np.flatnonzero(waits).tolist():
            self._wait(columns.row(at))

    def out(self, no: int) -> tuple[EdgeRow, ...]:
        """Edges that an engram expresses, in its order."""
        return _out(self._now, no)

    def sources(self, no: int) -> list[int]:
        """Engrams with an edge to this one."""
        now = self._now
        places = np.array(now.topology.into(no), np.int64)
        kept = set(now.columns.source[places].tolist()) - now.changed.keys()
        return sorted(kept | now.into.get(no, frozenset()))

    def into(self, no: int) -> list[EdgeRow]:
        """Edges to an engram, by source and in its order."""
        return [step.row for step in self.steps_into(no)]

    def steps_out(self, no: int) -> Iterator[Step]:
        """What the edges of an engram lead to, in its order."""
        now = self._now
        rows = now.changed.get(no)
        if rows is not None:
            return (Step(row.source, row.target, row.relation, row.confidence, row) for row in rows)
        return _stepped(now.columns, now.columns.of(no), None)

    def steps_into(self, no: int) -> Iterator[Step]:
        """Where the edges to an engram come from, one at a time: of a hub that everybody links to
        nobody wants them all."""
        now = self._now
        kept = _stepped(now.columns, now.topology.into(no), now.changed)
        fresh = [
            Step(row.source, row.target, row.relation, row.confidence, row)
            for source in sorted(now.into.get(no, ()))
            for row in now.changed.get(source, ())
            if row.target == no
        ]
        return merge(kept, fresh, key=_source) if fresh else kept

    def between(self, source: int, target: int) -> tuple[EdgeRow, ...]:
        """Edges from one engram to another, in its order. Quick where either end has many."""
        now = self._now
        rows = now.changed.get(source)
        if rows is None:
            places = now.columns.of(source)
            fits = now.columns.target[places.start : places.stop] == target
            return tuple(now.columns.row(places.start + at) for at in np.flatnonzero(fits).tolist())
        if source not in now.into.get(target, ()):
            return ()
        held, by_target = self._sorted
        if held is not rows:  # whoever asks for one edge of a hub asks for the next one soon
            by_target = {}
            for row in rows:
                by_target.setdefault(row.target, []).append(row)
            self._sorted = (rows, by_target)
        return tuple(by_target.get(target, ()))

    def all(self) -> list[EdgeRow]:
        """Every edge."""
        now = self._now
        kept = (row for row in now.columns.rows() if row.source not in now.changed)
        return [*kept, *(row for rows in list(now.changed.values()) for row in rows)]

    def related(self, relation: str | None, *, noted: bool) -> Iterator[EdgeRow]:
        """Edges of a relation (None: any) that lead somewhere; `noted`: those with a note only."""
        now = self._now
        columns = now.columns
        wanted = columns.target >= 0
        if noted:
            wanted &= (columns.note != "").astype(bool)
        if relation is not None:
            wanted &= (columns.relation == relation).astype(bool)
        for at in np.flatnonzero(wanted).tolist():
            if int(columns.source[at]) not in now.changed:
                yield columns.row(at)
        for rows in list(now.changed.values()):
            for row in rows:
                fits = relation is None or row.relation == relation
                if fits and row.target >= 0 and (row.note or not noted):
                    yield row

    @property
    def columns(self) -> EdgeColumns:
        """The edges as they were last folded."""
        return self._now.columns

    def unfolded_notes(self) -> Unfolded:
        """Where the edges with a note are to be found, for an index over them (`engine.notes`)."""
        now = self._now
        return Unfolded(now.columns, list(now.changed), dict(now.noted))

    def ends(self, relations: Collection[str] = ()) -> tuple[Numbers, Numbers]:
        """int32[edges] of sources, and of targets; DANGLING among them. No `relations`: any."""
        now = self._now
        columns = now.columns
        fresh = [row for rows in list(now.changed.values()) for row in rows]
        stays = ~np.isin(columns.source, np.fromiter(now.changed, np.int32, len(now.changed)))
        if relations:
            wanted = list(relations)
            stays &= np.isin(columns.relation.astype(str), wanted)
            fresh = [row for row in fresh if row.relation in relations]
        source = np.array([row.source for row in fresh], np.int32)
        target = np.array([row.target for row in fresh], np.int32)
        return (
            np.concatenate([columns.source[stays], source]),
            np.concatenate([columns.target[stays], target]),
        )

    def waiting(self, keys: Iterable[str]) -> set[int]:
        """Engrams with an edge that could find its target under one of these names."""
        found: set[int] = set()
        for key in keys:
            found |= self._waiting.get(key, set())
        return found

    def set(self, source: int, rows: Sequence[EdgeRow]) -> None:
        """The edges of an engram are now these."""
        now = self._now
        for row in now.changed.get(source, ()):
            held = now.into.get(row.target)
            if held is not None:
                now.into[row.target] = held - {source}
        now.changed[source] = tuple(rows)
        noted = tuple(row for row in rows if row.note)
        if noted:
            now.noted[source] = noted
        else:
            now.noted.pop(source, None)
        for row in rows:
            if row.target in (DANGLING, source):
                self._wait(row)
            else:
                now.into[row.target] = now.into.get(row.target, frozenset()) | {source}
        self.changes += 1

    def orphan(self, target: int) -> None:
        """An engram was deleted: the edges to it are hidden, and may find another."""
        for row in self.into(target):
            self._wait(row)
        self.changes += 1

    def erase(self, no: int) -> None:
        """Nothing is left of an engram: its edges go, those to it dangle."""
        self.set(no, ())
        for source in self.sources(no):
            rows = [
                replace(row, target=DANGLING) if row.target == no else row
                for row in self.out(source)
            ]
            self.set(source, rows)

    def _wait(self, row: EdgeRow) -> None:
        # Entries stay: one that matches no more costs a look, nothing else.
        for key in keys_of_target(row.written, row.heading):
            self._waiting.setdefault(key, set()).add(row.source)

    # -- folding -------------------------------------------------------------------
    @property
    def unfolded(self) -> int:
        """Engrams whose edges changed since the columns were made."""
        return len(self._now.changed)

    def fold(self, lock: AbstractContextManager[object]) -> None:
        """Make columns and topology anew with what changed; `lock` is the writers', held for the
        swap only."""
        with lock:
            before = self._now
            changed = dict(before.changed)
        columns = before.columns.merged(changed)
        topology = Topology(columns.source, columns.target)
        with lock:
            later = {
                source: rows
                for source, rows in before.changed.items()
                if changed.get(source) is not rows
            }
            into: dict[int, frozenset[int]] = {}
            for source, rows in later.items():
                for row in rows:
                    if row.target not in (DANGLING, source):
                        into[row.target] = into.get(row.target, frozenset()) | {source}
            noted = {source: rows for source, rows in before.noted.items() if source in later}
            self._now = _Now(columns, topology, later, noted, into)


def _out(now: _Now, no: int) -> tuple[EdgeRow, ...]:
    rows = now.changed.get(no)
    return rows if rows is not None else tuple(map(now.columns.row, now.columns.of(no)))


def _stepped(
    columns: EdgeColumns, places: Iterable[int], changed: Mapping[int, object] | None
) -> Iterator[Step]:
    """Steps at some places, without those of sources that have changed since."""
    for at in places:
        source = int(columns.source[at])
        if changed is None or source not in changed:
            confidence = float(columns.confidence[at])
            yield Step(
                source, int(columns.target[at]), columns.relation[at],
                None if confidence != confidence else confidence, (columns, at),
            )  # fmt: skip


def _source(step: Step) -> int:
    return step.source
