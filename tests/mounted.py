"""A real mount for tests: a server started by the command line, as a user would start it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

# What is asked by a name may wait for a model, and for the words of time expressions, for a second
# only, and a busy machine may take longer.
PATIENT = {"ENGRAMFS_RECALL_SECONDS": "120", "ENGRAMFS_FRESH_WAIT_SECONDS": "120"}

KINDS = """\
kinds:
  task:
    description: Something to do
    fields:
      status: {type: string, enum: [open, done], required: true}
      due: {type: datetime}
      owner: {type: string, link: owned_by, to: person}
      codes: {type: [string]}
  note:
    description: Anything
    fields:
      sleep: {type: string}
      ver: {type: string}
      zip: {type: string}
      date: {type: datetime}
      topic: {type: string}
      rank: {type: number}
      person: {type: string, link: knows, to: person}
      who: {type: [string], link: knows, to: person}
  person:
    description: Somebody
"""


def engramfs(*arguments: object, check: bool = True, env: dict[str, str] | None = None) -> str:
    """Run the command line; return its standard output, or fail with all it said."""
    done = run(*arguments, env=env)
    if check and done.returncode != 0:
        raise AssertionError(
            f"engramfs {' '.join(map(str, arguments))} exited {done.returncode}\n"
            f"{done.stdout}{done.stderr}"
        )
    return done.stdout


def run(*arguments: object, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command line and return whatever came of it."""
    return subprocess.run(
        [sys.executable, "-m", "engramfs", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **(env or {})},
    )


@dataclass
class Mounted:
    """One mounted store. `root` is the mountpoint."""

    root: Path
    store: Path
    kinds: Path | None
    flags: tuple[str, ...] = ()
    extra: dict[str, str] = field(default_factory=dict)

    def start(self) -> Mounted:
        with suppress(FileExistsError):  # a stale mount exists and is no directory
            self.root.mkdir()
        kinds = ["--kinds", self.kinds] if self.kinds else []
        settings = {**PATIENT, **self.extra}
        engramfs("mount", self.root, "--store", self.store, *kinds, *self.flags, env=settings)
        return self

    def stop(self) -> None:
        engramfs("umount", self.root, "--store", self.store)

    def remount(self, **environment: str) -> None:
        """Stop and start, with settings from the environment if any."""
        self.stop()
        self.extra = environment
        self.start()

    def pid(self) -> int:
        return int(json.loads(engramfs("status", "--json", "--store", self.store))["pid"])

    def pid_from_lock(self) -> int:
        """The holder as the lock file names it: no question to the server itself."""
        return int((self.store / "lock").read_text().split()[0])

    def errors(self) -> str:
        return (self.root / ".errors").read_text()

    def check(self) -> None:
        """The store's own fsck, through the server when it runs."""
        engramfs("check", "--store", self.store)

    def sh(self, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run bash in the mountpoint."""
        return subprocess.run(
            ["bash", "-c", script],
            cwd=self.root,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=300,
            env={**os.environ, **environment},
        )


@contextmanager
def mounted(
    place: Path,
    flags: Sequence[str] = ("--embed", "off"),
    kinds: str | None = KINDS,
    damaged: bool = False,
) -> Iterator[Mounted]:
    """Mount a fresh store below `place`; afterwards check it, unless `damaged`, and unmount."""
    place.mkdir(parents=True, exist_ok=True)
    kinds_file = None
    if kinds is not None:
        kinds_file = place / "kinds.yaml"
        kinds_file.write_text(kinds)
    mount = Mounted(place / "mnt", place / "store", kinds_file, tuple(flags)).start()
    try:
        yield mount
        if not damaged:
            mount.check()
    finally:
        if os.path.ismount(mount.root):
            mount.stop()


def identity(path: Path) -> str:
    """The id of an engram, as its xattr tells it."""
    return os.getxattr(path, "user.engram.id").decode()


def task(mount: Mounted, slug: str, body: str = "body\n") -> Path:
    """Write a valid task."""
    path = mount.root / "task" / f"{slug}.md"
    path.write_text(f"---\nstatus: open\n---\n{body}")
    return path
