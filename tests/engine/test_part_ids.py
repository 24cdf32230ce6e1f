"""A part is found by its id alone, in scope, as long as it is there."""

from __future__ import annotations

from engine.model import Draft
from engine.namespace import Scope
from engine.part_ids import find_part
from tests.engine.desk import HERE, Desk

TEXT = "intro\n\n# One\n\nfirst\n\n# Two\n\nsecond\n"


def find(desk: Desk, id: str, scope: Scope = HERE) -> tuple[str, int] | None:
    found = find_part(desk.engine._state, scope, id)
    again = desk.engine.reading.find_part(scope, id)
    assert found == again
    return None if found is None else (found[0].slug, found[1])


def test_every_part_leads_to_its_engram_and_position() -> None:
    desk = Desk()
    desk.put("a", TEXT)
    desk.put("b", TEXT)
    for slug in ("a", "b"):
        for part in desk.engine.children(HERE, f"note/{slug}"):
            assert find(desk, part.id) == (slug, part.position)
            assert find(desk, part.id.upper()) == (slug, part.position)


def test_what_is_no_part_now_is_not_found() -> None:
    desk = Desk()
    commit = desk.put("a", TEXT)
    two = desk.engine.children(HERE, "note/a")[-1]
    assert find(desk, commit.entry.id) is None
    assert find(desk, '%"') is None
    desk.put("a", "intro\n\n# One\n\nfirst\n")
    assert find(desk, two.id) is None  # a version that is kept still has it
    desk.put("a", f"# Zero\n\nx\n\n{TEXT}")
    assert find(desk, two.id) == ("a", desk.engine.children(HERE, "note/a")[-1].position)
    desk.rm("a")
    assert find(desk, two.id) is None


def test_a_part_outside_the_scope_does_not_exist() -> None:
    desk = Desk()
    there = Scope((("team", "x"),))
    desk.engine.put(there, Draft("note", "a", TEXT.encode()))
    part = desk.engine.children(there, "note/a")[1]
    assert find(desk, part.id, there) == ("a", 1)
    assert find(desk, part.id, Scope(())) == ("a", 1)
    assert find(desk, part.id) is None
