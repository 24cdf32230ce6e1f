"""Events of readers: what counts, what it adds up to, and what becomes of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.config import DAY_NS, SECOND_NS, Config
from engine.demand import KINDS, Demand
from engine.engine import Engine
from engine.entries import Entries
from engine.errors import EngineError, StoreFull
from engine.model import Entry, EventKind, Namespace
from engine.namespace import Scope
from engine.store import events
from engine.store.connection import Store
from tests.engine.desk import HERE, Desk

NOTE = "---\nid: 0190a0b0-0000-7000-8000-{:012d}\n---\nwords\n"
WEIGHTS = {"read": 3.0, "recall": 1.5, "prompt": 1.0, "shown": 0.0}
SALES: Namespace = (("team", "sales"),)
DEEP: Namespace = (("team", "sales"), ("project", "apollo"))
OTHER: Namespace = (("team", "other"),)
EVERYTHING = Scope()
SCOPES = (EVERYTHING, HERE, Scope(SALES), Scope(SALES, exact=True), Scope(OTHER))


DESKS: list[Desk] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while DESKS:
        DESKS.pop().engine.close()


def written(count: int = 3, **options: object) -> Desk:
    """A desk with so many notes; it is closed behind the test."""
    desk = Desk(**options)
    DESKS.append(desk)
    for number in range(count):
        desk.put(f"n{number}", NOTE.format(number))
    return desk


def used(desk: Desk, slug: str, scope: Scope = HERE) -> float:
    return float(desk.engine.reading.utility(scope, 10)[desk.entry(slug).no])


def note(desk: Desk, kind: EventKind, slug: str, session: str = "s", scope: Scope = HERE) -> None:
    desk.engine.reading.note(scope, kind, [desk.entry(slug)], session)


# -- what counts -------------------------------------------------------------------------
@pytest.mark.parametrize(("kind", "weight"), WEIGHTS.items())
def test_utility_is_weight_over_weight_and_four(kind: EventKind, weight: float) -> None:
    desk = written()
    note(desk, kind, "n1")
    assert used(desk, "n1") == pytest.approx(weight / (weight + 4.0))
    assert used(desk, "n0") == 0.0
    assert desk.engine.reading.counted(HERE) == (weight > 0.0)
    assert desk.engine.status(HERE).events == {**dict.fromkeys(KINDS, 0), kind: 1}


def test_half_is_left_after_two_weeks() -> None:
    desk = written()
    note(desk, "read", "n1")
    desk.clock.pass_seconds(14 * 86_400)
    assert used(desk, "n1") == pytest.approx(1.5 / 5.5, rel=1e-6)


def test_once_for_an_engram_a_session_a_class_and_a_day() -> None:
    desk = written()
    for _ in range(3):
        note(desk, "recall", "n1")
    assert used(desk, "n1") == pytest.approx(1.5 / 5.5)
    note(desk, "recall", "n1", session="another")
    note(desk, "read", "n1")
    assert used(desk, "n1") == pytest.approx(6.0 / 10.0)
    desk.clock.pass_seconds(86_400)
    note(desk, "recall", "n1")
    assert desk.engine.reading.counted(HERE) == 4


def test_a_day_ends_at_midnight_utc() -> None:
    desk = written()
    desk.clock.now = 20_000 * DAY_NS - 2 * SECOND_NS
    note(desk, "read", "n1")
    note(desk, "read", "n1")
    desk.clock.now = 20_000 * DAY_NS
    note(desk, "read", "n1")
    assert desk.engine.reading.counted(HERE) == 2


def test_only_readers_whom_the_scope_covers_count() -> None:
    desk = written()
    note(desk, "read", "n1", scope=Scope(DEEP))
    for scope, seen in zip(SCOPES, (True, False, True, False, False), strict=True):
        assert (used(desk, "n1", scope) > 0.0) is seen
        assert desk.engine.reading.counted(scope) == seen
        assert (desk.engine.status(scope).events["read"] == 1) is seen


def test_a_reader_elsewhere_takes_no_event_from_one_here() -> None:
    desk = written()
    for scope in (Scope(OTHER), HERE):
        note(desk, "read", "n1", scope=scope)
    assert used(desk, "n1") == pytest.approx(3.0 / 7.0)


def test_a_session_counts_on_when_the_store_is_opened_again(tmp_path: Path) -> None:
    desk = written(where=tmp_path / "store")
    note(desk, "read", "n1")
    before = used(desk, "n1")
    desk.reopen()
    assert used(desk, "n1") == pytest.approx(before)
    note(desk, "read", "n1")
    assert desk.engine.reading.counted(HERE) == 1
    assert desk.engine.check() == ()


def test_a_name_that_is_no_text_keeps_nothing_from_being_stored(tmp_path: Path) -> None:
    desk = written(where=tmp_path / "store")
    note(desk, "read", "n1", session="\udcff\0'é")
    desk.engine._upkeep.state.demand.missed(Scope((("team", "\udcff"),)), "zebra")
    desk.reopen()
    note(desk, "read", "n1", session="\udcff\0'é")
    status = desk.engine.status(EVERYTHING)
    assert status.events["read"] == 1 and status.misses == ("zebra",)
    assert desk.engine.check() == ()


# -- opened files ------------------------------------------------------------------------
def open_file(desk: Desk, slug: str, process: str = "pid:1", session: str = "0:1") -> None:
    desk.engine.opened(HERE, desk.entry(slug), session, process)


def flush(desk: Desk) -> None:
    desk.engine._upkeep.state.demand.flush()


def collected(desk: Desk) -> int:
    """Reads that count, a minute and a flush later."""
    desk.clock.pass_seconds(61)
    flush(desk)
    return desk.engine.status(HERE).events["read"]


def test_an_opened_file_is_read_a_minute_later() -> None:
    desk = written()
    open_file(desk, "n1")
    flush(desk)
    assert desk.engine.reading.counted(HERE) == 0
    assert collected(desk) == 1 and used(desk, "n1") > 0.0


def test_whoever_opens_more_than_twenty_reads_none() -> None:
    desk = written(30)
    for number in range(20):
        open_file(desk, f"n{number}", "pid:few")
    for number in range(21):
        open_file(desk, f"n{number}", "pid:many", session="0:2")
    assert collected(desk) == 20


def test_a_process_that_reads_back_what_it_wrote_counts_not() -> None:
    desk = written()
    desk.put("n1", NOTE.format(1) + "more\n", by="pid:7")
    open_file(desk, "n1", "pid:7")
    desk.engine.rename(HERE, desk.entry("n2").id, "note", "n3", by="pid:7")
    open_file(desk, "n3", "pid:7")
    open_file(desk, "n0", "pid:7")
    assert collected(desk) == 1 and used(desk, "n0") > 0.0
    open_file(desk, "n1", "pid:8")
    assert collected(desk) == 2


def test_an_empty_file_is_no_engram() -> None:
    desk = written()
    blank = desk.engine.keep_blank(HERE, "note", "b", "b", desk.engine.new_inode(), 0o644, 1)
    desk.engine.opened(HERE, blank, "s", "pid:1")
    desk.engine.reading.note(HERE, "read", [blank], "s")
    assert collected(desk) == 0


# -- switched off --------------------------------------------------------------------------
def test_nothing_is_recorded_where_demand_is_off(tmp_path: Path) -> None:
    desk = written(where=tmp_path / "store")
    note(desk, "read", "n1")
    desk.engine.search(HERE, "zebra")
    desk.reopen(config=Config(demand=False))
    note(desk, "read", "n0")
    open_file(desk, "n2")
    desk.engine.search(HERE, "giraffe")
    status = desk.engine.status(HERE)
    assert (status.events, status.misses) == ({}, ("zebra",))
    assert not desk.engine.reading.utility(HERE, 3).any()
    assert desk.engine.reading.counted(HERE) == 0
    assert desk.engine.check() == ()
    desk.reopen(config=Config())
    assert desk.engine.status(HERE).events["read"] == 1
    assert desk.engine.status(HERE).misses == ("zebra",)


# -- what becomes of events -------------------------------------------------------------------
def test_events_go_with_their_engram_and_when_they_are_old(tmp_path: Path) -> None:
    desk = written(where=tmp_path / "store")
    for slug in ("n0", "n1"):
        note(desk, "read", slug)
    desk.engine.search(HERE, "zebra")
    flush(desk)
    desk.rm("n1")
    desk.clock.pass_seconds(91 * 86_400)
    note(desk, "read", "n2")
    desk.engine._upkeep.prune()
    assert desk.engine.status(HERE).events["read"] == 2
    assert desk.engine.check() == ()
    desk.clock.pass_seconds(90 * 86_400)
    desk.engine._upkeep.prune()
    assert desk.engine.status(HERE).events["read"] == 1
    desk.reopen()
    assert desk.engine.status(HERE).events["read"] == 1
    assert desk.engine.status(HERE).misses == ()
    assert desk.engine.check() == ()


def test_a_successor_goes_on_with_what_its_original_was_to_readers() -> None:
    desk = written()
    note(desk, "read", "n1")
    copy = desk.put("copy", NOTE.format(1))
    assert copy.entry.no != desk.entry("n1").no
    desk.rm("n1")
    desk.clock.pass_seconds(301)
    desk.engine.settle()
    assert desk.entry("copy").id.endswith("000000000001") and used(desk, "copy") > 0.0


def test_a_deleted_engram_that_lives_again_has_its_events() -> None:
    desk = written()
    note(desk, "read", "n1")
    id = desk.entry("n1").id
    desk.rm("n1")
    desk.engine.revive(HERE, id)
    assert used(desk, "n1") > 0.0


class Refusing(Store):
    """A store that is full while it is told so."""

    full = False

    def transaction(self, *, one_statement: bool = False):  # type: ignore[no-untyped-def]
        if self.full:
            raise StoreFull("no space is left", "make room")
        return super().transaction(one_statement=one_statement)


def entry(no: int) -> Entry:
    return Entry(
        no=no, id=f"0190a0b0-0000-7000-8000-{no:012d}", namespace=(), kind="note", slug=f"n{no}",
        name=f"n{no}", inode=100 + no, mode=0o644, mtime_ns=0, ctime_ns=0, created_ns=0,
        updated_ns=0, size=1, shown_size=1, seq=no + 1, source_seq=no + 1,
    )  # fmt: skip


def test_what_cannot_be_stored_waits_and_no_reader_fails() -> None:
    config, now = Config(demand_held=3), 10 * DAY_NS
    store = Refusing(None, config)
    entries = Entries()
    entries.swap([entry(no) for no in range(9)])
    demand = Demand(store, entries, config, lambda: now)
    store.full = True
    demand.note(EVERYTHING, "read", [entry(1), entry(2)], "s")
    demand.missed(EVERYTHING, "zebra")
    with pytest.raises(EngineError, match=r"3 events of readers wait .*no space") as caught:
        demand.flush()
    assert caught.value.hint == "make room"
    demand.note(EVERYTHING, "read", [entry(no) for no in range(3, 9)], "s")
    assert demand.counted(EVERYTHING) == 3  # no more than can be held
    assert [miss.question for miss in demand.waiting_misses()] == ["zebra"]
    demand.close()  # says so, and raises nothing
    store.full = False
    demand.flush()
    assert not demand.due()
    with store.cursor() as cursor:
        assert sorted(events.load(cursor).engram.tolist()) == [1, 2, 3]
        assert len(events.load_misses(cursor, EVERYTHING, 9)) == 1
    store.close()


def test_failing_is_a_problem_of_the_store_until_it_succeeds() -> None:
    desk = written()
    demand, background = desk.engine._upkeep.state.demand, desk.engine._upkeep.background
    background.stop()
    [job] = [job for job in background._jobs if job.name == "demand"]
    assert (job.quiet, job.every_seconds) == (False, 30.0)
    note(desk, "read", "n1")
    kept, demand._store_some = demand._store_some, _full  # type: ignore[method-assign]
    for other in background._jobs:
        other.not_before = 0.0 if other is job else float("inf")
    background.step()
    assert desk.engine.status(HERE).problems == ("1 events of readers wait to be stored: full",)
    demand._store_some = kept  # type: ignore[method-assign]
    job.not_before = 0.0
    background.step()
    assert desk.engine.status(HERE).problems == () and not demand.due()


def _full() -> None:
    raise StoreFull("full")


def test_events_of_readers_are_no_commit() -> None:
    desk = written()
    before = desk.engine.status(HERE).seq
    note(desk, "read", "n1")
    flush(desk)
    assert desk.engine.status(HERE).seq == before and len(desk.heard) == 3


# -- what check finds ----------------------------------------------------------------------
@pytest.mark.parametrize(
    ("row", "said"),
    [
        ((1, 77, "read", "s", "[]"), "1 engrams that do not exist have events"),
        ((1, -5, "read", "s", "[]"), "1 engrams that do not exist have events"),
        ((1, 1, "eaten", "s", "[]"), "1 events of readers cannot be read"),
        ((1, 1, "read", "s", "nonsense"), "1 events of readers cannot be read"),
        ((1, 1, "read", "s", "3"), "1 events of readers cannot be read"),
    ],
)
def test_what_cannot_be_right_is_found_and_forgotten(
    tmp_path: Path, row: tuple[object, ...], said: str
) -> None:
    desk = written(where=tmp_path / "store")
    note(desk, "read", "n1")
    flush(desk)
    with desk.engine._upkeep.state.store.transaction() as cursor:
        cursor.execute("INSERT INTO demand VALUES (?, ?, ?, ?, ?)", list(row))
    desk.reopen()  # such a row keeps no store shut
    assert desk.engine.status(HERE).events["read"] == 1
    (problem,) = desk.engine.check()
    assert problem.key == "events" and said in problem.message
    assert desk.engine.check(repair=True) == ()
    assert desk.engine.status(HERE).events["read"] == 1


def test_an_event_that_is_stored_twice_is_found() -> None:
    desk = written()
    note(desk, "read", "n1")
    flush(desk)
    with desk.engine._upkeep.state.store.transaction() as cursor:
        cursor.execute("INSERT INTO demand SELECT * FROM demand")
    (problem,) = desk.engine.check()
    assert problem.message == "1 events of readers are stored twice"
    assert desk.engine.check(repair=True) == ()


def test_memory_that_is_not_what_is_stored_is_found() -> None:
    desk = written()
    note(desk, "read", "n1")
    flush(desk)
    with desk.engine._upkeep.state.store.transaction() as cursor:
        cursor.execute("DELETE FROM demand")
    (problem,) = desk.engine.check()
    assert problem.message == "of 0 events of readers 1 are counted"
    assert desk.engine.check(repair=True) == ()


def test_a_store_of_before_is_opened(tmp_path: Path) -> None:
    desk = written(where=tmp_path / "store")
    desk.engine.search(HERE, "zebra")
    desk.engine.close()
    store = Store.open(tmp_path / "store")
    with store.cursor() as cursor:
        cursor.execute("ALTER TABLE event DROP COLUMN kinds")
    with store.transaction() as cursor:
        cursor.execute("DROP TABLE demand")
        for (table,) in cursor.execute(
            "SELECT table_name FROM duckdb_tables() WHERE table_name LIKE 'digest%'"
        ).fetchall():
            cursor.execute(f"DROP TABLE {table}")
        cursor.execute("UPDATE meta SET value = '2' WHERE key = 'schema'")
    store.close()
    desk.engine = Engine.open(tmp_path / "store", clock=desk.clock, embed="off")
    assert desk.engine.status(HERE).misses == ("zebra",)
    note(desk, "read", "n1")
    assert used(desk, "n1") > 0.0 and desk.engine.check() == ()
