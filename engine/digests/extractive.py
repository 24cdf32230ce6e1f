"""The summariser that is built in: the sentences that say most of what the others say.

Nothing is embedded and nothing invented: passages are compared by the vectors that the store has,
sentences by their words, and every line is a sentence as somebody wrote it, under the name of its
engram. A sentence is worth its likeness to the middle of all texts, by words (centroid-based
summarisation, Radev et al. 2004) and by the vector of its passage, times how central its engram is
in the graph. What says the same as one chosen already is worth less (maximal marginal relevance,
Carbonell and Goldstein 1998).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from engine.digests.sentences import LONGEST, open_fences, sentences
from engine.errors import SummariserFailed
from engine.ports import Text
from engine.stop_words import every_stop_word
from engine.text import tokens as words_of
from engine.tokens import counter

Floats = NDArray[np.float64]
Words = frozenset[str]

_PASSAGES = 200  # most central ones whose sentences are compared; of an engram …
_PASSAGES_EACH = 3  # … so many, so that a long one does not speak for all
_LEAST_WORDS = 3  # of a sentence, stop words not counted
_RELEVANCE = 0.7  # share of the worth in MMR; the rest is newness
_SAME = 0.8  # likeness from which two sentences are one, said twice
_SHORT = 120  # characters; a longer sentence takes the room of others
_LEAD = 1.1  # the first sentence of an engram is likelier to say what it is about
_APART = "\n\n"  # between sentences out of a passage, so that none is read as one with the next
_MISSES = 8  # sentences in a row that do not fit before it is full


@dataclass(frozen=True, slots=True)
class _Said:
    """A sentence that could be in the digest."""

    text: str
    words: Words
    name: str  # of its engram
    at: int  # which of the texts
    line: tuple[int, int]  # order within it
    passage: int  # of all texts; -1: none, it is out of the digest of a group
    near: float  # how near its passage is to the middle of all, 0 to 1
    central: float  # its engram in the graph, and its place in it


class Extractive:
    """`engine.ports.Summariser`: the most central sentences, as written."""

    fingerprint = "extractive-2"  # another number whenever the same texts give another digest

    def __init__(self, count: Callable[[str], int] | None = None) -> None:
        """`count` counts tokens; None: as o200k does, which is recall's default."""
        self._count = count or counter("o200k")

    def summarise(self, texts: Sequence[Text], tokens: int) -> str:
        """Sentences under the name of their engram, in the order of the texts:

            note/acme
            - Acme makes pumps.

        SummariserFailed where not even one sentence has room.
        """
        passages = _Passages(texts, _centrality(texts))
        said = _candidates(texts, passages)
        chosen = _chosen(said, passages.vectors, lambda some: self._count(written(some)) <= tokens)
        if not chosen:
            raise SummariserFailed(
                f"not one of {len(said)} sentences fits within {tokens} tokens",
                "give digests more tokens, or the engrams a text",
            )
        return written(chosen)

    def stop(self) -> None:
        """It ends by itself within a moment."""


def written(said: Iterable[_Said]) -> str:
    """Sentences as the text of a digest; those of an engram stand together."""
    lines: list[str] = []
    for name, some in groupby(said, key=lambda each: each.name):
        lines += [" ".join(name.split()), *(f"- {each.text}" for each in some)]
    return "\n".join(lines)


def read_back(text: str) -> list[tuple[str, str]]:
    """(name, sentence) of a text that `written` made; [] of any other."""
    found: list[tuple[str, str]] = []
    name = ""
    for line in text.split("\n"):
        if line.startswith("- ") and name:
            found.append((name, line[2:]))
        elif line.startswith("- ") or not line:
            return []
        else:
            name = line
    return found


def excerpt(text: Text, characters: int) -> list[tuple[int, str]]:
    """(passage, sentences of it) of what a long text says most centrally, in its order and within
    so many characters; [] where no sentence fits.

    It is the same choice as among the sentences of many texts: those nearest to the middle of all.
    """
    passages = _Passages([text], [1.0], each=_PASSAGES)
    chosen = _chosen(
        _best(_said(text, 0, passages)),
        passages.vectors,
        lambda some: sum(len(each.text) + len(_APART) for each in some) <= characters,
    )
    by_passage = groupby(chosen, key=lambda each: each.passage)
    return [(at, _APART.join(each.text for each in some)) for at, some in by_passage]


