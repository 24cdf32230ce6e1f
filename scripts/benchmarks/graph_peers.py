"""What people would walk a graph with instead: networkx, and SQL with recursion in DuckDB."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from scripts.benchmarks.bounded_rank import DAMPING, HOPS, MOST, WIDE

Numbers = NDArray[np.int32]

LONGEST = 8  # edges of a way that SQL looks for


class Networkx:
    """A MultiDiGraph would take twice the memory; edges are drawn without repeats."""

    def __init__(self, source: Numbers, target: Numbers, engrams: int) -> None:
        import networkx

        self._nx: Any = networkx
        self.graph = networkx.DiGraph()
        self.graph.add_nodes_from(range(engrams))
        self.graph.add_edges_from(zip(source.tolist(), target.tolist(), strict=True))
        self.plain = self.graph.to_undirected(as_view=True)

    def neighbours(self, no: int) -> list[int]:
        return [*self.graph.successors(no), *self.graph.predecessors(no)]

    def numbers(self, no: int) -> list[int]:
        return sorted(self.neighbours(no))

    def length(self, a: int, b: int) -> int:
        return max(len(self.path(a, b)) - 1, 0)

    def two_hops(self, no: int) -> list[int]:
        """As `expand` does: at most 64 neighbours of each, a thousand in all."""
        met, frontier = {no: None}, [no]
        for _ in range(HOPS):
            following = []
            for at in frontier:
                for other in self.neighbours(at)[:WIDE]:
                    if other not in met and len(met) <= MOST:
                        met[other] = None
                        following.append(other)
            frontier = following
        return list(met)

    def path(self, a: int, b: int) -> list[int]:
        try:
            found: list[int] = self._nx.bidirectional_shortest_path(self.plain, a, b)
        except self._nx.NetworkXNoPath:
            return []
        return found

    def pagerank(self) -> object:
        return self._nx.pagerank(self.plain, alpha=DAMPING)

    def bounded(self, no: int) -> object:
        near = self.graph.subgraph(self.two_hops(no)).to_undirected()
        return self._nx.pagerank(near, alpha=DAMPING, personalization={no: 1.0})

    def close(self) -> None:
        self.graph.clear()


class RecursiveSql:
    """The table of edges in memory, and one statement for each question."""

    def __init__(self, source: Numbers, target: Numbers) -> None:
        self._database = duckdb.connect(":memory:", config={"threads": 2})
        self._database.execute("CREATE TABLE edge (source INTEGER, target INTEGER)")
        self._database.execute(
            "INSERT INTO edge SELECT unnest(?::INTEGER[]), unnest(?::INTEGER[])",
            [source.tolist(), target.tolist()],
        )
        self._database.execute(
            "CREATE TABLE step AS SELECT source AS a, target AS b FROM edge "
            "UNION ALL SELECT target, source FROM edge ORDER BY 1"
        )
        self._database.execute("CREATE INDEX step_a ON step (a)")

    def _all(self, statement: str, values: list[int]) -> list[tuple[int, ...]]:
        return self._database.execute(statement, values).fetchall()

    def neighbours(self, no: int) -> list[tuple[int, ...]]:
        return self._all("SELECT b FROM step WHERE a = ?", [no])

    def numbers(self, no: int) -> list[int]:
        return sorted(found for (found,) in self.neighbours(no))

    def length(self, a: int, b: int) -> int:
        return max((hop for (hop,) in self.path(a, b)), default=0)

    def two_hops(self, no: int) -> object:
        return self._all(
            "WITH RECURSIVE near(no, hop) AS (SELECT ?::INTEGER, 0 UNION "
            f"SELECT b, hop + 1 FROM near JOIN step ON a = no WHERE hop < {HOPS}) "
            f"SELECT no, min(hop) FROM near GROUP BY no ORDER BY 2 LIMIT {MOST}",
            [no],
        )

    def path(self, a: int, b: int) -> list[tuple[int, ...]]:
        """How many edges a shortest way has, up to LONGEST."""
        return self._all(
            "WITH RECURSIVE near(no, hop) USING KEY (no) AS (SELECT ?::INTEGER, 0 UNION "
            "SELECT step.b, near.hop + 1 FROM near JOIN step ON step.a = near.no "
            "LEFT JOIN recurring.near AS met ON met.no = step.b "
            f"WHERE met.no IS NULL AND near.hop < {LONGEST} "
            "AND NOT EXISTS (FROM recurring.near WHERE no = ?)) "
            "SELECT hop FROM near WHERE no = ?",
            [a, b, b],
        )

    def close(self) -> None:
        self._database.close()
