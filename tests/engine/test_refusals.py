"""What is kept beside the versions: refusals, places, copies, directories, edges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from engine.entries import Copied, Former
from engine.errors import Problem
from engine.model import Entry, Notice
from engine.namespace import Scope
from engine.store import edges, events, places, refusals
from engine.store.connection import Store
from engine.store.edges import EdgeRow
from engine.store.places import Directory

SALES = (("team", "sales"),)
PLACE = (SALES, "deal", "acmé 'x'")
OTHER = (SALES, "deal", "b")


@pytest.fixture
def store() -> Iterator[Store]:
    store = Store.open(":memory:")
    yield store
    store.close()


# -- refusals ----------------------------------------------------------------------------
def notice(no: int, place: tuple[object, str, str] = PLACE) -> Notice:
    problems = (Problem("bad 'stage'", 3, "stage", "use open"), Problem("no line"))
    return Notice(no, no * 10, SALES, place[1], place[2], "deal/acme.md", "refused", problems)


def test_notices_newest_first(store: Store) -> None:
    with store.transaction() as cursor:
        for no in (1, 2, 3):
            refusals.add_notice(cursor, notice(no, OTHER if no == 2 else PLACE))
        assert refusals.load_notices(cursor) == [notice(3), notice(2, OTHER), notice(1)]
        refusals.drop_notices_of(cursor, OTHER)
        refusals.drop_notices(cursor, [1, 77])
        refusals.drop_notices(cursor, [])
        assert refusals.load_notices(cursor) == [notice(3)]


def test_the_last_distinct_refused_bytes_of_a_path_are_kept(store: Store) -> None:
    with store.transaction() as cursor:
        refusals.reject(cursor, OTHER, "b", 1, b"other path", 3)
        for at in range(5):
            refusals.reject(cursor, PLACE, "Acme", 100 + at, f"bytes {at}".encode(), 3)
        digest = refusals.reject(cursor, PLACE, "Acme", 200, b"bytes 3", 3)  # again: the newest
        kept = refusals.load_rejected(cursor)
        assert [each.rank for each in kept[PLACE]] == [0, 1, 2]
        assert [each.at_ns for each in kept[PLACE]] == [200, 104, 102]
        assert kept[PLACE][0].sha256 == digest
        assert kept[PLACE][0].size == 7
        assert [refusals.rejected_source(cursor, PLACE, each.sha256) for each in kept[PLACE]] == [
            b"bytes 3",
            b"bytes 4",
            b"bytes 2",
        ]
        refusals.drop_rejected(cursor, PLACE, digest)
        assert refusals.rejected_source(cursor, PLACE, digest) is None
        assert [each.rank for each in refusals.load_rejected(cursor)[PLACE]] == [0, 1]
        refusals.drop_rejected(cursor, PLACE)
        assert list(refusals.load_rejected(cursor)) == [OTHER]


def test_of_one_moment_the_later_is_the_newer(store: Store) -> None:
    with store.transaction() as cursor:
        for text in (b"a", b"b", b"c"):
            refusals.reject(cursor, PLACE, "x", 5, text, 2)
        kept = refusals.load_rejected(cursor)[PLACE]
        found = [refusals.rejected_source(cursor, PLACE, each.sha256) for each in kept]
    assert found == [b"c", b"b"]


def test_questions_without_a_hit(store: Store) -> None:
    with store.transaction() as cursor:
        for at, question in enumerate(["one", "two", "three"]):
            events.add_misses(cursor, [events.Miss(at, SALES, question)])
        three, two = events.Miss(2, SALES, "three"), events.Miss(1, SALES, "two")
        events.add_misses(cursor, [events.Miss(9, (), f"elsewhere {n}") for n in range(9)])
        assert events.load_misses(cursor, Scope(SALES), 2) == [three, two]
        assert len(events.load_misses(cursor, Scope(), 99)) == 12
        events.drop_before(cursor, 2)
        assert events.load_misses(cursor, Scope(SALES), 9) == [three]


# -- places ------------------------------------------------------------------------------
def test_what_a_place_had_before(store: Store) -> None:
    with store.transaction() as cursor:
        places.remember(cursor, PLACE, Former(1, 10, "unlink"))
        places.remember(cursor, OTHER, Former(2, 11, "rename"))
        places.remember(cursor, PLACE, Former(3, 12, "overlay"))
        assert places.load_formers(cursor) == {
            OTHER: Former(2, 11, "rename"),
            PLACE: Former(3, 12, "overlay"),
        }
        places.forget(cursor, OTHER)
        assert list(places.load_formers(cursor)) == [PLACE]


def test_copies_and_absorbed_ids(store: Store) -> None:
    first, second = Copied(1, 5, "pid:1", 10), Copied(1, 6, "pid:2", 20)
    with store.transaction() as cursor:
        places.add_copy(cursor, second)
        places.add_copy(cursor, first)
        assert places.load_copies(cursor) == [first, second]
        places.drop_copies_before(cursor, 15)
        assert places.load_copies(cursor) == [second]
        places.drop_copies(cursor, 1)
        assert places.load_copies(cursor) == []
        places.absorb(cursor, "id", 5)
        places.absorb(cursor, "id", 6)
        assert places.load_absorbed(cursor) == {"id": 6}


def test_empty_entries(store: Store) -> None:
    blank = Entry(
        no=-1, id="", namespace=SALES, kind="deal", slug="acmé 'x'", name="Acmé 'X'", inode=9,
        mode=0o640, mtime_ns=5, ctime_ns=6, created_ns=6, updated_ns=5, size=0, shown_size=0,
        seq=0, source_seq=0,
    )  # fmt: skip
    touched = replace(blank, mtime_ns=7, updated_ns=7)
    with store.transaction() as cursor:
        places.keep_blank(cursor, blank)
        assert places.load_blanks(cursor) == [blank]
        places.keep_blank(cursor, touched)
        assert places.load_blanks(cursor) == [touched]
        places.drop_blank(cursor, PLACE)
        assert places.load_blanks(cursor) == []


def test_kind_directories(store: Store) -> None:
    deal, person = Directory(SALES, "deal", 3, 0o755, 10), Directory((), "person", 4, 0o700, 11)
    with store.transaction() as cursor:
        for directory in (deal, person, replace(deal, mtime_ns=12)):
            places.keep_directory(cursor, directory)
        found = {each.inode: each for each in places.load_directories(cursor)}
        assert found == {3: replace(deal, mtime_ns=12), 4: person}
        places.drop_directory(cursor, (), "person")
        assert len(places.load_directories(cursor)) == 1


def test_a_namespace_survives_packing() -> None:
    for namespace in ((), SALES, (("a", 'x"y'), ("b", "合約"))):
        assert places.unpack_namespace(places.pack_namespace(namespace)) == namespace


# -- edges ---------------------------------------------------------------------------------
def test_a_save_replaces_what_the_engram_expresses_and_no_link(store: Store) -> None:
    linked = EdgeRow(1, "about", 2, "x", origin="link", note="why", confidence=0.5)
    written = [EdgeRow(1, "mentions", 2, "b"), EdgeRow(1, "mentions", edges.DANGLING, "c", "top")]
    other = EdgeRow(7, "mentions", 1, "a")
    with store.transaction() as cursor:
        edges.add(cursor, [linked, other])
        edges.replace_written(cursor, 1, written, had=False)
        assert [*edges.load(cursor).rows()] == [*written, linked, other]
        edges.replace_written(cursor, 1, written[1:], had=True)
        assert [*edges.load(cursor).rows()] == [written[1], linked, other]
        edges.replace_written(cursor, 1, [], had=True)
        assert [*edges.load(cursor).rows()] == [linked, other]


def test_unlinking_and_erasing(store: Store) -> None:
    linked = EdgeRow(1, "about", 2, "x", origin="link")
    written = EdgeRow(1, "about", 2, "x")
    with store.transaction() as cursor:
        edges.add(cursor, [linked, written, EdgeRow(2, "about", 1, "y")])
        edges.unlink(cursor, linked)
        edges.unlink(cursor, linked)
        assert [*edges.load(cursor).rows()] == [written, EdgeRow(2, "about", 1, "y")]
        edges.drop_of(cursor, [2])
        edges.drop_of(cursor, [])
        assert [*edges.load(cursor).rows()] == [replace(written, target=edges.DANGLING)]


def test_edges_turn_to_other_targets_one_by_one(store: Store) -> None:
    dangling = EdgeRow(1, "mentions", edges.DANGLING, "c")
    other = EdgeRow(1, "mentions", edges.DANGLING, "c", "part")
    by_hand = EdgeRow(1, "mentions", 3, "c", origin="link")
    turned = replace(dangling, target=9, updated_ns=5)
    with store.transaction() as cursor:
        edges.add(cursor, [dangling, other, by_hand])
        edges.turn(cursor, [turned])
        assert [*edges.load(cursor).rows()] == [turned, other, by_hand]
