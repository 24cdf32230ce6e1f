"""From what the channels found to ranked engrams: fusion, multipliers, order, best parts.

F = fused score of the channels (engine.fusion) + 0.15 where the question contains the title; times
recency and favourite, which are bounded and never bring in what no channel returned. What the
question names stands first. Ties: score, then the newer, then the id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from engine.channels import CONTAINED, NAMED, Retrieved
from engine.columns import Columns
from engine.config import Config
from engine.fusion import (
    ROUNDING,
    Floats,
    Longs,
    Mask,
    best_by_engram,
    fitted,
    normalised,
    ranks,
    recency,
    rrf_fusion,
    score_fusion,
)
from engine.model import Entry

Parts = tuple[tuple[int, float], ...]  # (position, base) of an engram's evidence, best first


@dataclass(frozen=True, slots=True)
class Ranked:
    """One engram in its place."""

    entry: Entry
    score: float
    channels: Mapping[str, int] = field(default_factory=dict)  # rank in each, from 1
    factors: Mapping[str, float] = field(default_factory=dict)
    named: bool = False


@dataclass(frozen=True, slots=True)
class Ranking:
    """The best engrams, and how many there were before the limit.

    `evidence` gives the best parts of some of them by engram number; it is asked for those that are
    shown only.
    """

    ranked: tuple[Ranked, ...]
    total: int
    evidence: Callable[[Sequence[Entry]], Mapping[int, Parts]] = field(default=lambda _: {})


@dataclass(frozen=True, slots=True)
class Rules:
    """How to rank. `weights` multiply the config's; `k` bounds what vectors alone bring in."""

    config: Config
    fusion: str = "score"
    weights: Mapping[str, float] = field(default_factory=dict)
    k: int | None = None
    now_ns: int = 0
    evidence: int = 3

    def channel_weights(self) -> dict[str, float]:
        """The weights in force; the exact channel's multiplies its bonus."""
        own = {
            "lexical": self.config.lexical_weight,
            "vector": self.config.vector_weight,
            "exact": 1.0,
        }
        return {name: weight * self.weights.get(name, 1.0) for name, weight in own.items()}


def rank(
    columns: Columns,
    found: Retrieved,
    allowed: Mask,
    favourites: Iterable[int],
    rules: Rules,
    limit: int,
) -> Ranking:
    """The best `limit` engrams among the `allowed` (scope and filters), a mask over engrams."""
    engrams = found.engrams
    allowed = fitted(allowed, engrams)
    weights = rules.channel_weights()
    base = _bases(found, weights)
    lexical = _best(found, found.lexical)
    cosine = _best(found, found.cosine)
    exact = np.zeros(engrams, dtype=np.float64)
    for no, level in (found.exact or {}).items():
        exact[no] = level
    # Without the lexical channel the vector channel gives its whole ranking.
    floor = rules.config.vector_floor if found.lexical is not None else 0.0
    close = _close(cosine, allowed, floor, rules.k)
    candidates = _numbers(((lexical > 0.0) | close | (exact > 0.0)) & allowed)
    if not len(candidates):
        return Ranking((), 0)
    by_channel = {
        name: values
        for name, values in (("lexical", lexical), ("vector", cosine), ("exact", exact))
        if name in found.ran
    }
    contained, named = exact == CONTAINED, exact == NAMED
    if rules.fusion == "rrf":
        everywhere = {name: ranks(values) for name, values in by_channel.items()}
        fused = rrf_fusion(everywhere, weights, rules.config.rrf_k, engrams)
        highest = sum(weights.values()) / rules.config.rrf_k
    else:
        fused = best_by_engram(base, found.owners, engrams)
        fused[contained] += rules.config.exact_title_bonus * weights["exact"]
        highest = 1.0 + rules.config.exact_title_bonus * weights["exact"]
    # Twice the highest of the others, so that no multiplier brings one of them before it.
    fused[named] += 2.0 * highest
    age = recency(
        fitted(columns.updated_ns, engrams),
        rules.now_ns,
        rules.config.recency_decay,
        rules.config.recency_floor,
    )
    liked = np.ones(engrams, dtype=np.float64)
    liked[[no for no in favourites if no < engrams]] = rules.config.favourite_factor
    score = np.round(fused * age * liked, ROUNDING)
    ordered = _ordered(columns, candidates, score, named, limit)
    in_channel = {
        name: ranks(values, np.array(ordered, dtype=np.int64)).tolist()
        for name, values in by_channel.items()
    }
    ranked = tuple(
        Ranked(
            columns.entry(no),
            float(score[no]),
            {name: held[at] for name, held in in_channel.items() if held[at]},
            {
                "fused": float(fused[no]),
                "recency": float(age[no]),
                "favourite": float(liked[no]),
            },
            bool(named[no]),
        )
        for at, no in enumerate(ordered)
    )
    return Ranking(
        ranked,
        len(candidates),
        lambda entries: _evidence(found, base, [entry.no for entry in entries], rules.evidence),
    )


