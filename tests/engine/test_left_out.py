"""What every question leaves out: superseded engrams unless asked for, vectors of kinds without."""

from __future__ import annotations

import numpy as np
import pytest

from engine.filters import parse_filters
from engine.model import Page
from tests.engine.desk import HERE, Desk
from tests.engine.hash_embedder import HashEmbedder

METHODS = ("search", "find_objects", "find_exact")
KINDS = """
kinds:
  note: {fields: {stage: {type: string}}}
  log: {embed: false}
"""


def ask(desk: Desk, method: str, text: str, pairs: object = (), **options: object) -> Page:
    filters = parse_filters(pairs, desk.engine.catalogue)  # type: ignore[arg-type]
    found: Page = getattr(desk.engine, method)(HERE, text, filters, **options)
    return found


def slugs(page: Page) -> list[str]:
    return [hit.entry.slug for hit in page.hits]


@pytest.fixture
def desk() -> Desk:
    made = Desk(kinds=KINDS, embed="inline", embedder=HashEmbedder())
    for n in range(3):
        made.put(f"new{n}", f"# Text {n}\n\npump station\n")
    made.put("old", "---\nsuperseded_by: note/new0\n---\n# Oldest\n\npump pump station\n")
    return made


@pytest.mark.parametrize("method", METHODS)
def test_superseded_engrams_take_no_place_among_the_candidates(desk: Desk, method: str) -> None:
    page = ask(desk, method, "pump", limit=3)
    assert sorted(slugs(page)) == ["new0", "new1", "new2"]
    assert page.total == 3


@pytest.mark.parametrize("method", METHODS)
def test_they_are_found_on_request(desk: Desk, method: str) -> None:
    page = ask(desk, method, "pump", [("prop.superseded_by", "note/new0")])
    assert [(hit.entry.slug, hit.status) for hit in page.hits] == [("old", "superseded")]
    assert slugs(ask(desk, method, "pump", [("prop.superseded_by", "note/other")])) == []


@pytest.mark.parametrize("method", METHODS)
def test_scope_ids_do_not_ask_for_them(desk: Desk, method: str) -> None:
    ids = [desk.entry("old").id, desk.entry("new1").id]
    assert slugs(ask(desk, method, "pump", scope_ids=ids)) == ["new1"]


@pytest.mark.parametrize("method", METHODS)
def test_one_that_is_no_longer_superseded_is_back_at_once(desk: Desk, method: str) -> None:
    desk.put("old", "# Oldest\n\npump pump station\n")
    assert "old" in slugs(ask(desk, method, "pump"))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scope_ids", [True, False])
def test_filters_and_scope_ids_act_before_the_cut(desk: Desk, method: str, scope_ids: bool) -> None:
    for n in range(30):  # thirty better ones, and a limit of one
        desk.put(f"better{n}", "# Pump\n\npump pump pump station\n")
    wanted = desk.put("wanted", "---\nstage: won\n---\n# Other\n\na pump among other words\n")
    options = {"scope_ids": [wanted.entry.id]} if scope_ids else {}
    pairs = () if scope_ids else [("prop.stage", "won")]
    page = ask(desk, method, "pump", pairs, limit=1, **options)
    assert (slugs(page), page.total) == (["wanted"], 1)
    everything = {hit.entry.id: hit.score for hit in ask(desk, method, "pump", limit=100).hits}
    assert page.hits[0].score == everything[wanted.entry.id]


@pytest.mark.parametrize("method", METHODS)
def test_kinds_that_are_not_embedded_are_found_by_their_words_alone(method: str) -> None:
    embedder = HashEmbedder()
    desk = Desk(kinds=KINDS, embed="inline", embedder=embedder)
    desk.put("entry", "# Log\n\n## Morning\n\nthe pump failed\n", kind="log")
    assert embedder.texts == []
    assert desk.engine.status(HERE).pending_vectors == 0
    (hit,) = ask(desk, method, "pump failed").hits
    assert hit.entry.kind == "log"
    assert "lexical" in hit.channels
    assert "vector" not in hit.channels
    assert ask(desk, method, "pump failed").degraded == ()  # nothing pending


def test_kinds_that_are_not_embedded_have_no_vector_as_a_whole() -> None:
    embedder = HashEmbedder()
    desk = Desk(kinds=KINDS, embed="inline", embedder=embedder)
    body = "# Log\n\n## Morning\n\nthe pump failed\n"
    log, note = desk.put("a", body, kind="log").entry, desk.put("b", body).entry
    page = desk.engine.search(HERE, "pump failed", channels=("vector",))
    assert slugs(page) == ["b"]
    reading = desk.engine.reading
    snapshot = reading.index.snapshot()
    cosines = reading.engram_vectors.cosines(
        snapshot, embedder.embed_query("pump failed"), np.ones(snapshot.rows, bool), 2
    )
    assert cosines[log.no] == 0.0
    assert cosines[note.no] > 0.0
    found = {hit.entry.slug: hit for hit in desk.engine.find_objects(HERE, "pump failed").hits}
    assert set(found["a"].channels) == {"lexical"}
    assert set(found["b"].channels) == {"lexical", "vector"}


def test_a_kind_that_stops_being_embedded_loses_its_vectors_at_search() -> None:
    desk = Desk(kinds=KINDS, embed="inline", embedder=HashEmbedder())
    desk.put("b", "# Pump\n\nthe pump failed\n")
    assert desk.engine.search(HERE, "pump failed", channels=("vector",)).total == 1
    desk.engine.apply_kinds(KINDS.replace("note: {", "note: {embed: false, "))
    assert desk.engine.search(HERE, "pump failed", channels=("vector",)).total == 0
    assert set(desk.engine.find_objects(HERE, "pump failed").hits[0].channels) <= {
        "lexical", "exact",
    }  # fmt: skip
    assert desk.engine.status(HERE).pending_vectors == 0
