"""What can be asked of the graph, and said of an edge, as tables: pairs -> a frozen request.

Total: whatever the pairs hold, the outcome is a request or Invalid with every problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from engine.config import Config
from engine.errors import Invalid, Problem, shown
from engine.expand import MOST_HOPS, NEAREST, Expansion
from engine.filters import split
from engine.model import EdgeMeta
from engine.recall.given import FORMATS, Given
from engine.recall.pairs import Pairs
from engine.recall.searches import MOST_OFFSET
from engine.walk import DIRECTIONS

INLINE = 20  # hits, edges or groups of one answer, unless `limit` says otherwise

_PAGE = ("limit", "offset", "format")
_HOW = ("relations", "hops", "direction", "containment")
ASKS: Mapping[str, tuple[str, ...]] = {  # what can be asked, and the keys that it takes
    "expand": ("of", *_HOW, "recipe", *_PAGE),
    "neighbours": ("of", "relations", "direction", *_PAGE),
    "find_links": ("q", "relation", *_PAGE),
    "path": ("from", "to", "relations", "direction", "format"),
    "rank": ("of", *_PAGE),
    "communities": _PAGE,
    "orphans": _PAGE,
    "dangling": _PAGE,
    "most_linked": _PAGE,
}
ANALYSES = tuple(ASKS)[3:]  # of the graph as a whole: `.graph?ask=…`
_WANTED = {"expand": ("of",), "neighbours": ("of",), "path": ("from", "to")}

_ENDS = ("from", "relation", "to")
_META = ("note", "status", "role", "confidence", "evidence_id")
EDGE_KEYS: Mapping[str, tuple[str, ...]] = {  # what is said to make and to remove an edge
    "link": (*_ENDS, *_META, "format"),
    "unlink": (*_ENDS, "format"),
}
LINE = ""  # the key of an edge written as plain words
_SPELLED = "from=note/a&relation=about&to=note/b"


@dataclass(frozen=True, slots=True)
class GraphRequest:
    """A question after defaults and clamping. Names of engrams are as they were written."""

    ask: str
    of: tuple[str, ...] = ()
    a: str = ""
    b: str = ""
    question: str = ""
    relation: str = ""
    recipe: str = ""
    how: Expansion = NEAREST
    limit: int = INLINE
    offset: int = 0
    format: str = "md"
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EdgeRequest:
    """An edge to make or to remove."""

    a: str
    relation: str
    b: str
    meta: EdgeMeta
    format: str = "md"


def parse_ask(
    ask: str, pairs: Iterable[tuple[str, str]], config: Config, *, form: str = "api"
) -> GraphRequest:
    """Judge the pairs of a question; `form` as in `parse_request`."""
    keys = ASKS[ask]
    given = Given(pairs, keys, of=ask, filters=False, many=("of", "relations"))
    slash = "%2F" if form == "name" else "/"
    for key in _WANTED.get(ask, ()):
        if not given.has(key):
            given.refuse(key, f"{key} is missing", f"name an engram: {key}=note{slash}a")
    question, relation = given.question(config, form), given.one("relation").strip()
    if ask == "find_links" and not (question or relation):
        given.refuse("q", "neither q nor relation is given", "ask q=…, relation=… or both")
    recipe = given.one("recipe").strip()
    for key in _HOW if recipe else ():
        if key in given.values:
            given.refuse(key, f"the recipe says {key}", "leave it out, or leave out the recipe")
    request = GraphRequest(
        ask,
        of=tuple(name.strip() for name in given.values.get("of", ()) if name.strip()),
        a=given.one("from").strip(),
        b=given.one("to").strip(),
        question=question,
        relation=relation,
        recipe=recipe,
        how=Expansion(
            tuple(split(given.values.get("relations", ()))),
            given.integer("hops", 1, 1, MOST_HOPS),
            given.choice("direction", DIRECTIONS, "both"),
            given.boolean("containment"),
        ),
        limit=given.integer("limit", INLINE, 1, config.max_limit, clamp=True),
        offset=given.integer("offset", 0, 0, MOST_OFFSET),
        format=given.choice("format", FORMATS, "md"),
        warnings=tuple(given.warnings),
    )
    given.finish()
    return request


def edge_pairs(pairs: Pairs) -> Pairs:
    """Three plain words as the pairs that they mean; anything else as it is."""
    words = pairs[0][1].split() if len(pairs) == 1 and pairs[0][0] == LINE else ()
    return tuple(zip(_ENDS, words, strict=True)) if len(words) == len(_ENDS) else pairs


def parse_edge(doing: str, pairs: Iterable[tuple[str, str]]) -> EdgeRequest:
    """Judge what was said to `link` or `unlink`. Ends, relation and metadata are the engine's to
    judge."""
    pairs = tuple(pairs)
    for key, line in pairs:
        if key == LINE:
            said = f"`{shown(line)}` is not from, relation and to"
            raise Invalid(Problem(said, hint=f"write note/a about note/b, or {_SPELLED}"))
    given = Given(pairs, EDGE_KEYS[doing], of=doing, filters=False)
    for key in _ENDS:
        if not given.has(key):
            given.refuse(key, f"{key} is missing", f"write {_SPELLED}")
    request = EdgeRequest(
        given.one("from").strip(),
        given.one("relation"),
        given.one("to").strip(),
        EdgeMeta(
            note=given.one("note"),
            status=given.one("status"),
            role=given.one("role"),
            confidence=_confidence(given),
            evidence_id=given.one("evidence_id").strip(),
        ),
        given.choice("format", FORMATS, "md"),
    )
    given.finish()
    return request


def ask_of(pairs: Iterable[tuple[str, str]]) -> tuple[str, tuple[tuple[str, str], ...]]:
    """(what is asked of the graph as a whole, the other pairs). Invalid without one `ask`."""
    pairs = tuple(pairs)
    asked = [value.strip().replace("-", "_") for key, value in pairs if key == "ask"]
    if len(asked) == 1 and asked[0] in ANALYSES:
        return asked[0], tuple(pair for pair in pairs if pair[0] != "ask")
    said = f"ask: `{shown(asked[0])}` is not known" if len(asked) == 1 else "ask is not given once"
    raise Invalid(Problem(said, key="ask", hint=f"one of {', '.join(ANALYSES)}"))


def _confidence(given: Given) -> float | None:
    if not given.has("confidence"):
        return None
    text = given.one("confidence").strip()
    try:
        return float(text)
    except ValueError:
        said = f"confidence: `{shown(text)}` is no number"
        given.refuse("confidence", said, "a number above 0 and up to 1, such as 0.8")
        return None
