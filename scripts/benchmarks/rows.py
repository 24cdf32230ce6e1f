"""What contestants index, and what they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Row = TypeVar("Row", int, str)
RRF_K = 60


@dataclass(frozen=True)
class Rows:
    """A batch of texts and of vectors, float32[n, dimension]; each are numbered on their own.

    LanceDB holds both in one row, so there must be as many of both.
    """

    texts: Sequence[str]
    vectors: Vectors


def reciprocal_ranks(*rankings: Sequence[Row], top: int) -> list[Row]:
    """Rank fusion: sum of 1 / (60 + rank); ties as they were found."""
    score: dict[Row, float] = {}
    for ranking in rankings:
        for rank, row in enumerate(ranking, start=1):
            score[row] = score.get(row, 0.0) + 1.0 / (RRF_K + rank)
    return sorted(score, key=lambda row: -score[row])[:top]
