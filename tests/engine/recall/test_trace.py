"""The trace of a recall: why this is here, why that is not, and what it costs."""

from __future__ import annotations

import json
from typing import cast

from engine.recall.pack import Pack
from engine.tokens import counter
from tests.engine.library import Library

O200K = counter("o200k")


def test_a_trace_stands_behind_the_answer_and_is_not_counted(library: Library) -> None:
    plain = library.ask("q=pump overheats&format=json&limit=2")
    traced = library.ask("q=pump overheats&format=json&limit=2&trace=on")
    answer = json.loads(traced.rendered)
    trace = answer["trace"]
    assert len(answer["items"]) == len(json.loads(plain.rendered)["items"])
    assert trace["channels"].keys() == {"lexical", "vector", "exact", "graph"}
    assert trace["channels"]["lexical"][0]["rank"] == 1
    assert trace["ranked"][0]["multipliers"]["recency"] == 1.0
    assert trace["dropped_counts"]["limit"] == 1
    assert trace["times_ms"].keys() >= {"filters", "ranking", "pack", "channel lexical"}
    text = library.ask("q=pump overheats&trace=on").rendered.decode()
    answer_text, _, behind = text.partition("\n# trace\n")
    assert all(line.startswith(">") for line in behind.rstrip().split("\n"))
    tokens = int(answer_text.split("tokens: ")[1].split("\n")[0])
    assert O200K(answer_text) == tokens


def test_a_trace_names_what_did_not_fit(library: Library) -> None:
    packed = library.ask("q=pump overheats&budget=64&trace=on")
    assert packed.trace is not None
    dropped = packed.trace["dropped"]
    assert isinstance(dropped, list)
    assert {"path": "incident/may.md", "why": "it did not fit the budget"} in dropped


def reasons(packed: Pack) -> dict[str, str]:
    """Path -> why it is not in the pack."""
    assert packed.trace is not None
    dropped = cast("list[dict[str, str]]", packed.trace["dropped"])
    return {one["path"]: one["why"] for one in dropped}


def test_a_trace_says_what_it_was_that_left_an_engram_out(library: Library) -> None:
    shown = [item.path for item in library.ask("q=pump overheats").items]
    facts = library.ask("q=pump overheats&surfaces=facts&trace=on")
    assert {reasons(facts)[str(path)] for path in shown} == {"engrams were not asked for"}
    short = library.ask("q=pump overheats&max_characters=40&detail=summary&trace=on")
    assert short.cut_by == "max_characters"
    assert "it did not fit max_characters" in reasons(short).values()
    assert "it did not fit the budget" not in reasons(short).values()
    assert short.trace is not None
    counts = cast("dict[str, int]", short.trace["dropped_counts"])
    assert counts["budget"] == 0
    assert counts["max_characters"] > 0
    assert library.ask("q=pump overheats&trace=on").cut_by == ""


def test_a_trace_explains_the_pack_and_gives_weights_and_times(library: Library) -> None:
    packed = library.ask("q=pump overheats in May 2026&budget=64&weights=graph:2&trace=on")
    assert packed.trace is not None
    ranked = cast("list[dict[str, object]]", packed.trace["ranked"])
    inside = [one["path"] for one in ranked if one["packed"]]
    assert inside == [item.path for item in packed.items]
    assert len(ranked) > len(inside)
    why, _, why_not = packed.rendered.decode().partition("> why not these:")
    assert all((f". {one['path']} " in why) == one["packed"] for one in ranked)
    assert all((f"- {one['path']} " in why_not) != one["packed"] for one in ranked)
    weights = cast("dict[str, float]", packed.trace["weights"])
    assert weights["graph"] == 2 * library.config.graph_weight
    assert weights["lexical"] == library.config.lexical_weight
    times = cast("dict[str, float]", packed.trace["times_ms"])
    assert {"channel graph", "channel temporal"} <= times.keys()


def test_a_trace_names_what_is_beyond_the_limit() -> None:
    library = Library()
    for number in range(30):
        library.put(f"note/{number:02}", "pump " * (number + 1) + "other words " * (30 - number))
    whole = library.ask("q=pump&channels=lexical&min_score.lexical=0.01")
    first, *others = [item.path for item in whole.items]
    packed = library.ask("q=pump&channels=lexical&limit=1&trace=on")
    assert [item.path for item in packed.items] == [first]
    assert packed.trace is not None
    assert packed.trace["dropped"] == [
        {"path": path, "why": "it is beyond the limit"} for path in others
    ]
    assert [one["path"] for one in packed.trace["channels"]["lexical"]] == [first, *others]  # type: ignore[index]
    text = packed.rendered.decode()
    assert text.count("it is beyond the limit") == 10
    assert "left out: 29 (limit)" in text
    browsed = library.ask("kinds=note&limit=1&trace=on").rendered.decode()
    assert browsed.count("it is beyond the limit") == 10
