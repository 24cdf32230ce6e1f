"""Fusion of channels into one score: the formulas of the search family, on dense arrays.

Arrays are over documents (parts) or engrams, indexed by their dense numbers. Scores are float64.
`score` is the weighted mean of what each channel gives over its maximum in scope (docs/adr/0008),
`rrf` the reciprocal rank fusion of Cormack, Clarke and Büttcher (SIGIR 2009), ranks from 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Mask = NDArray[np.bool_]

ROUNDING = 9  # decimals that scores are compared by, so that no last bit decides an order


T = TypeVar("T", bound=np.generic)


def fitted(array: NDArray[T], length: int) -> NDArray[T]:
    """`array` cut or filled with zeroes: an engram may have come since it was made, or not yet."""
    if len(array) == length:
        return array
    changed = np.zeros(length, dtype=array.dtype)
    shared = min(len(array), length)
    changed[:shared] = array[:shared]
    return changed


def normalised(values: Floats, counted: Mask) -> Floats:
    """`values` over their maximum among the `counted` documents, in 0..1; all 0 if that is 0.

    The maximum is taken over the scope before filters, so that a filter only removes engrams and
    never changes a score. Values below 0 and nan (no vector) count as 0.
    """
    clean = np.where(counted, np.fmax(values, 0.0), 0.0)  # fmax: of a number and nan the number
    top = float(clean.max(initial=0.0))
    return clean / top if top > 0.0 else clean


def score_fusion(channels: Mapping[str, Floats], weights: Mapping[str, float]) -> Floats:
    """base = sum of weight * normalised score / sum of weights, over the channels that ran.

    A channel that did not run is in neither sum. A document that a channel has nothing for (its
    vector is pending) counts 0 there and keeps the full denominator.
    """
    total = sum(weights[name] for name in channels)
    first = next(iter(channels.values()))
    base = np.zeros(len(first), dtype=np.float64)
    for name, values in channels.items():
        base += values * (weights[name] / total)
    return base


def lent(base: Floats, owners: Ints, share: float) -> Floats:
    """base + share * the better neighbour's base.

    Neighbours are the documents right before and right behind of the same engram: what is said
    across the border of two parts counts for both. Documents of an engram stand side by side.
    """
    same = owners[1:] == owners[:-1]
    better = np.zeros(len(base), dtype=np.float64)
    np.multiply(base[:-1], same, out=better[1:])
    np.maximum(better[:-1], base[1:] * same, out=better[:-1])
    lending: Floats = base + share * better
    return lending


def best_by_engram(values: Floats, owners: Ints, engrams: int) -> Floats:
    """The best document's value of each engram, 0 without one. `owners`: document -> engram."""
    best = np.zeros(engrams, dtype=np.float64)
    inside = np.flatnonzero(values != 0.0)  # four times as quick as of numbers
    if 2 * len(inside) < len(values):  # most documents hold no word of a question
        owners, values = owners[inside], values[inside]
    np.maximum.at(best, owners, values)  # quicker than reduceat over the runs of one engram
    return best


def ranks(best: Floats, of: Longs | None = None) -> Longs:
    """Ranks from 1, best first; equal values share one; 0 for what is not in the ranking.

    `of` are the engrams to rank among all, None: each. Shared ranks make a rank depend on the
    scores alone, never on the order of the store.
    """
    wanted = best if of is None else best[of]
    ascending = np.sort(best[best > 0.0])
    better = len(ascending) - np.searchsorted(ascending, wanted, side="right")
    return np.where(wanted > 0.0, better + 1, 0).astype(np.int64)


def rrf_fusion(
    ranked: Mapping[str, Longs], weights: Mapping[str, float], k: int, engrams: int
) -> Floats:
    """sum of weight / (k + rank) over the channels that an engram is ranked in."""
    fused = np.zeros(engrams, dtype=np.float64)
    for name, found in ranked.items():
        inside = found > 0
        fused[inside] += weights[name] / (k + found[inside].astype(np.float64))
    return fused


def recency(updated_ns: Longs, now_ns: int, decay: float, floor: float) -> Floats:
    """floor + (1 - floor) * exp(-decay * days since `updated`); the future counts as now."""
    faded: Floats = floor + (1.0 - floor) * np.exp(-decay * days_since(updated_ns, now_ns))
    return faded


def days_since(updated_ns: Longs, now_ns: int) -> Floats:
    """Days, the future as none. `now_ns` may be beyond what the integers of an array hold."""
    days: Floats = np.maximum(float(now_ns) - updated_ns, 0.0) / 86_400e9
    return days
