"""What can be an item of the answer, in order, and the items made of it as they are asked for.

Digests first; then engrams by their place in the ranking, with facts between them by score: a fact
stands behind the engrams that score as much, and never before one that the question names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from engine.graph_channel import Reached
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
AsShown = Callable[[Entry], Entry | None]
Candidate = Digest | Ranked | Fact

TOKENS_AN_ITEM = 256  # about what most have: so many rows of them are read at first …
MOST_ROWS = 64  # … and twice as many each time after, up to this
DIGESTS = ".digests"  # the directory that they are read from


@dataclass(frozen=True, slots=True)
class Asked:
    """What one recall works with. `rows` reads engrams as the answer shows them."""

    reader: Reader
    scope: Scope
    request: RecallRequest
    path_of: PathOf
    count: Callable[[str], int]
    shown: bool
    seconds: float | None
    rows: Rows


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


def names_of(asked: Asked, candidates: Sequence[Candidate]) -> list[str]:
    """What candidates are called where they are left out."""
    as_shown = _as_shown(asked, [one.source for one in candidates if isinstance(one, Fact)])

    def name(candidate: Candidate) -> str:
        match candidate:
            case Digest():
                return f"{DIGESTS}/{candidate.name}.md"
            case Fact():
                return _called(asked, candidate.source, as_shown)
            case Ranked():
                return asked.path_of(candidate.entry) or candidate.entry.id

    return [name(one) for one in candidates]


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
        as_shown = _as_shown(asked, _named(asked, ranking, entries, told, sources))
        for one in batch:
            match one:
                case Digest():
                    yield digest_item(one, f"{DIGESTS}/{one.name}.md")
                case Fact():
                    fact = next(facts)
                    source = as_shown(fact.source)
                    path = None if source is None else asked.path_of(source)
                    yield fact_item(fact, path, _called(asked, fact.target, as_shown))
                case Ranked():
                    row = rows.get(one.entry.no)
                    parts = evidence.get(one.entry.no, ())
                    own = sources.get(one.entry.no, ())
                    if row is None:
                        yield None
                        continue
                    item = _engram(asked, one, row, parts)
                    item = _reached(asked, item, ranking.reached.get(one.entry.no), one, as_shown)
                    yield _sourced(asked, item, own, as_shown)


def _sources(asked: Asked, entries: Sequence[Entry]) -> Mapping[int, tuple[str, ...]]:
    """What those are derived from, by id, that come with their sources."""
    every = asked.request.sources  # None: those of consolidated kinds
    if every is False:
        return {}
    asking = [one for one in entries if every or consolidated(asked.reader, one)]
    if not asking:
        return {}
    return source_ids(asked.reader, asked.scope, asking, at_ns=asked.request.as_of_ns)


# -- engrams that an item names beside its own -------------------------------------------
def _named(
    asked: Asked,
    ranking: Ranking,
    entries: Sequence[Entry],
    facts: Sequence[Fact],
    sources: Mapping[int, tuple[str, ...]],
) -> list[Entry]:
    """The ends of facts, what led to these engrams, and what they are derived from."""
    steps = (ranking.reached.get(entry.no) for entry in entries)
    found = [asked.reader.entries.get(step.source) for step in steps if step is not None]
    found += [asked.reader.entries.by_id(id) for ids in sources.values() for id in ids]
    found += [end for fact in facts for end in (fact.source, fact.target)]
    return [entry for entry in found if entry is not None]


def _as_shown(asked: Asked, entries: Sequence[Entry]) -> AsShown:
    """Those engrams as they are, or as they were; None: not there at that time."""
    at_ns = asked.request.as_of_ns
    if at_ns is None:
        return lambda entry: entry
    then = asked.reader.hydrate_at(asked.scope, entries, at_ns).entries
    return lambda entry: then.get(entry.no)


def _called(asked: Asked, entry: Entry, as_shown: AsShown) -> str:
    """Its path where the answer shows it, else its id."""
    shown = as_shown(entry)
    return (None if shown is None else asked.path_of(shown)) or entry.id


def _sourced(asked: Asked, item: Item, ids: tuple[str, ...], as_shown: AsShown) -> Item:
    entries = ((id, asked.reader.entries.by_id(id)) for id in ids)
    names = (id if entry is None else _called(asked, entry, as_shown) for id, entry in entries)
    return replace(item, source_ids=ids, source_names=tuple(names))


def _reached(
    asked: Asked, item: Item, step: Reached | None, one: Ranked, as_shown: AsShown
) -> Item:
    """The item with the edge that led to it, if that is there at the time that is shown."""
    before = asked.reader.entries.get(step.source) if step is not None else None
    if step is None or before is None:  # erased meanwhile
        return item
    if as_shown(before) is None or not _stood(asked, step, one.entry.no):
        return item
    relation = Relation(step.relation, step.outward, before.id, step.hop)
    return replace(item, relation=relation, via=_called(asked, before, as_shown))


def _stood(asked: Asked, step: Reached, no: int) -> bool:
    """Was an edge there, as it is now, at the time that is asked for?"""
    at_ns = asked.request.as_of_ns
    if at_ns is None:
        return True
    ends = (step.source, no) if step.outward else (no, step.source)
    rows = asked.reader.edges.between(*ends)
    return any(row.relation == step.relation and row.updated_ns <= at_ns for row in rows)


def _engram(asked: Asked, one: Ranked, row: Row, parts: tuple[tuple[int, float], ...]) -> Item:
    moved = shift(one.entry, row, shown=asked.shown)
    return make_item(
        one, row, parts, asked.path_of(one.entry), detail_of(asked.request), moved,
        asked.reader.config, asked.count,
    )  # fmt: skip
