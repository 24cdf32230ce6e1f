"""The table of entries: one file a name, one engram a number, whatever is swapped."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from engine.entries import Entries, Former, is_live, place_of
from engine.model import Entry


def entry(no: int, slug: str, kind: str = "task") -> Entry:
    return Entry(
        no=no,
        id=f"id-{no}" if no >= 0 else "",
        namespace=(),
        kind=kind,
        slug=slug,
        name=slug,
        inode=1000 + no if no >= 0 else 1,
        mode=0o644,
        mtime_ns=0,
        ctime_ns=0,
        created_ns=0,
        updated_ns=0,
        size=0,
        shown_size=0,
        seq=0,
        source_seq=0,
    )


def test_a_rename_swaps_both_names_in_a_new_listing() -> None:
    entries = Entries()
    entries.swap([entry(1, "a"), entry(2, "b")])
    before = entries.shelf((), "task")
    entries.swap([entry(1, "c")])
    assert {held.slug for held in entries.shelf((), "task")} == {"b", "c"}
    assert {held.slug for held in before} == {"a", "b"}
    assert entries.at(((), "task", "a")) is None


def test_two_engrams_can_change_places_at_once() -> None:
    entries = Entries()
    entries.swap([entry(1, "a"), entry(2, "b")])
    entries.swap([entry(1, "b"), entry(2, "a")])
    at_a, at_b = entries.at(((), "task", "a")), entries.at(((), "task", "b"))
    assert at_a is not None and at_a.no == 2
    assert at_b is not None and at_b.no == 1
    assert len(entries.shelf((), "task")) == 2


def test_one_takes_the_place_and_the_inode_of_another() -> None:
    entries = Entries()
    first = entry(1, "a")
    entries.swap([first])
    entries.swap([replace(first, deleted_ns=5), replace(entry(2, "a"), inode=first.inode)])
    held = entries.by_inode(first.inode)
    assert held is not None and held.no == 2
    gone = entries.by_id("id-1")
    assert gone is not None and not is_live(gone)


def test_a_blank_goes_when_an_engram_takes_its_place() -> None:
    entries = Entries()
    blank = entry(-1, "new")
    entries.keep_blank(blank)
    assert entries.blanks() == [blank] and entries.by_inode(1) == blank
    entries.swap([entry(3, "new")])
    assert entries.blanks() == [] and entries.by_inode(1) is None
    assert entries.drop_blank(((), "task", "new")) is None


def test_memory_of_places() -> None:
    entries = Entries()
    gone = replace(entry(1, "a"), deleted_ns=5)
    entries.swap([gone])
    entries.remember(place_of(gone), Former(1, 5, "unlink"))
    assert entries.lost(place_of(gone), 10, 5) == (gone, Former(1, 5, "unlink"))
    assert entries.lost(place_of(gone), 11, 5) is None
    entries.forget(place_of(gone))
    assert entries.former(place_of(gone)) is None


states = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.sampled_from("abcd"),
        st.sampled_from(["task", "note"]),
        st.booleans(),
    ),
    max_size=30,
)


@given(states)
def test_every_view_agrees_whatever_is_swapped(steps: list[tuple[int, str, str, bool]]) -> None:
    entries = Entries()
    model: dict[int, Entry] = {}
    for no, slug, kind, live in steps:
        new = entry(no, slug, kind)
        taken = [
            held
            for held in model.values()
            if is_live(held) and place_of(held) == place_of(new) and held.no != no
        ]
        if not live:
            new = replace(new, deleted_ns=1)
            taken = []
        batch = [replace(held, deleted_ns=1) for held in taken] + [new]
        entries.swap(batch)
        model.update({state.no: state for state in batch})
        living = {held.no: held for held in model.values() if is_live(held)}
        assert {held.no: held for held in entries.live()} == living
        listed = [held for shelf in ("task", "note") for held in entries.shelf((), shelf)]
        assert sorted(held.no for held in listed) == sorted(living)
        for held in living.values():
            assert entries.at(place_of(held)) == held
            assert entries.by_inode(held.inode) == held
            assert entries.by_id(held.id) == held
