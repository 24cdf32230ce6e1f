"""Edges as stored, between engram numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.store.extensions import Cursor

DANGLING = -1
_COLUMNS = (
    "source, relation, target, written, heading, origin, note, status, role, confidence, "
    "evidence_id, created_ns, updated_ns"
)
_CODED = ("relation", "origin")  # few distinct values, which all rows share


@dataclass(frozen=True, slots=True)
class EdgeRow:
    """A directed, typed link; `target` is DANGLING until what is `written` is found."""

    source: int
    relation: str
    target: int
    written: str
    heading: str = ""
    origin: str = "body"  # body | field | link
    note: str = ""
    status: str = ""
    role: str = ""
    confidence: float | None = None
    evidence_id: str = ""
    created_ns: int = 0
    updated_ns: int = 0


@dataclass(frozen=True, slots=True)
class EdgeColumns:
    """Many edges, an array of one element an edge for each field of EdgeRow.

    They are sorted by source, and those of one source in its order. A confidence that is not set is
    NaN.
    """

    source: NDArray[np.int32]
    relation: NDArray[np.object_]
    target: NDArray[np.int32]
    written: NDArray[np.object_]
    heading: NDArray[np.object_]
    origin: NDArray[np.object_]
    note: NDArray[np.object_]
    status: NDArray[np.object_]
    role: NDArray[np.object_]
    confidence: NDArray[np.float64]
    evidence_id: NDArray[np.object_]
    created_ns: NDArray[np.int64]
    updated_ns: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.source)

    def of(self, source: int) -> range:
        """The places of an engram's edges."""
        # Of the column's own type: for another one numpy would copy the whole column.
        first, end = np.searchsorted(self.source, np.array((source, source + 1), np.int32))
        return range(int(first), int(end))

    def row(self, at: int) -> EdgeRow:
        """The edge at a place."""
        confidence = float(self.confidence[at])
        return EdgeRow(
            int(self.source[at]), self.relation[at], int(self.target[at]), self.written[at],
            self.heading[at], self.origin[at], self.note[at], self.status[at], self.role[at],
            None if confidence != confidence else confidence, self.evidence_id[at],
            int(self.created_ns[at]), int(self.updated_ns[at]),
        )  # fmt: skip

    def rows(self) -> Iterator[EdgeRow]:
        """Every edge."""
        return map(self.row, range(len(self)))

    def merged(self, changed: Mapping[int, Sequence[EdgeRow]]) -> EdgeColumns:
        """With other edges for some sources."""
        fresh = columns_of([row for rows in changed.values() for row in rows])
        stays = ~np.isin(self.source, np.fromiter(changed, np.int32, len(changed)))
        order = np.argsort(np.concatenate([self.source[stays], fresh.source]), kind="stable")
        return EdgeColumns(
            **{
                each.name: np.concatenate(
                    [getattr(self, each.name)[stays], getattr(fresh, each.name)]
                )[order]
                for each in fields(EdgeColumns)
            }
        )


def columns_of(rows: Iterable[EdgeRow]) -> EdgeColumns:
    """The columns of some rows."""
    held = sorted(rows, key=lambda row: row.source)
    values: dict[str, list[Any]] = {
        each.name: [getattr(row, each.name) for row in held] for each in fields(EdgeRow)
    }
    values["confidence"] = [np.nan if each is None else each for each in values["confidence"]]
    return EdgeColumns(
        **{name: np.array(column, _TYPES.get(name, object)) for name, column in values.items()}
    )


_TYPES: Mapping[str, type] = {
    "source": np.int32,
    "target": np.int32,
    "confidence": np.float64,
    "created_ns": np.int64,
    "updated_ns": np.int64,
}


def load(cursor: Cursor) -> EdgeColumns:
    """Every edge, in the order in which the engrams express them; those made by hand behind."""
    words = {name: _distinct(cursor, name) for name in _CODED}
    coded = {
        name: f"list_position(?, {name}) - 1 AS {name}" if words[name] else name for name in _CODED
    }
    selected = ", ".join(coded.get(name, name) for name in _COLUMNS.split(", "))
    found = cursor.execute(
        f"SELECT {selected} FROM edge ORDER BY source, origin = 'link', rowid",
        [words[name] for name in _CODED if words[name]],
    ).fetchnumpy()
    for name, known in words.items():
        if known:
            found[name] = np.array(known, object)[np.asarray(found[name])]
    found["confidence"] = np.ma.filled(found["confidence"].astype(np.float64), np.nan)
    return EdgeColumns(
        **{name: np.asarray(column, _TYPES.get(name, object)) for name, column in found.items()}
    )


def _distinct(cursor: Cursor, name: str) -> list[str]:
    return [word for (word,) in cursor.execute(f"SELECT DISTINCT {name} FROM edge").fetchall()]


def add(cursor: Cursor, rows: Sequence[EdgeRow]) -> None:
    """Store edges: one statement for all of them."""
    if not rows:
        return
    marks = ", ".join(["(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"] * len(rows))
    values: list[object] = []
    for row in rows:
        values += [
            row.source, row.relation, row.target, row.written, row.heading, row.origin, row.note,
            row.status, row.role, row.confidence, row.evidence_id, row.created_ns, row.updated_ns,
        ]  # fmt: skip
    cursor.execute(f"INSERT INTO edge ({_COLUMNS}) VALUES {marks}", values)


def replace_written(cursor: Cursor, source: int, rows: Sequence[EdgeRow], *, had: bool) -> None:
    """An engram was saved: its edges of origin body and field are now these.

    `had` False (it had none) saves a statement. Edges of origin link stay.
    """
    if had:
        cursor.execute("DELETE FROM edge WHERE source = ? AND origin <> 'link'", [source])
    add(cursor, rows)


def turn(cursor: Cursor, rows: Iterable[EdgeRow]) -> None:
    """Edges that a text makes lead to the targets that these say, since the moments they say."""
    for row in rows:
        cursor.execute(
            "UPDATE edge SET target = ?, updated_ns = ? WHERE source = ? AND relation = ? "
            "AND written = ? AND heading = ? AND origin = ?",
            [
                row.target, row.updated_ns, row.source, row.relation, row.written, row.heading,
                row.origin,
            ],
        )  # fmt: skip


def unlink(cursor: Cursor, row: EdgeRow) -> None:
    """Remove an edge of origin link."""
    cursor.execute(
        "DELETE FROM edge WHERE source = ? AND relation = ? AND target = ? AND origin = 'link'",
        [row.source, row.relation, row.target],
    )


def drop_of(cursor: Cursor, engrams: Iterable[int]) -> None:
    """Engrams were erased for good: their edges go, edges to them dangle."""
    numbers = ", ".join(str(int(no)) for no in engrams)
    if numbers:
        cursor.execute(f"DELETE FROM edge WHERE source IN ({numbers})")
        cursor.execute(f"UPDATE edge SET target = {DANGLING} WHERE target IN ({numbers})")
