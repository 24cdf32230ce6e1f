"""`scripts/bench NAME [ARGUMENTS]`: run the benchmark of that name."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

NOT_BENCHMARKS = {"__init__", "__main__", "harness", "floor", "corpus"}


def main(arguments: list[str]) -> int:
    here = Path(__file__).parent
    names = sorted({path.stem for path in here.glob("*.py")} - NOT_BENCHMARKS)
    if not arguments or arguments[0] not in names:
        print(f"usage: scripts/bench {'|'.join(names)}", file=sys.stderr)
        return 2
    module = importlib.import_module(f"scripts.benchmarks.{arguments[0]}")
    return 0 if module.main(arguments[1:]) else 1


sys.exit(main(sys.argv[1:]))
