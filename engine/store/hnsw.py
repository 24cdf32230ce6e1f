"""An approximate index of vectors: HNSW, as DuckDB's VSS extension builds it.

It lies in a database of its own in memory, never in the store's: in a file it answers nothing for
ever after a kill and one open without the extension, its memory counts towards no limit of DuckDB,
and where it fails it may end the database it is in, which here is only itself. Rows are only ever
added. What it holds is a copy, so that it can be thrown away at any moment.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
import numpy as np

from engine.errors import EngineError
from engine.matrix import Numbers, Vectors
from engine.store import extensions
from engine.store.extensions import Cursor

NEIGHBOURS = 16  # edges a vector (twice as many on the lowest level): the extension's default
EFFORT = 128  # candidates looked at for a vector that is added: the extension's default
OWN_MEMORY = 32 << 20  # what DuckDB needs for itself


def bytes_a_vector(dimension: int) -> int:
    """What one vector takes: in the table, in the index, and its edges (5.2 KB at 384)."""
    return 2 * 4 * dimension + 2_100


class Hnsw:
    """Vectors by number, from 0. One thread adds, any asks, in turn. Failures are EngineError."""

    def __init__(self, dimension: int, memory: int, effort: int) -> None:
        """`memory` in bytes is the most that the table may take; `effort` is ef_search."""
        self._dimension = dimension
        self._one = threading.Lock()
        self.rows = 0
        with self._told():
            self._database = duckdb.connect(
                ":memory:",
                config={
                    "threads": 1,  # the caller's own thread, at the priority that it has
                    "memory_limit": f"{memory + OWN_MEMORY}B",
                    "temp_directory": "",
                    "autoinstall_known_extensions": "false",
                    "autoload_known_extensions": "false",
                },
            )
            extensions.load(self._database, "vss")
            self._database.execute(f"SET hnsw_ef_search = {effort}")
            self._database.execute(
                f"CREATE TABLE near (row BIGINT NOT NULL, vector FLOAT[{dimension}])"
            )
            self._database.execute(
                "CREATE INDEX near_vector ON near USING HNSW (vector) WITH (metric = 'ip', "
                f"M = {NEIGHBOURS}, M0 = {2 * NEIGHBOURS}, ef_construction = {EFFORT})"
            )

    def add(self, vectors: Vectors, step: int) -> Iterator[int]:
        """Add float32[n, dimension], `step` at a time; the number of rows after each step.

        They are bound all at once, a column a dimension: of all ways that DuckDB takes vectors from
        numpy this is the quickest (0.1 ms each).
        """
        first, end = self.rows, self.rows + len(vectors)
        names = [f"c{at}" for at in range(self._dimension)]
        with self._cursor() as cursor:
            columns = {name: np.ascontiguousarray(vectors[:, at]) for at, name in enumerate(names)}
            cursor.register("given", {"row": np.arange(first, end), **columns})
            cursor.execute(
                "CREATE OR REPLACE TABLE fresh AS SELECT row, "
                f"[{', '.join(names)}]::FLOAT[{self._dimension}] AS vector FROM given"
            )
            cursor.unregister("given")
        for start in range(first, end, step):
            stop = min(start + step, end)
            with self._cursor() as cursor:
                cursor.execute(
                    f"INSERT INTO near SELECT * FROM fresh WHERE row >= {start} AND row < {stop}"
                )
            self.rows = stop
            yield stop

    def nearest(self, query: Vectors, most: int) -> Numbers:
        """int64[up to most]: the rows whose inner product with float32[dimension] is greatest."""
        with self._cursor() as cursor:
            rows: Numbers = cursor.execute(self._question(query, most)).fetchnumpy()["row"]
        return rows

    def plan(self, query: Vectors, most: int) -> str:
        """How DuckDB answers `nearest`."""
        with self._cursor() as cursor:
            rows = cursor.execute(f"EXPLAIN {self._question(query, most)}").fetchall()
        return "\n".join(str(row[1]) for row in rows)

    def close(self) -> None:
        """Let go of the memory."""
        self._database.close()

    def _question(self, query: Vectors, most: int) -> str:
        """The index is used only where the vector is a constant in the text of the statement.

        Written as one string it is parsed in a tenth of the time of a list of numbers.
        """
        constant = ",".join(f"{number:.9g}" for number in query.tolist())  # all of a float32
        return (
            "SELECT row FROM near ORDER BY array_negative_inner_product"
            f"(vector, '[{constant}]'::FLOAT[{self._dimension}]) LIMIT {most}"
        )

    @contextmanager
    def _cursor(self) -> Iterator[Cursor]:
        """For one statement at a time: two at once, be they questions, end the process (VSS of
        DuckDB 1.5.5 writes beyond its memory)."""
        with self._one, self._told():
            cursor = self._database.cursor()
            try:
                yield cursor
            finally:
                cursor.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except duckdb.Error as error:
            reason = str(error).split("\n", 1)[0]
            raise EngineError(
                f"the approximate vector index failed: {reason}",
                "vectors are compared exactly instead, which is right and slower",
            ) from error
