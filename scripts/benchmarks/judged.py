"""A corpus with questions and judgements that hold by construction, and how a store is made of it.

What is relevant follows from what the asker means: 2 answers the question, 1 helps. `past` are
questions that were asked before, from which demand comes: their askers opened what answered them,
and now and then something else. `standing` engrams are what people come back to; some are marked as
favourites, a few others too.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from engine.engine import Engine
from engine.model import Draft
from engine.namespace import Scope
from scripts.benchmarks.wording import MONTHS

SCOPE = Scope((), exact=True)
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)  # a Monday; when the questions are asked
SECOND_NS = 10**9


@dataclass(frozen=True)
class Made:
    """One engram: `properties` are lines of its front matter, `at` is when it was written."""

    kind: str
    slug: str
    title: str
    body: str
    at: datetime
    properties: Mapping[str, str] = field(default_factory=dict)
    standing: bool = False

    @property
    def path(self) -> str:
        return f"{self.kind}/{self.slug}"

    def source(self, favourite: bool) -> bytes:
        """The file."""
        lines = [f"title: {json.dumps(self.title, ensure_ascii=False)}"] * bool(self.title)
        lines += [f"{name}: {value}" for name, value in self.properties.items()]
        lines += ["favourite: true"] * favourite
        head = "\n".join(["---", *lines, "---", ""]) if lines else ""
        return f"{head}{self.body}\n".encode()


@dataclass(frozen=True)
class Question:
    """`relevant`: path -> grade. `family` is what makes it hard."""

    text: str
    family: str
    relevant: Mapping[str, int]


@dataclass(frozen=True)
class Judged:
    """One corpus."""

    name: str
    kinds: str  # kinds.yaml
    engrams: tuple[Made, ...]
    questions: tuple[Question, ...]
    past: tuple[Question, ...]


PAGES, OPENED = "pages", "opened"  # whence favourites come
FAVOURITES = (0.3, 0.03)  # share of the standing engrams, of the others
MARKED = 0.2  # of what was opened
TRIES = 10
ANSWERED = 0.6  # of what answered a past question was opened
ASTRAY = 0.4  # of past questions ended at some engram besides


class Clock:
    """The engine's clock, set by who writes."""

    def __init__(self) -> None:
        self.at = NOW

    def __call__(self) -> int:
        return round(self.at.timestamp() * SECOND_NS)


def fill(engine: Engine, clock: Clock, corpus: Judged, seed: int, liking: str = PAGES) -> None:
    """Put everything at its time, the oldest first, with the favourites that were drawn."""
    liked = favourites(corpus, seed, liking)
    for made in sorted(corpus.engrams, key=lambda made: made.at):
        clock.at = made.at
        engine.put(SCOPE, Draft(made.kind, made.slug, made.source(made.path in liked)))
    for number, (at, path) in enumerate(opened(corpus, seed)):
        clock.at = at
        kind, _, slug = path.partition("/")
        entry = engine.lookup(SCOPE, kind, slug)
        assert entry is not None, path
        engine.reading.note(SCOPE, "read", [entry], f"reader {number}")
    clock.at = NOW


def favourites(corpus: Judged, seed: int, liking: str) -> frozenset[str]:
    """Paths of what is marked: some of the standing pages and a few others (PAGES), or some of what
    the askers of past questions opened (OPENED)."""
    draw = random.Random(f"favourites {seed}")
    if liking == OPENED:
        return frozenset(path for _, path in opened(corpus, seed) if draw.random() < MARKED)
    in_order = sorted(corpus.engrams, key=lambda made: made.at)
    return frozenset(
        made.path for made in in_order if draw.random() < FAVOURITES[0 if made.standing else 1]
    )


def opened(corpus: Judged, seed: int) -> list[tuple[datetime, str]]:
    """What the askers of past questions opened in the last two months, by time."""
    draw = random.Random(f"opened {seed}")
    found: list[tuple[datetime, str]] = []
    for question in corpus.past:
        at = NOW - timedelta(days=draw.uniform(0.1, 60))
        paths = [
            p for p, grade in question.relevant.items() if grade > 1 and draw.random() < ANSWERED
        ]
        if draw.random() < ASTRAY:
            paths.append(draw.choice(corpus.engrams).path)
        found += [(at, path) for path in paths]
    return sorted(found)


def when(draw: random.Random, at: datetime) -> tuple[str, datetime, datetime]:
    """A way to say when something was, and the interval that is meant by it (half open)."""
    today = NOW.replace(hour=0)
    monday = today - timedelta(days=today.weekday())
    first = today.replace(day=1)
    before = (first - timedelta(days=1)).replace(day=1)
    month = at.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    after = (month + timedelta(days=32)).replace(day=1)
    name = MONTHS[at.month - 1]
    ways = [(f"in {name} {at.year}", month, after)]
    if at.year == NOW.year and at.month < NOW.month:
        ways.append((f"in {name}", month, after))
    for said, start, end in (
        ("last week", monday - timedelta(days=7), monday),
        ("last month", before, first),
        ("yesterday", today - timedelta(days=1), today),
    ):
        if start <= at < end:
            ways += [(said, start, end)] * 3
    return draw.choice(ways)


def few(number: int, share: float) -> int:
    """A share of a number, 3 at least."""
    return max(round(number * share), 3)


def asked(families: Sequence[Callable[[], Question]], each: int) -> tuple[Question, ...]:
    """`each` different questions a family, or as many as it has."""
    found: list[Question] = []
    for family in families:
        texts: dict[str, Question] = {}
        for _ in range(TRIES * each):
            question = family()
            texts.setdefault(question.text, question)
            if len(texts) == each:
                break
        found += texts.values()
    return tuple(found)


def popular(draw: random.Random, things: Sequence[object]) -> int:
    """The number of one of the things; the first ones are asked for more often (Zipf)."""
    return draw.choices(range(len(things)), [1 / (rank + 1) for rank in range(len(things))])[0]
