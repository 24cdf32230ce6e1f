"""The piece of the graph that a picture shows, and where it is drawn."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import igraph
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import Invalid, NotFound
from engine.excerpt import Excerpt, excerpt
from engine.graph import layout
from engine.model import Draft, EdgeMeta
from engine.namespace import Scope
from tests.engine.desk import HERE, Desk

ALL = Scope(())
TEAM = Scope((("team", "sales"),), exact=True)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A chain a-b-c-d-e, c linked by three more; o alone; links to itself and to nothing."""
    desk = Desk(tmp_path)
    links = {
        "a": ["b"], "b": ["c"], "c": ["d", "c"], "d": ["e", "nowhere"], "e": [],
        "x": ["c"], "y": ["c"], "z": ["c"], "o": ["o"],
    }  # fmt: skip
    for slug, targets in links.items():
        body = " ".join(f"[[{target}]]" for target in targets)
        desk.put(slug, f"---\nsummary: about {slug}\n---\n# {slug}\n\n{body}\n")
    yield desk
    assert desk.engine.check() == ()
    desk.engine.close()


def slugs(found: Excerpt) -> str:
    return " ".join(entry.slug for entry in found.entries)


def ties(found: Excerpt) -> set[str]:
    at = [entry.slug for entry in found.entries]
    return {f"{at[tie.source]}>{at[tie.target]}" for tie in found.ties}


def test_everything_the_most_linked_first(desk: Desk) -> None:
    found = desk.engine.excerpt(HERE)
    assert slugs(found) == "c b d a e x y z o"
    assert ties(found) == {"a>b", "b>c", "c>d", "d>e", "x>c", "y>c", "z>c"}
    assert len(found.ties) == 7
    assert found.summaries[0] == "about c"
    assert found.whole == 9


def test_what_lies_around_an_engram_the_nearest_first(desk: Desk) -> None:
    assert slugs(desk.engine.excerpt(HERE, "note/a", 1)) == "a b"
    assert slugs(desk.engine.excerpt(HERE, "note/a", 2)) == "a b c"
    near = desk.engine.excerpt(HERE, desk.entry("e").id)
    assert slugs(near) == "e d c"
    assert ties(near) == {"d>e", "c>d"}
    assert slugs(desk.engine.excerpt(HERE, "note/o", 4)) == "o"


def test_what_cannot_be_is_refused(desk: Desk) -> None:
    with pytest.raises(NotFound, match="there is no engram note/none"):
        desk.engine.excerpt(HERE, "note/none")
    for hops in (0, 5):
        with pytest.raises(Invalid, match="is not from 1 to 4"):
            desk.engine.excerpt(HERE, "note/a", hops)


def test_who_is_deleted_or_outside_the_scope_is_not_drawn(desk: Desk) -> None:
    desk.engine.put(TEAM, Draft("note", "theirs", b"# Theirs\n"))
    theirs = desk.engine.lookup(TEAM, "note", "theirs")
    assert theirs is not None
    desk.engine.link(ALL, theirs.id, "about", desk.entry("a").id)
    assert "theirs" in slugs(desk.engine.excerpt(ALL))
    assert "theirs>a" in ties(desk.engine.excerpt(ALL))
    assert "theirs" not in slugs(desk.engine.excerpt(HERE))
    desk.rm("c")
    found = desk.engine.excerpt(HERE)
    assert ties(found) == {"a>b", "d>e"}
    assert slugs(desk.engine.excerpt(HERE, "note/a", 4)) == "a b"


def test_edges_of_several_relations_and_their_notes(desk: Desk) -> None:
    desk.engine.link(HERE, "note/b", "because", "note/a", EdgeMeta(note="seen twice"))
    found = desk.engine.excerpt(HERE, "note/a", 1)
    assert {(tie.relation, tie.note) for tie in found.ties} == {
        ("mentions", ""), ("because", "seen twice"),
    }  # fmt: skip


def limited(desk: Desk, around: str | None = None, **limits: int) -> Excerpt:
    engine = desk.engine
    return excerpt(engine._state, engine._web(HERE), HERE, around, **limits)


def test_too_much_is_cut_where_it_is_linked_least(desk: Desk) -> None:
    few = limited(desk, most_engrams=3)
    assert slugs(few) == "c b d"
    assert ties(few) == {"b>c", "c>d"}
    assert few.whole == 9
    assert slugs(limited(desk, "note/a", most_engrams=2)) == "a b"
    thin = limited(desk, most_edges=4)
    assert slugs(thin) == "c b d a e"
    assert len(thin.ties) == 4
    assert slugs(limited(desk, most_edges=0)) == "c"


def lay(count: int, ends: Sequence[tuple[int, int]]) -> np.ndarray:
    return layout(count, np.array(ends, np.int64).reshape(-1, 2))


pairs = st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19)), max_size=40)


@settings(deadline=None, max_examples=40)
@given(pairs)
def test_every_engram_has_a_place_of_its_own_the_same_each_time(
    ends: list[tuple[int, int]],
) -> None:
    igraph.set_random_number_generator(random)
    places = lay(20, ends)
    assert places.shape == (20, 2)
    assert np.isfinite(places).all()
    assert len({(x, y) for x, y in places.round(9).tolist()}) == 20
    random.random()
    assert (lay(20, ends) == places).all()


def test_nothing_has_no_place() -> None:
    assert lay(0, []).shape == (0, 2)


def test_who_has_no_edge_lies_outside_of_what_is_linked() -> None:
    ring = [(no, (no + 1) % 50) for no in range(50)]
    away = np.hypot(*lay(60, ring).T)
    assert away[50:].min() > np.quantile(away[:50], 0.9)


def test_of_many_too_those_that_are_linked_lie_together() -> None:
    """Thirty groups of fifty, each linked within itself, and a thread from each to the next."""
    dice = random.Random(0)
    ends = [
        (group * 50 + dice.randrange(50), group * 50 + dice.randrange(50))
        for group in range(30)
        for _ in range(300)
    ]
    ends += [(group * 50, group * 50 + 50) for group in range(29)]
    places = lay(1500, ends)
    assert (lay(1500, ends) == places).all()
    groups = places.reshape(30, 50, 2)
    within = np.median(np.linalg.norm(groups - np.median(groups, axis=1)[:, None], axis=2))
    between = np.median(np.linalg.norm(places - np.median(places, axis=0), axis=1))
    assert within * 3 < between
