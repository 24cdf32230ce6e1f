"""The edges that have a note, by the words of the note and by the engrams they hang on.

A commit does not touch this index: the background brings it up to date after an opening and after
a fold, and so does whoever asks before that. A text is taken apart once, however many edges say it
and however often the edges are folded; the words are kept as they stand, and stemmed in a language
when a question in that language comes. What changed since the last fold is looked at edge by edge:
that is bounded by what a fold waits for.

Measured at 1,000,000 edges with as many different notes of six words, on a busy machine: 15 s after
an opening, 1.2 s after a fold, 11 to 18 ms a question. Edges without a note cost nothing.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.edges import Edges, Unfolded
from engine.fusion import ROUNDING, Floats, Longs, Mask
from engine.query import Group
from engine.store.edges import EdgeColumns, EdgeRow
from engine.text import terms_of, tokens

_TIES = 1_000  # edges that say as much as the last one asked for, and are given too
_FEW = 64  # edges that are quicker looked at one by one
_SPARE_TEXTS = 1_024  # that no edge has any more, and that are not worth making all anew


class Ends(NamedTuple):
    """Who may stand at the ends of an edge: masks over engrams, by number.

    An edge may lead to a deleted engram that a copy is to succeed, but never from one. `either`:
    one of the ends at least is among these.
    """

    source: Mask
    target: Mask
    either: Mask

    def of(self, source: NDArray[np.int32], target: NDArray[np.int32]) -> Mask:
        """Of each edge: may both its ends stand there?"""
        both = _in(self.source, source) & _in(self.target, target) & (source != target)
        found: Mask = both & (_in(self.either, source) | _in(self.either, target))
        return found

    def admit(self, source: int, target: int) -> bool:
        """May an edge have these ends?"""
        return (
            source != target
            and _has(self.source, source)
            and _has(self.target, target)
            and (_has(self.either, source) or _has(self.either, target))
        )

    def only(self, rows: Iterable[EdgeRow]) -> Iterator[EdgeRow]:
        """Those of some edges that have such ends."""
        return (row for row in rows if self.admit(row.source, row.target))


class Said(NamedTuple):
    """An edge whose note has words of a question: `share` of its distinct terms, in (0, 1]."""

    row: EdgeRow
    share: float


@dataclass(frozen=True, slots=True)
class _Folded:
    """The noted edges of some columns: their places, in the order of their sources, with ends and
    numbers of their texts; and the same in the order of targets, and of texts."""

    words: _Words  # by which the texts are numbered
    columns: EdgeColumns
    places: Longs
    source: NDArray[np.int32]
    target: NDArray[np.int32]
    text: NDArray[np.int32]
    by_target: Longs
    sorted_target: NDArray[np.int32]
    by_text: Longs
    sorted_text: NDArray[np.int32]


class Notes:
    """The noted edges of one store. Any thread may ask."""

    def __init__(self, edges: Edges) -> None:
        self._edges = edges
        self._lock = threading.Lock()
        self._folded: _Folded | None = None

    @property
    def outdated(self) -> bool:
        """Were the edges folded since this index was made?"""
        folded = self._folded
        return folded is None or folded.columns is not self._edges.columns

    def refresh(self) -> None:
        """Bring the index up to date, so that no question has to wait for it."""
        self._now()

    def at(self, numbers: Sequence[int], ends: Ends, most: int) -> Iterator[tuple[int, EdgeRow]]:
        """(engram, edge) for the noted edges at each of some engrams, in their order: those out of
        it and then those into it, `most` of each."""
        now, folded = self._now()
        wanted = np.array(numbers, np.int32)
        changed = _array(now.changed)
        starts = np.searchsorted(folded.source, wanted, side="left")
        stops = np.searchsorted(folded.source, wanted, side="right")
        into = np.searchsorted(folded.sorted_target, wanted, side="left")
        into_stops = np.searchsorted(folded.sorted_target, wanted, side="right")
        fresh_out, fresh_into = _by_end(now, set(numbers))
        for at, no in enumerate(numbers):
            out: Iterator[EdgeRow] = iter(fresh_out.get(no, ()))
            if starts[at] < stops[at] and no not in fresh_out:
                out = _rows(folded, np.arange(starts[at], stops[at]), ends, changed)
            yield from ((no, row) for row in islice(ends.only(out), most))
            back: list[EdgeRow] = fresh_into.get(no, [])
            if into[at] < into_stops[at]:
                held = folded.by_target[into[at] : into_stops[at]]
                back = [*islice(_rows(folded, held, ends, changed), most), *back]
                back.sort(key=lambda row: row.source)
            yield from ((no, row) for row in islice(ends.only(back), most))

    def saying(
        self, groups: Sequence[Group], langs: Sequence[str], ends: Ends, most: int
    ) -> list[Said]:
        """The `most` edges whose note has the greatest share of a question's terms, weighted by the
        edge's confidence, and up to 1,000 more that tie with the last of them: the older first.
        `groups` are those of `query_terms` in these languages."""
        if not groups:
            return []
        now, folded = self._now()
        with self._lock:
            counts = folded.words.counts(groups, langs)
        held = _of_texts(folded, np.flatnonzero(counts))
        held = held[ends.of(folded.source[held], folded.target[held])]
        held = held[~np.isin(folded.source[held], _array(now.changed))]
        share = counts[folded.text[held]] / len(groups)
        score = np.round(share * _sure(folded.columns.confidence[folded.places[held]]), ROUNDING)
        first = np.lexsort((held, -score))[: most + _TIES]
        found = [
            (Said(folded.columns.row(int(folded.places[at])), float(part)), float(weighed))
            for at, part, weighed in zip(held[first], share[first], score[first], strict=True)
        ]
        for rows in now.noted.values():
            for row in rows:
                part = folded.words.count(row.note, counts) / len(groups)
                if part and ends.admit(row.source, row.target):
                    sure = 1.0 if row.confidence is None else row.confidence
                    found.append((Said(row, part), round(part * sure, ROUNDING)))
        found.sort(key=lambda one: (-one[1], one[0].row.source))
        least = found[most - 1][1] if len(found) >= most else 0.0
        return [said for said, weighed in found[: most + _TIES] if weighed >= least]

    def shares(
        self, groups: Sequence[Group], langs: Sequence[str], notes: Iterable[str]
    ) -> dict[str, float]:
        """What these notes have of a question's distinct terms, as `saying` counts it."""
        if not groups:
            return {}
        _, folded = self._now()
        with self._lock:
            counts = folded.words.counts(groups, langs)
        return {note: folded.words.count(note, counts) / len(groups) for note in set(notes)}

    def _now(self) -> tuple[Unfolded, _Folded]:
        """What is there, with the texts of all of it known."""
        with self._lock:
            now = self._edges.unfolded_notes()
            folded = self._folded
            if folded is None or folded.columns is not now.columns:
                words = folded.words if folded is not None else _Words()
                folded = self._folded = _fold(words, now.columns)
            for rows in now.noted.values():
                for row in rows:
                    folded.words.number(row.note)
            return now, folded


