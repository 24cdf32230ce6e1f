"""From what the channels found to ranked engrams: fusion, multipliers, order, best parts.

F = fused score of the best part (engine.fusion) + 0.15 where the question contains the title + 0.2
of what edges of other hits give (engine.graph_channel) + 0.2 of standing in the time that the
question names (engine.temporal_channel); times recency, favourite and utility, which are bounded
and bring nothing in that no channel returned. What the question names stands first. Ties: score,
tagged before untagged where tags are asked for, favourites, the newer, the id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from engine.channels import CONTAINED, NAMED, TITLED, Retrieved
from engine.columns import Columns
from engine.config import Config
from engine.evidence import Evidence, Parts, no_evidence
from engine.fusion import (
    ROUNDING,
    Floats,
    Longs,
    Mask,
    best_by_engram,
    fitted,
    lent,
    normalised,
    ranks,
    recency,
    rrf_fusion,
    score_fusion,
)
from engine.graph_channel import GraphChannel, Reached
from engine.model import Entry


@dataclass(frozen=True, slots=True)
class Ranked:
    """One engram in its place."""

    entry: Entry
    score: float
    channels: Mapping[str, int] = field(default_factory=dict)  # rank in each, from 1
    factors: Mapping[str, float] = field(default_factory=dict)
    named: bool = False


@dataclass(frozen=True)
class Ranking:
    """The best engrams in order, one element of each array an engram; `total` is before the limit.

    `evidence_of` gives the best parts of some engrams by their numbers. Arrays rather than objects,
    because a result set keeps a thousand of which ten are looked at.
    """

    columns: Columns
    numbers: Longs
    scores: Floats
    named: Mask
    total: int
    channels: Mapping[str, Longs] = field(default_factory=dict)  # ranks from 1; 0: not in it
    strengths: Mapping[str, Floats] = field(default_factory=dict)  # of the same channels, 0..1
    factors: Mapping[str, Floats] = field(default_factory=dict)
    evidence_of: Callable[[Longs], Evidence] = no_evidence
    reached: Mapping[int, Reached] = field(default_factory=dict)  # by edges, by number
    before_filters: Floats = field(default_factory=lambda: np.zeros(0))  # scores of all hits

    def taken(self, rows: Longs) -> Ranking:
        """The engrams in these rows, in this order."""
        return replace(
            self,
            numbers=self.numbers[rows],
            scores=self.scores[rows],
            named=self.named[rows],
            channels={name: ranks[rows] for name, ranks in self.channels.items()},
            strengths={name: values[rows] for name, values in self.strengths.items()},
            factors={name: by[rows] for name, by in self.factors.items()},
        )

    def first(self, limit: int) -> Ranking:
        """The best `limit` engrams."""
        return self if len(self.numbers) <= limit else self.taken(np.arange(limit))

    def above(self, least: Mapping[str, float], least_score: float) -> Ranking:
        """Without what a channel that ran gives less than its floor, or the score less than its.

        Nothing moves up for it: it is taken out of what is there.
        """
        kept = self.scores >= least_score
        for name, floor in least.items():
            if name in self.strengths:
                kept &= self.strengths[name] >= floor
        if kept.all():
            return self
        taken = self.taken(np.flatnonzero(kept))
        return replace(taken, total=self.total - int(np.count_nonzero(~kept)))

    @cached_property
    def ranked(self) -> tuple[Ranked, ...]:
        """The engrams as values."""
        channels = {name: ranks.tolist() for name, ranks in self.channels.items()}
        factors = {name: by.tolist() for name, by in self.factors.items()}
        return tuple(
            Ranked(
                self.columns.entry(no),
                score,
                {name: ranks[at] for name, ranks in channels.items() if ranks[at]},
                {name: by[at] for name, by in factors.items()},
                named,
            )
            for at, (no, score, named) in enumerate(
                zip(self.numbers.tolist(), self.scores.tolist(), self.named.tolist(), strict=True)
            )
        )

    def evidence(self, entries: Sequence[Entry]) -> Mapping[int, Parts]:
        """The best parts of some engrams by number; it is asked for those that are shown only."""
        found = self.evidence_of(np.array([entry.no for entry in entries], np.int64))
        return {entry.no: found.of(at) for at, entry in enumerate(entries)}


@dataclass(frozen=True, slots=True)
class Rules:
    """How to rank. `weights` multiply the config's; `k` bounds what vectors alone bring in.

    With the fusion `raw` one channel's scores stand as they are: BM25, or the cosine.
    """

    config: Config
    fusion: str = "score"
    weights: Mapping[str, float] = field(default_factory=dict)
    k: int | None = None
    now_ns: int = 0
    evidence: int = 3
    first: Mask | None = None  # engrams that stand before others of the same score

    def channel_weights(self) -> dict[str, float]:
        """The weights in force; the exact channel's multiplies its bonus."""
        own = {
            "lexical": self.config.lexical_weight,
            "vector": self.config.vector_weight,
            "exact": 1.0,
            "trigram": self.config.trigram_weight,
            "graph": self.config.graph_weight,
            "temporal": self.config.temporal_weight,
        }
        return {name: weight * self.weights.get(name, 1.0) for name, weight in own.items()}


