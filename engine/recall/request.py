"""A recall request: pairs -> a frozen request, or Invalid with every problem at once.

Total: whatever the pairs hold, the outcome is a request or Invalid. Each problem names the key, the
value as given and the valid range.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from engine.catalogue import Catalogue
from engine.config import Config
from engine.errors import shown
from engine.filters import CORE_KEYS, Filters
from engine.model import Namespace
from engine.namespace import Scope
from engine.recall.given import CHANNELS, FORMATS, FUSIONS, Given
from engine.recall.pairs import KEYS
from engine.tokens import COUNTERS

DETAILS = ("auto", "full", "parts", "summary")

MOST_K = 1000
MOST_HOPS = 2
MOST_SEEDS = 32
GRAPH_FLOOR = "min_score.graph"
DEPTHS = {"low": (12, 1), "mid": (24, 1), "high": (100, 2)}  # k and hops

_RECALL_KEYS = frozenset((
    "q", "kinds", "budget", "counter", "max_characters", "limit", "k", "channels", "weights",
    "detail", "fusion", "fresh", "trace", "strict", "format", "set", "depth", "hops", "reverse",
    "seeds", GRAPH_FLOOR,
))  # fmt: skip
_LATER_KEYS = (KEYS | {"min_score"}) - _RECALL_KEYS - CORE_KEYS - {"offset"}
_TOKEN = re.compile(r"[a-z0-9]{8}")


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """A request after defaults and clamping.

    `budget` in tokens of `counter`, `max_characters` in code points, `limit` items, `k` engrams
    that the vector channel alone may bring in; `depth` is where k and `hops` come from if they are
    not given. `hops`, `reverse`, `seeds` and `least_graph` (`min_score.graph`) are those of
    `engine.graph_channel.Spread`. `written` are the filters as given. With `token`
    (the key `set`) nothing else counts: the answer of that token is wanted again.
    """

    question: str = ""
    kinds: tuple[str, ...] = ()
    filters: Filters = field(default_factory=Filters)
    written: tuple[tuple[str, str], ...] = ()
    namespace: Namespace = ()
    budget: int = 4096
    counter: str = "o200k"
    max_characters: int = 200_000
    limit: int = 200
    depth: str = "mid"
    k: int = 24
    hops: int = 1
    reverse: bool = False
    seeds: int = 8
    least_graph: float = 0.0
    channels: tuple[str, ...] = CHANNELS
    weights: tuple[tuple[str, float], ...] = ()
    detail: str = "auto"
    fusion: str = "score"
    fresh: bool = False
    trace: bool = False
    strict: bool = False
    format: str = "md"
    token: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def browse(self) -> bool:
        """Kinds without a question: newest first."""
        return not self.question and not self.token


def parse_request(
    pairs: Iterable[tuple[str, str]],
    catalogue: Catalogue,
    config: Config,
    *,
    form: str = "api",
    ceiling: Scope | None = None,
) -> RecallRequest:
    """Judge the pairs of a recall.

    `form` is where they came from: in a "name" `fresh` is refused (a slow lookup holds up the
    directory), "written" takes a question of 64 KiB instead of 8. `ceiling` is the mount's scope
    for a control file, where `namespace.NAME` may only repeat it; None lets a call narrow.
    """
    given = Given(pairs, _RECALL_KEYS, namespaces=True, later=_LATER_KEYS)
    if "set" in given.values:
        return _again(given)
    question = given.question(config, form)
    kinds = given.kinds(catalogue)
    if not question and not given.has("kinds"):
        given.refuse("q", "the question is empty", "ask q=…, or browse with kinds=…")
    format = given.choice("format", FORMATS, "md")
    least = config.recall_budget_min_json if format == "json" else config.recall_budget_min
    depth = given.choice("depth", tuple(DEPTHS), "mid")
    k, hops = depth_of(depth, config)
    budget = given.integer("budget", config.recall_budget, least, config.recall_budget_max)
    request = RecallRequest(
        question=question,
        kinds=kinds,
        filters=given.filters(catalogue, kinds),
        written=given.written_filters(),
        namespace=given.namespace(ceiling),
        budget=budget,
        counter=given.choice("counter", COUNTERS, "o200k"),
        max_characters=given.integer(
            "max_characters", config.recall_max_characters, 1, config.recall_max_characters
        ),
        limit=given.integer("limit", config.recall_limit, 1, config.recall_limit, clamp=True),
        depth=depth,
        k=given.integer("k", k, 1, MOST_K),
        hops=given.clamped("hops", hops, 1, MOST_HOPS),
        reverse=given.boolean("reverse"),
        seeds=given.integer("seeds", config.recall_seeds, 1, MOST_SEEDS),
        least_graph=given.share(GRAPH_FLOOR),
        channels=given.channels(),
        weights=given.weights(),
        detail=given.choice("detail", DETAILS, "auto"),
        fusion=given.choice("fusion", FUSIONS, "score"),
        fresh=given.fresh(form),
        trace=given.boolean("trace"),
        strict=given.boolean("strict"),
        format=format,
        warnings=tuple(given.warnings),
    )
    given.finish()
    if request.channels == ("graph",):
        said = "graph goes on from what other channels find: alone it finds nothing"
        return replace(request, warnings=(*request.warnings, said))
    return request


def depth_of(depth: str, config: Config) -> tuple[int, int]:
    """(k, hops) of a depth; the config says what k is without one."""
    k, hops = DEPTHS[depth]
    return (config.recall_k if depth == "mid" else k), hops


def _again(given: Given) -> RecallRequest:
    token = given.values["set"][0].strip()
    if not _TOKEN.fullmatch(token):
        given.refuse("set", f"`{shown(token)}` is no token", "an answer names its token")
    others = sorted(given.every_key - {"set"})
    if others:
        given.refuse("set", f"set stands alone, without {shown(', '.join(others))}", "")
    given.finish()
    return RecallRequest(token=token)
