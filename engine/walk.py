"""From one engram to its neighbours: the step that expansion, paths and recall are made of.

Who is outside the scope, deleted, or linked only to itself does not exist here, at every step.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice
from typing import NamedTuple

from engine.model import Entry
from engine.namespace import Scope
from engine.state import State
from engine.store.edges import DANGLING, EdgeRow

MOST = 64  # neighbours read of one engram
DIRECTIONS = ("out", "in", "both")


class Arc(NamedTuple):
    """One edge as seen from one of its ends: `other` is the far end."""

    other: Entry
    relation: str
    row: EdgeRow
    outward: bool


def arcs(
    state: State,
    scope: Scope,
    no: int,
    direction: str = "both",
    relations: Collection[str] = (),
    limit: int | None = MOST,
) -> list[Arc]:
    """The visible edges of an engram, at most `limit`: those out of it in its own order, then those
    into it by the number of their source. No `relations`: any."""
    return list(islice(_arcs(state, scope, no, direction, relations), limit))


def seen(state: State, scope: Scope, no: int) -> Entry | None:
    """The live engram of a number, or the copy that is to succeed it; None: not for this scope."""
    entry = state.entries.get(no)
    if entry is not None and entry.deleted_ns is not None:
        entry = state.entries.successor(no)
    return entry if entry is not None and scope.covers(entry.namespace) else None


def numbers(state: State, no: int) -> list[int]:
    """An engram's number, and those of the deleted engrams that it is to succeed."""
    originals = (
        original
        for original, copy, _ in state.entries.awaiting()
        if copy == no and state.entries.successor(original) is not None
    )
    return [no, *originals]


def _arcs(
    state: State, scope: Scope, no: int, direction: str, relations: Collection[str]
) -> Iterator[Arc]:
    if direction in ("out", "both"):
        for row in state.edges.out(no):
            if row.target not in (DANGLING, no) and (not relations or row.relation in relations):
                other = seen(state, scope, row.target)
                if other is not None and other.no != no:
                    yield Arc(other, row.relation, row, True)
    if direction in ("in", "both"):
        for mine in numbers(state, no):
            for row in state.edges.inward(mine):
                if row.source != mine and (not relations or row.relation in relations):
                    other = seen(state, scope, row.source)
                    if other is not None and other.no != no:
                        yield Arc(other, row.relation, row, False)