# -- what could be said ----------------------------------------------------------


def _candidates(texts: Sequence[Text], passages: _Passages) -> list[_Said]:
    """Sentences of the passages worth reading; only the good ones, where there are any."""
    said = [each for at, text in enumerate(texts) for each in _said(text, at, passages)]
    if not said:  # nothing but titles
        titles = ((at, text, text.title or text.name) for at, text in enumerate(texts))
        said = [
            _Said(
                title, _words(title), text.name or title, at, (0, 0), -1, 1.0, passages.central[at]
            )
            for at, text, title in titles
            if title
        ]
    return _best(said)


def _best(said: list[_Said]) -> list[_Said]:
    return [each for each in said if _good(each)] or said


def _good(said: _Said) -> bool:
    return (
        len(said.words) >= _LEAST_WORDS
        and len(said.text) <= LONGEST
        and not said.text[0].islower()  # a piece of one
        and said.text[-1] not in ":\uff1a"  # it only says that something comes
    )


def _said(text: Text, at: int, passages: _Passages) -> list[_Said]:
    """What one text says in the passages worth reading; of a group what its digest says."""
    central = passages.central[at]
    near = passages.near(at)
    if text.engram < 0:
        lines = [line for passage in text.passages for line in read_back(passage)]
        passage = passages.first[at]
        if lines:
            return [
                _Said(line, _words(line), name, at, (0, order), passage, near.get(0, 1.0), central)
                for order, (name, line) in enumerate(lines)
            ]
    name = text.name or text.title
    found: list[_Said] = []
    for own, fence in enumerate(open_fences(text.passages)):
        if own not in near:
            continue
        of, written = passages.first[at] + own, text.passages[own]
        for line, sentence in sentences(f"{fence}\n{written}" if fence else written):
            place = central if found else central * _LEAD
            words = _words(sentence)
            found.append(_Said(sentence, words, name, at, (own, line), of, near[own], place))
    return found


class _Passages:
    """The passages of all texts, and which of them are worth reading.

    `first` is the number of each text's first one, `vectors` a row for each, or None; `central`
    how central each text is.
    """

    def __init__(
        self, texts: Sequence[Text], central: Sequence[float], each: int = _PASSAGES_EACH
    ) -> None:
        counts = [len(text.passages) for text in texts]
        owner = np.repeat(np.arange(len(texts)), counts)
        self.first: list[int] = [0, *np.cumsum(counts).tolist()]
        self.central = central
        self.vectors = _vectors(texts)
        near = _nearness(texts, owner, self.vectors)
        worth = near * np.array(central)[owner]
        self._near: dict[int, dict[int, float]] = {}
        left = _PASSAGES
        for row in np.argsort(-worth, kind="stable").tolist():
            of = int(owner[row])
            read = self._near.setdefault(of, {})
            if left and len(read) < each:
                read[row - self.first[of]] = float(near[row])
                left -= 1

    def near(self, at: int) -> Mapping[int, float]:
        """How near the passages of text `at` that are worth reading are to the middle of all."""
        return self._near.get(at, {})


def _vectors(texts: Sequence[Text]) -> NDArray[np.float32] | None:
    """float32[passages, dimension]; zeroes where there is none. None: too few have one."""
    known = [text.vectors for text in texts if text.vectors is not None and len(text.passages)]
    if not known:
        return None
    dimension = known[0].shape[1]
    rows = [
        np.zeros((len(text.passages), dimension), np.float32)
        if text.vectors is None
        else text.vectors
        for text in texts
        if text.passages
    ]
    found = np.concatenate(rows)
    return found if np.count_nonzero(found.any(axis=1)) * 2 >= len(found) else None


def _nearness(
    texts: Sequence[Text], owner: NDArray[np.int64], vectors: NDArray[np.float32] | None
) -> Floats:
    """float64[passages], 1 for the one that is most like the middle of all; each engram counts
    alike, however long it is."""
    if not len(owner):
        return np.zeros(0)
    if vectors is None:
        words = [_words(passage) for text in texts for passage in text.passages]
        return _scaled(_likeness(words, owner.tolist()))
    share = 1.0 / np.bincount(owner)[owner]
    middle = (vectors * share[:, None]).sum(axis=0)
    alike = (vectors @ middle).astype(np.float64)
    known = vectors.any(axis=1)
    alike[~known] = alike[known].mean()  # not embedded yet: as good as any
    return _scaled(np.maximum(alike, 0.0))


