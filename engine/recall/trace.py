"""The trace of a recall: rankings of every channel, multipliers, what was dropped, times."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from engine.channels import Retrieved
from engine.fusion import best_by_engram
from engine.masks import Masks
from engine.model import Entry
from engine.ranking import Ranking
from engine.recall.pack import Pack

MOST_DROPPED = 200


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


def trace_of(
    found: Retrieved | None,
    ranking: Ranking,
    mask: Masks,
    packed: Pack,
    path_of: Callable[[Entry], str | None],
    timings: Timings,
) -> dict[str, object]:
    """What JSON shows under `trace`. Rankings hold the engrams that were ranked."""

    def name(entry: Entry) -> str:
        return path_of(entry) or entry.id

    if found is not None:
        for step, seconds in found.seconds.items():
            timings.steps[f"channel {step}"] = round(seconds * 1000, 3)
    evidence = ranking.evidence([one.entry for one in ranking.ranked])
    packed_nos = {item.entry.no for item in packed.items}
    left_out = [one for one in ranking.ranked if one.entry.no not in packed_nos]
    return {
        "channels": {} if found is None else _channels(found, ranking, name),
        "ranked": [
            {
                "path": name(one.entry),
                "score": one.score,
                "ranks": dict(one.channels),
                "multipliers": {step: round(by, 9) for step, by in one.factors.items()},
                "named": one.named,
                "parts": [
                    {"position": position, "score": score}
                    for position, score in evidence.get(one.entry.no, ())
                ],
            }
            for one in ranking.ranked
        ],
        "dropped": [
            {"path": name(one.entry), "why": "it did not fit the budget"}
            for one in left_out[:MOST_DROPPED]
        ],
        "dropped_counts": {
            "filters": mask.filtered,
            "superseded": int(np.count_nonzero(mask.hidden)),
            "limit": ranking.total - len(ranking.ranked),
            "budget": len(left_out),
        },
        "times_ms": dict(timings.steps),
    }


def _channels(
    found: Retrieved, ranking: Ranking, name: Callable[[Entry], str]
) -> dict[str, object]:
    scores = {
        channel: best_by_engram(values, found.owners, found.engrams)
        for channel, values in (("lexical", found.lexical), ("vector", found.cosine))
        if values is not None
    }
    if "graph" in ranking.channels:
        scores["graph"] = np.zeros(found.engrams)
        for no, reached in ranking.reached.items():
            if no < found.engrams:
                scores["graph"][no] = reached.score
    shown: dict[str, object] = {}
    for channel in ranking.channels:
        ranked = [
            (one.channels[channel], name(one.entry), one.entry.no)
            for one in ranking.ranked
            if channel in one.channels
        ]
        shown[channel] = [
            {"rank": rank, "path": path}
            | ({"score": round(float(scores[channel][no]), 6)} if channel in scores else {})
            for rank, path, no in sorted(ranked)
        ]
    return shown
