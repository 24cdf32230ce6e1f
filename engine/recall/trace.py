"""The trace of a recall: why this is here, why that is not, and where the time went.

trace_of(…)      values, as JSON shows them under `trace`
trace_lines(…)   the same as lines to read
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.channels import Retrieved
from engine.columns import Columns
from engine.fusion import best_by_engram, fitted
from engine.model import Entry
from engine.ranking import Ranking
from engine.recall.candidates import DIGESTS
from engine.recall.narrowing import AS_OF, Narrowed
from engine.recall.pack import Pack

MOST_DROPPED = 200  # so many are ranked beyond the limit, to be named
MOST_FILTERED = 20
MOST_LINES = 10  # of a channel's ranking, and beyond the limit, where it is to be read


@dataclass(slots=True)
class Timings:
    """Milliseconds of each step."""

    last: float
    steps: dict[str, float] = field(default_factory=dict)

    def lap(self, step: str) -> None:
        """`step` ends here."""
        now = time.perf_counter()
        self.steps[step] = round((now - self.last) * 1000, 3)
        self.last = now

    def spent(self, channels: Mapping[str, float]) -> None:
        """What channels took, in seconds; it is within other steps."""
        for channel, seconds in channels.items():
            self.steps[f"channel {channel}"] = round(seconds * 1000, 3)


@dataclass(frozen=True, slots=True)
class Cuts:
    """Rankings before each cut: what the channels found, the limit, the floors, what was there at
    `as_of`; then what was offered to the pack, in order: an engram's number, None for a fact or a
    digest."""

    found: Ranking
    limited: Ranking
    floored: Ranking
    kept: Ranking
    offered: Sequence[int | None]
    of_engrams: bool = True  # False: no surface asks for engrams
    digests: Mapping[int, str] = field(default_factory=dict)  # engram -> the digest that covers it
    passed_over: Mapping[str, str] = field(default_factory=dict)  # digest -> why it is not given


def trace_of(
    found: Retrieved | None,
    columns: Columns,
    cuts: Cuts,
    narrowed: Narrowed,
    packed: Pack,
    path_of: Callable[[Entry], str | None],
    timings: Timings,
    *,
    weights: Mapping[str, float],
) -> dict[str, object]:
    """What JSON shows under `trace`. Rankings hold the engrams that were ranked. `weights` are
    those in force of the channels."""

    def name(entry: Entry) -> str:
        return path_of(entry) or entry.id

    ranking = cuts.kept
    evidence = ranking.evidence([one.entry for one in ranking.ranked])
    strengths = {channel: values.tolist() for channel, values in ranking.strengths.items()}
    there = {item.id for item in packed.items if item.surface == "engram"}
    left_out = list(_left_out(cuts, packed, there, name))
    passed_over = [
        {"path": f"{DIGESTS}/{digest}.md", "why": why} for digest, why in cuts.passed_over.items()
    ]
    dropped = [*passed_over, *left_out, *_cut_before(cuts, name)]
    filtered = _filtered(found, columns, narrowed, name)
    taken = {key: int(np.count_nonzero(mask)) for key, mask in narrowed.taken}
    if AS_OF in taken:  # with those that are older, and were not there then
        taken[AS_OF] += len(cuts.floored.numbers) - len(ranking.numbers)
    limited = cuts.found.total - len(cuts.limited.numbers)
    limited += sum(one["why"] == BEYOND for one in left_out)
    return {
        "weights": dict(weights),
        "channels": _channels(cuts.found, name),
        "ranked": [
            {
                "path": name(one.entry),
                "packed": one.entry.id in there,
                "score": one.score,
                "ranks": dict(one.channels),
                "strengths": {
                    channel: round(values[at], 6)
                    for channel, values in strengths.items()
                    if values[at] > 0.0
                },
                "multipliers": {step: round(by, 9) for step, by in one.factors.items()},
                "named": one.named,
                "parts": [
                    {"position": position, "score": score}
                    for position, score in evidence.get(one.entry.no, ())
                ],
            }
            for at, one in enumerate(ranking.ranked)
        ],
        "dropped": [*dropped[:MOST_DROPPED], *filtered],
        "dropped_counts": {
            "filters": narrowed.masks.filtered,
            **taken,
            "superseded": int(np.count_nonzero(narrowed.masks.hidden)),
            "limit": limited,
            "min_score": len(cuts.limited.numbers) - len(cuts.floored.numbers),
            **{cut: sum(one["why"] == why for one in dropped) for cut, why in CUT_BY.items()},
        },
        "degraded": [f"{one.what} - {one.reason}" for one in packed.degraded],
        "warnings": list(packed.warnings),
        "times_ms": dict(timings.steps),
    }


CUT_BY = {
    "budget": "it did not fit the budget",
    "max_characters": "it did not fit max_characters",
}
BEYOND = "it is beyond the limit"


def _left_out(
    cuts: Cuts, packed: Pack, there: Collection[str], name: Callable[[Entry], str]
) -> Iterator[dict[str, str]]:
    """Who passed every floor and is not in the pack, whose engrams are `there` by id; and why."""
    places = {no: place for place, no in enumerate(cuts.offered) if no is not None}
    seen = len(cuts.offered) - packed.omitted.count  # by the pack, which took them or could not
    for one in cuts.kept.ranked:
        if one.entry.id in there:
            continue
        digest, place = cuts.digests.get(one.entry.no), places.get(one.entry.no)
        if not cuts.of_engrams:
            why = "engrams were not asked for"
        elif digest is not None:
            why = f"the digest {digest} covers it"
        elif place is None:
            why = BEYOND
        elif place < seen:
            why = "it could not be read"
        else:
            why = CUT_BY[packed.cut_by or "budget"]
        yield {"path": name(one.entry), "why": why}


def _cut_before(cuts: Cuts, name: Callable[[Entry], str]) -> Iterator[dict[str, str]]:
    """Who was ranked and not offered to the pack, and why."""
    kept = set(cuts.kept.numbers.tolist())
    for one in cuts.floored.ranked:
        if one.entry.no not in kept:
            yield {"path": name(one.entry), "why": f"{AS_OF} takes it out"}
    floored = set(cuts.floored.numbers.tolist())
    for one in cuts.limited.ranked:
        if one.entry.no not in floored:
            yield {"path": name(one.entry), "why": "it is below a min_score"}
    limited = set(cuts.limited.numbers.tolist())
    for one in cuts.found.ranked:
        if one.entry.no not in limited:
            yield {"path": name(one.entry), "why": BEYOND}


def _filtered(
    found: Retrieved | None,
    columns: Columns,
    narrowed: Narrowed,
    name: Callable[[Entry], str],
) -> list[dict[str, str]]:
    """The best of those that have words of the question and were let through by no filter."""
    if found is None or found.lexical is None:
        return []
    best = best_by_engram(found.lexical, found.owners, found.engrams)
    mask = narrowed.masks
    out = fitted(mask.covered & ~mask.hidden & ~mask.allowed, found.engrams) & (best > 0.0)
    numbers = np.flatnonzero(out)
    numbers = numbers[np.lexsort((numbers, -best[numbers]))][:MOST_FILTERED]
    return [
        {"path": name(columns.entry(no)), "why": f"{narrowed.why(no)} takes it out"}
        for no in numbers.tolist()
    ]


def _channels(ranking: Ranking, name: Callable[[Entry], str]) -> dict[str, object]:
    shown: dict[str, object] = {}
    for channel in ranking.channels:
        strengths = ranking.strengths.get(channel)
        ranked = [
            (one.channels[channel], name(one.entry), at)
            for at, one in enumerate(ranking.ranked)
            if channel in one.channels
        ]
        shown[channel] = [
            {"rank": rank, "path": path}
            | ({} if strengths is None else {"score": round(float(strengths[at]), 6)})
            for rank, path, at in sorted(ranked)
        ]
    return shown


def trace_lines(trace: Mapping[str, Any]) -> Iterator[str]:
    """The trace to read: a line an engram, a line a reason, a line a time."""
    yield "why these:"
    scores = {one["path"]: one["score"] for one in trace["ranked"]}
    for place, one in enumerate(trace["ranked"], 1):
        if not one["packed"]:
            continue
        gives = _listed(one["strengths"], one["ranks"])
        times = "".join(
            f" x {by:.3f} {step}"
            for step, by in one["multipliers"].items()
            if step != "fused" and by != 1.0
        )
        fused = one["multipliers"].get("fused", 0.0)
        named = "named; " if one["named"] else ""
        yield f"{place}. {one['path']} {one['score']:.4f}: {named}{gives or 'browsed'}"
        yield f"   {fused:.4f} fused{times}"
    yield "why not these:"
    beyond = [one for one in trace["dropped"] if one["why"] == BEYOND][MOST_LINES:]
    dropped = (one for one in trace["dropped"] if one not in beyond)
    for one in dropped:
        score = f" {scores[one['path']]:.4f}" if one["path"] in scores else ""
        yield f"- {one['path']}{score}: {one['why']}"
    counts = ", ".join(f"{n} ({what})" for what, n in trace["dropped_counts"].items() if n)
    yield f"left out: {counts or 'none'}"
    for channel, ranked in trace["channels"].items():
        first: Sequence[Mapping[str, Any]] = ranked[:MOST_LINES]
        yield f"{channel}: " + (", ".join(f"{one['rank']} {one['path']}" for one in first) or "-")
    yield "weights: " + ", ".join(f"{channel} {by:g}" for channel, by in trace["weights"].items())
    yield from (f"degraded: {said}" for said in trace["degraded"])
    yield from (f"warning: {said}" for said in trace["warnings"])
    yield "ms: " + ", ".join(f"{step} {ms:g}" for step, ms in trace["times_ms"].items())


def _listed(strengths: Mapping[str, float], ranks: Mapping[str, int]) -> str:
    return ", ".join(
        f"{channel} {rank}" + (f" ({strengths[channel]:.3f})" if channel in strengths else "")
        for channel, rank in ranks.items()
    )
