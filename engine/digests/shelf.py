"""The digests that are stored, read once and kept in memory by namespace."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping

from engine.model import Namespace
from engine.state import State
from engine.store import digests as stored
from engine.store.digests import At, DigestRow
from engine.store.places import pack_namespace

_Rows = Mapping[str, DigestRow]  # by name


class Shelf:
    """Rows by namespace and name. Read by any thread, written by the digest worker only."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._lock = threading.Lock()
        self._rows: dict[Namespace, _Rows] | None = None  # the inner ones are never written
        self._forgotten = 0  # times; what was read before the last one is not kept
        self.changes = 0  # times that another digest is there, or one is none any more

    def of(self, namespace: Namespace) -> _Rows:
        """The digests of a namespace by name, fresh or not."""
        return self._loaded().get(namespace, {})

    def namespaces(self) -> list[Namespace]:
        """Those that have digests."""
        return [namespace for namespace, rows in list(self._loaded().items()) if rows]

    def keep(self, row: DigestRow, hashes: Collection[str]) -> None:
        """Store a digest, which stands on the texts of these hashes and no others."""
        state, at = self._state, (row.namespace, row.name)
        with state.store.lock:
            with state.store.transaction() as cursor:
                stored.keep_text(cursor, *at, row.hash, row.text)
                stored.keep(cursor, row)
                stored.use_texts(cursor, *at, hashes, row.built_ns)
            held = self._loaded()
            held[row.namespace] = {**held.get(row.namespace, {}), row.name: row}
            self.changes += 1

    def drop(self, namespace: Namespace, names: Collection[str]) -> None:
        """Forget digests; their texts stay for a while."""
        state, packed = self._state, pack_namespace(namespace)
        with state.store.lock:
            with state.store.transaction() as cursor:
                stored.drop(cursor, [(packed, name) for name in names], state.clock())
            held = self._loaded()
            rows = held.get(namespace, {})
            held[namespace] = {name: row for name, row in rows.items() if name not in names}
            self.changes += 1

    def discard(self, places: Collection[At]) -> None:
        """Forget what is stored there, readable or not."""
        with self._state.store.lock:
            with self._state.store.transaction() as cursor:
                stored.drop(cursor, places, self._state.clock())
            self.forget()

    def prune(self) -> None:
        """Forget texts that no digest stands on any more, after some days."""
        with self._state.store.transaction() as cursor:
            since = self._state.clock() - self._state.config.digest_text_ns
            stored.drop_texts_before(cursor, since)

    def mark_stale(self) -> None:
        """Each is to be looked at again, as if all its engrams had changed."""
        with self._state.store.lock:
            with self._state.store.transaction() as cursor:
                stored.mark_stale(cursor)
            self.forget()

    def forget(self) -> None:
        """Read them from the store when they are asked for again; under the writer lock."""
        with self._lock:
            self._rows = None
            self._forgotten += 1
            self.changes += 1

    def stored(self) -> tuple[list[DigestRow], list[At]]:
        """As they stand in the store now; and where one is damaged."""
        with self._state.store.cursor() as cursor:
            return stored.load(cursor)

    def _loaded(self) -> dict[Namespace, _Rows]:
        while True:
            found, forgotten = self._rows, self._forgotten
            if found is not None:
                return found
            rows, _ = self.stored()  # without the lock: it may need the writer lock
            held: dict[Namespace, dict[str, DigestRow]] = {}
            for row in rows:
                held.setdefault(row.namespace, {})[row.name] = row
            with self._lock:
                if self._rows is None and forgotten == self._forgotten:
                    self._rows = dict(held)
