"""What runs beside the calls of an open engine, and the maintenance that is asked for."""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice, takewhile
from typing import TypeVar

from engine.analysed_by import OUTDATED, agree, outdated
from engine.applying import apply_kinds, changed_kinds
from engine.check import check
from engine.columns import ColumnCache
from engine.digests.digests import Digests
from engine.digests.extractive import Extractive
from engine.digests.shelf import Shelf
from engine.digests.worker import Worker
from engine.embedding import embedding_of
from engine.errors import StoreFull
from engine.hnsw_build import HnswBuild
from engine.languages import count_languages
from engine.linking import After, resolve_again
from engine.model import Change, Entry, Problem
from engine.plan import Plan, run
from engine.ports import Guard, Summariser
from engine.reindex import reindex
from engine.state import State
from engine.store import events, history, places
from engine.store.fulltext import Fulltext
from engine.succession import settle_due
from engine.temporal_channel import hold
from engine.time_warmth import Warmth
from engine.worker import Background

_T = TypeVar("_T")

log = logging.getLogger(__name__)

_BULK = 500  # documents of one call from which it counts as an import
_HOUR = 3_600.0
_LET_GO = 500  # deleted engrams at a time: a few milliseconds under the writer lock


class Upkeep:
    """The background thread of one engine and its jobs."""

    def __init__(
        self,
        state: State,
        fulltext: Fulltext,
        summariser: Summariser | None = None,
        guard: Guard | None = None,
    ) -> None:
        self.state = state
        self.fulltext = fulltext
        embedding = embedding_of(state) if state.embed != "off" else None
        self.background = Background(state.config, embedding)
        self.hnsw = HnswBuild(state.index, state.config)
        self.times = Warmth(
            lambda: state.languages.all(), lambda: hold(state.properties, state.catalogue)
        )
        self.columns = ColumnCache(state.entries)
        shelf = Shelf(state)
        worker = Worker(
            state, self.columns, shelf, summariser or Extractive(), guard,
            readers_first=self.background.let_readers_go_first,
            vectors_awaited=self.background.embeds,
        )  # fmt: skip
        self.digests = Digests(state, self.columns, shelf, worker)
        self._outdated = outdated(state)
        # Deleted engrams whose links are still theirs, in the order of their deaths; changed under
        # the writer lock only. The first may be let go after `_mourned_ns`, read without it.
        dead = [entry for entry in state.entries.all() if entry.deleted_ns is not None]
        self._mourned = deque(sorted(dead, key=_death))
        self._mourned_ns: float = math.inf
        self._unbuilt = False
        self._look_ahead()
        try:
            self.mend()  # before anybody asks
        except StoreFull as error:
            log.error("what is damaged cannot be made anew: %s", error)
        state.entries.follow(self._mourn)
        self._register()

    def _register(self) -> None:
        state, register = self.state, self.background.register
        index = state.index
        register("settle", self.settle, due=self._settle_due)
        register("mend", self.mend, due=lambda: bool(state.unproved))
        register("build", self._build, due=lambda: self._unbuilt)
        register(
            "directories", state.keep_moved_directories, due=lambda: bool(state.moved_directories)
        )
        register(
            "fold",
            lambda: self.fulltext.fold(index),
            due=lambda: self.fulltext.worth_folding(index),
        )
        register(
            "postings",
            lambda: self.fulltext.base.hold(state.config.postings_memory),
            due=lambda: not self.fulltext.base.asked,
        )
        register(
            "edges",
            lambda: state.edges.fold(state.store.lock),
            due=lambda: state.edges.unfolded > state.config.fold_edges,
        )
        register("notes", state.notes.refresh, due=lambda: state.notes.outdated)
        register(
            "checkpoint",
            state.store.checkpoint,
            due=lambda: state.store.log_bytes() > state.config.checkpoint_bytes,
        )
        register("analyse", lambda: self.reindex(embed=False), due=self._analyse_due)
        register("hnsw", self.hnsw.begin, due=self.hnsw.due)
        register("times", self.times.warm, due=self.times.due)
        register("prune", self.prune, every_seconds=_HOUR)
        register(
            "demand",
            state.demand.flush,
            due=state.demand.due,
            every_seconds=state.config.demand_flush_seconds,
            quiet=False,
        )

    def start(self) -> None:
        """Start the threads."""
        self.background.start()
        self.digests.start()
        self.times.start()

    def close(self) -> None:
        """End the threads, write down what only memory has, close the store."""
        self.digests.stop()
        self.background.stop()
        self.hnsw.stop()
        self.times.stop()
        self.state.keep_moved_directories()
        self.state.demand.close()
        self.state.store.close()

    def after(self, result: _T, many: int = 1) -> _T:
        """A commit was made; an import is indexed by the extension each time it has doubled.

        A build reads the terms of the whole store: one after every batch would cost the square.
        """
        self.background.committed()
        self.digests.changed()
        if many >= _BULK and self.fulltext.outgrown(self.state.index):
            self._build()
        return result

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A search or recall runs: the background lets it go first."""
        self.background.model_used()
        with self.background.reading():
            yield

    def problems(self) -> tuple[str, ...]:
        """Failures in the background, and of the model, that still stand."""
        embedder = self.state.embedder
        own = (
            embedder.trouble if embedder is not None else "",
            self.hnsw.problem,
            self.times.problem,
            OUTDATED if self._outdated else "",
        )
        told = (*self.background.problems(), *self.digests.problems(), *own)
        return tuple(dict.fromkeys(problem for problem in told if problem))

    def settle(self) -> None:
        """Carry out the successions whose time has come."""
        state = self.state
        changes: list[Change] = []
        try:
            with state.store.lock:
                now = state.clock()
                changes += settle_due(state, now)
                self._let_go(now)
        finally:
            state.tell(changes)

    def _settle_due(self) -> bool:
        now = self.state.clock()
        awaited = any(due <= now for _, _, due in self.state.entries.awaiting())
        return awaited or now > self._mourned_ns

    def _mourn(self, engrams: Sequence[tuple[int, Entry | None]]) -> None:
        self._mourned += [
            entry for _, entry in engrams if entry is not None and entry.deleted_ns is not None
        ]
        self._look_ahead()

    def _look_ahead(self) -> None:
        first = _death(self._mourned[0]) if self._mourned else math.inf
        self._mourned_ns = first + self.state.config.grace_ns

    def _let_go(self, now_ns: int) -> None:
        """Links to engrams whose grace time is over may find others of that name.

        Some at a time, so that no writer waits long; they are mourned until that is stored.
        """
        state = self.state
        latest = now_ns - state.config.grace_ns
        some = islice(self._mourned, _LET_GO)
        gone = list(takewhile(lambda entry: _death(entry) < latest, some))
        sources: set[int] = set()
        for entry in gone:
            here = state.entries.get(entry.no)
            if here is not None and here.deleted_ns == entry.deleted_ns:
                sources.update(state.edges.sources(entry.no))
        plan = Plan(now_ns)
        resolve_again(state, plan, After(state), sources)
        if plan.edges:
            run(state, plan)
        for _ in gone:
            self._mourned.popleft()
        self._look_ahead()

    def _analyse_due(self) -> bool:
        """A larger store would keep the thread for minutes: its owner is told instead."""
        return self._outdated and self.state.index.documents <= self.state.config.analyse_parts

    def prune(self) -> None:
        """Drop what the history's rule drops, and memory of places and copies that is too old."""
        state = self.state
        now = state.clock()
        found = history.due(state.store, now)
        with state.store.lock:
            _, erased = history.prune(state.store, found)
            with state.store.transaction() as cursor:
                places.drop_copies_before(cursor, now - 2 * state.config.grace_ns)
                dropped = events.drop_before(cursor, now - state.config.demand_ns)
            state.entries.drop_copies_before(now - 2 * state.config.grace_ns)
            waiting = {source for no in erased for source in state.edges.sources(no)} - erased
            for no in erased:
                state.entries.erase(no)
                state.edges.erase(no)
            plan = Plan(now)
            resolve_again(state, plan, After(state), waiting)
            if plan.edges:
                run(state, plan)
            if erased or dropped:
                state.demand.reload()
            self.digests.prune()

    def apply_kinds(self, text: str) -> tuple[str, ...]:
        """Apply kinds.yaml; what is derived from engrams of changed kinds is made anew."""
        before = self.state.catalogue
        told = apply_kinds(self.state, text)
        kinds = changed_kinds(before, self.state.catalogue)
        if kinds:
            state = self.state
            with state.store.lock:
                counted = count_languages(state.entries, state.properties, state.catalogue)
                state.languages = counted
            reindex(self.state, embed=False, kinds=kinds)
            self.background.committed()
        return told

    def check(self, repair: bool) -> tuple[Problem, ...]:
        """What does not agree; with `repair`, what still does not when all is made anew."""
        problems = (*check(self.state), *self.digests.check())
        if repair and problems:
            self.digests.check(repair=True)
            self.state.demand.mend()
            self.reindex(embed=False)
            problems = (*check(self.state), *self.digests.check())
        return problems

    def reindex(
        self, embed: bool, progress: Callable[[int, int], None] | None = None
    ) -> Mapping[str, int]:
        """Make everything derived anew."""
        counts = reindex(self.state, embed=embed, progress=progress)
        if self._outdated:
            agree(self.state)
            self._outdated = False
        if embed:
            self.background.embed_now()
        self._build()
        self.background.committed()
        self.digests.mark_stale()
        return counts

    def mend(self) -> None:
        """Make anew what is derived of engrams of which it was found damaged."""
        state = self.state
        engrams = frozenset(state.unproved)
        if not engrams:
            return
        try:
            counts = reindex(state, embed=False, engrams=engrams)
        except StoreFull:
            for no in engrams:
                state.damaged.setdefault(no, f"the index entries of engram {no} are damaged")
            raise
        made = counts["engrams"] - counts["damaged"]
        log.error("index entries of %d engrams were damaged; %d are made anew", len(engrams), made)
        state.unproved -= engrams

    def _build(self) -> None:
        """The full-text index, from terms that are proved; later, where a search still reads the
        table that is to be filled."""
        unproved = self.fulltext.unproved()
        if unproved:
            self.state.unproved |= unproved
            self.mend()
            unproved = self.fulltext.unproved()
        self._unbuilt = not self.fulltext.bulk(self.state.index, unproved)


def _death(entry: Entry) -> int:
    return entry.deleted_ns or 0
