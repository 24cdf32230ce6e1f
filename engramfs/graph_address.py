"""The steps of a path below `.graph` -> what they name, a closed union. Pure and total.

.graph/<kind>/<slug>/out/<relation>/<link>      also in/
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.slug import nfc
from engramfs.link_names import EDGE, LINK


@dataclass(frozen=True, slots=True)
class Top:
    """`.graph` itself: the kinds."""


@dataclass(frozen=True, slots=True)
class OfKind:
    """The engrams of a kind."""

    directory: str


@dataclass(frozen=True, slots=True)
class OfEngram:
    """`out` and `in`."""

    directory: str
    slug: str


@dataclass(frozen=True, slots=True)
class Side:
    """The relations of the edges out of an engram, or into it."""

    engram: OfEngram
    outward: bool


@dataclass(frozen=True, slots=True)
class OfRelation:
    """The neighbours by one relation."""

    side: Side
    relation: str


@dataclass(frozen=True, slots=True)
class NeighbourLink:
    """A symlink. `stem` is None for a name without `.md`, which only who made it knows."""

    at: OfRelation
    name: str
    stem: str | None


@dataclass(frozen=True, slots=True)
class EdgeFile:
    """What is said of the edge to the neighbour `stem`."""

    at: OfRelation
    stem: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """Nothing can be there; ENOTDIR where the path goes through a file."""

    code: str = "ENOENT"


GraphNode = Top | OfKind | OfEngram | Side | OfRelation | NeighbourLink | EdgeFile | Nothing


def graph_node(steps: Sequence[str]) -> GraphNode:
    """What the steps behind `.graph` name. Whether it is there is for the engine to say."""
    if any(_broken(step) for step in steps):
        return Nothing()
    match [*map(nfc, steps[:2]), *steps[2:]]:
        case []:
            return Top()
        case [directory]:
            return OfKind(directory)
        case [directory, slug]:
            return OfEngram(directory, slug)
        case [directory, slug, "out" | "in" as way, *below]:
            return _beside(Side(OfEngram(directory, slug), way == "out"), below)
    return Nothing()


def _beside(side: Side, steps: Sequence[str]) -> GraphNode:
    match steps:
        case []:
            return side
        case [relation]:
            return OfRelation(side, relation)
        case [relation, name]:
            return _entry(OfRelation(side, relation), name)
    return Nothing("ENOTDIR")


def _entry(at: OfRelation, name: str) -> NeighbourLink | EdgeFile:
    if name.endswith(EDGE):
        return EdgeFile(at, name.removesuffix(EDGE).removesuffix(LINK))
    return NeighbourLink(at, name, name.removesuffix(LINK) if name.endswith(LINK) else None)


def _broken(step: str) -> bool:
    """Bytes that are no UTF-8: no kind, slug or relation has them."""
    return any("\ud800" <= character <= "\udfff" for character in step)
