"""Questions about the graph as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.errors import Invalid, NotFound
from engine.model import Draft
from engine.namespace import Scope
from tests.engine.desk import HERE, Desk

ALL = Scope(())
TEAM = Scope((("team", "sales"),), exact=True)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """a -> b -> c -> d, a -> x -> y -> d, two triangles p and q joined by one edge, o alone."""
    desk = Desk(tmp_path)
    links = {
        "a": "bx", "b": "c", "c": "d", "d": "", "x": "y", "y": "z", "z": "d", "o": "",
    }  # fmt: skip
    for slug, targets in links.items():
        desk.put(slug, f"# {slug}\n\n" + " ".join(f"[[{target}]]" for target in targets) + "\n")
    yield desk
    assert desk.engine.check() == ()
    desk.engine.close()


def slugs(desk: Desk, a: str, b: str, **more: object) -> str:
    names = {entry.id: entry.slug for entry in desk.engine.entries(HERE)}
    found = desk.engine.path(HERE, f"note/{a}", f"note/{b}", **more)  # type: ignore[arg-type]
    return " ".join(f"{names[edge.source]}>{names[edge.target]}" for edge in found)


def test_the_shortest_way(desk: Desk) -> None:
    assert slugs(desk, "a", "d", direction="out") == "a>b b>c c>d"
    assert slugs(desk, "d", "a", direction="in") == "c>d b>c a>b"
    assert slugs(desk, "d", "a", direction="out") == ""
    assert slugs(desk, "d", "a") == "c>d b>c a>b"
    assert slugs(desk, "a", "o") == ""
    assert slugs(desk, "a", "a") == ""
    desk.engine.link(HERE, "note/a", "about", "note/d")
    assert slugs(desk, "a", "d", direction="out") == "a>d"
    assert slugs(desk, "a", "d", direction="out", relations=("mentions",)) == "a>b b>c c>d"
    with pytest.raises(NotFound):
        desk.engine.path(HERE, "note/a", "note/none")
    with pytest.raises(Invalid):
        desk.engine.path(HERE, "note/a", "note/b", direction="up")


def test_a_way_leads_around_what_is_deleted_and_outside(desk: Desk) -> None:
    gone = desk.rm("b")
    assert slugs(desk, "a", "d", direction="out") == "a>x x>y y>z z>d"
    desk.engine.revive(HERE, gone.id)
    desk.engine.put(TEAM, Draft("note", "short", b"# S\n"))
    short = desk.engine.lookup(TEAM, "note", "short")
    assert short is not None
    desk.engine.link(ALL, desk.entry("a").id, "about", short.id)
    desk.engine.link(ALL, short.id, "about", desk.entry("d").id)
    assert slugs(desk, "a", "d", direction="out") == "a>b b>c c>d"
    assert len(desk.engine.path(ALL, desk.entry("a").id, desk.entry("d").id)) == 2


def test_ranks_add_up_and_seeds_draw_them(desk: Desk) -> None:
    everything = desk.engine.rank(HERE, limit=99)
    assert sum(each.score for each in everything) == pytest.approx(1.0)
    assert everything[-1].entry.slug == "o"
    near = desk.engine.rank(HERE, ["note/o"], limit=99)
    assert near[0].entry.slug == "o" and near[0].score == pytest.approx(1.0)


def test_most_linked_and_orphans(desk: Desk) -> None:
    assert [(each.entry.slug, each.score) for each in desk.engine.most_linked(HERE, limit=1)] == [
        ("d", 2)
    ]
    assert [entry.slug for entry in desk.engine.orphans(HERE)] == ["o"]
    desk.engine.link(HERE, "note/o", "about", "note/a")
    assert desk.engine.orphans(HERE) == ()


def test_communities_are_the_same_every_time(desk: Desk) -> None:
    for group in ("p", "q"):
        for one, other in (("1", "2"), ("2", "3"), ("3", "1")):
            desk.put(f"{group}{one}", f"# {group}{one}\n\n[[{group}{other}]]\n")
    desk.engine.link(HERE, "note/p1", "about", "note/q1")
    found = desk.engine.communities(HERE)
    groups = [{entry.slug for entry in group} for group in found]
    assert {"p1", "p2", "p3"} in groups and {"q1", "q2", "q3"} in groups
    assert all("o" not in group for group in groups)
    assert desk.engine.communities(HERE) == found


def test_dangling_links_are_listed_with_those_they_could_mean(desk: Desk) -> None:
    desk.put("one", "---\ntitle: Twin\n---\n")
    desk.put("two", "---\ntitle: Twin\n---\n")
    desk.put("e", "# E\n\n[[nowhere]] [[twin]] [[b]]\n")
    desk.rm("b")
    desk.clock.pass_seconds(600)
    found = {each.edge.written: each.candidates for each in desk.engine.dangling(HERE)}
    assert found.keys() >= {"nowhere", "twin", "b"}
    assert found["nowhere"] == ()
    assert sorted(entry.slug for entry in found["twin"]) == ["one", "two"]
    desk.put("nowhere", "# N\n")
    assert "nowhere" not in {each.edge.written for each in desk.engine.dangling(HERE)}
