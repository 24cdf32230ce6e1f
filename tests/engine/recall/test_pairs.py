"""The written forms of a request, and that reading them is total."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.errors import Invalid
from engine.recall.pairs import WRITTEN_BYTES, parse_pairs, parse_written


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("q=overheating pumps&budget=4000", (("q", "overheating pumps"), ("budget", "4000"))),
        ("q=overheating+pumps", (("q", "overheating pumps"),)),
        ("q=a%2Fb%26c%3Dd", (("q", "a/b&c=d"),)),
        ("q=%E4%B8%AD%e6%96%87", (("q", "中文"),)),
        ("q=中文", (("q", "中文"),)),
        ("q=50% off", (("q", "50% off"),)),
        ("q=a=b", (("q", "a=b"),)),
        ("q=", (("q", ""),)),
        ("&&q=x&", (("q", "x"),)),
        ("", ()),
        ("kinds=a&kinds=b", (("kinds", "a"), ("kinds", "b"))),
    ],
)
def test_pairs_of_a_name(text: str, pairs: tuple[tuple[str, str], ...]) -> None:
    assert parse_pairs(text) == pairs


def test_a_piece_without_equals_is_refused_with_the_spelling_that_works() -> None:
    with pytest.raises(Invalid) as caught:
        parse_pairs("q=R&D budget")
    assert "%26" in str(caught.value)


@pytest.mark.parametrize("text", ["q=%ff", "q=\udcff"])
def test_bytes_that_are_no_utf8_are_refused(text: str) -> None:
    with pytest.raises(Invalid):
        parse_pairs(text)


@pytest.mark.parametrize(
    ("data", "pairs"),
    [
        (b"q=pumps&budget=200\n", (("q", "pumps"), ("budget", "200"))),
        (b"why do pumps overheat?\n", (("q", "why do pumps overheat?"),)),
        ("warum überhitzen Pumpen?".encode(), (("q", "warum überhitzen Pumpen?"),)),
        (b"x=3 what does it mean", (("q", "x=3 what does it mean"),)),
        (b"budgt=200&q=pumps", (("budgt", "200"), ("q", "pumps"))),
        (b"prop.stage=open&kinds=deal", (("prop.stage", "open"), ("kinds", "deal"))),
        (b"two\nlines & more", (("q", "two\nlines & more"),)),
        (b"{curly} text", (("q", "{curly} text"),)),
        (b"\xef\xbb\xbfplain", (("q", "plain"),)),
        (b"\n", ()),
        (b"", ()),
    ],
)
def test_written_requests(data: bytes, pairs: tuple[tuple[str, str], ...]) -> None:
    assert parse_written(data) == pairs


def test_a_floor_in_json_is_a_number_or_one_for_each_channel() -> None:
    assert parse_written(b'{"q": "x", "min_score": 0.25}') == (("q", "x"), ("min_score", "0.25"))
    assert parse_written(b'{"min_score": {"lexical": 0.2, "graph": 1}}') == (
        ("min_score.lexical", "0.2"),
        ("min_score.graph", "1"),
    )


def test_json_requests() -> None:
    request = {
        "q": "pumps & valves",
        "budget": 200,
        "trace": True,
        "kinds": ["asset", "incident"],
        "prop": {"stage": ["open", "won"]},
        "weights": {"lexical": 2, "vector": 0.5},
    }
    assert parse_written(json.dumps(request).encode()) == (
        ("q", "pumps & valves"),
        ("budget", "200"),
        ("trace", "true"),
        ("kinds", "asset"),
        ("kinds", "incident"),
        ("prop.stage", "open"),
        ("prop.stage", "won"),
        ("weights", "lexical:2,vector:0.5"),
    )


@pytest.mark.parametrize(
    "data",
    [
        b'{"q": }', b'{"q": null}', b'{"q": {"a": 1}}', b'{"q": [[1]]}', b'{"a": NaN}', b"\xff",
        b'{"weights": {"lexical": []}}', b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"a": ' + b"9" * 5_000 + b"}", b"q=" + b"x" * WRITTEN_BYTES,
    ],
)  # fmt: skip
def test_bad_written_requests_are_refused(data: bytes) -> None:
    with pytest.raises(Invalid):
        parse_written(data)


@given(st.text() | st.text(alphabet="q=&%+{}ab1\udc80", max_size=30))
@example("%")
@example("=")
def test_names_are_read_or_refused(text: str) -> None:
    try:
        pairs = parse_pairs(text)
    except Invalid:
        return
    for key, value in pairs:
        f"{key}{value}".encode()


@given(st.binary() | st.text(alphabet='q=&%+{}[]":,1nul ', max_size=40).map(str.encode))
def test_written_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        pairs = parse_written(data)
    except Invalid:
        return
    for key, value in pairs:
        f"{key}{value}".encode()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(st.dictionaries(st.sampled_from(["q", "kinds", "prop", "weights", "x"]) | st.text(), JSON))
def test_any_json_object_is_read_or_refused(value: dict[str, object]) -> None:
    try:
        parse_written(json.dumps(value).encode())
    except Invalid as error:
        assert error.problems
