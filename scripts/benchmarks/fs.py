"""The filesystem beside its floor (a dictionary behind the same adapter) and ext4, in one run.

Files are 4,096 bytes as shown (they carry their ids); the directory that is listed holds 10,000.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path

from scripts.benchmarks.harness import Target, alternate, report, until_idle

LISTED = 10_000
READ = 1_000
WRITTEN = 300
SIZE = 4096
ENGRAMFS, FLOOR, EXT4 = "engramfs", "floor", "ext4"
CONTESTANTS = (ENGRAMFS, FLOOR, EXT4)


def document(number: int, size: int) -> bytes:
    """A document of exactly `size` bytes that carries its id."""
    head = f"---\nid: {uuid.UUID(int=number, version=4)}\n---\n# Document {number}\n\n"
    words = " ".join(f"word{(number * 7 + n) % 5000}" for n in range(size // 5))
    return (head + words)[: size - 1].encode() + b"\n"


def timed(work: Callable[[], object]) -> float:
    """Seconds."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def read_all(paths: list[str]) -> None:
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        os.read(descriptor, 2 * SIZE)
        os.close(descriptor)


def write_all(paths: list[str], data: list[bytes]) -> None:
    for path, content in zip(paths, data, strict=True):
        descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o644)
        os.write(descriptor, content)
        os.close(descriptor)


def stat_all(paths: list[str]) -> None:
    for path in paths:
        os.stat(path)  # noqa: PTH116  (a Path would be measured too)


def list_short(directory: Path) -> None:
    os.listdir(directory)  # noqa: PTH208


def list_long(directory: Path) -> None:
    subprocess.run(["ls", "-l", directory], stdout=subprocess.DEVNULL, check=True)


def run(*arguments: object) -> str:
    """Run a command line of engramfs and return what it said; SystemExit when it fails."""
    done = subprocess.run(
        [sys.executable, "-m", "engramfs", *map(str, arguments)], capture_output=True, text=True
    )
    if done.returncode != 0:
        raise SystemExit(f"engramfs {arguments[0]} failed: {done.stdout}{done.stderr}")
    return done.stdout


def fill(directory: Path) -> None:
    """The documents, in the two directories that are read and listed."""
    for name, count, first in (("read", READ, 0), ("listed", LISTED, READ)):
        (directory / name).mkdir(parents=True)
        for number in range(count):
            path = directory / name / f"d{number:05}.md"
            path.write_bytes(document(first + number, SIZE if name == "read" else 300))
    (directory / "written").mkdir()


def main(_: list[str]) -> bool:
    """Run the benchmark; True when every target is kept."""
    place = Path(tempfile.mkdtemp(prefix="engramfs-bench-"))
    roots = {name: place / name for name in CONTESTANTS}
    store = ("--store", place / "store")
    floor: subprocess.Popen[str] | None = None
    try:
        for root in roots.values():
            root.mkdir()
        fill(roots[EXT4])
        print("importing", file=sys.stderr)
        run("import", roots[EXT4], *store)
        mounting = timed(lambda: run("mount", roots[ENGRAMFS], *store, "--embed", "off"))
        (roots[ENGRAMFS] / "written").mkdir(exist_ok=True)
        floor = subprocess.Popen(
            [sys.executable, "-m", "scripts.benchmarks.floor", roots[FLOOR]],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # as the server has: the kernel shares time out by session
        )
        assert floor.stdout is not None
        assert floor.stdout.readline() == "ready\n"
        shutil.copytree(roots[EXT4], roots[FLOOR], dirs_exist_ok=True)
        status = json.loads(run("status", "--json", *store))
        return _compare(roots, mounting, {ENGRAMFS: status["pid"], FLOOR: floor.pid})
    finally:
        if os.path.ismount(roots[ENGRAMFS]):
            run("umount", roots[ENGRAMFS], *store)
        if floor is not None:
            subprocess.run(["fusermount3", "-u", roots[FLOOR]], check=False)
            floor.wait(30)
        shutil.rmtree(place)


def _compare(roots: dict[str, Path], mounting: float, servers: dict[str, int]) -> bool:
    paths = {
        name: [str(root / "read" / f"d{number:05}.md") for number in range(READ)]
        for name, root in roots.items()
    }
    data = [document(100_000 + number, SIZE) for number in range(WRITTEN)]
    turn = iter(range(1_000_000))
    first = {name: READ / timed(partial(read_all, paths[name])) for name in CONTESTANTS}

    def create(name: str) -> float:
        number = next(turn)
        targets = [str(roots[name] / "written" / f"w{number}-{n}.md") for n in range(WRITTEN)]
        fresh = [content.replace(content[8:44], str(uuid.uuid4()).encode(), 1) for content in data]
        return WRITTEN / timed(lambda: write_all(targets, fresh))

    figures = alternate(
        CONTESTANTS,
        {
            "open+read+close of 4 KB": (
                "/s",
                lambda name: READ / timed(lambda: read_all(paths[name])),
            ),
            "stat": ("/s", lambda name: READ / timed(lambda: stat_all(paths[name]))),
            "listdir of 10,000": (
                "ms",
                lambda name: 1000 * timed(lambda: list_short(roots[name] / "listed")),
            ),
            "ls -l of 10,000": (
                "ms",
                lambda name: 1000 * timed(lambda: list_long(roots[name] / "listed")),
            ),
            "create+write+close of 4 KB": ("/s", create),
        },
        lambda name: until_idle(servers[name]) if name in servers else None,
    )
    print(
        "\nthe first pass of open+read+close (/s): "
        + ", ".join(f"{name} {rate:,.0f}" for name, rate in first.items())
    )
    print(
        f"mounting {LISTED + READ:,} engrams took {mounting:.2f} s, at most 3 s: "
        f"{'kept' if mounting <= 3 else 'MISSED'}"
    )
    kept = report(
        "fs",
        figures,
        CONTESTANTS,
        (
            Target("open+read+close of 4 KB", ENGRAMFS, times=0.5, floor=FLOOR),
            Target("ls -l of 10,000", ENGRAMFS, times=2, floor=FLOOR),
        ),
        {"first_pass": first, "mount_seconds": mounting},
    )
    return kept and mounting <= 3
