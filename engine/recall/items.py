"""One ranked engram -> one item of the answer, by the request's `detail`.

What an item holds depends on the engram, the question and the detail only, never on the budget: so
the items at a budget are a prefix of those at a larger one, with the same texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from engine.config import Config
from engine.evidence import Parts
from engine.model import NOWHERE, Entry, Passage, PropertyValue, Relation
from engine.passages import Shift, body_of, passages_of
from engine.ranking import Ranked
from engine.reader import Row

SUMMARY_CHARACTERS = 2_000  # of a summary shown; one that is longer is a body in the wrong place
CHARACTERS_A_TOKEN = 64


@dataclass(frozen=True, slots=True)
class Item:
    """An engram as the answer shows it. `best` are its passages, best first."""

    entry: Entry
    path: str | None
    title: str
    summary: str
    status: str
    source_role: str
    score: float
    channels: Mapping[str, int]
    properties: Mapping[str, PropertyValue]
    body: str | None = None
    passages: tuple[Passage, ...] = ()
    tokens: int = 0
    relation: Relation | None = None  # None: a search found it
    via: str = ""  # what the engram before it is called, if there is a relation
    spare: tuple[Passage, ...] = field(default=(), repr=False)  # what it can be reduced to

    @property
    def name(self) -> str:
        """What it is called in the answer: its path, or its id outside the tree."""
        return self.path if self.path is not None else self.entry.id

    @property
    def characters(self) -> int:
        """Code points of its text: path, title, summary, body, passages."""
        texts = [self.path or "", self.title, self.summary, self.body or ""]
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
    """The item of one engram. `parts` are its evidence, `moved` is the shift of its shown file."""
    role = row.properties.get("source_role")
    item = Item(
        entry=ranked.entry,
        path=path,
        title=row.title,
        summary=_cut(row.summary),
        status="superseded" if row.properties.get("superseded_by") else "live",
        source_role=role if isinstance(role, str) else "user",
        score=ranked.score,
        channels=ranked.channels,
        properties=dict(row.properties),
    )
    best = _best_passages(parts, row, moved, config)
    if detail == "summary":
        return item
    unwritten = tuple(passage for passage in best if passage.span == NOWHERE)
    beside = in_order(_within(unwritten, config.passages_tokens, count))  # no body shows these
    whole = replace(item, passages=beside, spare=best)
    if detail == "full":
        return replace(whole, body=body_of(row))
    if detail == "auto":
        body = body_of(row)
        # No text has so many characters a token: a book is not counted to learn that it is long.
        short = len(body) <= config.whole_engram_tokens * CHARACTERS_A_TOKEN
        if short and count(body) <= config.whole_engram_tokens:
            return replace(whole, body=body)
    kept = _within(best, config.passages_tokens, count)
    return replace(item, passages=in_order(kept), spare=kept)


def _cut(summary: str) -> str:
    if len(summary) <= SUMMARY_CHARACTERS:
        return summary
    return f"{summary[: SUMMARY_CHARACTERS - 1]}…"


def in_order(passages: tuple[Passage, ...]) -> tuple[Passage, ...]:
    """In the order of the document, the host's behind."""
    return tuple(sorted(passages, key=lambda passage: passage.position))


def reductions(item: Item) -> list[Item]:
    """Smaller forms of a first item that does not fit, largest first: its best passages."""
    best = item.spare
    shapes = [best[:most] for most in range(len(best), 0, -1)]
    shapes += [(passage,) for passage in best[1:]]
    bare = replace(item, body=None, summary="", properties={}, spare=())
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
