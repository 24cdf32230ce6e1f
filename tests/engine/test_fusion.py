"""The formulas of fusion, on small arrays worked out by hand, and their laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.fusion import (
    best_by_engram,
    lent,
    normalised,
    ranks,
    recency,
    rrf_fusion,
    score_fusion,
)

ALL = np.ones(3, dtype=bool)
SCORES = st.lists(st.floats(0, 100), min_size=1, max_size=20)


def floats(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)


def test_scores_are_over_the_maximum_of_the_scope() -> None:
    assert normalised(floats(2, 4, 1), ALL).tolist() == [0.5, 1.0, 0.25]


def test_the_maximum_is_taken_over_counted_documents_only() -> None:
    counted = np.array([True, False, True])
    assert normalised(floats(2, 4, 1), counted).tolist() == [1.0, 0.0, 0.5]


def test_no_score_at_all_is_zero() -> None:
    assert normalised(floats(0, 0, 0), ALL).tolist() == [0.0, 0.0, 0.0]


def test_negative_cosines_and_missing_vectors_count_zero() -> None:
    assert normalised(floats(-0.5, float("nan"), 0.8), ALL).tolist() == [0.0, 0.0, 1.0]


def test_base_is_the_weighted_mean_of_the_channels_that_ran() -> None:
    lexical, vector = floats(1.0, 0.5, 0.0), floats(0.0, 1.0, 0.5)
    base = score_fusion({"lexical": lexical, "vector": vector}, {"lexical": 1, "vector": 3})
    assert base.tolist() == [0.25, 0.875, 0.375]


def test_a_channel_that_did_not_run_leaves_both_sums() -> None:
    weights = {"lexical": 1.0, "vector": 3.0}
    assert score_fusion({"lexical": floats(1.0, 0.5)}, weights).tolist() == [1.0, 0.5]


def test_a_part_without_a_vector_keeps_the_full_denominator() -> None:
    weights = {"lexical": 1.0, "vector": 1.0}
    base = score_fusion({"lexical": floats(1.0, 1.0), "vector": floats(1.0, 0.0)}, weights)
    assert base.tolist() == [1.0, 0.5]


def test_an_engrams_base_is_its_best_parts() -> None:
    owners = np.array([0, 2, 0, 2], dtype=np.int32)
    assert best_by_engram(floats(1, 5, 3, 2), owners, 4).tolist() == [3, 0, 5, 0]


def test_a_part_is_lent_a_share_of_the_better_neighbour_of_its_engram() -> None:
    base = np.array([1.0, 0.5, 0.25, 0.75, 0.5])
    owners = np.array([3, 3, 3, 1, 2], dtype=np.int32)
    assert lent(base, owners, 0.5).tolist() == [1.25, 1.0, 0.5, 0.75, 0.5]
    assert lent(base, owners, 0.0).tolist() == base.tolist()
    assert lent(base[:0], owners[:0], 0.5).tolist() == []


def test_ranks_begin_with_one_and_equal_scores_share_one() -> None:
    assert ranks(floats(0.5, 0.9, 0.0, 0.5, 0.1)).tolist() == [2, 1, 0, 2, 4]


def test_ranks_of_some_are_ranks_among_all() -> None:
    assert ranks(floats(0.5, 0.9, 0.1), np.array([2, 1])).tolist() == [3, 1]


def test_reciprocal_ranks_are_summed_with_their_weights() -> None:
    ranked = {"lexical": np.array([1, 2, 0]), "vector": np.array([2, 0, 0])}
    fused = rrf_fusion(ranked, {"lexical": 1.0, "vector": 2.0}, 60, 3)
    assert fused.tolist() == pytest.approx([1 / 61 + 2 / 62, 1 / 62, 0.0])


def test_recency_falls_to_its_floor_and_not_below() -> None:
    day = 86_400 * 10**9
    now = 10_000 * day
    ages = np.array([now, now - 10 * day, 0, now + day], dtype=np.int64)
    faded = recency(ages, now, 0.02, 0.85)
    assert faded.tolist() == pytest.approx([1.0, 0.85 + 0.15 * np.exp(-0.2), 0.85, 1.0])
    assert recency(ages, now, 0.02, 0.0)[1] == pytest.approx(np.exp(-0.2))  # Tacklr's rule
    assert recency(ages, now, 0.0, 0.85).tolist() == [1.0] * 4  # switched off
    assert recency(ages, 2**70, 0.02, 0.85) == pytest.approx(0.85)  # what no int64 holds
    assert recency(ages, -(2**70), 0.02, 0.85).tolist() == [1.0] * 4


@given(SCORES)
def test_ranks_order_as_scores_do(scores: list[float]) -> None:
    values = np.array(scores)
    found = ranks(values)
    for one in range(len(scores)):
        for other in range(len(scores)):
            if scores[one] > scores[other] > 0:
                assert found[one] < found[other]
            if scores[one] == scores[other]:
                assert found[one] == found[other]


@given(SCORES, st.randoms(use_true_random=False))
def test_fusion_does_not_depend_on_the_order_of_documents(scores: list[float], random) -> None:  # type: ignore[no-untyped-def]
    order = list(range(len(scores)))
    random.shuffle(order)
    values = np.array(scores)
    counted = np.ones(len(scores), dtype=bool)
    plain = score_fusion({"lexical": normalised(values, counted)}, {"lexical": 0.4})
    moved = score_fusion({"lexical": normalised(values[order], counted)}, {"lexical": 0.4})
    assert plain[order].tolist() == moved.tolist()
    assert all(0.0 <= value <= 1.0 for value in plain)
