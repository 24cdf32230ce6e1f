"""The order of a ranking: named, score, tagged, favourites, the newer, the smaller id."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.channels import NAMED, Retrieved
from engine.columns import Columns
from engine.config import Config
from engine.ranking import Rules, rank

DAY = 86_400 * 10**9
# (score, day of the last change, named, favourite, tagged); few values, so that ties are many
ENGRAMS = st.lists(
    st.tuples(
        st.sampled_from([0.5, 1.0, 2.0]),
        st.integers(0, 2),
        st.booleans(),
        st.booleans(),
        st.booleans(),
    ),
    min_size=1,
    max_size=12,
)


def columns(days: list[int], ids: list[str]) -> Columns:
    """As much of the columns as an order needs."""
    entries = [SimpleNamespace(id=id) for id in ids]
    held: Any = SimpleNamespace(
        updated_ns=np.array(days, np.int64) * DAY, entry=lambda no: entries[no]
    )
    return cast("Columns", held)


def found(scores: list[float], named: list[bool]) -> Retrieved:
    """One part an engram, found by its words."""
    count = len(scores)
    return Retrieved(
        count,
        np.arange(count, dtype=np.int32),
        np.zeros(count, np.int32),
        np.ones(count, bool),
        lexical=np.array(scores),
        exact={no: NAMED for no in range(count) if named[no]},
    )


@settings(max_examples=200, deadline=None)
@given(ENGRAMS, st.booleans(), st.randoms(use_true_random=False))
def test_ties_are_broken_by_tags_favourites_age_then_id_at_every_limit(
    engrams: list[tuple[float, int, bool, bool, bool]], tags_asked: bool, random: Any
) -> None:
    scores, days, named, liked, tagged = map(list, zip(*engrams, strict=True))
    ids = [f"{number:02}" for number in range(len(engrams))]
    random.shuffle(ids)
    first = np.array(tagged) if tags_asked else None
    rules = Rules(Config(recency_decay=0.0), now_ns=3 * DAY, first=first)
    everybody = np.ones(len(engrams), bool)
    favourites = np.flatnonzero(liked).tolist()

    def place(no: int) -> tuple[object, ...]:
        late = tags_asked and not tagged[no]
        return (not named[no], -scores[no], late, not liked[no], -days[no], ids[no])

    expected = sorted(range(len(engrams)), key=place)
    for limit in range(1, len(engrams) + 1):
        ranking = rank(
            columns(days, ids), found(scores, named), everybody, favourites, rules, limit
        )
        assert ranking.numbers.tolist() == expected[:limit]
        assert ranking.total == len(engrams)


def test_a_favourite_is_no_better_than_a_better_match() -> None:
    rules = Rules(Config(recency_decay=0.0), now_ns=3 * DAY)
    everybody = np.ones(2, bool)
    better = found([1.0, 1.001], [False, False])
    assert rank(columns([0, 0], ["a", "b"]), better, everybody, [0], rules, 2).numbers.tolist() == [
        1,
        0,
    ]
