"""The temporal channel: how near an engram stands to the times that a question names.

    t(e) = 1 inside the interval, falling linearly to 0 one interval-length outside

The best of `updated` and of the datetimes among its properties: those declared so by its kind; in
open mode, where nobody declares, the values that are written as datetimes are. Of several intervals
the nearest counts. No value depends on other engrams. The formula is the design's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from engine.catalogue import Catalogue
from engine.columns import Columns
from engine.fusion import Floats, Longs
from engine.properties import PropertyIndex
from engine.time_columns import LAST_NS, NO_TIME
from engine.time_expressions import Interval


def closeness(
    intervals: Sequence[Interval],
    columns: Columns,
    properties: PropertyIndex,
    catalogue: Catalogue,
) -> Floats:
    """t of every engram, float64[engrams] in 0..1."""
    engrams = len(columns)
    best = np.zeros(engrams, dtype=np.float64)
    layers, beside = [columns.updated_ns], []
    for name, kinds in _fields(catalogue).items():
        times, more = properties.times(name, engrams)
        declared = columns.of_kinds(kinds) if kinds is not None else np.ones(engrams, dtype=bool)
        layers += [np.where(declared, at, NO_TIME) for at in times]
        beside.append((more[0][declared[more[0]]], more[1][declared[more[0]]]))
    for interval in intervals:
        for at in layers:
            reached, t = _reached(at, interval)
            best[reached] = np.maximum(best[reached], t)
        for numbers, at in beside:
            reached, t = _reached(at, interval)
            np.maximum.at(best, numbers[reached], t)
    return best


def _reached(at: Longs, interval: Interval) -> tuple[Longs, Floats]:
    """Where t is above 0, and t there."""
    start, end, fade = interval.start_ns, interval.end_ns, interval.fade
    low, high = max(start - fade, NO_TIME), min(end + fade, LAST_NS)
    reached = np.flatnonzero((at > low) & (at < high))
    those = at[reached].astype(np.float64)  # `now` and with it an end may be beyond 64 bits
    outside = np.maximum(np.maximum(float(start) - those, those - float(end)), 0.0)
    return reached, 1.0 - outside / float(fade)


def hold(properties: PropertyIndex, catalogue: Catalogue) -> None:
    """Have the columns that `closeness` reads made, so that no question waits for it."""
    for name in _fields(catalogue):
        properties.times(name, 0)


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
