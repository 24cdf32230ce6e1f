"""How long Puts wait while the index is folded, the log checkpointed and the history pruned.

A store of 100,000 parts (`--parts N`, or `--keep DIR`: the store in it, which is copied). One
writer puts 2 KB engrams, with 5 ms between two. Each job of the background runs beside it; given
are the longest Put, and how long the job held the writer lock without a break.
"""

from __future__ import annotations

import itertools
import json
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import numpy as np

from engine.engine import Engine
from engine.model import Draft
from engine.namespace import Scope
from scripts.benchmarks.corpus import SECTIONS, Corpus

SCOPE = Scope((), exact=True)
LIMIT = 0.1  # seconds that a writer may wait
ALONE = 2.0  # seconds of Puts with nothing beside them
WORKER = "job"


class WatchedLock:
    """The writer lock, noting how long the job holds it each time."""

    def __init__(self, lock: threading.RLock) -> None:  # type: ignore[valid-type]
        self._lock = lock
        self._depth = 0
        self._since = 0.0
        self.held: list[float] = []

    def __enter__(self) -> None:
        self._lock.acquire()  # type: ignore[attr-defined]
        self._depth += 1
        if self._depth == 1:
            self._since = time.perf_counter()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._depth -= 1
        if not self._depth and threading.current_thread().name == WORKER:
            self.held.append(time.perf_counter() - self._since)
        self._lock.release()  # type: ignore[attr-defined]


def fill(place: Path, parts: int) -> None:
    """A store of so many parts, without vectors."""
    engine = Engine.open(place, kinds="kinds: {doc: {}}", embed="off")
    drafts = Corpus(parts // (SECTIONS + 1)).drafts("doc")
    while batch := list(itertools.islice(drafts, 2_000)):
        engine.put_many(SCOPE, batch)
    engine.close()


def beside(
    job: Callable[[], object] | None, lock: WatchedLock, put: Callable[[], None]
) -> tuple[list[float], float]:
    """(seconds of each Put, of the job) while the job runs, or while nothing does."""
    lock.held.clear()
    work = job or (lambda: time.sleep(ALONE))
    thread = threading.Thread(target=work, name=WORKER)
    taken: list[float] = []
    began = time.perf_counter()
    thread.start()
    while thread.is_alive():
        begin = time.perf_counter()
        put()
        taken.append(time.perf_counter() - begin)
        time.sleep(0.005)
    return taken, time.perf_counter() - began


def main(arguments: list[str]) -> bool:
    """Run the benchmark; True when no job held the lock for longer than the limit."""
    place = Path(tempfile.mkdtemp(prefix="engramfs-bench-"))
    given = dict(zip(arguments[::2], arguments[1::2], strict=True))
    try:
        if "--keep" in given:
            shutil.copytree(given["--keep"], place / "store")
        else:
            fill(place / "store", int(given.get("--parts", "100000")))
        engine = Engine.open(place / "store", embed="off")
        engine._upkeep.background.stop()
        state, fulltext = engine._state, engine._upkeep.fulltext
        lock = WatchedLock(state.store.lock)
        state.store.lock = lock  # type: ignore[assignment]
        corpus, turn = Corpus(1_000), itertools.count()
        texts = [corpus.body()[:2_000] for _ in range(50)]

        def put() -> None:
            number = next(turn)
            text = f"# Put {number}\n\n{texts[number % len(texts)]}\n".encode()
            engine.put(SCOPE, Draft("doc", f"put{number % 500}", text))

        jobs: dict[str, Callable[[], object] | None] = {
            "nothing": None,
            "fold": lambda: fulltext.fold(state.index),
            "fold again": lambda: fulltext.fold(state.index),
            "checkpoint": state.store.checkpoint,
            "prune": engine._upkeep.prune,
            "bulk": lambda: fulltext.bulk(state.index),
            "checkpoint again": state.store.checkpoint,
        }
        longest = 0.0
        results = {}
        print(f"{state.index.documents:,} parts\n")
        print(f"{'beside':<18}{'s':>7}{'Puts':>7}{'p50':>8}{'p99':>8}{'max ms':>9}  lock held, ms")
        for name, job in jobs.items():
            taken, seconds = beside(job, lock, put)
            ms = np.array(taken) * 1000
            held = [round(each * 1000, 1) for each in lock.held]
            longest = max([longest, *lock.held])
            print(
                f"{name:<18}{seconds:>7.1f}{len(ms):>7}{np.median(ms):>8.1f}"
                f"{np.percentile(ms, 99):>8.1f}{ms.max():>9.1f}  {held}"
            )
            results[name] = {"puts": len(ms), "max_ms": float(ms.max()), "held_ms": held}
        engine.close()
    finally:
        shutil.rmtree(place)
    kept = longest < LIMIT
    print(f"\nlock held for at most {longest * 1000:.0f} ms: {'kept' if kept else 'MISSED'}")
    print(json.dumps({"benchmark": "fold", "jobs": results, "kept": kept}))
    return kept
