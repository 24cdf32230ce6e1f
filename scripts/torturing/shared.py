"""Files that all workers write at once: a reader gets one whole document, never a mix of two."""

from __future__ import annotations

import errno
import hashlib
import os
import random
from contextlib import suppress
from pathlib import Path

from scripts.torturing.model import Difference

_FILES = 3
LOG = "note/log.md"


class Shared:
    """One worker's part in them."""

    def __init__(self, root: Path, slot: int, rng: random.Random) -> None:
        self.root = root
        self.slot = slot
        self.rng = rng
        self.logged: list[str] = []  # lines that the mount took
        self.uncertain: set[str] = set()
        self._asked = ""

    def _path(self) -> Path:
        return self.root / "note" / f"shared-{self.rng.randrange(_FILES)}.md"

    def write(self) -> None:
        """By truncation, by a temporary, or in place with the size that it had before."""
        path = self._path()
        data = sealed(self.rng)
        way = self.rng.randrange(5)
        if way == 0:
            path.write_bytes(data)
        elif way == 1:
            temporary = path.with_name(f".shared{self.slot}.tmp")
            temporary.write_bytes(data)
            os.rename(temporary, path)
        elif way == 2:
            file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
            os.ftruncate(file, 0)
            for at in range(0, len(data), 1000):
                os.write(file, data[at : at + 1000])
            os.close(file)
        else:
            with suppress(FileNotFoundError):
                os.unlink(path) if way == 3 else os.rename(path, self._path())

    def read(self) -> None:
        path = self._path()
        try:
            with path.open("rb") as file:
                data = file.read()
                size = os.fstat(file.fileno()).st_size
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno == errno.ESTALE:  # replaced twice between lookup and open
                return
            raise
        if not is_sealed(data):
            raise Difference(f"{path.name} is torn: {data[:80]!r}…{data[-80:]!r}")
        if size != len(data):
            raise Difference(f"{path.name} has {len(data)} bytes, and fstat says {size}")

    def append(self) -> None:
        line = f"line {self.slot} {len(self.logged)} {self.rng.random()}"
        self._asked = line
        with (self.root / LOG).open("ab") as file:
            file.write(f"{line}\n".encode())
        self.logged.append(line)
        self._asked = ""

    def lost(self) -> None:
        """The server went; the line that was on its way may be there or not."""
        if self._asked:
            self.uncertain.add(self._asked)
            self._asked = ""


def sealed(rng: random.Random) -> bytes:
    """A document whose first line is the digest of the rest."""
    rest = "".join(f"{rng.random()}\n" for _ in range(rng.choice((1, 50, 2000)))).encode()
    return b"sealed " + hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest


def is_sealed(data: bytes) -> bool:
    first, _, rest = data.partition(b"\n")
    return first == b"sealed " + hashlib.sha256(rest).hexdigest().encode()


def check_log(root: Path, logged: list[str], uncertain: set[str]) -> None:
    """Every line once, and none that nobody wrote."""
    path = root / LOG
    lines = path.read_text().splitlines() if path.exists() else []
    if len(set(lines)) != len(lines):
        raise Difference("the log has a line twice")
    missing = set(logged) - set(lines)
    strange = set(lines) - set(logged) - uncertain
    if missing or strange:
        raise Difference(f"the log misses {sorted(missing)[:3]}, and has {sorted(strange)[:3]}")
