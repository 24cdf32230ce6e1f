"""The half of the façade that makes edges and walks along them: methods of `Engine`."""

from __future__ import annotations

from collections.abc import Sequence

from engine import analysis
from engine.analysis import Loose, Scored, Webs
from engine.arguments import explaining
from engine.catalogue import Recipe
from engine.errors import NotFound, shown
from engine.excerpt import Excerpt, excerpt
from engine.expand import NEAREST, Expanded, Expansion, expand, require
from engine.find_links import FoundLink, find_links, has_relation
from engine.graph import Web
from engine.grouping import linked_by
from engine.hand_links import link, unlink
from engine.model import NO_META, Edge, EdgeMeta, Entry
from engine.namespace import Scope
from engine.objects import edge, edge_of
from engine.reading import Reading
from engine.state import State
from engine.walk import MOST, Neighbour, arcs, between, neighbours, require_direction


@explaining
class Walking:
    """Links between engrams, and the ways to follow them."""

    _state: State
    _webs: Webs
    _recipes: dict[str, Recipe]  # registered by the host
    reading: Reading

    def link(self, scope: Scope, a: str, relation: str, b: str, meta: EdgeMeta = NO_META) -> Edge:
        """Make an edge by hand, or give it other metadata; each end is an id or kind/slug.

        NotFound, or Invalid with every problem.
        """
        return link(self._state, scope, a, relation, b, meta)

    def unlink(self, scope: Scope, a: str, relation: str, b: str) -> bool:
        """Remove an edge that `link` made; False when there is none.

        NotFound; Invalid for an edge that the text of `a` makes.
        """
        return unlink(self._state, scope, a, relation, b)

    def expand(self, scope: Scope, refs: Sequence[str], how: Expansion = NEAREST) -> Expanded:
        """What some engrams or parts lead to; of two seeds the first to reach claims.

        NotFound, or Invalid for hops or a direction that cannot be.
        """
        return expand(self._state, scope, refs, how)

    def neighbours(
        self,
        scope: Scope,
        ref: str,
        *,
        direction: str = "both",
        relations: Sequence[str] = (),
        limit: int | None = MOST,
    ) -> tuple[Neighbour, ...]:
        """Those that one edge leads to or comes from, edges out first. NotFound; Invalid for a
        direction that is none."""
        require_direction(direction)
        entry = self._state.find(scope, ref)
        return tuple(neighbours(self._state, scope, entry.no, direction, relations, limit))

    def links_of(
        self,
        scope: Scope,
        ref: str,
        *,
        direction: str = "both",
        relations: Sequence[str] = (),
        limit: int | None = MOST,
    ) -> tuple[FoundLink, ...]:
        """The edges of an engram with both ends, those out of it first. NotFound, Invalid."""
        require_direction(direction)
        entry = self._state.find(scope, ref)
        return tuple(
            FoundLink(edge_of(arc, entry), entry, arc.other)
            if arc.outward
            else FoundLink(edge_of(arc, entry), arc.other, entry)
            for arc in arcs(self._state, scope, entry.no, direction, relations, limit)
        )

    def edges_between(self, scope: Scope, a: str, relation: str, b: str) -> tuple[Edge, ...]:
        """The edges of a relation from `a` to `b`, in the order of `a`; () for none. NotFound."""
        source, target = self._state.find(scope, a), self._state.find(scope, b)
        rows = between(self._state, source, relation, target)
        return tuple(edge(row, source, target) for row in rows)

    def linked_by(self, scope: Scope, kind: str, name: str) -> tuple[tuple[Entry, Entry], ...]:
        """(engram, what its link field `name` leads to) for the engrams of a kind; dangling links
        lead nowhere."""
        return tuple(linked_by(self._state, scope, kind, name))

    def expand_recipe(self, scope: Scope, refs: Sequence[str], name: str) -> Expanded:
        """Expand as a recipe of kinds.yaml, or one that the host registered, says. NotFound."""
        recipes = {**self._state.catalogue.recipes, **self._recipes}
        recipe = recipes.get(name)
        if recipe is None:
            known = ", ".join(sorted(recipes)) or "there are none; kinds.yaml can define them"
            raise NotFound(f"there is no recipe {shown(name)}", f"recipes: {known}")
        return self.expand(scope, refs, Expansion.of(recipe))

    def register_recipe(self, recipe: Recipe) -> None:
        """A host's own recipe, until the store is closed; it goes before one of kinds.yaml.

        Invalid for hops or a direction that cannot be.
        """
        require(Expansion.of(recipe))
        self._recipes[recipe.name] = recipe

    def has_relation(self, scope: Scope, relation: str) -> bool:
        """Does an edge between two engrams that the scope sees have this relation?"""
        return has_relation(self._state, scope, relation)

    def find_links(
        self, scope: Scope, text: str = "", *, relation: str | None = None
    ) -> tuple[FoundLink, ...]:
        """Edges of a relation whose note has a word of `text`; both may be left out."""
        return find_links(self._state, scope, text, relation)

    # -- the graph as a whole ------------------------------------------------------
    def path(
        self,
        scope: Scope,
        a: str,
        b: str,
        *,
        relations: Sequence[str] = (),
        direction: str = "both",
    ) -> tuple[Edge, ...]:
        """The edges of a shortest way between two engrams; () where there is none. NotFound."""
        return analysis.path(self._state, self._web(scope, relations), scope, a, b, direction)

    def rank(
        self, scope: Scope, seeds: Sequence[str] = (), *, limit: int = 20
    ) -> tuple[Scored, ...]:
        """The engrams with the highest PageRank; with seeds seen from those. NotFound."""
        weights = {self._state.find(scope, ref).no: 1.0 for ref in seeds}
        return analysis.ranked(self._state, self._web(scope), weights, limit)

    def most_linked(self, scope: Scope, *, limit: int = 20) -> tuple[Scored, ...]:
        """The engrams that most edges lead to."""
        return analysis.most_linked(self._state, self._web(scope), limit)

    def communities(self, scope: Scope) -> tuple[tuple[Entry, ...], ...]:
        """Groups of engrams that are linked among themselves, the largest first."""
        return analysis.communities(self._state, self._web(scope))

    def orphans(self, scope: Scope) -> tuple[Entry, ...]:
        """Engrams without an edge."""
        return analysis.orphans(self._state, self._web(scope))

    def dangling(self, scope: Scope) -> tuple[Loose, ...]:
        """Links whose target is missing or ambiguous."""
        return analysis.dangling(self._state, scope)

    def excerpt(self, scope: Scope, around: str | None = None, hops: int = 2) -> Excerpt:
        """The engrams of a picture and the edges between them: all, or those within some hops of
        one. NotFound, or Invalid for hops that cannot be."""
        return excerpt(self._state, self._web(scope), scope, around, hops)

    def _web(self, scope: Scope, relations: Sequence[str] = ()) -> Web:
        return self._webs.web(self._state, self.reading.columns.now(), scope, relations)
