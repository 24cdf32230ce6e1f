"""How well the engine ranks on labelled sets, beside the peers with the same vectors.

    scripts/bench quality --data DIR [SET …] [--model DIR] [--peers NAME,…|all|none] [--keep DIR]
                          [--set NAME=VALUE …]

DIR holds folders in the layout of BEIR (see `labelled`); SET names some of them, by default all
that have judgements. nDCG@10 and recall@100 of 100 candidates through `engine.search`, over a real
store, with one setting for every set; `--set` changes a number of the config for a try. Vectors are
kept below --keep by model and text, so that a rerun takes a minute.
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
from pathlib import Path
from typing import Any

import numpy as np

from engine.config import Config
from engine.embed import OnnxEmbedder
from engine.engine import Engine
from scripts.benchmarks.cached import CachedEmbedder
from scripts.benchmarks.labelled import (
    SCOPE,
    Document,
    LabelledSet,
    document_of,
    fill,
    ndcg,
    read_set,
    recall,
)
from scripts.benchmarks.peers import PEERS, chosen
from scripts.benchmarks.rows import Rows, reciprocal_ranks

CANDIDATES = 100
PARTS_DEEP = 5 * CANDIDATES  # parts that a peer is asked for, so that enough documents are left
WAYS: Mapping[str, Mapping[str, Any]] = {
    "lexical": {"channels": ("lexical",)},
    "vector": {"channels": ("vector",)},
    "rrf": {"fusion": "rrf"},
    "score": {"fusion": "score"},
}
SINGLE = ("lexical", "vector")
MEAN = 0.650
FLOORS = {"scifact": 0.727, "cran": 0.422, "med": 0.780}
NAMES = {
    "duckdb": "DuckDB FTS", "sqlite": "FTS5 + sqlite-vec, RRF", "lancedb": "LanceDB hybrid, RRF",
    "tantivy": "tantivy + numpy, RRF", "bm25s": "bm25s",
}  # fmt: skip

Answer = Callable[[str], Sequence[str]]  # a question -> ids of documents, best first
Table = dict[str, dict[str, tuple[float, float]]]  # way -> set -> (nDCG@10, recall@100)


def main(arguments: list[str]) -> bool:
    """Run the benchmark; True when every promise about the sets that ran is kept."""
    parser = argparse.ArgumentParser(prog="scripts/bench quality", description=__doc__)
    parser.add_argument("sets", nargs="*", metavar="SET")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--peers", default="all")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="changes")
    asked = parser.parse_args(arguments)
    names = asked.sets or sorted(path.parent.name for path in asked.data.glob("*/qrels.tsv"))
    if not names:
        parser.error(f"{asked.data} holds no folder with a qrels.tsv")
    peers = chosen(parser, asked.peers)
    config = changed(Config(), asked.changes)
    work = Path(tempfile.mkdtemp(prefix="engramfs-bench-"))
    keep = asked.keep or work / "keep"
    table: Table = {}
    try:
        embedder = CachedEmbedder(OnnxEmbedder(asked.model), keep)
        for name in names:
            labelled = read_set(asked.data / name)
            for way, answer in answers(labelled, embedder, config, peers, work / name):
                found = table.setdefault(way, {})[name] = judged(labelled, answer)
                print(f"{name}: {way} {found[0]:.4f} ({found[1]:.3f})", file=sys.stderr, flush=True)
    finally:
        shutil.rmtree(work)
    return told(table, names, embedder.fingerprint)


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
) -> Iterator[tuple[str, Answer]]:
    """Every way to answer a set's questions: ours, then the peers'."""
    place.mkdir(parents=True)
    engine = Engine.open(
        place / "store", kinds="kinds: {doc: {}}", embed="inline", embedder=embedder, config=config
    )
    try:
        fill(engine, labelled.documents)
        for way, how in WAYS.items():
            yield way, lambda question, how=how: by_engine(engine, question, how)
        rows = Parts(engine, labelled) if peers else None
    finally:
        engine.close()
    for name in peers if rows else ():
        (place / name).mkdir()
        peer = PEERS[name](place / name)
        yield NAMES[name], rows.answer(name, peer, embedder)
        peer.close()


def by_engine(engine: Engine, question: str, how: Mapping[str, Any]) -> list[str]:
    """The first 100 documents. Signs that are operators are blanks: none of them is meant so."""
    plain = question.replace('"', " ").replace(" -", " ")
    page = engine.search(SCOPE, plain, limit=CANDIDATES, **how)
    return [document_of(hit.entry.slug) for hit in page.hits]


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

    def answer(self, name: str, peer: Any, embedder: CachedEmbedder) -> Answer:
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


def judged(labelled: LabelledSet, answer: Answer) -> tuple[float, float]:
    """(nDCG@10, recall@100), means over the questions."""
    found = [
        (ndcg(ranked, grades), recall(ranked, grades))
        for ranked, grades in (
            (answer(text), labelled.relevant[id]) for id, text in labelled.questions.items()
        )
    ]
    return statistics.mean(one for one, _ in found), statistics.mean(two for _, two in found)


def told(table: Table, names: Sequence[str], model: str) -> bool:
    """Print the table, the promises and the JSON; True when all are kept."""
    print("\nnDCG@10 (recall@100)\n")
    print("| |", " | ".join(names), "| mean |")
    print("|---" * (len(names) + 2) + "|")
    for way, found in table.items():
        cells = " | ".join(f"{found[name][0]:.4f} ({found[name][1]:.3f})" for name in names)
        print(f"| {way} | {cells} | {mean(found):.4f} |")
    print()
    verdicts = list(promises(table, names))
    for kept, sentence in verdicts:
        print(f"{sentence}: {'kept' if kept else 'MISSED'}")
    result = {"benchmark": "quality", "model": model, "table": table}
    print("\n" + json.dumps({**result, "targets": verdicts}))
    return all(kept for kept, _ in verdicts)


def mean(found: Mapping[str, tuple[float, float]]) -> float:
    """Mean nDCG@10 over the sets."""
    return statistics.mean(ndcg for ndcg, _ in found.values())


def promises(table: Table, names: Sequence[str]) -> Iterator[tuple[bool, str]]:
    """(kept, sentence) about the sets that ran."""
    score = table["score"]
    if set(FLOORS) <= set(names):
        three = mean({name: score[name] for name in FLOORS})
        yield three >= MEAN, f"mean nDCG@10 of the three sets {three:.4f}, at least {MEAN}"
    for name, floor in FLOORS.items():
        if name in names:
            yield score[name][0] >= floor, f"{name} {score[name][0]:.4f}, at least {floor}"
    fused = mean(table["rrf"])
    yield mean(score) > fused, f"mean {mean(score):.4f}, above rrf's {fused:.4f}"
    for name in names:
        best = max(table[way][name][0] for way in SINGLE)
        yield (
            score[name][0] >= best,
            f"{name} {score[name][0]:.4f}, not below the best channel's {best:.4f}",
        )