def browse(columns: Columns, allowed: Mask, limit: int) -> Ranking:
    """Without a question: the newest first, without scores."""
    candidates = _numbers(fitted(allowed, len(columns)))
    nothing = np.zeros(len(columns), dtype=np.float64)
    ordered = _ordered(columns, candidates, nothing, nothing > 0.0, limit)
    return Ranking(tuple(Ranked(columns.entry(no), 0.0) for no in ordered), len(candidates))


def _bases(found: Retrieved, weights: Mapping[str, float]) -> Floats:
    """The fused score of each document."""
    channels = {
        name: normalised(values, found.counted)
        for name, values in (("lexical", found.lexical), ("vector", found.cosine))
        if values is not None
    }
    if not channels:
        return np.zeros(len(found.owners), dtype=np.float64)
    return score_fusion(channels, weights)


def _best(found: Retrieved, values: Floats | None) -> Floats:
    if values is None:
        return np.zeros(found.engrams, dtype=np.float64)
    return best_by_engram(values, found.owners, found.engrams)


def _close(cosine: Floats, allowed: Mask, floor: float, k: int | None) -> Mask:
    """Engrams that the vector channel brings in even where no other channel has them."""
    close: Mask = (cosine >= floor) & allowed & (cosine > 0.0)
    inside = np.flatnonzero(close)
    if k is not None and len(inside) > k:
        least = np.partition(cosine[inside], len(inside) - k)[len(inside) - k]
        close &= cosine >= least
    return close


def _ordered(
    columns: Columns, candidates: Longs, score: Floats, named: Mask, limit: int
) -> list[int]:
    """The best `limit` candidates: named first, then score, the newer, the smaller id."""
    if len(candidates) > limit:
        first = candidates[named[candidates]]
        rest = candidates[~named[candidates]]
        updated = columns.updated_ns[rest]
        order = np.lexsort((-updated, -score[rest]))
        cut = order[: limit + 1]
        if len(order) > limit:
            # Keep all that tie with the last one: ids decide among them.
            last = order[limit - 1]
            tied = (score[rest] == score[rest[last]]) & (updated == updated[last])
            cut = np.union1d(order[:limit], np.flatnonzero(tied))
        candidates = np.concatenate([first, rest[cut]])
    updated_ns = columns.updated_ns

    def place(no: int) -> tuple[bool, float, int, str]:
        return not named[no], -score[no], -int(updated_ns[no]), columns.entry(no).id

    numbers: list[int] = candidates.tolist()
    numbers.sort(key=place)
    return numbers[:limit]


def _evidence(found: Retrieved, base: Floats, engrams: list[int], most: int) -> dict[int, Parts]:
    """The best parts of some engrams.

    The head says what title, summary and properties of the item say already: it is evidence only
    where the question's words stand in no other part.
    """
    wanted = np.zeros(found.engrams, dtype=bool)
    wanted[engrams] = True
    documents = np.flatnonzero(found.counted & wanted[found.owners])
    lexical = found.lexical if found.lexical is not None else np.zeros(len(base))
    rows = zip(
        found.owners[documents].tolist(),
        found.positions[documents].tolist(),
        np.round(base[documents], ROUNDING).tolist(),
        (lexical[documents] > 0.0).tolist(),
        strict=True,
    )
    by_engram: dict[int, list[tuple[int, float, bool]]] = {}
    for owner, position, score, matched in rows:
        by_engram.setdefault(owner, []).append((position, score, matched))
    evidence: dict[int, Parts] = {}
    for owner, own in by_engram.items():
        body = [part for part in own if part[0] > 0]
        head = [part for part in own if part[0] == 0]
        if body and (any(part[2] for part in body) or not any(part[2] for part in head)):
            head = []
        found_in = [part for part in (*head, *body) if part[1] > 0.0]
        best = sorted(found_in, key=lambda part: (-part[1], part[0]))[:most]
        evidence[owner] = tuple((position, score) for position, score, _ in best)
    return evidence


def _numbers(mask: Mask) -> Longs:
    return np.flatnonzero(mask).astype(np.int64)
