"""The embedder: texts a second by each way to run the bundled model, and what the queue adds to it.

Texts of 30, 128 and 250 tokens one by one, as shipped and by our graph, with one thread and two;
then the parts of this project's own pages, once through the bare model and once through the queue
of a store; then a reader's answers while nothing is embedded and while the queue drains; then a
store of 10,000 engrams at rest, opened again: what is embedded and indexed for that is nothing.
"""

from __future__ import annotations

import itertools
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from engine.embed import Floats, OnnxEmbedder
from engine.engine import Engine
from engine.model import Draft
from engine.namespace import Scope
from engine.tokens import bundled_tokenizer
from scripts.benchmarks.corpus import Corpus
from scripts.benchmarks.harness import Figure, Target, report
from scripts.benchmarks.memory import ENGRAMS, RandomVectors, drafts

SCOPE = Scope((), exact=True)
ROUNDS = 3
LENGTHS = (30, 128, 250)
TURNS = 3  # of ten texts, in a round
COPIES = 4  # of each page, in the queue
QUESTIONS = 60  # in each round of a reader
THINKS = 0.05  # seconds of a reader between an answer and the next question
LEAST = 2.0  # times as many texts as by the shipped graph
SHARE = 0.9  # of the bare model's speed, by the queue
BATCH = 200
ROOT = Path(__file__).resolve().parents[2]


class Gate:
    """The model behind a gate: nothing is embedded for a store before it opens."""

    def __init__(self, model: OnnxEmbedder) -> None:
        self._model = model
        self.open = threading.Event()
        self.texts: list[str] = []
        self.fingerprint, self.dimension = model.fingerprint, model.dimension
        self.max_tokens, self.count_tokens = model.max_tokens, model.count_tokens
        self.embed_query, self.release = model.embed_query, model.release

    def embed_passages(self, texts: Sequence[str]) -> Floats:
        self.open.wait()
        self.texts += texts
        return self._model.embed_passages(texts)


def main(_: list[str]) -> bool:
    """Run the benchmark; True when what was promised is kept."""
    with tempfile.TemporaryDirectory(prefix="engramfs-bench-") as place:
        models = ways(Path(place))
        figures = side_by_side(models, texts_of(LENGTHS))
        names = list(figures)
        queue, parts = through_the_queue(models["ours"])
        figures |= queue
        near = nearness(models["as shipped"], models["ours"], parts[::5])
        figures |= beside_a_reader(models["ours"])
        figures |= at_rest(models["ours"], Path(place) / "store")
    targets = [
        *(Target(name, "ours", times=LEAST, floor="as shipped") for name in names),
        Target("parts embedded", "the queue", times=SHARE, floor="the bare model"),
        Target("texts embedded again", "at rest", number=0.5),
        Target("parts pending", "at rest", number=0.5),
    ]
    contestants = [*models, "the bare model", "the queue", "alone", "while it drains", "at rest"]
    more = {"parts": len(parts), "cosine to as shipped": near}
    print(f"cosine to the shipped model over {near['texts']} parts: mean {near['mean']:.4f}, "
          f"least {near['least']:.4f}")  # fmt: skip
    return report("embed", figures, contestants, targets, more)


def ways(place: Path) -> dict[str, OnnxEmbedder]:
    """The bundled model as it is shipped (a directory of one's own is run as it is), and by us."""
    (place / "model.onnx").symlink_to(OnnxEmbedder()._model_path())
    (place / "tokenizer.json").symlink_to(bundled_tokenizer().path)
    return {
        "as shipped": OnnxEmbedder(place),
        "ours": OnnxEmbedder(),
        "as shipped, 2 threads": OnnxEmbedder(place, threads=2),
        "ours, 2 threads": OnnxEmbedder(threads=2),
    }


def pages() -> Iterator[Draft]:
    """This project's pages, several times under other titles, so that no text is met twice."""
    for copy in range(COPIES):
        for path in sorted((ROOT / "docs").rglob("*.md")):
            source = f"# {path.stem} {copy}\n\n{path.read_text()}".encode()
            yield Draft("page", f"{path.stem}-{copy}", source)


def texts_of(lengths: Sequence[int]) -> dict[int, list[str]]:
    """For each number of tokens ten texts of that many, cut from the pages."""
    tokenizer = bundled_tokenizer().tokenizer()
    ids = tokenizer.encode("\n".join(draft.source.decode() for draft in pages())).ids
    found = {}
    for length in lengths:
        cuts = (ids[at : at + length - 2] for at in range(1, 10 * length, length))
        found[length] = [tokenizer.decode(cut) for cut in cuts]
    return found


