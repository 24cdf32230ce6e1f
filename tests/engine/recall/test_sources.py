"""Sources: what an answer's engrams are derived from, and kinds that are made from others."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

import pytest

from engine.catalogue import catalogue_from_rows, catalogue_to_rows
from engine.errors import Invalid
from engine.kinds_file import parse_kinds
from engine.model import Draft, EdgeMeta, Entry
from engine.namespace import Scope
from engine.reader import Row
from engine.recall.pairs import parse_pairs
from engine.recall.request import parse_request
from engine.recall.sources import BATCH, consolidated, source_ids, sources_of
from tests.engine.desk import HERE, Desk


def path_of(entry: Entry) -> str | None:
    return f"{entry.kind}/{entry.name}.md" if not entry.namespace else None


def told(desk: Desk, *slugs: str, scope: Scope = HERE) -> tuple[dict[str, list[str]], list[str]]:
    """(slugs of its sources by each slug, names of all sources)."""
    entries = [desk.entry(slug) for slug in slugs]
    ids, found = sources_of(desk.engine.reading, scope, entries, path_of)
    assert source_ids(desk.engine.reading, scope, entries) == ids
    by_id = {entry.id: entry.slug for entry in desk.engine.reading.entries.all()}
    return (
        {entry.slug: [by_id[id] for id in ids[entry.no]] for entry in entries if entry.no in ids},
        [source.path or source.entry.slug for source in found],
    )


def test_sources_in_order_of_first_appearance_each_once() -> None:
    desk = Desk()
    for slug in ("c", "b", "a"):
        desk.put(slug, f"# The {slug}\n\nText of {slug}.\n")
    desk.put("x", "---\nderived_from: [b, note/c, b]\n---\nX.\n")
    desk.put("y", "---\nderived_from: [a, c]\n---\nY, [[b]].\n")
    desk.engine.link(HERE, "note/y", "derived_from", "note/x", EdgeMeta())
    assert told(desk, "x", "y", "a") == (
        {"x": ["b", "c"], "y": ["a", "c", "x"]},
        ["note/b.md", "note/c.md", "note/a.md", "note/x.md"],
    )
    _, [first, *_] = sources_of(desk.engine.reading, HERE, [desk.entry("x")], path_of)
    assert (first.title, first.text) == ("The b", "# The b\n\nText of b.\n")
    assert first.id == first.entry.id == desk.entry("b").id


def test_no_more_rows_are_read_than_sources_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engram may be derived from all others, and the answer has room for a few."""
    desk = Desk()
    slugs = [f"n{no}" for no in range(3 * BATCH)]
    for slug in slugs:
        desk.put(slug, f"Text of {slug}.\n")
    desk.put("x", f"---\nderived_from: [{', '.join(slugs)}]\n---\nX.\n")
    reading = desk.engine.reading
    real, read = reading.hydrate, [0]

    def hydrate(entries: Sequence[Entry]) -> Mapping[int, Row]:
        read[0] += len(entries)
        return real(entries)

    monkeypatch.setattr(reading, "hydrate", hydrate)
    ids, found = sources_of(reading, HERE, [desk.entry("x")], path_of)
    assert [len(own) for own in ids.values()] == [len(slugs)]
    assert next(found).entry.slug == "n0"
    assert read == [BATCH]
    assert [one.entry.slug for one in found] == slugs[1:]


def test_one_step_only_and_never_itself() -> None:
    desk = Desk()
    desk.put("a", "---\nderived_from: [a]\n---\nA.\n")
    desk.put("b", "---\nderived_from: [a, gone]\n---\nB.\n")
    desk.put("c", "---\nderived_from: b\n---\nC.\n")
    assert told(desk, "c") == ({"c": ["b"]}, ["note/b.md"])
    assert told(desk, "a", "b") == ({"b": ["a"]}, ["note/a.md"])
    desk.rm("a")
    assert told(desk, "b") == ({}, [])


def test_the_scope_holds_for_sources_and_superseded_ones_are_given() -> None:
    desk = Desk()
    far = desk.engine.put(Scope((("team", "x"),)), Draft("note", "far", b"Secret.\n")).entry
    desk.put("new", "New.\n")
    desk.put("old", "---\nsummary: Short.\nsuperseded_by: new\n---\n")
    desk.put("a", "---\nderived_from: [old]\n---\nA.\n")
    desk.engine.link(Scope(()), desk.entry("a").id, "derived_from", far.id, EdgeMeta())
    assert told(desk, "a") == ({"a": ["old"]}, ["note/old.md"])
    assert told(desk, "a", scope=Scope(())) == ({"a": ["old", "far"]}, ["note/old.md", "far"])
    _, [source] = sources_of(desk.engine.reading, HERE, [desk.entry("a")], path_of)
    assert source.text == "Short."


