"""Columns over the table of entries, so that scope, kind and age of all engrams are array work.

Arrays are indexed by an engram's dense number. They follow the table by themselves: it says which
engrams changed since the columns were last asked for, so a query never walks through all of them.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.entries import Entries, is_live
from engine.model import Entry, Namespace
from engine.namespace import Scope

T = TypeVar("T", bound=Hashable)

Mask = NDArray[np.bool_]
Page = list[Entry | None]
_PAGE = 1024  # engrams; of the entries only the pages with a change are copied


@dataclass(frozen=True, slots=True)
class Columns:
    """One state of all engrams, in arrays of equal length. Codes index `namespaces`, `kinds`.

    Entries stand in pages of 1,024, which are never written once published.
    """

    pages: tuple[Page, ...]
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
        found = self.pages[no // _PAGE][no % _PAGE]
        if found is None:
            raise KeyError(no)
        return found


class ColumnCache:
    """The columns of one table of entries, brought up to date when they are asked for."""

    def __init__(self, entries: Entries) -> None:
        self._table = entries
        self._changed = entries.follow()
        self._lock = threading.Lock()
        self._namespaces: dict[Namespace, int] = {}
        self._kinds: dict[str, int] = {}
        self._columns = Columns((), *_empty(0), (), ())

    def now(self) -> Columns:
        """The present columns; never changed afterwards."""
        with self._lock:  # or a change that another reader has taken out would be missed
            fresh: dict[int, Entry | None] = {}
            while self._changed:
                no, _ = self._changed.popitem()
                fresh[no] = self._table.get(no)
            if fresh:
                self._columns = self._with(fresh)
            return self._columns

    def _with(self, fresh: Mapping[int, Entry | None]) -> Columns:
        old = self._columns
        count = max(len(old.pages), max(fresh) // _PAGE + 1)
        live, namespace, kind, updated = _empty(count * _PAGE)
        live[: len(old)] = old.live
        namespace[: len(old)] = old.namespace
        kind[: len(old)] = old.kind
        updated[: len(old)] = old.updated_ns
        live[list(fresh)] = False  # erased ones stay so
        there = {no: entry for no, entry in fresh.items() if entry is not None}
        numbers, entries = list(there), list(there.values())
        live[numbers] = [is_live(entry) for entry in entries]
        namespace[numbers] = [_code(self._namespaces, entry.namespace) for entry in entries]
        kind[numbers] = [_code(self._kinds, entry.kind) for entry in entries]
        updated[numbers] = [entry.updated_ns for entry in entries]
        return Columns(
            _turned(old.pages, count, fresh), live, namespace, kind, updated,
            tuple(self._namespaces), tuple(self._kinds),
        )  # fmt: skip


def _turned(
    old: tuple[Page, ...], count: int, fresh: Mapping[int, Entry | None]
) -> tuple[Page, ...]:
    """`count` pages with the fresh entries in them; pages without one are the old ones."""
    blank: Page = [None] * _PAGE
    pages = [*old, *(blank for _ in range(count - len(old)))]
    copied: set[int] = set()
    for no, entry in fresh.items():
        at = no // _PAGE
        if at not in copied:
            copied.add(at)
            pages[at] = pages[at].copy()
        pages[at][no % _PAGE] = entry
    return tuple(pages)


def _code(codes: dict[T, int], value: T) -> int:
    return codes.setdefault(value, len(codes))


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
