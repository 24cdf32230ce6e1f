"""What is asked of the graph, for the mount and for the command line: a request in, bytes out.

Engrams that were reached or ranked are hits, and read on like those of a search; edges, ways and
groups have forms of their own. In Markdown stored text stands behind `> ` (docs/adr/0009).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from engine.errors import NotFound, shown
from engine.expand import MOST_REACHED
from engine.filters import split
from engine.model import Entry
from engine.walk import MOST
from engramfs import searching
from engramfs.graph_forms import View, edge_text, edge_values, end_values, text
from engramfs.graph_requests import EdgeRequest, GraphRequest
from engramfs.render import as_json, one_line

if TYPE_CHECKING:
    from engine.analysis import Loose, Scored
    from engine.expand import Expanded, Reached
    from engine.find_links import FoundLink

T = TypeVar("T")

MEMBERS = 20  # of a group that are named
_CUT = (
    f"not everything is here: {MOST} neighbours of an engram are read at most, and {MOST_REACHED} "
    "engrams in all; name relations or fewer hops"
)


def answer(view: View, request: GraphRequest) -> bytes:
    """The whole answer. NotFound for an engram or recipe that is not there; Invalid."""
    request = replace(request, warnings=(*request.warnings, *_unknown(view, request)))
    match request.ask:
        case "expand":
            return _hits(view, request, *_expanded(view, request))
        case "rank":
            most = view.engine.config.result_set_hits
            ranked = view.engine.rank(view.scope, _refs(view, request), limit=most)
            return _hits(view, request, ranked)
        case "most_linked":
            most = view.engine.config.result_set_hits
            return _hits(view, request, view.engine.most_linked(view.scope, limit=most))
        case "orphans":
            return _hits(view, request, _alone(view))
        case "communities":
            return _communities(view, request)
        case "path":
            return _path(view, request)
        case "dangling":
            return _dangling(view, request)
        case "neighbours":
            return _neighbours(view, request)
        case _:
            return _found_links(view, request)


def _unknown(view: View, request: GraphRequest) -> list[str]:
    """A relation with a slip in it finds nothing: that is not the same as no neighbours."""
    asked = dict.fromkeys((*request.how.relations, *filter(None, (request.relation,))))
    return [
        f"no edge has the relation {shown(relation)}"
        for relation in asked
        if not view.engine.has_relation(view.scope, relation)
    ]


def link(view: View, request: EdgeRequest) -> bytes:
    """Make an edge, and tell it. NotFound, Invalid."""
    a, b = view.ref(request.a), view.ref(request.b)
    made = view.engine.link(view.scope, a, request.relation, b, request.meta)
    if request.format == "json":
        return as_json(edge_values(view, made))
    return text(["linked"], [edge_text(view, made)])


def unlink(view: View, request: EdgeRequest) -> bytes:
    """Remove an edge; one that is not there is none afterwards either. NotFound, Invalid."""
    a, b = view.ref(request.a), view.ref(request.b)
    removed = view.engine.unlink(view.scope, a, request.relation, b)
    if request.format == "json":
        return as_json({"removed": removed})
    which = f"{view.name(a)} {request.relation} {view.name(b)}"
    return text([f"{'unlinked' if removed else 'no such edge'}: {one_line(which)}"], [])


# -- engrams as hits ---------------------------------------------------------------
def _refs(view: View, request: GraphRequest) -> list[str]:
    """The engrams that a question begins with. A name may hold a comma."""
    found = []
    for value in request.of:
        try:
            found.append(view.ref(value))
        except NotFound:
            pieces = split([value])
            if len(pieces) < 2:
                raise
            found += [view.ref(piece) for piece in pieces]
    return found


def _expanded(view: View, request: GraphRequest) -> tuple[Sequence[Reached], tuple[str, ...]]:
    refs = _refs(view, request)
    found: Expanded = (
        view.engine.expand_recipe(view.scope, refs, request.recipe)
        if request.recipe
        else view.engine.expand(view.scope, refs, request.how)
    )
    return found.reached, (_CUT,) if found.cut else ()


def _alone(view: View) -> list[Scored]:
    from engine.analysis import Scored

    return [Scored(entry, 0.0) for entry in view.engine.orphans(view.scope)]


def _hits(
    view: View,
    request: GraphRequest,
    found: Sequence[Reached | Scored],
    warnings: tuple[str, ...] = (),
) -> bytes:
    page = view.engine.page_of(
        view.scope,
        found,
        limit=request.limit,
        offset=request.offset,
        shown=view.shown,
        warnings=warnings,
    )
    if not view.keeps:
        page = replace(page, set_id="")
    if request.format == "md":
        return searching.page_text(request, page, view.path_of, view.next_request, view.name)
    return as_json(
        {
            "items": searching.items(page, view.path_of),
            "total": page.total,
            "offset": page.offset,
            "set": page.set_id,
            "warnings": [*request.warnings, *page.warnings],
            "controls": _controls(request),
        }
    )


def _controls(request: GraphRequest) -> dict[str, object]:
    """What was applied."""
    how = request.how
    return {
        "ask": request.ask,
        "of": list(request.of),
        "from": request.a,
        "to": request.b,
        "q": request.question,
        "relation": request.relation,
        "relations": list(how.relations),
        "hops": how.hops,
        "direction": how.direction,
        "containment": how.containment,
        "recipe": request.recipe,
        "limit": request.limit,
        "offset": request.offset,
    }


# -- edges and groups --------------------------------------------------------------
def _neighbours(view: View, request: GraphRequest) -> bytes:
    end = request.offset + request.limit
    how = request.how
    found: list[FoundLink] = []
    more = False
    for ref in _refs(view, request):
        edges = view.engine.links_of(
            view.scope, ref, direction=how.direction, relations=how.relations, limit=end + 1
        )
        more = more or len(edges) > end  # a hub has 100,000: nobody counts them
        found += edges
    return _edges(view, request, found, more=more)


def _found_links(view: View, request: GraphRequest) -> bytes:
    relation = request.relation or None
    found = view.engine.find_links(view.scope, request.question, relation=relation)
    return _edges(view, request, found)


def _edges(
    view: View, request: GraphRequest, found: Sequence[FoundLink], *, more: bool = False
) -> bytes:
    return _listing(
        request,
        "edges",
        [each.edge for each in found],
        lambda edge: edge_text(view, edge),
        lambda edge: edge_values(view, edge),
        more=more,
    )


def _path(view: View, request: GraphRequest) -> bytes:
    a, b = view.ref(request.a), view.ref(request.b)
    how = request.how
    way = view.engine.path(view.scope, a, b, relations=how.relations, direction=how.direction)
    if request.format == "json":
        return as_json(
            {
                "found": bool(way) or a == b,
                "edges": [edge_values(view, each) for each in way],
                "warnings": list(request.warnings),
                "controls": _controls(request),
            }
        )
    hops = f"{len(way)} hop{'s' if len(way) != 1 else ''}" if way or a == b else "none"
    head = one_line(f"path: {hops} from {view.name(a)} to {view.name(b)}")
    return text([head], [edge_text(view, each) for each in way])


def _dangling(view: View, request: GraphRequest) -> bytes:
    def section(loose: Loose) -> str:
        names = [one_line(view.path_of(one) or one.id) for one in loose.candidates]
        why = f"could mean {', '.join(names)}" if names else "nothing has that name"
        return f"{edge_text(view, loose.edge)}\n{why}"

    def values(loose: Loose) -> dict[str, object]:
        named = [end_values(view, one) for one in loose.candidates]
        return {**edge_values(view, loose.edge), "candidates": named}

    return _listing(request, "edges", view.engine.dangling(view.scope), section, values)


def _communities(view: View, request: GraphRequest) -> bytes:
    def section(group: Sequence[Entry]) -> str:
        lines = [f"## {len(group)} engrams", ""]
        lines += [f"- {one_line(view.path_of(one) or one.id)}" for one in group[:MEMBERS]]
        if len(group) > MEMBERS:
            lines.append(f"- and {len(group) - MEMBERS} more")
        return "\n".join(lines)

    def values(group: Sequence[Entry]) -> dict[str, object]:
        members = [end_values(view, one) for one in group[:MEMBERS]]
        return {"size": len(group), "members": members}

    groups = view.engine.communities(view.scope)
    return _listing(request, "communities", groups, section, values)


def _listing(
    request: GraphRequest,
    what: str,
    found: Sequence[T],
    section: Callable[[T], str],
    values: Callable[[T], dict[str, object]],
    *,
    more: bool = False,
) -> bytes:
    """A window of what was found. `more`: there is more behind it, which nobody counted."""
    end = request.offset + request.limit
    window = found[request.offset : end]
    if request.format == "json":
        return as_json(
            {
                what: [values(each) for each in window],
                "total": None if more else len(found),
                "offset": request.offset,
                "warnings": list(request.warnings),
                "controls": _controls(request),
            }
        )
    places = f"{request.offset + 1} to {request.offset + len(window)}" if window else "0"
    total = f"more than {end}" if more else f"{len(found)}"
    head = [f"{what}: {places} of {total}"]
    head += [f"warning: {one_line(warning)}" for warning in request.warnings]
    sections = [section(each) for each in window]
    if more or len(found) > end:
        sections.append(f"More: offset={end}")
    return text(head, sections)
