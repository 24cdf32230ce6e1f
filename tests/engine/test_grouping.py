"""Engrams by the values of a property and by what a link field leads to; edges between two."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.edges import Edges
from engine.model import Draft
from engine.namespace import Scope
from engine.store.edges import EdgeRow, columns_of
from tests.engine.desk import HERE, Desk

KINDS = """\
kinds:
  deal:
    fields:
      stage: {type: string, enum: [open, won]}
      owner: {type: string, link: owned_by, to: person}
      helpers: {type: [string], link: owned_by, to: person}
  person: {}
"""


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk(kinds=KINDS)
    desk.put("ann", "# Ann\n", kind="person")
    desk.put("bob", "# Bob\n", kind="person")
    yield desk
    assert desk.engine.check() == ()
    desk.engine.close()


def by(desk: Desk, name: str, kind: str = "deal") -> list[tuple[str, object]]:
    return [(entry.slug, value) for entry, value in desk.engine.values_of(HERE, kind, name)]


def led(desk: Desk, name: str) -> list[tuple[str, str]]:
    return [(one.slug, other.slug) for one, other in desk.engine.linked_by(HERE, "deal", name)]


def test_values_of_a_kind(desk: Desk) -> None:
    desk.put("a", "---\nstage: open\ntags: [x, y]\n---\n", kind="deal")
    desk.put("b", "---\nstage: won\ntags: [y]\n---\n", kind="deal")
    desk.put("c", "---\ntags: [z]\n---\n", kind="person")
    desk.engine.put(Scope((("team", "a"),)), Draft("deal", "d", b"---\ntags: [other]\n---\n"))
    assert by(desk, "stage") == [("a", "open"), ("b", "won")]
    assert by(desk, "tags") == [("a", "x"), ("a", "y"), ("b", "y")]
    assert by(desk, "tags", "person") == [("c", "z")]
    desk.rm("a", kind="deal")
    assert by(desk, "tags") == [("b", "y")]
    assert by(desk, "nothing") == []


def test_two_fields_of_one_relation_are_told_apart(desk: Desk) -> None:
    desk.put("a", '---\nowner: ann\nhelpers: ["[[bob]]", nobody]\n---\n', kind="deal")
    desk.put("b", "---\nowner: person/bob\n---\n[[ann]]\n", kind="deal")
    assert led(desk, "owner") == [("a", "ann"), ("b", "bob")]
    assert led(desk, "helpers") == [("a", "bob")]
    assert led(desk, "stage") == []
    desk.mv("ann", "anna", kind="person", to="person")
    assert ("a", "anna") in led(desk, "owner")


def test_edges_between_two_engrams(desk: Desk) -> None:
    desk.put("a", "---\nowner: ann\n---\nsee [[person/ann]]\n", kind="deal")
    desk.engine.link(HERE, "deal/a", "about", "person/ann")

    def origins(relation: str) -> list[str]:
        found = desk.engine.edges_between(HERE, "deal/a", relation, "person/ann")
        return [edge.origin for edge in found]

    assert (origins("owned_by"), origins("mentions")) == (["field"], ["body"])
    assert (origins("about"), origins("other")) == (["link"], [])
    assert desk.engine.edges_between(HERE, "person/ann", "about", "deal/a") == ()
    assert desk.engine.edges_between(HERE, "deal/a", "about", "deal/a") == ()


rows = st.lists(st.builds(
    EdgeRow, st.integers(0, 5), st.sampled_from(["a", "b"]), st.integers(-1, 5), st.just("x"),
))  # fmt: skip


@settings(deadline=None)
@given(rows, st.dictionaries(st.integers(0, 5), rows))
def test_between_is_what_a_look_at_all_edges_finds(
    stored: list[EdgeRow], changed: dict[int, list[EdgeRow]]
) -> None:
    edges = Edges(columns_of(stored))
    for source, each in changed.items():
        edges.set(source, [row for row in each if row.source == source])
    for source in range(6):
        for target in range(6):
            if source != target:
                wanted = [row for row in edges.out(source) if row.target == target]
                assert list(edges.between(source, target)) == wanted
