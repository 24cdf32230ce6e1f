"""A recall request: pairs -> a frozen request, or Invalid with every problem at once.

Total: whatever the pairs hold, the outcome is a request or Invalid. Each problem names the key, the
value as given and the valid range. What each key takes is said in `engine.recall.keys`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from engine.arguments import explained
from engine.catalogue import Catalogue
from engine.config import Config
from engine.errors import shown
from engine.filters import CORE_KEYS, Filters
from engine.model import SOURCE_ROLES, Namespace
from engine.namespace import Scope
from engine.recall.given import CHANNELS, Given
from engine.recall.keys import (
    FLOORS,
    SURFACES,
    Choice,
    Floor,
    Key,
    Subset,
    Whole,
    depth_of,
    keys_of,
)

_TOKEN = re.compile(r"[a-z0-9]{8}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """A request after defaults and clamping.

    `budget` in tokens of `counter`, `max_characters` in code points, `limit` items, `k` engrams
    that the vector or temporal channel alone may bring in; `depth` is where k and `hops` come from
    if they are not given. `hops`, `reverse` and `seeds` are those of `engine.graph_channel.Spread`.
    `tags` are values as given: each a tag, or some by commas.
    `least` are floors by channel, `least_score` is one on the final score. `written` are the
    filters as given. `now` and `as_of` None: the clock. `asked_surfaces`: surfaces were named,
    rather than all by default. `sources` None: those of kinds that are made from others. `clamped`
    are keys whose value was brought into its range. With
    `token` (the key `set`) nothing else counts: the answer of that token is wanted again.
    """

    question: str = ""
    kinds: tuple[str, ...] = ()
    filters: Filters = field(default_factory=Filters)
    written: tuple[tuple[str, str], ...] = ()
    namespace: Namespace = ()
    tags: tuple[str, ...] = ()
    tags_match: str = "any"
    source_roles: tuple[str, ...] = SOURCE_ROLES
    budget: int = 4096
    counter: str = "o200k"
    max_characters: int = 200_000
    limit: int = 200
    depth: str = "mid"
    k: int = 24
    hops: int = 1
    reverse: bool = False
    seeds: int = 8
    channels: tuple[str, ...] = CHANNELS
    weights: tuple[tuple[str, float], ...] = ()
    least: tuple[tuple[str, float], ...] = ()
    least_score: float = 0.0
    surfaces: tuple[str, ...] = SURFACES
    asked_surfaces: bool = False
    themes: bool = False
    altitude: str = "auto"
    detail: str = "auto"
    sources: bool | None = None
    max_source_tokens: int = 4096
    chunks: bool = False
    max_chunk_tokens: int = 500
    now: datetime | None = None
    as_of: datetime | None = None
    fusion: str = "score"
    fresh: bool = False
    trace: bool = False
    strict: bool = False
    format: str = "md"
    token: str = ""
    warnings: tuple[str, ...] = ()
    clamped: tuple[str, ...] = ()

    @property
    def browse(self) -> bool:
        """Kinds without a question: newest first."""
        return not self.question and not self.token

    @property
    def now_ns(self) -> int | None:
        """What `now` is in nanoseconds since the epoch."""
        return _ns(self.now)

    @property
    def as_of_ns(self) -> int | None:
        """What `as_of` is in nanoseconds since the epoch."""
        return _ns(self.as_of)

    @property
    def extra_tokens(self) -> int:
        """What the answer may have on top of the budget."""
        sources = self.max_source_tokens if self.sources else 0
        return sources + (self.max_chunk_tokens if self.chunks else 0)


@explained
def parse_request(
    pairs: Iterable[tuple[str, str]],
    catalogue: Catalogue,
    config: Config,
    *,
    form: str = "api",
    ceiling: Scope | None = None,
    counters: Collection[str] = (),
) -> RecallRequest:
    """Judge the pairs of a recall.

    `form` is where they came from: in a "name" `fresh` is refused (a slow lookup holds up the
    directory), "written" takes a question of 64 KiB instead of 8. `ceiling` is the mount's scope
    for a control file, where `namespace.NAME` may only repeat it; None lets a call narrow.
    `counters` are those that the host adds.
    """
    keys = keys_of(config)
    filters = {*CORE_KEYS, "prop.NAME", "namespace.NAME"} - {"kinds"}
    own = [name for name in keys if name not in filters]
    given = Given(pairs, own, namespaces=True)
    if "set" in given.values:
        return _again(given)
    read = _Keys(given, keys)
    question = given.question(config, form)
    kinds = given.kinds(catalogue)
    if not question and not given.has("kinds"):
        given.refuse("q", "the question is empty", "ask q=…, or browse with kinds=…")
    format = read.choice("format")
    depth = read.choice("depth")
    k, hops = depth_of(depth, config)
    sources = given.boolean("sources") if "sources" in given.values else None
    chunks = given.boolean("chunks")
    request = RecallRequest(
        question=question,
        kinds=kinds,
        filters=given.filters(catalogue, kinds),
        written=given.written_filters(),
        namespace=given.namespace(ceiling),
        tags=given.words("tags", "name tags, or tags_match=exact alone for those without any"),
        tags_match=read.choice("tags_match"),
        source_roles=read.subset("source_roles"),
        budget=_budget(given, config, format, extras=bool(sources) or chunks),
        counter=read.choice("counter", more=tuple(counters)),
        max_characters=read.whole("max_characters"),
        limit=read.whole("limit"),
        depth=depth,
        k=read.whole("k", default=k),
        hops=read.whole("hops", default=hops),
        reverse=given.boolean("reverse"),
        seeds=read.whole("seeds"),
        channels=read.subset("channels"),
        weights=given.weights(),
        least=read.floors(),
        least_score=read.floor("min_score"),
        surfaces=read.subset("surfaces"),
        asked_surfaces="surfaces" in given.values,
        themes=given.boolean("themes"),
        altitude=read.choice("altitude"),
        detail=read.choice("detail"),
        sources=sources,
        max_source_tokens=read.whole("max_source_tokens"),
        chunks=chunks,
        max_chunk_tokens=read.whole("max_chunk_tokens"),
        now=given.time("now"),
        as_of=given.time("as_of"),
        fusion=read.choice("fusion"),
        fresh=given.fresh(form),
        trace=given.boolean("trace"),
        strict=given.boolean("strict"),
        format=format,
        warnings=tuple(given.warnings),
        clamped=tuple(given.clamped_keys),
    )
    if not request.budget and request.extra_tokens < config.recall_budget_min:
        said = f"budget 0 leaves {request.extra_tokens} tokens for the whole answer"
        hint = f"sources and chunks need {config.recall_budget_min} together"
        given.refuse("budget", said, hint)
    given.finish()
    return replace(request, warnings=(*request.warnings, *_idle(request, given)))


class _Keys:
    """Reads keys as the table says."""

    def __init__(self, given: Given, keys: Mapping[str, Key]) -> None:
        self._given = given
        self._keys = keys

    def whole(self, name: str, default: int | None = None) -> int:
        takes = self._keys[name].takes
        assert isinstance(takes, Whole)
        without = takes.default if default is None else default
        if takes.over == "clamp":
            return self._given.clamped(name, without, takes.least, takes.most)
        lower = takes.over == "lower"
        return self._given.integer(name, without, takes.least, takes.most, clamp=lower)

    def choice(self, name: str, more: tuple[str, ...] = ()) -> str:
        takes = self._keys[name].takes
        assert isinstance(takes, Choice)
        return self._given.choice(name, (*takes.choices, *more), takes.default)

    def subset(self, name: str) -> tuple[str, ...]:
        takes = self._keys[name].takes
        assert isinstance(takes, Subset)
        return self._given.subset(name, takes.choices, takes.default, dict(takes.aliases))

    def floor(self, name: str) -> float:
        takes = self._keys[name].takes
        assert isinstance(takes, Floor)
        return self._given.floor(name, takes.most)

    def floors(self) -> tuple[tuple[str, float], ...]:
        found = ((channel, self.floor(f"min_score.{channel}")) for channel in FLOORS)
        return tuple((channel, floor) for channel, floor in found if floor > 0.0)


def _budget(given: Given, config: Config, format: str, *, extras: bool) -> int:
    """Only with sources or chunks may there be no room for items."""
    if extras and given.one("budget").strip() == "0":
        return 0
    least = config.recall_budget_min_json if format == "json" else config.recall_budget_min
    zero = "0" if extras else ""
    return given.integer("budget", config.recall_budget, least, config.recall_budget_max, or_=zero)


def _ns(at: datetime | None) -> int | None:
    return None if at is None else (at - _EPOCH) // timedelta(microseconds=1) * 1000


def _idle(request: RecallRequest, given: Given) -> Iterable[str]:
    """What was asked and can have no effect."""
    if request.channels == ("graph",):
        yield "graph goes on from what other channels find: alone it finds nothing"
    if "max_source_tokens" in given.values and request.sources is False:
        yield "max_source_tokens counts for nothing with sources=off"
    if request.chunks and request.browse:
        yield "chunks are parts that a question found: without q there are none"
    if "max_chunk_tokens" in given.values and not request.chunks:
        yield "max_chunk_tokens counts with chunks=on only"
    if "tags_match" in given.values and not request.tags and request.tags_match != "exact":
        yield f"tags_match={request.tags_match} counts with tags only"


def _again(given: Given) -> RecallRequest:
    token = given.values["set"][0].strip()
    if not _TOKEN.fullmatch(token):
        given.refuse("set", f"`{shown(token)}` is no token", "an answer names its token")
    others = sorted(given.every_key - {"set"})
    if others:
        given.refuse("set", f"set stands alone, without {shown(', '.join(others))}", "")
    given.finish()
    return RecallRequest(token=token)
