"""A request for a briefing: pairs -> a frozen request, or Invalid with every problem at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from engine.arguments import explained
from engine.catalogue import Catalogue
from engine.config import Config
from engine.instants import instant
from engine.model import Namespace
from engine.namespace import Scope
from engine.recall.given import FORMATS, Given
from engine.recall.keys import Free, Key, Whole, keys_of
from engine.tokens import COUNTERS


@dataclass(frozen=True, slots=True)
class BriefingRequest:
    """A request after defaults.

    `budget` in tokens of `counter`; constraints may use twice as many. `kinds` () are all. `now` is
    the time that ages are counted from as it was written, `now_ns` in nanoseconds; None: the clock.
    """

    budget: int = 1500
    counter: str = "o200k"
    kinds: tuple[str, ...] = ()
    namespace: Namespace = ()
    now: str = ""
    now_ns: int | None = None
    format: str = "md"
    warnings: tuple[str, ...] = ()


@lru_cache(maxsize=8)
def briefing_keys(config: Config) -> Mapping[str, Key]:
    """Every key of a briefing by its name, in the order of docs/recall.md."""
    recall = keys_of(config)
    rows = (
        Key("budget", Whole(config.briefing_budget, config.recall_budget_min,
                            config.recall_budget_max),
            f"Tokens of the whole answer; at least {config.recall_budget_min_json} for JSON. "
            "Constraints may take twice as many.", "Seamless"),
        recall["counter"],
        Key("kinds", Free("all", "kinds and groups, by commas or repeated"),
            "Only engrams of these."),
        recall["namespace.NAME"],
        Key("now", Free("the clock", "a date or time: 2026-04-05, 2026-04-05T10:00:00Z"),
            "What ages are counted from.", "Hindsight"),
        recall["format"],
    )  # fmt: skip
    return {row.name: row for row in rows}


@explained
def parse_briefing(
    pairs: Iterable[tuple[str, str]],
    catalogue: Catalogue,
    config: Config,
    *,
    ceiling: Scope | None = None,
    counters: Collection[str] = (),
) -> BriefingRequest:
    """Judge the pairs of a briefing; `ceiling` and `counters` as in `parse_request`."""
    keys = [key for key in briefing_keys(config) if "." not in key]
    given = Given(pairs, keys, of="briefing", filters=False, namespaces=True)
    format = given.choice("format", FORMATS, "md")
    least = config.recall_budget_min_json if format == "json" else config.recall_budget_min
    given.time("now")
    request = BriefingRequest(
        budget=given.integer("budget", config.briefing_budget, least, config.recall_budget_max),
        counter=given.choice("counter", (*COUNTERS, *counters), "o200k"),
        kinds=given.kinds(catalogue),
        namespace=given.namespace(ceiling),
        now=given.one("now").strip(),
        now_ns=instant(given.one("now")),
        format=format,
        warnings=tuple(given.warnings),
    )
    given.finish()
    return request