class _Words:
    """Texts by their words. A text keeps its number; words are stemmed when that is asked for."""

    def __init__(self) -> None:
        self._texts: dict[str, int] = {}
        self._holders: dict[str, array[int]] = {}  # word -> numbers of texts, ascending
        self._stemmed: dict[str, dict[str, list[str]]] = {}  # language -> term -> words
        self._known: dict[str, int] = {}  # language -> how many words are stemmed in it

    def __len__(self) -> int:
        return len(self._texts)

    def number(self, text: str) -> int:
        """The number of a text, a new one if it was not seen before."""
        found = self._texts.get(text)
        if found is None:
            found = self._texts[text] = len(self._texts)
            for word in set(tokens(text)):
                held = self._holders.get(word)
                if held is None:
                    self._holders[word] = array("i", (found,))
                else:
                    held.append(found)
        return found

    def counts(self, groups: Sequence[Group], langs: Sequence[str]) -> NDArray[np.int32]:
        """Of each text by its number, how many of the groups it has a term of."""
        counts = np.zeros(len(self._texts), np.int32)
        stemmed = [self._in(lang) for lang in langs]
        for group in groups:
            words = {word for term in group for by in stemmed for word in by.get(term, ())}
            holders = [np.array(self._holders[word], np.int32) for word in words]
            if holders:
                counts[np.unique(np.concatenate(holders))] += 1
        return counts

    def count(self, text: str, counts: NDArray[np.int32]) -> int:
        """The count of one text; 0 for one that came after these were taken."""
        number = self._texts.get(text, len(counts))
        return int(counts[number]) if number < len(counts) else 0

    def _in(self, lang: str) -> dict[str, list[str]]:
        stemmed, terms = self._stemmed.setdefault(lang, {}), terms_of(lang)
        for word in islice(self._holders, self._known.get(lang, 0), None):
            for term in terms[word]:
                stemmed.setdefault(term, []).append(word)
        self._known[lang] = len(self._holders)
        return stemmed


