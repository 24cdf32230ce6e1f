"""Names below `.graph` and `.views`, and the steps of `.graph`: pure."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.slug import MAX_NAME_BYTES, directory_problem, name_problem, nfc
from engramfs.graph_address import (
    EdgeFile,
    GraphNode,
    NeighbourLink,
    Nothing,
    OfEngram,
    OfKind,
    OfRelation,
    Side,
    Top,
    graph_node,
)
from engramfs.link_names import EDGE, LINK, AtPlace, ById, meaning, stem_of
from engramfs.value_names import value_name, value_text

ID = "0198c0de-0000-7000-8000-000000000001"
slugs = st.text(min_size=1, max_size=260).filter(lambda slug: name_problem(slug) is None)
kinds = (st.sampled_from(["note", "a.b", "100%", "%2E"]) | st.text(min_size=1, max_size=9)).filter(
    lambda name: directory_problem(name) is None
)


@pytest.mark.parametrize(
    ("name", "directory", "stem"),
    [
        ("b", "note", "b"),
        ("Two words", "note", "Two words"),
        ("ann", "person", "ann.person"),
        ("v1.2", "note", "v1.2.note"),
        ("x.person", "note", "x.person.note"),
        ("b", "a.b%", "b.a%2Eb%25"),
        ("é" * 126, "note", f"{ID}."),
    ],
)
def test_how_a_neighbour_of_a_note_is_called(name: str, directory: str, stem: str) -> None:
    assert stem_of(name, directory, "note", ID) == stem


@given(slugs, kinds, kinds)
def test_a_name_means_the_engram_that_it_is_of(slug: str, directory: str, own: str) -> None:
    stem = stem_of(slug, directory, own, ID)
    assert all(len(f"{stem}{end}".encode()) <= MAX_NAME_BYTES for end in (LINK, EDGE))
    found = meaning(stem, nfc(own))
    assert found in (AtPlace(nfc(directory), nfc(slug)), ById(ID))
    assert isinstance(found, ById) == (stem == f"{ID}.")


@given(st.text(max_size=300))
def test_values_have_names_and_names_say_values(text: str) -> None:
    name = value_name(text)
    assert 0 < len(name.encode()) <= MAX_NAME_BYTES
    assert not name.startswith(".") and "/" not in name
    assert not any(ord(character) < 32 or ord(character) == 127 for character in name)
    if "%~" not in name and name != "%":
        assert unquote(name, errors="strict") == text
    else:
        assert len(text.encode()) > 200 or text == ""


@given(st.text(max_size=300), st.text(max_size=300))
def test_two_values_never_share_a_name(one: str, other: str) -> None:
    assert (value_name(one) == value_name(other)) == (one == other)


@given(st.text(min_size=200, max_size=300), st.text(max_size=2), st.text(max_size=2))
def test_nor_do_long_ones_with_one_beginning(long: str, one: str, other: str) -> None:
    assert (value_name(long + one) == value_name(long + other)) == (one == other)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a/b", "a%2Fb"), ("100%", "100%25"), (".hidden", "%2Ehidden"), ("..", "%2E."), ("", "%"),
        ("two words", "two words"), ("a\nb", "a%0Ab"), ("\x85", "%C2%85"), ("é", "é"),
    ],
)  # fmt: skip
def test_names_of_values(text: str, name: str) -> None:
    assert value_name(text) == name


@pytest.mark.parametrize(
    ("value", "of_number", "text"),
    [
        (True, False, "true"), (1, True, "1"), (1.0, True, "1"), ("1.10", True, "1.1"),
        (100, True, "100"), (0.0, True, "0"),
        ("1.10", False, "1.10"), ("cafe\u0301", False, "café"),
    ],
)  # fmt: skip
def test_values_that_are_equal_have_one_text(value: object, of_number: bool, text: str) -> None:
    assert value_text(value, of_number) == text  # type: ignore[arg-type]


ENGRAM = OfEngram("note", "a b")
ABOUT = OfRelation(Side(ENGRAM, True), "about")


@pytest.mark.parametrize(
    ("path", "node"),
    [
        ("", Top()),
        ("note", OfKind("note")),
        ("note/a b", ENGRAM),
        ("note/a b/out", Side(ENGRAM, True)),
        ("note/a b/in", Side(ENGRAM, False)),
        ("note/a b/about", Nothing()),
        ("note/a b/out/about", ABOUT),
        ("note/a b/out/about/b.md", NeighbourLink(ABOUT, "b.md", "b")),
        ("note/a b/out/about/b", NeighbourLink(ABOUT, "b", None)),
        ("note/a b/out/about/b.edge", EdgeFile(ABOUT, "b")),
        ("note/a b/out/about/b.md.edge", EdgeFile(ABOUT, "b")),
        ("note/a b/out/about/b.md/c", Nothing("ENOTDIR")),
        ("note/\udcff", Nothing()),
    ],
)
def test_steps_below_the_graph(path: str, node: GraphNode) -> None:
    assert graph_node([step for step in path.split("/") if step]) == node


@given(st.lists(st.text(max_size=6) | st.sampled_from(["out", "in"]), max_size=7))
def test_every_path_names_something(steps: list[str]) -> None:
    assert isinstance(graph_node(steps), GraphNode)