def test_a_kind_may_be_consolidated_from_others() -> None:
    kinds = "kinds:\n  note: {}\n  observation: {consolidated: true, description: Seen often}\n"
    desk = Desk(kinds=kinds)
    desk.put("a", "A.\n")
    desk.put("o", "---\nderived_from: [note/a]\n---\nO.\n", kind="observation")
    reading = desk.engine.reading
    assert consolidated(reading, desk.entry("o", "observation"))
    assert not consolidated(reading, desk.entry("a"))
    assert reading.catalogue == catalogue_from_rows(catalogue_to_rows(reading.catalogue))
    with pytest.raises(Invalid, match="boolean"):
        parse_kinds("kinds:\n  note: {consolidated: often}\n")


def test_a_catalogue_stored_before_there_was_that_mark_is_read() -> None:
    rows = catalogue_to_rows(parse_kinds("kinds:\n  note: {briefing: task}\n"))
    old = [
        (name, json.dumps({k: v for k, v in json.loads(spec).items() if k != "consolidated"}))
        for name, spec in rows
    ]
    assert catalogue_from_rows(old) == catalogue_from_rows(rows)


LONG = "The grease of the north pumps is changed in May and in November.\n"


def answer(desk: Desk, text: str) -> bytes:
    """The whole answer to a request in pairs."""
    request = parse_request(parse_pairs(text), desk.engine.catalogue, desk.engine.config)
    return desk.engine.recall(HERE, request, path_of=path_of).rendered


def test_a_text_that_an_item_gives_is_not_given_again_as_a_source() -> None:
    desk = Desk()
    desk.put("a", LONG)
    desk.put("b", f"# Other\n\n{LONG}")
    desk.put("c", LONG)
    desk.put("x", "---\nderived_from: [a, b, c]\n---\nGrease is changed twice a year.\n")
    held = json.loads(answer(desk, "q=grease&sources=on&format=json&detail=full&kinds=note"))
    order = [item["path"] for item in held["items"]]
    by_path = {source["path"]: source for source in held["sources"].values()}
    assert list(by_path) == ["note/a.md", "note/b.md", "note/c.md"]
    bodies = [item["body"] for item in held["items"]]
    assert bodies.count(LONG) == 1  # of `a` and `c` one item says that it is the same
    (gives,) = [path for path, body in zip(order, bodies, strict=True) if body == LONG]
    for source in by_path.values():
        assert source["text"] is None
        assert source["same_as"] == ("note/b.md" if source["path"] == "note/b.md" else gives)
    written = answer(desk, "q=grease&sources=on&detail=full").decode()
    assert written.count(LONG.strip()) == 2  # once alone, once below b's heading
    assert f"## note/c.md\nsame text as: {gives}\n" in f"{written}\n"
    assert not re.search(r"^same text as: .*\n>", written[written.index("# sources") :], re.M)


def test_a_source_that_no_item_gives_whole_has_its_text() -> None:
    desk = Desk()
    desk.put("a", f"{LONG}\n## More\n\nOf something else.\n")
    desk.put("c", LONG)
    desk.put("d", LONG)
    desk.put("x", "---\nderived_from: [a, c, d]\n---\nLubricants.\n")
    held = json.loads(answer(desk, "q=lubricants&sources=on&format=json&limit=1"))
    first, second, third = held["sources"].values()
    assert (first["text"], first["same_as"]) == (f"{LONG}\n## More\n\nOf something else.\n", None)
    assert (second["text"], second["same_as"]) == (LONG, None)
    assert (third["text"], third["same_as"]) == (None, "note/c.md")


def test_a_chunk_of_what_a_source_gives_whole_is_not_given() -> None:
    desk = Desk()
    desk.put("a", LONG)
    desk.put("b", "Some grease.\n")
    desk.put("c", "Some grease with a long text that is said by two, word for word.\n")
    desk.put("d", "Some grease with a long text that is said by two, word for word.\n")
    desk.put("x", "---\nderived_from: a\n---\nGrease grease grease.\n")
    held = json.loads(answer(desk, "q=grease&sources=on&chunks=on&format=json&detail=summary"))
    paths = [chunk["path"] for chunk in held["chunks"]]
    assert {"note/b.md", "note/x.md"} <= set(paths)
    assert "note/a.md" not in paths
    assert len({"note/c.md", "note/d.md"} & set(paths)) == 1


def test_an_engram_that_is_an_item_as_a_whole_is_not_given_again_however_short() -> None:
    desk = Desk()
    desk.put("a", "润滑油。\n")
    desk.put("x", "---\nderived_from: a\n---\n润滑油 is grease.\n")
    held = json.loads(answer(desk, "q=润滑油&sources=on&format=json"))
    assert {item["path"] for item in held["items"]} == {"note/a.md", "note/x.md"}
    (source,) = held["sources"].values()
    assert (source["text"], source["same_as"]) == (None, "note/a.md")


def test_a_head_is_no_chunk() -> None:
    desk = Desk()
    desk.put("a", "---\ntitle: Ada Berg\n---\n\nTelephone 17.\n")
    held = json.loads(answer(desk, "q=who is berg&chunks=on&format=json&detail=summary"))
    assert [item["path"] for item in held["items"]] == ["note/a.md"]
    assert held["chunks"] == []