def side_by_side(
    models: Mapping[str, OnnxEmbedder], texts: Mapping[int, Sequence[str]]
) -> dict[str, Figure]:
    """Texts a second; each text goes through every model in turn, so that luck is shared."""
    figures = {}
    for model in models.values():
        model.embed_query("loaded")
    for length, some in texts.items():
        figure = figures[f"texts of {length} tokens"] = Figure(f"texts of {length} tokens", "/s")
        for number in range(ROUNDS):
            print(f"{figure.name}: round {number + 1} of {ROUNDS}", file=sys.stderr, flush=True)
            took = dict.fromkeys(models, 0.0)
            for text in some * TURNS:
                for name, model in models.items():
                    began = time.perf_counter()
                    model.embed_query(text)
                    took[name] += time.perf_counter() - began
            for name, seconds in took.items():
                figure.raw.setdefault(name, []).append(len(some) * TURNS / seconds)
    return figures


def store_of_pages(gate: Gate) -> Engine:
    engine = Engine.open(":memory:", kinds="kinds: {page: {}}", embedder=gate)
    engine.put_many(SCOPE, list(pages()))
    return engine


def nearness(shipped: OnnxEmbedder, ours: OnnxEmbedder, texts: Sequence[str]) -> dict[str, float]:
    """Cosines between the two models' vectors of the same texts."""
    cosines = np.sum(shipped.embed_passages(texts) * ours.embed_passages(texts), axis=1)
    return {"texts": len(texts), "mean": float(cosines.mean()), "least": float(cosines.min())}


def through_the_queue(model: OnnxEmbedder) -> tuple[dict[str, Figure], list[str]]:
    """The same texts through the bare model and through a store; the texts.

    By the clock, and by the processor's time, which other programs do not lengthen.
    """
    by_clock, by_work = Figure("parts embedded", "/s"), Figure("parts a processor second", "/s")

    def note(name: str, count: int, since: tuple[float, float]) -> None:
        by_clock.raw.setdefault(name, []).append(count / (time.perf_counter() - since[0]))
        by_work.raw.setdefault(name, []).append(count / (time.process_time() - since[1]))

    texts: list[str] = []
    for _ in range(ROUNDS):
        gate = Gate(model)
        engine = store_of_pages(gate)
        waiting = engine.status(SCOPE).pending_vectors
        since = time.perf_counter(), time.process_time()
        gate.open.set()
        while engine.status(SCOPE).pending_vectors:
            engine.reading.wait_for_vectors(60)
        note("the queue", waiting, since)
        engine.close()
        texts = gate.texts
        since = time.perf_counter(), time.process_time()
        for text in texts:
            model.embed_passages([text])
        note("the bare model", len(texts), since)
    return {figure.name: figure for figure in (by_clock, by_work)}, texts


def beside_a_reader(model: OnnxEmbedder) -> dict[str, Figure]:
    """How long a search takes while nothing is embedded, and while the queue drains."""
    median, worst = Figure("a search, p50", "ms"), Figure("a search, p95", "ms")
    drained = Figure("parts embedded beside the reader", "/s")
    for _ in range(ROUNDS):
        gate = Gate(model)
        engine = store_of_pages(gate)
        answers(engine, 10)
        for name in ("alone", "while it drains"):
            before = len(gate.texts)
            began = time.perf_counter()
            if name != "alone":
                gate.open.set()
            times = answers(engine, QUESTIONS)
            took = time.perf_counter() - began
            median.raw.setdefault(name, []).append(1000 * statistics.median(times))
            worst.raw.setdefault(name, []).append(1000 * statistics.quantiles(times, n=20)[-1])
            drained.raw.setdefault(name, []).append((len(gate.texts) - before) / took)
        if not engine.status(SCOPE).pending_vectors:
            raise RuntimeError("the queue was empty before the reader was done: no comparison")
        engine.close()
    return {figure.name: figure for figure in (median, worst, drained)}


def at_rest(model: OnnxEmbedder, place: Path) -> dict[str, Figure]:
    """A store of ENGRAMS engrams with all their vectors (made at random), opened again."""
    filled = Engine.open(
        place, kinds="kinds: {doc: {}}", embed="inline", embedder=RandomVectors(model)
    )
    made = drafts(Corpus(ENGRAMS))
    while batch := list(itertools.islice(made, BATCH)):
        filled.put_many(SCOPE, batch)
    filled.close()
    opening, texts = Figure("opening 10,000 engrams", "s"), Figure("texts embedded again", "")
    pending = Figure("parts pending", "")
    for _ in range(ROUNDS):
        gate = Gate(model)
        gate.open.set()
        began = time.perf_counter()
        engine = Engine.open(place, embedder=gate)
        opening.raw.setdefault("at rest", []).append(time.perf_counter() - began)
        engine.reading.wait_for_vectors(2.0)
        texts.raw.setdefault("at rest", []).append(len(gate.texts))
        pending.raw.setdefault("at rest", []).append(engine.status(SCOPE).pending_vectors)
        engine.close()
    return {figure.name: figure for figure in (opening, texts, pending)}


def answers(engine: Engine, count: int) -> list[float]:
    """Seconds of each of `count` searches."""
    times = []
    for number in range(count):
        began = time.perf_counter()
        engine.search(SCOPE, f"what happens to a handle when engram {number} moves")
        times.append(time.perf_counter() - began)
        time.sleep(THINKS)
    return times
