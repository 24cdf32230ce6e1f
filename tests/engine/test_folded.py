"""Folded postings held in memory: the same as those of the table, through folds."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.store.folded import FoldedBase
from tests.engine.test_fulltext import WORDS, World

ROOM = 1 << 20


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    rng = random.Random(1)
    for _ in range(30):
        world.put(None, [[rng.choice(WORDS) for _ in range(rng.randrange(1, 9))]])
    yield world
    world.store.close()


def postings(base: FoldedBase) -> dict[str, list[tuple[int, int]]]:
    found = base.fetch_many([*WORDS, "nowhere"])
    assert all(docs.dtype.kind == "i" for docs, _ in found.values())
    assert {term: [*map(list, base.fetch(term))] for term in WORDS} == {
        term: [*map(list, found.get(term, ((), ())))] for term in WORDS
    }
    pairs = {
        term: sorted(zip(docs.tolist(), counts.tolist(), strict=True))
        for term, (docs, counts) in found.items()
    }
    return {term: held for term, held in pairs.items() if held}


def test_held_postings_are_those_of_the_table(world: World) -> None:
    for round in range(3):
        assert world.fulltext.fold(world.index)
        base = world.fulltext.base
        assert not base.asked
        stored = postings(base)
        base.hold(ROOM)
        assert base.asked
        assert postings(base) == stored
        world.put(None, [["later", f"round{round}", WORDS[round]]])


def test_terms_of_a_later_fold_have_no_postings_in_an_older_base(world: World) -> None:
    world.fulltext.fold(world.index)
    older = world.fulltext.base
    older.hold(ROOM)
    world.put(None, [["entirely", "new"]])
    world.fulltext.fold(world.index)
    assert "new" in older.terms()
    assert older.fetch_many(["new", WORDS[0]]).keys() == {WORDS[0]}
    assert len(older.fetch("new")[0]) == 0


def test_what_has_no_room_is_read_from_the_table(world: World) -> None:
    world.fulltext.fold(world.index)
    base = world.fulltext.base
    stored = postings(base)
    base.hold(8)
    assert base.asked and base._held is None
    assert postings(base) == stored


def test_what_could_not_be_read_is_asked_for_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.fulltext.fold(world.index)
    base = world.fulltext.base
    stored = postings(base)

    def broken() -> None:
        raise OSError("the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr(world.store, "cursor", broken)
        with pytest.raises(OSError, match="gone"):
            base.hold(ROOM)
    assert not base.asked
    base.hold(ROOM)
    assert base.asked and base._held is not None
    assert postings(base) == stored


def test_an_empty_index_is_held_too(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.fulltext.base.hold(ROOM)
    assert world.fulltext.base.fetch_many(WORDS) == {}
    world.store.close()
