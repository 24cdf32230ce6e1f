"""Recall through a real mount, cold and warm, by one client and by eight, and where the time goes.

    scripts/bench recall [SIZE …] [--keep DIR] [--rounds N]

SIZE is a number of engrams (1,000, 10,000 and 100,000; see `recall_store`). Settings are the
defaults and every channel that is on runs; questions are embedded by the bundled model. No question
is asked twice, so no answer comes from a cache. Beside the mount stand the engine in this process,
on a copy of the store, and the floor: reading an answer of the same bytes again by its token, which
is a control file without a search.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import numpy as np

from engine.config import Config
from engine.engine import Engine
from engine.recall.pack import Pack
from engine.recall.request import parse_request
from scripts.benchmarks.fs import run
from scripts.benchmarks.harness import (
    ROUNDS,
    Figure,
    Target,
    percentile,
    report,
    until_idle,
)
from scripts.benchmarks.ours import SCOPE
from scripts.benchmarks.recall_store import build, questions

EACH = 40  # questions a round and contestant
CLIENTS = 8
BY_EACH_CLIENT = 10  # questions a round
TRACED = 40
INDEX_SECONDS = 3_600.0  # that the approximate index may take to be built
NAME, TIMED, WRITTEN = "by name", "by name, with a time", "written, then read"
ENGINE, FLOOR = "engine in process", "floor: the same bytes"
ONE = (NAME, TIMED, WRITTEN, ENGINE, FLOOR)
EIGHT = (f"{CLIENTS} × by name", f"{CLIENTS} × written, then read")
TIMES = ("last week", "in the last month", "since January 2026", "on Monday")
PROMISED = {10_000: 40.0, 100_000: 80.0}  # ms at the median, one warm client
PIECE = 1 << 20


def main(arguments: list[str]) -> bool:
    """Run the benchmark; True when every promise is kept."""
    parser = argparse.ArgumentParser(prog="scripts/bench recall", description=__doc__)
    parser.add_argument(
        "sizes", nargs="*", type=int, default=[1_000, 10_000, 100_000], metavar="SIZE"
    )
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    asked = parser.parse_args(arguments)
    keep = asked.keep or Path(tempfile.mkdtemp(prefix="engramfs-bench-"))
    try:
        kept = [at_size(keep / f"recall-{size}", size, asked.rounds) for size in asked.sizes]
        return all(kept)
    finally:
        if asked.keep is None:
            shutil.rmtree(keep)


def at_size(place: Path, engrams: int, rounds: int) -> bool:
    """Everything at one size."""
    said(f"a store of {engrams:,} engrams in {place}")
    made = build(place, engrams)
    load = os.getloadavg()[0]
    work = Path(tempfile.mkdtemp(prefix="engramfs-bench-"))
    mountpoint, store = work / "mnt", work / "mounted"
    mountpoint.mkdir()
    shutil.copytree(place / "store", store)
    shutil.copytree(place / "store", work / "ours")
    figures: dict[str, Figure] = {}
    needed = 2 * rounds * (len(ONE) * EACH + len(EIGHT) * CLIENTS * BY_EACH_CLIENT) + TRACED + 10
    asked = questions(engrams, needed)
    try:
        for number in range(rounds):
            said(f"mounting, {number + 1} of {rounds}")
            if number:
                run("umount", mountpoint, "--store", store)
            begin = time.perf_counter()
            run("mount", mountpoint, "--store", store)
            percentile(figures, "mounting", "mount", [time.perf_counter() - begin], 50, "s")
            for which in ("first", "second"):
                taken = [seconds(read, mountpoint / by_name(next(asked)))]
                percentile(figures, f"{which} question", NAME, taken, 50)
        server = Server(mountpoint, store)
        engine = Engine.open(work / "ours")
        try:
            until_idle(server.pid)
            index = indexed(server, engine, figures, asked)
            for number in range(rounds):
                said(f"round {number + 1} of {rounds}")
                until_idle(server.pid)
                one_client(figures, server, engine, asked)
                eight_clients(figures, server, asked)
            stages = by_stage(engine, asked)
        finally:
            engine.close()
    finally:
        if os.path.ismount(mountpoint):
            run("umount", mountpoint, "--store", store)
        shutil.rmtree(work)
    return told(engrams, made, figures, stages, {"load before": load, "vectors": index})


class Server:
    """The mount, and the process that serves it."""

    def __init__(self, mountpoint: Path, store: Path) -> None:
        self.mountpoint = mountpoint
        self._store = store
        self.pid = int(self.status()["pid"])

    def status(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(run("status", "--json", "--store", self._store))
        return told


def indexed(
    server: Server, engine: Engine, figures: dict[str, Figure], asked: Iterator[str]
) -> dict[str, float]:
    """Wait until vectors are searched as they will be; some questions are asked before that."""
    vectors = server.status()["vectors"]
    if vectors <= Config().hnsw_vectors:
        return {"vectors": vectors, "indexed": 0}
    said(f"{vectors:,} vectors get their index, in the mount and here")
    begin = time.monotonic()
    taken = [seconds(read, server.mountpoint / by_name(next(asked))) for _ in range(EACH)]
    percentile(figures, "one client p50, while the index is built", NAME, taken, 50)
    while True:
        held = server.status()["vectors_in_index"], engine.status(SCOPE).vector_index
        waited = time.monotonic() - begin
        if held[0] == vectors and held[1].search == "hnsw":
            return {"vectors": vectors, "indexed": held[0], "seconds": waited}
        if waited > INDEX_SECONDS:
            raise TimeoutError(f"{held[0]:,} of {vectors:,} vectors are indexed after an hour")
        time.sleep(5)


def one_client(
    figures: dict[str, Figure], server: Server, engine: Engine, asked: Iterator[str]
) -> None:
    """One after the other, the contestants in turn."""
    times = itertools.cycle(TIMES)
    answers = []
    ways: dict[str, Callable[[str], object]] = {
        NAME: lambda one: answers.append(read(server.mountpoint / by_name(one))),
        TIMED: lambda one: read(server.mountpoint / by_name(f"{one} {next(times)}")),
        WRITTEN: lambda one: written(server.mountpoint, one),
        ENGINE: lambda one: recalled(engine, one),
    }
    for name, ask in ways.items():
        spread(figures, "one client", name, [seconds(ask, next(asked)) for _ in range(EACH)])
    again = [server.mountpoint / f".recall?set={token_of(answer)}" for answer in answers]
    spread(figures, "one client", FLOOR, [seconds(read, path) for path in again])


def eight_clients(figures: dict[str, Figure], server: Server, asked: Iterator[str]) -> None:
    """All at once, each with questions of its own."""
    ways: dict[str, Callable[[str], object]] = {
        EIGHT[0]: lambda one: read(server.mountpoint / by_name(one)),
        EIGHT[1]: lambda one: written(server.mountpoint, one),
    }
    for name, ask in ways.items():
        theirs = [list(itertools.islice(asked, BY_EACH_CLIENT)) for _ in range(CLIENTS)]

        def client(mine: list[str], ask: Callable[[str], object] = ask) -> list[float]:
            return [seconds(ask, question) for question in mine]

        begin = time.perf_counter()
        with ThreadPoolExecutor(CLIENTS) as clients:
            taken = [each for found in clients.map(client, theirs) for each in found]
        spread(figures, "eight clients", name, taken)
        rate = len(taken) / (time.perf_counter() - begin)
        percentile(figures, "eight clients, answers", name, [rate], 50, "/s")


def by_stage(engine: Engine, asked: Iterator[str]) -> dict[str, float]:
    """Median milliseconds of each stage, as the traces of answers tell them."""
    found: dict[str, list[float]] = {}
    for question in itertools.islice(asked, TRACED):
        trace = recalled(engine, question, ("trace", "on")).trace or {}
        times: Any = trace["times_ms"]
        for stage, taken in times.items():
            found.setdefault(stage, []).append(taken)
    return {stage: float(np.median(taken)) for stage, taken in found.items()}


def recalled(engine: Engine, question: str, *more: tuple[str, str]) -> Pack:
    """The engine's answer to what a name in the mount asks, with the same limit of time."""
    request = parse_request(
        (("q", question), *more), engine.catalogue, engine.config, form="name", ceiling=SCOPE
    )
    return engine.recall(
        SCOPE, request, path_of=lambda entry: f"{entry.kind}/{entry.slug}.md",
        seconds=engine.config.recall_seconds,
    )  # fmt: skip


