"""The piece of the graph that a picture shows: some engrams, and the edges between them.

    found = excerpt(state, web, scope, "deal/acme", hops=2)

A picture of everything shows nothing, and a page has to hold it: of too many engrams those are
taken that are nearest to the middle, and then those that are linked most.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from engine.expand import Expansion, require
from engine.graph import Web
from engine.model import Entry
from engine.namespace import Scope
from engine.state import State
from engine.store import versions
from engine.walk import arcs_among, seen

MOST_ENGRAMS = 20_000
MOST_EDGES = 100_000


class Tie(NamedTuple):
    """An edge between two of the engrams of an excerpt, which are given by their places in it."""

    source: int
    target: int
    relation: str
    note: str


@dataclass(frozen=True, slots=True)
class Excerpt:
    """`whole`: how many engrams there would be without limits. A summary is "" where there is
    none, and where a damaged store cannot tell."""

    entries: tuple[Entry, ...]
    summaries: tuple[str, ...]
    ties: tuple[Tie, ...] = field(default=())
    whole: int = 0


def excerpt(
    state: State,
    web: Web,
    scope: Scope,
    around: str | None = None,
    hops: int = 2,
    *,
    most_engrams: int = MOST_ENGRAMS,
    most_edges: int = MOST_EDGES,
) -> Excerpt:
    """Everything that the scope sees; with `around` (an id or kind/slug) what lies within `hops`
    of that engram. NotFound; Invalid for hops that cannot be."""
    degrees = web.degree("both")
    if around is None:
        layers = [web.numbers.tolist()]
    else:
        require(Expansion(hops=hops))
        layers = web.near(state.find(scope, around).no, hops)
    at = {int(no): place for place, no in enumerate(web.numbers)}
    order = [no for layer in layers for no in sorted(layer, key=lambda no: (-degrees[at[no]], no))]
    places: dict[int, int] = {}
    entries: list[Entry] = []
    ties: list[Tie] = []
    for no in order[:most_engrams]:
        entry = seen(state, scope, no)
        if entry is None or entry.no != no:
            continue  # it went meanwhile
        place = len(entries)
        fresh = [
            Tie(place, places[arc.other.no], arc.relation, arc.row.note)
            if arc.outward
            else Tie(places[arc.other.no], place, arc.relation, arc.row.note)
            for arc in arcs_among(state, scope, no, places)
        ]
        if len(ties) + len(fresh) > most_edges:
            break
        ties += fresh
        places[no] = place
        entries.append(entry)
    with state.store.cursor() as cursor:
        summaries = versions.summaries(cursor, [entry.seq for entry in entries])
    return Excerpt(
        tuple(entries),
        tuple(summaries.get(entry.seq, "") for entry in entries),
        tuple(ties),
        len(order),
    )
