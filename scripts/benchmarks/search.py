"""Questions to stores of growing size, beside what people would pick instead, in one run.

    scripts/bench search [SIZE …] [--peers NAME,…|all|none] [--keep DIR] [--rounds N]

SIZE is a number of parts (1,000 and 100,000). Every contestant ranks the same terms and vectors:
200 questions of 2 to 8 terms drawn by frequency and 50 natural ones, whose vectors are given.
Every answer of the lexical channel is compared with `match_bm25`: the first 50 documents must be
the same, with the same scores within 1e-9. With --keep stores and indexes are built once; the
results stay there too, one JSON file a size, for `scripts/bench growth`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from engine.embed import OnnxEmbedder
from engine.engine import Engine
from scripts.benchmarks import alone, ours
from scripts.benchmarks.corpus import PARTS, ClusteredVectors, Corpus
from scripts.benchmarks.harness import ROUNDS, Figure, Target, percentile, report
from scripts.benchmarks.lexical_peers import DuckDB
from scripts.benchmarks.ours import SCOPE
from scripts.benchmarks.peers import PEERS, chosen, size_of
from scripts.benchmarks.puts import puts, readers

TOP = 50
EACH = 50  # questions a round and contestant
MILLION = 500_000  # parts from which the promises are those for a million
OURS, PAGE, EMBEDDED = "engine", "engine, a page", "engine, a page, embedding"
INDEXED = "lancedb, IVF_PQ"
NAMES = {"duckdb": "match_bm25", "sqlite": "FTS5 + sqlite-vec", "tantivy": "tantivy + numpy"}
ALONE, BESIDE = "alone", "beside four readers"
SHARES = (("p50", 50), ("p95", 95), ("p99", 99))

Question = tuple[str, list[str], Any]  # as asked, its terms, its vector
Asked = Callable[[Question], object]


def main(arguments: list[str]) -> bool:
    """Run the benchmark; True when every promise is kept and every answer was the same."""
    parser = argparse.ArgumentParser(prog="scripts/bench search", description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=[1_000, 100_000], metavar="SIZE")
    parser.add_argument("--peers", default="all")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    asked = parser.parse_args(arguments)
    names = chosen(parser, asked.peers)
    keep = asked.keep or Path(tempfile.mkdtemp(prefix="engramfs-bench-"))
    try:
        kept = [at_size(keep / str(size), size, names, asked.rounds) for size in asked.sizes]
        return all(kept)
    finally:
        if asked.keep is None:
            shutil.rmtree(keep)


def at_size(place: Path, parts: int, names: list[str], rounds: int) -> bool:
    """Everything at one size."""
    said(f"a store of {parts:,} parts in {place}")
    made = ours.build(place, parts)
    embedder = ClusteredVectors()
    begin = time.perf_counter()
    engine = Engine.open(place / "store", embedder=embedder)
    opening = time.perf_counter() - begin
    peers = {name: built(place / name, name, engine) for name in names}
    corpus = Corpus(parts // PARTS)
    questions: list[Question] = [
        (text, ours.terms_of(engine, text), embedder.embed_query(text))
        for text in corpus.questions()
    ]
    different = differences(engine, peers["duckdb"], questions) if "duckdb" in peers else None
    figures = asking(engine, embedder, peers, questions, rounds)
    stages = by_stage(engine, peers.get("tantivy"), questions)
    rows = [ours.touched(engine, text) for text, _, _ in questions]
    for peer in peers.values():
        peer.close()
    engine.close()
    figures |= saving(place, parts, [text for text, _, _ in questions], rounds)
    held = {name: alone.ask(name, place, parts) for name in ("engine", *names)}
    sizes = {name: size_of(place / name) for name in names} | {"engine": size_of(place / "store")}
    more: dict[str, Any] = {
        "parts": int(made["parts"]), "questions": len(questions), "different": different,
        "rows touched": {share: float(np.percentile(rows, at)) for share, at in SHARES},
        "stages": stages, "alone": held, "bytes": sizes, "opening": opening,
        "building": made["seconds"],
    }  # fmt: skip
    for line in told(more):
        print(line)
    contestants = list(dict.fromkeys(name for one in figures.values() for name in one.raw))
    kept = report(
        f"search, {int(made['parts']):,} parts", figures, contestants,
        promises(figures, parts), more,
    )  # fmt: skip
    result = {**more, "medians": {name: _medians(one) for name, one in figures.items()}}
    (place / "result.json").write_text(json.dumps(result))
    limits = within_limits(held["engine"], parts)
    return kept and limits and not different


def _medians(figure: Figure) -> dict[str, float]:
    return {name: figure.median(name) for name in figure.raw}


def built(place: Path, name: str, engine: Engine) -> Any:
    """A peer with its index, made from the store's own terms and vectors unless it is there."""
    done = place / "built.json"
    if not done.is_file():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        begin = time.perf_counter()
        peer = PEERS[name](place)
        peer.build(ours.rows_of(engine), analysed=True)
        peer.close()
        done.write_text(json.dumps({"seconds": time.perf_counter() - begin}))
        said(f"{name} built in {time.perf_counter() - begin:.0f} s")
    return PEERS[name](place)


