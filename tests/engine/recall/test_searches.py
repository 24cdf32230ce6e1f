"""Judging a request to one of the searches: its own keys, ranges, every problem, totality."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.catalogue import Catalogue, Field, Kind
from engine.config import Config
from engine.errors import Invalid
from engine.recall.pairs import KEYS, parse_pairs
from engine.recall.searches import SEARCHES, SearchRequest, parse_search

CONFIG = Config()
CATALOGUE = Catalogue(
    {"deal": Kind("deal", fields={"stage": Field("stage", enum=("open", "won"))})}
)
ASKING = [name for name, search in SEARCHES.items() if not search.continues]


def ask(name: str, text: str, form: str = "api") -> SearchRequest:
    return parse_search(name, parse_pairs(text), CATALOGUE, CONFIG, form=form)


def problems(name: str, text: str, form: str = "api") -> list[str]:
    with pytest.raises(Invalid) as caught:
        ask(name, text, form)
    return [f"{problem.key}: {problem}" for problem in caught.value.problems]


@pytest.mark.parametrize("name", ASKING)
def test_what_every_search_takes(name: str) -> None:
    request = ask(
        name, 'q="cooling water" -valve&limit=80&offset=5&kinds=deal&prop.stage=open&format=json'
    )
    assert request.question == '"cooling water" -valve'
    assert (request.limit, request.offset, request.kinds) == (50, 5, ("deal",))
    assert request.warnings == ("limit 80 was lowered to 50",)
    assert request.filters.tests and request.format == "json"
    assert request.search is SEARCHES[name]


@pytest.mark.parametrize("name", ASKING)
@pytest.mark.parametrize(
    ("text", "key", "said"),
    [
        ("q=x&budget=200", "budget", "no key of"),
        ("q=x&trace=on", "trace", "no key of"),
        ("q=x&set=abc", "set", "no key of"),
        ("kinds=deal", "q", "the question is empty"),
        ("q=+%09", "q", "the question is empty"),
        ("q=x&q=y", "q", "2 times"),
        ("q=x&offset=-1", "offset", "0 to 1000"),
        ("q=x&offset=1001", "offset", "0 to 1000"),
        ("q=x&limit=0", "limit", "1 to 50"),
        ("q=x&limit=ten", "limit", "`ten`"),
        ("q=x&format=xml", "format", "md, json"),
        ("q=x&kinds=dael", "kinds", "deal"),
        ("q=x&prop.colour=red", "prop.colour", "not declared"),
        ("q=x&prop.stage=lost", "prop.stage", "open, won"),
    ],
)
def test_what_every_search_refuses(name: str, text: str, key: str, said: str) -> None:
    (problem,) = problems(name, text)
    assert problem.startswith(f"{key}: ") and said in problem


def test_keys_of_some() -> None:
    assert ask("search", "q=x&fusion=rrf").fusion == ask("find_objects", "q=x&fusion=rrf").fusion
    assert ask("text", "q=x").fusion == ask("vector", "q=x").fusion == "raw"
    for name in ("find_exact", "text", "vector"):
        assert "keys are created_after, " in problems(name, "q=x&fusion=rrf")[0]
        assert "updated_before, prop.NAME)" in problems(name, "q=x&fusion=rrf")[0]
    assert ask("vector", "q=x&fresh=on", "written").fresh
    assert "no key of find_exact" in problems("find_exact", "q=x&fresh=on", "written")[0]
    assert "written" not in problems("search", "q=x&fresh=on", "name")[0]
    assert "write the request" in problems("search", "q=x&fresh=on", "name")[0]
    assert "score, rrf" in problems("search", "q=x&fusion=raw")[0]


def test_a_set_is_continued_without_a_question() -> None:
    request = ask("continue", "set=a1b2c3d4&offset=10&limit=5")
    assert (request.set_id, request.offset, request.limit) == ("a1b2c3d4", 10, 5)
    assert "is no result set" in problems("continue", "offset=10")[0]
    assert "`a b`" in problems("continue", "set=a+b")[0]
    for other in ("q=x", "kinds=deal", "prop.stage=open", "fusion=rrf"):
        said = problems("continue", f"set=a1b2c3d4&{other}")
        assert "keys are format, limit, offset, set)" in said[0]


def test_a_question_has_8_kib_and_64_when_written() -> None:
    for name in ASKING:
        assert ask(name, f"q={'x' * 8192}").question
        assert "8192" in problems(name, f"q={'x' * 8193}")[0]
        assert len(ask(name, f"q={'x' * 20_000}", "written").question) == 20_000
        assert "65536" in problems(name, f"q={'x' * 65_537}", "written")[0]


PAIRS = st.lists(
    st.tuples(
        st.sampled_from(sorted(KEYS)) | st.text() | st.just("prop.due_after"),
        st.text() | st.sampled_from(["", "1", "on", "deal", "2026-01-01", "lexical:1", "1" * 30]),
    ),
    max_size=6,
)


@given(st.sampled_from(sorted(SEARCHES)), PAIRS, st.sampled_from(["name", "written", "api"]))
def test_any_pairs_are_judged(name: str, pairs: list[tuple[str, str]], form: str) -> None:
    try:
        request = parse_search(name, pairs, CATALOGUE, CONFIG, form=form)
    except Invalid as error:
        assert error.problems
        assert all(problem.message for problem in error.problems)
    else:
        assert bool(request.question) != bool(request.set_id)