def rank(
    columns: Columns,
    found: Retrieved,
    allowed: Mask,
    favourites: Iterable[int],
    rules: Rules,
    limit: int,
    graph: GraphChannel | None = None,
    *,
    timely: Floats | None = None,
    utility: Floats | None = None,
) -> Ranking:
    """The best `limit` engrams among the `allowed` (scope and filters), a mask over engrams.

    `graph` goes on from the hits before any filter, so that filters change no score; GraphFailed
    when it cannot. `timely` is how well engrams stand in the time that the question names, None
    where it names none, `utility` how much they are used; both 0..1, over engrams.
    """
    engrams = found.engrams
    allowed = fitted(allowed, engrams)
    weights = rules.channel_weights()
    base = _bases(found, weights)
    lexical = _best(found, found.lexical)
    cosine = _best(found, found.cosine)
    trigram = _best(found, found.trigram)
    exact = np.zeros(engrams, dtype=np.float64)
    for no, level in (found.exact or {}).items():
        exact[no] = level
    # Without the lexical channel the vector channel gives its whole ranking.
    floor = rules.config.vector_floor if found.lexical is not None else 0.0
    close = _close(cosine, allowed, floor, rules.k)
    others = (lexical > 0.0) | (exact > 0.0) | (trigram > 0.0)
    channels = {"lexical": lexical, "vector": cosine, "exact": exact, "trigram": trigram}
    by_channel = {name: values for name, values in channels.items() if name in found.ran}
    contained, named = exact == CONTAINED, exact >= NAMED
    share = rules.config.neighbour_share
    bonus = rules.config.exact_title_bonus * weights["exact"]
    own = np.zeros(engrams, dtype=np.float64)
    if rules.fusion == "score" or graph is not None:
        lending = lent(base, found.owners, share) if share else base
        own = best_by_engram(lending, found.owners, engrams)
        own[contained] += bonus
    reached: Mapping[int, Reached] = {}
    linked = np.zeros(engrams, dtype=np.float64)
    hits = others | ((cosine >= floor) & (cosine > 0.0))
    if graph is not None:
        reached = graph.reach(np.where(named, 1.0, own), hits)
        for no, how in reached.items():
            if no < engrams:  # one that is younger than this search
                linked[no] = how.score
        by_channel["graph"] = linked
    brought_in = (others | close | (linked > 0.0)) & allowed
    temporal = np.zeros(engrams, dtype=np.float64)
    if timely is not None:
        temporal = np.round(fitted(timely, engrams), ROUNDING)
        by_channel["temporal"] = temporal
        brought_in |= _of_that_time(columns, temporal, allowed & ~brought_in, rules.k)
    candidates = _numbers(brought_in)
    if rules.fusion == "rrf":
        everywhere = {name: ranks(values) for name, values in by_channel.items()}
        fused = rrf_fusion(everywhere, weights, rules.config.rrf_k, engrams)
        highest = sum(weights.values()) / rules.config.rrf_k
    else:
        fused = own + weights["graph"] * linked + weights["temporal"] * temporal
        highest = 1.0 + share + bonus + weights["graph"] + weights["temporal"]
    # Twice the highest of the others, so that no multiplier brings one of them before it.
    fused[named] += 2.0 * highest
    fused[exact == TITLED] += 3.0 * highest
    age = recency(
        fitted(columns.updated_ns, engrams),
        rules.now_ns,
        rules.config.recency_decay,
        rules.config.recency_floor,
    )
    is_liked = np.zeros(engrams, dtype=bool)
    is_liked[[no for no in favourites if no < engrams]] = True
    liked = np.where(is_liked, rules.config.favourite_factor, 1.0)
    used = np.ones(engrams, dtype=np.float64)
    if utility is not None:
        used += rules.config.utility_share * fitted(utility, engrams)
    if rules.fusion == "raw":
        fused, age, liked, used = lexical + cosine, *np.ones((3, engrams))
    score = np.round(fused * age * liked * used, ROUNDING)
    before = is_liked.astype(np.int8)
    if rules.first is not None:
        before += 2 * fitted(rules.first, engrams)
    ordered = in_order(columns, candidates, score, named, limit, before)
    return Ranking(
        columns,
        ordered,
        score[ordered],
        named[ordered],
        len(candidates),
        {name: ranks(values, ordered) for name, values in by_channel.items()},
        {name: _strength(name, values, found)[ordered] for name, values in by_channel.items()},
        {
            "fused": fused[ordered],
            "recency": age[ordered],
            "favourite": liked[ordered],
            "utility": used[ordered],
        },
        lambda numbers: _evidence(found, base, numbers, rules.evidence),
        reached,
        np.where(hits | (linked > 0.0) | (temporal > 0.0), score, 0.0),
    )


