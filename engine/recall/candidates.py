"""What can be an item of the answer, in order, and the items made of it as they are asked for.

Digests first; then engrams by their place in the ranking, with facts between them by score: a fact
stands behind the engrams that score as much, and never before one that the question names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from engine.model import Digest, Entry, Relation
from engine.namespace import Scope
from engine.passages import shift
from engine.ranking import Ranked, Ranking
from engine.reader import Reader, Row
from engine.recall.facts import Fact
from engine.recall.items import Item, digest_item, fact_item, make_item
from engine.recall.keys import SURFACES
from engine.recall.quotes import quoted
from engine.recall.request import RecallRequest
from engine.recall.sources import consolidated, source_ids

PathOf = Callable[[Entry], str | None]
Rows = Callable[[Sequence[Entry]], Mapping[int, Row]]
Candidate = Digest | Ranked | Fact

TOKENS_AN_ITEM = 256  # about what most have: so many rows of them are read at first …
MOST_ROWS = 64  # … and twice as many each time after, up to this
DIGESTS = ".digests"  # the directory that they are read from


@dataclass(frozen=True, slots=True)
class Asked:
    """What one recall works with. `rows` reads engrams as the answer shows them, `kinds` are those
    that the asker may hear of; None: all."""

    reader: Reader
    scope: Scope
    request: RecallRequest
    path_of: PathOf
    count: Callable[[str], int]
    shown: bool
    seconds: float | None
    rows: Rows
    kinds: Collection[str] | None = None

    def may_hear(self, entry: Entry) -> bool:
        """May the answer name this engram?"""
        return self.kinds is None or entry.kind in self.kinds


def in_order(
    digests: Sequence[Digest], ranked: Sequence[Ranked], facts: Sequence[Fact], most: int
) -> list[Candidate]:
    """The `most` first candidates; engrams and facts come each in their own order."""
    found: list[Candidate] = list(digests)
    waiting = list(reversed(facts))
    for engram in ranked:
        while waiting and not engram.named and waiting[-1].score > engram.score:
            found.append(waiting.pop())
        found.append(engram)
    found += reversed(waiting)
    return found[:most]


def name_of(candidate: Candidate, path_of: PathOf) -> str:
    """What a candidate is called where it is left out."""
    match candidate:
        case Digest():
            return f"{DIGESTS}/{candidate.name}.md"
        case Fact():
            return path_of(candidate.source) or candidate.source.id
        case Ranked():
            return path_of(candidate.entry) or candidate.entry.id


def detail_of(request: RecallRequest) -> str:
    """The detail that the surfaces allow: without passages engrams are whole or a summary, and
    passages alone are parts."""
    wanted = {name for name in SURFACES[:2] if name in request.surfaces}
    if wanted == {"passages"}:
        return "parts"
    if wanted == {"engrams"} and request.detail in ("auto", "parts"):
        return "whole"
    return request.detail


def items(asked: Asked, ranking: Ranking, candidates: Sequence[Candidate]) -> Iterator[Item | None]:
    """The items in order, their rows read in batches as they are asked for; None: it is gone."""
    first, step = 0, min(max(asked.request.budget // TOKENS_AN_ITEM, 4), MOST_ROWS)
    while first < len(candidates):
        batch = candidates[first : first + step]
        first, step = first + step, min(2 * step, MOST_ROWS)
        entries = [one.entry for one in batch if isinstance(one, Ranked)]
        rows, evidence = asked.rows(entries), ranking.evidence(entries)
        told = [one for one in batch if isinstance(one, Fact)]
        at_ns = asked.request.as_of_ns
        facts = iter(quoted(asked.reader, asked.scope, told, shown=asked.shown, at_ns=at_ns))
        sources = _sources(asked, entries)
        for one in batch:
            match one:
                case Digest():
                    yield digest_item(one, f"{DIGESTS}/{one.name}.md")
                case Fact():
                    fact = next(facts)
                    target = asked.path_of(fact.target) or fact.target.id
                    yield fact_item(fact, asked.path_of(fact.source), target)
                case Ranked():
                    row = rows.get(one.entry.no)
                    parts = evidence.get(one.entry.no, ())
                    item = None if row is None else _engram(asked, ranking, one, row, parts)
                    own = sources.get(one.entry.no, ())
                    yield item if item is None or not own else _sourced(asked, item, own)


def _sources(asked: Asked, entries: Sequence[Entry]) -> Mapping[int, tuple[str, ...]]:
    """What those are derived from, by id, that come with their sources."""
    every = asked.request.sources
    asking = [one for one in entries if every or consolidated(asked.reader, one)]
    if not asking:
        return {}
    return source_ids(
        asked.reader, asked.scope, asking, at_ns=asked.request.as_of_ns, told=asked.may_hear
    )


def _sourced(asked: Asked, item: Item, ids: tuple[str, ...]) -> Item:
    entries = ((id, asked.reader.entries.by_id(id)) for id in ids)
    names = (id if entry is None else asked.path_of(entry) or id for id, entry in entries)
    return replace(item, source_ids=ids, source_names=tuple(names))


def _engram(
    asked: Asked,
    ranking: Ranking,
    one: Ranked,
    row: Row,
    parts: tuple[tuple[int, float], ...],
) -> Item:
    moved = shift(one.entry, row.source or b"", shown=asked.shown)
    item = make_item(
        one, row, parts, asked.path_of(one.entry), detail_of(asked.request), moved,
        asked.reader.config, asked.count,
    )  # fmt: skip
    reached = ranking.reached.get(one.entry.no)
    before = asked.reader.entries.get(reached.source) if reached is not None else None
    if reached is None or before is None or not asked.may_hear(before):  # None: erased meanwhile
        return item
    relation = Relation(reached.relation, reached.outward, before.id, reached.hop)
    return replace(item, relation=relation, via=asked.path_of(before) or before.id)
