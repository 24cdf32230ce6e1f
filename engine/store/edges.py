"""Edges as stored, between engram numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engine.store.extensions import Cursor

DANGLING = -1
_COLUMNS = (
    "source, relation, target, written, heading, origin, note, status, role, confidence, "
    "evidence_id, created_ns, updated_ns"
)


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


def load(cursor: Cursor) -> list[EdgeRow]:
    """Every edge, in the order in which the engrams express them."""
    rows = cursor.execute(f"SELECT {_COLUMNS} FROM edge ORDER BY source, rowid").fetchall()
    return [EdgeRow(*row) for row in rows]


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


def retarget(cursor: Cursor, rows: Iterable[EdgeRow], target: int) -> None:
    """Some stored edges now lead to `target` (an engram number or DANGLING)."""
    for row in rows:
        cursor.execute(
            "UPDATE edge SET target = ? WHERE source = ? AND relation = ? AND target = ? "
            "AND written = ? AND heading = ? AND origin = ?",
            [
                target, row.source, row.relation, row.target, row.written, row.heading, row.origin,
            ],
        )  # fmt: skip


def unlink(cursor: Cursor, source: int, relation: str, target: int) -> None:
    """Remove the edges of origin link between two engrams."""
    cursor.execute(
        "DELETE FROM edge WHERE source = ? AND relation = ? AND target = ? AND origin = 'link'",
        [source, relation, target],
    )


def drop_of(cursor: Cursor, engrams: Iterable[int]) -> None:
    """Engrams were erased for good: their edges go, edges to them dangle."""
    numbers = ", ".join(str(int(no)) for no in engrams)
    if numbers:
        cursor.execute(f"DELETE FROM edge WHERE source IN ({numbers})")
        cursor.execute(f"UPDATE edge SET target = {DANGLING} WHERE target IN ({numbers})")