def differences(engine: Engine, stock: DuckDB, questions: list[Question]) -> int:
    """How many questions are answered differently by `match_bm25`; each is printed."""
    different = 0
    for text, terms, _ in questions:
        mine, theirs = ours.lexical(engine, text, TOP), stock.scored(terms, TOP)
        same = [doc for doc, _ in mine] == [doc for doc, _ in theirs] and np.allclose(
            [score for _, score in mine], [score for _, score in theirs], rtol=0, atol=1e-9
        )
        if not same:
            different += 1
            print(f"different: {text!r}\n  {mine[:3]}\n  {theirs[:3]}")
    print(f"{len(questions)} questions compared with match_bm25, {different} answered differently")
    return different


def asking(
    engine: Engine,
    embedder: ClusteredVectors,
    peers: dict[str, Any],
    questions: list[Question],
    rounds: int,
) -> dict[str, Figure]:
    """Lexical and hybrid questions of every contestant, in turn."""
    model = OnnxEmbedder()
    model.embed_query("load the model")

    def embedded(question: Question) -> None:
        embedder.model = model
        try:
            engine.search(SCOPE, question[0])
        finally:
            embedder.model = None

    lexical: dict[str, Asked] = {OURS: lambda one: ours.lexical(engine, one[0], TOP)}
    hybrid: dict[str, Asked] = {
        OURS: lambda one: ours.hybrid(engine, one[0], TOP),
        PAGE: lambda one: engine.search(SCOPE, one[0]),
        EMBEDDED: embedded,
    }
    for name, peer in peers.items():
        called = NAMES.get(name, name)
        lexical[called.split(" +")[0]] = lambda one, peer=peer: peer.lexical(one[1], TOP)
        if hasattr(peer, "hybrid"):
            hybrid[called] = lambda one, peer=peer: peer.hybrid(one[1], one[2], TOP)
    if "lancedb" in peers:
        hybrid[INDEXED] = lambda one: with_index(peers["lancedb"], one)
    figures: dict[str, Figure] = {}
    for what, contestants in (("lexical", lexical), ("hybrid", hybrid)):
        turn = itertools.cycle(questions)
        everything: dict[str, list[float]] = {name: [] for name in contestants}
        for number in range(rounds):
            said(f"{what} questions, round {number + 1} of {rounds}")
            asked = list(itertools.islice(turn, EACH))
            for name, ask in contestants.items():
                taken = [seconds(ask, question) for question in asked]
                percentile(figures, f"{what} p50", name, taken, 50)
                everything[name] += taken
        for name, taken in everything.items():
            for share, at in SHARES[1:]:  # over all questions: 50 are too few for a percentile
                percentile(figures, f"{what} {share} of all", name, taken, at)
    return figures


def with_index(peer: Any, question: Question) -> object:
    """LanceDB's hybrid over its approximate index."""
    peer.indexed = True
    try:
        return peer.hybrid(question[1], question[2], TOP)
    finally:
        peer.indexed = False


def seconds(ask: Asked, question: Question) -> float:
    begin = time.perf_counter()
    ask(question)
    return time.perf_counter() - begin


