"""Demand against a naive recomputation: readers, time, flushes, restarts, kills and erasures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from numpy.typing import NDArray

from engine.config import DAY_NS, SECOND_NS, Config
from engine.demand import KINDS, Demand
from engine.entries import Entries
from engine.model import EventKind, Namespace
from engine.namespace import Scope
from engine.store import events
from engine.store.connection import Store
from tests.engine.test_demand import DEEP, OTHER, SALES, SCOPES, WEIGHTS, entry


@dataclass(frozen=True)
class Told:
    """An event as the model has it."""

    at_ns: int
    engram: int
    kind: str
    session: str
    namespace: Namespace
    stored: bool = False

    def once(self) -> tuple[object, ...]:
        return (self.at_ns // DAY_NS, self.engram, self.kind, self.session, self.namespace)


class DemandMachine(RuleBasedStateMachine):
    """The model is a list of events."""

    @initialize()
    def begin(self) -> None:
        self.now = 20_000 * DAY_NS + 12 * 3_600 * SECOND_NS
        self.config = Config()
        self.store = Store(None, self.config)
        self.entries = Entries()
        self.alive = list(range(6))
        self.entries.swap([entry(no) for no in self.alive])
        self.told: list[Told] = []
        self.open()

    def open(self) -> None:
        self.demand = Demand(self.store, self.entries, self.config, lambda: self.now)

    @rule(
        kind=st.sampled_from(KINDS),
        numbers=st.lists(st.integers(0, 5), min_size=1, max_size=4),
        session=st.sampled_from(["", "a", "b"]),
        namespace=st.sampled_from([(), SALES, DEEP, OTHER]),
    )
    def note(self, kind: EventKind, numbers: list[int], session: str, namespace: Namespace) -> None:
        given = [no for no in numbers if no in self.alive]
        self.demand.note(Scope(namespace), kind, [entry(no) for no in given], session)
        for no in given:
            event = Told(self.now, no, kind, session, namespace)
            if event.once() not in {each.once() for each in self.told}:
                self.told.append(event)

    @rule(hours=st.one_of(st.integers(0, 20), st.integers(-60, 2_000)))
    def wait(self, hours: int) -> None:
        self.now += hours * 3_600 * SECOND_NS

    @rule()
    def flush(self) -> None:
        self.demand.flush()
        self.told = [replace(event, stored=True) for event in self.told]

    @rule()
    def restart(self) -> None:
        self.demand.close()
        self.told = [replace(event, stored=True) for event in self.told]
        self.open()

    @rule()
    def kill(self) -> None:
        self.told = [event for event in self.told if event.stored]
        self.open()

    @rule(no=st.integers(0, 5))
    def erase(self, no: int) -> None:
        if no in self.alive and len(self.alive) > 1:
            with self.store.transaction() as cursor:
                cursor.execute("DELETE FROM demand WHERE engram = ?", [no])
            self.entries.erase(no)
            self.alive.remove(no)
            self.demand.reload()
            self.told = [event for event in self.told if event.engram != no]

    @rule()
    def forget_old(self) -> None:
        before = self.now - self.config.demand_ns
        with self.store.transaction() as cursor:
            events.drop_before(cursor, before)
        self.demand.reload()
        self.told = [event for event in self.told if event.at_ns >= before or not event.stored]

    @invariant()
    def adds_up(self) -> None:
        for scope in SCOPES:
            mine = [event for event in self.told if scope.covers(event.namespace)]
            assert self.demand.counts(scope) == {
                kind: sum(event.kind == kind for event in mine) for kind in KINDS
            }
            assert self.demand.counted(scope) == sum(event.kind != "shown" for event in mine)
            assert self.demand.utility(scope, 6) == pytest.approx(self.naive(mine), abs=1e-12)

    def naive(self, mine: Sequence[Told]) -> NDArray[np.float64]:
        raw = np.zeros(6)
        for event in mine:
            age = (self.now - event.at_ns) / (14 * DAY_NS)
            raw[event.engram] += WEIGHTS[event.kind] * 2.0**-age
        return raw / (raw + 4.0)

    @invariant()
    def stored_is_sound(self) -> None:
        with self.store.lock:
            assert self.demand.problems() == []

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()


TestDemandMachine = DemandMachine.TestCase
