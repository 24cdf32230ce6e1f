"""One ranked engram, fact or digest -> one item of the answer, by the request's `detail`.

What an item holds depends on the engram, the question and the detail only, never on the budget: so
the items at a budget are a prefix of those at a larger one, with the same texts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate, takewhile

from engine.config import Config
from engine.evidence import Parts
from engine.model import NOWHERE, Digest, Entry, Passage, PropertyValue, Relation
from engine.passages import Shift, body_of, passages_of
from engine.ranking import Ranked
from engine.reader import Row
from engine.recall.facts import Fact
from engine.recall.lines import headed

SUMMARY_CHARACTERS = 2_000  # of a summary shown; one that is longer is a body in the wrong place
CHARACTERS_A_TOKEN = 64
PROPERTY_CHARACTERS = 240  # of the value of a property shown, and …
PROPERTIES_CHARACTERS = 2_000  # … of all of them, names included
NAME_CHARACTERS, MOST_CUT = 60, 20  # of the names of properties that are cut


@dataclass(frozen=True, slots=True)
class Item:
    """An engram as the answer shows it, or a fact or a digest (`surface`).

    A fact is headed by the engram that its edge leads from, and `target` is the other's path or id;
    a digest has no entry. `same_as` names the item before that has given the same text already.
    Where it shows the very lines of a fact's quote, `quoted_in` names it too; such a quote has its
    place, and no text.
    `source_ids` are what it is derived from, `source_names` their paths or ids.
    """

    id: str
    kind: str
    entry: Entry | None
    path: str | None
    title: str
    summary: str
    status: str
    source_role: str
    score: float
    channels: Mapping[str, int]
    properties: Mapping[str, PropertyValue]
    cut: tuple[str, ...] = ()  # properties that are not given whole
    body: str | None = None
    passages: tuple[Passage, ...] = ()
    tokens: int = 0
    relation: Relation | None = None  # None: a search found it
    via: str = ""  # what the engram before it is called, if there is a relation
    named: bool = False  # by the question
    surface: str = "engram"  # or "fact", "digest"
    fact: Fact | None = None
    target: str = ""
    same_as: str = ""
    quoted_in: str = ""
    source_ids: tuple[str, ...] = ()
    source_names: tuple[str, ...] = ()
    tagged: bool = False
    covers: int = 0  # engrams, of a digest
    spare: tuple[Passage, ...] = field(default=(), repr=False)  # what it can be reduced to

    @property
    def name(self) -> str:
        """What it is called in the answer: its path, or its id outside the tree."""
        return self.path if self.path is not None else self.id

    @property
    def characters(self) -> int:
        """Code points of its text: paths, title, summary, body, passages, note."""
        note = self.fact.note if self.fact is not None else ""
        texts = [self.path or "", self.title, self.summary, self.body or "", self.target, note]
        return sum(map(len, texts)) + sum(len(passage.text) for passage in self.passages)


def make_item(
    ranked: Ranked,
    row: Row,
    parts: Parts,
    path: str | None,
    detail: str,
    moved: Shift,
    config: Config,
    count: Callable[[str], int],
) -> Item:
    """The item of one engram. `parts` are its evidence, `moved` is the shift of its shown file.

    `detail` is a request's, or "whole": auto where passages are not wanted.
    """
    role = row.properties.get("source_role")
    properties, cut = short_properties(row.properties)
    item = Item(
        id=ranked.entry.id,
        kind=ranked.entry.kind,
        entry=ranked.entry,
        path=path,
        title=headed(row.title),
        summary=_cut(row.summary),
        status="superseded" if row.properties.get("superseded_by") else "live",
        source_role=role if isinstance(role, str) else "user",
        score=ranked.score,
        channels=ranked.channels,
        properties=properties,
        cut=cut,
        named=ranked.named,
        tagged=bool(row.properties.get("tags")),
    )
    best = _best_passages(parts, row, moved, config)
    if detail == "summary":
        return item
    unwritten = tuple(passage for passage in best if passage.span == NOWHERE)
    beside = in_order(_within(unwritten, config.passages_tokens, count))  # no body shows these
    whole = replace(item, passages=beside, spare=best)
    if detail == "full":
        return replace(whole, body=body_of(row))
    if detail in ("auto", "whole"):
        body = body_of(row)
        # No text has so many characters a token: a book is not counted to learn that it is long.
        short = len(body) <= config.whole_engram_tokens * CHARACTERS_A_TOKEN
        if short and count(body) <= config.whole_engram_tokens:
            return replace(whole, body=body)
        if detail == "whole":
            return item
    kept = _within(best, config.passages_tokens, count)
    return replace(item, passages=in_order(kept), spare=kept)


def fact_item(fact: Fact, path: str | None, target: str) -> Item:
    """The item of an edge, from the engram at `path` to the one called `target`."""
    return Item(
        id=fact.source.id,
        kind=fact.source.kind,
        entry=fact.source,
        path=path,
        title="",
        summary="",
        status="live",
        source_role=fact.role or "user",
        score=fact.score,
        channels={},
        properties={},
        passages=(fact.quote,) if fact.quote is not None else (),
        surface="fact",
        fact=fact,
        target=target,
    )


def digest_item(digest: Digest, path: str) -> Item:
    """The item of a digest."""
    return Item(
        id=digest.name,
        kind="digest",
        entry=None,
        path=path,
        title=digest.title,
        summary="",
        status="live",
        source_role="system",
        score=0.0,
        channels={},
        properties={},
        body=digest.text,
        surface="digest",
        covers=len(digest.members),
    )


def _cut(summary: str) -> str:
    if len(summary) <= SUMMARY_CHARACTERS:
        return summary
    return f"{summary[: SUMMARY_CHARACTERS - 1]}…"


def short_properties(
    properties: Mapping[str, PropertyValue],
) -> tuple[dict[str, PropertyValue], tuple[str, ...]]:
    """(properties as answers give them, the names of those that are not whole).

    A property that is a text in the wrong place would leave no room for any other engram: a text is
    given by its beginning, a list by its first values, and what is left out is named.
    """
    kept: dict[str, PropertyValue] = {}
    cut: list[str] = []
    left = PROPERTIES_CHARACTERS
    for name, value in properties.items():
        most = min(PROPERTY_CHARACTERS, left - len(name))
        short = _short(value, most)
        if short != value:
            cut.append(name if len(name) <= NAME_CHARACTERS else f"{name[: NAME_CHARACTERS - 1]}…")
        if short is None and value is not None:
            continue
        kept[name] = short
        left -= len(name) + _size(short)
    more = len(cut) > MOST_CUT
    return kept, (*cut[: MOST_CUT - more], *("…" for _ in range(more)))


def _short(value: PropertyValue, most: int) -> PropertyValue:
    """What of a value has so many characters; None for nothing of it."""
    if _size(value) <= most:
        return value
    if isinstance(value, str) and most > 1:
        return f"{value[: most - 1]}…"
    if isinstance(value, list):
        sums = accumulate(_size(one) + 2 for one in value)
        return value[: sum(1 for _ in takewhile(lambda used: used <= most, sums))] or None
    return None


def _size(value: object) -> int:
    """Characters of a value as it is written."""
    return len(value) if isinstance(value, str) else len(json.dumps(value, default=str))


def in_order(passages: tuple[Passage, ...]) -> tuple[Passage, ...]:
    """In the order of the document, the host's behind."""
    return tuple(sorted(passages, key=lambda passage: passage.position))


