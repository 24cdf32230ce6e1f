"""Facts: edges that answer a question, each an item of its own.

    found = facts(reader, mask, question, ranking, most, bare=False)

An edge is a fact when one of its ends is ranked, or when its note has words of the question.

    hanging on a ranked end:  0.9 * min(1, score of the better end) * confidence
    by its note alone:        share * min(1, best score of all) * confidence

A confidence that is not set counts 1; `share` is how many of the question's distinct analysed terms
stand in the note, of all. What a question names is ranked above 1; an end counts 1 at most, so that
a fact never stands before the better of its ends, nor the facts of what is named before everything
else. Scores are those before any filter, which only takes facts out. A fact by its note alone may
tie with the best engram; where nothing is ranked the best score counts 1. The first rule is the
design's.

Both ends are live, in scope and not superseded, and one of them at least passes the filters. Two
edges of one relation between the same engrams are one fact: the one with a note, if there is any.
Work is bounded: 64 edges into and out of a ranked engram, in the ranking's order and only until no
later one can be among the `most` best; notes by an index (`engine.notes`).

`quoted` (engine.recall.quotes) adds the text that says so, for the facts that are shown.
"""

from __future__ import annotations

import logging
from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from engine.entries import is_live
from engine.fusion import ROUNDING, Mask, fitted
from engine.graph_channel import unreadable
from engine.masks import Masks
from engine.model import Entry, Passage
from engine.notes import Ends
from engine.query import Group, query_terms
from engine.ranking import Ranking
from engine.reader import Reader
from engine.store.edges import EdgeRow
from engine.walk import MOST as AN_ENGRAM  # edges read of one engram, each way

log = logging.getLogger(__name__)

OF_AN_END = 0.9  # of the better end's score

_Key = tuple[int, str, int]  # source, relation, target: two edges with the same are one fact


@dataclass(frozen=True, slots=True)
class Fact:
    """An edge as an item: `source` relation `target`, and what was said of it.

    `confidence` is None where none was given. `origin` is link (made by hand), body or field;
    `written` and `heading` are what the link's text names. `share` is what the note has of the
    question's terms. `quote` is the text that says so, and stands in `quote_of`: of a body or field
    link the lines that hold it, of an edge made by hand its evidence.
    """

    source: Entry
    target: Entry
    relation: str
    score: float
    note: str = ""
    status: str = ""
    role: str = ""
    confidence: float | None = None
    evidence_id: str = ""
    origin: str = "body"
    written: str = ""
    heading: str = ""
    share: float = 0.0
    quote: Passage | None = None
    quote_of: Entry | None = None


def facts(
    reader: Reader,
    mask: Masks,
    question: str,
    ranking: Ranking,
    most: int,
    *,
    bare: bool,
    at_ns: int | None = None,
) -> tuple[Fact, ...]:
    """The `most` best facts, without quotes: by score, share of the note, relation, ids of ends.

    `mask` is of the question's scope and filters (`engine.masks`), `ranking` what was found.
    `bare` False: only edges that carry a note. `at_ns`: only edges that are since then as they are
    now, between engrams that were made by then. Nothing for a browse, which asks no question.
    Raises GraphFailed, with the reason, for whatever keeps the edges from being read.
    """
    if most < 1 or not question.strip():
        return ()
    try:
        found = _found(reader, mask, question, ranking, most, bare=bare, at_ns=at_ns)
    except Exception as error:
        log.exception("the facts failed")
        raise unreadable(error) from error
    return tuple(sorted(found, key=_order)[:most])


def _found(
    reader: Reader,
    mask: Masks,
    question: str,
    ranking: Ranking,
    most: int,
    *,
    bare: bool,
    at_ns: int | None,
) -> Iterable[Fact]:
    look = _Look(reader, mask, ranking, at_ns)
    groups = query_terms(question, reader.languages(mask.covered))
    found: dict[_Key, Fact] = {}
    rows = [row for row, _ in look.saying(groups, most, ranked=True)]
    rows += look.hanging(most, bare=bare)
    look.share(groups, rows)
    for row in rows:
        look.add(found, row, look.by_end(row))
    best = min(1.0, float(ranking.before_filters.max(initial=0.0))) or 1.0
    for row, share in look.saying(groups, most, ranked=False):
        look.add(found, row, share * best * _sure(row))
    return found.values()


