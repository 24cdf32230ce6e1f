"""One round over a namespace: which digests it has, which of them are to be made, in what order."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from engine import graph
from engine.analysis import linked
from engine.columns import ColumnCache
from engine.digests import scopes
from engine.digests.making import Leaves, Maker, Means, Outrun
from engine.digests.request import Request
from engine.digests.scopes import TENANT, Floats, Ground, Shape
from engine.digests.shelf import Shelf
from engine.digests.texts import middle
from engine.digests.tree import Node
from engine.digests.troubles import Troubles, sentence
from engine.errors import EngineError
from engine.graph import Web
from engine.masks import SUPERSEDED
from engine.model import Namespace
from engine.namespace import Scope
from engine.ports import Text
from engine.store.digests import DigestRow


@dataclass(frozen=True, slots=True)
class _Moment:
    """A namespace as one round sees it; `covered`, `source` and `target` are its edges."""

    ground: Ground
    superseded: set[int]
    weights: Floats
    covered: graph.Numbers
    source: graph.Numbers
    target: graph.Numbers


class Pass:
    """Rounds over namespaces, one at a time, in the digest worker's thread."""

    def __init__(
        self, columns: ColumnCache, shelf: Shelf, means: Means, troubles: Troubles
    ) -> None:
        self._state = means.state
        self._columns = columns
        self._shelf = shelf
        self._means = means
        self._troubles = troubles
        self._leaves = Leaves(means.state)
        self._groups: dict[Namespace, tuple[str, list[list[int]]]] = {}  # with the edges' hash
        self._looked: dict[Namespace, float] = {}  # when communities were looked for (monotonic)
        self._due: dict[Namespace, float] = {}  # when they are to be looked for again (monotonic)

    def next_look(self) -> float:
        """When (monotonic) communities are to be looked for again; inf: nothing calls for it."""
        return min(self._due.values(), default=math.inf)

    def namespace(self, namespace: Namespace, request: Request | None = None) -> None:
        """Make what a namespace lacks, or exactly what is asked for; what fails is noted and left.

        Raises Stopped, Postponed, and EngineError where the store cannot be read.
        """
        moment = self._moment(namespace)
        ground = moment.ground
        wanted = request.name if request is not None else None
        shapes = scopes.kinds(ground, moment.superseded)
        edges = ""
        if wanted not in {shape.name for shape in shapes}:
            edges, groups = self._communities(moment, asked=request is not None)
            shapes += scopes.communities(
                ground, groups, moment.superseded, moment.weights,
                self._state.config.digest_community,
            )  # fmt: skip
        names = {shape.name for shape in shapes} | ({TENANT} if ground.whole.engrams else set())
        gone = self._shelf.of(namespace).keys() - names
        if wanted in (None, TENANT):
            self._troubles.keep_only(namespace, names)
        else:
            gone &= {wanted}
            shapes = [shape for shape in shapes if shape.name == wanted]
        if gone:
            self._shelf.drop(namespace, gone)
        if request is not None:
            request.total = len(shapes) + (wanted in (None, TENANT))
        maker = Maker(self._means, ground, moment.weights)
        try:
            for shape in shapes:
                self._scope(maker, shape, request)
            if wanted in (None, TENANT) and ground.whole.engrams:
                self._tenant(maker, shapes, edges, request)
        except Outrun:
            return  # the commit that outran it has called for the next round

    def _moment(self, namespace: Namespace) -> _Moment:
        state = self._state
        with state.store.lock:  # entries and properties of one commit
            columns = self._columns.now()
            superseded = set(state.properties.having(SUPERSEDED))
        ground = Ground(columns, namespace)
        covered, source, target = linked(state, columns, Scope(namespace, exact=True))
        longest = max(len(columns), int(source.max(initial=-1)) + 1)
        longest = max(longest, int(target.max(initial=-1)) + 1)
        weights = scopes.weights_of(longest, ground, source, target)
        return _Moment(ground, superseded, weights, covered, source, target)

    def _communities(self, moment: _Moment, *, asked: bool) -> tuple[str, list[list[int]]]:
        """(hash of the edges that they were found by, the groups). They are looked for when edges
        changed, and not too often; among very many edges not at all, and the hash is ""."""
        namespace, config = moment.ground.namespace, self._state.config
        self._due.pop(namespace, None)
        if len(moment.source) > config.digest_edges:
            return "", []
        edges = scopes.hash_of_edges(moment.source, moment.target)
        held = self._groups.get(namespace) or self._stored_groups(namespace)
        if held[0] == edges:
            return held
        due = self._looked.get(namespace, -math.inf) + config.digest_communities_seconds
        if not asked and time.monotonic() < due:
            self._due[namespace] = due
            return held
        self._means.give_way()
        web = Web(moment.covered, moment.source, moment.target)
        groups = web.communities(held[1]) if len(moment.source) else []
        held = edges, [group for group in groups if len(group) >= config.digest_community]
        self._groups[namespace] = held
        self._looked[namespace] = time.monotonic()
        return held

    def _stored_groups(self, namespace: Namespace) -> tuple[str, list[list[int]]]:
        """The communities as they were before the store was opened."""
        rows = self._shelf.of(namespace)
        groups = [row.members.tolist() for name, row in rows.items() if scopes.is_community(name)]
        return (rows[TENANT].edges, groups) if TENANT in rows else ("", [])

    # -- one digest ------------------------------------------------------------------------
    def _scope(self, maker: Maker, shape: Shape, request: Request | None) -> None:
        """Make one; where the tenant is asked for, what it rests on, if that does not stand."""
        namespace = maker.ground.namespace
        row = self._shelf.of(namespace).get(shape.name)
        anew = request is not None and request.anew and request.name in (None, shape.name)
        fits = row is not None and _fits(row, shape, self._means.maker)
        if (not fits or anew) and (
            request is not None or not self._troubles.waits(namespace, shape.name)
        ):
            self._means.stopped()
            leaves = self._leaves.of(
                [maker.ground.columns.entry(no) for no in shape.members.tolist()]
            )
            self._make(maker, shape, self._means.tree_of(leaves), {}, "", anew)
        elif fits:
            self._troubles.well(namespace, shape.name)
        if request is not None:
            request.done += 1

    def _tenant(
        self, maker: Maker, shapes: Sequence[Shape], edges: str, request: Request | None
    ) -> None:
        ground = maker.ground
        rows = self._shelf.of(ground.namespace)
        for shape in shapes:
            below = rows.get(shape.name)
            if below is None or not _fits(below, shape, self._means.maker):
                reason = f"it rests on {shape.name}, which could not be made"
                self._troubles.failed(ground.namespace, TENANT, reason, rests=True)
                return
        told = [rows[shape.name] for shape in shapes if rows[shape.name].text]
        mean = sum(len(row.members) for row in told) / len(told) if told else 1.0
        given = {
            row.hash: Text(
                -1, row.name, row.title, (row.text,), middle(self._state, row.members),
                len(row.members) / mean,
            )
            for row in told
        }  # fmt: skip
        whole = self._means.tree_over([(row.name, row.hash) for row in told])
        members = np.unique(np.concatenate([np.zeros(0, np.int64), *(row.members for row in told)]))
        title = scopes.title_of(TENANT, ground.namespace)
        shape = Shape(TENANT, title, members, ground.whole)
        row, anew = rows.get(TENANT), request is not None and request.anew
        fits = row is not None and _fits(row, shape, self._means.maker)
        if row is not None and fits and (row.edges, row.hash) == (edges, whole.hash) and not anew:
            self._troubles.well(ground.namespace, TENANT)
        elif request is not None or not self._troubles.waits(ground.namespace, TENANT):
            self._make(maker, shape, whole, given, edges, anew)
        if request is not None:
            request.done += 1

    def _make(
        self,
        maker: Maker,
        shape: Shape,
        whole: Node,
        given: Mapping[str, Text],
        edges: str,
        anew: bool,
    ) -> None:
        namespace, name = maker.ground.namespace, shape.name
        try:
            # Of nobody there is nothing to say, and one digest needs no other words for it.
            if not whole.leaves and not whole.children:
                text = ""
            elif len(given) == 1:
                [only] = given.values()
                [text] = only.passages
            else:
                text = maker.text(name, shape.title, whole, given, anew=anew)
            self._means.stopped()
            row = DigestRow(
                namespace, name, shape.title, whole.hash, self._means.maker, shape.members,
                shape.standing.engrams, shape.standing.seq, edges, self._state.clock(), text,
            )  # fmt: skip
            self._shelf.keep(row, {node.hash for node in whole.all()})
        except EngineError as error:
            self._means.stopped()
            self._troubles.failed(namespace, name, sentence(error))
        else:
            self._troubles.well(namespace, name)


def _fits(row: DigestRow, shape: Shape, maker: str) -> bool:
    """A stored digest is what there is to be of this shape."""
    return (
        row.engrams == shape.standing.engrams
        and row.seq == shape.standing.seq
        and row.maker == maker
        and row.title == shape.title
        and bool(np.isin(row.members, shape.members).all())
    )
