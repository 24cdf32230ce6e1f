"""The folded index: equal to the extension's, through folds, bulk builds, kills and restarts."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from engine.index import Index
from engine.snapshot import MANY_TERMS
from engine.store import meta, versions
from engine.store.connection import Store
from engine.store.fulltext import Fulltext
from engine.store.loading import load
from engine.store.versions import Version
from tests.engine.oracle import Oracle
from tests.engine.store_rows import Terms, delete, put

WORDS = [f"w{at}" for at in range(60)] + ["2026.4.10", "c++", "合約", "it's", "ü", "x;y'z"]


class World:
    """A store with its index, and what should be in them."""

    def __init__(self, directory: Path | str) -> None:
        self.where = directory
        self.live: dict[int, tuple[Version, Terms]] = {}
        self.open()

    def open(self) -> None:
        self.store = Store.open(self.where)
        self.index = Index()
        self.fulltext = Fulltext(self.store)
        load(self.store, self.index, self.fulltext, with_vectors=True)

    def put(self, engram: int | None, terms: Terms) -> int:
        row = put(self.store, self.index, engram, terms)
        self.live[row.engram] = (row, terms)
        return row.engram

    def delete(self, engram: int) -> None:
        row, _ = self.live.pop(engram)
        delete(self.store, self.index, row)

    def documents(self, engrams: set[int]) -> dict[int, list[str]]:
        return {
            row.first_doc + at: list(part)
            for no, (row, terms) in self.live.items()
            if no in engrams
            for at, part in enumerate(terms)
        }

    def agrees(self, oracle: Oracle, engrams: set[int], question: list[str]) -> None:
        expected = oracle.scores(self.documents(engrams), question)
        mask = np.zeros(max([*self.live, 0]) + 1, np.bool_)
        mask[list(engrams)] = True
        snapshot = self.index.snapshot()
        visible = snapshot.visible(mask)
        found = snapshot.lexical([(term,) for term in question], visible)
        got = {int(snapshot.doc_number[row]): float(found[row]) for row in np.flatnonzero(found)}
        assert got.keys() == expected.keys()
        assert got == pytest.approx(expected, abs=1e-9)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.store.close()


def some_terms(rng: random.Random) -> list[list[str]]:
    return [rng.choices(WORDS, k=rng.choice([0, 1, 5, 12])) for _ in range(rng.randint(1, 4))]


def test_scores_equal_a_fresh_index_after_many_changes(world: World) -> None:
    rng = random.Random(5)
    oracle = Oracle()
    for step in range(1_200):
        chance = rng.random()
        if chance < 0.5 or not world.live:
            world.put(None, some_terms(rng))
        elif chance < 0.8:
            world.put(rng.choice(list(world.live)), some_terms(rng))
        else:
            world.delete(rng.choice(list(world.live)))
        if step % 150 == 75:
            assert world.fulltext.fold(world.index)
        if step % 300 == 225:
            world.fulltext.base.hold(1 << 20)
        if step == 500:
            assert world.fulltext.bulk(world.index)
        if step == 750:
            world.store.close()
            world.open()
        if step % 100 == 99:
            everything = set(world.live)
            some = {no for no in everything if rng.random() < 0.4}
            for engrams in (everything, some):
                question = rng.sample([*WORDS, "absent"], k=rng.choice((3, MANY_TERMS + 3)))
                world.agrees(oracle, engrams, question)


def test_a_repeated_word_counts_once(world: World) -> None:
    world.put(None, [["a", "b"], ["a"]])
    world.agrees(Oracle(), {0}, ["a", "a", "b"])


def test_of_alternatives_the_best_counts(world: World) -> None:
    world.put(None, [["run", "x"], ["runs", "run", "y"], ["z"]])
    snapshot = world.index.snapshot()
    visible = snapshot.visible(np.ones(1, np.bool_))
    one = snapshot.lexical([("run",)], visible)
    other = snapshot.lexical([("runs",)], visible)
    assert snapshot.lexical([("run", "runs")], visible).tolist() == np.maximum(one, other).tolist()


def test_a_fold_empties_the_tail_and_survives_a_restart(world: World) -> None:
    for _ in range(3):
        world.put(None, [["alpha", "beta"], []])
    world.put(1, [["gamma"]])
    assert world.fulltext.fold(world.index)
    assert world.index.tail_documents == 0
    world.put(2, [["delta"]])
    world.store.close()
    world.open()
    assert world.index.tail_documents == 1
    for question in (["alpha"], ["gamma"], ["delta", "beta"]):
        world.agrees(Oracle(), set(world.live), question)


def test_bulk_of_an_empty_store_and_of_empty_documents(world: World) -> None:
    assert world.fulltext.bulk(world.index)
    world.put(None, [[], []])
    assert world.fulltext.bulk(world.index)
    world.put(None, [["a"]])
    assert world.fulltext.bulk(world.index)
    world.agrees(Oracle(), set(world.live), ["a"])


def test_bulk_leaves_nothing_of_the_extension_in_the_store(world: World) -> None:
    world.put(None, [["a", "b"]])
    assert world.fulltext.bulk(world.index)
    with world.store.cursor() as cursor:
        schemas = cursor.execute("SELECT DISTINCT schema_name FROM duckdb_tables()").fetchall()
    assert schemas == [("main",)]
    assert list((Path(world.where) / "tmp").iterdir()) == []


def test_the_vocabulary_only_grows(world: World) -> None:
    world.put(None, [["a", "b"]])
    world.fulltext.fold(world.index)
    before = dict(world.fulltext.vocabulary)
    world.put(0, [["b", "c"]])
    world.fulltext.bulk(world.index)
    assert before.items() <= world.fulltext.vocabulary.items()
    with world.store.cursor() as cursor:
        stored = dict(cursor.execute("SELECT text, id FROM term").fetchall())
    assert stored == world.fulltext.vocabulary


def test_many_terms_are_fetched_as_each_is(world: World) -> None:
    rng = random.Random(8)
    for step in range(60):
        world.put(rng.choice([None, *world.live]), some_terms(rng))
        if step in (20, 40):
            assert world.fulltext.fold(world.index)
        snapshot = world.index.snapshot()
        wanted = rng.sample([*WORDS, "absent", "x;y'z"], k=rng.choice([0, 1, 9]))
        found = snapshot.postings_of([*wanted, *wanted[:1]])
        assert list(found) == list(dict.fromkeys(wanted))
        for term, (rows, counts) in found.items():
            one, its = snapshot.postings(term)
            assert sorted(zip(rows, counts, strict=True)) == sorted(zip(one, its, strict=True))


def test_puts_during_a_fold_are_not_lost(world: World) -> None:
    for at in range(200):
        world.put(None, [["old", f"o{at}"]])
    stop = threading.Event()
    folds: list[bool] = []

    def keep_folding() -> None:
        while not stop.is_set():
            folds.append(world.fulltext.fold(world.index))

    folder = threading.Thread(target=keep_folding)
    folder.start()
    try:
        at = 0
        while at < 150 or (folds.count(True) < 4 and folder.is_alive()):
            world.put(None, [["new", f"n{at}"]])
            world.put(at % 200, [["new", "again"]])
            at += 1
    finally:
        stop.set()
        folder.join()
    assert folds.count(True) >= 4
    oracle = Oracle()
    for question in (["new"], ["old"], ["again", "n7"], ["o150"]):
        world.agrees(oracle, set(world.live), question)
    world.store.close()
    world.open()
    world.agrees(oracle, set(world.live), ["new", "old"])


def test_a_search_that_still_reads_makes_the_fold_wait(world: World) -> None:
    world.put(None, [["a"]])
    assert world.fulltext.fold(world.index)
    reading = world.index.snapshot()
    world.put(None, [["a"]])
    assert world.fulltext.fold(world.index)
    world.put(None, [["a"]])
    assert not world.fulltext.fold(world.index)
    assert len(reading.postings("a")[0]) == 1
    del reading
    assert world.fulltext.fold(world.index)
    world.agrees(Oracle(), set(world.live), ["a"])


def test_a_failed_fold_changes_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.put(None, [["a", "b"]])

    def broken(*_: object) -> None:
        raise OSError("no")

    with monkeypatch.context() as patch:
        patch.setattr(meta, "put", broken)
        with pytest.raises(OSError, match="no"):
            world.fulltext.fold(world.index)
    world.put(None, [["b", "c"]])
    world.agrees(Oracle(), set(world.live), ["a", "b"])
    assert world.fulltext.fold(world.index)
    world.agrees(Oracle(), set(world.live), ["a", "c"])


def test_worth_folding_follows_the_config(world: World) -> None:
    world.put(None, [["a"]])
    assert not world.fulltext.worth_folding(world.index)
    limit = world.store.config.fold_tail_parts
    world.put(None, [["a"]] * limit)
    assert world.fulltext.worth_folding(world.index)


def test_unknown_row_numbers_are_not_used_again(world: World) -> None:
    world.put(None, [["a"], ["b"]])
    world.fulltext.fold(world.index)
    world.delete(0)
    with world.store.cursor() as cursor:
        last = max(
            version.first_doc + version.part_count for version in versions.load_current(cursor)
        )
    world.store.close()
    world.open()
    world.put(None, [["c"]])
    assert world.live[1][0].first_doc >= last
