"""One process: random operations on files of its own, each checked against the model."""

from __future__ import annotations

import errno
import os
import random
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from scripts.torturing.model import Content, Difference, Model, describe, document, valid
from scripts.torturing.shared import Shared

_FILES = 12
_TOLD = 60  # steps and paths that the report of a failure tells


class Turn(Protocol):
    """A number that the parent counts up."""

    value: int


class Worker:
    """`slot` keeps the paths of workers apart.

    `turn` counts the starts and ends of the server: it is odd from before a kill until the next one
    serves.
    """

    def __init__(self, root: Path, slot: int, seed: int, turn: Turn) -> None:
        self.root = root
        self.slot = slot
        self.rng = random.Random(f"{seed}/{slot}")
        self.model = Model()
        self.shared = Shared(root, slot, self.rng)
        self.lately: deque[str] = deque(maxlen=_TOLD)  # steps and the paths they chose
        self.pins: list[tuple[int, str, bytes]] = []
        self.done = 0
        self._turn = turn
        self._seen = turn.value
        self._asked: dict[str, Content] = {}
        self._steps: list[Callable[[], None]] = [
            *(self.replace,) * 4, *(self.read,) * 4, *(self.in_place,) * 3, *(self.append,) * 2,
            *(self.by_temporary,) * 3, *(self.rename,) * 3, *(self.unlink,) * 2,
            self.leave_and_return, self.cut, self.attributes, self.invalid, self.listing,
            self.pin, self.check_pins, self.save_dance, self.unlink_and_write, self.empty,
            *(self.shared.write,) * 2, *(self.shared.read,) * 3, self.shared.append,
        ]  # fmt: skip

    def run(self, until: float) -> None:
        """Steps until the moment comes; waits for a server that was killed to come back."""
        while time.monotonic() < until:
            step = self.rng.choice(self._steps)
            self.lately.append(step.__name__)
            try:
                step()
            except (OSError, Difference):  # the mount may be gone, and the bare directory be seen
                if self._turn.value == self._seen:
                    raise
                self._lost()
            self.done += 1
        self._drop_pins()

    def verify(self) -> None:
        """Every path once more."""
        for path in {*self.model.files, *self.model.maybe}:
            self.model.found(path, self._bytes(path))
        self.listing()

    # -- the server ------------------------------------------------------------
    def _lost(self) -> None:
        self.model.lost(self._asked)
        self._asked = {}
        self.shared.lost()
        self._drop_pins()
        while self._turn.value != self._seen:
            if self._turn.value % 2:
                time.sleep(0.01)
                continue
            self._seen = self._turn.value
            try:
                for path in list(self.model.maybe):
                    self.model.found(path, self._bytes(path))
            except (OSError, Difference):
                if self._turn.value == self._seen:
                    raise

    @contextmanager
    def asking(self, changes: dict[str, Content]) -> Iterator[None]:
        """What the block asks for holds once it ends without an error."""
        self._asked = changes
        yield
        for path, content in changes.items():
            self.model.set(path, content)
        self._asked = {}

    @contextmanager
    def refused(self, path: str) -> Iterator[None]:
        """What the block writes to `path` is refused, and what stood there stands."""
        try:
            yield
        except OSError as error:
            if error.errno != errno.EPROTO:
                raise
        else:
            raise Difference(f"what {path} may not hold was taken")
        self.model.refused(path)
        self.model.found(path, self._bytes(path))

    # -- paths -----------------------------------------------------------------
    def _full(self, path: str) -> Path:
        return self.root / path

    def _chosen(self, path: str) -> str:
        self.lately.append(f"  {path}")
        return path

    def _name(self, kind: str | None = None) -> str:
        kind = kind or self.rng.choice(("task", "note"))
        return self._chosen(f"{kind}/w{self.slot}-{self.rng.randrange(_FILES)}.md")

    def _existing(self) -> str:
        paths = self.model.paths()
        if paths:
            return self._chosen(self.rng.choice(paths))
        path = self._name()
        self._store(path, document(self.rng))
        return path

    def _bytes(self, path: str) -> Content:
        try:
            return self._full(path).read_bytes()
        except FileNotFoundError:
            return None

    def _store(self, path: str, data: bytes) -> None:
        with self.asking({path: data}):
            file = os.open(self._full(path), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            self._write(file, data)
            before = os.fstat(file)
            os.close(file)
        if self.pins:  # a process sees the version that it reads, also by stat
            return
        after = os.stat(self._full(path))
        for name in ("st_size", "st_mtime_ns", "st_ctime_ns", "st_ino"):
            if getattr(before, name) != getattr(after, name):
                raise Difference(f"{name} of {path} changed with its close")

    def _write(self, file: int, data: bytes) -> None:
        """In pieces."""
        at = 0
        while at < len(data):
            piece = data[at : at + self.rng.choice((100, 4096, 1 << 20))]
            at += os.write(file, piece)

    # -- steps -----------------------------------------------------------------
    def replace(self) -> None:
        self._store(self._name(), document(self.rng))

    def read(self) -> None:
        path = self._name()
        if self.rng.random() < 0.5:
            path = self._existing()
        self.model.found(path, self._bytes(path))

    def in_place(self) -> None:
        path = self._existing()
        data = bytearray(self.model.files[path])
        head = min(len(data), 21)
        start = self.rng.randrange(head, len(data) + 1)
        piece = document(self.rng, lines=2)[21:]
        data[start : start + len(piece)] = piece
        keep = self.rng.randrange(head, len(data) + 1)
        with self.asking({path: bytes(data[:keep])}):
            file = os.open(self._full(path), os.O_RDWR)
            os.pwrite(file, piece, start)
            if os.pread(file, 1 << 26, 0) != bytes(data):
                raise Difference(f"{path} reads other bytes back than were written")
            os.ftruncate(file, keep)
            os.close(file)

    def append(self) -> None:
        path = self._existing()
        piece = document(self.rng, lines=1)[21:]
        with self.asking({path: self.model.files[path] + piece}):
            file = os.open(self._full(path), os.O_WRONLY | os.O_APPEND)
            os.write(file, piece)
            os.close(file)

    def by_temporary(self) -> None:
        path, data = self._name(), document(self.rng)
        kind = path.partition("/")[0]
        plain = f"{kind}/{self.rng.choice(('.w{}.tmp', 'w{}.md.tmp', '.w{}.md.Xy12Zz'))}"
        temporary = plain.format(self.slot)
        self._full(temporary).write_bytes(data)
        with self.asking({path: data}):
            os.rename(self._full(temporary), self._full(path))

    def rename(self) -> None:
        old, new = self._existing(), self._name()
        if old == new:
            return
        data = self.model.files[old]
        if valid(new, data):
            with self.asking({old: None, new: data}):
                os.rename(self._full(old), self._full(new))
            return
        with self.refused(new):
            os.rename(self._full(old), self._full(new))
        self.model.found(old, self._bytes(old))

    def unlink(self) -> None:
        path = self._existing()
        before = self.model.get(path)
        with self.asking({path: None}):
            os.unlink(self._full(path))
        self.model.not_yet_durable(path, before)

    def leave_and_return(self) -> None:
        """An editor's backup: the engram becomes a plain file and comes back."""
        path = self._existing()
        backup = self._full(f"{path}~{self.slot}")
        with self.asking({path: None}):
            os.rename(self._full(path), backup)
        data = backup.read_bytes()
        with self.asking({path: data}):
            os.rename(backup, self._full(path))

    def save_dance(self) -> None:
        """vim: the old file is renamed away, the new one written, the backup removed."""
        path, data = self._existing(), document(self.rng)
        backup = self._full(f"{path}~{self.slot}")
        before = self.model.files[path]
        with self.asking({path: None}):
            os.rename(self._full(path), backup)
        with self.asking({path: data}):
            file = os.open(self._full(path), os.O_WRONLY | os.O_CREAT, 0o644)
            os.ftruncate(file, 0)
            self._write(file, data)
            os.fsync(file)
            os.close(file)
        if backup.read_bytes() != before:
            raise Difference(f"the backup of {path} is not what was renamed")
        os.unlink(backup)

    def cut(self) -> None:
        path = self._existing()
        data = self.model.files[path]
        size = self.rng.randrange(min(len(data), 21), len(data) + 1)
        with self.asking({path: data[:size]}):
            os.truncate(self._full(path), size)

    def empty(self) -> None:
        """`: > f` keeps the old bytes where the kind refuses an empty document."""
        path = self._existing()
        before = self.model.files[path]
        after = before if path.startswith("task/") else b""
        with self.asking({path: after}):
            os.close(os.open(self._full(path), os.O_WRONLY | os.O_TRUNC))
        self.model.not_yet_durable(path, before)
        until = time.monotonic() + 2
        while self._bytes(path) != after and time.monotonic() < until:
            time.sleep(0.01)  # an open reader makes the mount wait for the release no longer
        self.model.found(path, self._bytes(path))

    def attributes(self) -> None:
        path = self._full(self._existing())
        mtime = self.rng.randrange(10**18, 2 * 10**18)
        mode = self.rng.choice((0o600, 0o640, 0o644, 0o755))
        os.utime(path, ns=(mtime, mtime))
        os.chmod(path, mode)
        found = os.stat(path)
        if not self.pins and (found.st_mtime_ns, found.st_mode & 0o777) != (mtime, mode):
            raise Difference(f"times or mode of {path} did not stay")

    def invalid(self) -> None:
        """Refused, and the old bytes stay, whether there were some or not."""
        path = self._name("task")
        with self.refused(path):
            self._full(path).write_bytes(document(self.rng, valid=False))

    def unlink_and_write(self) -> None:
        """What is written to a file that is gone must not bring it back."""
        path = self._existing()
        before = self.model.get(path)
        with self.asking({path: None}):
            file = os.open(self._full(path), os.O_RDWR)
            os.unlink(self._full(path))
            os.write(file, b"late")
            os.close(file)
        self.model.not_yet_durable(path, before)
        self.model.found(path, self._bytes(path))

    def listing(self) -> None:
        for kind in ("task", "note"):
            listed = os.listdir(self.root / kind)
            if len(set(listed)) != len(listed):
                raise Difference(f"{kind} lists a name twice")
            mine = {f"{kind}/{name}" for name in listed if name.startswith(f"w{self.slot}-")}
            mine = {name for name in mine if name.endswith(".md")}
            wanted = {path for path in self.model.files if path.startswith(f"{kind}/")}
            if mine - set(self.model.maybe) != wanted - set(self.model.maybe):
                raise Difference(f"{kind} lists {sorted(mine ^ wanted)} wrongly")

    # -- readers that stay -------------------------------------------------------
    def pin(self) -> None:
        if len(self.pins) < 4:
            path = self._existing()
            file = os.open(self._full(path), os.O_RDONLY)
            self.pins.append((file, path, self.model.files[path]))

    def check_pins(self) -> None:
        for file, path, data in self.pins:
            found = os.pread(file, 1 << 26, 0)
            if found != data:
                raise Difference(
                    f"an open reader of {path} was {describe(data)}, is {describe(found)}"
                )
            # fstat knows the process only: its newest reader of the file decides.
            alone = len(self.pins) == 1
            size = os.fstat(file).st_size
            deadline = time.monotonic() + 10  # a writer of this process may not be released yet
            while alone and size != len(data) and time.monotonic() < deadline:
                time.sleep(0.05)
                size = os.fstat(file).st_size
            if alone and size != len(data):
                raise Difference(f"an open reader of {path} has {len(data)} bytes, fstat {size}")
        self._drop_pins()

    def _drop_pins(self) -> None:
        for file, _, _ in self.pins:
            with suppress(OSError):
                os.close(file)
        self.pins.clear()
