"""The arrays in memory: what a snapshot shows while commits go on."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.index import COMPACT_ROWS, NO_HASH, Documents, Index
from engine.matrix import Matrix
from engine.snapshot import NoBase, Snapshot
from engine.tail import Tail
from tests.engine.store_rows import text_hash

ALL = np.ones(100_000, np.bool_)
A, B, C = text_hash("a"), text_hash("b"), text_hash("c")


def add(index: Index, no: int, first: int, *terms: str, hashes: list[bytes] | None = None) -> None:
    parts = [part.split() for part in terms]
    lengths = [len(part) for part in parts]
    hashes = hashes or [text_hash(part) for part in terms]
    index.add_many([Documents(no, first, lengths, hashes, parts)])


def kill(index: Index, no: int) -> None:
    index.add_many((), killed=(no,))


def embed(index: Index, hash: bytes, *values: float) -> None:
    index.add_vectors([hash], np.array([values], np.float32))


def hits(index: Index, term: str, mask: np.ndarray = ALL) -> list[tuple[int, int]]:
    snapshot = index.snapshot()
    scores = snapshot.lexical([(term,)], snapshot.visible(mask))
    return [
        (int(snapshot.doc_engram[row]), int(snapshot.doc_position[row]))
        for row in np.flatnonzero(scores)
    ]


def vector(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def test_new_documents_replace_the_old_ones() -> None:
    index = Index()
    add(index, 0, 0, "zebra", "stripes")
    add(index, 1, 2, "zebra")
    assert hits(index, "zebra") == [(0, 0), (1, 0)]
    add(index, 0, 3, "giraffe")
    assert hits(index, "zebra") == [(1, 0)]
    assert hits(index, "giraffe") == [(0, 0)]
    kill(index, 1)
    assert hits(index, "zebra") == []
    assert index.documents == 1


def test_only_visible_documents_are_found_and_counted() -> None:
    index = Index()
    for no in range(10):
        add(index, no, no, "word other")
    add(index, 10, 10, "word")
    mask = np.zeros(11, np.bool_)
    mask[[0, 10]] = True
    alone = Index()
    add(alone, 0, 0, "word other")
    add(alone, 10, 1, "word")
    snapshot, expected = index.snapshot(), alone.snapshot()
    scores = snapshot.lexical([("word",)], snapshot.visible(mask))
    assert scores[[0, 10]].tolist() == expected.lexical([("word",)], expected.visible(ALL)).tolist()
    assert hits(index, "word", np.zeros(3, np.bool_)) == []


def test_an_engram_beyond_the_mask_is_not_visible() -> None:
    index = Index()
    add(index, 0, 0, "a")
    add(index, 7, 1, "a")
    assert hits(index, "a", np.ones(5, np.bool_)) == [(0, 0)]
    assert hits(index, "a", np.zeros(0, np.bool_)) == []


def test_nothing_visible_or_asked_scores_nothing() -> None:
    index = Index()
    assert index.snapshot().lexical([("a",)], index.snapshot().visible(ALL)).tolist() == []
    add(index, 0, 0, "")
    snapshot = index.snapshot()
    assert snapshot.lexical([("a",)], snapshot.visible(ALL)).tolist() == [0.0]
    assert snapshot.lexical([], snapshot.visible(ALL)).tolist() == [0.0]


def test_a_snapshot_stays_as_it_was() -> None:
    index = Index()
    add(index, 0, 0, "a")
    before = index.snapshot()
    add(index, 0, 1, "a a", "a")
    kill(index, 0)
    visible = before.visible(ALL)
    assert visible.tolist() == [True]
    assert np.flatnonzero(before.lexical([("a",)], visible)).tolist() == [0]
    assert len(before.postings("a")[0]) == 1


def test_several_engrams_change_in_one_step() -> None:
    index = Index()
    add(index, 0, 0, "a")
    add(index, 1, 1, "a")
    index.add_many([Documents(2, 2, [1], [A], [["a"]])], killed=[0])
    assert hits(index, "a") == [(1, 0), (2, 0)]
    kill(index, 99)


def test_document_numbers_must_grow() -> None:
    index = Index()
    add(index, 0, 5, "a")
    with pytest.raises(ValueError, match="document 5 after 5"):
        add(index, 1, 5, "b")


# -- vectors --------------------------------------------------------------------------------
def test_texts_wait_for_their_vector_the_newest_first() -> None:
    index = Index()
    add(index, 0, 0, "x", "y", hashes=[A, NO_HASH])
    add(index, 1, 2, "z", hashes=[B])
    assert index.pending() == [B, A]
    assert index.pending(1) == [B]
    add(index, 2, 3, "x", hashes=[A])  # the same text, now the newest
    assert index.pending() == [A, B]
    assert sorted(index.rows_waiting(A)) == [(0, 0), (2, 0)]
    kill(index, 0)
    assert index.pending() == [A, B]
    kill(index, 2)
    assert index.pending() == [B]
    assert index.pending_count == 1


def test_a_text_that_has_a_vector_is_not_embedded_again() -> None:
    index = Index()
    add(index, 0, 0, "x", hashes=[A])
    embed(index, A, 0, 1)
    assert index.pending() == []
    add(index, 0, 1, "x", "new", hashes=[A, B])
    assert index.pending() == [B]
    found = index.snapshot().cosines(vector(0, 1))
    assert found[1] == 1.0
    assert np.isnan(found[2])


def test_cosines_are_one_a_row_and_nan_where_none() -> None:
    index = Index()
    add(index, 0, 0, "x", "y", "z", hashes=[A, NO_HASH, B])
    assert np.isnan(index.snapshot().cosines(vector(1, 0))).all()
    before = index.snapshot()
    index.add_vectors([B, A], np.stack([vector(0, 1), vector(0.6, 0.8)]))
    found = index.snapshot().cosines(vector(1, 0))
    assert found[[0, 2]].tolist() == pytest.approx([0.6, 0.0])
    assert np.isnan(found[1])
    assert np.isnan(before.cosines(vector(1, 0))).all()
    index.add_vectors([], np.zeros((0, 2), np.float32))


def test_vectors_of_another_length_are_refused() -> None:
    index = Index()
    add(index, 0, 0, "x", hashes=[A])
    embed(index, A, 1, 0)
    with pytest.raises(ValueError, match="not of 2"):
        embed(index, B, 1, 0, 0)
    index.drop_vectors()
    assert index.pending() == [A]
    embed(index, A, 1, 0, 0)
    assert index.dimension == 3


def test_a_vector_that_is_there_is_left_alone() -> None:
    matrix = Matrix()
    matrix.add([A], vector(1, 0).reshape(1, 2))
    matrix.add([A, B, B], np.stack([vector(9, 9), vector(0, 1), vector(0, 1)]))
    matrix.reserve(50, 2)
    matrix.add([C], vector(0.5, 0.5).reshape(1, 2))
    assert matrix.view().tolist() == [[1, 0], [0, 1], [0.5, 0.5]]
    assert matrix.row_of == {A: 0, B: 1, C: 2}


# -- folding and threads --------------------------------------------------------------------
class FakeBase(NoBase):
    def __init__(self, folded: int, postings: dict[str, list[tuple[int, int]]]) -> None:
        self.folded = folded
        self._postings = postings

    def fetch(self, term: str) -> tuple[np.ndarray, np.ndarray]:
        pairs = np.array(self._postings.get(term, []), np.int64).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1].astype(np.int32)


def test_dead_rows_go_when_they_are_many() -> None:
    index = Index()
    add(index, 0, 0, "kept", hashes=[C])
    documents = 3 * COMPACT_ROWS
    for at in range(1, documents):
        add(index, 1, at, "word", hashes=[A])
    before = index.snapshot()
    _, tails = index.freeze_tail()
    add(index, 2, documents, "word late", hashes=[B])
    base = FakeBase(documents, {"kept": [(0, 1)], "word": [(1, 1), (documents - 1, 1)]})
    index.set_base(base, tails)
    assert index.snapshot().rows == 3
    assert before.rows == documents
    assert hits(index, "word") == [(1, 0), (2, 0)]
    assert hits(index, "late") == [(2, 0)]
    assert index.tail_documents == 1
    add(index, 1, documents + 1, "again", hashes=[A])
    assert hits(index, "word") == [(2, 0)]
    assert hits(index, "again") == [(1, 0)]
    assert index.pending() == [A, B, C]
    index.add_vectors([A, B, C], np.eye(3, dtype=np.float32))
    snapshot = index.snapshot()
    found = {
        int(snapshot.doc_engram[row]): int(snapshot.vectors[snapshot.doc_vector[row]].argmax())
        for row in np.flatnonzero(snapshot.live)
    }
    assert found == {0: 2, 1: 0, 2: 1}
    assert len(before.postings("word")[0]) == documents - 1


def test_an_empty_tail_is_not_stacked() -> None:
    index = Index()
    for _ in range(3):
        _, tails = index.freeze_tail()
        assert tails == ()


def test_a_tail_counts_repeats() -> None:
    tail = Tail()
    tail.add(0, ["a", "b", "a"])
    tail.add(1, ["a"])
    rows, counts = tail.postings("a")
    assert (rows.tolist(), counts.tolist()) == ([0, 1], [2, 1])
    assert len(tail.postings("absent")[0]) == 0
    assert {term: rows.tolist() for term, rows, _ in tail.items()} == {"a": [0, 1], "b": [0]}


def test_readers_see_whole_commits_while_a_writer_goes_on() -> None:
    """Every commit gives each of two engrams one document with the same word, or none."""
    index = Index()
    stop = threading.Event()
    wrong: list[object] = []

    def read() -> None:
        while not stop.is_set():
            snapshot = index.snapshot()
            visible = snapshot.visible(ALL)
            found = np.flatnonzero(snapshot.lexical([("word",)], visible))
            engrams = snapshot.doc_engram[found].tolist()
            if engrams not in ([], [0, 1]) or len(snapshot.cosines(vector(1, 0))) != len(visible):
                wrong.append(engrams)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for at in range(0, 6_000, 2):
        both = [Documents(no, at + no, [1], [text_hash(str(at))], [["word"]]) for no in (0, 1)]
        index.add_many(both)
        embed(index, text_hash(str(at)), 1, 0)
        if at % 50 == 0:
            index.add_many((), killed=(0, 1))
    stop.set()
    for reader in readers:
        reader.join()
    assert wrong == []


def test_a_cosine_does_not_depend_on_what_else_is_there() -> None:
    """A float32 product does, in its last bits: with its row's place and the number of rows."""
    draw = np.random.default_rng(7)
    vectors = draw.normal(size=(203, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    question = vectors[5] + 0.1 * vectors[100]
    every = snapshot_of(vectors).cosines(question)
    for first, last in ((0, 203), (3, 90), (101, 202), (200, 203)):
        some = snapshot_of(vectors[first:last]).cosines(question)
        assert np.array_equal(some, every[first:last])


def snapshot_of(vectors: NDArray[np.float32]) -> Snapshot:
    """Of documents of one word each, with these vectors."""
    index = Index()
    hashes = [bytes([at % 256, at // 256]) * 8 for at in range(1, len(vectors) + 1)]
    for at, hash in enumerate(hashes):
        index.add_many([Documents(at, at, np.ones(1, np.int32), [hash], [["word"]])])
    index.add_vectors(hashes, vectors)
    return index.snapshot()
