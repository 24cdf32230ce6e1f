"""What people would pick instead, each used as its own documentation says, behind one surface.

    peer = PEERS[name](directory)              opens what is there
    peer.build(batches, analysed=True)         once
    peer.lexical(terms, top) -> rows           best first; rows are numbered from 0 as they came
    peer.nearest(vector, top), peer.hybrid(terms, vector, top)      those that have vectors
    peer.close()

`analysed` texts are terms with blanks between them, to be taken as they are, so that all rank the
same terms; otherwise the peer's own analysis of English is used.
"""

from __future__ import annotations

import importlib.util
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from scripts.benchmarks.hybrid_peers import LanceDB, Sqlite, Tantivy
from scripts.benchmarks.lexical_peers import Bm25s, DuckDB

PEERS: dict[str, Any] = {
    "duckdb": DuckDB,
    "sqlite": Sqlite,
    "lancedb": LanceDB,
    "tantivy": Tantivy,
    "bm25s": Bm25s,
}
NEEDS = {  # the packages of the extra `bench` that they take
    "duckdb": (),
    "sqlite": ("apsw", "sqlite_vec"),
    "lancedb": ("lancedb",),
    "tantivy": ("tantivy",),
    "bm25s": ("bm25s",),
}


def chosen(parser: ArgumentParser, peers: str) -> list[str]:
    """The peers of `--peers`: all, none, or names with commas; ends with a sentence otherwise."""
    names = list(PEERS) if peers == "all" else [one for one in peers.split(",") if one != "none"]
    if unknown := [name for name in names if name not in PEERS]:
        parser.error(f"no peer is called {', '.join(unknown)}; there are {', '.join(PEERS)}")
    needed = sorted({package for name in names for package in NEEDS[name]})
    lacking = [package for package in needed if importlib.util.find_spec(package) is None]
    if lacking:
        parser.error(
            f"{', '.join(lacking)} is not installed: run scripts/setup bench (pip install -e "
            "'.[bench]'), or leave out who needs it with --peers none or --peers NAME,…"
        )
    return names


def size_of(directory: Path) -> int:
    """Bytes of all files below a directory."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