def by_stage(engine: Engine, tantivy: Any, questions: list[Question]) -> dict[str, Any]:
    """Median milliseconds of each stage: ours, and those of tantivy with a bare product."""
    mine = [ours.stages(engine, text, TOP) for text, _, _ in questions[:EACH]]
    found: dict[str, Any] = {"engine": {name: _ms([one[name] for one in mine]) for name in mine[0]}}
    if tantivy is not None:
        some = questions[:EACH]
        lexical = _ms([seconds(lambda one: tantivy.lexical(one[1], TOP), each) for each in some])
        product = _ms([seconds(lambda one: tantivy.vectors @ one[2], each) for each in some])
        nearest = _ms([seconds(lambda one: tantivy.nearest(one[2], TOP), each) for each in some])
        whole = _ms([seconds(lambda one: tantivy.hybrid(*one[1:], TOP), each) for each in some])
        found["tantivy + numpy"] = {
            "tantivy": lexical, "matrix product": product, "top of the product": nearest - product,
            "fusion": whole - lexical - nearest,
        }  # fmt: skip
    return found


def _ms(taken: list[float]) -> float:
    return float(np.median(taken)) * 1000


def saving(place: Path, parts: int, questions: list[str], rounds: int) -> dict[str, Figure]:
    """Puts into a copy of the store, which itself stays as it was built."""
    copy = place / "puts"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(place / "store", copy)
    engine = Engine.open(copy, embedder=ClusteredVectors())
    corpus = Corpus(parts // PARTS, seed=8)
    bodies = [" ".join(corpus.body().split()[:250]) for _ in range(50)]
    numbers: Iterator[int] = itertools.count()
    figures: dict[str, Figure] = {}
    try:
        everything: dict[str, list[float]] = {ALONE: [], BESIDE: []}
        for number in range(rounds):
            said(f"Puts, round {number + 1} of {rounds}")
            taken = {ALONE: puts(engine, bodies, numbers)}
            with readers(engine, questions):
                taken[BESIDE] = puts(engine, bodies, numbers)
            for name, each in taken.items():
                percentile(figures, "Put p50", name, each, 50)
                everything[name] += each
        for name, each in everything.items():
            percentile(figures, "Put p99 of all", name, each, 99)
    finally:
        engine.close()
        shutil.rmtree(copy)
    return figures


def promises(figures: dict[str, Figure], parts: int) -> list[Target]:
    """What is promised at this size, of those that ran."""
    if parts < 50_000:
        return []
    if parts >= MILLION:
        return [
            Target("hybrid p50", OURS, number=300),
            Target("hybrid p50", PAGE, number=300),
            Target("Put p50", ALONE, number=40),
        ]
    targets = [
        Target("lexical p50", OURS, times=1 / 10, floor="match_bm25"),
        # Numbers and scores against numbers and scores; what a page costs more stands beside.
        Target("hybrid p50", OURS, times=1 / 4, floor="FTS5 + sqlite-vec"),
        Target("hybrid p50", OURS, times=1 / 6, floor="lancedb"),
        Target("hybrid p99 of all", EMBEDDED, number=80),
        Target("Put p50", ALONE, number=15),
        Target("Put p50", BESIDE, number=30),
    ]
    return [one for one in targets if not one.floor or one.floor in figures[one.figure].raw]


def within_limits(held: dict[str, float], parts: int) -> bool:
    """Memory and opening at a million parts; told, and True below."""
    if parts < MILLION:
        return True
    memory, opening = held["rss"] / 1e9, held["seconds"]
    kept = memory < 4.0 and opening < 20.0
    print(f"RSS {memory:.2f} GB, under 4; opening {opening:.1f} s, under 20: "
          f"{'kept' if kept else 'MISSED'}")  # fmt: skip
    return kept


def told(more: dict[str, Any]) -> Iterator[str]:
    """The figures that are no contest, as lines."""
    touched = more["rows touched"]
    yield f"\nrows touched: p50 {touched['p50']:,.0f}, p99 {touched['p99']:,.0f} a question"
    for name, held in more["alone"].items():
        yield (
            f"{name}: {more['bytes'][name] / 1e6:,.0f} MB on disk, opened in "
            f"{held['seconds']:.2f} s, RSS {held['rss'] / 1e6:,.0f} MB, "
            f"PSS {held['pss'] / 1e6:,.0f} MB"
        )
    for name, stages in more["stages"].items():
        yield f"{name}, by stage (ms): " + ", ".join(f"{at} {ms:.2f}" for at, ms in stages.items())


def said(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
