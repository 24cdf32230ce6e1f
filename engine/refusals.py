"""What was refused, in memory as in the store: the lines of `.errors` and the refused bytes.

A commit asks with one dictionary read whether its path has anything to clear, so that a plain Put
does not pay for refusals. Changed under the writer lock only; lists are replaced, never changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace

from engine.config import Config
from engine.entries import Place
from engine.errors import NotFound, Problem
from engine.model import Namespace, Notice, Rejected
from engine.namespace import Scope
from engine.store import refusals as stored
from engine.store.connection import Store
from engine.store.extensions import Cursor


class Refusals:
    """Notices of all namespaces, and which bytes of which path are kept."""

    def __init__(self, store: Store, config: Config) -> None:
        self._store = store
        self._config = config
        with store.cursor() as cursor:
            self._notices: tuple[Notice, ...] = tuple(stored.load_notices(cursor))
            self._rejected: dict[Place, tuple[Rejected, ...]] = stored.load_rejected(cursor)
        self._noticed: set[Place] = set(map(_place, self._notices))

    # -- reading -----------------------------------------------------------
    def notices(self, scope: Scope, now_ns: int) -> list[Notice]:
        """The notices of exactly a scope's namespace, newest first; those of no kind, such as
        requests, in each."""
        oldest = now_ns - self._config.notice_ns
        return [
            notice
            for notice in self._notices
            if notice.namespace == scope.attributes
            and (scope.kinds is None or notice.kind in ("", *scope.kinds))
            and notice.at_ns >= oldest
        ]

    def rejected(self, scope: Scope) -> tuple[Rejected, ...]:
        """Refused bytes of exactly a scope's namespace: by kind and name, a path's newest first."""
        kept = [
            item
            for place, items in list(self._rejected.items())
            if place[0] == scope.attributes and (scope.kinds is None or place[1] in scope.kinds)
            for item in items
        ]
        return tuple(sorted(kept, key=lambda item: (item.kind, item.name, item.rank)))

    def at(self, place: Place) -> tuple[Rejected, ...]:
        """Refused bytes of a path, newest first."""
        return self._rejected.get(place, ())

    def count(self) -> int:
        """How many notices stand."""
        return len(self._notices)

    def stands(self, place: Place) -> bool:
        """Does a commit of this path have anything to clear?"""
        return place in self._noticed or place in self._rejected

    # -- writing, under the writer lock --------------------------------------
    def refuse(
        self,
        place: Place,
        name: str,
        path: str,
        event: str,
        problems: Iterable[Problem],
        source: bytes | None,
        now_ns: int,
    ) -> Notice:
        """Record why a path was refused, and keep the bytes; the same refusal again is one."""
        listed = tuple(problems)
        before = next((one for one in self._notices if _place(one) == place), None)
        digest = hashlib.sha256(source).hexdigest() if source is not None else None
        kept = self._rejected.get(place, ())
        same_bytes = digest is None or bool(kept and kept[0].sha256 == digest)
        if (
            before is not None
            and place[1]
            and same_bytes
            and (before.path, before.event, before.problems) == (path, event, listed)
        ):
            return before
        notice = Notice(
            self._store.counters.notice(), now_ns, place[0], place[1], place[2], path, event, listed
        )
        old = self._expired(place[0], now_ns)
        with self._store.transaction() as cursor:
            stored.add_notice(cursor, notice)
            stored.drop_notices(cursor, [one.no for one in old])
            if source is not None:
                stored.reject(cursor, place, name, now_ns, source, self._config.rejected_versions)
        gone = {one.no for one in old}
        self._set((notice, *(one for one in self._notices if one.no not in gone)))
        if source is not None and digest is not None:
            item = Rejected(place[0], place[1], name, 0, len(source), now_ns, digest)
            others = [one for one in kept if one.sha256 != digest]
            self._rank(place, [item, *others][: self._config.rejected_versions])
        return notice

    def clear(self, place: Place) -> None:
        """What stood in `.errors` against a place is settled without a commit of it."""
        if place in self._noticed:
            with self._store.transaction() as cursor:
                stored.drop_notices_of(cursor, place)
            self.cleared(place, bytes_too=False)

    def clear_rows(self, cursor: Cursor, place: Place, *, bytes_too: bool) -> None:
        """Inside a commit's transaction: what stood against its path goes."""
        if place in self._noticed:
            stored.drop_notices_of(cursor, place)
        if bytes_too and place in self._rejected:
            stored.drop_rejected(cursor, place)

    def cleared(self, place: Place, *, bytes_too: bool) -> None:
        """After that transaction."""
        if place in self._noticed:
            self._set(tuple(one for one in self._notices if _place(one) != place))
        if bytes_too:
            self._rejected.pop(place, None)

    def bytes_of(self, item: Rejected) -> bytes:
        """Refused bytes; NotFound when they were discarded or cleared meanwhile."""
        for place, items in list(self._rejected.items()):
            held = any(
                (one.namespace, one.kind, one.name, one.sha256)
                == (item.namespace, item.kind, item.name, item.sha256)
                for one in items
            )
            if held:
                with self._store.cursor() as cursor:
                    found = stored.rejected_source(cursor, place, item.sha256)
                if found is not None:
                    return found
        raise NotFound(f"the refused bytes of {item.kind}/{item.name} are gone")

    def discard(self, namespace: Namespace, kind: str, name: str, rank: int) -> None:
        """Forget some refused bytes, under the writer lock; NotFound."""
        for place, items in list(self._rejected.items()):
            if place[:2] != (namespace, kind):
                continue
            for item in items:
                if (item.name, item.rank) == (name, rank):
                    with self._store.transaction() as cursor:
                        stored.drop_rejected(cursor, place, item.sha256)
                    self._rank(place, [one for one in items if one.sha256 != item.sha256])
                    return
        raise NotFound(f"there are no refused bytes {kind}/{name} of rank {rank}")

    def _rank(self, place: Place, items: list[Rejected]) -> None:
        if items:
            self._rejected[place] = tuple(
                replace(item, rank=rank) for rank, item in enumerate(items)
            )
        else:
            self._rejected.pop(place, None)

    def _set(self, notices: tuple[Notice, ...]) -> None:
        self._notices = notices
        self._noticed = set(map(_place, notices))

    def _expired(self, namespace: Namespace, now_ns: int) -> list[Notice]:
        """Those that are too old, and of this namespace those beyond the limit."""
        oldest = now_ns - self._config.notice_ns
        old = [one for one in self._notices if one.at_ns < oldest]
        own = [one for one in self._notices if one.namespace == namespace and one.at_ns >= oldest]
        return old + own[self._config.notices - 1 :]


def _place(notice: Notice) -> Place:
    return (notice.namespace, notice.kind, notice.slug)
