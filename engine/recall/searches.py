"""The ways to search, as one table: which keys each takes, and pairs -> a frozen request.

Total: whatever the pairs hold, the outcome is a request or Invalid with every problem. A search is
a control file (`.find_exact`) and an option of `engramfs search` (`--exact`); see docs/search.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from engine.arguments import explained
from engine.catalogue import Catalogue
from engine.config import Config
from engine.errors import Invalid, Problem, shown
from engine.filters import Filters
from engine.recall.given import FORMATS, FUSIONS, SEARCHED, Given

MOST_OFFSET = 1000  # a result set holds so many
_SET = re.compile(r"[\w.-]{1,64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Search:
    """One way to search. `channels` are those that it asks; `keys` it takes besides the filters.

    With `raw` the scores are those of the one channel; without `operators` q is plain text. One
    with the key `set` goes on with the hits of another and takes no filters.
    """

    name: str
    keys: tuple[str, ...]
    channels: tuple[str, ...] = SEARCHED
    raw: bool = False
    operators: bool = True

    @property
    def continues(self) -> bool:
        return "set" in self.keys


_ROWS = (
    Search("search", ("q", "kinds", "limit", "offset", "fusion", "fresh", "format")),
    Search("find_exact", ("q", "kinds", "limit", "offset", "format")),
    Search(
        "find_objects",
        ("q", "kinds", "limit", "offset", "fusion", "fresh", "format"),
        operators=False,
    ),
    Search("text", ("q", "kinds", "limit", "offset", "format"), ("lexical",), raw=True),
    Search("vector", ("q", "kinds", "limit", "offset", "fresh", "format"), ("vector",), raw=True),
    Search("continue", ("set", "limit", "offset", "format"), (), operators=False),
)
SEARCHES: Mapping[str, Search] = {row.name: row for row in _ROWS}


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A request after defaults and clamping.

    `question` may hold operators; `offset` and `limit` count hits; `written` are the filters as
    given. `set_id` names the result set that `continue` goes on with.
    """

    search: Search = SEARCHES["search"]
    question: str = ""
    set_id: str = ""
    kinds: tuple[str, ...] = ()
    filters: Filters = field(default_factory=Filters)
    written: tuple[tuple[str, str], ...] = ()
    limit: int = 10
    offset: int = 0
    fusion: str = "score"
    fresh: bool = False
    format: str = "md"
    warnings: tuple[str, ...] = ()


@explained
def parse_search(
    name: str,
    pairs: Iterable[tuple[str, str]],
    catalogue: Catalogue,
    config: Config,
    *,
    form: str = "api",
) -> SearchRequest:
    """Judge the pairs of a request to the search `name`; `form` as in `parse_request`."""
    if name not in SEARCHES:
        known = f"one of {', '.join(SEARCHES)}"
        raise Invalid(Problem(f"there is no search `{shown(name)}`", hint=known))
    search = SEARCHES[name]
    given = Given(pairs, search.keys, of=name, filters=not search.continues)
    question = given.question(config, form)
    set_id = given.one("set").strip()
    if search.continues and not _SET.fullmatch(set_id):
        said = f"set: `{shown(set_id)}` is no result set"
        given.refuse("set", said, "a search names its set, as in set=…")
    elif not search.continues and not question:
        given.refuse("q", "the question is empty", "search with q=…")
    kinds = given.kinds(catalogue)
    request = SearchRequest(
        search=search,
        question=question,
        set_id=set_id,
        kinds=kinds,
        filters=given.filters(catalogue, kinds),
        written=given.written_filters(),
        limit=given.integer("limit", config.default_limit, 1, config.max_limit, clamp=True),
        offset=given.integer("offset", 0, 0, MOST_OFFSET),
        fusion="raw" if search.raw else given.choice("fusion", FUSIONS, "score"),
        fresh=given.fresh(form),
        format=given.choice("format", FORMATS, "md"),
        warnings=tuple(given.warnings),
    )
    given.finish()
    return request
