"""What a save costs beside a one-row DuckDB commit on the same disk, in one run.

Two stores, of 1,000 engrams and of 100,000 parts, embedding off. Measured is `close` of a 2 KB
engram through the mount (editing, and creating), and the Put alone without a mount. `--parts N`
sets the size of the large store.
"""

from __future__ import annotations

import itertools
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import numpy as np

from engine.engine import Engine
from engine.model import Draft
from engine.namespace import Scope
from scripts.benchmarks.corpus import SECTIONS, Corpus
from scripts.benchmarks.fs import run
from scripts.benchmarks.harness import ROUNDS, Figure, Target, report

EACH = 100  # saves of each kind a round, …
BURST = 20  # … so many in a row, then the next kind
SMALL = 1_000
FLOOR = "one-row commit"
WHAT = ("edit", "create")
KINDS = """\
kinds:
  doc:
    fields:
      status: {type: string, enum: [open, done]}
      rank: {type: number}
"""


def document(number: int, words: str) -> bytes:
    """A document of 2,048 bytes."""
    head = f"---\nstatus: open\nrank: {number}\ntags: [a, b]\n---\n# Number {number}\n\n"
    return (head + words)[:2047].encode() + b"\n"


def percentile(times: list[float], share: float) -> float:
    return float(np.percentile(np.array(times), share)) * 1000


def close_of(path: str, text: bytes) -> float:
    """Seconds that the close took."""
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o644)
    os.write(descriptor, text)
    begin = time.perf_counter()
    os.close(descriptor)
    return time.perf_counter() - begin


def one_row_commit(database: duckdb.DuckDBPyConnection, number: int) -> float:
    """Seconds of the floor: what the smallest durable change costs on this disk."""
    begin = time.perf_counter()
    database.cursor().execute("INSERT INTO one VALUES (?)", [number])
    return time.perf_counter() - begin


def put_of(engine: Engine, number: int, text: bytes) -> float:
    """Seconds of a Put without a mount."""
    draft = Draft("doc", f"p{number % 50}", text)
    begin = time.perf_counter()
    engine.put(Scope((), exact=True), draft)
    return time.perf_counter() - begin


@contextmanager
def mounted(place: Path, corpus: Corpus) -> Iterator[Path]:
    """A mounted store that holds the corpus."""
    engine = Engine.open(place / "store", kinds=KINDS, embed="off")
    scope = Scope((), exact=True)
    drafts = corpus.drafts("doc")
    while batch := list(itertools.islice(drafts, 2_000)):
        engine.put_many(scope, batch)
    print(f"{engine.status(scope).parts:,} parts in {place.name}", file=sys.stderr)
    engine.close()
    (place / "mnt").mkdir()
    run("mount", place / "mnt", "--store", place / "store", "--embed", "off")
    try:
        yield place / "mnt" / "doc"
    finally:
        run("umount", place / "mnt", "--store", place / "store")


def main(arguments: list[str]) -> bool:
    """Run the benchmark; True when every target is kept."""
    parts = int(arguments[1]) if arguments[:1] == ["--parts"] else 100_000
    place = Path(tempfile.mkdtemp(prefix="engramfs-bench-"))
    small, large = "1,000 engrams", f"{parts:,} parts"
    (place / "small").mkdir()
    (place / "large").mkdir()
    corpus = Corpus(SMALL)
    words = [corpus.body() for _ in range(200)]
    turn = itertools.count()
    texts = (document(n, words[n % len(words)]) for n in itertools.count())
    floor = duckdb.connect(str(place / "floor.duckdb"))
    floor.execute("CREATE TABLE one (n INTEGER)")
    try:
        with (
            mounted(place / "small", corpus) as one,
            mounted(place / "large", Corpus(parts // (SECTIONS + 1))) as other,
        ):
            bare = Engine.open(place / "bare", kinds=KINDS, embed="off")

            def close_in(directory: Path, name: str) -> float:
                return close_of(str(directory / f"{name}.md"), next(texts))

            work: dict[str, Callable[[int], float]] = {
                FLOOR: lambda n: one_row_commit(floor, n),
                f"edit, {small}": lambda n: close_in(one, f"e{n % 50}"),
                f"edit, {large}": lambda n: close_in(other, f"e{n % 50}"),
                f"create, {small}": lambda n: close_in(one, f"c{n}"),
                f"create, {large}": lambda n: close_in(other, f"c{n}"),
                "Put without a mount": lambda n: put_of(bare, n, next(texts)),
            }
            figures = {"p50": Figure("p50", "ms"), "p99": Figure("p99", "ms")}
            for round_ in range(ROUNDS):
                print(f"round {round_ + 1} of {ROUNDS}", file=sys.stderr)
                taken: dict[str, list[float]] = {name: [] for name in work}
                for _ in range(EACH // BURST):  # short bursts: the disk's mood is in all of them
                    for name, save in work.items():
                        taken[name] += [save(next(turn)) for _ in range(BURST)]
                for name, times in taken.items():
                    figures["p50"].raw.setdefault(name, []).append(percentile(times, 50))
                    figures["p99"].raw.setdefault(name, []).append(percentile(times, 99))
            bare.close()
        kept = report(
            "put",
            figures,
            tuple(work),
            [
                *(Target("p50", f"{what}, {small}", times=5, floor=FLOOR) for what in WHAT),
                *(Target("p50", f"{what}, {large}", times=10, floor=FLOOR) for what in WHAT),
                *(
                    Target("p99", f"{what}, {size}", number=60)
                    for what in WHAT
                    for size in (small, large)
                ),
            ],
        )
    finally:
        floor.close()
        shutil.rmtree(place)
    return kept
