"""Edges by relation and note."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.model import Draft, EdgeMeta
from engine.namespace import Scope
from tests.engine.desk import HERE, Desk

ALL = Scope(())
TEAM = Scope((("team", "sales"),), exact=True)


@pytest.fixture(params=[False, True], ids=["fresh", "folded"])
def desk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    for slug in "abc":
        desk.put(slug, f"# {slug}\n")
    desk.put("d", "# d\n\n[[a]]\n")
    notes = {"b": "They share the cooling pumps", "c": "One pump replaced the other"}
    for slug, note in notes.items():
        desk.engine.link(HERE, "note/a", "about", f"note/{slug}", EdgeMeta(note))
    desk.engine.link(HERE, "note/b", "owned_by", "note/c", EdgeMeta("cooling"))
    if request.param:
        desk.reopen()
    yield desk
    desk.engine.close()


def found(desk: Desk, text: str = "", **more: object) -> list[str]:
    links = desk.engine.find_links(HERE, text, **more)  # type: ignore[arg-type]
    return [f"{each.source.slug} {each.edge.relation} {each.target.slug}" for each in links]


def test_by_note(desk: Desk) -> None:
    assert found(desk, "cooling pump") == ["a about b", "b owned_by c", "a about c"]
    assert found(desk, "pumps") == ["a about c", "a about b"]
    assert found(desk, "turbine") == []
    assert found(desk, "?!") == []


def test_by_relation(desk: Desk) -> None:
    assert found(desk, relation="owned_by") == ["b owned_by c"]
    assert found(desk, "cooling", relation="about") == ["a about b"]
    assert sorted(found(desk)) == ["a about b", "a about c", "b owned_by c", "d mentions a"]
    assert found(desk, relation="none") == []


def test_only_what_the_scope_sees(desk: Desk) -> None:
    desk.engine.put(TEAM, Draft("note", "s", b"# S\n"))
    secret = desk.engine.lookup(TEAM, "note", "s")
    assert secret is not None
    desk.engine.link(ALL, desk.entry("a").id, "about", secret.id, EdgeMeta("cooling cooling"))
    assert found(desk, "cooling") == ["b owned_by c", "a about b"]
    desk.rm("c")
    assert found(desk, "cooling") == ["a about b"]


def test_a_relation_is_there_where_the_scope_sees_an_edge_of_it(desk: Desk) -> None:
    assert desk.engine.has_relation(HERE, "owned_by")
    assert not desk.engine.has_relation(HERE, "owned")
    assert not desk.engine.has_relation(TEAM, "owned_by")
    desk.rm("c")
    assert not desk.engine.has_relation(HERE, "owned_by")
