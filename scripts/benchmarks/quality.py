"""How well the engine ranks and packs: labelled sets beside the peers, and two corpora of our own.

    scripts/bench quality [--data DIR [SET …]] [--peers NAME,…|all|none] [--keep DIR] [--model DIR]
                          [--seeds N,…|none] [--share X] [--set NAME=VALUE …]

DIR holds folders in the layout of BEIR (see `labelled`); SET names some of them, by default all
that have judgements. They are searched (100 candidates through `engine.search`) and recalled; ours
(`knowledge_base` and `conversations`, made from --seeds, 2) are recalled, by each channel alone and
by all. One setting for everything; `--set` changes a number of the config for a try, `--share`
makes our own corpora smaller. Vectors are kept below --keep by model and text, so that a rerun
takes some minutes.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from engine.config import Config
from engine.embed import OnnxEmbedder
from engine.engine import Engine
from scripts.benchmarks import judged
from scripts.benchmarks.cached import CachedEmbedder
from scripts.benchmarks.corpora import own, seeds_of, sets_below
from scripts.benchmarks.labelled import (
    SCOPE,
    Document,
    LabelledSet,
    document_of,
    fill,
    read_set,
    slug,
)
from scripts.benchmarks.measures import NAMES as MEASURES
from scripts.benchmarks.measures import (
    Answer,
    Grades,
    Measures,
    ask,
    measured,
    path_of,
    wait_until_ready,
)
from scripts.benchmarks.peers import PEERS, chosen
from scripts.benchmarks.rows import Rows, reciprocal_ranks

CANDIDATES = 100
PARTS_DEEP = 5 * CANDIDATES  # parts that a peer is asked for, so that enough documents are left
SEARCHES: Mapping[str, Mapping[str, Any]] = {
    "lexical": {"channels": ("lexical",)},
    "vector": {"channels": ("vector",)},
    "rrf": {"fusion": "rrf"},
    "score": {"fusion": "score"},
}
RECALLS: Mapping[str, Mapping[str, Any]] = {
    "recall, lexical alone": {"channels": ("lexical",)},
    "recall, vector alone": {"channels": ("vector",)},
    "recall, whole": {},
}
# What a channel of ours that goes on from others, or answers few questions, ranks by itself.
OWN_RECALLS: Mapping[str, Mapping[str, Any]] = {
    **RECALLS,
    "recall, exact alone": {"channels": ("exact",)},
    "recall, graph's own order": {"of": "graph"},
    "recall, temporal's own order": {"of": "temporal"},
    "recall, rrf": {"fusion": "rrf"},
}
SINGLE = ("lexical", "vector")
MEAN = 0.650
FLOORS = {"scifact": 0.727, "cran": 0.422, "med": 0.780}
NAMES = {
    "duckdb": "DuckDB FTS", "sqlite": "FTS5 + sqlite-vec, RRF", "lancedb": "LanceDB hybrid, RRF",
    "tantivy": "tantivy + numpy, RRF", "bm25s": "bm25s",
}  # fmt: skip

Ranked = Callable[[str], Sequence[str]]  # a question -> ids of documents, best first
Answering = Callable[[str], Answer]
Table = dict[str, dict[str, Measures]]  # way -> set -> measures


def main(arguments: list[str]) -> bool:
    """Run the benchmark; True when every promise about the sets that ran is kept."""
    parser = argparse.ArgumentParser(prog="scripts/bench quality", description=__doc__)
    parser.add_argument("sets", nargs="*", metavar="SET")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--peers", default="all")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--seeds", type=seeds_of, default=(2,))
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="changes")
    asked = parser.parse_args(arguments)
    names = sets_below(parser, asked.data, asked.sets) if asked.data is not None else ()
    peers = chosen(parser, asked.peers)
    config = changed(Config(), asked.changes)
    work = Path(tempfile.mkdtemp(prefix="engramfs-bench-"))
    table: Table = {}
    try:
        embedder = CachedEmbedder(OnnxEmbedder(asked.model), asked.keep or work / "keep")
        for name in names:
            labelled = read_set(asked.data / name)
            questions = [
                (text, {_path(one): grade for one, grade in labelled.relevant[id].items()})
                for id, text in labelled.questions.items()
            ]
            ways = answers(labelled, embedder, config, peers, work / name)
            into(table, name, ways, questions)
        for name, corpus, seed in own(asked.seeds, asked.share):
            ways = recalls(corpus, seed, embedder, config, work / f"{corpus.name} {seed}")
            into(table, name, ways, [(one.text, one.relevant) for one in corpus.questions])
    finally:
        shutil.rmtree(work)
    return told(table, names, embedder.fingerprint)


def into(
    table: Table,
    name: str,
    ways: Iterator[tuple[str, Answering]],
    questions: Sequence[tuple[str, Grades]],
) -> None:
    """Judge every way to answer a set's questions."""
    for way, answer in ways:
        found = measured((answer(text), grades) for text, grades in questions)
        table.setdefault(way, {})[name] = found
        print(f"{name}: {way} {found['nDCG@10']:.4f}", file=sys.stderr, flush=True)


