"""Ranked engrams as hits: read from the store as they are now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

import numpy as np

from engine.entries import is_live
from engine.evidence import Parts
from engine.model import Entry, Hit, Passage
from engine.namespace import Scope
from engine.passages import passages_of, shift, snippet
from engine.ranking import Ranking
from engine.reader import Reader, Row
from engine.result_sets import ResultSet


class Found(Protocol):
    """A hit of a page, an item of a recall, what an expansion reached."""

    @property
    def entry(self) -> Entry: ...


class Scored(Found, Protocol):
    """A hit of a page, or an item of a recall."""

    @property
    def score(self) -> float: ...


S = TypeVar("S", bound=Scored)


def sort_objects(found: Iterable[S]) -> list[S]:
    """Hits in the order of every ranking: score, then the newer, then the smaller id."""
    return sorted(found, key=lambda one: (-one.score, -one.entry.updated_ns, one.entry.id))


def landing_ids(found: Iterable[Found]) -> tuple[str, ...]:
    """Ids of the engrams to expand from, in the order of the hits, each once.

    A part is found as evidence of its engram, so the engram is where it lands.
    """
    return tuple(dict.fromkeys(one.entry.id for one in found))


def result_set(scope: Scope, ranking: Ranking, words: Sequence[str] = ()) -> ResultSet:
    """The engrams of a ranking as a set; `words`, folded, are what snippets stand around."""
    entry = ranking.columns.entry
    return ResultSet(
        scope,
        ranking.total,
        ranking.numbers,
        np.array([entry(no).seq for no in ranking.numbers.tolist()], np.int64),
        ranking.scores,
        ranking.channels,
        ranking.evidence_of(ranking.numbers),
        words=tuple(words),
    )


def still_there(reader: Reader, found: ResultSet, places: Iterable[int]) -> dict[int, Entry]:
    """The engrams at some places of a set, by place, but for what was deleted or left the scope."""
    present = {at: reader.entries.get(int(found.numbers[at])) for at in places}
    return {
        at: entry
        for at, entry in present.items()
        if entry is not None and is_live(entry) and found.scope.sees(entry)
    }


def hits_in(
    reader: Reader, found: ResultSet, places: Sequence[int], *, most: int | None, shown: bool
) -> dict[int, Hit]:
    """The hits at some places of a set, by place; their passages cut to `most` characters.

    What is deleted, has left the scope or cannot be read is left out. A hit that changed since it
    was found has no evidence: the parts that were found may not be there any more.
    """
    seen = still_there(reader, found, places)
    rows = reader.hydrate(list({entry.no: entry for entry in seen.values()}.values()))
    hits = {}
    for at, entry in seen.items():
        if entry.no not in rows:
            continue
        row = rows[entry.no]
        parts = found.evidence.of(at) if entry.seq == found.seqs[at] else ()
        hits[at] = Hit(
            entry,
            float(found.scores[at]),
            {name: int(ranks[at]) for name, ranks in found.ranks.items() if ranks[at]},
            _passages(entry, row, parts, found.words, most, shown),
            row.summary,
            dict(row.properties),
            "superseded" if row.properties.get("superseded_by") else "live",
            found.relations[at] if found.relations else None,
        )
    return hits


def _passages(
    entry: Entry, row: Row, parts: Parts, words: Sequence[str], most: int | None, shown: bool
) -> tuple[Passage, ...]:
    passages = passages_of(row, parts, shift(entry, row, shown=shown))
    if most is None:
        return passages
    return tuple(replace(passage, text=snippet(passage.text, words, most)) for passage in passages)
