"""Chunks: raw passages of all that was ranked, before the budget cuts.

    for chunk in chunks(reader, ranking, path_of, rows): …

The best parts of the ranking's engrams, best part first; of equal ones that of the better engram,
then the earlier one. Each is given verbatim and whole, with its heading path and span, once. It is
told by `chunk.entry.no` and `chunk.passage.position`, so that one which an item shows already can
be left out; `passage.score` is the part's own, in 0..1. Rows are read in batches as they are asked
for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from engine.model import Entry, Passage
from engine.passages import passages_of, shift
from engine.ranking import Ranking
from engine.reader import Row

BATCH = 16  # chunks whose rows are read at once


@dataclass(frozen=True, slots=True)
class Chunk:
    """One part of an engram as it stands there. `path` is None outside the tree."""

    entry: Entry
    path: str | None
    passage: Passage

    @property
    def id(self) -> str:
        """The engram's."""
        return self.entry.id


def chunks(
    ranking: Ranking,
    path_of: Callable[[Entry], str | None],
    rows: Callable[[Sequence[Entry]], Mapping[int, Row]],
    *,
    shown: bool = True,
) -> Iterator[Chunk]:
    """The chunks of a ranking, lazily. `rows` reads engrams, as `Reader.hydrate` does.

    Blank parts, heads (which are front matter), engrams that cannot be read and those that a name
    alone found (a browse has none but these) give no chunk. `shown` says whether spans are those of
    the file with its id line.
    """
    entries = {one.entry.no: one.entry for one in ranking.ranked}
    evidence = ranking.evidence(list(entries.values()))
    found = [
        (-score, place, position, entries[no])
        for place, no in enumerate(entries)
        for position, score in evidence.get(no, ())
        if position > 0
    ]
    found.sort(key=lambda each: each[:3])
    for first in range(0, len(found), BATCH):
        batch = found[first : first + BATCH]
        held = rows(list(dict.fromkeys(each[3] for each in batch)))
        for score, _, position, entry in batch:
            row = held.get(entry.no)
            if row is None:
                continue
            moved = shift(entry, row, shown=shown)
            for passage in passages_of(row, [(position, -score)], moved):
                yield Chunk(entry, path_of(entry), passage)
