from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import Invalid
from engine.namespace import Scope, bind, parse_namespace
from engine.store.places import pack_namespace, unpack_namespace

NAMES = st.text("abcdefgh_", min_size=1, max_size=5)
VALUES = st.text(min_size=1, max_size=8).filter(
    lambda v: v == v.strip() and "." not in v and v.isprintable()
)
NAMESPACES = st.dictionaries(NAMES, VALUES, max_size=4).map(lambda d: tuple(d.items()))


def test_parses_in_order() -> None:
    assert parse_namespace(["team=sales", "project=apollo"]) == (
        ("team", "sales"),
        ("project", "apollo"),
    )
    assert parse_namespace([]) == ()
    assert parse_namespace(["formula=a=b"]) == (("formula", "a=b"),)


@pytest.mark.parametrize(
    "attribute", ["team", "=x", " team=x", "team=", "team= x", "team=a.b", "team=a\nb", "t\x00=x"]
)
def test_refuses_what_is_no_attribute(attribute: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_namespace([attribute])
    assert caught.value.problems[0].hint


def test_names_every_problem() -> None:
    with pytest.raises(Invalid) as caught:
        parse_namespace(["team", "a=1", "a=2", "b=x.y"])
    assert len(caught.value.problems) == 3


@given(NAMESPACES)
def test_json_keeps_a_namespace(namespace: tuple[tuple[str, str], ...]) -> None:
    assert unpack_namespace(pack_namespace(namespace)) == namespace


@given(NAMESPACES)
def test_the_whole_covers_everything_and_each_covers_itself(
    namespace: tuple[tuple[str, str], ...],
) -> None:
    assert Scope().covers(namespace)
    assert Scope(namespace).covers(namespace)
    assert Scope(namespace, exact=True).covers(namespace)


def test_a_broader_scope_sees_deeper_objects() -> None:
    deep = parse_namespace(["team=sales", "project=apollo"])
    assert Scope((("team", "sales"),)).covers(deep)
    assert Scope((("project", "apollo"),)).covers(deep)
    assert not Scope((("team", "ops"),)).covers(deep)
    assert not Scope((("team", "sales"),), exact=True).covers(deep)
    assert not Scope((), exact=True).covers(deep)
    assert not Scope(deep).covers((("team", "sales"),))


@given(NAMESPACES, NAMESPACES)
def test_binding_only_narrows(
    ceiling: tuple[tuple[str, str], ...], call: tuple[tuple[str, str], ...]
) -> None:
    held = dict(ceiling)
    if any(held.get(name, value) != value for name, value in call):
        with pytest.raises(Invalid):
            bind(Scope(ceiling), call)
        return
    bound = bind(Scope(ceiling), call)
    assert dict(bound.attributes) == {**dict(ceiling), **dict(call)}
    assert Scope(ceiling).covers(bound.attributes)


def test_an_exact_ceiling_takes_its_own_attributes_only() -> None:
    ceiling = Scope((("team", "sales"),), exact=True)
    assert bind(ceiling, (("team", "sales"),)) == ceiling
    assert bind(ceiling, ()) == ceiling
    for call in ((("team", "ops"),), (("project", "x"),)):
        with pytest.raises(Invalid):
            bind(ceiling, call)
