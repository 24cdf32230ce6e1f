"""The store that recall is measured on: many short engrams, some long ones, linked and dated.

Four engrams of five are a title and 100 words, the fifth has five sections: three parts an engram.
Each links to two others; they came one by one over a year. Texts are those of `corpus`. The vectors
of parts lie around 500 that the bundled model made, so that questions, which are embedded for real,
are near some of them.
"""

from __future__ import annotations

import itertools
import json
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from engine.config import Config
from engine.embed import OnnxEmbedder
from engine.engine import Engine
from engine.errors import Invalid
from engine.model import Draft
from scripts.benchmarks.corpus import PARTS, TOPICS, ClusteredVectors, Corpus, Vectors
from scripts.benchmarks.ours import BATCH, SCOPE, wait_for_fold

LONG = 5  # every so manieth engram has all sections
LINKS = 2
YEAR_NS = 365 * 86_400 * 10**9
KINDS = "kinds: {doc: {}}"


class ModelTopics(ClusteredVectors):
    """Clusters around vectors of the bundled model, under its name."""

    def __init__(self, model: OnnxEmbedder, corpus: Corpus) -> None:
        super().__init__(model.dimension)
        self.fingerprint = model.fingerprint
        self._model = model
        self._centres = model.embed_passages(corpus.questions(TOPICS, 0))

    def embed_query(self, text: str) -> Vectors:
        """float32[dimension], by the model."""
        vector: Vectors = self._model.embed_query(text)
        return vector


def drafts(engrams: int) -> Iterator[Draft]:
    """The engrams, the oldest first."""
    corpus, draw = Corpus(engrams), random.Random(5)
    for number in range(engrams):
        body = corpus.body()
        if number % LONG:
            body = body.split("\n## ")[0].partition("\n\n")[2]
        others = (f"[[doc/{_slug(draw.randrange(engrams))}]]" for _ in range(LINKS))
        text = f"# Document {number}\n\n{body}\nSee {' and '.join(others)}.\n"
        yield Draft("doc", _slug(number), text.encode())


def _slug(number: int) -> str:
    return f"d{number:07}"


def build(place: Path, engrams: int) -> dict[str, float]:
    """Make place/store, unless it is there: its engrams, parts, and the seconds that it took."""
    done = place / "store.json"
    if not done.is_file():
        place.mkdir(parents=True, exist_ok=True)
        begin, ends = time.perf_counter(), time.time_ns()
        put = 0

        def clock() -> int:
            return ends - YEAR_NS + YEAR_NS * put // engrams

        engine = Engine.open(
            place / "store", kinds=KINDS, embed="inline", clock=clock,
            embedder=ModelTopics(OnnxEmbedder(), Corpus(engrams)),
            config=Config(hnsw_vectors=PARTS * engrams),  # no index of vectors while it is filled
        )  # fmt: skip
        made = drafts(engrams)
        while batch := list(itertools.islice(made, min(BATCH, max(engrams // 100, 10)))):
            for result in engine.put_many(SCOPE, batch):
                if isinstance(result, Invalid):
                    raise result
            put += len(batch)
        wait_for_fold(engine)
        status = engine.status(SCOPE)
        engine.close()
        cost = {
            "engrams": status.engrams, "parts": status.parts,
            "seconds": time.perf_counter() - begin,
        }  # fmt: skip
        done.write_text(json.dumps(cost))
    told: dict[str, float] = json.loads(done.read_text())
    return told


def questions(engrams: int, count: int) -> Iterator[str]:
    """`count` different questions: of five four drawn by frequency, and one with function words.

    Each is asked once, so that none is answered from the five seconds that an answer is kept.
    """
    asked: Sequence[str] = Corpus(engrams, seed=7).questions(count, count // 4)
    mixed = list(dict.fromkeys(asked))
    order = np.random.default_rng(3).permutation(len(mixed))
    return iter([mixed[at] for at in order][:count])
