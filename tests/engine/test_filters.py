"""Filters are parsed by the catalogue, by shape in open mode, and refused with what is valid."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.catalogue import OPEN, Catalogue
from engine.errors import Invalid, Problem
from engine.filters import Filters, is_filter_key, parse_filters
from engine.kinds import with_open_kind
from engine.kinds_file import parse_kinds
from engine.model import Entry, PropertyValue
from tests.engine.judging import holds

ID = "0190aaaa-bbbb-7ccc-8ddd-eeeeffff0000"
DAY = 86_400 * 10**9
CLOSED = parse_kinds(
    """\
kinds:
  Deal:
    fields:
      stage: {type: string, enum: [open, won]}
      amount: {type: number}
      due: {type: datetime}
      due_after: {type: string}
      done: {type: boolean}
      codes: {type: [string], operators: [eq]}
      name: {type: string}
  task: {fields: {effort: {type: number}, name: {type: number}}}
  note: {}
groups: {work: [task, Deal]}
"""
)


def entry(**changes: object) -> Entry:
    values: dict[str, object] = {
        "no": 1, "id": ID, "namespace": (), "kind": "Deal", "slug": "acme", "name": "acme",
        "inode": 2, "mode": 0o644, "mtime_ns": 0, "ctime_ns": 0, "created_ns": DAY,
        "updated_ns": 2 * DAY, "size": 0, "shown_size": 0, "seq": 1, "source_seq": 1,
        "title": "Acme, a deal",
    }  # fmt: skip
    return Entry(**{**values, **changes})  # type: ignore[arg-type]


def passes(
    pairs: list[tuple[str, str]],
    properties: dict[str, PropertyValue] | None = None,
    catalogue: Catalogue = CLOSED,
    **changes: object,
) -> bool:
    filters = parse_filters(pairs, catalogue)
    return filters.matches_entry(entry(**changes)) and all(
        holds(test, properties or {}) for test in filters.tests
    )


def refused(*pairs: tuple[str, str], catalogue: Catalogue = CLOSED) -> tuple[Problem, ...]:
    with pytest.raises(Invalid) as caught:
        parse_filters(pairs, catalogue)
    return caught.value.problems


def test_no_filter_passes_everything() -> None:
    assert parse_filters([], CLOSED) == Filters()
    assert Filters().empty
    assert passes([])
    assert not parse_filters([("title", "x")], CLOSED).empty


@pytest.mark.parametrize(
    ("key", "is_filter"),
    [
        ("kinds", True), ("kind", True), ("title", True), ("created_after", True), ("prop.x", True),
        ("scope_ids", True), ("updated_before", True), ("q", False), ("proper", False),
        ("tags", False),
    ],
)  # fmt: skip
def test_which_keys_are_filters(key: str, is_filter: bool) -> None:
    assert is_filter_key(key) is is_filter


# -- entries -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([("kinds", "deal")], True),
        ([("kinds", "note, DEAL")], True),
        ([("kinds", "note"), ("kinds", "deal")], True),
        ([("kinds", "work")], True),
        ([("kinds", "note")], False),
        ([("kinds", "deal"), ("kind", "note")], False),
        ([("kind", "Deal")], True),
        ([("title", "Acme, a deal")], True),
        ([("title", "x,Acme"), ("title", "y")], False),
        ([("title", "acme, a deal")], False),
        ([("created_after", "1970-01-02")], True),
        ([("created_after", "1970-01-02T00:00:01Z")], False),
        ([("created_before", "1970-01-02")], False),
        ([("created_before", "1970-01-03")], True),
        ([("updated_after", "1970-01-03"), ("updated_before", "1970-01-04")], True),
        ([("scope_ids", ID.upper())], True),
        ([("scope_ids", f"{ID[:-1]}1,/Deal/acme.md")], True),
        ([("scope_ids", "deal/acme")], True),
        ([("scope_ids", "task/acme")], False),
    ],
)
def test_conditions_on_the_entry(pairs: list[tuple[str, str]], expected: bool) -> None:
    assert passes(pairs) is expected


def test_titles_and_slugs_are_compared_composed() -> None:
    assert passes([("title", "cafe\u0301")], title="café")
    assert passes([("scope_ids", "deal/cafe\u0301")], slug="café")


@pytest.mark.parametrize(
    ("pair", "word"),
    [
        (("kinds", "nope"), "Deal, note, task, work"),
        (("kinds", " , "), "empty"),
        (("created_after", "soon"), "2026-04-05"),
        (("scope_ids", "nope"), "kind/slug"),
        (("scope_ids", " , "), "empty"),
        (("title", " "), "empty"),
        (("colour", "red"), "prop.NAME"),
    ],
)
def test_bad_conditions_on_the_entry(pair: tuple[str, str], word: str) -> None:
    (problem,) = refused(pair)
    assert problem.key == pair[0]
    assert word in str(problem)


def test_a_time_is_given_once() -> None:
    (problem,) = refused(("created_after", "2026-01-01"), ("created_after", "2026-01-02"))
    assert "twice" in problem.message


# -- declared properties -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pairs", "value", "expected"),
    [
        ([("prop.stage", "open,won")], "won", True),
        ([("prop.stage", "open")], "won", False),
        ([("prop.stage", "open")], None, False),
        ([("prop.amount", "1.1")], "1.10", True),
        ([("prop.amount", "9007199254740993")], "9007199254740993", True),
        ([("prop.amount", "9007199254740993")], 9007199254740992, False),
        ([("prop.amount", "1e1,3")], 10, True),
        ([("prop.amount", "0x10")], 16, True),
        ([("prop.amount_min", "2"), ("prop.amount_max", "3")], 3, True),
        ([("prop.amount_min", "2"), ("prop.amount_max", "3")], "3.10", False),
        ([("prop.due", "2026-04-05")], "2026-04-05T02:00:00+02:00", True),
        ([("prop.due_before", "2026-04-05")], "2026-04-05T01:00:00+02:00", True),
        ([("prop.due_before", "2026-04-05")], "2026-04-05", False),
        ([("prop.done", "on")], True, True),
        ([("prop.done", "0")], False, True),
        ([("prop.done", "1")], False, False),
        ([("prop.done", "true")], None, False),
        ([("prop.codes", "a")], ["b", "a"], True),
        ([("prop.codes", "A")], ["b", "a"], False),
        ([("prop.tags", "x,a")], ["b", "a"], True),
        ([("prop.tags", "cafe\u0301")], ["café"], True),
        ([("prop.favourite", "true")], True, True),
        ([("prop.name", "a, b")], "a, b", True),
    ],
)
def test_conditions_on_properties(
    pairs: list[tuple[str, str]], value: PropertyValue, expected: bool
) -> None:
    name = pairs[0][0].removeprefix("prop.")
    for suffix in ("_min", "_max", "_before"):
        name = name.removesuffix(suffix)
    assert passes(pairs, {name: value}) is expected


def test_a_field_of_the_exact_name_comes_before_a_suffix() -> None:
    assert passes([("prop.due_after", "x")], {"due_after": "x", "due": "2026-04-05"})
    assert not passes([("prop.due_after", "2026-01-01")], {"due": "2026-04-05"})


def test_kinds_may_declare_one_name_with_different_types() -> None:
    assert passes([("prop.name", "1.0")], {"name": "1.0"})
    assert passes([("prop.name", "1.0")], {"name": 1}, kind="task")
    (problem,) = refused(("kinds", "task"), ("prop.name", "x"))
    assert "a number" in problem.hint


def test_a_property_that_nobody_declares() -> None:
    (problem,) = refused(("prop.colour", "red"))
    assert problem.key == "prop.colour"
    assert "prop.colour=red" in problem.message
    assert "amount" in problem.hint
    assert "tags" in problem.hint
    (problem,) = refused(("kinds", "note"), ("prop.stage", "open"))
    assert "by note" in problem.message
    assert parse_filters([("kinds", "work"), ("prop.effort_min", "1")], CLOSED).tests


@pytest.mark.parametrize(
    ("pair", "word"),
    [
        (("prop.stage", "lost"), "open, won"),
        (("prop.amount", "many"), "a number"),
        (("prop.due", "soon"), "2026-04-05"),
        (("prop.done", "perhaps"), "true or false"),
        (("prop.done", "true,false"), "one value"),
        (("prop.codes", "a,b"), "one value"),
        (("prop.stage", ""), "empty"),
        (("prop.stage_min", "1"), "prop.stage=VALUE"),
        (("prop.amount_after", "2026-01-01"), "_min"),
        (("prop.due_min", "1"), "_after"),
        (("prop.amount_min", "x"), "number"),
        (("prop.amount_min", "1,2"), "number"),
        (("prop.due_before", "x"), "2026-04-05"),
        (("prop.", "x"), "not declared"),
        (("prop._min", "1"), "not declared"),
    ],
)
def test_bad_conditions_on_properties(pair: tuple[str, str], word: str) -> None:
    (problem,) = refused(pair)
    assert problem.key == pair[0]
    assert word in str(problem)


def test_every_bad_filter_is_named() -> None:
    found = refused(("kinds", "nope"), ("prop.amount", "x"), ("created_after", "y"), ("z", "1"))
    assert {problem.key for problem in found} == {"kinds", "prop.amount", "created_after", "z"}


# -- open mode ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pairs", "properties", "expected"),
    [
        ([("prop.x", "1.1")], {"x": "1.10"}, True),
        ([("prop.zip", "00123")], {"zip": "00123"}, True),
        ([("prop.zip", "123")], {"zip": "00123"}, False),
        ([("prop.zip", "00123")], {"zip": 123}, False),
        ([("prop.x", "true")], {"x": True}, True),
        ([("prop.x", "true")], {"x": "true"}, True),
        ([("prop.x", "on")], {"x": True}, False),
        ([("prop.x", "on")], {"x": "on"}, True),
        ([("prop.day", "2026-04-05")], {"day": "2026-04-05T00:00:00Z"}, True),
        ([("prop.day_after", "2026-04-01")], {"day": "2026-04-05"}, True),
        (
            [("prop.day_after", "2026-04-01")],
            {"day_after": "2026-04-01", "day": "1999-01-01"},
            True,
        ),
        ([("prop.day_after", "2026-04-01")], {"day_after": "x", "day": "2026-04-05"}, False),
        ([("prop.n_min", "2")], {"n": 3}, True),
        ([("prop.n_min", "2")], {"n": ["1", 5]}, True),
        ([("prop.n_min", "2")], {"n": True}, False),
        ([("prop.m", "x")], {"m": {"x": 1}}, False),
        ([("prop.m", "x")], {}, False),
        ([("prop.tags", "x")], {"tags": ["x"]}, True),
    ],
)
def test_values_by_their_shape(
    pairs: list[tuple[str, str]], properties: dict[str, PropertyValue], expected: bool
) -> None:
    for catalogue in (OPEN, with_open_kind(OPEN, "Deal")):
        assert passes(pairs, properties, catalogue) is expected


def test_open_mode_knows_any_kind() -> None:
    assert passes([("kinds", "Deal,other")], catalogue=OPEN)
    assert passes([("kinds", "deal")], catalogue=with_open_kind(OPEN, "Deal"))
    assert not passes([("kinds", "other")], catalogue=OPEN)


@given(
    st.lists(
        st.tuples(
            st.one_of(
                st.sampled_from(
                    [
                        "kinds",
                        "title",
                        "created_after",
                        "scope_ids",
                        "prop.x",
                        "prop.amount",
                        "prop.x_min",
                    ]
                ),
                st.text(max_size=8),
            ),
            st.text(max_size=12),
        ),
        max_size=4,
    )
)
def test_any_pairs_are_filters_or_invalid(pairs: list[tuple[str, str]]) -> None:
    for catalogue in (OPEN, CLOSED):
        try:
            filters = parse_filters(pairs, catalogue)
        except Invalid as error:
            assert error.problems
        else:
            filters.matches_entry(entry())
            for test in filters.tests:
                holds(test, {"x": [1, "2", True], "amount": 3})
