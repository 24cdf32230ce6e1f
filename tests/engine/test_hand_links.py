"""Edges that are made by hand."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.errors import Invalid, NotFound
from engine.model import Draft, EdgeMeta
from engine.namespace import Scope
from tests.engine.desk import HERE, Desk

TEAM = Scope((("team", "sales"),), exact=True)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    for slug in ("a", "b", "c"):
        desk.put(slug, f"# {slug.upper()}\n")
    yield desk
    assert desk.engine.check() == ()
    desk.engine.close()


def about(desk: Desk, ref: str) -> list[tuple[str, str, str]]:
    """(source, relation, target) by slug of an engram's edges."""
    slug = {entry.id: entry.slug for entry in desk.engine.entries(HERE)}
    return [
        (slug[edge.source], edge.relation, slug.get(edge.target, edge.written))
        for edge in desk.engine.edges(HERE, ref)
    ]


def test_a_link_is_seen_from_both_ends_and_outlives_everything(desk: Desk) -> None:
    meta = EdgeMeta("because", "draft", "witness", 0.5, desk.entry("c").id)
    made = desk.engine.link(HERE, "note/a", "about", "note/b", meta)
    assert (made.source, made.target) == (desk.entry("a").id, desk.entry("b").id)
    assert (made.note, made.status, made.role, made.confidence) == (
        "because", "draft", "witness", 0.5,
    )  # fmt: skip
    assert about(desk, "note/a") == about(desk, "note/b") == [("a", "about", "b")]
    desk.put("a", "# A\n\nSee [[c]].\n")
    desk.mv("b", "moved")
    desk.reopen()
    assert sorted(about(desk, "note/a")) == [("a", "about", "moved"), ("a", "mentions", "c")]
    desk.engine.reindex()
    assert sorted(about(desk, "note/a")) == [("a", "about", "moved"), ("a", "mentions", "c")]


def test_linking_again_replaces_the_metadata_and_keeps_created(desk: Desk) -> None:
    first = desk.engine.link(HERE, "note/a", "about", "note/b", EdgeMeta("one", confidence=0.5))
    again = desk.engine.link(HERE, desk.entry("a").id, "about", "note/b", EdgeMeta("two"))
    assert (again.note, again.confidence, again.created_ns) == ("two", None, first.created_ns)
    assert again.updated_ns > first.updated_ns
    assert [edge.note for edge in desk.engine.edges(HERE, "note/a")] == ["two"]


def test_unlink_is_idempotent(desk: Desk) -> None:
    desk.engine.link(HERE, "note/a", "about", "note/b")
    assert desk.engine.unlink(HERE, "note/a", "about", "note/b")
    assert not desk.engine.unlink(HERE, "note/a", "about", "note/b")
    assert about(desk, "note/a") == []
    assert [change.event for change in desk.heard][-2:] == ["link", "unlink"]


def test_what_a_text_says_is_not_unlinked(desk: Desk) -> None:
    desk.put("a", "# A\n\nSee [[b]].\n")
    with pytest.raises(Invalid, match="made by the text of note/a"):
        desk.engine.unlink(HERE, "note/a", "mentions", "note/b")
    desk.engine.link(HERE, "note/a", "mentions", "note/b", EdgeMeta("by hand too"))
    assert len(desk.engine.edges(HERE, "note/a")) == 2
    assert desk.engine.unlink(HERE, "note/a", "mentions", "note/b")
    assert [edge.origin for edge in desk.engine.edges(HERE, "note/a")] == ["body"]


@pytest.mark.parametrize(
    ("relation", "said"),
    [
        ("", "is empty"), (" about", "blanks around"), ("a/b", "directory"), ("..", "directory"),
        ("a\nb", "control character"), ("x" * 201, "longer than 200 bytes"),
        ("part_of", "belongs_to instead"), ("contains", "parts only"), ("\ud800", "half"),
    ],
)  # fmt: skip
def test_relations_that_are_none(desk: Desk, relation: str, said: str) -> None:
    with pytest.raises(Invalid, match=said):
        desk.engine.link(HERE, "note/a", relation, "note/b")


@pytest.mark.parametrize("confidence", [0.0, -1.0, 1.5, math.nan, math.inf])
def test_a_confidence_is_above_zero_and_up_to_one(desk: Desk, confidence: float) -> None:
    with pytest.raises(Invalid, match=r"\(0, 1\]"):
        desk.engine.link(HERE, "note/a", "about", "note/b", EdgeMeta(confidence=confidence))


def test_all_problems_are_told_together(desk: Desk) -> None:
    with pytest.raises(Invalid) as caught:
        desk.engine.link(HERE, "note/a", "a/b", "note/a", EdgeMeta("\0", confidence=2))
    assert len(caught.value.problems) == 4


def test_ends_that_are_none(desk: Desk) -> None:
    with pytest.raises(NotFound):
        desk.engine.link(HERE, "note/a", "about", "note/missing")
    part = desk.engine.children(HERE, "note/b")[0]
    with pytest.raises(Invalid, match="is a part"):
        desk.engine.link(HERE, "note/a", "about", part.id)
    gone = desk.rm("c")
    with pytest.raises(NotFound):
        desk.engine.link(HERE, "note/a", "about", gone.id)
    desk.engine.put(TEAM, Draft("note", "secret", b"# S\n"))
    hidden = desk.engine.lookup(TEAM, "note", "secret")
    assert hidden is not None
    with pytest.raises(NotFound):
        desk.engine.link(HERE, "note/a", "about", hidden.id)
    assert about(desk, "note/a") == []


def test_a_deleted_end_hides_the_edge_and_its_return_shows_it(desk: Desk) -> None:
    desk.engine.link(HERE, "note/a", "about", "note/b")
    gone = desk.rm("b")
    assert about(desk, "note/a") == []
    desk.engine.revive(HERE, gone.id)
    assert about(desk, "note/a") == [("a", "about", "b")]