def _strength(name: str, values: Floats, found: Retrieved) -> Floats:
    """What a channel gives engrams, in 0..1: of its maximum in scope, or as it stands."""
    of = {"lexical": found.lexical, "vector": found.cosine, "trigram": found.trigram}.get(name)
    if of is not None:
        top = float(of[found.counted].max(initial=0.0))
        return np.minimum(values / top, 1.0) if top > 0.0 else values
    if name == "exact":
        return (values > 0.0).astype(np.float64)
    return values


def _of_that_time(columns: Columns, temporal: Floats, of: Mask, k: int | None) -> Mask:
    """Engrams that their time alone brings in: the `k` that stand in it best, the newer first."""
    inside = np.flatnonzero((temporal > 0.0) & of)
    if k is not None and len(inside) > k:
        updated = fitted(columns.updated_ns, len(temporal))[inside]
        inside = inside[np.lexsort((inside, -updated, -temporal[inside]))[:k]]
    kept = np.zeros(len(temporal), dtype=bool)
    kept[inside] = True
    return kept


def browse(columns: Columns, allowed: Mask, limit: int, first: Mask | None = None) -> Ranking:
    """Without a question: the newest first, without scores; those of `first` before all."""
    candidates = _numbers(fitted(allowed, len(columns)))
    nothing = np.zeros(len(columns), dtype=np.float64)
    unnamed = nothing > 0.0
    ordered = in_order(columns, candidates, nothing, unnamed, limit, first)
    return Ranking(columns, ordered, nothing[ordered], unnamed[ordered], len(candidates))


def _bases(found: Retrieved, weights: Mapping[str, float]) -> Floats:
    """The fused score of each document."""
    channels = {
        name: normalised(values, found.counted)
        for name, values in (
            ("lexical", found.lexical),
            ("vector", found.cosine),
            ("trigram", found.trigram),
        )
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


def in_order(
    columns: Columns,
    candidates: Longs,
    score: Floats,
    named: Mask,
    limit: int,
    before: Mask | NDArray[np.int8] | None = None,
) -> Longs:
    """The best `limit` candidates: named, score, more of `before`, the newer, the smaller id."""
    is_named = named[candidates]
    first, rest = candidates[is_named], candidates[~is_named]
    if 0 < limit < len(rest):
        # All that tie with the last one stay: age and id decide among them.
        least = np.partition(score[rest], len(rest) - limit)[len(rest) - limit]
        rest = rest[score[rest] >= least]
    kept = np.concatenate([first, rest])
    early = np.zeros(len(kept), np.int8)
    if before is not None:
        early += fitted(before, len(score))[kept]
    age = -fitted(columns.updated_ns, len(score))[kept]
    keys: Sequence[NDArray[np.generic]] = (~named[kept], -score[kept], -early, age)
    order = np.lexsort(keys[::-1])
    kept, keys = kept[order], [key[order] for key in keys]
    equal = np.ones(max(len(kept) - 1, 0), dtype=bool)
    for key in keys:
        equal &= key[1:] == key[:-1]
    for start, end in _runs(equal):
        if start >= limit:
            break
        kept[start:end] = sorted(kept[start:end].tolist(), key=lambda no: columns.entry(no).id)
    return kept[:limit]


def _runs(equal: Mask) -> list[tuple[int, int]]:
    """(start, end) of the runs of elements that each equal the next one."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], equal, [False]]).astype(np.int8)))
    return [(start, end + 1) for start, end in edges.reshape(-1, 2).tolist()]


def _evidence(found: Retrieved, base: Floats, numbers: Longs, most: int) -> Evidence:
    """The best parts of some engrams.

    The head says what title, summary and properties of the item say already: it is evidence only
    where the question's words stand in no other part.
    """
    row_of = np.full(found.engrams, -1, dtype=np.int64)  # engram -> row of the answer
    row_of[numbers] = np.arange(len(numbers))
    documents = np.flatnonzero(found.counted & (row_of >= 0)[found.owners])
    rows, positions = row_of[found.owners[documents]], found.positions[documents]
    scores = np.round(base[documents], ROUNDING)
    matched = np.zeros(len(documents), dtype=bool)
    if found.lexical is not None:
        matched = found.lexical[documents] > 0.0
    if found.trigram is not None:
        matched |= found.trigram[documents] > 0.0
    body = positions > 0

    def having(which: Mask) -> Mask:
        return np.bincount(rows[which], minlength=len(numbers)) > 0

    headless = having(body) & (having(body & matched) | ~having(~body & matched))
    kept = np.flatnonzero((scores > 0.0) & (body | ~headless[rows]))
    kept = kept[np.lexsort((positions[kept], -scores[kept], rows[kept]))]
    counts = np.bincount(rows[kept], minlength=len(numbers))
    place = np.arange(len(kept)) - np.repeat(np.cumsum(counts) - counts, counts)
    kept, place = kept[place < most], place[place < most]
    evidence = Evidence(
        np.full((len(numbers), most), -1, np.int32), np.zeros((len(numbers), most), np.float64)
    )
    evidence.positions[rows[kept], place] = positions[kept]
    evidence.scores[rows[kept], place] = scores[kept]
    return evidence


def _numbers(mask: Mask) -> Longs:
    return np.flatnonzero(mask).astype(np.int64)
