"""The identity table of the filesystem contract, row by row and column by column."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest

from engine.entries import Copied, Entries, Former, Place, place_of
from engine.errors import Invalid
from engine.identity import Decision, decide, heir, target_keeps
from engine.ids import maker
from engine.model import Entry, Identity
from engine.namespace import Scope

GRACE = 300
NOW = 10_000
WHOLE = Scope((), exact=True)
HERE: Place = ((), "task", "x")


def entry(no: int, slug: str, *, namespace: tuple[tuple[str, str], ...] = (), at: int = 0) -> Entry:
    return Entry(
        no=no,
        id=f"id-{no}",
        namespace=namespace,
        kind="task",
        slug=slug,
        name=slug,
        inode=100 + no,
        mode=0o644,
        mtime_ns=at,
        ctime_ns=at,
        created_ns=at,
        updated_ns=at,
        size=1,
        shown_size=42,
        seq=no,
        source_seq=no,
    )


def deleted(no: int, slug: str, at: int = NOW - 10) -> Entry:
    return replace(entry(no, slug), deleted_ns=at)


def judge(entries: Entries, carried: str | None, place: Place = HERE) -> Decision:
    return decide(
        entries,
        WHOLE,
        place,
        carried,
        line=2,
        now_ns=NOW,
        grace_ns=GRACE,
        new_id=lambda: "fresh",
    )


def world(*states: Entry) -> Entries:
    entries = Entries()
    entries.swap(states)
    return entries


def lost(why: str, at: int = NOW - 10) -> Entries:
    entries = world(deleted(1, "x", at))
    entries.remember(HERE, Former(1, at, why))
    return entries


# -- at a free place ---------------------------------------------------------
def test_no_id_at_a_free_place_is_new() -> None:
    decision = judge(world(), None)
    assert (decision.identity, decision.id, decision.entry) == (Identity.NEW, "fresh", None)


@pytest.mark.parametrize("why", ["unlink", "overlay"])
def test_no_id_where_an_engram_was_lost_is_that_engram(why: str) -> None:
    decision = judge(lost(why), None)
    assert (decision.identity, decision.id) == (Identity.RECLAIMED, "id-1")


def test_after_the_grace_time_the_place_has_forgotten() -> None:
    assert judge(lost("unlink", NOW - GRACE - 1), None).identity is Identity.NEW


def test_a_place_left_by_a_rename_lost_nothing() -> None:
    entries = world(entry(1, "moved"))
    entries.remember(HERE, Former(1, NOW, "rename"))
    assert judge(entries, None).identity is Identity.NEW


def test_a_lost_engram_that_lives_elsewhere_again_is_not_lost() -> None:
    entries = lost("unlink")
    entries.swap([entry(1, "elsewhere")])
    assert judge(entries, None).identity is Identity.NEW


def test_an_id_that_lives_elsewhere_makes_a_copy() -> None:
    original = entry(1, "y")
    decision = judge(world(original), "id-1")
    assert (decision.identity, decision.id) == (Identity.COPY, "fresh")
    assert decision.copy_of == original


def test_an_id_outside_the_scope_counts_as_none() -> None:
    decision = judge(world(entry(1, "y", namespace=(("team", "b"),))), "id-1")
    assert (decision.identity, decision.id) == (Identity.NEW, "fresh")
    assert decision.copy_of is None


def test_a_deleted_id_is_revived() -> None:
    decision = judge(world(deleted(1, "y")), "id-1")
    assert (decision.identity, decision.id, decision.removed) == (Identity.REVIVED, "id-1", None)


def test_the_lost_engrams_own_id_reclaims_it() -> None:
    assert judge(lost("overlay"), "id-1").identity is Identity.RECLAIMED


def test_an_unknown_id_is_taken() -> None:
    decision = judge(world(), "stranger")
    assert (decision.identity, decision.id) == (Identity.NEW, "stranger")


def test_an_unknown_id_in_a_backup_dance_is_refused() -> None:
    with pytest.raises(Invalid) as refusal:
        judge(lost("overlay"), "stranger")
    (problem,) = refusal.value.problems
    assert "id-1" in problem.message and problem.line == 2 and "rm it first" in problem.hint
    assert judge(lost("unlink"), "stranger").id == "stranger"


def test_a_foreign_id_in_a_backup_dance_keeps_the_places_identity() -> None:
    entries = lost("overlay")
    entries.swap([entry(2, "y")])
    assert judge(entries, "id-2").id == "id-1"


# -- over a live engram --------------------------------------------------------
@pytest.mark.parametrize("carried", [None, "id-1", "id-2", "id-3"])
def test_over_a_live_engram_its_identity_stays(carried: str | None) -> None:
    entries = world(entry(1, "x"), entry(2, "y"), entry(3, "z", namespace=(("team", "b"),)))
    decision = judge(entries, carried)
    assert (decision.identity, decision.id) == (Identity.SAME, "id-1")


def test_a_deleted_id_takes_the_place_of_a_live_engram() -> None:
    decision = judge(world(entry(1, "x"), deleted(2, "y")), "id-2")
    assert (decision.identity, decision.id) == (Identity.REVIVED, "id-2")
    assert decision.removed is not None and decision.removed.no == 1


def test_an_unknown_id_over_a_live_engram_is_refused() -> None:
    with pytest.raises(Invalid):
        judge(world(entry(1, "x")), "stranger")


def test_the_originals_id_over_its_waiting_copy_settles_the_succession() -> None:
    entries = world(entry(1, "x"), deleted(2, "y"))
    entries.await_succession(2, 1, NOW + 100)
    decision = judge(entries, "id-2")
    assert (decision.identity, decision.id, decision.absorbed) == (
        Identity.SUCCESSOR,
        "id-2",
        True,
    )


def test_an_absorbed_id_answers_with_the_engram_that_took_it_in() -> None:
    entries = world(entry(1, "x"), deleted(2, "tmp"))
    entries.absorb("id-2", 1)
    assert judge(entries, "id-2").identity is Identity.SAME


# -- renames and copies -----------------------------------------------------------
@pytest.mark.parametrize(
    ("age", "incoming", "keeps"),
    [(0, False, True), (GRACE, False, True), (GRACE + 1, False, False), (0, True, False)],
)
def test_who_keeps_the_identity_at_the_target(age: int, incoming: bool, keeps: bool) -> None:
    arriving = entry(1, "tmpab12", at=NOW - age)
    assert target_keeps(arriving, incoming=incoming, now_ns=NOW, grace_ns=GRACE) is keeps


def test_only_a_single_living_young_copy_is_an_heir() -> None:
    original = entry(1, "y")
    entries = world(original, entry(2, "a"), entry(3, "b"))
    entries.add_copy(Copied(1, 2, "pid:1", NOW - 10))
    heirs = heir(entries, original, NOW, GRACE)
    assert heirs is not None and heirs.copy == 2
    assert heir(entries, original, NOW + GRACE, GRACE) is None
    entries.add_copy(Copied(1, 3, "pid:1", NOW - 5))
    assert heir(entries, original, NOW, GRACE) is None
    entries.swap([replace(entry(3, "b"), deleted_ns=NOW)])
    assert heir(entries, original, NOW, GRACE) is not None


# -- ids -------------------------------------------------------------------------
def test_ids_are_version_seven_and_grow_even_when_the_clock_does_not() -> None:
    times = iter([5_000_000, 5_000_000, 4_000_000, 6_000_000])
    make = maker(lambda: next(times))
    made = [make() for _ in range(4)]
    assert made == sorted(made) and len(set(made)) == 4
    assert all(uuid.UUID(id).version == 7 and uuid.UUID(id).variant == uuid.RFC_4122 for id in made)
    assert place_of(entry(1, "x")) == HERE