class _Look:
    """The edges that one question may see, and what they score."""

    def __init__(self, reader: Reader, mask: Masks, ranking: Ranking, at_ns: int | None) -> None:
        self._reader = reader
        self._at_ns = at_ns
        self._scores: dict[int, float] = {
            no: score
            for no, score in zip(ranking.numbers.tolist(), ranking.scores.tolist(), strict=True)
            if score > 0.0
        }
        self._heirs = {
            original: copy
            for original, copy, _ in reader.entries.awaiting()
            if reader.entries.successor(original) is not None
        }
        self._shares: dict[str, float] = {}  # by note
        self._shown = mask.covered & ~mask.hidden
        self._allowed = mask.allowed & self._shown
        self._ranked = np.zeros(len(self._shown), np.bool_)
        self._ranked[[no for no in self._scores if no < len(self._ranked)]] = True
        self._unfiltered = np.minimum(fitted(ranking.before_filters, len(self._shown)), 1.0)
        # Of the hits that a filter, the limit or a floor has taken out: they can be the better end.
        self._taken_out = float(np.where(self._ranked, 0.0, self._unfiltered).max(initial=0.0))

    def saying(
        self, groups: Sequence[Group], most: int, *, ranked: bool
    ) -> Iterator[tuple[EdgeRow, float]]:
        """(edge, share) for edges whose note has words of the question: those that hang on a
        ranked engram, or those that do not."""
        shown = self._shown if ranked else self._shown & ~self._ranked
        either = self._ranked if ranked else self._allowed
        ends = Ends(shown, self._and_before(shown), self._and_before(either))
        langs = self._reader.languages(self._shown)
        for said in self._reader.notes.saying(groups, langs, ends, most):
            self._shares[said.row.note] = said.share
            if self._stood(said.row):
                yield said.row, said.share

    def hanging(self, most: int, *, bare: bool) -> Iterator[EdgeRow]:
        """Edges at ranked engrams, best engram first, until `most` facts score above the rest."""
        scores: list[float] = []
        seen: set[_Key] = set()
        last = -1
        for no, row in self._at_ranked(bare=bare):
            if no != last:
                own = max(min(1.0, self._scores[no]), self._taken_out)
                last, bound = no, OF_AN_END * own
                if len(scores) - bisect_right(scores, bound) >= most:
                    return
            if not self._stood(row):
                continue
            key = self._key(row)
            if key not in seen:
                seen.add(key)
                insort(scores, self.by_end(row))
            yield row

    def _at_ranked(self, *, bare: bool) -> Iterator[tuple[int, EdgeRow]]:
        """(engram, edge); the edges to those that an engram is to succeed are its own."""
        notes, edges = self._reader.notes, self._reader.edges
        ends = Ends(self._shown, self._and_before(self._shown), self._and_before(self._ranked))
        best_first = sorted(self._scores, key=lambda no: (-self._scores[no], no))
        asked = [each for no in best_first for each in (no, *self._before(no))]
        if not bare:
            for no, row in notes.at(asked, ends, AN_ENGRAM):
                yield self._heir(no), row
            return
        for no in asked:
            for steps in (edges.steps_out(no), edges.steps_into(no)):
                rows = (step.row for step in steps if ends.admit(step.source, step.target))
                for row in islice(rows, AN_ENGRAM):
                    yield self._heir(no), row

    def _stood(self, row: EdgeRow) -> bool:
        """Was an edge there at the time that is asked for, as it is now?"""
        if self._at_ns is None:
            return True
        ends = (self._reader.entries.get(no) for no in (row.source, self._heir(row.target)))
        made = [end.created_ns for end in ends if end is not None]
        return max(row.updated_ns, *made) <= self._at_ns

    def share(self, groups: Sequence[Group], rows: Iterable[EdgeRow]) -> None:
        """Learn what the notes of some edges have of the question: only the best were told."""
        notes = {row.note for row in rows if row.note} - self._shares.keys()
        langs = self._reader.languages(self._shown)
        self._shares |= self._reader.notes.shares(groups, langs, notes) if notes else {}

    def by_end(self, row: EdgeRow) -> float:
        """What an edge scores that hangs on a ranked engram."""
        better = max(self._score(row.source), self._score(self._heir(row.target)))
        return round(OF_AN_END * better * _sure(row), ROUNDING)

    def _score(self, no: int) -> float:
        return float(self._unfiltered[no]) if no < len(self._unfiltered) else 0.0

    def add(self, found: dict[_Key, Fact], row: EdgeRow, score: float) -> None:
        """Put an edge among the facts: instead of one without a note, or of a lower score."""
        entries = self._reader.entries
        source, target = entries.get(row.source), entries.get(self._heir(row.target))
        if source is None or target is None or not (is_live(source) and is_live(target)):
            return  # deleted meanwhile
        fact = Fact(
            source, target, row.relation, round(score, ROUNDING), row.note, row.status, row.role,
            row.confidence, row.evidence_id, row.origin, row.written, row.heading,
            self._shares.get(row.note, 0.0),
        )  # fmt: skip
        before = found.get(self._key(row))
        if before is None or _worth(fact) > _worth(before):
            found[self._key(row)] = fact

    def _key(self, row: EdgeRow) -> _Key:
        return (row.source, row.relation, self._heir(row.target))

    def _heir(self, no: int) -> int:
        return self._heirs.get(no, no)

    def _before(self, no: int) -> list[int]:
        return [original for original, copy in self._heirs.items() if copy == no]

    def _and_before(self, mask: Mask) -> Mask:
        """With the deleted engrams that those of the mask are to succeed."""
        wider = fitted(mask, max([len(mask), *(no + 1 for no in self._heirs)])).copy()
        for original, copy in self._heirs.items():
            wider[original] = copy < len(mask) and mask[copy]
        return wider


def _sure(row: EdgeRow) -> float:
    return 1.0 if row.confidence is None else row.confidence


def _worth(fact: Fact) -> tuple[bool, float, float]:
    return (bool(fact.note), fact.score, fact.share)


def _order(fact: Fact) -> tuple[float, float, str, str, str]:
    return (-fact.score, -fact.share, fact.relation, fact.source.id, fact.target.id)
