"""Peers that rank by words alone: DuckDB's full-text extension, and bm25s. See `peers`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from engine.store.extensions import load
from scripts.benchmarks.rows import Rows

K1, B = 1.2, 0.75


class DuckDB:
    """The full-text extension as it comes: `match_bm25`. It has no hybrid."""

    def __init__(self, place: Path) -> None:
        import duckdb

        self._database = duckdb.connect(str(place / "fts.duckdb"), config={"threads": 2})
        load(self._database, "fts")

    def build(self, batches: Iterable[Rows], *, analysed: bool) -> None:
        self._database.execute("CREATE TABLE part_text (doc BIGINT, terms VARCHAR)")
        first = 0
        for batch in batches:
            self._database.execute(
                "INSERT INTO part_text SELECT ? + unnest(range(len($2))), unnest($2)",
                [first, list(batch.texts)],
            )
            first += len(batch.texts)
        options = (
            "stemmer='none', stopwords='none', ignore='(\\s)+', strip_accents=0, lower=0"
            if analysed
            else "stemmer='english'"
        )
        self._database.execute(f"PRAGMA create_fts_index('part_text', 'doc', 'terms', {options})")
        self._database.execute("CHECKPOINT")

    def scored(self, terms: Sequence[str], top: int) -> list[tuple[int, float]]:
        """(row, score), ties by the row."""
        return self._database.execute(
            "SELECT doc, score FROM (SELECT doc, fts_main_part_text.match_bm25(doc, ?) AS score "
            f"FROM part_text) WHERE score IS NOT NULL ORDER BY round(score, 9) DESC, doc "
            f"LIMIT {top}",
            [" ".join(terms)],
        ).fetchall()

    def lexical(self, terms: Sequence[str], top: int) -> list[int]:
        return [row for row, _ in self.scored(terms, top)]

    def close(self) -> None:
        self._database.close()


class Bm25s:
    """bm25s: scores computed ahead, in memory. It has no hybrid."""

    def __init__(self, place: Path) -> None:
        import bm25s

        self._module, self._place = bm25s, place
        self._analysed = not (place / "english").exists()
        self._stemmer = None
        if not self._analysed:
            self._load_stemmer()
        if (place / "params.index.json").exists():
            self._index = bm25s.BM25.load(str(place))

    def _load_stemmer(self) -> None:
        from Stemmer import Stemmer

        self._stemmer = Stemmer("english")

    def build(self, batches: Iterable[Rows], *, analysed: bool) -> None:
        self._analysed = analysed
        texts = [text for batch in batches for text in batch.texts]
        if analysed:
            tokens: Any = [text.split(" ") for text in texts]
        else:
            (self._place / "english").touch()
            self._load_stemmer()
            tokens = self._tokens(texts)
        self._index = self._module.BM25(k1=K1, b=B, method="lucene")
        self._index.index(tokens, show_progress=False)
        self._index.save(str(self._place))

    def _tokens(self, texts: list[str]) -> Any:
        return self._module.tokenize(
            texts, stopwords="en", stemmer=self._stemmer, return_ids=False, show_progress=False
        )

    def lexical(self, terms: Sequence[str], top: int) -> list[int]:
        tokens = [list(terms)] if self._analysed else self._tokens([" ".join(terms)])
        known = [[one for one in tokens[0] if one in self._index.vocab_dict]]
        if not known[0]:
            return []
        depth = min(top, self._index.scores["num_docs"])
        rows, scores = self._index.retrieve(known, k=depth, show_progress=False, n_threads=1)
        found: list[int] = rows[0][scores[0] > 0.0].tolist()
        return found

    def close(self) -> None:
        self._index = None
