"""Spellings against the formulas in their docstrings, worked out document by document."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.entries import Entries
from engine.index import NO_HASH, Documents, Index
from engine.spellings import MOST_SPELLINGS, MOST_WORDS, SHARE, candidates, slips, spelled
from engine.trigrams import Trigrams
from engine.vocabulary import Vocabulary
from tests.engine.test_trigrams import edits

WORDS = st.text(st.sampled_from("abcdé1"), min_size=1, max_size=10)


def likeness(term: str, words: Iterable[str]) -> float:
    """How like a term is to the nearest of some words; 0: it is no spelling of them."""
    found = [0.0]
    for word in words:
        if len(word) >= 3 and word in term:
            found.append(len(word) / len(term))
        digits = any(character.isdigit() for character in word)
        allowed = 0 if digits or len(word) < 4 else 1 if len(word) < 8 else 2
        distance = edits(word, term)
        if 0 < allowed >= distance:
            found.append(1 - distance / max(len(word), len(term)))
    return max(found)


@given(st.lists(WORDS, unique=True), st.lists(WORDS, min_size=1, max_size=3))
@example(["kubernetes", "kubernet"], ["kuberntes", "kubernt"])
@example(["0x80070005", "0x80070006"], ["0x8007", "0x80070005"])
@example(["abcd", "abdc", "dabc", "abc", "abcdd"], ["abcd"])
def test_candidates_are_those_of_the_definition(strings: list[str], words: list[str]) -> None:
    among = Trigrams()
    among.add(strings)
    numbers, values = candidates(among, words)
    expected = {string: likeness(string, words) for string in strings}
    found = {strings[no]: like for no, like in zip(numbers.tolist(), values.tolist(), strict=True)}
    assert found == pytest.approx({s: like for s, like in expected.items() if like > 0})
    assert len(numbers) == len(found)


@pytest.mark.parametrize(
    ("word", "most"),
    [("abc", 0), ("abcd", 1), ("abcdefg", 1), ("abcdefgh", 2), ("v1.2.3.4.5", 0), ("abcd٣fgh", 0)],
)
def test_slips_grow_with_the_word_and_numbers_have_none(word: str, most: int) -> None:
    assert slips(word) == most


Texts = list[list[str]]
TERMS = st.sampled_from(
    ["pump", "pumps", "heatpump", "pmup", "lamp", "kubernetes", "kubernets", "x"]
)


def expected_scores(texts: Texts, visible: list[bool], asked: list[str]) -> list[float]:
    """The formula, for each document by itself."""
    seen = [text for text, shown in zip(texts, visible, strict=True) if shown]
    average = sum(map(len, seen)) / len(seen)
    total = [0.0] * len(texts)
    for word in asked:
        best = [0.0] * len(texts)
        for at, text in enumerate(texts):
            for term in set(text) if visible[at] else ():
                like = 1.0 if term == word else SHARE * likeness(term, [word])
                tf = text.count(term)
                often = tf / (tf + 1.2 * (1 - 0.75 + 0.75 * len(text) / average))
                best[at] = max(best[at], like * (0.75 + 0.25 * often))
        having = sum(value > 0 for value in best)
        idf = math.log10((len(seen) - having + 0.5) / (having + 0.5) + 1)
        total = [sum_ + idf * value for sum_, value in zip(total, best, strict=True)]
    return total


@given(
    st.lists(st.tuples(st.lists(TERMS, min_size=1, max_size=6), st.booleans()), min_size=1),
    st.lists(TERMS, min_size=1, max_size=3, unique=True),
)
def test_scores_are_those_of_the_formula(
    documents: list[tuple[list[str], bool]], asked: list[str]
) -> None:
    texts, visible = [list(part) for part in zip(*documents, strict=True)]
    index = Index()
    for no, text in enumerate(texts):
        index.add_many([Documents(no, no, [len(text)], [NO_HASH], [text])])
    mask = np.array(visible)
    words = [(word, (word,)) for word in asked]
    found = spelled(Vocabulary(Entries()), index.snapshot(), words, " ", ("en",), mask, mask)
    if not any(visible):
        assert not found.scores.any()
        return
    assert found.scores.tolist() == pytest.approx(expected_scores(texts, visible, asked), abs=1e-8)
    own = {term for text, shown in documents if shown for term in text}
    assert set(found.terms) <= own


def test_the_nearest_spellings_in_scope_are_kept() -> None:
    index = Index()
    texts = [f"pump{'x' * n}" for n in range(3 * MOST_SPELLINGS)]
    for no, text in enumerate(reversed(texts)):
        index.add_many([Documents(no, no, [1], [NO_HASH], [[text]])])
    odd = np.array([len(text) % 2 == 1 for text in reversed(texts)])
    vocabulary = Vocabulary(Entries())
    found = spelled(vocabulary, index.snapshot(), [("pump", ("pump",))], "", (), odd, odd)
    assert list(found.terms) == [text for text in texts if len(text) % 2][:MOST_SPELLINGS]
    assert np.count_nonzero(found.scores) == MOST_SPELLINGS
    assert len(found.warnings) == 1


def test_of_a_long_question_the_first_words_are_looked_for() -> None:
    index = Index()
    index.add_many([Documents(0, 0, [1], [NO_HASH], [["lastword"]])])
    everything = np.ones(1, np.bool_)
    vocabulary = Vocabulary(Entries())
    for before, hits in ((MOST_WORDS - 1, 1), (MOST_WORDS, 0)):
        words = [(f"other{n}", (f"other{n}",)) for n in range(before)]
        words.append(("lastwrod", ("lastwrod",)))
        found = spelled(vocabulary, index.snapshot(), words, "", (), everything, everything)
        assert np.count_nonzero(found.scores) == hits
        assert bool(found.warnings) is not bool(hits)
