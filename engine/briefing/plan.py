"""Who is in a briefing, and in which order. Pure: columns, masks and scores in, numbers out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from engine.catalogue import Catalogue
from engine.columns import Columns
from engine.config import Config
from engine.fusion import ROUNDING, Floats, Longs, Mask, days_since, fitted
from engine.ranking import in_order

CONSTRAINTS, FAVOURITES, NEWEST, INDEX = "constraints", "favourites", "newest", "index"
_UNMARKED = "none"  # what kinds.yaml says of a kind that is in no section


@dataclass(frozen=True, slots=True)
class Plan:
    """Engrams by number, each once, the first to be told first.

    `constraints` are all of them, `sections` what else may be told, in its order. `total` counts
    the engrams that could be, `marked` says whether any kind is in a section.
    """

    constraints: tuple[int, ...]
    sections: tuple[tuple[str, tuple[int, ...]], ...]
    total: int
    marked: bool


def plan(
    columns: Columns,
    allowed: Mask,
    catalogue: Catalogue,
    liked: Iterable[int],
    score: Floats,
    closed: Callable[[int], bool],
    config: Config,
) -> Plan:
    """Sort the `allowed` engrams (scope and kinds) into sections.

    Constraints, conventions, findings and tasks are those of kinds that are marked so; in each
    favourites (`liked`) come first, then `score`, the newer, the smaller id. A `closed` task is no
    task. Favourites that no section has are one of their own; without a marked kind the newest are
    another. The index is the rest.
    """
    left = allowed.copy()
    pinned = np.zeros(len(columns), dtype=bool)
    pinned[[no for no in liked if no < len(columns)]] = True

    def take(mask: Mask, by: Floats, most: int | None = None) -> tuple[int, ...]:
        numbers: Longs = np.flatnonzero(mask & left)
        taken = in_order(columns, numbers, by, pinned, len(numbers) if most is None else most)
        left[taken] = False
        return tuple(taken.tolist())

    def marked(mark: str) -> Mask:
        kinds = (kind.name for kind in catalogue.kinds.values() if kind.briefing == mark)
        return columns.of_kinds(frozenset(kinds))

    everybody = np.ones(len(columns), dtype=bool)
    any_marked = any(kind.briefing != _UNMARKED for kind in catalogue.kinds.values())
    constraints = take(marked("constraint"), score)
    conventions = take(marked("convention"), score, config.briefing_conventions)
    findings = take(marked("finding"), score, config.briefing_findings)
    tasks = marked("task") & left
    for no in np.flatnonzero(tasks).tolist():
        tasks[no] = not closed(no)
    sections = [
        ("conventions", conventions),
        ("findings", findings),
        ("tasks", take(tasks, score, config.briefing_tasks)),
        (FAVOURITES, take(pinned, score)),
    ]
    if not any_marked:
        alike = np.zeros(len(columns))
        sections.append((NEWEST, take(everybody, alike, config.briefing_newest)))
    sections.append((INDEX, take(everybody, score, config.briefing_index)))
    return Plan(constraints, tuple(sections), int(np.count_nonzero(allowed)), any_marked)


def scores(columns: Columns, now_ns: int, used: Floats | None, config: Config) -> Floats:
    """What orders a section: recency, halving every 14 days, alone or with how much one is `used`.

    Of Seamless: 0.6 * 2 ** (-days / 14) + 0.4 * u. The future counts as now.
    """
    days = days_since(columns.updated_ns, now_ns)
    recency: Floats = np.exp2(-days / config.briefing_half_life_days)
    if used is None:
        return np.round(recency, ROUNDING)
    share = config.briefing_utility * fitted(used, len(columns))
    return np.round(config.briefing_recency * recency + share, ROUNDING)
