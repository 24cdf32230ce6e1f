"""The two forms: what they say, and that nothing stored can pose as them."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.model import Degraded, Passage, Span
from engine.recall.answer import Extras, Head, echo, echo_each
from engine.recall.items import Item
from engine.recall.json_form import JsonForm, item_values, with_trace
from engine.recall.markdown import MarkdownForm, trace_text
from engine.visible import json_text, visible
from tests.engine.recall.test_pack import item

HEAD = Head(
    tokens=12, omitted=2, paths=("a/x y.md", 'b/"q": #.md'), truncated=True, characters=5,
    token="a123b456", counter="o200k", controls={"q": "x" * 300, "prop.stage": "open"},
    changed="budget=200&kinds=a,b", degraded=(Degraded("vector", "2 vectors pending"),),
    warnings=("limit 500 was lowered to 200",),
)  # fmt: skip
EVERYTHING = Extras(2, 256, True, True, True)
HOSTILE = st.text(
    alphabet=st.sampled_from(
        "#->`~= \n\t\r\x1b\x9b\x00\x7f\x85\u2028\u2029\u202e:|[]*abmd/.中\x0c\x0b"
    )
    | st.characters(),
    max_size=120,
)


def lines_of(text: str) -> list[str]:
    return text.splitlines()  # the widest notion of a line that Python has


def test_the_front_matter_is_yaml() -> None:
    text = MarkdownForm().render(HEAD, EVERYTHING, ())
    front = yaml.safe_load(text.split("---")[1])
    assert front == {
        "tokens": 12,
        "omitted": 2,
        "paths": ["a/x y.md", 'b/"q": #.md'],
        "truncated": True,
        "degraded": 1,
        "reasons": ["vector - 2 vectors pending"],
        "warnings": 1,
        "controls": "budget=200&kinds=a,b",
        "token": "a123b456",
    }


def test_an_item_is_a_section_headed_by_its_path() -> None:
    one = replace(item(3, "# Long title\n\nFirst.\n\nSecond.\n"), title="Acme", summary="A deal")
    assert MarkdownForm().section(one) == (
        "## note/n3.md\n"
        "why: lexical 4\n"
        "> **Acme**: A deal\n"
        "> stage: open\n"
        ">\n"
        "> # Long title\n"
        ">\n"
        "> First.\n"
        ">\n"
        "> Second.\n"
    )


def test_a_title_that_the_text_says_is_not_said_twice() -> None:
    one = replace(item(3, "# Acme\n\nText.\n", title="Acme"), properties={})
    assert MarkdownForm().section(one) == "## note/n3.md\nwhy: lexical 4\n> # Acme\n>\n> Text.\n"


def test_passages_name_their_lines_and_headings() -> None:
    one = replace(item(0, None, ["first\n", "second"]), properties={})
    assert MarkdownForm().section(one) == (
        "## note/n0.md\nwhy: lexical 1\n\n"
        "passage: Heading > H0\n> first\n\nlines 1-1: Heading > H1\n> second\n"
    )


def test_outside_the_tree_an_item_has_its_id() -> None:
    one = replace(item(7, "text"), path=None)
    assert MarkdownForm().section(one).startswith(f"## {one.entry.id}\n")
    assert item_values(one)["path"] is None


def test_a_superseded_item_says_so() -> None:
    one = replace(item(7, "text"), status="superseded")
    assert "status: superseded" in MarkdownForm().section(one)


@settings(max_examples=200, deadline=None)
@given(HOSTILE, HOSTILE, HOSTILE, HOSTILE)
def test_no_stored_text_can_pose_as_the_wrapper(
    title: str, summary: str, body: str, heading: str
) -> None:
    span = Span(3, 4, 5, 6)
    one = replace(
        item(0, body),
        title=title, summary=summary, properties={"note": body, heading or "x": [title, summary]},
    )  # fmt: skip
    two = replace(one, body=None, passages=(Passage(body, (heading, title), span),))
    for each in (one, two):
        first, *others = lines_of(MarkdownForm().section(each))
        assert first == "## note/n0.md"
        for line in others:
            assert line == "" or line.startswith((">", "lines 3-4", "why: lexical 1"))
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202e]", line)


@settings(max_examples=200, deadline=None)
@given(HOSTILE, HOSTILE)
def test_json_carries_every_text_and_no_escape_sequence(title: str, body: str) -> None:
    one = replace(item(0, body), title=title, properties={title: body})
    text = JsonForm().render(HEAD, EVERYTHING, [JsonForm().section(one)])
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202e]", text)
    answer = json.loads(text)
    assert answer["items"][0]["title"] == title
    assert answer["items"][0]["body"] == body
    assert answer["items"][0]["properties"] == {title: body}


def test_json_has_every_key_of_the_contract() -> None:
    text = JsonForm().render(HEAD, EVERYTHING, [JsonForm().section(item(0, None, ["a", "b"]))])
    answer = json.loads(text)
    assert answer.keys() == {
        "tokens", "truncated", "omitted", "characters", "counter", "token", "degraded", "warnings",
        "controls", "items", "untagged", "sources", "chunks",
    }  # fmt: skip
    assert answer["omitted"] == {"count": 2, "paths": list(HEAD.paths)}
    assert answer["degraded"] == [{"what": "vector", "reason": "2 vectors pending"}]
    (one,) = answer["items"]
    assert one.keys() == {
        "path", "id", "kind", "title", "summary", "status", "source_role", "score", "channels",
        "tokens", "relation", "body", "passages", "properties", "surface", "fact", "source_ids",
        "same_as", "properties_cut",
    }  # fmt: skip
    assert one["relation"] is None
    assert one["passages"][1] == {
        "text": "b", "heading_path": ["Heading", "H1"], "start_line": 1, "end_line": 1,
        "byte_start": 10, "byte_end": 19,
    }  # fmt: skip


def test_controls_are_echoed_up_to_256_bytes() -> None:
    answer = json.loads(JsonForm().render(HEAD, EVERYTHING, ()))
    assert answer["controls"]["q"] == "x" * 253 + "…"
    answer = json.loads(JsonForm().render(HEAD, Extras(0, 0), ()))
    assert answer["controls"] == {"q": "…", "filters": 1}
    assert [echo("中文字", most) for most in (9, 8, 6, 5, 3, 2, 0)] == [
        "中文字", "中…", "中…", "…", "…", "…", "…",
    ]  # fmt: skip


@given(st.text(min_size=1, max_size=400), st.lists(st.text(max_size=200), max_size=9))
def test_an_echo_has_256_bytes_with_its_ellipsis(text: str, values: list[str]) -> None:
    told = echo(text, 256)
    assert len(told.encode()) <= 256
    assert told == text or (told.endswith("…") and text.startswith(told[:-1]))
    assert told == text or len((told[:-1] + text[len(told) - 1]).encode()) > 253
    each = echo_each(values, 256)
    assert sum(len(one.encode()) for one in each) <= 256
    assert each == values or (each[-1] == "…" and values[: len(each) - 1] == each[:-1])


def test_the_trace_stands_behind_the_answer() -> None:
    answer = JsonForm().render(HEAD, EVERYTHING, [JsonForm().section(item(0, "}"))])
    traced = json.loads(with_trace(answer, {"times": 1}))
    assert traced.pop("trace") == {"times": 1}
    assert traced == json.loads(answer)
    quoted = trace_text(traced_of("## x\n---"))
    assert all(line.startswith((">", "# trace")) for line in quoted.strip().split("\n"))


@given(st.text())
def test_visible_text_keeps_everything_else(text: str) -> None:
    shown = visible(text)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]", shown)
    if text.isprintable():
        assert shown == text
    assert json.loads(json_text(text)) == text


def test_items_with_dates_and_odd_values_are_written() -> None:
    one: Item = replace(
        item(0, "x"),
        properties={"created": "2026-04-05", "n": 1.5, "map": {"a": [1]}, "flag": False},
    )
    section = MarkdownForm().section(one)
    assert 'created: 2026-04-05; n: 1.5; map: {"a": [1]}; flag: false' in section
    assert json.loads(JsonForm().section(one))["properties"]["created"] == "2026-04-05"


def traced_of(path: str) -> dict[str, object]:
    """The least trace, of one engram that was left out."""
    return {
        "weights": {"lexical": 0.45},
        "channels": {"lexical": [{"rank": 1, "path": path}]},
        "ranked": [],
        "dropped": [{"path": path, "why": "it did not fit the budget"}],
        "dropped_counts": {"budget": 1},
        "degraded": ["vector - 2 vectors pending"],
        "warnings": ["limit 500 was lowered to 200"],
        "times_ms": {"pack": 1.5},
    }


def test_a_trace_carries_nothing_that_a_terminal_obeys() -> None:
    assert "> degraded: vector - 2 vectors pending\n> warning: limit 500 was" in trace_text(
        traced_of("a/b.md")
    )
    text = trace_text(traced_of("\x1b[31m\x9b31m\u202e"))
    assert "\\x1b[31m\\x9b31m\\u202e" in text
    assert json.loads(json_text({"a": "\x9b"}, indent=2)) == {"a": "\x9b"}
