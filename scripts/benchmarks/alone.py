"""One contestant in a process of its own: how long it takes to open, and the memory it holds.

`python -m scripts.benchmarks.alone NAME PLACE PARTS` prints one JSON object.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from engine.engine import Engine
from scripts.benchmarks import ours
from scripts.benchmarks.corpus import PARTS, ClusteredVectors, Corpus
from scripts.benchmarks.peers import PEERS

QUESTIONS = 20  # asked before memory is read, so that what is mapped is in use
TOP = 50


def memory() -> dict[str, int]:
    """RSS and PSS of this process, in bytes."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    held = {line.split(":")[0]: line for line in lines[1:]}
    return {name.lower(): int(held[name].split()[1]) * 1024 for name in ("Rss", "Pss")}


def measured(name: str, place: Path, parts: int) -> dict[str, float]:
    """Open, ask, and tell."""
    questions = Corpus(parts // PARTS).questions(QUESTIONS, 0)
    embedder = ClusteredVectors()
    before = memory()
    begin = time.perf_counter()
    if name == "engine":
        engine = Engine.open(place / "store", embedder=embedder)
        opened = time.perf_counter() - begin
        for question in questions:
            engine.search(ours.SCOPE, question)
        told = {"seconds": opened, **memory()}
        engine.close()
    else:
        peer = PEERS[name](place / name)
        opened = time.perf_counter() - begin
        for question in questions:
            terms = question.split()
            peer.lexical(terms, TOP)
            if hasattr(peer, "hybrid"):
                peer.hybrid(terms, embedder.embed_query(question), TOP)
        told = {"seconds": opened, **memory()}
    return {**told, "before": before["pss"]}


def ask(name: str, place: Path, parts: int) -> dict[str, float]:
    """`measured` in a fresh process."""
    command = [sys.executable, "-m", "scripts.benchmarks.alone", name, str(place), str(parts)]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    figures: dict[str, float] = json.loads(told.stdout.splitlines()[-1])
    return figures


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))))
