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
from scripts.benchmarks.harness import Target, alternate, report

EACH = 100  # saves a round
SMALL = 1_000
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


def closes(paths: Iterator[str], texts: Iterator[bytes]) -> list[float]:
    """Seconds that each close took."""
    taken = []
    for path, text in zip(itertools.islice(paths, EACH), texts, strict=False):
        descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o644)
        os.write(descriptor, text)
        begin = time.perf_counter()
        os.close(descriptor)
        taken.append(time.perf_counter() - begin)
    return taken


def one_row_commits(database: duckdb.DuckDBPyConnection) -> list[float]:
    taken = []
    for number in range(EACH):
        begin = time.perf_counter()
        database.cursor().execute("INSERT INTO one VALUES (?)", [number])
        taken.append(time.perf_counter() - begin)
    return taken


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


def puts(engine: Engine, corpus_text: Iterator[bytes], turn: Iterator[int]) -> list[float]:
    taken = []
    scope = Scope((), exact=True)
    for text in itertools.islice(corpus_text, EACH):
        draft = Draft("doc", f"p{next(turn) % 50}", text)
        begin = time.perf_counter()
        engine.put(scope, draft)
        taken.append(time.perf_counter() - begin)
    return taken


def main(arguments: list[str]) -> bool:
    """Run the benchmark; True when every target is kept."""
    parts = int(arguments[1]) if arguments[:1] == ["--parts"] else 100_000
    place = Path(tempfile.mkdtemp(prefix="engramfs-bench-"))
    small, large = "1,000 engrams", f"{parts:,} parts"
    (place / "small").mkdir()
    (place / "large").mkdir()
    corpus = Corpus(SMALL)
    words = [corpus.body() for _ in range(200)]
    turn, number = itertools.count(), itertools.count()
    texts = (document(n, words[n % len(words)]) for n in number)
    floor = duckdb.connect(str(place / "floor.duckdb"))
    floor.execute("CREATE TABLE one (n INTEGER)")
    try:
        with (
            mounted(place / "small", corpus) as one,
            mounted(place / "large", Corpus(parts // (SECTIONS + 1))) as other,
        ):
            directories = {small: one, large: other}
            bare = Engine.open(place / "bare", kinds=KINDS, embed="off")

            def edits(name: str) -> list[float]:
                paths = (str(directories[name] / f"e{n % 50}.md") for n in turn)
                return closes(paths, texts)

            def creations(name: str) -> list[float]:
                return closes((str(directories[name] / f"c{n}.md") for n in turn), texts)

            work: dict[str, Callable[[], list[float]]] = {
                "one-row commit": lambda: one_row_commits(floor),
                f"edit, {small}": lambda: edits(small),
                f"edit, {large}": lambda: edits(large),
                f"create, {small}": lambda: creations(small),
                f"create, {large}": lambda: creations(large),
                "Put without a mount": lambda: puts(bare, texts, turn),
            }
            figures = alternate(
                tuple(work),
                {
                    "p50": ("ms", lambda name: percentile(held(work, name), 50)),
                    "p99": ("ms", lambda name: percentile(HELD[name], 99)),
                },
            )
            bare.close()
        kept = report(
            "put",
            figures,
            tuple(work),
            [
                *(
                    Target("p50", f"{what}, {small}", times=5, floor="one-row commit")
                    for what in WHAT
                ),
                *(
                    Target("p50", f"{what}, {large}", times=10, floor="one-row commit")
                    for what in WHAT
                ),
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


WHAT = ("edit", "create")
HELD: dict[str, list[float]] = {}  # the times of the round, from which both percentiles are taken


def held(work: dict[str, Callable[[], list[float]]], name: str) -> list[float]:
    HELD[name] = work[name]()
    return HELD[name]
