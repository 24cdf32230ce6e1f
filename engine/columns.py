"""Columns over the table of entries, so that scope, kind and age of all engrams are array work.

Arrays are indexed by an engram's dense number. A commit writes the rows of its engrams, all in one
step; a query after it copies the arrays, which stay as they are from then on.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.entries import Entries, is_live
from engine.fusion import fitted
from engine.model import Entry, Namespace
from engine.namespace import Scope

T = TypeVar("T", bound=Hashable)

Mask = NDArray[np.bool_]
Page = list[Entry | None]
_PAGE = 1024  # engrams; of the entries only the pages that change are copied


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
    seq: NDArray[np.int64]  # the commit that made the present state
    namespaces: tuple[Namespace, ...]
    kinds: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.live)

    def covered(self, scope: Scope) -> Mask:
        """Live engrams that the scope sees."""
        return self.live & self.within(scope)

    def within(self, scope: Scope) -> Mask:
        """Those that it sees, or saw while they lived."""
        codes = np.fromiter(
            (scope.covers(namespace) for namespace in self.namespaces), bool, len(self.namespaces)
        )
        found = _of(codes, self.namespace)
        return found if scope.kinds is None else found & self.of_kinds(scope.kinds)

    def among(self, scope: Scope) -> Mask | None:
        """Engrams of the kinds that a scope sees; None: all."""
        return None if scope.kinds is None else self.of_kinds(scope.kinds)

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

    def with_entries(self, entries: Mapping[int, Entry]) -> Columns:
        """The same columns, but these entries; only the pages that hold them are copied."""
        pages = list(self.pages)
        for at in {no // _PAGE for no in entries}:
            pages[at] = pages[at].copy()
        for no, entry in entries.items():
            pages[no // _PAGE][no % _PAGE] = entry
        return replace(self, pages=tuple(pages))


class ColumnCache:
    """The columns of one table of entries, always of its last commit."""

    def __init__(self, entries: Entries) -> None:
        self._lock = threading.Lock()
        self._pages: list[Page] = []
        self._old_pages: set[int] = set()  # that are published, so a change copies them
        self._live = np.zeros(0, np.bool_)
        self._namespace, self._kind = np.zeros(0, np.int32), np.zeros(0, np.int32)
        self._updated_ns, self._seq = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._namespaces: dict[Namespace, int] = {}
        self._kinds: dict[str, int] = {}
        self._columns: Columns | None = None  # None: changed since they were asked for
        entries.follow(self._change)
        self._change([(entry.no, entry) for entry in entries.all()])

    def now(self) -> Columns:
        """The present columns; never changed afterwards."""
        with self._lock:
            if self._columns is None:
                self._old_pages.update(range(len(self._pages)))
                self._columns = Columns(
                    tuple(self._pages), self._live.copy(), self._namespace.copy(),
                    self._kind.copy(), self._updated_ns.copy(), self._seq.copy(),
                    tuple(self._namespaces), tuple(self._kinds),
                )  # fmt: skip
            return self._columns

    def _change(self, engrams: Sequence[tuple[int, Entry | None]]) -> None:
        """These engrams are so now; None: erased."""
        if not engrams:
            return
        with self._lock:
            self._columns = None
            self._grow(max(no for no, _ in engrams) + 1)
            for no, entry in engrams:
                self._page(no // _PAGE)[no % _PAGE] = entry
                self._live[no] = entry is not None and is_live(entry)
                if entry is None:
                    self._seq[no] = 0
                else:
                    self._namespace[no] = _code(self._namespaces, entry.namespace)
                    self._kind[no] = _code(self._kinds, entry.kind)
                    self._updated_ns[no], self._seq[no] = entry.updated_ns, entry.seq

    def _page(self, at: int) -> Page:
        if at in self._old_pages:
            self._old_pages.remove(at)
            self._pages[at] = self._pages[at].copy()
        return self._pages[at]

    def _grow(self, engrams: int) -> None:
        pages = -(-engrams // _PAGE)
        if pages <= len(self._pages):
            return
        self._pages += [[None] * _PAGE for _ in range(pages - len(self._pages))]
        rows = pages * _PAGE
        self._live = fitted(self._live, rows)
        self._namespace = fitted(self._namespace, rows)
        self._kind = fitted(self._kind, rows)
        self._updated_ns = fitted(self._updated_ns, rows)
        self._seq = fitted(self._seq, rows)


def _code(codes: dict[T, int], value: T) -> int:
    return codes.setdefault(value, len(codes))


def _of(codes: Mask, column: NDArray[np.int32]) -> Mask:
    if not len(codes):
        return np.zeros(len(column), dtype=bool)
    return codes[column]
