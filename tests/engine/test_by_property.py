"""`by_property`: the live engrams in scope that have a value in a property."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from engine.errors import Invalid
from engine.model import Draft
from engine.namespace import Scope
from tests.engine.desk import HERE, Desk

KINDS = """\
kinds:
  deal:
    fields:
      stage: {type: string, enum: [open, won]}
      amount: {type: number}
      due: {type: datetime}
      done: {type: boolean}
      codes: {type: [string]}
  note: {}
"""


def deal(desk: Desk, slug: str, *lines: str) -> None:
    desk.put(slug, "\n".join(["---", *lines, "---", "x", ""]), kind="deal")


def slugs(desk: Desk, name: str, value: object, scope: Scope = HERE) -> list[str]:
    return [entry.slug for entry in desk.engine.by_property(scope, name, value)]


@pytest.fixture
def desk() -> Desk:
    desk = Desk(kinds=KINDS)
    deal(desk, "a", "stage: open", "amount: 1.10", "due: 2026-04-05", "codes: [A1, 'x,y']")
    deal(desk, "b", "stage: won", "amount: 9007199254740993", "done: true", "codes: [a1]")
    deal(desk, "c", "stage: open", "amount: 1.1", "due: 2026-04-05T02:00:00+02:00", "done: false")
    deal(desk, "d", "amount: null", "codes: ['cafe\u0301']", "tags: [red]")
    return desk


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("stage", "open", "ac"),
        ("stage", ["open", "won"], "abc"),
        ("amount", 1.1, "ac"),
        ("amount", Decimal("1.10"), "ac"),
        ("amount", "1.100", "ac"),
        ("amount", 9007199254740993, "b"),
        ("amount", 9007199254740992, ""),
        ("due", date(2026, 4, 5), "ac"),
        ("due", datetime(2026, 4, 5, tzinfo=UTC), "ac"),
        ("due", datetime(2026, 4, 4, 20, tzinfo=timezone(-timedelta(hours=4))), "ac"),
        ("due", "2026-04-05T00:00:00Z", "ac"),
        ("done", True, "b"),
        ("done", False, "c"),
        ("codes", "A1", "a"),
        ("codes", "x,y", "a"),
        ("codes", "x", ""),
        ("codes", "café", "d"),
        ("tags", "red", "d"),
        ("tags", "Red", ""),
    ],
)
def test_the_rules_of_equality(desk: Desk, name: str, value: object, found: str) -> None:
    assert slugs(desk, name, value) == list(found)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("colour", "red", "no kind declares `colour`"),
        ("amount", None, "null is a missing value"),
        ("amount", [], "no value"),
        ("amount", [1, None], "no value"),
        ("amount", float("nan"), "no value"),
        ("amount", {"a": 1}, "no value"),
        ("amount", "many", "does not fit"),
        ("stage", "lost", "does not fit"),
    ],
)
def test_what_cannot_be_asked_is_refused(desk: Desk, name: str, value: object, said: str) -> None:
    with pytest.raises(Invalid) as caught:
        desk.engine.by_property(HERE, name, value)
    (problem,) = caught.value.problems
    assert said in problem.message and problem.hint


def test_only_live_engrams_in_scope_are_found(desk: Desk) -> None:
    there = Scope((("team", "x"),))
    desk.engine.put(there, Draft("deal", "e", b"---\nstage: open\n---\n"))
    assert slugs(desk, "stage", "open") == ["a", "c"]
    assert slugs(desk, "stage", "open", there) == ["e"]
    assert slugs(desk, "stage", "open", Scope(())) == ["a", "c", "e"]
    desk.rm("a", kind="deal")
    deal(desk, "c", "stage: won")
    assert slugs(desk, "stage", "open") == []
    assert slugs(desk, "stage", "won") == ["b", "c"]


def test_open_mode_takes_any_property_and_judges_a_value_by_its_shape() -> None:
    desk = Desk()
    desk.put("a", "---\nshade: red\nlevel: 5\nplz: '00123'\n---\n")
    desk.put("b", "---\nlevel: 5.0\nplz: 123\n---\n")
    assert slugs(desk, "shade", "red") == ["a"]
    assert slugs(desk, "level", 5) == ["a", "b"]
    assert slugs(desk, "plz", "00123") == ["a"]
    assert slugs(desk, "nobody has it", 1) == []