def changed(config: Config, changes: Sequence[str]) -> Config:
    """The config with NAME=VALUE put in; ValueError for a name that it has not."""
    known = {field.name: type(getattr(config, field.name)) for field in fields(config)}
    for change in changes:
        name, _, value = change.partition("=")
        if name not in known:
            raise ValueError(f"the config has no number called {name}")
        config = replace(config, **{name: known[name](value)})
    return config


def answers(
    labelled: LabelledSet,
    embedder: CachedEmbedder,
    config: Config,
    peers: Sequence[str],
    place: Path,
) -> Iterator[tuple[str, Answering]]:
    """Every way to answer a labelled set's questions: ours, then the peers'."""
    place.mkdir(parents=True)
    engine = Engine.open(
        place / "store", kinds="kinds: {doc: {}}", embed="inline", embedder=embedder, config=config
    )
    try:
        fill(engine, labelled.documents)
        for way, how in SEARCHES.items():
            yield way, partial(searched, engine, how)
        wait_until_ready(engine)
        for way, how in RECALLS.items():
            yield way, partial(recalled, engine, how)
        rows = Parts(engine, labelled) if peers else None
    finally:
        engine.close()
    if rows is None:
        return
    for name in peers:
        (place / name).mkdir()
        peer = PEERS[name](place / name)
        yield NAMES[name], partial(_by_peer, rows.answer(name, peer, embedder))
        peer.close()


def _by_peer(ranked: Ranked, question: str) -> Answer:
    return Answer([_path(document) for document in ranked(question)])


def recalls(
    corpus: judged.Judged, seed: int, embedder: CachedEmbedder, config: Config, place: Path
) -> Iterator[tuple[str, Answering]]:
    """Every way to recall from a corpus of ours."""
    clock = judged.Clock()
    engine = Engine.open(
        place, kinds=corpus.kinds, embed="inline", embedder=embedder, config=config, clock=clock
    )
    try:
        judged.fill(engine, clock, corpus, seed)
        wait_until_ready(engine)
        for way, how in OWN_RECALLS.items():
            yield way, partial(recalled, engine, how)
    finally:
        engine.close()


def searched(engine: Engine, how: Mapping[str, Any], question: str) -> Answer:
    """The first 100 documents. Signs that are operators are blanks: none of them is meant so."""
    plain = question.replace('"', " ").replace(" -", " ")
    page = engine.search(SCOPE, plain, limit=CANDIDATES, **how)
    return Answer([path_of(hit.entry) for hit in page.hits])


def recalled(engine: Engine, how: Mapping[str, Any], question: str) -> Answer:
    """What recall ranks, and what it packs."""
    return ask(engine, question, **how)


def _path(document: str) -> str:
    return f"doc/{slug(document)}"


