"""A document is judged by its place and its kind, with all problems at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.catalogue import OPEN
from engine.instants import instant
from engine.values import number
from tests.engine.deals import DEAL, head, problems


def test_strings_stay_as_written() -> None:
    block = "sleep: 10:00\nver: 1.10\nzip: 00123\ncodes: [en, no, on, y, true, 1.10, ~, 0x1F]"
    assert head(block).properties == {
        "sleep": "10:00",
        "ver": "1.10",
        "zip": "00123",
        "codes": ["en", "no", "on", "y", "true", "1.10", "0x1F"],
    }


def test_tags_are_never_booleans() -> None:
    for catalogue in (DEAL, OPEN):
        assert head("tags: [en, no, on, y]", catalogue).properties["tags"] == [
            "en",
            "no",
            "on",
            "y",
        ]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("12", 12), ("-3", -3), ("1.5", 1.5), ("1.10", "1.10"), ("00123", "00123"),
        ("0x1F", "0x1F"),
        ("9007199254740992", 9007199254740992), ("9007199254740993", "9007199254740993"),
        ("1e3", "1e3"), ("0.1", 0.1), ("+5", "+5"), ("-0", "-0"), ("1.0", 1.0),
        ("0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827"),
    ],
)  # fmt: skip
def test_numbers_keep_what_json_cannot(written: str, value: object) -> None:
    for catalogue in (DEAL, OPEN):
        found = head(f"amount: {written}", catalogue).properties["amount"]
        assert found == value
        assert type(found) is type(value)


@pytest.mark.parametrize(
    "written", ["'12'", "twelve", "[1]", "{a: 1}", ".inf", ".nan", "12 EUR", "1_000", "9" * 500]
)
def test_what_is_no_number(written: str) -> None:
    (problem,) = problems(f"stage: open\namount: {written}")
    assert (problem.line, problem.key) == (3, "amount")
    assert problem.hint


@pytest.mark.parametrize("written", ["yes", "on", "1", "'true'", "[true]"])
def test_what_is_no_boolean(written: str) -> None:
    (problem,) = problems(f"done: {written}")
    assert problem.key == "done"
    assert "boolean" in problem.hint or "true or false" in problem.hint


@pytest.mark.parametrize(
    "written",
    [
        "2026-04-05", "'2026-04-05'", "2012-10-11T23:39:45-04:00", "2026-04-05 10:00",
        "2026-04-05T10:00:00.123456789Z", "2001-12-14 21:59:43.10 -05",
    ],
)  # fmt: skip
def test_datetimes_stay_as_written(written: str) -> None:
    found = head(f"due: {written}").properties["due"]
    assert found == written.strip("'")


@pytest.mark.parametrize(
    "written", ["2026-13-01", "2026-02-30", "tomorrow", "10:00", "2026-04-05T25:00", "2026"]
)
def test_what_is_no_datetime(written: str) -> None:
    (problem,) = problems(f"due: {written}")
    assert "2026-04-05" in problem.hint


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01", 0),
        ("1970-01-01T00:00:01Z", 10**9),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T19:00:00-05", 0),
        ("1970-01-01 00:00:00.5", 5 * 10**8),
        ("1969-12-31", -86_400 * 10**9),
        ("2012-10-11T23:39:45-04:00", 1_350_013_185 * 10**9),
        ("1970-01-01T00:00:00+24:00", None),
        ("1970-01-01T00:00:60Z", None),
        ("1970-1-1", None),
    ],
)
def test_instants(text: str, expected: int | None) -> None:
    assert instant(text) == expected


@given(st.text(max_size=30))
def test_instants_and_numbers_are_total(text: str) -> None:
    assert instant(text) is None or isinstance(instant(text), int)
    found = number(text)
    assert found is None or found.is_finite()


def test_null_is_missing() -> None:
    for catalogue in (DEAL, OPEN):
        found = head("stage:\namount: ~\ncodes: null\nwho:\ntags:", catalogue)
        assert found.properties == {}
    (problem,) = problems("name: ~", kind="strict")
    assert (problem.key, problem.line) == ("name", 2)
    (problem,) = problems("", kind="strict")
    assert (problem.key, problem.line) == ("name", None)
    assert head("name: ''", kind="strict").properties == {"name": ""}


def test_an_enum_holds() -> None:
    assert head("stage: no").properties == {"stage": "no"}
    assert head("stage: ' won '").properties == {"stage": " won "}
    (problem,) = problems("stage: wno")
    assert "open, won, no" in problem.hint


def test_lists_are_lists() -> None:
    (problem,) = problems("codes: A1")
    assert problem.hint == "write [A1]"
    (problem,) = problems("sizes: [1, x]")
    assert "x is not a number" in problem.message
    assert head("sizes: [1, 1.10]\ndays: [2026-04-05]").properties == {
        "sizes": [1, "1.10"],
        "days": ["2026-04-05"],
    }
