"""What engrams were at a time of the past: their rows, and a ranking that shows them so.

    then = reader.hydrate_at(scope, entries, at_ns)    the rows of that time, one batch
    ranking = ranking_at(ranking, then, groups)      the same hits as they were then

Engrams are found in the live index, by the words and properties that they have now; what is shown
is the version of then. The history decides what there is (`engine.store.history`): saves that it
counts as one version are one here too, and a version that it would drop now is gone, whether or not
it is pruned yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from engine.evidence import Evidence, Parts
from engine.fusion import Longs
from engine.query import Group
from engine.ranking import Ranking
from engine.reader import Changed, Then


def ranking_at(ranking: Ranking, then: Then, groups: Sequence[Group]) -> Ranking:
    """The ranking with each engram as it was then, and without those that are not in `then.rows`.

    Order, scores and ranks stay. The evidence of an engram that changed since is found again in its
    parts of then (`found_again`); `groups` are the question's terms (`engine.query.query_terms`).
    """
    inside = [at for at, no in enumerate(ranking.numbers.tolist()) if no in then.rows]
    left = len(ranking.numbers) - len(inside)

    def evidence(numbers: Longs) -> Evidence:
        held = ranking.evidence_of(numbers)
        positions, scores = held.positions.copy(), held.scores.copy()
        most = positions.shape[1]
        for at, no in enumerate(numbers.tolist()):
            if no in then.changed:
                again = found_again(held.of(at), then.changed[no], groups, most)
                positions[at], scores[at] = -1, 0.0
                for place, (position, score) in enumerate(again):
                    positions[at, place], scores[at, place] = position, score
        return Evidence(positions, scores)

    return replace(
        ranking.taken(np.array(inside, np.int64)),
        columns=ranking.columns.with_entries(then.entries),
        total=ranking.total - left,
        evidence_of=evidence,
    )


def found_again(parts: Parts, changed: Changed, groups: Sequence[Group], most: int) -> Parts:
    """The best parts of a former version, for those that are the best ones now.

    `parts` are (position, score) among the parts of now. One that was there then, by its id, keeps
    its score. The places that are left go to parts of the body of then by the share of the
    question's terms that they hold, which is taken of the best score. Best first, at most `most`.
    """
    there = {id: position for position, id in enumerate(changed.ids_then)}
    now = [(position, score) for position, score in parts if position < len(changed.ids_now)]
    ids = ((changed.ids_now[position], score) for position, score in now)
    found = [(there[id], score) for id, score in ids if id in there]
    kept = {position for position, _ in found}
    best = max((score for _, score in parts), default=0.0)
    if groups and best > 0.0 and len(found) < most:
        by_share = []
        for position, held in enumerate(changed.terms_then):
            terms = set(held)
            share = sum(not terms.isdisjoint(group) for group in groups) / len(groups)
            if share and position and position not in kept:
                by_share.append((position, share * best))
        by_share.sort(key=lambda one: (-one[1], one[0]))
        found += by_share[: most - len(found)]
    return tuple(sorted(found, key=lambda one: (-one[1], one[0]))[:most])
