"""A host's reranker over the best of a ranking, before it is cut."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from engine.channels import within
from engine.hits import hits_in, result_set
from engine.model import Degraded
from engine.namespace import Scope
from engine.ranking import Ranking
from engine.reader import Reader

log = logging.getLogger(__name__)

RERANKER = "reranker"  # what ranks and `degraded` call it


def to_rerank(reader: Reader) -> int:
    """How many engrams to rank for the reranker; 0 without one."""
    return reader.config.rerank_candidates if reader.reranker is not None else 0


def reranked(
    reader: Reader, scope: Scope, question: str, ranking: Ranking, seconds: float | None = None
) -> tuple[Ranking, tuple[Degraded, ...]]:
    """The ranking in the reranker's order, or as it was with the reason why.

    The config's `rerank_candidates` are given to it; those behind them, and those that cannot be
    read, stay behind. Scores stay those of the fusion, ranks gain the reranker's. `seconds` is how
    long it may take.
    """
    reranker = reader.reranker
    if reranker is None or not len(ranking.numbers):
        return ranking, ()
    found = result_set(scope, ranking.first(to_rerank(reader)))
    candidates = hits_in(reader, found, range(len(found)), most=None, shown=False)
    hits = tuple(candidates.values())
    try:
        scores = within(seconds, lambda: [float(one) for one in reranker.rerank(question, hits)])
        reason = f"it did not answer within {seconds} s" if scores is None else _unfit(scores, hits)
    except Exception as error:
        log.exception("the reranker failed")
        scores, reason = None, f"it failed: {type(error).__name__}: {error}"
    if reason or scores is None:
        return ranking, (Degraded(RERANKER, f"{reason}; the order is that of the fusion"),)
    by_place = dict(zip(candidates, scores, strict=True))
    ordered = sorted(by_place, key=lambda at: (-by_place[at], at))
    rest = [at for at in range(len(ranking.numbers)) if at not in by_place]
    after = ranking.taken(np.array([*ordered, *rest], np.int64))
    ranks = np.zeros(len(after.numbers), np.int64)
    ranks[: len(ordered)] = np.arange(1, len(ordered) + 1)
    return replace(after, channels={**after.channels, RERANKER: ranks}), ()


def _unfit(scores: Sequence[float], hits: Sequence[object]) -> str:
    """Why an answer cannot be used, or ""."""
    if len(scores) != len(hits):
        return f"it gave {len(scores)} scores for {len(hits)} candidates"
    for score in scores:
        if not math.isfinite(score):
            return f"it gave {score} as a score"
    return ""
