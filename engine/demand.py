"""Demand: what readers do with engrams, counted; what is used is worth a little more.

An event counts once for each engram, session, class, day (UTC) and namespace of the reader. Events
are kept in memory and stored some at a time, in the background: nothing is written while something
is read, and no reader fails where nothing can be written. What they add up to says
`engine.utility`, which opened files count `engine.opens`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import get_args

import numpy as np

from engine.config import DAY_NS, SECOND_NS, Config
from engine.entries import Entries
from engine.errors import EngineError
from engine.fusion import Floats, Mask
from engine.model import Entry, EventKind
from engine.namespace import Scope
from engine.opens import Opens
from engine.store import events
from engine.store.connection import Store
from engine.store.events import Event, Key, Miss
from engine.utility import Utility, weights

KINDS: tuple[EventKind, ...] = get_args(EventKind)
_STEP = 1_000  # events stored in one transaction, 5 ms: writers wait no longer
_DAYS = 3  # whose keys are in memory; those of another day are read when an event falls on it
_WRITERS = 1_024  # that are remembered with what they wrote

log = logging.getLogger(__name__)


class Demand:
    """The events of one store; any thread may call. The store's writer lock is taken before the
    own one, never while that is held."""

    def __init__(
        self, store: Store, entries: Entries, config: Config, clock: Callable[[], int]
    ) -> None:
        self.on = config.demand
        self._store = store
        self._entries = entries
        self._config = config
        self._clock = clock
        self._lock = threading.Lock()
        self._opens = Opens(
            config.bulk_engrams, int(config.bulk_seconds * SECOND_NS), config.demand_held
        )
        self._wrote: dict[tuple[str, int], None] = {}  # (process, engram), the latest last
        self._unstored: list[Event] = []
        self._missed: list[Miss] = []
        self._days: dict[int, set[Key]] = {}  # what counted on a day
        self._utility = Utility(config, clock())
        self.reload()

    # -- what readers do ---------------------------------------------------------------
    def note(self, scope: Scope, kind: EventKind, entries: Iterable[Entry], session: str) -> None:
        """A reader was given engrams. `session` is who asked; "" is nobody in particular."""
        if self.on:
            at, namespace, session = self._clock(), scope.attributes, _named(session)
            self._count([Event(at, one.no, kind, session, namespace) for one in entries if one.id])

    def opened(self, scope: Scope, entry: Entry, session: str, process: str) -> None:
        """A process opened an engram's file to read it: an event, unless it opens too many.

        Reading back what the same process wrote is none.
        """
        if self.on and entry.id:
            event = Event(self._clock(), entry.no, "read", _named(session), scope.attributes)
            with self._lock:
                if (process, entry.no) not in self._wrote:
                    self._opens.add(event, process)

    def wrote(self, entry: Entry, process: str) -> None:
        """A process committed an engram."""
        if self.on and process:
            with self._lock:
                self._wrote.pop((process, entry.no), None)
                self._wrote[(process, entry.no)] = None
                if len(self._wrote) > _WRITERS:
                    del self._wrote[next(iter(self._wrote))]

    def missed(self, scope: Scope, question: str) -> None:
        """A question had no hit."""
        if self.on:
            miss = Miss(self._clock(), scope.attributes, question, scope.kinds)
            with self._lock:
                if len(self._missed) < self._config.demand_held:
                    self._missed.append(miss)

    # -- what is asked -------------------------------------------------------------------
    def utility(self, scope: Scope, engrams: int) -> Floats:
        """u of so many engrams by number, in 0..1, of what readers did whom the scope covers."""
        if not self.on:
            return np.zeros(engrams)
        now = self._clock()
        with self._lock:
            return self._utility.of(scope, engrams, now)

    def counts(self, scope: Scope, among: Mask | None = None) -> Mapping[str, int]:
        """How many events count for a scope, by class: of engrams `among` those by number, None: of
        all. Nothing where demand is off."""
        if not self.on:
            return {}
        with self._lock:
            return self._utility.counts(scope, among)

    def counted(self, scope: Scope, among: Mask | None = None) -> int:
        """How many of them say that an engram was wanted."""
        weighing = {kind for kind, weight in weights(self._config).items() if weight}
        return sum(times for kind, times in self.counts(scope, among).items() if kind in weighing)

    def waiting_misses(self) -> Sequence[Miss]:
        """Questions without a hit that are not stored yet, newest first."""
        with self._lock:
            return self._missed[::-1]

    # -- upkeep ----------------------------------------------------------------------------
    def due(self) -> bool:
        """Is there anything that is not stored?"""
        return bool(self._unstored or self._missed or len(self._opens))

    def flush(self, *, last: bool = False) -> None:
        """Store what is not stored yet. Opens only once they count; at the `last` time, all.

        EngineError when that cannot be: everything waits for the next time.
        """
        with self._lock:
            counting = self._opens.take(None if last else self._clock())
        self._count(counting)
        while self._unstored or self._missed:
            try:
                self._store_some()
            except EngineError as error:
                waiting = len(self._unstored) + len(self._missed)
                raise EngineError(
                    f"{waiting} events of readers wait to be stored: {error.message}", error.hint
                ) from error

    def close(self) -> None:
        """The last flush; what cannot be stored is lost, and said."""
        try:
            self.flush(last=True)
        except EngineError as error:
            log.error("the store is closed, but %s", error)

    def reload(self) -> None:
        """Add up anew what is stored and what waits, for something of it went."""
        if not self.on:
            return
        with self._store.lock:
            with self._store.cursor() as cursor:
                stored = events.load(cursor)
            fresh = Utility(self._config, self._clock())
            fresh.add_stored(stored, self._known())
            with self._lock:
                self._unstored = [
                    event for event in self._unstored if self._entries.get(event.engram)
                ]
                for event in self._unstored:
                    fresh.add(event)
                self._utility = fresh

    def problems(self) -> Sequence[str]:
        """What is stored and cannot be right, a sentence each; the writer lock is held."""
        with self._store.cursor() as cursor:
            odd = events.odd(cursor, KINDS, DAY_NS)
        strays = [no for no in odd.engrams if self._entries.get(no) is None]
        told = []
        if strays:
            told.append(f"{len(strays)} engrams that do not exist have events of readers")
        if odd.unreadable:
            told.append(f"{odd.unreadable} events of readers cannot be read")
        if odd.twice:
            told.append(f"{odd.twice} events of readers are stored twice")
        with self._lock:
            held = sum(self._utility.counts(Scope()).values()) - len(self._unstored)
        if self.on and not told and held != odd.events:
            told.append(f"of {odd.events} events of readers {held} are counted")
        return told

    def mend(self) -> None:
        """Forget the events that cannot be right."""
        with self._store.lock:
            with self._store.transaction() as cursor:
                events.mend(cursor, [one.no for one in self._entries.all()], KINDS, DAY_NS)
            self.reload()

    # -- inside ------------------------------------------------------------------------------
    def _known(self) -> Mask:
        """Of the numbers of engrams, those that there are."""
        numbers = [entry.no for entry in self._entries.all()]
        known = np.zeros(max(numbers, default=-1) + 1, dtype=bool)
        known[numbers] = True
        return known

    def _count(self, done: Sequence[Event]) -> None:
        """Those that were not yet done that day."""
        for day in {event.at_ns // DAY_NS for event in done} - self._days.keys():
            self._begin(day)
        with self._lock:
            for event in done:
                counted = self._days.setdefault(event.at_ns // DAY_NS, set())
                key = _key(event)
                if key not in counted and len(self._unstored) < self._config.demand_held:
                    counted.add(key)
                    self._unstored.append(event)
                    self._utility.add(event)

    def _begin(self, day: int) -> None:
        """What counted on a day: nothing, unless the store was opened in its course."""
        keys = set()
        try:
            with self._store.cursor() as cursor:
                keys = events.keys_between(cursor, day * DAY_NS, (day + 1) * DAY_NS)
        except EngineError as error:  # some may then count twice, which `check` finds
            log.error("what was read earlier that day cannot be told: %s", error)
        with self._lock:
            keys |= {_key(event) for event in self._unstored if event.at_ns // DAY_NS == day}
            self._days.setdefault(day, keys)
            for other in sorted(self._days.keys() - {day})[: -(_DAYS - 1)]:
                del self._days[other]

    def _store_some(self) -> None:
        """Some of what waits, the oldest first, in one transaction."""
        with self._store.lock:
            some, misses = self._unstored[:_STEP], self._missed[:_STEP]
            there = [event for event in some if self._entries.get(event.engram) is not None]
            with self._store.transaction() as cursor:
                if there:
                    events.add(cursor, there)
                if misses:
                    events.add_misses(cursor, misses)
            with self._lock:
                del self._unstored[: len(some)]
                del self._missed[: len(misses)]


def _named(session: str) -> str:
    """A session's name as it is stored."""
    return session if session.isascii() else session.encode("utf-8", "replace").decode()


def _key(event: Event) -> Key:
    """What counts once a day."""
    return event.engram, event.kind, event.session, event.namespace