class Parts:
    """What the peers index. Texts are whole documents, as anybody would give them; vectors are the
    engine's own, of its parts, and a document is as near as its nearest part."""

    def __init__(self, engine: Engine, labelled: LabelledSet) -> None:
        snapshot = engine.reading.index.snapshot()
        entries = engine.reading.columns.now()
        has = np.flatnonzero(snapshot.live & (snapshot.doc_vector >= 0))
        slugs = [entries.entry(no).slug for no in snapshot.doc_engram[has].tolist()]
        passages = {slug: engine.children(SCOPE, f"doc/{slug}") for slug in dict.fromkeys(slugs)}
        self.documents = labelled.documents
        self.owners = [document_of(slug) for slug in slugs]
        self.vectors = snapshot.vectors[snapshot.doc_vector[has]]
        title = {document.id: document.title for document in labelled.documents}
        self.texts = [
            f"{title[owner]}\n{passages[slug][position].text if position else ''}".strip()
            for slug, owner, position in zip(
                slugs, self.owners, snapshot.doc_position[has].tolist(), strict=True
            )
        ]

    def answer(self, name: str, peer: Any, embedder: CachedEmbedder) -> Ranked:
        """Build the peer and say how it answers."""
        if name == "lancedb":  # its hybrid needs text and vector in one row: the parts
            peer.build([Rows(self.texts, self.vectors)], analysed=False)
            return lambda question: self._of_parts(
                peer.hybrid(words(question), embedder.embed_query(question), PARTS_DEEP)
            )
        peer.build([Rows([_text(one) for one in self.documents], self.vectors)], analysed=False)
        ids = [document.id for document in self.documents]

        def answer(question: str) -> Sequence[str]:
            found = [ids[row] for row in peer.lexical(words(question), CANDIDATES)]
            if not hasattr(peer, "hybrid"):
                return found
            near = self._of_parts(peer.nearest(embedder.embed_query(question), PARTS_DEEP))
            return reciprocal_ranks(found, near, top=CANDIDATES)

        return answer

    def _of_parts(self, rows: Sequence[int]) -> list[str]:
        """The documents of parts, each where its best part stands."""
        return list(dict.fromkeys(self.owners[row] for row in rows))[:CANDIDATES]


def words(question: str) -> list[str]:
    """The words of a question, for peers whose query language has signs of its own."""
    return "".join(c if c.isalnum() else " " for c in question).split()


def _text(document: Document) -> str:
    return f"{document.title}\n{document.text}".strip()


def told(table: Table, names: Sequence[str], model: str) -> bool:
    """Print the tables, the promises and the JSON; True when all are kept."""
    if names:
        print("\nnDCG@10 (recall@100)\n")
        print("| |", " | ".join(names), "| mean |")
        print("|---" * (len(names) + 2) + "|")
        for way, found in table.items():
            if all(name in found for name in names):
                cells = " | ".join(
                    f"{found[name]['nDCG@10']:.4f} ({found[name]['recall@100']:.3f})"
                    for name in names
                )
                print(f"| {way} | {cells} | {mean(found, names):.4f} |")
    for name in dict.fromkeys(name for found in table.values() for name in found):
        print(f"\n{name}\n")
        print("| | " + " | ".join(MEASURES) + " |\n" + "|---" * (len(MEASURES) + 1) + "|")
        for way, found in table.items():
            if name in found:
                measures = (
                    f"{found[name][measure]:.3f}" if measure in found[name] else ""
                    for measure in MEASURES
                )
                print(f"| {way} | {' | '.join(measures)} |")
    print()
    verdicts = list(promises(table, names)) if names else []
    for kept, sentence in verdicts:
        print(f"{sentence}: {'kept' if kept else 'MISSED'}")
    result = {"benchmark": "quality", "model": model, "table": table}
    print("\n" + json.dumps({**result, "targets": verdicts}))
    return all(kept for kept, _ in verdicts)


def mean(found: Mapping[str, Measures], names: Sequence[str]) -> float:
    """Mean nDCG@10 over some sets."""
    return statistics.mean(found[name]["nDCG@10"] for name in names)


def promises(table: Table, names: Sequence[str]) -> Iterator[tuple[bool, str]]:
    """(kept, sentence) about the sets that ran."""
    score = {name: found["nDCG@10"] for name, found in table["score"].items()}
    if set(FLOORS) <= set(names):
        three = mean(table["score"], list(FLOORS))
        yield three >= MEAN, f"mean nDCG@10 of the three sets {three:.4f}, at least {MEAN}"
    for name, floor in FLOORS.items():
        if name in names:
            yield score[name] >= floor, f"{name} {score[name]:.4f}, at least {floor}"
    whole, fused = mean(table["score"], names), mean(table["rrf"], names)
    yield whole > fused, f"mean {whole:.4f}, above rrf's {fused:.4f}"
    for name in names:
        best = max(table[way][name]["nDCG@10"] for way in SINGLE)
        yield (
            score[name] >= best,
            f"{name} {score[name]:.4f}, not below the best channel's {best:.4f}",
        )