def reductions(item: Item) -> list[Item]:
    """Smaller forms of a first item that does not fit, largest first: its best passages."""
    best = item.spare
    shapes = [best[:most] for most in range(len(best), 0, -1)]
    shapes += [(passage,) for passage in best[1:]]
    cut = ("…",) if item.properties or item.cut else ()
    bare = replace(item, body=None, summary="", properties={}, cut=cut, spare=())
    return [replace(bare, passages=in_order(shape)) for shape in shapes]


def _best_passages(parts: Parts, row: Row, moved: Shift, config: Config) -> tuple[Passage, ...]:
    """Best first. Without evidence (a browse, a name) the beginning of the body."""
    chosen = parts or tuple(
        (position, 0.0) for position in range(1, min(config.passages + 1, len(row.parts or ())))
    )
    found = passages_of(row, chosen, moved)
    return tuple(sorted(found, key=lambda passage: -passage.score))[: config.passages]


def _within(
    best: tuple[Passage, ...], most: int, count: Callable[[str], int]
) -> tuple[Passage, ...]:
    """The best passages that have `most` tokens together; one that does not fit is passed over."""
    kept: list[Passage] = []
    used = 0
    for passage in best:
        tokens = count(passage.text)
        if used + tokens <= most:
            kept.append(passage)
            used += tokens
    return tuple(kept)
