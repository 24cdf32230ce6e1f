"""The graph at size: opening, linking, walking and analysing, beside networkx and recursive SQL.

    scripts/bench graph [--engrams 100000] [--edges 1000000] [--peers all|duckdb|none] [--rounds 5]

The engrams are small texts; the edges are made by hand, from anybody to anybody, to some far more
often than to others. A second store with a hundredth of the edges shows what a write costs there.
Peers hold the same edges in memory and know of no scope: they are given numbers and give numbers.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.edges import Edges
from engine.engine import Engine
from engine.errors import Invalid
from engine.expand import Expansion
from engine.model import Draft
from engine.namespace import Scope
from engine.store import edges as stored
from scripts.benchmarks.bounded_rank import bounded_rank
from scripts.benchmarks.graph_peers import Networkx, RecursiveSql
from scripts.benchmarks.harness import Figure, Target, report

SCOPE = Scope(())
RELATIONS = ("about", "mentions", "owned_by", "depends_on", "derived_from")
CHUNK = 50_000  # edges stored by a statement
ASKED = 500  # times a quick question is asked in a round
WALKED = 30  # … and one that reads much
LINKED = 30  # edges made in a round
SKEW = 2.0  # a target is drawn as n * u ** SKEW

Numbers = NDArray[np.int32]
TARGETS = (
    Target("load", "engine", number=3.0),
    Target("neighbours p50", "engine", number=0.2),
    Target("link", "engine", times=1.5, floor="engine, a hundredth"),
    Target("unlink", "engine", times=1.5, floor="engine, a hundredth"),
)


class Ours:
    """The engine's own store, asked as a host does: by ids, in a scope."""

    def __init__(self, place: Path, source: Numbers, target: Numbers, engrams: int) -> None:
        self.place = place
        engine = Engine.open(place, kinds="kinds: {note: {}}", embed="off")
        drafts = (Draft("note", f"n{no}", b"A note.\n") for no in range(engrams))
        while batch := list(itertools.islice(drafts, 2_000)):
            for made in engine.put_many(SCOPE, batch):
                if isinstance(made, Invalid):
                    raise made
        entries = [engine.reading.columns.now().entry(no) for no in range(engrams)]
        self.ids = [entry.id for entry in entries]
        engine.close()
        self._store(source, target)
        self.engine = Engine.open(place, embed="off")

    def _store(self, source: Numbers, target: Numbers) -> None:
        """Edges by hand, as `link` stores them."""
        engine = Engine.open(self.place, embed="off")
        state = engine.reading._state
        now = state.clock()
        for at in range(0, len(source), CHUNK):
            ends = source[at : at + CHUNK].tolist(), target[at : at + CHUNK].tolist()
            words = [RELATIONS[(a + b) % len(RELATIONS)] for a, b in zip(*ends, strict=True)]
            written = [self.ids[b] for b in ends[1]]
            with state.store.transaction() as cursor:
                cursor.execute(
                    "INSERT INTO edge SELECT unnest(?::INTEGER[]), unnest(?::VARCHAR[]), "
                    "unnest(?::INTEGER[]), unnest(?::VARCHAR[]), '', 'link', '', '', '', NULL, "
                    "'', ?, ?",
                    [ends[0], words, ends[1], written, now, now],
                )
        engine.close()

    def load(self) -> float:
        """Seconds: columns from the store, and igraph."""
        state = self.engine.reading._state
        gc.collect()
        began = time.perf_counter()
        with state.store.cursor() as cursor:
            Edges(stored.load(cursor))
        return time.perf_counter() - began

    def link(self, pairs: Sequence[tuple[int, int]]) -> float:
        return each_ms(
            lambda pair: self.engine.link(SCOPE, self.ids[pair[0]], "bench", self.ids[pair[1]]),
            pairs,
        )

    def unlink(self, pairs: Sequence[tuple[int, int]]) -> float:
        return each_ms(
            lambda pair: self.engine.unlink(SCOPE, self.ids[pair[0]], "bench", self.ids[pair[1]]),
            pairs,
        )

    def neighbours(self, no: int) -> object:
        return self.engine.neighbours(SCOPE, self.ids[no], limit=None)

    def numbers(self, no: int) -> list[int]:
        found = self.engine.neighbours(SCOPE, self.ids[no], limit=None)
        return sorted(near.entry.no for near in found)

    def length(self, a: int, b: int) -> int:
        return len(self.engine.path(SCOPE, self.ids[a], self.ids[b]))

    def two_hops(self, no: int) -> object:
        return self.engine.expand(SCOPE, [self.ids[no]], Expansion(hops=2))

    def path(self, a: int, b: int) -> object:
        return self.engine.path(SCOPE, self.ids[a], self.ids[b])

    def pagerank(self) -> object:
        return self.engine.rank(SCOPE)

    def bounded(self, no: int) -> object:
        reader = self.engine.reading
        return bounded_rank(lambda at: reader.neighbours(SCOPE, at, "both"), {no: 1.0})

    def communities(self) -> object:
        return self.engine.communities(SCOPE)

    def close(self) -> None:
        self.engine.close()


def each_ms(work: Callable[[Any], object], arguments: Sequence[Any]) -> float:
    """Median milliseconds of a call."""
    taken = []
    for argument in arguments:
        began = time.perf_counter()
        work(argument)
        taken.append((time.perf_counter() - began) * 1e3)
    return statistics.median(taken)


