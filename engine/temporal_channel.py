"""The temporal channel: how near an engram stands to the times that a question names.

    t(e) = 1 inside the interval, falling linearly to 0 one interval-length outside

The best of `updated` and of the datetimes among its properties: those declared so by its kind; in
open mode, where nobody declares, the values that are written as datetimes are. Of several intervals
the nearest counts. No value depends on other engrams. The formula is the design's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from engine.catalogue import Catalogue
from engine.columns import Columns
from engine.fusion import Floats, Longs
from engine.properties import PropertyIndex
from engine.time_expressions import Interval

_LEAST, _MOST = -(2**63), 2**63 - 1


def closeness(
    intervals: Iterable[Interval],
    columns: Columns,
    properties: PropertyIndex,
    catalogue: Catalogue,
) -> Floats:
    """t of every engram, float64[engrams] in 0..1."""
    best = np.zeros(len(columns), dtype=np.float64)
    dated = [_dated(columns, properties, name, kinds) for name, kinds in _fields(catalogue).items()]
    for interval in intervals:
        np.maximum(best, near(columns.updated_ns, interval), out=best)
        for numbers, at in dated:
            np.maximum.at(best, numbers, near(at, interval))
    return best


def near(at: Longs, interval: Interval) -> Floats:
    """t of instants, nanoseconds from the epoch."""
    start, end, fade = interval.start_ns, interval.end_ns, interval.fade
    found = np.zeros(len(at), dtype=np.float64)
    low, high = max(start - fade, _LEAST), min(end + fade, _MOST)
    reached = np.flatnonzero((at > low) & (at < high))
    those = at[reached]
    before = np.where(those < start, start - those, 0)
    behind = np.where(those >= end, those - end, 0)
    found[reached] = 1.0 - (before + behind) / fade
    return found


def hold(properties: PropertyIndex, catalogue: Catalogue) -> None:
    """Have the columns that `closeness` reads made, so that no question waits for it."""
    for name in _fields(catalogue):
        properties.times(name)


def _fields(catalogue: Catalogue) -> Mapping[str | None, frozenset[str] | None]:
    """Properties that are datetimes, with the kinds that declare them so; None: any."""
    if catalogue.open:
        return {None: None}
    fields: dict[str | None, frozenset[str]] = {}
    for kind in catalogue.kinds.values():
        for field in kind.fields.values():
            if field.type == "datetime":
                fields[field.name] = fields.get(field.name, frozenset()) | {kind.name}
    return fields


def _dated(
    columns: Columns, properties: PropertyIndex, name: str | None, kinds: frozenset[str] | None
) -> tuple[Longs, Longs]:
    numbers, at = properties.times(name)
    known = numbers < len(columns)  # others came after the columns were read
    if kinds is not None:
        known[known] = columns.of_kinds(kinds)[numbers[known]]
    return numbers[known], at[known]