def _centrality(texts: Sequence[Text]) -> list[float]:
    """0.5 to 1.5 by the weight of each text in the graph; 1 for what weighs as much as the mean."""
    mean = sum(text.weight for text in texts) / len(texts) if texts else 1.0
    return [0.5 + text.weight / (text.weight + mean) if mean > 0 else 1.0 for text in texts]


def _scaled(scores: Floats) -> Floats:
    most = scores.max(initial=0.0)
    return scores / most if most > 0.0 else np.ones(len(scores))


# -- likeness by words -------------------------------------------------------------


def _words(text: str) -> Words:
    """The words of a text, without those that say nothing in some language."""
    return frozenset(words_of(text)) - every_stop_word()


def _likeness(words: Sequence[Words], owner: Sequence[int]) -> Floats:
    """float64[texts]: the cosine of each to the middle of all, where a word weighs as many engrams
    as have it (those of one engram nothing, unless there is only one)."""
    per_owner: dict[int, set[str]] = {}
    for of, some in zip(owner, words, strict=True):
        per_owner.setdefault(of, set()).update(some)
    weight = Counter(word for some in per_owner.values() for word in some)
    if len(per_owner) > 1:
        weight -= Counter(dict.fromkeys(weight, 1))
    length = float(np.sqrt(sum(float(n) ** 2 for n in weight.values()))) or 1.0
    return np.array(
        [
            sum(weight[word] for word in some) / (length * np.sqrt(len(some))) if some else 0.0
            for some in words
        ]
    )


# -- the choice -----------------------------------------------------------------------


def _chosen(
    said: Sequence[_Said],
    vectors: NDArray[np.float32] | None,
    fits: Callable[[list[_Said]], bool],
) -> list[_Said]:
    """The sentences of most marginal relevance that fit together, in the order of the texts."""
    lexical = _scaled(_likeness([each.words for each in said], [each.at for each in said]))
    near = np.array([each.near for each in said])
    central = np.array([each.central for each in said])
    short = np.minimum(1.0, _SHORT / np.array([max(len(each.text), 1) for each in said]))
    relevance = _scaled((near + lexical) / 2 * central * np.sqrt(short))
    alike = _Alike(said, vectors)
    told, left = np.zeros(len(said)), np.ones(len(said), bool)
    chosen: list[_Said] = []
    missed = 0
    while left.any() and missed < _MISSES:
        worth = _RELEVANCE * relevance - (1 - _RELEVANCE) * told
        best = int(np.argmax(np.where(left, worth, -np.inf)))
        left[best] = False
        wider = sorted([*chosen, said[best]], key=lambda each: (each.at, each.line))
        if not fits(wider):
            missed += 1
            continue
        chosen, missed = wider, 0
        words, meaning = alike.to(best)
        told = np.maximum(told, (words + meaning) / 2)
        left &= words < _SAME
    return chosen


class _Alike:
    """How like sentences are to one of them."""

    def __init__(self, said: Sequence[_Said], vectors: NDArray[np.float32] | None) -> None:
        self._said = said
        self._length = np.sqrt([max(len(each.words), 1) for each in said])
        self._passage = np.array([each.passage for each in said], np.int64)
        self._vectors = vectors
        having: dict[str, list[int]] = {}
        for at, each in enumerate(said):
            for word in each.words:
                having.setdefault(word, []).append(at)
        self._having = having

    def to(self, at: int) -> tuple[Floats, Floats]:
        """float64[sentences] each: cosines by words, and by the vectors of their passages; the
        words again where there is no vector."""
        words = np.zeros(len(self._said))
        for word in self._said[at].words:
            words[self._having[word]] += 1.0
        words /= self._length * self._length[at]
        passage = int(self._passage[at])
        if self._vectors is None or passage < 0:
            return words, words
        cosines = self._vectors @ self._vectors[passage]
        meaning = np.where(self._passage >= 0, cosines[self._passage], words)
        return words, np.maximum(meaning, 0.0)
