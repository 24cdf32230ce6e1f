"""The datetimes that engrams have in a property, as arrays, so that nearness to a time is array
work over all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from engine.fusion import Longs
from engine.instants import instant
from engine.model import PropertyValue

NO_TIME = -(2**63)  # of an engram that has none
LAST_NS = 2**63 - 1
_HALF_A_DAY_NS = 43_200_000_000_000
_DATE = len("2026-04-05")
_LAYERS = 4  # datetimes of one engram in arrays; those of a longer list are kept beside them


class TimeColumn:
    """The datetimes in one property, or in any. Of a list each; guarded by who holds it."""

    def __init__(self, name: str | None) -> None:
        self._name = name  # None: any property
        self._layers: list[Longs] = []  # by engram number: the first datetime, the second …
        self._size = 0  # of engrams, for which each layer has room
        self._more: dict[int, tuple[int, ...]] = {}

    def set(self, no: int, properties: Mapping[str, PropertyValue]) -> None:
        """The values of an engram, instead of those before."""
        values = properties.values() if self._name is None else (properties.get(self._name),)
        found = [at for value in values for at in _times(value)]
        self.remove(no)
        if not found:
            return
        if no >= self._size:
            self._size = max(2 * self._size, no + 1, 64)
            self._layers = [_grown(layer, self._size) for layer in self._layers]
        while len(self._layers) < min(len(found), _LAYERS):
            self._layers.append(np.full(self._size, NO_TIME, np.int64))
        for layer, at in zip(self._layers, found, strict=False):
            layer[no] = at
        if len(found) > _LAYERS:
            self._more[no] = tuple(found[_LAYERS:])

    def remove(self, no: int) -> None:
        """An engram has none any more."""
        if no < self._size:
            for layer in self._layers:
                layer[no] = NO_TIME
            self._more.pop(no, None)

    def values(self, engrams: int) -> tuple[list[Longs], tuple[Longs, Longs]]:
        """Nanoseconds from the epoch in arrays by engram number, NO_TIME for none; and
        (engram numbers, nanoseconds) of what does not fit them.

        A date without a time is the noon of that day in UTC, which is on the same date in nearly
        every time zone; instants beyond 64 bits are the last that fit.
        """
        layers = [_grown(layer[:engrams], engrams) for layer in self._layers]
        more = [(no, at) for no, several in self._more.items() for at in several if no < engrams]
        numbers, further = np.array(more, np.int64).reshape(-1, 2).T
        return layers, (numbers, further)


def _grown(layer: Longs, size: int) -> Longs:
    grown = np.full(size, NO_TIME, np.int64)
    grown[: len(layer)] = layer
    return grown


def _times(value: PropertyValue) -> Iterator[int]:
    for item in value if isinstance(value, list) else (value,):
        if not isinstance(item, str) or len(item) < _DATE or "-" not in item:
            continue
        at = instant(item)
        if at is not None:
            noon = _HALF_A_DAY_NS if len(item.strip()) == _DATE else 0
            yield min(max(at + noon, NO_TIME + 1), LAST_NS)
