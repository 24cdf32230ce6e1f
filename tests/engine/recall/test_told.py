"""What is told of an engram, however odd: tags with commas, huge properties, names of odd lines."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.filters import split
from engine.recall.items import (
    MOST_CUT,
    NAME_CHARACTERS,
    PROPERTIES_CHARACTERS,
    PROPERTY_CHARACTERS,
    short_properties,
)
from engine.recall.markdown import FRONT_TOKENS
from engine.tokens import counter
from tests.engine import library as stored
from tests.engine.library import Library
from tests.engine.recall.test_request import problems

# -- tags --------------------------------------------------------------------------------
HELD = (
    (), ("a",), ("b",), ("a", "b"), ("a, b",), ("a, b", "a"), ("a, b", "a", "b"), ("c",),
    ("a, b", "c"), ("a", "b", "c"),
)  # fmt: skip
ASKED = (("a, b",), ("a, b", "c"), ("a",), ("a", "b"), ("a, b", "a"), ("c",))


def meets(match: str, held: set[str], asked: tuple[str, ...]) -> bool:
    """Each value is a tag, or else all (any: one) of those between its commas."""
    if match.startswith("any"):
        return any(one in held for value in asked for one in (value, *split([value])))
    readings = itertools.product(*({(value,), tuple(split([value]))} for value in asked))
    wanted = [{tag for some in reading for tag in some} for reading in readings]
    if match == "exact":
        return held in wanted
    return any(one <= held for one in wanted)


@pytest.mark.parametrize("match", ["any", "all", "any_strict", "all_strict", "exact"])
@pytest.mark.parametrize("asked", ASKED)
def test_a_tag_that_holds_a_comma_is_asked_for_like_a_title(
    match: str, asked: tuple[str, ...]
) -> None:
    library = Library()
    for at, tags in enumerate(HELD):
        library.put(f"note/n{at}", f"---\ntags: {json.dumps(tags)}\n---\npump\n")
    given_tags = "".join(f"&tags={tag.replace(', ', '%2C+')}" for tag in asked)
    found = {
        item.entry.slug for item in library.ask(f"q=pump&tags_match={match}{given_tags}").items
    }
    loose = match in ("any", "all")
    assert found == {
        f"n{at}"
        for at, tags in enumerate(HELD)
        if (loose and not tags) or meets(match, set(tags), asked)
    }


# -- properties --------------------------------------------------------------------------
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=600),
    lambda inner: st.lists(inner, max_size=80) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=90,
)


@given(st.dictionaries(st.text(max_size=400), VALUES, max_size=40))
def test_properties_have_their_room_and_what_is_cut_is_named(properties: dict[str, Any]) -> None:
    kept, cut = short_properties(properties)
    assert len(json.dumps(kept, ensure_ascii=False)) <= 8 * PROPERTIES_CHARACTERS
    whole = {name for name, value in kept.items() if value == properties[name]}
    changed = [name for name in properties if name not in whole]
    assert len(cut) == min(len(changed), MOST_CUT)
    assert bool(cut) == bool(changed)
    for name, told in zip(changed, cut, strict=False):
        assert told == name or told[-1] == "…"
        assert len(told) <= NAME_CHARACTERS
    for name, value in kept.items():
        full = properties[name]
        if isinstance(value, str) and value != full:
            assert full.startswith(value[:-1]) and len(value) <= PROPERTY_CHARACTERS
        elif isinstance(value, list):
            assert full[: len(value)] == value


def test_what_fits_is_whole() -> None:
    properties = {"stage": "open", "tags": ["a", "b"], "n": 1.5, "map": {"a": [1]}, "no": None}
    assert short_properties(properties) == (properties, ())


@pytest.mark.parametrize("form", ["json", "md"])
def test_an_engram_of_many_tags_leaves_room_for_others(form: str) -> None:
    library = Library()
    tags = ", ".join(f"tag{at}" for at in range(5000))
    library.put(
        "note/huge", f"---\ntags: [{tags}]\ntext: {'pump ' * 9000}\n---\n# Pump pump\n\npump\n"
    )
    for at in range(5):
        library.put(f"note/n{at}", f"pump number {at} runs\n")
    packed = library.ask(f"q=pump&format={form}")
    assert len(packed.items) == 6
    if form == "json":
        items = {one["path"]: one for one in json.loads(packed.rendered)["items"]}
        huge = items["note/huge.md"]
        assert huge["properties_cut"] == ["tags", "text"]
        assert huge["properties"]["tags"][:2] == ["tag0", "tag1"]
        assert huge["properties"]["text"].endswith("…")
        assert items["note/n1.md"]["properties_cut"] == []


def test_a_first_item_without_room_for_its_properties_says_so() -> None:
    library = Library()
    library.put("note/a", f"---\nsaid: {'word ' * 40}\n---\n# A\n\n{'pump and more. ' * 130}\n")
    [item] = json.loads(library.ask("q=pump&format=json&budget=900&detail=full").rendered)["items"]
    if item["body"] is None:
        assert (item["properties"], item["properties_cut"]) == ({}, ["…"])


# -- what is said ------------------------------------------------------------------------
def test_warnings_are_counted_where_48_tokens_have_room_and_told_in_the_trace(
    library: Library,
) -> None:
    text = library.ask("q=pump&limit=500&trace=on").rendered.decode()
    front, _, rest = text.removeprefix("---\n").partition("---\n")
    assert "warnings: 1\n" in front
    assert "> warning: limit 500 was lowered to 200\n" in rest
    assert "warnings" not in library.ask("q=pump").rendered.decode()
    count = counter("o200k")
    narrow = "&".join(f"min_score.{one}=0.001" for one in ("graph", "temporal", "lexical"))
    text = library.ask(f"q=pump&limit=500&tags=a-rather-long-tag&{narrow}").rendered.decode()
    assert count("---\n".join(text.split("---\n")[:2]) + "---\n") <= FRONT_TOKENS


@pytest.mark.parametrize("odd", ["\u2028", "\u2029", "\x85", "\x0b", "\x1c", "\xa0", "  "])
def test_a_path_is_written_one_way_everywhere(odd: str, monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library()
    library.put("note/a", "pump pump\n")
    library.put("note/b", "a pump, said at length and so less of one than the other is\n")
    name = f"note/x{odd}y.md"

    monkeypatch.setattr(stored, "path_of", lambda entry: name)
    text = library.ask("q=pump&trace=on&limit=1&detail=summary").rendered.decode()
    item, _, trace = text.partition("\n# trace\n")
    heading = item[item.index("\n## ") + 4 :].split("\n")[0]
    assert f"> 1. {heading} " in trace
    assert f"> - {heading} " in trace or f"> - {heading}:" in trace
    assert f"lexical: 1 {heading}" in trace
    values = json.loads(library.ask("q=pump&trace=on&limit=1&format=json").rendered)
    assert values["items"][0]["path"] == values["trace"]["ranked"][0]["path"] == name


# -- what is refused ---------------------------------------------------------------------
@pytest.mark.parametrize(
    ("request_", "hint"),
    [
        ("budget=63", "a whole number, 64 to 32768"),
        ("budget=63&sources=on", "a whole number, 0, or 64 to 32768"),
        ("budget=1&chunks=on", "a whole number, 0, or 64 to 32768"),
        ("budget=511&chunks=on&format=json", "a whole number, 0, or 512 to 32768"),
        ("budget=63&sources=off", "a whole number, 64 to 32768"),
    ],
)
def test_the_range_of_a_budget_is_told_truly(request_: str, hint: str) -> None:
    [said] = problems(f"q=x&{request_}")
    assert said.endswith(f"({hint})")


def test_what_is_no_key_is_told_every_key_and_filter() -> None:
    [said] = problems("q=x&budgt=5")
    hint = said[said.index("(keys are ") + 10 : -1].split(", ")
    keys, families = hint[:-2], hint[-2:]
    assert families == ["prop.NAME", "namespace.NAME"]
    assert keys == sorted(set(keys))
    assert {"q", "budget", "kinds", "kind", "title", "created_after", "scope_ids", "tags"} <= {
        *keys
    }
    assert "the filters" not in said
