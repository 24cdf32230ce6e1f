"""The datetimes that engrams have in a property, as arrays, so that nearness to a time is array
work over all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from engine.fusion import Longs
from engine.instants import instant
from engine.model import PropertyValue

_NONE = -(2**63)  # of an engram that has none
_HALF_A_DAY_NS = 43_200_000_000_000
_DATE = len("2026-04-05")


class TimeColumn:
    """The datetimes in one property, or in any. Of a list each; guarded by who holds it."""

    def __init__(self, name: str | None) -> None:
        self._name = name  # None: any property
        self._first = np.full(64, _NONE, np.int64)  # of each engram, by number
        self._more: dict[int, tuple[int, ...]] = {}  # of engrams with several

    def set(self, no: int, properties: Mapping[str, PropertyValue]) -> None:
        """The values of an engram, instead of those before."""
        values = properties.values() if self._name is None else (properties.get(self._name),)
        found = tuple(dict.fromkeys(at for value in values for at in _times(value)))
        self.remove(no)
        if not found:
            return
        if no >= len(self._first):
            grown = np.full(max(2 * len(self._first), no + 1), _NONE, np.int64)
            grown[: len(self._first)] = self._first
            self._first = grown
        self._first[no] = found[0]
        if len(found) > 1:
            self._more[no] = found[1:]

    def remove(self, no: int) -> None:
        """An engram has none any more."""
        if no < len(self._first):
            self._first[no] = _NONE
            self._more.pop(no, None)

    def values(self) -> tuple[Longs, Longs]:
        """(engram numbers, nanoseconds from the epoch), a row each value.

        A date without a time is the noon of that day in UTC, which is on the same date in nearly
        every time zone; instants beyond 64 bits are the last that fit.
        """
        numbers = np.flatnonzero(self._first != _NONE)
        at = self._first[numbers]
        if not self._more:
            return numbers, at
        more = [(no, each) for no, several in self._more.items() for each in several]
        others, further = np.array(more, np.int64).T
        return np.concatenate((numbers, others)), np.concatenate((at, further))


def _times(value: PropertyValue) -> Iterator[int]:
    for item in value if isinstance(value, list) else (value,):
        at = instant(item) if isinstance(item, str) and len(item) >= _DATE else None
        if at is not None and isinstance(item, str):
            noon = _HALF_A_DAY_NS if len(item.strip()) == _DATE else 0
            yield min(max(at + noon, _NONE + 1), -(_NONE + 1))
