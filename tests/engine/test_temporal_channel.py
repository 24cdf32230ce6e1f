"""Nearness to a time against its formula, over engrams with datetimes of any shape."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.catalogue import OPEN, Catalogue, Field, Kind
from engine.columns import ColumnCache, Columns
from engine.entries import Entries
from engine.instants import instant
from engine.model import Entry, PropertyValue
from engine.properties import PropertyIndex
from engine.temporal_channel import closeness, hold
from engine.time_expressions import Interval, find

DAY = 86_400_000_000_000
OLD = -(400 * DAY)  # when everything was last changed, in these tests: nowhere near
DEALS = Catalogue(
    {
        "deal": Kind("deal", fields={"due": Field("due", "datetime"), "code": Field("code")}),
        "task": Kind("task", fields={"due": Field("due", "string")}),
        "talk": Kind("talk", fields={"held": Field("held", "datetime", many=True)}),
    }
)


def entry(no: int, kind: str, updated_ns: int) -> Entry:
    return Entry(
        no=no, id=f"id{no}", namespace=(), kind=kind, slug=f"s{no}", name=f"s{no}", inode=100 + no,
        mode=0o644, mtime_ns=1, ctime_ns=1, created_ns=1, updated_ns=updated_ns, size=1,
        shown_size=1, seq=no, source_seq=no,
    )  # fmt: skip


class Store:
    """Engrams by number: a kind, when it was changed, and its properties."""

    def __init__(self) -> None:
        self.entries = Entries()
        self.cache = ColumnCache(self.entries)
        self.properties = PropertyIndex()

    def put(self, no: int, kind: str = "deal", updated_ns: int = OLD, **properties: object) -> None:
        self.entries.swap([entry(no, kind, updated_ns)])
        self.properties.set(no, properties)  # type: ignore[arg-type]

    @property
    def columns(self) -> Columns:
        return self.cache.now()

    def near(self, *intervals: Interval, catalogue: Catalogue = OPEN) -> list[float]:
        found = closeness(intervals, self.columns, self.properties, catalogue)
        assert len(found) == len(self.columns)
        return [round(t, 9) for t in found[: len(self.entries.all())].tolist()]


def changed_at(*updated_ns: int) -> Store:
    """Engrams without datetimes of their own, in the order of the instants."""
    store = Store()
    for no, at in enumerate(updated_ns):
        store.put(no, updated_ns=at)
    return store


def days(first: float, after: float) -> Interval:
    """So many days from 1970 on."""
    return Interval(int(first * DAY), int(after * DAY), "then")


def test_it_is_1_inside_and_falls_to_0_one_length_outside() -> None:
    store = changed_at(*(int(at * DAY) for at in (-2, -1, -0.5, 0, 1, 1.999, 2.5, 3, 3.5, 4, 9)))
    assert store.near(days(0, 2)) == [0.0, 0.5, 0.75, 1, 1, 1, 0.75, 0.5, 0.25, 0, 0]


def test_an_interval_without_a_beginning_holds_all_that_is_older() -> None:
    [before] = find("before March 2025", datetime(2026, 7, 15, tzinfo=UTC), ["en"])
    ends = [np.iinfo(np.int64).min + 2, 0, before.end_ns - 1, before.end_ns + before.fade // 2]
    store = changed_at(*ends, before.end_ns + before.fade, 2**63 - 1)
    assert store.near(before) == pytest.approx([1, 1, 1, 0.5, 0, 0], abs=1e-6)


def test_the_best_of_updated_and_of_the_datetimes_counts() -> None:
    store = Store()
    store.put(0, updated_ns=10 * DAY)
    store.put(1, due="1970-01-11T06:00:00Z")
    store.put(2, updated_ns=12 * DAY, due="1970-01-13T12:00:00Z")
    store.put(3, due="1970-03-01")
    store.put(4, others=["1970-01-01", "no", 7, None, "1970-01-11T12:00:00+02:00"])
    assert store.near(days(10, 11)) == [1, 1, 0, 0, 1]
    assert store.near(days(10, 13)) == [1, 1, 1, 0, 1]
    assert store.near(days(10, 11), days(59, 60)) == [1, 1, 0, 1, 1]
    assert store.near() == [0, 0, 0, 0, 0]


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles", "Asia/Tokyo", "Pacific/Honolulu"])
def test_a_bare_date_is_that_day_wherever_one_asks(zone: str) -> None:
    store = Store()
    store.put(0, due="2026-04-05")
    store.put(1, due=" 2026-04-06 ")
    now = datetime(2026, 7, 15, 12, tzinfo=UTC).astimezone(ZoneInfo(zone))
    one, other = store.near(*find("on 5 April 2026", now, ["en"]))
    assert one == 1.0
    assert other < 1.0


def test_what_a_kind_declares_decides() -> None:
    store = Store()
    store.put(0, "deal", due="1970-01-11T06:00:00Z")
    store.put(1, "task", due="1970-01-11T06:00:00Z")  # a text there
    store.put(2, "deal", code="1970-01-11")
    store.put(3, "talk", held=["1970-02-01", *["1970-05-05"] * 9, "1970-01-11"])
    assert store.near(days(10, 11), catalogue=DEALS) == [1, 0, 0, 1]
    assert store.near(days(10, 11)) == [1, 1, 1, 1]


def test_changes_are_followed_and_newcomers_wait_for_the_columns() -> None:
    store = Store()
    hold(store.properties, OPEN)
    hold(store.properties, DEALS)
    store.put(0, due="1970-01-11")
    store.put(1, due=["1970-01-11", *["1980-01-01"] * 5, "1970-02-11"])
    before = store.columns
    store.put(5_000, "deal", due="1970-01-11")
    assert len(closeness([days(10, 11)], before, store.properties, OPEN)) == len(before)
    for catalogue in (OPEN, DEALS):
        assert store.near(days(10, 11), catalogue=catalogue)[:2] == [1, 1]
    store.properties.set(0, {"due": "1970-01-20"})
    store.properties.remove(1)
    for catalogue in (OPEN, DEALS):
        assert store.near(days(10, 11), catalogue=catalogue)[:2] == [0, 0]
        assert store.near(days(19, 20), days(41, 42), catalogue=catalogue)[:2] == [1, 0]


VALUES: st.SearchStrategy[PropertyValue] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from(
        ["1970-01-05", "1970-01-05T23:30:00-02:00", "0001-01-01", "9999-12-31", "soon", "1970-1-5",
         "1970-01-09 08:00", "1969-12-31T23:59:59.999999999Z", "2026-02-30"]
    ),
)  # fmt: skip
PROPERTIES = st.dictionaries(
    st.sampled_from(["due", "seen", "code"]), st.one_of(VALUES, st.lists(VALUES, max_size=7))
)
INTERVALS = st.lists(
    st.builds(
        lambda start, length, fade: Interval(start, start + length, "then", fade),
        st.integers(-20 * DAY, 20 * DAY),
        st.integers(1, 15 * DAY),
        st.sampled_from([0, 1, DAY]),
    ),
    max_size=3,
)


def formula(
    properties: dict[str, PropertyValue], updated_ns: int, every: Sequence[Interval]
) -> float:
    """t as it is written, an instant and an interval at a time."""
    ats = [updated_ns]
    for value in properties.values():
        for item in value if isinstance(value, list) else [value]:
            at = instant(item) if isinstance(item, str) else None
            if at is not None and isinstance(item, str):
                ats.append(at + (DAY // 2 if len(item.strip()) == 10 else 0))
    best = 0.0
    for at in ats:
        for each in every:
            outside = max(each.start_ns - at, at - each.end_ns, 0)
            best = max(best, 1.0 - outside / each.fade)
    return max(best, 0.0)


@given(st.lists(st.tuples(PROPERTIES, st.integers(-30 * DAY, 30 * DAY)), min_size=1, max_size=6),
       INTERVALS)  # fmt: skip
def test_scores_are_the_formulas_and_each_engrams_own(
    engrams: list[tuple[dict[str, PropertyValue], int]], intervals: list[Interval]
) -> None:
    store = Store()
    for no, (properties, updated_ns) in enumerate(engrams):
        store.put(no, "deal", updated_ns, **properties)
    found = store.near(*intervals)
    for no, (properties, updated_ns) in enumerate(engrams):
        assert found[no] == pytest.approx(formula(properties, updated_ns, intervals), abs=1e-6)
        alone = Store()
        alone.put(0, "deal", updated_ns, **properties)
        assert alone.near(*intervals) == [found[no]]


def test_a_question_finds_what_was_changed_last_week() -> None:
    now = datetime(2026, 7, 15, 12, tzinfo=UTC)
    store = Store()
    for no, ago in enumerate([1, 4, 8, 12, 30]):
        at = now - timedelta(days=ago)
        store.put(no, updated_ns=int(at.timestamp()) * 10**9)
    found = store.near(*find("what did we decide last week", now, ["en"]))
    assert found == [0.785714286, 1, 1, 0.642857143, 0]


@pytest.mark.parametrize("year", [1600, 2300, 9999])
@pytest.mark.parametrize("question", ["since 2020", "after March 2020", "before 2020", "last week"])
def test_any_now_that_a_request_can_name_is_answered(year: int, question: str) -> None:
    """Instants beyond 64 bits of nanoseconds too; the oldest and the newest stand there."""
    store = Store()
    for no, written in enumerate(["1677-10-01", "2021-05-05", "2262-04-01"]):
        store.put(no, due=written)
    found = store.near(*find(f"what came {question}", datetime(year, 6, 1, tzinfo=UTC), ["en"]))
    assert all(0.0 <= t <= 1.0 for t in found)
    if year > 2262 and question == "since 2020":
        assert found[1:] == [1.0, 1.0]
