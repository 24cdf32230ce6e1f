"""A whole recall with facts, sources, chunks and `as_of`, over a real store."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from engine.config import SECOND_NS
from engine.model import EdgeMeta, Entry
from engine.recall.pairs import parse_pairs
from engine.recall.request import parse_request
from tests.engine.desk import HERE, Desk

HOUR = 3_600
KINDS = "kinds:\n  note: {}\n  observation: {consolidated: true}\n"


def path_of(entry: Entry) -> str | None:
    return f"{entry.kind}/{entry.name}.md"


def ask(desk: Desk, text: str) -> Any:
    engine = desk.engine
    request = parse_request(parse_pairs(f"{text}&format=json"), engine.catalogue, engine.config)
    packed = engine.recall(HERE, request, path_of=path_of)
    answer = json.loads(packed.rendered)
    assert answer["tokens"] == packed.tokens
    return answer


@pytest.fixture
def desk() -> Desk:
    made = Desk(kinds=KINDS)
    made.put("maker", "# Maker\n\nLives in Rome.\n")
    made.put("pump", "# Pump\n\nIt overheats, says [the maker](maker.md).\n")
    made.put("seen", "---\nderived_from: [note/pump]\n---\nPumps overheat.\n", kind="observation")
    meta = EdgeMeta(note="sold in Naples", evidence_id=made.entry("maker").id)
    made.engine.link(HERE, "note/pump", "sold_by", "note/maker", meta)
    return made


def facts(answer: Any) -> dict[str, Any]:
    found = [item for item in answer["items"] if item["surface"] == "fact"]
    return {
        f"{one['path']} {one['fact']['relation']} {one['fact']['target']}": one for one in found
    }


def test_a_fact_is_an_item_behind_its_engram(desk: Desk) -> None:
    answer = ask(desk, "q=overheats")
    assert facts(answer).keys() == {"note/pump.md sold_by note/maker.md"}
    fact = facts(answer)["note/pump.md sold_by note/maker.md"]
    assert fact["fact"]["note"] == "sold in Naples"
    assert [passage["text"] for passage in fact["passages"]] == ["# Maker\n\nLives in Rome.\n"]
    paths = [(item["path"], item["surface"]) for item in answer["items"]]
    assert paths.index(("note/pump.md", "engram")) < paths.index(("note/pump.md", "fact"))


def test_asked_for_by_name_every_edge_is_a_fact(desk: Desk) -> None:
    answer = ask(desk, "q=overheats&surfaces=facts")
    assert {item["surface"] for item in answer["items"]} == {"fact"}
    told = facts(answer)
    assert told.keys() == {
        "note/pump.md sold_by note/maker.md",
        "note/pump.md mentions note/maker.md",
        "observation/seen.md derived_from note/pump.md",
    }
    mention = told["note/pump.md mentions note/maker.md"]["passages"]
    assert [one["text"] for one in mention] == ["It overheats, says [the maker](maker.md)."]


def test_a_note_is_found_where_no_engram_is(desk: Desk) -> None:
    assert [*facts(ask(desk, "q=naples"))] == ["note/pump.md sold_by note/maker.md"]


def test_a_consolidated_kind_brings_its_sources(desk: Desk) -> None:
    pump = desk.entry("pump").id
    answer = ask(desk, "q=overheats&surfaces=engrams,passages")
    ids = {item["path"]: item["source_ids"] for item in answer["items"]}
    assert (ids["observation/seen.md"], ids["note/pump.md"]) == ([pump], [])
    assert answer["sources"][pump]["path"] == "note/pump.md"
    assert answer["controls"]["sources"] is None
    silent = ask(desk, "q=overheats&surfaces=engrams,passages&sources=off")
    assert (silent["sources"], silent["controls"]["sources"]) == ({}, False)
    assert [item["source_ids"] for item in silent["items"]] == [[] for _ in silent["items"]]


def an_hour_passes(desk: Desk) -> str:
    """The time in the middle of two hours that pass."""
    desk.clock.pass_seconds(HOUR)
    moment = datetime.fromtimestamp(desk.clock.now // SECOND_NS, UTC)
    desk.clock.pass_seconds(HOUR)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def test_as_of_shows_text_path_and_sources_of_then(desk: Desk) -> None:
    moment = an_hour_passes(desk)
    desk.put("pump", "# Pump\n\nNow it overheats no more.\n")
    desk.mv("pump", "old-pump")
    desk.put("young", "Young pumps overheat.\n")
    now = ask(desk, "q=overheats&chunks=on")
    assert "note/young.md" in {item["path"] for item in now["items"]}
    past = ask(desk, f"q=overheats&chunks=on&as_of={moment}")
    shown = {item["path"]: item for item in past["items"] if item["surface"] == "engram"}
    assert "note/pump.md" in shown
    assert "note/young.md" not in shown
    assert "note/old-pump.md" not in shown
    assert "says [the maker]" in shown["note/pump.md"]["body"]
    assert not any("no more" in json.dumps(past[part]) for part in ("items", "chunks"))
    before = ask(desk, "q=overheats&as_of=2001-01-01")
    assert (before["items"], before["degraded"][1:]) == ([], [])


def test_as_of_names_no_later_edge_and_no_later_path(desk: Desk) -> None:
    """Items name other engrams too: what led to them, the ends of facts, what they are made of."""
    past = f"q=overheat&surfaces=engrams,facts&sources=on&as_of={an_hour_passes(desk)}"
    desk.mv("pump", "old-pump")
    moved = ask(desk, past)["items"]
    assert "note/pump.md mentions note/maker.md" in facts({"items": moved})
    assert "old-pump" not in json.dumps(moved)
    tight = f"{past}&surfaces=facts&budget=512".replace("surfaces=engrams,facts&", "")
    omitted = ask(desk, tight)["omitted"]["paths"]
    assert "note/pump.md" in omitted and "note/old-pump.md" not in omitted
    [maker] = [one for one in moved if one["path"] == "note/maker.md" and one["fact"] is None]
    assert maker["relation"]["label"] == "mentions"
    desk.put("young", "Young ones overheat, overheat, overheat.\n")
    desk.engine.link(HERE, "note/young", "exposes", "note/maker", EdgeMeta())
    desk.put("old-pump", "# Pump\n\nIt overheats.\n")  # no link any more
    items = ask(desk, past)["items"]
    assert not any(word in json.dumps(items) for word in ("old-pump", "young", "exposes"))
    [maker] = [one for one in items if one["path"] == "note/maker.md" and one["fact"] is None]
    assert maker["relation"] is None
    assert "graph" in maker["channels"]


def test_the_trace_says_of_what_was_not_there_then_that_as_of_takes_it_out(desk: Desk) -> None:
    id = desk.entry("pump").id
    desk.engine.delete(HERE, id)
    moment = an_hour_passes(desk)
    desk.engine.revive(HERE, id)
    asked = f"q=overheats&as_of={moment}&trace=on"
    pump = {"path": "note/pump.md", "why": "as_of takes it out"}
    trace = ask(desk, asked)["trace"]
    assert pump in trace["dropped"]
    assert (trace["dropped_counts"]["as_of"], trace["dropped_counts"]["min_score"]) == (1, 0)
