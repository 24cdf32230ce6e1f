"""Scope and filters -> masks over engrams. They act before any ranking is cut."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from engine.columns import Columns
from engine.conditions import Equals
from engine.entries import Entries
from engine.errors import Invalid, Problem, shown
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


def masks(
    columns: Columns,
    properties: PropertyIndex,
    scope: Scope,
    filters: Filters,
    only: frozenset[int] | None = None,
    *,
    superseded: bool = False,
) -> Masks:
    """Superseded engrams are hidden unless `superseded`, or a filter on `superseded_by`, asks for
    them.

    `only` are the numbers of the engrams that may be hits; it acts as one filter more.
    """
    covered = columns.covered(scope)
    hidden = np.zeros(len(columns), dtype=bool)
    if not superseded and not any(test.name == SUPERSEDED for test in filters.tests):
        hidden = covered & mask_of(properties.having(SUPERSEDED), len(columns))
    allowed = covered & ~hidden
    if not filters.empty or only is not None:
        passed = allowed.copy()
        if only is not None:
            passed &= mask_of(only, len(columns))
        if filters.kinds is not None:
            passed &= columns.of_kinds(filters.kinds)
        if filters.tests:
            passed &= mask_of(properties.select(filters), len(columns))
        if _beyond_columns(filters):
            for no in np.flatnonzero(passed).tolist():
                passed[no] = filters.matches_entry(columns.entry(no))
        filtered = int(np.count_nonzero(allowed & ~passed))
        return Masks(covered, hidden, passed, filtered)
    return Masks(covered, hidden, allowed, 0)


def chosen(entries: Entries, ids: Iterable[str] | None) -> frozenset[int] | None:
    """Numbers of the engrams with these ids; None for None. What does not exist is left out.

    Raises Invalid for what is no id: a path here would find nothing, in silence.
    """
    if ids is None:
        return None
    written = list(ids)
    wrong = [id for id in written if not _is_id(id)]
    if wrong:
        raise Invalid(
            *(
                Problem(
                    f"{shown(str(id))!r} is not the id of an engram",
                    key="scope_ids",
                    hint="an id is a UUID; `get` tells the id of a path",
                )
                for id in wrong
            )
        )
    found = (entries.by_id(id.lower()) for id in written)
    return frozenset(entry.no for entry in found if entry is not None)


def _is_id(id: object) -> bool:
    try:
        return isinstance(id, str) and str(UUID(id)) == id.lower()
    except ValueError:
        return False


def favourites(properties: PropertyIndex) -> list[int]:
    """Engrams that are marked as favourites."""
    return sorted(properties.select(_FAVOURITES))


def _beyond_columns(filters: Filters) -> bool:
    """Is there a condition that only the entry itself can answer?"""
    return Filters(kinds=filters.kinds, tests=filters.tests, given=filters.given) != filters


def mask_of(numbers: Iterable[int], length: int) -> Mask:
    """The engrams with these numbers; those beyond `length` came later and are left out."""
    mask = np.zeros(length, dtype=bool)
    inside = [no for no in numbers if no < length]
    mask[inside] = True
    return mask
