"""What the summariser is given of one engram: within a budget, and chosen from the whole of it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.digests.extractive import Extractive
from engine.digests.sentences import open_fences
from engine.digests.texts import within
from engine.matrix import Vectors
from engine.ports import Text


def text(*passages: str, vectors: Vectors | None = None) -> Text:
    return Text(1, "note/a", "A", passages, vectors, 1.0)


def test_what_fits_is_given_as_it_stands() -> None:
    whole = text("# One\n\nFirst.\n", "    code\n", vectors=np.eye(2, dtype=np.float32))
    assert within(whole, 100) is whole


def test_the_most_central_sentences_are_given_with_their_vectors() -> None:
    aside = [f"Aside number {n} tells of {'x' * n} alone.\n" for n in range(1, 40)]
    middle = "Seals, pumps and valves belong together here.\n"
    about = ["Pumps leak at seals.\n", "Valves belong to pumps.\n", "Seals wear in valves.\n"]
    passages = [*aside, *about, middle]
    vectors = np.eye(len(passages), dtype=np.float32)
    told = within(text(*passages, vectors=vectors), 120)
    assert middle.strip() in told.passages
    assert sum(map(len, told.passages)) <= 120
    assert told.vectors is not None
    assert [passages[int(row.argmax())].strip() for row in told.vectors] == list(told.passages)


def test_the_summary_is_given_first() -> None:
    passages = ["In short.\n", *(f"Sentence number {n} is here.\n" for n in range(50))]
    told = within(text(*passages), 100, foremost=1)
    assert told.passages[0] == "In short.\n"
    assert len(told.passages) > 1


def test_of_a_text_without_sentences_its_beginning() -> None:
    table = "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 50
    told = within(text(table, table), 60)
    assert told.passages == (table[:60],)


def test_a_fence_that_is_open_keeps_code_from_being_read() -> None:
    passages = ["Before it.\n\n```py\na = 1\n", "b = 2\n~~~\n", "c\n```\n\nBehind it.\n"]
    assert list(open_fences(passages)) == ["", "```", "```"]
    said = Extractive().summarise([text(*passages)], 100)
    assert said.split("\n")[1:] == ["- Before it.", "- Behind it."]


def test_a_late_passage_of_a_very_long_text_can_be_told() -> None:
    """There is no character behind which nothing is read."""
    aside = [f"Aside number {n} tells of {'x' * (n % 90)}{n} alone.\n" * 5 for n in range(2_000)]
    vectors = np.zeros((len(aside) + 1, 2), np.float32)
    vectors[:, 0], vectors[-1] = 0.1, (1.0, 0.0)
    late = "What matters stands at the very end of this book.\n"
    assert sum(map(len, aside)) > 300_000
    told = within(text(*aside, late, vectors=vectors), 200)
    assert late.strip() in told.passages


WORDS = st.lists(st.sampled_from(["pump", "Valve", "水泵。", "leaks.", "# A", "```", "|", "> b"]))


@given(st.lists(WORDS.map(" ".join), min_size=1, max_size=12), st.integers(0, 90), st.booleans())
def test_never_more_than_the_budget_and_nothing_else(
    passages: list[str], most: int, foremost: bool
) -> None:
    whole = text(*passages, vectors=np.ones((len(passages), 2), np.float32))
    told = within(whole, most, foremost=int(foremost))
    assert sum(map(len, told.passages)) <= most or told is whole
    assert told.vectors is not None and len(told.vectors) == len(told.passages)
    everything = " ".join(" ".join(passages).split())
    for passage in told.passages:
        for sentence in passage.split("\n\n"):
            assert " ".join(sentence.split()) in everything
