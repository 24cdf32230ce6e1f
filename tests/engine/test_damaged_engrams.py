"""Rows of engrams damaged in a closed store, against every way to ask.

Each kind of damage ends in an answer as if there were none, because what is derived is made anew
from the bytes, or in one that says what it lacks.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from engine.config import Config
from engine.model import Draft, HostPart
from engine.namespace import Scope
from engine.recall.pairs import parse_pairs
from engine.recall.request import parse_request
from tests.engine.desk import HERE, Desk
from tests.engine.test_damaged_index import harm

SAID = ("engrams", "1 engram cannot be read: `engramfs check` names them")
Answer = tuple[tuple[object, ...], ...]


def filled(place: Path) -> Desk:
    """Three engrams folded into the index, of which `n1` is to be damaged, and one that is not."""
    desk = Desk(place, config=Config(demand=False))  # asking changes no score
    desk.put("n0", "# First\n\nblue pumps and valves\n")
    desk.put("n1", "# Second\n\nblue valves and motors\n\n## More\n\nred pumps turn slowly\n")
    desk.put("n2", "# Third\n\nmotors and red pumps\n")
    assert desk.engine._upkeep.fulltext.fold(desk.engine._state.index)
    desk.put("late", "# Late\n\nblue valves, red pumps\n\n## Other\n\nred pumps turn slowly\n")
    return desk


# -- ways to ask: what is said beside, and of each hit what it is and shows --------------------
def of_page(method: str, question: str) -> Callable[[Desk], Answer]:
    def ask(desk: Desk) -> Answer:
        page = getattr(desk.engine, method)(HERE, question)
        hits = [
            (hit.entry.slug, round(hit.score, 6), tuple((e.text, e.span) for e in hit.evidence))
            for hit in page.hits
        ]
        return (tuple((one.what, one.reason) for one in page.degraded), *hits)

    return ask


def of_recall(request: str) -> Callable[[Desk], Answer]:
    def ask(desk: Desk) -> Answer:
        engine = desk.engine
        parsed = parse_request(parse_pairs(request), engine.catalogue, engine.config)
        pack = engine.recall(HERE, parsed, path_of=lambda entry: f"{entry.kind}/{entry.name}.md")
        items = [
            (item.entry.slug, round(item.score, 6), item.characters)
            for item in pack.items
            if item.entry is not None
        ]
        return (tuple((one.what, one.reason) for one in pack.degraded), *items)

    return ask


WAYS = {
    "search": of_page("search", "pumps"),
    "search for a phrase": of_page("search", '"red pumps"'),
    "search for what lacks a phrase": of_page("search", 'pumps -"blue pumps"'),
    "find_exact": of_page("find_exact", "valves"),
    "find_exact by spelling": of_page("find_exact", "slowlly"),
    "find_objects": of_page("find_objects", "valves motors"),
    "recall": of_recall("q=red+pumps"),
    "recall to browse": of_recall("kinds=note"),
}

# What is derived: each is made anew from the bytes.
DERIVED = {
    "terms are gone": "SET terms = NULL",
    "terms are empty": "SET terms = ''",
    "terms are cut": "SET terms = left(terms, 12)",
    "a term is another": "SET terms = replace(terms, 'pump', 'lamp')",
    "terms stand otherwise": "SET terms = replace(terms, 'red pump', 'pump red')",
    "terms are another's": "SET terms = (SELECT terms FROM version WHERE engram = 2)",
    "documents are gone": "SET documents = ''::BLOB",
    "documents are no rows": "SET documents = 'x'::BLOB",
    "a document is lacking": "SET documents = from_hex(left(hex(documents), 40))",
    "a document is too many": "SET documents = documents || from_hex(left(hex(documents), 40))",
    "a length is another": "SET documents = from_hex('63' || substr(hex(documents), 3))",
    "parts are gone": "SET parts = NULL",
    "parts are nonsense": "SET parts = '[['",
    "parts are none": "SET parts = '[]'",
    "a part lies elsewhere": "SET parts = regexp_replace(parts, '[0-9]+,\"cut\"', '3,\"cut\"')",
    "parts are not objects": "SET parts = '7'",
    "all of it is gone": "SET parts = NULL, terms = NULL, documents = ''::BLOB",
    "its sums are others": 'SET state = json_merge_patch(state, \'{{"sums": "000000000000"}}\')',
}

# What cannot be made anew.
LOST = {
    "bytes are gone": "SET source = NULL",
    "bytes are others": "SET source = 'x'::BLOB",
    "bytes and terms are gone": "SET source = NULL, terms = NULL",
    "bytes and parts are gone": "SET source = NULL, parts = NULL",
    "bytes and documents are gone": "SET source = NULL, documents = ''::BLOB",
    "the row is nonsense": "SET state = '{{\"id'",
    "the row is no object": "SET state = '3'",
    "the row says too little": "SET state = '{{\"namespace\": []}}'",
}


@pytest.mark.parametrize("damaged", ["n1", "late"])
@pytest.mark.parametrize("what", DERIVED)
def test_what_is_derived_is_made_anew(
    tmp_path: Path, what: str, damaged: str, caplog: pytest.LogCaptureFixture
) -> None:
    desk = filled(tmp_path)
    right = {way: ask(desk) for way, ask in WAYS.items()}
    before = desk.entry(damaged)
    harm(desk, f"UPDATE version {DERIVED[what]} WHERE engram = {before.no}")
    with caplog.at_level(logging.ERROR):
        desk.engine = desk._open()
        assert {way: ask(desk) for way, ask in WAYS.items()} == right
        desk.engine._upkeep.mend()  # which the background does at a quiet moment
    assert "index entries of 1 engrams were damaged; 1 are made anew" in caplog.text
    desk.engine.check(repair=True)  # of what no answer has read
    assert {way: ask(desk) for way, ask in WAYS.items()} == right
    desk.sound()
    assert desk.engine.status(HERE).problems == ()
    after = desk.entry(damaged)
    assert replace(after, seq=before.seq, parts=before.parts) == before
    assert after.parts == before.parts
    desk.reopen()
    assert {way: ask(desk) for way, ask in WAYS.items()} == right
    desk.sound()
    desk.engine.close()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("damaged", ["n1", "late"])
@pytest.mark.parametrize("what", LOST)
def test_what_is_lost_is_told_by_every_answer(
    tmp_path: Path, what: str, damaged: str, way: str
) -> None:
    desk = filled(tmp_path)
    right = WAYS[way](desk)
    harm(desk, f"UPDATE version {LOST[what]} WHERE engram = {desk.entry(damaged).no}")
    desk.engine = desk._open()
    said, *hits = WAYS[way](desk)
    shown = {slug: rest for slug, *rest in right[1:]}
    assert SAID in said or damaged not in shown  # in the first answer that it could be in
    assert damaged not in {slug for slug, *_ in hits}
    assert {slug for slug, *_ in hits} == shown.keys() - {damaged}
    again, *_ = WAYS[way](desk)
    assert again == said
    assert said.count(SAID) == (SAID in said)  # once
    desk.engine.close()


@pytest.mark.parametrize("way", WAYS)
def test_it_is_told_until_the_engram_is_mended(tmp_path: Path, way: str) -> None:
    desk = filled(tmp_path)
    text = desk.written("n1")
    right = WAYS[way](desk)
    no = desk.entry("n1").no
    harm(desk, f"UPDATE version SET source = NULL, terms = NULL WHERE engram = {no}")
    desk.engine = desk._open()
    desk.engine.check(repair=True)
    assert SAID in WAYS[way](desk)[0]
    assert any("note/n1" in one for one in desk.engine.status(HERE).problems)
    desk.put("n1", text)
    assert [slug for slug, *_ in WAYS[way](desk)[1:]] and WAYS[way](desk)[0] == right[0]
    assert {slug for slug, *_ in WAYS[way](desk)[1:]} == {slug for slug, *_ in right[1:]}
    desk.sound()
    desk.engine.close()


def test_a_phrase_is_looked_for_in_all_others_of_a_damaged_engram(tmp_path: Path) -> None:
    desk = filled(tmp_path)
    no = desk.entry("n1").no
    harm(desk, f"UPDATE version SET source = NULL, terms = NULL WHERE engram = {no}")
    desk.engine = desk._open()
    said, *hits = WAYS["search for a phrase"](desk)
    assert [slug for slug, *_ in hits] == ["late", "n2"] or len(hits) == 2
    assert SAID in said
    desk.engine.close()


def test_nobody_else_is_told_of_an_engram_outside_the_scope(tmp_path: Path) -> None:
    desk = filled(tmp_path)
    there = Scope((("team", "sales"),), exact=True)
    desk.engine.put(there, Draft("note", "theirs", b"red pumps\n"))
    right = WAYS["search"](desk)
    no = desk.entry("n1").no
    harm(desk, f"UPDATE version SET source = NULL, terms = NULL WHERE engram = {no}")
    desk.engine = desk._open()
    assert not any(one.what == "engrams" for one in desk.engine.search(there, "pumps").degraded)
    assert any(one.what == "engrams" for one in desk.engine.search(HERE, "pumps").degraded)
    assert right[0] != WAYS["search"](desk)[0]
    desk.engine.close()


def test_damaged_parts_of_a_host_are_told_and_nobody_shows_them(tmp_path: Path) -> None:
    desk = filled(tmp_path)
    desk.engine.replace_parts(HERE, "note/n1", [HostPart("Whales sing.", ("Page 1",))])
    seq = desk.entry("n1").seq
    harm(desk, f"UPDATE version SET parts = replace(parts, 'sing', 'sink') WHERE seq = {seq}")
    desk.engine = desk._open()
    page = desk.engine.search(HERE, "whales")
    assert page.hits == () and (page.degraded[-1].what, page.degraded[-1].reason) == SAID
    assert desk.engine.replace_parts(HERE, "note/n1", None).changed
    assert desk.engine.search(HERE, "valves").hits != ()
    desk.sound()
    desk.engine.close()


def test_a_bulk_build_never_takes_damaged_terms(tmp_path: Path) -> None:
    desk = filled(tmp_path)
    right = {way: ask(desk) for way, ask in WAYS.items()}
    with desk.engine._state.store.transaction() as cursor:
        cursor.execute("UPDATE version SET terms = replace(terms, 'pump', 'lamp')")
    assert desk.engine._upkeep.fulltext.unproved() == {0, 1, 2, 3}
    desk.engine._upkeep._build()
    assert desk.engine._upkeep.fulltext.unproved() == set()
    assert {way: ask(desk) for way, ask in WAYS.items()} == right
    desk.sound()
    desk.engine.close()


def test_an_index_that_has_to_wait_for_a_search_is_built_later(tmp_path: Path) -> None:
    desk = filled(tmp_path)
    state, upkeep = desk.engine._state, desk.engine._upkeep
    reads = state.index.snapshot()  # of the table in use
    desk.engine.reindex()
    again = upkeep.fulltext.base
    desk.engine.reindex()  # would fill the table that is read
    assert upkeep.fulltext.base is again and upkeep._unbuilt
    assert reads.rows
    del reads
    upkeep._build()
    assert upkeep.fulltext.base is not again and not upkeep._unbuilt
    desk.sound()
    desk.engine.close()