def drawn(engrams: int, edges: int) -> tuple[Numbers, Numbers]:
    """int32[edges] of sources and of targets, no pair twice, none to itself; by source."""
    random = np.random.default_rng(4)
    pairs = np.zeros(0, np.int64)
    while len(pairs) < edges:
        source = random.integers(engrams, size=edges)
        target = (engrams * random.random(edges) ** SKEW).astype(np.int64)
        fresh = (source * engrams + target)[source != target]
        pairs = np.unique(np.concatenate([pairs, fresh]))
    pairs = np.sort(random.permutation(pairs)[:edges])
    return (pairs // engrams).astype(np.int32), (pairs % engrams).astype(np.int32)


def resident_mb() -> float:
    """Megabytes of this process in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def main(arguments: list[str]) -> bool:
    """Run the benchmark; True when every promise is kept."""
    parser = argparse.ArgumentParser(prog="scripts/bench graph", description=__doc__)
    parser.add_argument("--engrams", type=int, default=100_000)
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--peers", choices=("all", "duckdb", "none"), default="all")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--communities", action="store_true", help="take minutes; asked once")
    asked = parser.parse_args(arguments)
    work = Path(tempfile.mkdtemp(prefix="engramfs-bench-"))
    contestants: dict[str, Any] = {}
    memory: dict[str, float] = {}
    try:
        source, target = drawn(asked.engrams, asked.edges)
        for name, make in makers(work, source, target, asked.engrams, asked.peers):
            print(f"making: {name}", file=sys.stderr, flush=True)
            gc.collect()
            before = resident_mb()
            contestants[name] = make()
            gc.collect()
            memory[name] = resident_mb() - before
        same = [one for name, one in contestants.items() if name != "engine, a hundredth"]
        different = disagreements(same, asked.engrams)
        figures: dict[str, Figure] = {}
        for number in range(asked.rounds):
            for name, contestant in contestants.items():
                print(f"round {number + 1} of {asked.rounds}: {name}", file=sys.stderr, flush=True)
                for figure, unit, value in measured(contestant, asked, number):
                    held = figures.setdefault(figure, Figure(figure, unit))
                    held.raw.setdefault(name, []).append(value)
        title = f"graph, {asked.engrams:,} engrams, {asked.edges:,} edges"
        figures["memory"] = Figure(
            "memory", "MB", {name: [taken] for name, taken in memory.items()}
        )
        kept = report(title, figures, list(contestants), TARGETS, {"different": different})
        return kept and not different
    finally:
        for contestant in contestants.values():
            contestant.close()
        shutil.rmtree(work)


def makers(
    work: Path, source: Numbers, target: Numbers, engrams: int, peers: str
) -> Iterator[tuple[str, Callable[[], object]]]:
    """The contestants by name. The small store comes first: its memory is what engrams take."""
    few = slice(None, None, 100)
    yield "engine, a hundredth", lambda: Ours(work / "few", source[few], target[few], engrams)
    yield "engine", lambda: Ours(work / "all", source, target, engrams)
    if peers == "all":
        yield "networkx", lambda: Networkx(source, target, engrams)
    if peers != "none":
        yield "recursive SQL", lambda: RecursiveSql(source, target)


def disagreements(contestants: Sequence[Any], engrams: int) -> int:
    """How many questions the contestants do not answer alike."""
    random = np.random.default_rng(7)
    pairs = list(itertools.pairwise(random.integers(engrams, size=WALKED).tolist()))
    answers = [
        [(one.numbers(a), one.length(a, b)) for a, b in pairs if a != b] for one in contestants
    ]
    return sum(len({repr(answer) for answer in given}) > 1 for given in zip(*answers, strict=True))


def measured(one: Any, asked: argparse.Namespace, number: int) -> Iterator[tuple[str, str, float]]:
    """(figure, unit, value) of one contestant in one round; the questions are the same for all."""
    engrams = asked.engrams
    random = np.random.default_rng(number)
    few = random.integers(engrams, size=WALKED).tolist()
    pairs = list(itertools.pairwise(few))[: WALKED // 3]
    if hasattr(one, "load"):
        yield "load", "s", one.load()
        ends = random.integers(engrams, size=(LINKED, 2)).tolist()
        made = list({(a, b) for a, b in ends if a != b})
        yield "link", "ms", one.link(made)
        yield "unlink", "ms", one.unlink(made)
    many = random.integers(engrams, size=ASKED).tolist()
    yield "neighbours p50", "ms", each_ms(one.neighbours, many)
    yield "2 hops p50", "ms", each_ms(one.two_hops, few)
    one.path(*pairs[0])  # what is made once for many questions
    yield "path p50", "ms", each_ms(lambda pair: one.path(*pair), pairs)
    if hasattr(one, "pagerank"):
        yield "pagerank", "s", each_ms(lambda _: one.pagerank(), [None]) / 1e3
    if hasattr(one, "communities") and asked.communities and number == 0:
        yield "communities", "s", each_ms(lambda _: one.communities(), [None]) / 1e3
    if hasattr(one, "bounded"):
        yield "pagerank within 2 hops p50", "ms", each_ms(one.bounded, few)
