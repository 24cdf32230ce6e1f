"""Questions about the graph as a whole: ways, ranks, communities, and what is loose in it.

Each is answered over the graph that the scope sees: live engrams, edges between two of them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from engine.columns import Columns
from engine.fusion import fitted
from engine.graph import Numbers, Web
from engine.hand_links import BY_HAND
from engine.linking import After
from engine.model import Edge, Entry
from engine.namespace import Scope
from engine.objects import edge, edge_of
from engine.state import State
from engine.store.edges import DANGLING
from engine.walk import arcs, require_direction, seen

DAMPING = 0.85  # Page and Brin's
_KEPT = 8  # webs of scopes and relations


@dataclass(frozen=True, slots=True)
class Scored:
    """An engram with a figure: its rank, or how many edges lead to it."""

    entry: Entry
    score: float


@dataclass(frozen=True, slots=True)
class Loose:
    """An edge whose target cannot be told. `candidates`: those of that name, of
    which it could mean one: several, or one that a field does not lead to, or not yet."""

    entry: Entry
    edge: Edge
    candidates: tuple[Entry, ...] = ()


class Webs:
    """The webs asked for lately; one serves until an edge or an engram changes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[object, tuple[Columns, int, Web]] = OrderedDict()

    def web(
        self, state: State, columns: Columns, scope: Scope, relations: Sequence[str] = ()
    ) -> Web:
        """The graph that a scope sees, of some relations or of all."""
        key = (scope, tuple(sorted(set(relations))))
        changes = state.edges.changes
        with self._lock:
            kept = self._kept.get(key)
        if kept is not None and kept[0] is columns and kept[1] == changes:
            return kept[2]
        made = Web(*linked(state, columns, scope, key[1]))
        with self._lock:
            self._kept[key] = (columns, changes, made)
            self._kept.move_to_end(key)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return made


def linked(
    state: State, columns: Columns, scope: Scope, relations: Sequence[str] = ()
) -> tuple[Numbers, Numbers, Numbers]:
    """int32 each: the live engrams that a scope covers, and the sources and targets of the edges
    between two of them, of some relations or of all."""
    source, target = state.edges.ends(relations)
    longest = max(len(columns), int(source.max(initial=-1)) + 1, int(target.max(initial=-1)) + 1)
    covered = fitted(columns.covered(scope), longest)
    # Who stands for a number: itself, the copy that is to succeed it, or nobody.
    own = np.where(covered, np.arange(longest, dtype=np.int32), np.int32(-1))
    standing = own.copy()
    for original, _, _ in state.entries.awaiting():
        heir = state.entries.successor(original)
        if heir is not None and original < longest and heir.no < longest and covered[heir.no]:
            standing[original] = heir.no
    source, target = own[source], np.where(target >= 0, standing[target], np.int32(-1))
    there = (source >= 0) & (target >= 0) & (source != target)
    return np.flatnonzero(covered).astype(np.int32), source[there], target[there]


def path(state: State, web: Web, scope: Scope, a: str, b: str, direction: str) -> tuple[Edge, ...]:
    """The edges of a shortest way between two engrams, each as it is stored; () for none.

    Raises NotFound for an end that is not there, Invalid for a direction that is none.
    """
    require_direction(direction)
    start, end = state.find(scope, a), state.find(scope, b)
    found = []
    way = web.shortest(start.no, end.no, direction)
    for here, there in pairwise(way):
        entry = _live(state, here)
        step = next(
            (
                arc
                for arc in arcs(state, scope, here, direction, limit=None)
                if arc.other.no == there
            ),
            None,
        )
        if step is None or entry is None:
            return ()  # it went meanwhile
        found.append(edge_of(step, entry))
    return tuple(found)


def _live(state: State, no: int) -> Entry | None:
    """The live engram of a number."""
    entry = state.entries.get(no)
    return entry if entry is not None and entry.deleted_ns is None else None


def ranked(
    state: State, web: Web, seeds: Mapping[int, float], limit: int, damping: float = DAMPING
) -> tuple[Scored, ...]:
    """The engrams with the highest PageRank, seeds included; ties by id."""
    return _best(state, web, web.rank(seeds, damping).tolist(), limit)


def most_linked(state: State, web: Web, limit: int) -> tuple[Scored, ...]:
    """The engrams that most edges lead to; ties by id."""
    found = _best(state, web, web.degree("in").tolist(), limit)
    return tuple(each for each in found if each.score)


def _best(state: State, web: Web, scores: Sequence[float], limit: int) -> tuple[Scored, ...]:
    found = []
    for no, score in zip(web.numbers.tolist(), scores, strict=True):
        entry = _live(state, no)
        if entry is not None:
            found.append(Scored(entry, score))
    return tuple(sorted(found, key=lambda each: (-each.score, each.entry.id))[:limit])


def communities(state: State, web: Web) -> tuple[tuple[Entry, ...], ...]:
    """Groups of engrams that are linked among themselves more than with others, the largest first;
    an engram without an edge is in none."""
    groups = []
    for numbers in web.communities():
        entries = [_live(state, no) for no in numbers]
        if len(numbers) > 1:
            groups.append(tuple(entry for entry in entries if entry is not None))
    return tuple(groups)


def orphans(state: State, web: Web) -> tuple[Entry, ...]:
    """Engrams without an edge, in the order in which they came."""
    alone = web.numbers[web.degree("both") == 0].tolist()
    entries = (_live(state, no) for no in alone)
    return tuple(entry for entry in entries if entry is not None)


def dangling(state: State, scope: Scope) -> tuple[Loose, ...]:
    """Links whose target is missing, or that could mean several engrams."""
    lookup = After(state)
    found = []
    for row in state.edges.all():
        entry = _live(state, row.source)
        if entry is None or not scope.sees(entry) or row.origin == BY_HAND:
            continue
        if row.target != DANGLING and seen(state, scope, row.target) is not None:
            continue
        named = {
            other.no: other
            for find in (lookup.by_slug, lookup.by_alias, lookup.by_title)
            for other in find(entry.namespace, row.written)
            if other.no != entry.no and scope.sees(other)
        }
        found.append(Loose(entry, edge(row, entry, None), tuple(named.values())))
    return tuple(sorted(found, key=lambda each: (each.entry.no, each.edge.written)))
