"""Trigrams against the definitions in their docstrings, worked out string by string."""

from __future__ import annotations

import random
import threading

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine import trigrams
from engine.trigrams import Trigrams, distances

# Few letters, so that strings are near one another; a mark, NUL, a surrogate, one beyond the BMP.
LETTERS = st.sampled_from("aabbcß合é\u0301\0\ud800\U0001f600")
WORDS = st.text(LETTERS, max_size=9)
LISTS = st.lists(st.lists(WORDS, max_size=6), max_size=5)


def edits(a: str, b: str) -> int:
    """Optimal string alignment, cell by cell."""
    table = [[i + j for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            table[i][j] = min(
                table[i - 1][j] + 1,
                table[i][j - 1] + 1,
                table[i - 1][j - 1] + (a[i - 1] != b[j - 1]),
            )
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                table[i][j] = min(table[i][j], table[i - 2][j - 2] + 1)
    return table[-1][-1]


def filled(lists: list[list[str]]) -> Trigrams:
    made = Trigrams()
    for strings in lists:
        made.add(strings)
    return made


@given(LISTS, WORDS)
@example([["ab", "aab", "", "b"], ["ab"]], "ab")
def test_a_piece_is_found_where_it_stands(lists: list[list[str]], piece: str) -> None:
    made = filled(lists)
    strings = [string for some in lists for string in some]
    assert made.strings == strings
    expected = [no for no, string in enumerate(strings) if len(piece) > 2 and piece in string]
    assert made.holding(piece).tolist() == expected


@given(LISTS, WORDS, st.integers(0, 3))
@example([["aaaaaaaa", "aaaaaa"]], "aaaaaaaa", 2)  # one trigram, over and over
@example([["kubernetes", "kubernets"]], "kuberntes", 2)
def test_near_strings_are_all_found(lists: list[list[str]], word: str, most: int) -> None:
    made = filled(lists)
    expected = {no: edits(word, string) for no, string in enumerate(made.strings)}
    expected = {no: distance for no, distance in expected.items() if distance <= most}
    numbers, found = made.near(word, most)
    assert dict(zip(numbers.tolist(), found.tolist(), strict=True)) == expected
    assert len(numbers) == len(expected)


@given(WORDS, st.lists(WORDS, max_size=6), st.integers(0, 3))
def test_distances_are_those_of_the_table(word: str, strings: list[str], most: int) -> None:
    alike = [string for string in strings if abs(len(string) - len(word)) <= most]
    for string, found in zip(alike, distances(word, alike, most).tolist(), strict=True):
        expected = edits(word, string)
        assert found == expected if expected <= most else found > most


@pytest.mark.parametrize(
    ("word", "string", "distance"),
    [
        ("kuberntes", "kubernetes", 1),
        ("kubernetse", "kubernetes", 1),
        ("kkubernetes", "kubernetes", 1),
        ("kuberntees", "kubernetes", 1),
        ("ca", "abc", 3),  # an exchange whose letters are not touched again
    ],
)
def test_an_exchange_is_one_edit(word: str, string: str, distance: int) -> None:
    assert distances(word, [string], 3).tolist() == [distance]


def test_runs_double_and_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trigrams, "_MOST", 64)
    random.seed(7)
    made = Trigrams()
    words: list[str] = []
    while len(words) < 700:
        some = [f"word{random.randrange(10_000):04}" for _ in range(random.choice([1, 3, 150]))]
        words += some
        made.add(some)
        runs = made._runs
        assert [run.first for run in runs] == [
            sum(r.size for r in runs[:n]) for n in range(len(runs))
        ]
        assert sum(run.size for run in runs) == len(words)
        assert max(run.size for run in runs) <= 64
        small = [run for run in runs if run.size <= 32]
        assert len(small) <= 2 * 6 + 1
    assert made.holding("ord12").tolist() == [n for n, word in enumerate(words) if "ord12" in word]


def test_readers_see_whole_additions_only() -> None:
    made = Trigrams()
    seen: list[set[int]] = []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            numbers = made.holding("pump")
            seen.append({no for no in numbers.tolist() if made.strings[no] != f"pump{no}"})
            made.near("pump1", 1)

    reader = threading.Thread(target=read)
    reader.start()
    while len(made) < 400 or (len(seen) < 2 and reader.is_alive()):
        made.add([f"pump{len(made)}"])
    stop.set()
    reader.join()
    assert len(made.holding("pump")) == len(made)
    assert len(seen) > 1 and not set().union(*seen)
