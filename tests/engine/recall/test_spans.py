"""Every text that an answer gives with a place is what stands there in the file as it is shown."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.config import Config
from engine.engine import Engine
from engine.model import EdgeMeta, Entry
from engine.recall.request import parse_request
from tests.engine.desk import HERE, Desk

OWN_ID = "0198c0de-0000-7000-8000-00000000000a"
FRONTS = (
    "", "\n", "\ufeff", "---\n---\n", "---\ntags: [pump, bolt]\n---\n",
    "---\n# pump\n\nnote: the pump\n---\n\n", "---\n{tags: [pump]}\n---\n",
    "---\n# first\n{tags: [pump]}\n---\n\n", "---\n!!map {note: pump}\n---\n",
    f"---\nid: {OWN_ID}\nnote: pump\n---\n", f"---\nnote: pump\nid: '{OWN_ID}'\n---\n",
    '---\nid: "\\x30198c0de-0000-7000-8000-00000000000a"\nnote: pump\n---\n',
    "\ufeff---\n  note: pump\n  owner: bolt\n---\n", "---\nnote: |\n  pump\n  ---\n---\n",
    f"---\nnote: {'pump and ' * 90}\n---\n", f"---\ntags:\n{'- pump bolt' * 90}\n---\n",
)  # fmt: skip
LINES = st.sampled_from(
    (
        "# The pump", "## Überhitzung", "It needs [[bolt]] badly, says the pump.", "",
        "Say [the", "bolt](bolt) here.", "pump " * 150, f"{'wört ' * 200}[[bolt]] end",
        "合約轉換 pump", "\u2028line", "[a", "long", f"{'x ' * 400}](bolt) pump",
        "```", "    [[bolt]]",
    )
)  # fmt: skip


def spans(found: Any) -> list[dict[str, Any]]:
    """Everything with a place, wherever it stands in an answer."""
    if isinstance(found, list):
        return [one for each in found for one in spans(each)]
    if not isinstance(found, dict):
        return []
    own = [found] if found.get("byte_start") is not None else []
    return own + [one for each in found.values() for one in spans(each)]


def true(
    engine: Engine, entry: Entry, place: dict[str, Any], *, shown: bool, quoted: bool = False
) -> None:
    """`place` tells the very bytes; their line ends are LF in the text."""
    file = engine.source(entry, shown)
    start, end = place["byte_start"], place["byte_end"]
    cut = file[start:end]
    text = cut.decode().replace("\r\n", "\n")
    assert text.strip() and place["text"] in (text, None if quoted else text)
    assert file.count(b"\n", 0, start) + 1 == place["start_line"]
    within = cut.count(b"\n") - cut.endswith(b"\n")
    assert place["start_line"] + within == place["end_line"]


def asked(desk: Desk, shown: bool, **request: str) -> dict[str, Any]:
    engine = desk.engine
    pairs = [("q", "pump bolt"), ("format", "json"), ("budget", "30000"), *request.items()]
    parsed = parse_request(pairs, engine.catalogue, engine.config)
    packed = engine.recall(HERE, parsed, path_of=lambda entry: entry.name, shown=shown)
    answer: dict[str, Any] = json.loads(packed.rendered)
    return answer


class Held:
    """One engine, in which two engrams are written again and again."""

    desk: Desk | None = None


@settings(max_examples=150, deadline=None)
@given(
    front=st.sampled_from(FRONTS), lines=st.lists(LINES, max_size=8), newline=st.booleans(),
    shown=st.booleans(), whole=st.booleans(), end=st.booleans(),
)  # fmt: skip
def test_a_text_with_a_place_stands_there(
    front: str, lines: list[str], newline: bool, shown: bool, whole: bool, end: bool
) -> None:
    desk = Held.desk = Held.desk or Desk(config=Config(digests=False, demand=False))
    engine = desk.engine
    text = front + "\n".join(lines) + ("\n" if end else "")
    source = (text.replace("\n", "\r\n") if newline else text).encode()
    if desk.at("one") is not None:
        desk.rm("one")
    if desk.at("bolt") is None:
        desk.put("bolt", "# Bolt\n\nA bolt.\n")
    entry = desk.put("one", source).entry
    for at, part in enumerate([*engine.children(HERE, entry.id), entry]):
        meta = EdgeMeta("pump", evidence_id=part.id)
        engine.link(HERE, entry.id, f"proof{at}", "note/bolt", meta)
    detail = "full" if whole else "parts"
    answer = asked(desk, shown, detail=detail, chunks="on", surfaces="engrams,passages,facts")
    by_id = {one.id: one for one in (entry, desk.entry("bolt"))}
    for item in answer["items"]:
        for place in spans(item):
            own = by_id[item["id"]]
            if item["fact"] and item["fact"]["evidence_id"]:
                own = by_id.get(item["fact"]["evidence_id"], own)
            true(engine, own, place, shown=shown, quoted=bool(item["same_as"]))
    for chunk in answer["chunks"]:
        true(engine, by_id[chunk["id"]], chunk, shown=shown)
