"""Peers that rank by words and vectors: FTS5 with sqlite-vec, LanceDB, and tantivy with numpy.

See `peers` for what they have in common.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scripts.benchmarks.rows import RRF_K, Rows, Vectors, reciprocal_ranks

SQLITE_CACHE_KB = 512 * 1024
TANTIVY_HEAP = 2_000_000_000  # one segment needs one thread and room for all it holds


class Sqlite:
    """FTS5 and sqlite-vec in one file, through apsw; fused by reciprocal ranks of two lists."""

    def __init__(self, place: Path) -> None:
        import apsw
        import sqlite_vec

        self._database = apsw.Connection(str(place / "part.sqlite"))
        self._database.enable_load_extension(True)
        self._database.load_extension(sqlite_vec.loadable_path())
        for setting in (
            "journal_mode=WAL", "synchronous=NORMAL", f"cache_size=-{SQLITE_CACHE_KB}",
            "mmap_size=17179869184", "temp_store=MEMORY",
        ):  # fmt: skip
            self._database.execute(f"PRAGMA {setting}")

    def build(self, batches: Iterable[Rows], *, analysed: bool) -> None:
        database, text, vector = self._database, 0, 0
        analysis = "unicode61 remove_diacritics 0" if analysed else "porter unicode61"
        database.execute(
            f"CREATE VIRTUAL TABLE part USING fts5(terms, content='', tokenize='{analysis}')"
        )
        for batch in batches:
            if not vector:
                database.execute(
                    "CREATE VIRTUAL TABLE vector USING vec0(row INTEGER PRIMARY KEY, embedding "
                    f"float[{batch.vectors.shape[1]}] distance_metric=cosine)"
                )
            with database:
                database.executemany(
                    "INSERT INTO part(rowid, terms) VALUES (?, ?)", enumerate(batch.texts, text)
                )
                database.executemany(
                    "INSERT INTO vector(row, embedding) VALUES (?, ?)",
                    enumerate((one.tobytes() for one in batch.vectors), vector),
                )
            text, vector = text + len(batch.texts), vector + len(batch.vectors)
        database.execute("INSERT INTO part(part) VALUES ('optimize')")
        database.execute("PRAGMA optimize")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def lexical(self, terms: Sequence[str], top: int) -> list[int]:
        quoted = " OR ".join('"{}"'.format(term.replace('"', '""')) for term in terms)
        found = self._database.execute(
            "SELECT rowid FROM part WHERE part MATCH ? ORDER BY rank LIMIT ?", (quoted, top)
        )
        return [row for (row,) in found]

    def nearest(self, vector: Vectors, top: int) -> list[int]:
        found = self._database.execute(
            "SELECT row FROM vector WHERE embedding MATCH ? AND k = ? ORDER BY distance",
            (vector.tobytes(), top),
        )
        return [row for (row,) in found]

    def hybrid(self, terms: Sequence[str], vector: Vectors, top: int) -> list[int]:
        return reciprocal_ranks(self.lexical(terms, top), self.nearest(vector, top), top=top)

    def close(self) -> None:
        self._database.close()


@contextmanager
def _pandas_unsaid() -> Iterator[None]:
    """The engine's None in the place of pandas, which says that there is none, confuses others."""
    said = "pandas" in sys.modules
    module = sys.modules.pop("pandas", None)
    try:
        yield
    finally:
        if said:
            sys.modules["pandas"] = module  # type: ignore[assignment]


