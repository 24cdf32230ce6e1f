"""Edges made by hand where an engram becomes another, and their order when a store is opened."""

from __future__ import annotations

import pytest

from engine.model import Edge
from tests.engine.desk import HERE, Desk, with_id


@pytest.fixture
def desk() -> Desk:
    """`a` has a copy `b` since; `x` and `y` are others."""
    made = Desk()
    for slug in ("x", "y", "a"):
        made.put(slug, f"{slug}\n")
    made.put("b", with_id(made.entry("a").id))
    return made


def link(desk: Desk, source: str, target: str, relation: str = "about") -> Edge:
    return desk.engine.link(HERE, f"note/{source}", relation, f"note/{target}")


def gone_and_succeeded(desk: Desk) -> None:
    desk.rm("a")
    desk.clock.pass_seconds(301)
    desk.engine.settle()
    assert desk.slugs() == ["b", "x", "y"]


def ends(desk: Desk, slug: str) -> list[tuple[str, str]]:
    names = {desk.entry(each).id: each for each in desk.slugs()}
    own = desk.engine.edges(HERE, f"note/{slug}")
    return [(names[edge.source], names[edge.target]) for edge in own]


def test_what_the_copy_was_given_goes_with_its_heir(desk: Desk) -> None:
    link(desk, "b", "y")
    gone_and_succeeded(desk)
    assert ends(desk, "b") == [("b", "y")]
    assert ends(desk, "y") == [("b", "y")]
    desk.sound()


def test_one_that_led_to_both_leads_there_once(desk: Desk) -> None:
    link(desk, "x", "a")
    link(desk, "x", "b")
    link(desk, "a", "y")
    link(desk, "b", "y")
    link(desk, "a", "b")
    gone_and_succeeded(desk)
    assert ends(desk, "b") == [("b", "y"), ("x", "b")]
    assert desk.engine.unlink(HERE, "note/x", "about", "note/b")
    assert ends(desk, "x") == []
    desk.sound()


def test_until_then_an_edge_to_the_original_can_be_changed_and_removed(desk: Desk) -> None:
    link(desk, "x", "a")
    link(desk, "y", "a")
    desk.rm("a")
    assert ends(desk, "b") == [("x", "b"), ("y", "b")]
    link(desk, "x", "b")
    assert ends(desk, "b") == [("x", "b"), ("y", "b")]
    assert desk.engine.unlink(HERE, "note/y", "about", "note/b")
    assert ends(desk, "b") == [("x", "b")]
    desk.sound()


def test_an_edge_is_seen_from_both_ends_or_from_none(desk: Desk) -> None:
    link(desk, "a", "y")
    desk.rm("a")
    assert (ends(desk, "b"), ends(desk, "y")) == ([], [])
    desk.clock.pass_seconds(301)
    desk.engine.settle()
    assert (ends(desk, "b"), ends(desk, "y")) == ([("b", "y")], [("b", "y")])


def test_the_order_is_the_same_when_the_store_is_opened_again(tmp_path: object) -> None:
    desk = Desk(str(tmp_path))
    for slug in ("a", "b", "c"):
        desk.put(slug, "text\n")
    link(desk, "a", "c")
    desk.put("a", "[[b]]\n")
    assert desk.targets("a") == ["b", "c"]
    desk.reopen()
    assert desk.targets("a") == ["b", "c"]
    desk.engine.close()
