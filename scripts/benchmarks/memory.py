"""Memory of a server: PSS 10 s after an answered recall, 10,000 engrams with all their vectors.

The vectors are made at random under the bundled model's name, as embedding 20,000 parts would
take a quarter of an hour; their number and size are the real ones, and the question is embedded
for real.
"""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.embed import OnnxEmbedder
from engine.engine import Engine
from engine.model import Draft
from engine.namespace import Scope
from scripts.benchmarks.corpus import Corpus
from scripts.benchmarks.fs import run

ENGRAMS = 10_000
LIMIT = 550 * 1024 * 1024


class RandomVectors:
    """Stands in for a model while the store is filled: its fingerprint, none of its work."""

    def __init__(self, model: OnnxEmbedder) -> None:
        self.fingerprint, self.dimension = model.fingerprint, model.dimension
        self.max_tokens, self.count_tokens = model.max_tokens, model.count_tokens
        self._random = np.random.default_rng(3)

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        drawn = self._random.normal(size=(len(texts), self.dimension)).astype(np.float32)
        unit: NDArray[np.float32] = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
        return unit

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self.embed_passages([text])[0]

    def release(self) -> None:
        """There is nothing to let go of."""


def drafts(corpus: Corpus) -> Iterator[Draft]:
    """One section each: with the head, two parts an engram."""
    for number in range(ENGRAMS):
        section = corpus.body().split("\n## ")[0]
        yield Draft("doc", f"d{number:05}", f"# Document {number}\n\n{section}\n".encode())


def pss(pid: int) -> int:
    """Bytes, as the kernel shares them out."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("the kernel tells no PSS")


def main(_: list[str]) -> bool:
    """Run the benchmark; True when the limit is kept."""
    place = Path(tempfile.mkdtemp(prefix="engramfs-bench-"))
    mountpoint, store = place / "mnt", ("--store", place / "store")
    scope = Scope((), exact=True)
    try:
        model = RandomVectors(OnnxEmbedder())
        engine = Engine.open(
            place / "store", kinds="kinds: {doc: {}}", embed="inline", embedder=model
        )
        corpus = Corpus(ENGRAMS)
        made = drafts(corpus)
        while batch := list(itertools.islice(made, 2_000)):
            engine.put_many(scope, batch)
        status = engine.status(scope)
        print(f"{status.parts:,} parts, {status.pending_vectors} vectors missing", file=sys.stderr)
        engine.close()
        mountpoint.mkdir()
        run("mount", mountpoint, *store)
        try:
            question = corpus.questions(1, 0)[0].replace(" ", "+")
            answer = json.loads((mountpoint / f".recall?q={question}&format=json").read_bytes())
            assert answer["items"], "the recall found nothing"
            assert "vector" in answer["items"][0]["channels"], "the vectors were not asked"
            told = subprocess.run(
                [sys.executable, "-m", "engramfs", "status", "--json", *map(str, store)],
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            time.sleep(10)
            taken = pss(int(json.loads(told.stdout)["pid"]))
        finally:
            run("umount", mountpoint, *store)
    finally:
        shutil.rmtree(place)
    kept = taken < LIMIT
    print(
        f"PSS 10 s after a recall over {status.engrams:,} engrams, {status.parts:,} parts: "
        f"{taken / 2**20:.0f} MB, under {LIMIT / 2**20:.0f} MB: {'kept' if kept else 'MISSED'}"
    )
    print(json.dumps({"benchmark": "memory", "pss": taken, "limit": LIMIT, "kept": kept}))
    return kept