class LanceDB:
    """Its hybrid query with its own reranker, over its full-text index and its IVF_PQ or none."""

    def __init__(self, place: Path) -> None:
        os.environ.setdefault("LANCEDB_LOG", "error")  # it warns of every query's columns otherwise
        with _pandas_unsaid():
            import lancedb
            import pyarrow as arrow
            from lancedb.rerankers import RRFReranker

            arrow.array([1.0])  # looks for pandas once

        self._database = lancedb.connect(str(place))
        self._reranker = RRFReranker(K=RRF_K)
        self._table: Any = None
        if "part" in self._database.list_tables().tables:
            self._table = self._database.open_table("part")
        self.indexed = False  # whether `hybrid` may use the index over the vectors

    def build(self, batches: Iterable[Rows], *, analysed: bool) -> None:
        import pyarrow as arrow

        batches = iter(batches)
        first = next(batches)
        dimension = first.vectors.shape[1]
        schema = arrow.schema(
            [
                ("row", arrow.int64()),
                ("terms", arrow.utf8()),
                ("vector", arrow.list_(arrow.float32(), dimension)),
            ]
        )

        def made() -> Iterator[Any]:
            row = 0
            for batch in (first, *batches):
                numbers = np.arange(row, row + len(batch.texts))
                flat = arrow.array(np.ascontiguousarray(batch.vectors).reshape(-1))
                vectors = arrow.FixedSizeListArray.from_arrays(flat, dimension)
                texts = arrow.array(list(batch.texts), arrow.utf8())
                yield arrow.RecordBatch.from_arrays(
                    [arrow.array(numbers), texts, vectors], schema=schema
                )
                row += len(batch.texts)

        self._table = self._database.create_table("part", made(), schema=schema)
        own = {"stem": False, "remove_stop_words": False, "lower_case": False}
        own |= {"ascii_folding": False, "max_token_length": None}
        plain = {"base_tokenizer": "whitespace", **own}
        self._table.create_fts_index("terms", **(plain if analysed else {}))
        if self._table.count_rows() >= 1_000:  # fewer cannot train it
            self._table.create_index(metric="cosine", index_type="IVF_PQ")
        self._table.optimize()

    def lexical(self, terms: Sequence[str], top: int) -> list[int]:
        found = self._table.search(" ".join(terms), query_type="fts")
        return self._rows(found.limit(top).select(["row"]))

    def nearest(self, vector: Vectors, top: int) -> list[int]:
        found = self._table.search(vector).distance_type("cosine")
        found = found if self.indexed else found.bypass_vector_index()
        return self._rows(found.limit(top).select(["row"]))

    def hybrid(self, terms: Sequence[str], vector: Vectors, top: int) -> list[int]:
        query = self._table.search(query_type="hybrid").vector(vector).text(" ".join(terms))
        query = query.distance_type("cosine").rerank(self._reranker)
        query = query if self.indexed else query.bypass_vector_index()
        return self._rows(query.limit(top).select(["row"]))

    def _rows(self, query: Any) -> list[int]:
        rows: list[int] = query.to_arrow()["row"].to_pylist()
        return rows

    def close(self) -> None:
        self._table = None


class Tantivy:
    """tantivy with one segment, and a bare numpy product for the vectors: the nearest floor."""

    def __init__(self, place: Path) -> None:
        import tantivy

        self._module = tantivy
        self._place = place
        self._index: Any = None
        self._analysed = not (place / "english").exists()
        if tantivy.Index.exists(str(place)):
            self._open(tantivy.Index.open(str(place)), np.load(place / "vectors.npy"))

    def build(self, batches: Iterable[Rows], *, analysed: bool) -> None:
        self._analysed = analysed
        if not analysed:
            (self._place / "english").touch()
        builder = self._module.SchemaBuilder()
        name = "whitespace" if analysed else "en_stem"
        builder.add_text_field("terms", stored=False, tokenizer_name=name, index_option="freq")
        index = self._module.Index(builder.build(), path=str(self._place))
        writer = index.writer(heap_size=TANTIVY_HEAP, num_threads=1)
        vectors = []
        for batch in batches:
            for text in batch.texts:
                writer.add_document(self._module.Document(terms=text))
            vectors.append(batch.vectors)
        writer.commit()
        writer.wait_merging_threads()
        np.save(self._place / "vectors.npy", np.concatenate(vectors))
        self._open(index, np.concatenate(vectors))

    def _open(self, index: Any, vectors: Vectors) -> None:
        index.reload()
        self._index, self._searcher = index, index.searcher()
        self.vectors = vectors
        if self._searcher.num_segments != 1:  # rows are numbered by their place in it
            raise RuntimeError(f"tantivy made {self._searcher.num_segments} segments, not one")

    def lexical(self, terms: Sequence[str], top: int) -> list[int]:
        if self._analysed:
            module, schema = self._module, self._index.schema
            should = module.Occur.Should
            query = module.Query.boolean_query(
                [(should, module.Query.term_query(schema, "terms", term)) for term in terms]
            )
        else:
            words = re.sub(r"\W+", " ", " ".join(terms))
            query, _ = self._index.parse_query_lenient(words, ["terms"])
        found = self._searcher.search(query, top, count=False)
        return [address.doc for _, address in found.hits]

    def nearest(self, vector: Vectors, top: int) -> list[int]:
        return best_rows(self.vectors @ vector, top)

    def hybrid(self, terms: Sequence[str], vector: Vectors, top: int) -> list[int]:
        return reciprocal_ranks(self.lexical(terms, top), self.nearest(vector, top), top=top)

    def close(self) -> None:
        self._index = self._searcher = None


def best_rows(scores: NDArray[np.float32], top: int) -> list[int]:
    """The rows of the `top` highest scores, best first."""
    if len(scores) > top:
        rows = np.argpartition(scores, len(scores) - top)[len(scores) - top :]
    else:
        rows = np.arange(len(scores))
    best: list[int] = rows[np.argsort(-scores[rows], kind="stable")].tolist()
    return best
