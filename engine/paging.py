"""From a ranking to a page: the hits are kept as a result set, and those in the window are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from engine.config import Config
from engine.errors import Invalid, Problem
from engine.hits import hits_in, result_set, still_there
from engine.model import Degraded, Page
from engine.namespace import Scope
from engine.ranking import Ranking
from engine.reader import Reader
from engine.result_sets import ResultSet


@dataclass(frozen=True, slots=True)
class Window:
    """Which hits are wanted: `limit` of them from `offset` on.

    `shown` says whether files are shown with their id line: the spans of passages move with it.
    """

    limit: int
    offset: int = 0
    shown: bool = True
    warnings: tuple[str, ...] = ()

    @property
    def end(self) -> int:
        """The offset behind the last."""
        return self.offset + self.limit


def window(config: Config, limit: int | None, offset: int, shown: bool) -> Window:
    """A window within bounds; Invalid where it cannot be one.

    A limit that is too high is lowered, and the page says so (docs/adr/0010).
    """
    problems = []
    if limit is not None and limit < 1:
        problems.append(Problem(f"limit is {limit}", key="limit", hint="it is 1 or more"))
    if offset < 0:
        problems.append(Problem(f"offset is {offset}", key="offset", hint="it is 0 or more"))
    if problems:
        raise Invalid(*problems)
    most = config.max_limit_api
    if limit is not None and limit > most:
        return Window(most, offset, shown, (f"limit {limit} was lowered to {most}",))
    return Window(config.default_limit if limit is None else limit, offset, shown)


def to_rank(config: Config, window: Window) -> int:
    """How many engrams to rank: those up to the window's end, and those of a result set."""
    return max(window.end, config.result_set_hits)


def first_page(
    reader: Reader,
    scope: Scope,
    ranking: Ranking,
    window: Window,
    *,
    words: Sequence[str] = (),
    degraded: tuple[Degraded, ...] = (),
    warnings: tuple[str, ...] = (),
) -> Page:
    """Keep a ranking of `to_rank` engrams as a result set, and read its window.

    `words`, folded, are what snippets stand around.
    """
    found = result_set(scope, ranking, words)
    return kept_page(reader, replace(found, degraded=degraded, warnings=warnings), window)


def kept_page(reader: Reader, found: ResultSet, window: Window) -> Page:
    """Keep a set, unless it is empty, and read its window."""
    if len(found):
        found = replace(found, id=reader.results.keep(found))
    return _page(reader, found, window)


def next_page(reader: Reader, scope: Scope, set_id: str, window: Window) -> Page:
    """The window of a kept result set; NotFound when it is gone or of another scope."""
    found = reader.results.get(scope, set_id)
    page = _page(reader, found, window)
    if window.end > len(found) < found.total:
        said = (
            f"a result set keeps the first {len(found)} of {found.total} hits: "
            "narrow the question with filters, or search with a higher offset"
        )
        return replace(page, warnings=(*page.warnings, said))
    return page


def _page(reader: Reader, found: ResultSet, window: Window) -> Page:
    places = range(window.offset, min(window.end, len(found)))
    most = reader.config.snippet_characters
    hits = hits_in(reader, found, places, most=most, shown=window.shown)
    missing = still_there(reader, found, [at for at in places if at not in hits])
    damaged = tuple(
        f"{entry.kind}/{entry.name} was found and cannot be read (run `engramfs check`)"
        for entry in missing.values()
    )
    warnings = (*window.warnings, *found.warnings, *damaged)
    degraded = (*found.degraded, *reader.unreadable(found.scope))  # which the hits had a part in
    return Page(tuple(hits.values()), found.total, window.offset, degraded, warnings, found.id)
