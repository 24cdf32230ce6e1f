"""Columns over the table of entries, so that scope, kind and age of all engrams are array work.

Arrays are indexed by an engram's dense number. They follow the table by themselves: an entry is
replaced when its engram changes, so what is new is found by comparing objects (0.1 ms for 10,000).
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.entries import Entries, is_live
from engine.model import Entry, Namespace
from engine.namespace import Scope

Mask = NDArray[np.bool_]
_GROWTH = 1024  # arrays are longer than needed by this, so that a new engram rarely copies them


@dataclass(frozen=True, slots=True)
class Columns:
    """One state of all engrams, in arrays of equal length. Codes index `namespaces`, `kinds`."""

    entries: tuple[Entry | None, ...]
    live: Mask
    namespace: NDArray[np.int32]
    kind: NDArray[np.int32]
    updated_ns: NDArray[np.int64]
    namespaces: tuple[Namespace, ...]
    kinds: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.live)

    def covered(self, scope: Scope) -> Mask:
        """Live engrams that the scope covers."""
        codes = np.fromiter(
            (scope.covers(namespace) for namespace in self.namespaces), bool, len(self.namespaces)
        )
        return self.live & _of(codes, self.namespace)

    def of_kinds(self, kinds: frozenset[str]) -> Mask:
        """Engrams of these kinds, in the catalogue's spelling."""
        codes = np.fromiter((kind in kinds for kind in self.kinds), bool, len(self.kinds))
        return _of(codes, self.kind)

    def entry(self, no: int) -> Entry:
        """The entry of a number that `covered` or `live` holds."""
        found = self.entries[no]
        if found is None:
            raise KeyError(no)
        return found


class ColumnCache:
    """The columns of one table of entries, brought up to date when they are asked for."""

    def __init__(self, entries: Entries) -> None:
        self._table = entries
        self._lock = threading.Lock()
        self._states: list[Entry] = []
        self._held: list[Entry | None] = []
        self._namespaces: dict[Namespace, int] = {}
        self._kinds: dict[str, int] = {}
        self._columns = Columns((), *_empty(0), (), ())

    def now(self) -> Columns:
        """The present columns; never changed afterwards."""
        with self._lock:
            states = self._table.all()
            if states == self._states:  # element by element, the same object first
                return self._columns
            self._states = states
            held = self._held
            size = len(held)
            fresh = [entry for entry in states if entry.no >= size or held[entry.no] is not entry]
            if fresh:
                self._columns = self._with(fresh)
            return self._columns

    def _with(self, fresh: list[Entry]) -> Columns:
        most = max(entry.no for entry in fresh) + 1
        old = self._columns
        length = len(old) if most <= len(old) else most + _GROWTH
        live, namespace, kind, updated = _empty(length)
        live[: len(old)] = old.live
        namespace[: len(old)] = old.namespace
        kind[: len(old)] = old.kind
        updated[: len(old)] = old.updated_ns
        held = [*self._held, *[None] * (length - len(self._held))]
        for entry in fresh:
            held[entry.no] = entry
            live[entry.no] = is_live(entry)
            namespace[entry.no] = self._namespaces.setdefault(
                entry.namespace, len(self._namespaces)
            )
            kind[entry.no] = self._kinds.setdefault(entry.kind, len(self._kinds))
            updated[entry.no] = entry.updated_ns
        self._held = held
        return Columns(
            tuple(held), live, namespace, kind, updated, tuple(self._namespaces), tuple(self._kinds)
        )


def _of(codes: Mask, column: NDArray[np.int32]) -> Mask:
    if not len(codes):
        return np.zeros(len(column), dtype=bool)
    return codes[column]


def _empty(
    length: int,
) -> tuple[Mask, NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    return (
        np.zeros(length, dtype=bool),
        np.zeros(length, dtype=np.int32),
        np.zeros(length, dtype=np.int32),
        np.zeros(length, dtype=np.int64),
    )
