"""`scripts/bench NAME [ARGUMENTS]`: run the benchmark of that name."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

SHARED = {  # what benchmarks stand on
    "__init__", "__main__", "alone", "bounded_rank", "cached", "conversations", "corpora", "corpus",
    "floor", "graph_peers", "harness", "hybrid_peers", "judged", "knowledge_base", "labelled",
    "lexical_peers", "measures", "ours", "peers", "puts", "recall_store", "rows", "talk", "wording",
}  # fmt: skip


def main(arguments: list[str]) -> int:
    here = Path(__file__).parent
    names = sorted({path.stem for path in here.glob("*.py")} - SHARED)
    if not arguments or arguments[0] not in names:
        print(f"usage: scripts/bench {'|'.join(names)}", file=sys.stderr)
        return 2
    module = importlib.import_module(f"scripts.benchmarks.{arguments[0]}")
    return 0 if module.main(arguments[1:]) else 1


sys.exit(main(sys.argv[1:]))
