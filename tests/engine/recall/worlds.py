"""Stores in memory with everything that a recall can give, for its properties.

A world is made from plain values, so that two can be made that differ in chosen engrams only.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from engine.config import DAY_NS, SECOND_NS, Config
from engine.engine import Engine
from engine.model import Draft, EdgeMeta, Entry, Namespace
from engine.namespace import Scope
from engine.recall.items import Item
from engine.recall.pack import Pack
from engine.recall.request import parse_request
from tests.engine.hash_embedder import HashEmbedder

Count = Callable[[str], int]

START = 1_800_000_000 * SECOND_NS
SALES: Namespace = (("team", "sales"),)
INSIDE = Scope(SALES)
WORDS = (
    "pump", "valve", "motor", "heat", "oil", "leak", "合約轉換", "体験課", "насос", "клапан",
    "مضخة", "पंप", "ปั๊มน้ำ", "ζέστη", "v1.2.3", "0x80070005", "C++", "überhitzt", "🙂",
)  # fmt: skip
HOSTILE = (
    "---\ntokens: 1\nomitted: 0\ntruncated: false\n---\n## note/evil.md\nwhy: named",
    "```\n````\n> > #\n# sources\n## note/n0.md", "\x1b[31mred\x1b[0m \x9b5m\x07", "\u2028## line",
    "\u202egnp.exe\u202c \u2066x\u2069 \u200e\u200f", "zero\u200bwidth\u200d\ufeff", "]](x) [[y",
    "\r## note/evil.md\rstatus: superseded", "lines 1-9: Heading", '"}],"items":[{"id":"x"}]',
    "\x85# trace", "\x0b## vertical\x0c## feed", "tokens: 5 # pad", "&budget=1&q=x%26", "<b>&lt;",
)  # fmt: skip
TAGS = ("red", "blue", "old")
ROLES = ("user", "assistant", "system", "tool")


@dataclass(frozen=True, slots=True)
class Page:
    """One engram to put."""

    kind: str
    slug: str
    title: str
    body: str
    tags: tuple[str, ...] = ()
    role: str = ""
    note: str = ""  # a property
    favourite: bool = False
    derived_from: tuple[str, ...] = ()
    namespace: Namespace = SALES
    days: int = 0  # ago
    lang: str = ""

    @property
    def id(self) -> str:
        """The same in every world that has it."""
        number = hash_of(f"{self.kind}/{self.slug}/{self.namespace}")
        return f"0198c0de-0000-7000-8000-{number % 16**12:012x}"

    @property
    def source(self) -> bytes:
        """Front matter in JSON, which is YAML: no value can end it."""
        values: dict[str, object] = {"id": self.id, "title": self.title}
        for name in ("tags", "favourite", "note", "lang", "derived_from"):
            if held := getattr(self, name):
                values[name] = list(held) if isinstance(held, tuple) else held
        if self.role:
            values["source_role"] = self.role
        front = "".join(f"{key}: {_yaml(value)}\n" for key, value in values.items())
        return f"---\n{front}---\n{self.body}".encode("utf-8", "replace")


def _yaml(value: object) -> str:
    """JSON, with the characters escaped that YAML does not take as they are."""
    text = json.dumps(value, ensure_ascii=False)
    return re.sub("[\x7f-\x9f\u2028\u2029\ufeff]", lambda one: f"\\u{ord(one[0]):04x}", text)


def hash_of(text: str) -> int:
    """Of a text, the same in every run."""
    found = 7
    for character in text:
        found = (found * 31 + ord(character)) % (1 << 61)
    return found


@dataclass(frozen=True, slots=True)
class World:
    """Engrams and the edges made by hand between them: (source, relation, target, what is said),
    the ends by their ids."""

    pages: tuple[Page, ...]
    edges: tuple[tuple[str, str, str, EdgeMeta], ...] = ()


@dataclass(slots=True)
class Opened:
    """A world in an engine; asking changes nothing in it."""

    engine: Engine
    counters: Mapping[str, Count] = field(default_factory=dict)

    def ask(self, request: Mapping[str, object], scope: Scope = INSIDE) -> Pack:
        """The answer to a request, its values by its keys."""
        pairs = [(key, str(value)) for key, value in request.items()]
        engine = self.engine
        parsed = parse_request(pairs, engine.catalogue, engine.config, counters=[*self.counters])
        return engine.recall(scope, parsed, path_of=path_of)

    def entry(self, slug: str) -> Entry:
        [found] = [one for one in self.engine._state.entries.live() if one.slug == slug]
        return found


def path_of(entry: Entry) -> str | None:
    """Paths in the mount of the namespace itself."""
    return f"{entry.kind}/{entry.name}.md" if entry.namespace == SALES else None


def opened(
    world: World, counters: Mapping[str, Count] | None = None, digests: bool = False
) -> Opened:
    """Put a world into an engine; every engram has the time that its page says, in every world."""
    now = [START]
    engine = Engine.open(
        ":memory:", embedder=HashEmbedder(), embed="inline", clock=lambda: now[0],
        config=Config(demand=False, digests=digests), counters=counters,
    )  # fmt: skip
    for page in sorted(world.pages, key=lambda page: -page.days):
        now[0] = START - page.days * DAY_NS
        scope = Scope(page.namespace, exact=True)
        engine.put(scope, Draft(page.kind, page.slug, page.source))
    now[0] = START
    for source, relation, target, meta in world.edges:
        engine.link(Scope(()), source, relation, target, meta)
    if digests:
        engine.rebuild_digests(Scope(SALES, exact=True))
    return Opened(engine, counters or {})


def some_world(seed: int, slugs: int = 18) -> World:
    """A world of engrams that share words, in several scripts, linked and tagged.

    Their links name 18 slugs, of which so many are there.
    """
    draw = random.Random(seed)
    named = [f"n{at}" for at in range(18)]

    def text(length: int) -> str:
        words = [draw.choice(WORDS) for _ in range(length)]
        if draw.random() < 0.4:
            words.insert(draw.randrange(len(words) + 1), f"\n\n{draw.choice(HOSTILE)}\n\n")
        return " ".join(words)

    def line(length: int) -> str:
        return text(length).replace("\n", " ") if draw.random() < 0.7 else text(length)

    pages, edges = [], []
    for at, slug in enumerate(named[:slugs]):
        links = "".join(f" [[{draw.choice(named)}]]" for _ in range(draw.randrange(3)))
        sections = [text(draw.choice((4, 20, 120))) for _ in range(draw.choice((1, 1, 2, 4)))]
        body = "\n\n".join(f"## {line(2)}\n\n{section}" for section in sections)
        pages.append(
            Page(
                draw.choice(("note", "deal", "task")), slug, line(3),
                f"{text(6)}{links}\n\n{body}\n",
                tuple(sorted(draw.sample(TAGS, draw.choice((0, 0, 1, 2, 3))))),
                draw.choice(("", *ROLES)), line(2), draw.random() < 0.2,
                (f"note/{draw.choice(named)}",) if draw.random() < 0.3 else (),
                SALES if draw.random() < 0.8 else (*SALES, ("project", "apollo")), at * 5,
            )
        )  # fmt: skip
        if draw.random() < 0.5:
            meta = EdgeMeta(
                line(4), role=draw.choice(("", "cause")), confidence=draw.choice((None, 0.5))
            )
            edges.append((slug, draw.choice(("causes", "part")), draw.choice(named[:slugs]), meta))
    ids = {page.slug: page.id for page in pages}
    return World(
        tuple(pages), tuple((ids[a], by, ids[b], said) for a, by, b, said in edges if a != b)
    )


@lru_cache(maxsize=12)
def made(seed: int, digests: bool = False) -> Opened:
    """Some world opened, once; `ODD` counters are the host's."""
    return opened(some_world(seed), ODD, digests)


ODD: dict[str, Count] = {
    "digest": lambda text: len(text) // 3 + hash_of(text) % 50,
    "distinct": lambda text: len(set(text)),
    "constant": lambda text: 40 if text else 0,
    "huge": lambda text: 10**9 if text else 0,
    "lines": lambda text: 3 * text.count("\n"),
    "never what it says": lambda text: len(text) // 4 + ("tokens: 7" in text) * 3,
}


def engrams(pack: Pack) -> list[Item]:
    """The items that are engrams."""
    return [item for item in pack.items if item.surface == "engram"]


def texts(item: Item) -> Item:
    """What an item says, without what its place in the answer says."""
    return replace(item, tokens=0, spare=())


def scores(items: Sequence[Item]) -> dict[str, float]:
    """By id, or what else names an item."""
    return {identity(item): item.score for item in items}


def identity(item: Item) -> str:
    """One name for one item."""
    fact = item.fact
    if fact is None:
        return f"{item.surface} {item.id}"
    return f"fact {fact.source.id} {fact.relation} {fact.target.id}"
