"""The searches, for the mount and for the command line: a request in, one page of hits out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from engine.model import NOWHERE
from engine.recall.answer import ECHO_BYTES, echo, joined
from engine.recall.items import Item
from engine.recall.json_form import item_values
from engine.recall.searches import MOST_OFFSET
from engine.tokens import counter
from engramfs.render import as_json, one_line

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.model import Entry, Hit, Page, Passage
    from engine.namespace import Scope
    from engine.recall.searches import SearchRequest

PathOf = Callable[["Entry"], str | None]
# (result set or "", offset, limit) -> the request for the next page, as its reader would type it.
Next = Callable[[str, int, int], str]
NameOf = Callable[[str], str]  # the id of an engram or part -> what an answer calls it
_TOKENS = "o200k"


class Windowed(Protocol):
    """A request for a page."""

    @property
    def limit(self) -> int: ...

    @property
    def warnings(self) -> tuple[str, ...]: ...


def run(
    engine: Engine,
    scope: Scope,
    request: SearchRequest,
    *,
    shown: bool = True,
    seconds: float | None = None,
) -> Page:
    """The page of a request. NotFound for a result set that is gone.

    `shown`: files show their id line, so that spans count it; `seconds` bounds what the vector
    channel may take.
    """
    if request.search.continues:
        return engine.continue_(scope, request.set_id, request.offset, request.limit, shown=shown)
    if request.fresh:
        engine.reading.wait_for_vectors(engine.config.fresh_wait_seconds)
    question, filters = request.question, request.filters
    limit, offset = request.limit, request.offset
    if request.search.name == "find_exact":
        return engine.find_exact(scope, question, filters, limit=limit, offset=offset, shown=shown)
    if request.search.name == "find_objects":
        return engine.find_objects(
            scope, question, filters, limit=limit, offset=offset, fusion=request.fusion,
            shown=shown, seconds=seconds,
        )  # fmt: skip
    return engine.search(
        scope, question, filters, limit=limit, offset=offset, fusion=request.fusion,
        channels=request.search.channels, shown=shown, seconds=seconds,
    )  # fmt: skip


def render(
    request: SearchRequest,
    page: Page,
    path_of: PathOf,
    next_request: Next,
    name_of: NameOf = str,
) -> bytes:
    """The page in the format that the request asks for."""
    if request.format == "json":
        return as_json(page_values(request, page, path_of))
    return page_text(request, page, path_of, next_request, name_of)


def page_values(request: SearchRequest, page: Page, path_of: PathOf) -> dict[str, object]:
    """The page as JSON holds it; the items have the keys of a recall's items.

    `controls` are what was applied: the keys that the search takes, and the filters.
    """
    applied = {
        "q": echo(request.question, ECHO_BYTES),
        "kinds": list(request.kinds),
        "set": request.set_id,
        "limit": request.limit,
        "offset": request.offset,
        "fusion": request.fusion,
        "fresh": request.fresh,
        "format": request.format,
    }
    return {
        "items": items(page, path_of),
        "total": page.total,
        "offset": page.offset,
        "set": page.set_id,
        "warnings": [*request.warnings, *page.warnings],
        "degraded": [{"what": lost.what, "reason": lost.reason} for lost in page.degraded],
        "controls": {
            "search": request.search.name,
            **{key: value for key, value in applied.items() if key in request.search.keys},
            **{key: echo(value, ECHO_BYTES) for key, value in joined(request.written)},
        },
    }


def page_text(
    request: Windowed,
    page: Page,
    path_of: PathOf,
    next_request: Next,
    name_of: NameOf = str,
) -> bytes:
    """The page as Markdown. Stored text stands behind `> `, so that it cannot pose as ours.

    Places count in the ranking, so a hit that is gone since leaves a gap in them.
    """
    last = min(page.offset + request.limit, page.total)
    places = max(last - page.offset, 0)
    shown = f"{page.offset + 1} to {last} of {page.total}" if places else f"0 of {page.total}"
    if len(page.hits) < places:
        shown += f", {places - len(page.hits)} not shown"
    lines = ["---", f"hits: {shown}"]
    lines += [f"warning: {one_line(warning)}" for warning in [*request.warnings, *page.warnings]]
    lines += [f"degraded: {lost.what}: {one_line(lost.reason)}" for lost in page.degraded]
    lines.append("---")
    for hit in page.hits:
        entry = hit.entry
        place = path_of(entry) or entry.id
        why = "; ".join([f"{hit.score:.3f}", *_found_by(hit, name_of)])
        lines += ["", f"## {one_line(place)}", ""]
        lines.append(f"{one_line(entry.title)}  ({one_line(why)})")
        for passage in hit.evidence:
            lines += ["", f"{_span(passage)}:"]
            lines += [f"> {one_line(line)}".rstrip() for line in passage.text.splitlines()]
    if places and last < page.total:
        if last < MOST_OFFSET:
            more = next_request(page.set_id, last, request.limit)
        else:
            more = f"narrow the question; only its first {MOST_OFFSET} hits are given in pages"
        lines += ["", f"More: {more}"]
    return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")


def items(page: Page, path_of: PathOf) -> list[dict[str, object]]:
    """The hits of a page as JSON holds them."""
    count = counter(_TOKENS)
    return [_item(hit, path_of, count) for hit in page.hits]


def _found_by(hit: Hit, name_of: NameOf) -> list[str]:
    """The ranks in the channels, or the step by which an expansion came to it."""
    step = hit.relation
    if step is not None:
        way = "from" if step.outward else "of"
        return [f"{step.label} {way} {name_of(step.source)}, hop {step.hop}"]
    ranks = ", ".join(f"{name} {rank}" for name, rank in hit.channels.items())
    return [ranks] if ranks else []


def _item(hit: Hit, path_of: PathOf, count: Callable[[str], int]) -> dict[str, object]:
    role = hit.properties.get("source_role")
    return item_values(
        Item(
            id=hit.entry.id,
            kind=hit.entry.kind,
            entry=hit.entry,
            path=path_of(hit.entry),
            title=hit.entry.title,
            summary=hit.summary,
            status=hit.status,
            source_role=role if isinstance(role, str) else "user",
            score=hit.score,
            channels=hit.channels,
            properties=hit.properties,
            passages=hit.evidence,
            tokens=count("\n".join(passage.text for passage in hit.evidence)),
            relation=hit.relation,
        )
    )


def _span(passage: Passage) -> str:
    span = passage.span
    if span == NOWHERE:  # a host's part: no line of the file says it
        return one_line(" / ".join(passage.heading_path)) or "passage"
    lines = (
        f"line {span.start_line}"
        if span.start_line == span.end_line
        else f"lines {span.start_line} to {span.end_line}"
    )
    return one_line(" / ".join((*passage.heading_path, lines)))
