"""Scope and filters -> masks over engrams. They act before any ranking is cut."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from engine.columns import Columns
from engine.conditions import Equals
from engine.filters import Filters
from engine.fusion import Mask
from engine.namespace import Scope
from engine.properties import PropertyIndex

SUPERSEDED = "superseded_by"
_FAVOURITES = Filters(tests=(Equals("favourite", flags=frozenset((True,))),))


@dataclass(frozen=True, slots=True)
class Masks:
    """Of engrams: covered by the scope; hidden, because superseded; allowed by all."""

    covered: Mask
    hidden: Mask
    allowed: Mask
    filtered: int  # engrams in scope that the filters took out


def masks(columns: Columns, properties: PropertyIndex, scope: Scope, filters: Filters) -> Masks:
    """Superseded engrams are hidden unless a filter on `superseded_by` asks for them."""
    covered = columns.covered(scope)
    hidden = np.zeros(len(columns), dtype=bool)
    if not any(test.name == SUPERSEDED for test in filters.tests):
        hidden = covered & _numbers(properties.having(SUPERSEDED), len(columns))
    allowed = covered & ~hidden
    if not filters.empty:
        passed = allowed.copy()
        if filters.kinds is not None:
            passed &= columns.of_kinds(filters.kinds)
        if filters.tests:
            passed &= _numbers(properties.select(filters), len(columns))
        if _beyond_columns(filters):
            for no in np.flatnonzero(passed).tolist():
                passed[no] = filters.matches_entry(columns.entry(no))
        filtered = int(np.count_nonzero(allowed & ~passed))
        return Masks(covered, hidden, passed, filtered)
    return Masks(covered, hidden, allowed, 0)


def favourites(properties: PropertyIndex) -> list[int]:
    """Engrams that are marked as favourites."""
    return sorted(properties.select(_FAVOURITES))


def _beyond_columns(filters: Filters) -> bool:
    """Is there a condition that only the entry itself can answer?"""
    return Filters(kinds=filters.kinds, tests=filters.tests, given=filters.given) != filters


def _numbers(numbers: Iterable[int], length: int) -> Mask:
    mask = np.zeros(length, dtype=bool)
    inside = [no for no in numbers if no < length]
    mask[inside] = True
    return mask
