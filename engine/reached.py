"""What a walk through the graph gave, as pages of hits: kept as a result set, like what is found.

A hit of an expansion has its relation, and the confidence of its way for a score; one that is a
part has it as its evidence. A hit of an analysis has the figure that it was ranked by.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.analysis import Scored
from engine.evidence import Evidence
from engine.expand import Reached
from engine.model import Page, Relation
from engine.namespace import Scope
from engine.paging import Window, kept_page
from engine.reader import Reader
from engine.result_sets import ResultSet


def page_of(
    reader: Reader,
    scope: Scope,
    found: Sequence[Reached | Scored],
    window: Window,
    warnings: tuple[str, ...] = (),
) -> Page:
    """Keep all of it, in this order, as a result set, and read its window."""
    scores = np.array([_score(each) for each in found], np.float64)
    positions = np.array([_position(each) for each in found], np.int32)
    kept = ResultSet(
        scope,
        len(found),
        np.array([each.entry.no for each in found], np.int64),
        np.array([each.entry.seq for each in found], np.int64),
        scores,
        {},
        Evidence(positions.reshape(-1, 1), scores.reshape(-1, 1)),
        tuple(_relation(each) for each in found),
        warnings=warnings,
    )
    return kept_page(reader, kept, window)


def _score(found: Reached | Scored) -> float:
    return found.confidence if isinstance(found, Reached) else found.score


def _position(found: Reached | Scored) -> int:
    part = found.part if isinstance(found, Reached) else None
    return -1 if part is None else part.position


def _relation(found: Reached | Scored) -> Relation | None:
    if not isinstance(found, Reached):
        return None
    return Relation(found.relation, found.outward, found.via, found.hops)
