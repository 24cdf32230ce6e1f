"""From one engram to its neighbours: the step that expansion, paths and recall are made of.

Who is outside the scope, deleted, or linked only to itself does not exist here, at every step.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator
from itertools import islice
from typing import NamedTuple

from engine.edges import Step
from engine.errors import Invalid, Problem, shown
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


class Neighbour(NamedTuple):
    """Who is at the far end of an edge, without what is said of the edge."""

    entry: Entry
    relation: str
    outward: bool
    confidence: float | None


def require_direction(direction: str) -> None:
    """Invalid for what is no direction: it would lead nowhere, in silence."""
    if direction not in DIRECTIONS:
        raise Invalid(
            Problem(
                f"the direction {shown(str(direction))} is none", key="direction",
                hint=f"it is one of {', '.join(DIRECTIONS)}",
            )
        )  # fmt: skip


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
    steps = _steps(state, scope, no, direction, relations)
    return [
        Arc(other, step.relation, step.row, outward)
        for other, step, outward in islice(steps, limit)
    ]


def neighbours(
    state: State,
    scope: Scope,
    no: int,
    direction: str = "both",
    relations: Collection[str] = (),
    limit: int | None = MOST,
) -> list[Neighbour]:
    """The same, quicker, for those who only go on."""
    steps = _steps(state, scope, no, direction, relations)
    return [
        Neighbour(other, step.relation, outward, step.confidence)
        for other, step, outward in islice(steps, limit)
    ]


def arcs_among(state: State, scope: Scope, no: int, others: Container[int]) -> Iterator[Arc]:
    """All visible edges between an engram and those with these numbers."""
    for other, step, outward in _steps(state, scope, no, "both", ()):
        if other.no in others:
            yield Arc(other, step.relation, step.row, outward)


def between(state: State, source: Entry, relation: str, target: Entry) -> list[EdgeRow]:
    """The edges of a relation from one engram to another; both are seen by whoever asks."""
    return [
        row
        for start in numbers(state, source.no)
        for end in numbers(state, target.no)
        for row in state.edges.between(start, end)
        if row.relation == relation and source.no != target.no
    ]


def seen(state: State, scope: Scope, no: int) -> Entry | None:
    """The live engram of a number, or the copy that is to succeed it; None: not for this scope."""
    entry = state.entries.get(no)
    if entry is not None and entry.deleted_ns is not None:
        entry = state.entries.successor(no)
    return entry if entry is not None and scope.sees(entry) else None


def numbers(state: State, no: int) -> list[int]:
    """An engram's number, and those of the deleted engrams that it is to succeed."""
    originals = (
        original
        for original, copy, _ in state.entries.awaiting()
        if copy == no and state.entries.successor(original) is not None
    )
    return [no, *originals]


def _steps(
    state: State, scope: Scope, no: int, direction: str, relations: Collection[str]
) -> Iterator[tuple[Entry, Step, bool]]:
    if direction in ("out", "both"):
        for step in state.edges.steps_out(no):
            if step.target not in (DANGLING, no) and (not relations or step.relation in relations):
                other = seen(state, scope, step.target)
                if other is not None and other.no != no:
                    yield other, step, True
    if direction in ("in", "both"):
        for mine in numbers(state, no):
            for step in state.edges.steps_into(mine):
                if not relations or step.relation in relations:
                    other = seen(state, scope, step.source)
                    # A copy that is to succeed the source has edges of its own until then.
                    if other is not None and other.no == step.source != no:
                        yield other, step, False
