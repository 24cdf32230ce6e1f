"""The approximate vector index beside exact search: build, memory, recall and time by size.

    scripts/bench hnsw --data DIR [--sizes 20000,50000,100000,200000] [--kept FILE.npz]

The documents of the labelled sets under DIR are embedded for real (`--kept`: once). Larger sizes
are made of them: a real vector plus noise of the shape that real vectors have (their covariance),
so long that neighbours are as near one another as real ones. Questions are the sets' own.

Both contestants are what the vector channel calls; with the index that is its candidates, the
newer vectors, the exact cosines of 4,096 lexical hits, and the threshold that the ADR tells of.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine import hnsw_build
from engine.config import Config
from engine.embed import OnnxEmbedder
from engine.hnsw_build import HnswBuild
from engine.index import Documents, Index
from engine.matrix import Vectors
from engine.neighbours import candidate_cosines
from scripts.benchmarks.labelled import read_set

SIZES = (20_000, 50_000, 100_000, 200_000)
NOISE = 0.7  # length of the noise beside a real vector of 1
PARTS = 6  # of an engram
SHARE = 0.03  # of the documents that hold a word of a question
NEEDED = 0.97
DEPTH, ENGRAMS = 24, 10

Floats = NDArray[np.float64]


def real(data: Path, kept: Path | None) -> tuple[Vectors, Vectors]:
    """(documents, questions) of the labelled sets, embedded."""
    if kept is not None and kept.is_file():
        held = np.load(kept)
        return held["documents"], held["questions"]
    model, texts, questions = OnnxEmbedder(), [], []
    for folder in sorted(path for path in data.iterdir() if (path / "qrels.tsv").is_file()):
        read = read_set(folder)
        texts += [f"{one.title}\n{one.text}".strip() for one in read.documents]
        questions += list(read.questions.values())
    made = [model.embed_passages(texts[at : at + 50]) for at in range(0, len(texts), 50)]
    documents, asked = np.concatenate(made), np.array([model.embed_query(q) for q in questions])
    if kept is not None:
        np.savez(kept, documents=documents, questions=asked)
    return documents, asked


class Enlarged:
    """As many vectors as are asked for, like the given ones."""

    def __init__(self, given: Vectors) -> None:
        self._given, self._random = given, np.random.default_rng(5)
        _, spread, self._axes = np.linalg.svd(given - given.mean(0), full_matrices=False)
        self._spread = NOISE * spread / np.sqrt(len(given))

    def more(self, count: int) -> Vectors:
        """float32[count, dimension], of length 1."""
        noise = self._random.standard_normal((count, len(self._spread))) * self._spread
        made = self._given[self._random.integers(len(self._given), size=count)] + noise @ self._axes
        unit: Vectors = (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)
        return unit


def add(index: Index, vectors: Vectors) -> None:
    """Documents with these vectors, PARTS an engram, and no words."""
    first = index.snapshot().rows
    hashes = [at.to_bytes(16, "big") for at in range(first + 1, first + 1 + len(vectors))]
    index.add_vectors(hashes, vectors)
    index.add_many(
        Documents(first + at, first + at, [1] * len(some), some, None)
        for at in range(0, len(hashes), PARTS)
        if (some := hashes[at : at + PARTS])
    )


def grown(build: HnswBuild) -> tuple[float, float]:
    """Index what is not indexed yet; the seconds it took, by the clock and of a processor."""
    clock, processor = time.perf_counter(), time.process_time()
    build.begin()
    while (at := build.progress()).search == "building":
        print(f"\r{at.held:,} of {at.vectors:,}", end="", file=sys.stderr)
        time.sleep(1.0)
    print(file=sys.stderr)
    if build.problem:
        raise RuntimeError(build.problem)
    return time.perf_counter() - clock, time.process_time() - processor


def measured(index: Index, questions: Vectors, config: Config) -> dict[str, float]:
    """Recall, overlap of the fused first ten, and milliseconds of a processor for both."""
    snapshot, random = index.snapshot(), np.random.default_rng(8)
    counted = np.ones(snapshot.rows, np.bool_)
    lexical = np.where(random.random(snapshot.rows) < SHARE, random.random(snapshot.rows), 0.0)
    assert snapshot.near is not None
    recall, overlap = [], []
    spent: dict[str, list[float]] = {"exact": [], "hnsw": []}

    def timed(name: str, work: Callable[[], Vectors | None]) -> Vectors:
        began = time.process_time()
        found = work()
        spent[name].append((time.process_time() - began) * 1e3)
        assert found is not None
        return np.nan_to_num(found, nan=0.0)

    for question in questions:
        exact = timed("exact", lambda q=question: snapshot.cosines(q, counted))  # type: ignore[misc]
        near = timed(
            "hnsw",
            lambda q=question: candidate_cosines(  # type: ignore[misc]
                snapshot, q, counted, lexical, ENGRAMS, config
            ),
        )
        best = np.argpartition(-exact, DEPTH)[:DEPTH]
        rows = set(snapshot.near.nearest(question, config.hnsw_candidates).tolist())  # type: ignore[union-attr]
        recall.append(len(rows & set(snapshot.doc_vector[best].tolist())) / DEPTH)
        first, second = (_first(cosine, lexical, config) for cosine in (exact, near))
        overlap.append(len(first & second) / ENGRAMS)
    return {
        "recall": float(np.mean(recall)),
        "overlap": float(np.mean(overlap)),
        **{f"{name} ms": float(np.median(held)) for name, held in spent.items()},
    }


def _first(cosine: Vectors, lexical: Floats, config: Config) -> set[int]:
    """The first documents by score fusion."""
    near = np.maximum(cosine, 0.0) / cosine.max()
    fused = config.lexical_weight * lexical / lexical.max() + config.vector_weight * near
    return set(np.argpartition(-fused, ENGRAMS)[:ENGRAMS].tolist())


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def main(arguments: list[str]) -> bool:
    """Run the benchmark; True when the recall is kept at every size."""
    options = dict(zip(arguments[::2], arguments[1::2], strict=True))
    if "--data" not in options and "--kept" not in options:
        raise SystemExit("scripts/bench hnsw --data DIR: a folder of labelled sets")
    kept = Path(options["--kept"]) if "--kept" in options else None
    sizes = [int(size) for size in options.get("--sizes", "").split(",") if size] or list(SIZES)
    documents, questions = real(Path(options.get("--data", ".")), kept)
    # Its low priority would measure what else the machine does.
    hnsw_build.NICE = 0
    config = Config(hnsw_vectors=0, vector_memory=1 << 40)
    index, enlarged = Index(), Enlarged(documents)
    build = HnswBuild(index, config)
    clock = processor = held = 0.0
    rows = []
    for size in (len(documents), *sizes):
        if not index.documents:
            add(index, documents)
        for start in range(index.documents, size, 20_000):
            add(index, enlarged.more(min(20_000, size - start)))
        before, took = resident(), grown(build)
        clock, processor = clock + took[0], processor + took[1]
        held += resident() - before
        row = {"vectors": index.documents, "build s": clock, "build cpu s": processor}
        row |= {"bytes": held / index.documents} | measured(index, questions[:200], config)
        rows.append(row)
        print(", ".join(f"{name} {value:,.3f}" for name, value in row.items()), flush=True)
    build.stop()
    fine = all(row["recall"] >= NEEDED for row in rows)
    print(f"recall@{DEPTH} at least {NEEDED} at every size: {'kept' if fine else 'MISSED'}")
    print(json.dumps({"benchmark": "hnsw", "rows": rows, "kept": fine}))
    return fine