def by_name(question: str) -> str:
    return f".recall?q={quote_plus(question)}"


def read(path: Path) -> bytes:
    """A whole control file, as `cat` reads it."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return b"".join(iter(lambda: os.read(descriptor, PIECE), b""))
    finally:
        os.close(descriptor)


def written(mountpoint: Path, question: str) -> bytes:
    """The write-then-read form: the request in, the answer from the same handle."""
    descriptor = os.open(mountpoint / ".recall", os.O_RDWR)
    try:
        os.write(descriptor, question.encode())
        return b"".join(iter(lambda: os.read(descriptor, PIECE), b""))
    finally:
        os.close(descriptor)


def token_of(answer: bytes) -> str:
    """The token that an answer names in its front matter."""
    for line in answer.split(b"\n", 20):
        if line.startswith(b"token:"):
            return line.partition(b":")[2].strip().strip(b"\"'").decode()
    raise ValueError(f"an answer names no token: {answer[:200]!r}")


def seconds(ask: Callable[[Any], object], of: Any) -> float:
    begin = time.perf_counter()
    answer = ask(of)
    taken = time.perf_counter() - begin
    if answer == b"":
        raise ValueError(f"{of}: an empty answer")
    return taken


def spread(figures: dict[str, Figure], what: str, name: str, taken: Sequence[float]) -> None:
    """The three shares of one round."""
    for share in (50, 95, 99):
        percentile(figures, f"{what} p{share}", name, taken, share)


def told(
    engrams: int,
    made: dict[str, float],
    figures: dict[str, Figure],
    stages: dict[str, float],
    more: dict[str, Any],
) -> bool:
    """Print everything; True when the promise of this size is kept."""
    ms = {name: figures["one client p50"].median(name) for name in ONE}
    print(
        f"\n{engrams:,} engrams, {made['parts']:,.0f} parts, built in {made['seconds']:.0f} s; "
        f"load before {more['load before']:.1f}, vectors: {more['vectors']}"
    )
    print(
        f"mount : engine : floor = {ms[NAME] / ms[FLOOR]:.1f} : {ms[ENGINE] / ms[FLOOR]:.1f} : 1; "
        f"a mount takes {ms[NAME] / ms[ENGINE]:.2f} times what the engine does"
    )
    print("by stage (ms): " + ", ".join(f"{stage} {taken:.2f}" for stage, taken in stages.items()))
    targets = (
        [Target("one client p50", NAME, number=PROMISED[engrams])] if engrams in PROMISED else []
    )
    contestants = list(dict.fromkeys(name for one in figures.values() for name in one.raw))
    return report(
        f"recall, {engrams:,} engrams", figures, contestants, targets,
        {"engrams": engrams, "parts": made["parts"], "stages": stages, **more},
    )  # fmt: skip


def said(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
