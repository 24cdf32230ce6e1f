"""The half of the façade that makes edges and walks along them: methods of `Engine`."""

from __future__ import annotations

from collections.abc import Sequence

from engine.expand import NEAREST, Expanded, Expansion, expand
from engine.hand_links import link, unlink
from engine.model import NO_META, Edge, EdgeMeta
from engine.namespace import Scope
from engine.state import State


class Walking:
    """Links between engrams, and the ways to follow them."""

    _state: State

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
