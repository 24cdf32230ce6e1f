"""Expansion: the engrams, or parts, that some engrams lead to within a few hops.

    found = expand(state, scope, ["note/a"], Expansion(relations=("about",), hops=2))

Breadth first, so everything is reached by a shortest way; of two ways the one of the earlier seed,
then of the earlier edge. Who is outside the scope is neither reached nor walked through.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from engine.catalogue import Recipe
from engine.errors import Invalid, NotFound, Problem, shown
from engine.model import Edge, Entry
from engine.namespace import Scope
from engine.objects import StoredPassage, edge_of, parts_of
from engine.part_ids import find_part
from engine.state import State
from engine.walk import DIRECTIONS, MOST, arcs

MOST_HOPS = 4
SIBLINGS = 5  # parts on each side of a part
MOST_REACHED = 1_000  # engrams reached; a result set holds no more


@dataclass(frozen=True, slots=True)
class Expansion:
    """How to expand. No `relations` means any; `containment` adds the parts of the seeds, or of a
    part its engram and the parts beside it."""

    relations: tuple[str, ...] = ()
    hops: int = 1
    direction: str = "both"
    containment: bool = False

    @classmethod
    def of(cls, recipe: Recipe) -> Expansion:
        """What a recipe says."""
        return cls(recipe.relations, recipe.hops, recipe.direction, recipe.containment)


NEAREST = Expansion()


@dataclass(frozen=True, slots=True)
class Reached:
    """An engram, or with `part` one of its parts, and how it was reached.

    `edge` is the last step, None for containment; `confidence` the product of those along the way
    (one that is not set counts as 1).
    """

    entry: Entry
    relation: str  # of the last step: "contains" for a part of a seed, "part_of" for its engram
    outward: bool
    hops: int
    via: str  # id of the engram or part before it
    seed: str  # id of the seed that it was reached from
    confidence: float = 1.0
    edge: Edge | None = None
    part: StoredPassage | None = None


@dataclass(frozen=True, slots=True)
class Expanded:
    """What was reached, nearest first. `cut`: some engram had more neighbours than are read, or
    more was reached than is kept."""

    reached: tuple[Reached, ...]
    cut: bool = False
    seeds: tuple[str, ...] = field(default=())  # ids, in the order given


def expand(state: State, scope: Scope, refs: Sequence[str], how: Expansion) -> Expanded:
    """Expand from engrams or parts, each named by its id or kind/slug.

    Raises NotFound for one that is not there, Invalid for hops or a direction that cannot be.
    """
    require(how)
    seeds = [_seed(state, scope, ref) for ref in dict.fromkeys(refs)]
    entries = {entry.no: entry for entry, _ in seeds}
    contained = [
        each for entry, part in seeds if how.containment for each in _contained(state, entry, part)
    ]
    walked, cut = _walk(state, scope, list(entries.values()), how)
    ids = tuple(part.id if part is not None else entry.id for entry, part in seeds)
    return Expanded((*contained, *walked), cut, ids)


def require(how: Expansion) -> None:
    """Invalid for hops or a direction that cannot be."""
    problems = []
    if not 1 <= how.hops <= MOST_HOPS:
        said = f"hops {how.hops} is not from 1 to {MOST_HOPS}"
        problems.append(Problem(said, key="hops", hint="start with 1"))
    if how.direction not in DIRECTIONS:
        said = f"the direction {shown(how.direction)} is none"
        hint = f"it is one of {', '.join(DIRECTIONS)}"
        problems.append(Problem(said, key="direction", hint=hint))
    if problems:
        raise Invalid(*problems)


def _seed(state: State, scope: Scope, ref: str) -> tuple[Entry, StoredPassage | None]:
    try:
        return state.find(scope, ref), None
    except NotFound:
        found = find_part(state, scope, ref)
        if found is None:
            raise
        entry, position = found
        return entry, parts_of(state, entry)[position]


def _contained(state: State, entry: Entry, part: StoredPassage | None) -> Iterator[Reached]:
    """The parts of an engram; or of a part the engram, and the parts beside it."""
    parts = parts_of(state, entry)
    if part is None:
        for each in parts:
            yield Reached(entry, "contains", True, 1, entry.id, entry.id, part=each)
        return
    yield Reached(entry, "part_of", True, 1, part.id, part.id)
    first = max(0, part.position - SIBLINGS)
    for each in parts[first : part.position + SIBLINGS + 1]:
        if each.position != part.position:
            yield Reached(entry, "contains", True, 2, entry.id, part.id, part=each)


def _walk(
    state: State, scope: Scope, seeds: Sequence[Entry], how: Expansion
) -> tuple[list[Reached], bool]:
    met = {entry.no for entry in seeds}
    reached: list[Reached] = []
    frontier = [(entry, entry.id, 1.0) for entry in seeds]
    cut = False
    for hop in range(1, how.hops + 1):
        following: list[tuple[Entry, str, float]] = []
        for entry, seed, confidence in frontier:
            found = arcs(state, scope, entry.no, how.direction, how.relations, limit=MOST + 1)
            cut = cut or len(found) > MOST
            for arc in found[:MOST]:
                if arc.other.no in met:
                    continue
                if len(reached) == MOST_REACHED:
                    return reached, True
                met.add(arc.other.no)
                own = 1.0 if arc.row.confidence is None else arc.row.confidence
                step = Reached(
                    arc.other, arc.relation, arc.outward, hop, entry.id, seed,
                    confidence * own, edge_of(arc, entry),
                )  # fmt: skip
                reached.append(step)
                following.append((arc.other, seed, step.confidence))
        frontier = following
    return reached, cut
