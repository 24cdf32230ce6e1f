"""The vocabulary follows the index and the entries: always what a fresh one would be."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from engine.entries import Entries
from engine.errors import Conflict
from engine.vocabulary import LONGEST_NAME, Vocabulary, name
from tests.engine.desk import HERE, Desk
from tests.engine.test_fulltext import World, some_terms

TITLES = ["Pump", "Wärmepumpe", "Pump room", "合約轉換", "x" * 2_000, "\0 odd \0"]


def called(vocabulary: Vocabulary) -> set[tuple[int, str]]:
    """(engram, string) of every present name."""
    names = vocabulary.names()
    numbers, engrams = names.current(np.arange(len(names.strings)))
    strings = [names.strings.strings[no] for no in numbers.tolist()]
    return set(zip(engrams.tolist(), strings, strict=True))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.store.close()


def test_terms_are_each_once_through_puts_deletes_and_folds(world: World) -> None:
    rng = random.Random(3)
    vocabulary = Vocabulary(Entries())
    fresh = 0
    written: set[str] = set()
    for step in range(300):
        if world.live and rng.random() < 0.2:
            world.delete(rng.choice(list(world.live)))
        else:
            terms = some_terms(rng)
            if rng.random() < 0.5:
                fresh += 1
                terms.append([f"new{fresh}"])
            written |= {term for part in terms for term in part}
            world.put(rng.choice([None, *world.live]), terms)
        if rng.random() < 0.05:
            assert world.fulltext.fold(world.index)
        if step == 200:
            assert world.fulltext.bulk(world.index)
        if rng.random() < 0.5:
            snapshot = world.index.snapshot()
            strings = vocabulary.terms(snapshot).strings
            assert len(strings) == len(set(strings))
            rebuilt = Vocabulary(Entries()).terms(snapshot).strings
            del snapshot  # or the next fold waits for it
            assert set(rebuilt) <= set(strings) <= written
            if step < 200:  # a bulk build forgets the terms of documents that died unfolded
                assert set(rebuilt) == set(strings) == written


def test_a_fold_between_two_looks_takes_terms_over(world: World) -> None:
    vocabulary = Vocabulary(Entries())
    world.put(None, [["a", "b"]])
    old = world.index.snapshot()
    assert set(vocabulary.terms(old).strings) == {"a", "b"}
    assert world.fulltext.fold(world.index)
    world.put(None, [["b", "c"]])
    assert sorted(vocabulary.terms(old).strings) == ["a", "b"]
    assert sorted(vocabulary.terms(world.index.snapshot()).strings) == ["a", "b", "c"]
    assert sorted(vocabulary.terms(old).strings) == ["a", "b", "c"]


def test_names_are_those_of_the_entries_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.vocabulary._SPARE_NAMES", 8)
    rng = random.Random(11)
    desk = Desk()
    entries = desk.engine._state.entries
    vocabulary = Vocabulary(entries)
    for step in range(250):
        slugs = desk.slugs()
        chance = rng.random()
        if chance < 0.5 or len(slugs) < 2:
            title = rng.choice(TITLES).replace("\0", "\\0")
            desk.put(f"s{rng.randrange(12)}", f'---\ntitle: "{title}"\n---\ntext {step}\n')
        elif chance < 0.65:
            desk.mv(rng.choice(slugs), f"s{rng.randrange(12)}")
        elif chance < 0.8:
            desk.rm(rng.choice(slugs))
        else:
            gone = [entry for entry in entries.all() if entry.deleted_ns is not None]
            if gone:
                with suppress(Conflict):  # its place is taken, or its id by a copy
                    desk.engine.revive(HERE, rng.choice(gone).id)
        if step == 100:
            desk.engine.reindex()
        if rng.random() < 0.4:
            expected = {
                (entry.no, name(text))
                for entry in desk.engine.entries(HERE)
                for text in (entry.title, entry.slug)
            }
            assert called(vocabulary) == expected
            assert called(Vocabulary(entries)) == expected
    assert len(vocabulary.names().owners) <= 2 * len(entries.live()) + 8


def test_names_of_a_store_whose_engrams_are_all_erased(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.vocabulary._SPARE_NAMES", 2)
    desk = Desk()
    entries = desk.engine._state.entries
    vocabulary = Vocabulary(entries)
    for slug in "abc":
        desk.put(slug, "text\n")
    assert len(called(vocabulary)) == 3
    for entry in entries.all():
        entries.erase(entry.no)
    assert called(vocabulary) == set()


def test_names_are_folded_and_cut() -> None:
    assert name("  Über\tuns  ") == "uber uns"
    assert len(name("x" * 5_000)) == LONGEST_NAME
