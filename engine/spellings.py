"""Other spellings of a question's words: what holds a word, and what is a slip of the keys away.

They are looked for among terms and among titles and slugs as wholes, never in the text. What may be
one is decided by its letters, and whether it is one by the documents in scope: a term that stands
in none of them is as if it did not exist.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from engine.errors import shown
from engine.fusion import ROUNDING, Floats, Ints, Longs, Mask
from engine.query import Group
from engine.snapshot import Snapshot
from engine.stop_words import stop_words
from engine.tail import Postings
from engine.trigrams import Trigrams
from engine.vocabulary import LONGEST_NAME, Names, Vocabulary, name

MOST_WORDS = 32  # of a question whose spellings are looked for
MOST_SPELLINGS = 24  # of one word: the nearest ones in scope
# What the best spelling counts beside the word itself: so little that neither its place, its age, a
# favourite nor the parts beside it bring it before a document that has the word
SHARE = 0.4
_STANDING = 0.75  # of what a word counts: that it stands there; the rest is how often it does
_FIRST = MOST_SPELLINGS + 1  # fetched at once, those of all words together …
_MORE = 4  # … and so many times as many when too few of them were in scope
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Spelled:
    """What words and their spellings found: float64[documents]; 0 where none stands.

    `terms` are the spellings that stand in the scope.
    """

    scores: Floats
    terms: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Form:
    """One way to write a word: the visible documents that have it, how often, what it counts."""

    rows: Ints
    counts: Ints
    likeness: float | Floats


def slips(word: str) -> int:
    """How many edits make a misspelling: 1 from four characters on, 2 from eight; 0 with a digit.

    A number that is nearly another one is not a slip.
    """
    if len(word) < 4 or _DIGIT.search(word):
        return 0
    return 1 if len(word) < 8 else 2


def candidates(among: Trigrams, words: Iterable[str]) -> tuple[Longs, Floats]:
    """(numbers int64[n], likeness float64[n] in 0..1) of the spellings of a word among strings.

    `words` are the word as written and its stems. A string that holds one of three characters or
    more is like it by the share of its characters that this is; a string within `slips` by
    1 - edits / characters of the longer one. The best counts.
    """
    numbers: list[Longs] = [np.zeros(0, np.int64)]
    likeness: list[Floats] = [np.zeros(0, np.float64)]
    for word in dict.fromkeys(words):
        found = among.holding(word)
        numbers.append(found)
        likeness.append(len(word) / among.lengths(found))
        if slips(word):
            found, edits = among.near(word, slips(word))
            numbers.append(found)
            likeness.append(1.0 - edits / np.maximum(among.lengths(found), len(word)))
    several, values = np.concatenate(numbers), np.concatenate(likeness)
    order = np.lexsort((-values, several))
    several, values = several[order], values[order]
    first = np.ones(len(several), dtype=bool)
    first[1:] = several[1:] != several[:-1]
    return several[first], values[first]


def spelled(
    vocabulary: Vocabulary,
    snapshot: Snapshot,
    words: Sequence[tuple[str, Group]],
    text: str,
    langs: Sequence[str],
    visible: Mask,
    counted: Mask,
) -> Spelled:
    """Score documents by how well the words, and how many of them, stand in them.

    `words` are a query's `free` ones, `text` the question without its operators, which is looked
    for in names as a whole too. Stop words of `langs` are no spelling of another word. A document's
    score is the sum over the words of
        idf * likeness * (3/4 + 1/4 * tf / (tf + k1 (1 - b + b len / avg)))
    with the likeness 1 of the word's own terms and `SHARE` of `candidates` of a spelling, the best
    of them, and the idf of `engine.bm25` over the documents that have any of them.
    """
    if not words or not visible.any():
        return Spelled(np.zeros(snapshot.rows, np.float64))
    stops = frozenset[str]().union(*(stop_words(lang) for lang in langs))
    scene = _Scene(
        snapshot, vocabulary.terms(snapshot), vocabulary.names(), stops, visible, counted
    )
    looked_for = [(plain, group, scene.like(plain, group)) for plain, group in words[:MOST_WORDS]]
    scene.fetch(
        term
        for _, group, like in looked_for
        for term in (*group, *(text for _, text in like[:_FIRST]))
    )
    total = np.zeros(snapshot.rows, np.float64)
    for plain, group, like in looked_for:
        total += scene.score([*scene.own(group), *scene.terms(plain, like), *scene.names(plain)])
    whole = name(text) if len(text) <= LONGEST_NAME else ""
    if [whole] != [plain for plain, _ in words]:
        total += scene.score(scene.names(whole))
    warnings = []
    if scene.crowded:
        warnings.append(
            f"more than {MOST_SPELLINGS} words are like {', '.join(scene.crowded)}: the nearest "
            "were looked for; write more of it"
        )
    if len(words) > MOST_WORDS:
        warnings.append(f"other spellings were looked for of the first {MOST_WORDS} words")
    scores: Floats = np.where(counted, np.round(total, ROUNDING), 0.0)
    return Spelled(scores, tuple(dict.fromkeys(scene.kept)), tuple(warnings))


class _Scene:
    """What one question looks at, and the spellings that it kept."""

    def __init__(
        self,
        snapshot: Snapshot,
        terms: Trigrams,
        names: Names,
        stops: Collection[str],
        visible: Mask,
        counted: Mask,
    ) -> None:
        self._snapshot, self._terms, self._names = snapshot, terms, names
        self._stops = stops
        self._visible, self._counted = visible, counted
        self._documents = int(np.count_nonzero(visible))
        lengths = snapshot.doc_length
        self._average = int(lengths.sum(where=visible, dtype=np.int64)) / self._documents
        self._held: dict[str, Postings] = {}
        self._heads: Longs | None = None  # engram -> row of its head, -1: not counted
        self.kept: list[str] = []
        self.crowded: list[str] = []  # words with more spellings in scope than are kept

    def like(self, plain: str, group: Group) -> list[tuple[float, str]]:
        """(- likeness, term) of a word's other spellings, in scope or not, the nearest first."""
        numbers, likeness = candidates(self._terms, (plain, *group))
        strings = [self._terms.strings[no] for no in numbers.tolist()]
        return sorted(
            (-like, text)
            for like, text in zip(likeness.tolist(), strings, strict=True)
            if text not in group and text not in self._stops
        )

    def fetch(self, terms: Iterable[str]) -> None:
        """Have the postings of some terms."""
        self._held |= self._snapshot.postings_of(t for t in terms if t not in self._held)

    def own(self, group: Group) -> list[_Form]:
        """The terms that the word itself is."""
        return [form for term in group if len((form := self._form(term, 1.0)).rows)]

    def terms(self, plain: str, like: Sequence[tuple[float, str]]) -> list[_Form]:
        """The nearest of a word's other spellings that are terms of a visible document."""
        kept: list[tuple[str, _Form]] = []
        at, size = 0, _FIRST
        while at < len(like) and len(kept) <= MOST_SPELLINGS:
            batch = like[at : at + size]
            self.fetch(text for _, text in batch)
            forms = ((text, self._form(text, -SHARE * less)) for less, text in batch)
            kept += [(text, form) for text, form in forms if len(form.rows)]
            at, size = at + size, size * _MORE
        if len(kept) > MOST_SPELLINGS:
            self.crowded.append(shown(plain))
        self.kept += [text for text, _ in kept[:MOST_SPELLINGS]]
        return [form for _, form in kept[:MOST_SPELLINGS]]

    def names(self, plain: str) -> list[_Form]:
        """Titles and slugs that are other spellings: the heads of the engrams called so."""
        numbers, likeness = candidates(self._names.strings, [plain])
        if not len(numbers):
            return []
        current, engrams = self._names.current(numbers)
        likeness = likeness[np.searchsorted(numbers, current)]
        heads = self._head_of(engrams)
        there = heads >= 0
        rows = heads[there].astype(np.int32)
        return [_Form(rows, np.ones(len(rows), np.int32), SHARE * likeness[there])]

    def score(self, forms: Sequence[_Form]) -> Floats:
        """float64[documents] of one word in these forms."""
        best = np.zeros(self._snapshot.rows, np.float64)
        k1, b = self._snapshot.k1, self._snapshot.b
        for form in forms:
            lengths = self._snapshot.doc_length[form.rows]
            often = form.counts / (form.counts + k1 * (1 - b + b * lengths / self._average))
            value = form.likeness * (_STANDING + (1 - _STANDING) * often)
            np.maximum.at(best, form.rows, value)  # title and slug are two of one row
        having = int(np.count_nonzero(best))
        return best * math.log10((self._documents - having + 0.5) / (having + 0.5) + 1)

    def _form(self, term: str, likeness: float) -> _Form:
        rows, counts = self._held[term]
        seen = self._visible[rows]
        return _Form(rows[seen], counts[seen], likeness)

    def _head_of(self, engrams: Longs) -> Longs:
        if self._heads is None:
            owners = self._snapshot.doc_engram
            heads = np.flatnonzero(self._counted & (self._snapshot.doc_position == 0))
            self._heads = np.full(int(owners.max(initial=-1)) + 1, -1, np.int64)
            self._heads[owners[heads]] = heads
        known = engrams < len(self._heads)
        return np.where(known, self._heads[np.where(known, engrams, 0)], -1)
