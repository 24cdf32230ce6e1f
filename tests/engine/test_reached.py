"""What a walk gave as pages of hits: relations, parts as evidence, and reading on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.engine import Engine
from engine.expand import Expansion
from engine.model import Draft, EdgeMeta, Relation
from engine.namespace import Scope

SCOPE = Scope((), exact=True)


@pytest.fixture
def engine() -> Iterator[Engine]:
    engine = Engine.open(":memory:", kinds="kinds: {note: {}}\n", embed="off")
    for slug in ("hub", *(f"n{number:02}" for number in range(30))):
        text = f"# {slug}\n\nText of {slug}.\n\n## More\n\nMore of {slug}.\n"
        engine.put(SCOPE, Draft("note", slug, text.encode()))
    yield engine
    engine.close()


def id_of(engine: Engine, slug: str) -> str:
    return engine.get(SCOPE, f"note/{slug}").id


def test_more_than_a_page_is_read_on(engine: Engine) -> None:
    for number in range(30):
        meta = EdgeMeta(confidence=0.5) if number == 0 else EdgeMeta()
        engine.link(SCOPE, "note/hub", "about", f"note/n{number:02}", meta)
    found = engine.expand(SCOPE, ["note/hub"], Expansion(("about",), direction="out"))
    page = engine.page_of(SCOPE, found.reached, limit=20)
    assert (page.total, len(page.hits)) == (30, 20)
    assert page.hits[0].relation == Relation("about", True, id_of(engine, "hub"), 1)
    assert [hit.score for hit in page.hits[:2]] == [0.5, 1.0]
    more = engine.continue_(SCOPE, page.set_id, 20, 20)
    slugs = [hit.entry.slug for hit in (*page.hits, *more.hits)]
    assert slugs == [f"n{number:02}" for number in range(30)]
    assert more.hits[-1].relation == Relation("about", True, id_of(engine, "hub"), 1)
    engine.delete(SCOPE, id_of(engine, "n29"))
    again = engine.continue_(SCOPE, page.set_id, 20, 20)
    assert [hit.entry.slug for hit in again.hits] == slugs[20:29]


def test_a_contained_part_is_the_evidence_of_its_engram(engine: Engine) -> None:
    found = engine.expand(SCOPE, ["note/hub"], Expansion(containment=True))
    page = engine.page_of(SCOPE, found.reached)
    assert [hit.relation.label for hit in page.hits if hit.relation] == ["contains"] * 3
    last = page.hits[2].evidence
    assert [(passage.heading_path, "More of hub." in passage.text) for passage in last] == [
        (("hub", "More"), True)
    ]


def test_an_analysis_has_figures_and_no_relations(engine: Engine) -> None:
    for number in range(3):
        engine.link(SCOPE, f"note/n{number:02}", "about", "note/hub")
    page = engine.page_of(SCOPE, engine.most_linked(SCOPE), warnings=("careful",))
    assert [(hit.entry.slug, hit.score, hit.relation) for hit in page.hits] == [("hub", 3.0, None)]
    assert page.warnings == ("careful",)


def test_nothing_is_no_set(engine: Engine) -> None:
    page = engine.page_of(SCOPE, ())
    assert (page.hits, page.total, page.set_id) == ((), 0, "")
