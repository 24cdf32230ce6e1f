"""No text twice: a quote that stands in an item before is named by its place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.config import Config
from engine.model import EdgeMeta
from engine.recall.pack import Pack
from engine.recall.request import parse_request
from tests.engine.desk import HERE, Desk

SAID = "The pump is driven by the [[motor]], which stands in the cellar below it."
REST = f"\n\n## More\n\n{'Something else is said here. ' * 120}\n"


@pytest.fixture
def desk() -> Desk:
    made = Desk()
    made.put("motor", "# Motor\n\nIt turns.\n")
    return made


def ask(desk: Desk, q: str, **request: Any) -> Pack:
    pairs = [("q", q), *((key, str(value)) for key, value in request.items())]
    parsed = parse_request(pairs, desk.engine.catalogue, desk.engine.config)
    return desk.engine.recall(HERE, parsed, path_of=lambda one: f"{one.kind}/{one.name}.md")


def fact(packed: Pack) -> Any:
    items = json.loads(packed.rendered)["items"]
    [found] = [item for item in items if item["surface"] == "fact"]
    return found


@pytest.mark.parametrize("detail", ["full", "auto", "parts"])
@pytest.mark.parametrize("rest", ["", REST])
def test_a_quote_that_an_item_shows_is_named_by_its_place(
    desk: Desk, detail: str, rest: str
) -> None:
    desk.put("pump", f"# Pump\n\n{SAID}\n{rest}")
    asked = {"detail": detail, "surfaces": "engrams,passages,facts"}
    text = ask(desk, "pump", **asked).rendered.decode()
    assert text.count("driven by") == 1
    assert "fact: mentions note/motor.md\nquoted in: note/pump.md, lines 6-6\n" in text
    told = fact(ask(desk, "pump", **asked, format="json"))
    [quote] = told["passages"]
    assert (quote["text"], told["same_as"], quote["start_line"]) == (None, "note/pump.md", 6)


def test_a_quote_that_no_item_shows_is_given(desk: Desk) -> None:
    desk.put("pump", f"# Pump\n\n{SAID}\n")
    for asked in ({"detail": "summary"}, {"surfaces": "facts"}):
        told = fact(ask(desk, "pump", **{"surfaces": "engrams,facts", **asked}, format="json"))
        assert (told["passages"][0]["text"], told["same_as"]) == (SAID, None)


def test_a_quote_of_which_an_item_shows_the_beginning_is_given() -> None:
    """A paragraph that is longer than a part goes on in the next one."""
    desk = Desk(config=Config(passages=1, digests=False))
    desk.put("motor", "# Motor\n\nIt turns.\n")
    start = "Oil leaks there, " * 40
    line = f"{start}by the [[motor]], {'and something else is said of it ' * 40}to the very end."
    desk.put("pump", f"# Pump\n\n{line}\n")
    asked = {"detail": "parts", "surfaces": "engrams,passages,facts", "format": "json"}
    answer = ask(desk, "oil leaks", **asked)
    [shown] = json.loads(answer.rendered)["items"][0]["passages"]
    [quote] = fact(answer)["passages"]
    assert shown["byte_start"] <= quote["byte_start"] < shown["byte_end"] < quote["byte_end"]
    assert quote["text"] is not None


def test_evidence_that_another_item_shows_is_named(desk: Desk) -> None:
    proof = "Everybody has seen the pump and its motor turn together, day by day."
    desk.put("proof", f"{proof}\n")
    desk.put("pump", "# Pump\n\nA pump.\n")
    meta = EdgeMeta("pump", evidence_id=desk.entry("proof").id)
    desk.engine.link(HERE, "note/pump", "near", "note/motor", meta)
    asked = {"surfaces": "engrams,facts", "detail": "full"}
    text = ask(desk, "pump motor turn day", **asked).rendered.decode()
    assert text.count(proof) == 1
    assert "quoted in: note/proof.md, lines 4-4\n" in text


def test_a_part_is_not_shown_by_a_quote_from_it(desk: Desk) -> None:
    """What is quoted from another engram is no part of the engram that the fact is headed by."""
    desk.put("proof", "# Proof\n\nFirst.\n\n## Second\n\nThe second of them all is long enough.\n")
    desk.put("pump", "# Pump\n\nThe pump.\n\n## Second\n\nThe second thing about the pump.\n")
    part = desk.engine.children(HERE, "note/proof")[2]
    meta = EdgeMeta("pump", evidence_id=part.id)
    desk.engine.link(HERE, "note/pump", "near", "note/motor", meta)
    packed = ask(desk, "second pump", surfaces="facts", chunks="on", max_chunk_tokens=2000)
    assert "The second thing about the pump." in packed.rendered.decode()