def _fold(words: _Words, columns: EdgeColumns) -> _Folded:
    places = np.flatnonzero((columns.note != "").astype(bool) & (columns.target >= 0))
    notes = columns.note[places].tolist()
    text = np.fromiter(map(words.number, notes), np.int32, len(notes))
    if len(words) > 2 * int(np.count_nonzero(np.bincount(text))) + _SPARE_TEXTS:
        words = _Words()
        text = np.fromiter(map(words.number, notes), np.int32, len(notes))
    source, target = columns.source[places], columns.target[places]
    by_target = np.argsort(target, kind="stable")
    by_text = np.argsort(text, kind="stable")
    return _Folded(
        words, columns, places.astype(np.int64), source, target, text,
        by_target, target[by_target], by_text, text[by_text],
    )  # fmt: skip


def _by_end(
    now: Unfolded, numbers: set[int]
) -> tuple[dict[int, list[EdgeRow]], dict[int, list[EdgeRow]]]:
    """The noted edges that changed since the last fold, by source and by target."""
    out: dict[int, list[EdgeRow]] = {no: [] for no in numbers.intersection(now.changed)}
    into: dict[int, list[EdgeRow]] = {}
    for source, rows in now.noted.items():
        if source in numbers:
            out[source] = list(rows)
        for row in rows:
            if row.target in numbers:
                into.setdefault(row.target, []).append(row)
    return out, into


def _rows(
    folded: _Folded, held: Longs, ends: Ends, changed: NDArray[np.int32]
) -> Iterator[EdgeRow]:
    """The edges at some places of the folded ones, but those that changed since; of many only
    those that have such ends, because few of a hub's may."""
    if len(held) <= _FEW:
        rows = (folded.columns.row(int(folded.places[at])) for at in held)
        return (row for row in rows if not _sorted_has(changed, row.source))
    stays = ends.of(folded.source[held], folded.target[held])
    stays &= ~np.isin(folded.source[held], changed)
    return (folded.columns.row(int(folded.places[at])) for at in held[stays])


def _of_texts(folded: _Folded, texts: Longs) -> Longs:
    """Which of the folded edges say one of some texts."""
    starts = np.searchsorted(folded.sorted_text, texts, side="left")
    lengths = np.searchsorted(folded.sorted_text, texts, side="right") - starts
    runs = np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
    found: Longs = folded.by_text[runs + np.arange(len(runs))]
    return found


def _in(mask: Mask, numbers: NDArray[np.int32]) -> Mask:
    """Of each number, whether the mask has it; what came after the mask was made is not in it."""
    if not len(mask):
        return np.zeros(len(numbers), np.bool_)
    known: Mask = mask[np.clip(numbers, 0, len(mask) - 1)]
    return known & (numbers >= 0) & (numbers < len(mask))


def _sorted_has(numbers: NDArray[np.int32], number: int) -> bool:
    at = int(np.searchsorted(numbers, np.int32(number)))
    return at < len(numbers) and int(numbers[at]) == number


def _has(mask: Mask, number: int) -> bool:
    return 0 <= number < len(mask) and bool(mask[number])


def _sure(confidence: Floats) -> Floats:
    return np.where(np.isnan(confidence), 1.0, confidence)


def _array(numbers: Collection[int]) -> NDArray[np.int32]:
    return np.sort(np.fromiter(numbers, np.int32, len(numbers)))
