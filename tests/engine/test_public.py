"""What the package offers by name, and that its mere import costs nothing."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

import engine
from engine import (
    Draft,
    Engine,
    Scope,
    engram_path,
    format_engram,
    landing_ids,
    parse_engram,
    parse_filters,
    slugify,
    sort_objects,
)
from engine.expand import Reached
from tests.engine.desk import HERE, Desk

HEAVY = ("numpy", "duckdb", "onnxruntime", "yaml", "igraph", "quicktok", "dateparser")


def test_everything_that_is_named_is_there() -> None:
    for name in engine.__all__:
        assert getattr(engine, name).__name__ == name
    with pytest.raises(AttributeError, match="nothing_like_it"):
        engine.nothing_like_it  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("statement", ["import engine", "from engine import slugify, Draft, Scope"])
def test_importing_it_loads_nothing_heavy(statement: str) -> None:
    code = f"import sys\n{statement}\nprint([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_store_is_opened_asked_and_closed_by_public_names() -> None:
    store = Engine.open(":memory:", embed="off")
    scope = Scope(())
    commit = store.put(scope, Draft("note", slugify("Cooling Water!"), b"# Cooling water\n"))
    assert commit.entry.slug == "cooling-water"
    found = store.search(scope, "cooling", parse_filters([("kind", "note")], store.catalogue))
    assert [engram_path(hit.entry, store.catalogue) for hit in found.hits] == [
        "note/cooling-water.md"
    ]
    store.close()


def test_an_engram_is_read_as_it_was_formatted() -> None:
    id = "0190a000-0000-7000-8000-000000000001"
    source = format_engram(
        id, "deal", "acme", "Acme", "A sale", {"stage": "won", "n": 3}, "Text\r\n"
    )
    head, body = parse_engram(source)
    assert (head.id, head.kind, head.slug, head.title) == (id, "deal", "acme", "Acme")
    assert (head.summary, dict(head.properties)) == ("A sale", {"n": 3, "stage": "won"})
    assert body == "Text\n"


def test_paths_are_spelt_as_the_directories_are() -> None:
    desk = Desk(kinds="kinds:\n  Deal: {}\n")
    entry = desk.put("acme", "text\n", kind="Deal", name="Acme").entry
    assert engram_path(entry, desk.engine.catalogue) == "deal/Acme.md"
    assert engram_path(desk.engine.get(HERE, entry.id), desk.engine.catalogue) == "deal/Acme.md"
    assert engram_path(entry) == "Deal/Acme.md"  # open mode: as given


def test_objects_are_sorted_by_score_then_age_then_id() -> None:
    desk = Desk()
    for slug in ("a", "b", "c", "d"):
        desk.put(slug, "pump\n")
    hits = {hit.entry.slug: hit for hit in desk.engine.search(HERE, "pump").hits}
    times = {"a": 5, "b": 5, "c": 9, "d": 1}
    scored = [
        replace(hit, score=2.0 if slug == "d" else 1.0,
                entry=replace(hit.entry, updated_ns=times[slug]))
        for slug, hit in hits.items()
    ]  # fmt: skip
    assert [hit.entry.slug for hit in sort_objects(scored)] == ["d", "c", "a", "b"]
    assert [hit.entry.slug for hit in sort_objects(scored[::-1])] == ["d", "c", "a", "b"]
    assert sort_objects([]) == []


def test_landing_ids_are_the_engrams_of_the_hits_each_once() -> None:
    desk = Desk()
    first = desk.put("a", "# A\n\npump\n\n## B\n\nwater\n").entry
    second = desk.put("b", "pump water\n").entry
    found = desk.engine.search(HERE, "pump water", limit=10).hits
    assert set(landing_ids(found)) == {first.id, second.id}
    assert landing_ids((*found, *found)) == tuple(hit.entry.id for hit in found)
    assert landing_ids(()) == ()


def test_a_part_lands_on_its_engram() -> None:
    desk = Desk()
    entry = desk.put("a", "# A\n\npump\n").entry
    (_, part) = desk.engine.children(HERE, "note/a")
    step = Reached(entry, "contains", True, 1, entry.id, entry.id, part=part)
    assert landing_ids([step]) == (entry.id,)
