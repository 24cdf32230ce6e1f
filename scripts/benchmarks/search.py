"""A lexical query beside the FTS extension's own `match_bm25`, results compared id by id.

100,000 parts (`--parts N`), 200 questions of 2 to 8 terms drawn by frequency and 50 natural ones
with stop words. Both rank the same terms over the same documents; the first 50 of every answer
must be the same documents with the same scores within 1e-9.
"""

from __future__ import annotations

import itertools
import shutil
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np

from engine.engine import Engine
from engine.filters import Filters
from engine.masks import masks
from engine.namespace import Scope
from engine.query import query_terms
from engine.store.extensions import load
from scripts.benchmarks.corpus import SECTIONS, Corpus
from scripts.benchmarks.harness import Target, alternate, report

TOP = 50
OURS, PAGE, STOCK = "engine", "engine, whole page", "match_bm25"
CONTESTANTS = (OURS, PAGE, STOCK)
SCOPE = Scope((), exact=True)

Answer = list[tuple[int, float]]  # (document number, score), best first


def ours(engine: Engine, question: str) -> Answer:
    """The engine's lexical channel and its best documents, ties by document number."""
    reader = engine.reading
    snapshot = reader.index.snapshot()
    mask = masks(reader.columns.now(), reader.properties, SCOPE, Filters())
    visible = snapshot.visible(mask.covered)
    scores = snapshot.lexical(query_terms(question, reader.languages()), visible)
    hits = np.flatnonzero(scores)
    if len(hits) > TOP:
        least = np.partition(scores[hits], len(hits) - TOP)[len(hits) - TOP]
        hits = hits[scores[hits] >= least]
    numbers = snapshot.doc_number[hits]
    order = np.lexsort((numbers, -scores[hits].round(9)))[:TOP]
    return [(int(numbers[at]), float(scores[hits[at]])) for at in order]


def stock(database: duckdb.DuckDBPyConnection, engine: Engine, question: str) -> Answer:
    """The extension over the same terms."""
    groups = query_terms(question, engine.reading.languages())
    terms = " ".join(group[0] for group in groups)
    rows = database.execute(
        "SELECT doc, score FROM (SELECT doc, fts_main_part_text.match_bm25(doc, ?) AS score "
        f"FROM part_text) WHERE score IS NOT NULL ORDER BY round(score, 9) DESC, doc LIMIT {TOP}",
        [terms],
    ).fetchall()
    return [(int(doc), float(score)) for doc, score in rows]


def stock_index(store: Path) -> duckdb.DuckDBPyConnection:
    """An index built by the extension over the terms that the store holds."""
    database = duckdb.connect(config={"threads": 2})
    load(database, "fts")
    database.execute("CREATE TABLE part_text (doc BIGINT, terms VARCHAR)")
    database.execute(f"ATTACH '{store / 'engramfs.duckdb'}' AS store (READ_ONLY)")
    database.execute(
        "INSERT INTO part_text SELECT first_doc + unnest(range(len(texts))), unnest(texts) FROM "
        "(SELECT first_doc, string_split(terms, chr(10)) AS texts FROM store.state "
        "JOIN store.version USING (seq) ORDER BY seq)"
    )
    database.execute("DETACH store")
    database.execute(
        "PRAGMA create_fts_index('part_text', 'doc', 'terms', stemmer='none', stopwords='none', "
        "ignore='(\\s)+', strip_accents=0, lower=0, overwrite=1)"
    )
    return database


def differences(engine: Engine, database: duckdb.DuckDBPyConnection, questions: list[str]) -> int:
    """How many questions are answered differently; each is printed."""
    different = 0
    for question in questions:
        mine, theirs = ours(engine, question), stock(database, engine, question)
        same = [doc for doc, _ in mine] == [doc for doc, _ in theirs] and np.allclose(
            [score for _, score in mine], [score for _, score in theirs], rtol=0, atol=1e-9
        )
        if not same:
            different += 1
            print(f"different: {question!r}\n  {mine[:3]}\n  {theirs[:3]}")
    return different


def main(arguments: list[str]) -> bool:
    """Run the benchmark; True when every target is kept."""
    parts = int(arguments[1]) if arguments[:1] == ["--parts"] else 100_000
    place = Path(tempfile.mkdtemp(prefix="engramfs-bench-"))
    try:
        corpus = Corpus(parts // (SECTIONS + 1))
        questions = corpus.questions()
        engine = Engine.open(place / "store", kinds="kinds: {doc: {}}", embed="off")
        begin = time.perf_counter()
        drafts = corpus.drafts("doc")
        while batch := list(itertools.islice(drafts, 2_000)):
            engine.put_many(SCOPE, batch)
        held = engine.status(SCOPE).parts
        print(f"{held:,} parts put in {time.perf_counter() - begin:.0f} s", file=sys.stderr)
        engine.close()
        begin = time.perf_counter()
        database = stock_index(place / "store")
        print(f"stock index in {time.perf_counter() - begin:.0f} s", file=sys.stderr)
        engine = Engine.open(place / "store", embed="off")
        different = differences(engine, database, questions)
        print(f"{len(questions)} questions compared, {different} answered differently")
        turn = itertools.cycle(questions)

        def query(name: str) -> float:
            """Median milliseconds of a third of the questions."""
            taken = []
            for question in itertools.islice(turn, 83):
                begin = time.perf_counter()
                if name == OURS:
                    ours(engine, question)
                elif name == PAGE:
                    engine.search(SCOPE, question)
                else:
                    stock(database, engine, question)
                taken.append(time.perf_counter() - begin)
            return float(np.median(taken)) * 1000

        figures = alternate(CONTESTANTS, {"lexical query": ("ms", query)})
        kept = report(
            "search",
            figures,
            CONTESTANTS,
            [Target("lexical query", OURS, times=1 / 6, floor=STOCK)],
            {"parts": held, "questions": len(questions), "different": different},
        )
        engine.close()
        database.close()
    finally:
        shutil.rmtree(place)
    return kept and different == 0
