"""Rows of `version`: written, read back whole, collapsed and pruned."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.config import Config
from engine.errors import NotFound, StoreCorrupt
from engine.index import Index
from engine.model import Part, Span
from engine.store import edges, history, versions
from engine.store.connection import Store
from engine.store.documents import unpack_documents
from engine.store.edges import EdgeRow
from engine.store.fulltext import Fulltext
from engine.store.history import Past, kept
from engine.store.loading import load
from engine.store.versions import Version
from tests.engine.store_rows import bare, make

SECOND = 1_000_000_000
DAY = 86_400 * SECOND


def append(store: Store, *rows: Version) -> None:
    with store.transaction() as cursor:
        for row in rows:
            versions.append(cursor, row)


@pytest.fixture
def store() -> Iterable[Store]:
    store = Store.open(":memory:")
    yield store
    store.close()


# -- rows ------------------------------------------------------------------------------
def test_a_row_comes_back_as_it_was(store: Store) -> None:
    row = make(
        1, 0, [["a", "b"], []], first_doc=3, title='T "x" 合約 \x00 \'', name="Ünï",
        namespace=(("team", "sales"), ("project", "ap'ollo")), amends=None, deleted_ns=None,
        properties={"n": 1, "f": 1.5, "l": ["a", "b"], "none": None, "t": True}, source=b"\x00\xff",
    )  # fmt: skip
    append(store, row)
    with store.cursor() as cursor:
        found = versions.rows(cursor, [1], source=True, terms=True)[1]
        [present] = versions.load_current(cursor)
    assert found == replace(row, sums=found.sums) and found.parts_sound
    assert found.documents_sound and found.terms_sound(row.terms)
    assert present == replace(found, parts=None, terms=None, source=None)
    assert present.part_count == 2
    assert unpack_documents(present.documents)[0].tolist() == [2, 0]


def test_many_rows_at_once_are_the_same_rows(store: Store) -> None:
    rows = [make(seq, seq, [["a"], ["b", "c"]], first_doc=2 * seq) for seq in range(1, 50)]
    rows.append(bare(rows[3], 60, "attributes", mode=0o600))
    with store.transaction() as cursor:
        versions.append_many(cursor, rows)
        versions.append_many(cursor, [])
    with store.cursor() as cursor:
        found = versions.rows(cursor, [row.seq for row in rows], source=True, terms=True)
    assert [replace(found[row.seq], sums="") for row in rows[:-1]] == rows[:-1]
    assert found[60].source == rows[3].source
    assert found[60].mode == 0o600


def test_the_present_state_is_the_last_row_of_each(store: Store) -> None:
    first = make(1, 0)
    append(store, first, make(2, 1), bare(first, 3, "rename", slug="moved"))
    with store.cursor() as cursor:
        assert [(row.seq, row.slug) for row in versions.load_current(cursor)] == [
            (3, "moved"),
            (2, "s1"),
        ]


def test_parts_and_bytes_come_from_the_rows_that_hold_them(store: Store) -> None:
    first = make(1, 0, [["old"]], source=b"bytes")
    renamed = make(2, 0, [["new"]], event="rename", source_seq=1, source=None)
    touched = bare(renamed, 3, "attributes")
    append(store, first, renamed, touched)
    with store.cursor() as cursor:
        found = versions.rows(cursor, [3], source=True, terms=True)[3]
        assert (found.source, found.terms, found.parts) == (b"bytes", "new", renamed.parts)
        assert versions.source(cursor, 1) == b"bytes"
        assert versions.terms_of(cursor, [1, 2, 3]) == {1: "old", 2: "new"}
        assert versions.rows(cursor, [99]) == {}
        assert versions.rows(cursor, []) == {}


def test_missing_bytes_are_an_error(store: Store) -> None:
    append(store, bare(make(1, 0), 2, "attributes"))
    with store.cursor() as cursor:
        with pytest.raises(StoreCorrupt, match="commit 2"):
            versions.source(cursor, 2)
        with pytest.raises(NotFound, match="commit 7"):
            versions.source(cursor, 7)
        with pytest.raises(StoreCorrupt, match="commit 1"):
            versions.rows(cursor, [2])


def test_the_view_shows_every_field(store: Store) -> None:
    row = make(1, 0, [["a"]], properties={"stage": "open"}, amends=None)
    append(store, row)
    with store.cursor() as cursor:
        cursor.execute("SELECT * FROM state")
        names = [column[0] for column in cursor.description or ()]
        values = dict(zip(names, cursor.fetchall()[0], strict=True))
    left_out = {"documents", "terms", "source", "sums", "parts_sound"}  # bytes, and their proof
    assert {field.name for field in fields(Version)} - left_out == set(names)
    assert json.loads(values.pop("properties")) == {"stage": "open"}
    assert json.loads(values.pop("namespace")) == [["team", "sales"]]
    assert values.pop("parts") == 1
    assert values == {name: getattr(row, name) for name in values}


def test_of_a_part_its_place_is_kept_and_of_a_hosts_part_its_text() -> None:
    part = Part("p", 1, ("A",), "text", Span(1, 2, 3, 4), (("text",),), "embed")
    assert versions.stored(part).text is None
    assert versions.stored(replace(part, origin="host")).text == "text"


def test_an_entry_has_the_rows_values() -> None:
    row = make(4, 2, [["a"], ["b"]], deleted_ns=9)
    entry = versions.entry_of(row)
    for field in fields(entry):
        special = {"no": row.engram, "parts": 2, "written_ns": row.updated_ns}
        expected = special.get(field.name)
        assert getattr(entry, field.name) == (
            getattr(row, field.name) if expected is None else expected
        )


@given(
    st.lists(
        st.lists(
            st.lists(
                st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1), min_size=1,
                max_size=4,
            ),
            max_size=3,
        ),
        min_size=1, max_size=4,
    )
)  # fmt: skip
def test_terms_survive_joining(runs_of_parts: list[list[list[str]]]) -> None:
    terms = [[term for run in runs for term in run] for runs in runs_of_parts]
    assert versions.split_terms(versions.join_terms(runs_of_parts)) == terms


def test_ten_thousand_states_load_at_once(store: Store) -> None:
    with store.transaction() as cursor:
        versions.append_many(cursor, [make(seq, seq, [["a"]] * 5) for seq in range(10_000)])
    started = time.perf_counter()
    with store.cursor() as cursor:
        loaded = versions.load_current(cursor)
    print(f"10,000 states in {1000 * (time.perf_counter() - started):.0f} ms")
    assert [row.engram for row in loaded] == list(range(10_000))


def test_a_damaged_row_costs_that_engram_only(store: Store) -> None:
    append(store, make(1, 0), make(2, 1, [["a"]]), make(3, 2))
    with store.transaction() as cursor:
        cursor.execute("UPDATE version SET state = '{\"id\"' WHERE seq = 1")
        cursor.execute("UPDATE version SET state = '3' WHERE seq = 3")
    with store.cursor() as cursor, pytest.raises(StoreCorrupt, match="commit 1"):
        versions.load_current(cursor)
    index = Index()
    loaded = load(store, index, Fulltext(store), with_vectors=False)
    assert [row.engram for row in loaded.present] == [1]
    assert len(index.snapshot().postings("a")[0]) == 1
    assert set(loaded.unreadable) == {0, 2} and loaded.unproved == []


# -- which versions stay ------------------------------------------------------------------
def past(seq: int, event: str = "update", at: float = 0.0, **changes: object) -> Past:
    values = {
        "seq": seq, "engram": 0, "event": event, "at_ns": int(at * SECOND), "written_by": "a",
        "source_seq": seq, "parts_seq": seq, "amends": None, "deleted": event == "delete",
        "settled": False, "size": 100,
    }  # fmt: skip
    return Past(**{**values, **changes})  # type: ignore[arg-type]


def shown(rows: list[Past], now: float = 1_000.0, config: Config | None = None) -> list[int]:
    return sorted(kept(rows, int(now * SECOND), config or Config()).shown)


def test_replaced_and_deleted_versions_are_kept() -> None:
    rows = [past(1, "create", 0), past(2, at=100), past(3, "delete", 200)]
    assert shown(rows) == [1, 2]
    assert shown(rows[:2]) == [1]
    assert shown(rows[:1]) == []


def test_saves_of_one_session_within_a_minute_collapse() -> None:
    rows = [past(1, "create", 0, written_by="b")]
    rows += [past(2 + at, at=500 + 10 * at) for at in range(6)]
    assert shown(rows) == [1]  # the state before the first save
    assert shown([*rows, past(20, at=565)]) == [1, 7]  # past the minute: another version


def test_the_first_state_of_a_new_engram_stays() -> None:
    assert shown([past(1, "create", 0), past(2, at=5), past(3, at=9)]) == [1]


def test_other_sessions_and_renames_do_not_collapse() -> None:
    rows = [past(1, "create"), past(2, at=1), past(3, at=2, written_by="b"), past(4, at=3)]
    assert shown(rows) == [1, 2, 3]
    assert shown([past(1, "create"), past(2, at=1), past(3, "rename", 2), past(4, at=3)]) == [
        1, 2, 3,
    ]  # fmt: skip


def test_pruning_in_the_midst_of_a_run_does_not_move_its_beginning() -> None:
    rows = [past(1, "create", written_by="b")]
    every = [past(seq, at=60 + 20 * seq) for seq in range(2, 30)]
    for row in every:
        rows.append(row)
        rule = kept(rows, row.at_ns, Config())
        rows = [replace(row, settled=row.seq in rule.shown) for row in rows if row.seq in rule.seqs]
    assert shown(rows) == shown([past(1, "create", written_by="b"), *every])


def test_commits_of_one_handle_are_one_version() -> None:
    rows = [past(1, "create", written_by=""), past(2, at=100, written_by="")]
    rows += [past(3, at=300, amends=2, written_by=""), past(4, at=500, amends=3, written_by="")]
    assert shown(rows) == [1]


def test_a_change_of_attributes_is_no_version() -> None:
    rows = [past(1, "create"), past(2, "attributes", 100, source_seq=1, parts_seq=1)]
    assert shown(rows) == []
    assert kept(rows, 0, Config()).seqs == {1, 2}
    rows.append(past(3, at=200))
    assert shown(rows) == [1]
    assert kept(rows, 0, Config()).seqs == {1, 3}


def test_limits_on_number_age_and_bytes_spare_the_newest() -> None:
    rows = [past(1, "create")] + [past(seq, at=100 * seq) for seq in range(2, 12)]
    assert shown(rows, 2_000, Config(history_versions=3)) == [8, 9, 10]
    assert shown(rows, 2_000 + 91 * 86_400) == [10]
    assert shown(rows, 2_000, Config(history_bytes=450)) == [7, 8, 9, 10]
    assert shown(rows, 2_000, Config(history_bytes=0)) == [10]
    gone = [*rows, past(12, "delete", 1_300)]
    assert shown(gone, 1_400, Config(history_bytes=0)) == [11]  # in the grace time
    assert shown(gone, 2_000, Config(history_bytes=0)) == []


def test_bytes_are_counted_over_all_engrams_oldest_first() -> None:
    rows = [past(1, "create"), past(2, at=100), past(3, at=200)]
    other = [
        past(11, "create", 50, engram=1), past(12, at=150, engram=1), past(13, at=250, engram=1)
    ]  # fmt: skip
    assert shown(rows + other, config=Config(history_bytes=300)) == [2, 11, 12]


def test_a_deleted_engram_is_erased_when_its_last_version_goes() -> None:
    rows = [past(1, "create"), past(2, "delete", 100)]
    assert kept(rows, 90 * DAY, Config()).erased == frozenset()
    late = kept(rows, 91 * DAY, Config())
    assert (late.seqs, late.erased) == (frozenset(), {0})


def test_rows_that_hold_what_stays_stay() -> None:
    rows = [past(1, "create"), past(2, at=100), past(3, "revive", 200, source_seq=1, parts_seq=2)]
    assert kept(rows, 200 * DAY, Config(history_versions=0)).seqs == {1, 2, 3}


EVENTS = st.sampled_from(["update", "update", "attributes", "rename", "delete", "revive"])


@given(
    st.lists(st.tuples(EVENTS, st.integers(0, 3), st.integers(0, 100), st.sampled_from("ab"))),
    st.integers(0, 400), st.integers(0, 2_000),
)  # fmt: skip
def test_the_rule_is_stable_and_keeps_the_present(
    steps: list[tuple[str, int, int, str]], days: int, limit: int
) -> None:
    rows, at = [], 0.0
    for seq, (event, engram, pause, by) in enumerate(steps, 1):
        at += pause
        rows.append(past(seq, event, at, engram=engram, written_by=by))
    config = Config(history_bytes=limit, history_versions=4)
    now = int(at * SECOND) + days * DAY
    rule = kept(rows, now, config)
    for engram in {row.engram for row in rows}:
        present = [row for row in rows if row.engram == engram][-1]
        assert (present.seq in rule.seqs) != (engram in rule.erased)
    again = kept([row for row in rows if row.seq in rule.seqs], now, config)
    assert again.shown <= rule.shown


# -- pruning the store ----------------------------------------------------------------------
def test_pruning_deletes_just_what_the_rule_drops(store: Store) -> None:
    first = make(1, 0, event="create", at_ns=0)
    saves = [make(seq, 0, event="update", at_ns=seq * SECOND) for seq in (100, 101, 102)]
    append(store, first, *saves, make(103, 1))
    assert history.prune(store, history.due(store, 200 * SECOND)) == (2, frozenset())
    with store.cursor() as cursor:
        assert [row.seq for row in history.history(cursor, 0, 200 * SECOND, store.config)] == [1]
        assert versions.source(cursor, 1) == b"source"
        with pytest.raises(NotFound):
            versions.source(cursor, 100)
    assert history.prune(store, history.due(store, 200 * SECOND)) == (0, frozenset())


def test_an_erased_engram_takes_its_edges_along(store: Store) -> None:
    row = make(1, 0, at_ns=0)
    append(store, row, bare(row, 2, "delete", deleted_ns=SECOND, at_ns=SECOND), make(3, 1))
    with store.transaction() as cursor:
        edges.add(cursor, [EdgeRow(0, "mentions", 1, "x"), EdgeRow(1, "mentions", 0, "y")])
    assert history.prune(store, history.due(store, 100 * DAY)) == (2, {0})
    with store.cursor() as cursor:
        assert [*edges.load(cursor).rows()] == [EdgeRow(1, "mentions", edges.DANGLING, "y")]
        assert [row.engram for row in versions.load_current(cursor)] == [1]
