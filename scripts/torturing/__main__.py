"""Start a mount, let the workers at it, compare, check; `--kill` kills the server in the middle."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from multiprocessing.queues import Queue
from pathlib import Path

from engramfs.alive import alive
from scripts.torturing.model import Content, Model
from scripts.torturing.shared import check_log
from scripts.torturing.worker import Turn, Worker

KINDS = """\
kinds:
  task:
    fields:
      status: {type: string, enum: [open, done], required: true}
  note:
    fields:
      status: {type: string}
"""


@dataclass(frozen=True)
class Report:
    """What a worker sends home."""

    slot: int
    done: int
    failure: str
    files: dict[str, bytes]
    maybe: dict[str, set[Content]]
    logged: list[str]
    uncertain: set[str]


class Mount:
    """The server, started as a user starts it."""

    def __init__(self, place: Path) -> None:
        self.root = place / "mnt"
        self.store = place / "store"
        self.kinds = place / "kinds.yaml"
        self.kinds.write_text(KINDS)
        self.root.mkdir()

    def command(self, *arguments: object) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "engramfs", *map(str, arguments), "--store", str(self.store)],
            capture_output=True,
            text=True,
            timeout=120,
        )
        if done.returncode:
            raise SystemExit(f"engramfs {arguments[0]} exited {done.returncode}: {done.stderr}")
        return done.stdout

    def start(self) -> None:
        flags = ("--kinds", self.kinds, "--embed", "off", "--id-in-file", "never")
        self.command("mount", self.root, *flags)

    def stop(self) -> None:
        self.command("umount", self.root)

    def kill(self) -> None:
        """kill -9, by the number in the store's lock; ends when the process has."""
        pid = int((self.store / "lock").read_text().split()[0])
        os.kill(pid, signal.SIGKILL)
        while alive(pid):
            time.sleep(0.01)


def work(
    root: Path, slot: int, seed: int, until: float, reports: Queue[Report], turn: Turn
) -> None:
    """A worker's process."""
    worker = Worker(root, slot, seed, turn)
    failure = ""
    try:
        worker.run(until)
        worker.verify()
    except Exception:  # noqa: BLE001  (told by the parent)
        failure = "\n".join((traceback.format_exc(), "the last steps:", *worker.lately))
    shared, model = worker.shared, worker.model
    reports.put(
        Report(
            slot, worker.done, failure, model.files, model.maybe, shared.logged, shared.uncertain
        )
    )


def run(place: Path, seconds: float, processes: int, kills: int, seed: int) -> int:
    """The number of operations done. Raises SystemExit or a Difference."""
    mount = Mount(place)
    mount.start()
    try:
        reports: Queue[Report] = multiprocessing.Queue()
        turn = multiprocessing.Value("i", 0)
        until = time.monotonic() + seconds
        workers = [
            multiprocessing.Process(
                target=work, args=(mount.root, slot, seed, until, reports, turn)
            )
            for slot in range(processes)
        ]
        for each in workers:
            each.start()
        rng = random.Random(seed)
        for _ in range(kills):
            time.sleep(max(0.5, rng.uniform(0.5, 1.5) * seconds / (kills + 1)))
            if time.monotonic() > until - 1:
                break
            turn.value += 1
            mount.kill()
            mount.start()
            turn.value += 1
        homes = [reports.get(timeout=seconds + 120) for _ in workers]
        for each in workers:
            each.join()
        failures = [f"worker {one.slot}: {one.failure}" for one in homes if one.failure]
        if failures:
            raise SystemExit("\n".join(failures))
        compare(mount.root, homes)
        mount.command("check")
        mount.stop()
        mount.command("check")
        mount.start()
        compare(mount.root, homes)
        return sum(one.done for one in homes)
    finally:
        if os.path.ismount(mount.root):
            mount.stop()


def compare(root: Path, homes: list[Report]) -> None:
    """Every file of every worker, and the log."""
    for one in homes:
        model = Model(dict(one.files), dict(one.maybe))
        for path in {*one.files, *one.maybe}:
            full = root / path
            model.found(path, full.read_bytes() if full.exists() else None)
    logged = [line for one in homes for line in one.logged]
    check_log(root, logged, {line for one in homes for line in one.uncertain})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--kill", type=int, default=0, metavar="TIMES", help="kill -9 and remount")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="engramfs-torture-") as place:
        done = run(Path(place), given.seconds, given.processes, given.kill, given.seed)
    print(f"{done} operations, no difference")


if __name__ == "__main__":
    main()
