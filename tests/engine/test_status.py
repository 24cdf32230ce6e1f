"""`status` counts what the scope sees, and names no more than somebody reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from engine.engine import Engine
from engine.model import Draft
from engine.namespace import Scope

TEAMS = 200


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with closing(Engine.open(":memory:", embed="off")) as engine:
        for kind in ("note", "deal"):
            engine.make_kind(kind)
        for team in range(TEAMS):
            engine.put(of(team), Draft("note", "a", b"# a\n\nbody\n"))
            engine.search(of(team), f"nothing has {team} " + "long " * 100, channels=("lexical",))
        engine.put(of(7), Draft("deal", "b", b"# b\n"))
        yield engine


def of(team: int, kinds: frozenset[str] | None = None) -> Scope:
    return Scope((("team", f"t{team}"),), exact=True, kinds=kinds)


def test_counts_are_of_what_the_scope_sees(engine: Engine) -> None:
    every, one = engine.status(Scope()), engine.status(of(7))
    assert (every.engrams, every.kinds) == (TEAMS + 1, {"note": TEAMS, "deal": 1})
    assert (one.engrams, one.kinds, one.seq) == (2, {"note": 1, "deal": 1}, every.seq)
    notes = engine.status(of(7, frozenset({"note"})))
    assert (notes.engrams, notes.parts, notes.kinds) == (1, 2, {"note": 1})
    assert notes.seq < one.seq
    assert engine.status(of(TEAMS)).engrams == 0
    digests = (every.digests, one.digests, notes.digests)
    assert [each.fresh + each.stale for each in digests] == [2 * TEAMS + 1, 3, 1]


def test_deleted_engrams_are_counted_in_seq_alone(engine: Engine) -> None:
    commit = engine.put(of(8), Draft("note", "gone", b"# gone\n"))
    before = engine.status(of(8))
    engine.delete(of(8), commit.entry.id)
    after = engine.status(of(8))
    assert (before.engrams, after.engrams) == (2, 1) and after.seq > before.seq


def test_the_latest_questions_without_a_hit_are_named_and_cut(engine: Engine) -> None:
    misses = engine.status(Scope()).misses
    assert [miss.split()[2] for miss in misses] == [str(TEAMS - 1 - n) for n in range(10)]
    assert all(len(miss) == 200 for miss in misses)
    assert len(engine.status(of(3)).misses) == 1


def test_who_sees_some_kinds_is_told_of_what_was_asked_among_them(engine: Engine) -> None:
    few, fewer, other = (
        of(3, frozenset(kinds)) for kinds in (("note", "deal"), ("note",), ("deal",))
    )
    engine.search(few, "asked among both", channels=("lexical",))
    engine.search(fewer, "asked among notes", channels=("lexical",))
    for stored in (False, True):
        if stored:
            engine._state.demand.flush(last=True)
        assert engine.status(other).misses == ()
        assert engine.status(fewer).misses == ("asked among notes",)
        assert engine.status(few).misses == ("asked among notes", "asked among both")
        assert len(engine.status(of(3)).misses) == 3


def test_of_very_many_damaged_engrams_some_are_named(engine: Engine) -> None:
    damaged = engine._state.damaged
    try:
        damaged.update({10_000 + no: f"engram {no} cannot be read" for no in range(3000)})
        problems = engine.status(of(1)).problems
        assert len(problems) == 11
        said = "and 2990 more engrams are damaged: `engramfs check` names them"
        assert problems[-1] == said
    finally:
        damaged.clear()
