"""A recall or search request: pairs -> a frozen request, or Invalid with every problem at once.

Total: whatever the pairs hold, the outcome is a request or Invalid. Each problem names the key, the
value as given and the valid range.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from engine.catalogue import Catalogue
from engine.config import Config
from engine.errors import Invalid, Problem, shown
from engine.filters import FALSE, TRUE, Filters, is_filter_key, parse_filters, split
from engine.model import Namespace
from engine.namespace import Scope, bind
from engine.recall.pairs import KEYS
from engine.tokens import COUNTERS

CHANNELS = ("lexical", "vector", "exact")
LATER_CHANNELS = ("graph", "temporal")
DETAILS = ("auto", "full", "parts", "summary")
FUSIONS = ("score", "rrf")
FORMATS = ("md", "json")

MOST_K = 1000
MOST_WEIGHT = 1000.0
MOST_OFFSET = 1000  # a result set holds so many

_SEARCH_KEYS = frozenset(("q", "kinds", "limit", "offset", "fusion", "format"))
_RECALL_KEYS = frozenset((
    "q", "kinds", "budget", "counter", "max_characters", "limit", "k", "channels", "weights",
    "detail", "fusion", "fresh", "trace", "strict", "format", "set",
))  # fmt: skip
_TOKEN = re.compile(r"[a-z0-9]{8}")
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """A request after defaults and clamping.

    `budget` in tokens of `counter`, `max_characters` in code points, `limit` items, `k` engrams
    that the vector channel alone may bring in. `written` are the filters as given. With `token`
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
    k: int = 24
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


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A `.search` request. `question` may hold operators; `offset` counts hits."""

    question: str
    kinds: tuple[str, ...] = ()
    filters: Filters = field(default_factory=Filters)
    written: tuple[tuple[str, str], ...] = ()
    limit: int = 10
    offset: int = 0
    fusion: str = "score"
    format: str = "md"
    warnings: tuple[str, ...] = ()


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
    reading = _Reading(pairs, _RECALL_KEYS)
    most_bytes = config.written_question_bytes if form == "written" else config.question_bytes
    if "set" in reading.values:
        return _again(reading)
    question = reading.question(most_bytes)
    kinds = reading.kinds(catalogue)
    if not question and not reading.given("kinds"):
        reading.refuse("q", "the question is empty", "ask q=…, or browse with kinds=…")
    format = reading.choice("format", FORMATS, "md")
    least = config.recall_budget_min_json if format == "json" else config.recall_budget_min
    budget = reading.integer("budget", config.recall_budget, least, config.recall_budget_max)
    fresh = reading.boolean("fresh")
    if fresh and form == "name":
        reading.refuse(
            "fresh", "fresh cannot be in a name", "write the request to the file and read it back"
        )
    request = RecallRequest(
        question=question,
        kinds=kinds,
        filters=reading.filters(catalogue, kinds),
        written=reading.written_filters(),
        namespace=reading.namespace(ceiling),
        budget=budget,
        counter=reading.choice("counter", COUNTERS, "o200k"),
        max_characters=reading.integer(
            "max_characters", config.recall_max_characters, 1, config.recall_max_characters
        ),
        limit=reading.integer("limit", config.recall_limit, 1, config.recall_limit, clamp=True),
        k=reading.integer("k", config.recall_k, 1, MOST_K),
        channels=reading.channels(),
        weights=reading.weights(),
        detail=reading.choice("detail", DETAILS, "auto"),
        fusion=reading.choice("fusion", FUSIONS, "score"),
        fresh=fresh,
        trace=reading.boolean("trace"),
        strict=reading.boolean("strict"),
        format=format,
        warnings=tuple(reading.warnings),
    )
    reading.finish()
    return request


def parse_search(
    pairs: Iterable[tuple[str, str]], catalogue: Catalogue, config: Config, *, form: str = "api"
) -> SearchRequest:
    """Judge the pairs of a search: q, kinds, the filters, limit, offset, fusion, format."""
    reading = _Reading(pairs, _SEARCH_KEYS)
    most_bytes = config.written_question_bytes if form == "written" else config.question_bytes
    question = reading.question(most_bytes)
    if not question:
        reading.refuse("q", "the question is empty", "search with q=…")
    kinds = reading.kinds(catalogue)
    request = SearchRequest(
        question=question,
        kinds=kinds,
        filters=reading.filters(catalogue, kinds),
        written=reading.written_filters(),
        limit=reading.integer("limit", config.default_limit, 1, config.max_limit, clamp=True),
        offset=reading.integer("offset", 0, 0, MOST_OFFSET),
        fusion=reading.choice("fusion", FUSIONS, "score"),
        format=reading.choice("format", FORMATS, "md"),
        warnings=tuple(reading.warnings),
    )
    reading.finish()
    return request


def _again(reading: _Reading) -> RecallRequest:
    token = reading.values["set"][0].strip()
    if not _TOKEN.fullmatch(token):
        reading.refuse("set", f"`{shown(token)}` is no token", "an answer names its token")
    others = sorted(reading.every_key - {"set"})
    if others:
        reading.refuse("set", f"set stands alone, without {shown(', '.join(others))}", "")
    reading.finish()
    return RecallRequest(token=token)


class _Reading:
    """Pairs sorted by key, and the problems found so far."""

    def __init__(self, pairs: Iterable[tuple[str, str]], keys: frozenset[str]) -> None:
        self.values: dict[str, list[str]] = {}
        self.problems: list[Problem] = []
        self.warnings: list[str] = []
        self._filters: list[tuple[str, str]] = []
        self._namespace: list[tuple[str, str]] = []
        self.every_key: set[str] = set()
        for key, value in pairs:
            self.every_key.add(key)
            if key in keys:
                self.values.setdefault(key, []).append(value)
            elif is_filter_key(key):
                self._filters.append((key, value))
            elif key.startswith("namespace.") and "k" in keys:
                self._namespace.append((key.partition(".")[2], value))
            else:
                self._refuse_key(key, keys)
        for key, given in self.values.items():
            if len(given) > 1 and key not in ("kinds", "channels"):
                self.refuse(key, f"{key} is given {len(given)} times", "give it once")

    def _refuse_key(self, key: str, keys: frozenset[str]) -> None:
        base = key.partition(".")[0]
        if (key in KEYS or base == "min_score") and key not in ("offset",) and "k" in keys:
            self.refuse(key, f"{shown(key)} is not in this release", "leave it out")
        else:
            valid = ", ".join(sorted(keys))
            self.refuse(
                key,
                f"`{shown(key)}` is no key of a request",
                f"keys are {valid}, prop.NAME and the filters",
            )

    def given(self, key: str) -> bool:
        """Is there a value that is not blank?"""
        return any(value.strip(" ,\t\r\n") for value in self.values.get(key, ()))

    def refuse(self, key: str, message: str, hint: str) -> None:
        self.problems.append(Problem(message, key=shown(key), hint=hint))

    def finish(self) -> None:
        """Raise Invalid if anything was refused."""
        if self.problems:
            raise Invalid(*self.problems)

    def question(self, most_bytes: int) -> str:
        text = self._one("q").strip()
        size = len(text.encode("utf-8", "surrogatepass"))
        if size > most_bytes:
            self.refuse("q", f"q has {size} bytes", f"at most {most_bytes}")
        return text

    def kinds(self, catalogue: Catalogue) -> tuple[str, ...]:
        names = split(self.values.get("kinds", ()))
        found, unknown = catalogue.expand(names)
        if unknown and not catalogue.open:
            valid = ", ".join([*sorted(catalogue.kinds), *sorted(catalogue.groups)])
            for name in unknown:
                self.refuse("kinds", f"kinds: `{shown(name)}` is no kind or group", valid)
        if "kinds" in self.values and not names:
            self.refuse("kinds", "kinds is empty", "name kinds or groups, or leave it out")
        # In open mode a kind that nobody made yet is asked for in vain, which is no error.
        return tuple(sorted({*found, *unknown}))

    def filters(self, catalogue: Catalogue, kinds: tuple[str, ...]) -> Filters:
        asked = [("kinds", ",".join(kinds))] if kinds else []
        try:
            return parse_filters([*asked, *self._filters], catalogue)
        except Invalid as error:
            known = {(problem.key, problem.message) for problem in self.problems}
            self.problems += [
                problem
                for problem in error.problems
                if (problem.key, problem.message) not in known and problem.key != "kinds"
            ]
            return Filters()

    def written_filters(self) -> tuple[tuple[str, str], ...]:
        return tuple(sorted(set(self._filters)))

    def namespace(self, ceiling: Scope | None) -> Namespace:
        asked = tuple(self._namespace)
        try:
            bind(ceiling if ceiling is not None else Scope(), asked)
        except Invalid as error:
            self.problems += error.problems
        return () if ceiling is not None else asked

    def integer(self, key: str, default: int, least: int, most: int, *, clamp: bool = False) -> int:
        if key not in self.values:
            return default
        text = self._one(key).strip()
        value = int(text) if _INTEGER.fullmatch(text) else None
        if value is None or value < least or (value > most and not clamp):
            said = f"{key}: `{shown(text)}` is out of range"
            self.refuse(key, said, f"a whole number, {least} to {most}")
            return default
        if value > most:
            self.warnings.append(f"{key} {value} was lowered to {most}")
        return min(value, most)

    def boolean(self, key: str) -> bool:
        if key not in self.values:
            return False
        text = self._one(key).strip().lower()
        if text not in TRUE | FALSE:
            said = f"{key}: `{shown(text)}` is no switch"
            self.refuse(key, said, "on, off, true, false, 1 or 0")
        return text in TRUE

    def choice(self, key: str, choices: Sequence[str], default: str) -> str:
        if key not in self.values:
            return default
        text = self._one(key).strip().lower()
        if text not in choices:
            self.refuse(key, f"{key}: `{shown(text)}` is not known", f"one of {', '.join(choices)}")
            return default
        return text

    def channels(self) -> tuple[str, ...]:
        if "channels" not in self.values:
            return CHANNELS
        names = [name.lower() for name in split(self.values["channels"])]
        if not names:
            self.refuse("channels", "channels is empty", f"a subset of {', '.join(CHANNELS)}")
        for name in names:
            self._judge_channel("channels", name)
        return tuple(name for name in CHANNELS if name in names)

    def weights(self) -> tuple[tuple[str, float], ...]:
        found: dict[str, float] = {}
        for piece in split(self.values.get("weights", ())):
            name, _, number = piece.partition(":")
            name = name.strip().lower()
            self._judge_channel("weights", name)
            value = _number(number)
            if value is None or value > MOST_WEIGHT:
                self.refuse(
                    "weights",
                    f"weights: `{shown(piece)}` is not of the form channel:number",
                    f"a number up to {MOST_WEIGHT:.0f}, such as lexical:2,vector:1",
                )
            elif value > 0:  # missing or not positive means 1
                found[name] = value
        return tuple((name, found[name]) for name in CHANNELS if found.get(name, 1.0) != 1.0)

    def _judge_channel(self, key: str, name: str) -> None:
        if name in LATER_CHANNELS:
            self.refuse(key, f"{key}: {name} is not in this release", "leave it out")
        elif name not in CHANNELS:
            self.refuse(
                key, f"{key}: `{shown(name)}` is no channel", f"a subset of {', '.join(CHANNELS)}"
            )

    def _one(self, key: str) -> str:
        return self.values.get(key, [""])[0]


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
