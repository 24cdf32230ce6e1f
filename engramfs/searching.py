"""`.search`, for the mount and for the command line: pairs in, one page of hits out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from engine.recall.answer import ECHO_BYTES, echo, joined
from engine.recall.items import Item
from engine.recall.json_form import item_values
from engine.recall.request import SearchRequest, parse_search
from engine.tokens import counter
from engramfs.render import as_json, one_line

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.model import Entry, Hit, Page, Passage
    from engine.namespace import Scope

PathOf = Callable[["Entry"], str | None]
_TOKENS = "o200k"


def search(
    engine: Engine,
    scope: Scope,
    pairs: Iterable[tuple[str, str]],
    path_of: PathOf,
    *,
    shown: bool = True,
) -> bytes:
    """Run the search that `pairs` ask for and render its page. Invalid for a bad request."""
    request = parse_search(pairs, engine.catalogue, engine.config, form="api")
    return render(request, run(engine, scope, request, shown), path_of)


def run(
    engine: Engine,
    scope: Scope,
    request: SearchRequest,
    shown: bool = True,
    seconds: float | None = None,
) -> Page:
    """The page of a request; `seconds` bounds what the vector channel may take."""
    return engine.search(
        scope,
        request.question,
        request.filters,
        limit=request.limit,
        offset=request.offset,
        fusion=request.fusion,
        shown=shown,
        seconds=seconds,
    )


def render(request: SearchRequest, page: Page, path_of: PathOf) -> bytes:
    """The page in the format that the request asks for."""
    if request.format == "json":
        return as_json(page_values(request, page, path_of))
    return page_text(request, page, path_of)


def page_values(request: SearchRequest, page: Page, path_of: PathOf) -> dict[str, object]:
    """The page as JSON holds it; the items have the keys of a recall's items."""
    count = counter(_TOKENS)
    return {
        "items": [_item(hit, path_of, count) for hit in page.hits],
        "total": page.total,
        "offset": page.offset,
        "warnings": [*request.warnings, *page.warnings],
        "degraded": [{"what": lost.what, "reason": lost.reason} for lost in page.degraded],
        "controls": {
            "q": echo(request.question, ECHO_BYTES),
            "kinds": list(request.kinds),
            **{key: echo(value, ECHO_BYTES) for key, value in joined(request.written)},
            "limit": request.limit,
            "offset": request.offset,
            "fusion": request.fusion,
            "format": request.format,
        },
    }


def page_text(request: SearchRequest, page: Page, path_of: PathOf) -> bytes:
    """The page as Markdown. Stored text stands behind `> `, so that it cannot pose as ours."""
    last = page.offset + len(page.hits)
    shown = f"{page.offset + 1} to {last} of {page.total}" if page.hits else f"0 of {page.total}"
    lines = ["---", f"hits: {shown}"]
    lines += [f"warning: {one_line(warning)}" for warning in [*request.warnings, *page.warnings]]
    lines += [f"degraded: {lost.what}: {one_line(lost.reason)}" for lost in page.degraded]
    lines.append("---")
    for hit in page.hits:
        entry = hit.entry
        place = path_of(entry) or entry.id
        ranks = ", ".join(f"{name} {rank}" for name, rank in hit.channels.items())
        lines += ["", f"## {one_line(place)}", ""]
        lines.append(f"{one_line(entry.title)}  ({hit.score:.3f}; {ranks})")
        for passage in hit.evidence:
            lines += ["", f"{_span(passage)}:"]
            lines += [f"> {one_line(line)}".rstrip() for line in passage.text.splitlines()]
    if last < page.total and page.hits:
        lines += ["", f"More: offset={last}"]
    return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")


def _item(hit: Hit, path_of: PathOf, count: Callable[[str], int]) -> dict[str, object]:
    role = hit.properties.get("source_role")
    return item_values(
        Item(
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
        )
    )


def _span(passage: Passage) -> str:
    span = passage.span
    lines = (
        f"line {span.start_line}"
        if span.start_line == span.end_line
        else f"lines {span.start_line} to {span.end_line}"
    )
    return one_line(" / ".join((*passage.heading_path, lines)))
