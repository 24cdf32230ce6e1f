"""Expansion over a small graph with two namespaces."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.catalogue import Recipe
from engine.errors import Invalid, NotFound
from engine.expand import Expansion
from engine.model import Draft, EdgeMeta
from engine.namespace import Scope
from tests.engine.desk import HERE, Desk

ALL = Scope(())
TEAM = Scope((("team", "sales"),), exact=True)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """a -> b -> c -> d, a -> e; f is linked from the other namespace."""
    desk = Desk(tmp_path)
    for slug in "abcdef":
        desk.put(slug, f"# {slug}\n\n## One\n\nfirst\n\n## Two\n\nsecond\n")
    for a, relation, b in (
        ("a", "about", "b"), ("b", "about", "c"), ("c", "about", "d"), ("a", "owned_by", "e"),
    ):  # fmt: skip
        desk.engine.link(HERE, f"note/{a}", relation, f"note/{b}", EdgeMeta(confidence=0.5))
    yield desk
    desk.engine.close()


def reached(desk: Desk, ref: str, **how: object) -> list[tuple[str, int]]:
    found = desk.engine.expand(HERE, [ref], Expansion(**how))  # type: ignore[arg-type]
    return [(each.entry.slug, each.hops) for each in found.reached]


def test_hops_directions_and_relations(desk: Desk) -> None:
    assert reached(desk, "note/a") == [("b", 1), ("e", 1)]
    assert reached(desk, "note/b") == [("c", 1), ("a", 1)]
    assert reached(desk, "note/b", direction="out") == [("c", 1)]
    assert reached(desk, "note/b", direction="in") == [("a", 1)]
    assert reached(desk, "note/a", hops=3, direction="out") == [
        ("b", 1), ("e", 1), ("c", 2), ("d", 3),
    ]  # fmt: skip
    assert reached(desk, "note/a", relations=("owned_by",), hops=2) == [("e", 1)]


def test_confidence_is_multiplied_along_the_way(desk: Desk) -> None:
    found = desk.engine.expand(HERE, ["note/a"], Expansion(hops=3, direction="out"))
    assert {each.entry.slug: each.confidence for each in found.reached} == {
        "b": 0.5, "e": 0.5, "c": 0.25, "d": 0.125,
    }  # fmt: skip


def test_a_cycle_ends(desk: Desk) -> None:
    desk.engine.link(HERE, "note/d", "about", "note/a")
    assert reached(desk, "note/a", hops=4, direction="out") == [
        ("b", 1), ("e", 1), ("c", 2), ("d", 3),
    ]  # fmt: skip


def test_the_first_seed_to_reach_claims(desk: Desk) -> None:
    found = desk.engine.expand(HERE, ["note/c", "note/a"], Expansion())
    names = {entry.id: entry.slug for entry in desk.engine.entries(HERE)}
    assert [(each.entry.slug, names[each.seed]) for each in found.reached] == [
        ("d", "c"), ("b", "c"), ("e", "a"),
    ]  # fmt: skip


def test_nobody_outside_the_scope_is_reached_or_walked_through(desk: Desk) -> None:
    desk.engine.put(TEAM, Draft("note", "s", b"# S\n"))
    secret = desk.engine.lookup(TEAM, "note", "s")
    assert secret is not None
    desk.engine.link(ALL, desk.entry("a").id, "about", secret.id)
    desk.engine.link(ALL, secret.id, "about", desk.entry("f").id)
    assert reached(desk, "note/a", hops=2, direction="out") == [("b", 1), ("e", 1), ("c", 2)]
    wide = desk.engine.expand(ALL, [desk.entry("a").id], Expansion(hops=2, direction="out"))
    assert {each.entry.slug for each in wide.reached} == {"b", "e", "s", "c", "f"}


def test_a_deleted_engram_is_not_walked_through(desk: Desk) -> None:
    gone = desk.rm("b")
    assert reached(desk, "note/a", hops=3, direction="out") == [("e", 1)]
    desk.engine.revive(HERE, gone.id)
    assert ("d", 3) in reached(desk, "note/a", hops=3, direction="out")


def test_containment_gives_the_parts_of_an_engram_and_the_company_of_a_part(desk: Desk) -> None:
    parts = desk.engine.children(HERE, "note/f")
    found = desk.engine.expand(HERE, ["note/f"], Expansion(containment=True))
    assert [each.part for each in found.reached] == list(parts)
    middle = parts[1]
    found = desk.engine.expand(HERE, [middle.id], Expansion(containment=True))
    assert [(each.relation, each.part) for each in found.reached] == [
        ("part_of", None), *(("contains", part) for part in parts if part != middle),
    ]  # fmt: skip


def test_a_hub_is_read_in_part_and_says_so(desk: Desk) -> None:
    for number in range(70):
        desk.put(f"n{number}", "# N\n\nSee [[f]].\n")
    found = desk.engine.expand(HERE, ["note/f"], Expansion())
    assert (len(found.reached), found.cut) == (64, True)


def test_neighbours(desk: Desk) -> None:
    found = desk.engine.neighbours(HERE, "note/b")
    assert [(each.entry.slug, each.relation, each.outward, each.confidence) for each in found] == [
        ("c", "about", True, 0.5), ("a", "about", False, 0.5),
    ]  # fmt: skip
    desk.reopen()
    assert desk.engine.neighbours(HERE, "note/b") == found
    assert desk.engine.neighbours(HERE, "note/b", relations=("owned_by",)) == ()
    assert len(desk.engine.neighbours(HERE, "note/b", limit=1)) == 1


def test_recipes_of_the_kinds_and_of_the_host(desk: Desk) -> None:
    desk.engine.apply_kinds(
        "kinds: {note: {}}\n"
        "recipes: {near: {relations: [about], hops: 2, direction: out, containment: false}}\n"
    )
    found = desk.engine.expand_recipe(HERE, ["note/a"], "near")
    assert [each.entry.slug for each in found.reached] == ["b", "c"]
    desk.engine.register_recipe(Recipe("owners", ("owned_by",), 1, "in"))
    found = desk.engine.expand_recipe(HERE, ["note/e"], "owners")
    assert [each.entry.slug for each in found.reached] == ["a"]
    with pytest.raises(NotFound, match="near, owners"):
        desk.engine.expand_recipe(HERE, ["note/a"], "far")
    with pytest.raises(Invalid):
        desk.engine.register_recipe(Recipe("wild", hops=9))


def test_what_cannot_be(desk: Desk) -> None:
    with pytest.raises(Invalid) as caught:
        desk.engine.expand(HERE, ["note/a"], Expansion(hops=5, direction="up"))
    assert len(caught.value.problems) == 2
    with pytest.raises(NotFound):
        desk.engine.expand(HERE, ["note/zzz"], Expansion())
