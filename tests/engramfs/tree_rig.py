"""A tree over a real engine in memory and a real overlay, driven as the kernel would drive it."""

from __future__ import annotations

import errno
import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine.config import Config
from engine.engine import Engine
from engine.namespace import Scope
from engramfs.control import ControlFiles
from engramfs.errno_table import number
from engramfs.overlay import PlainFiles
from engramfs.ports import Attributes, Process
from engramfs.tree import Tree, TreeSettings

KINDS = """\
kinds:
  task:
    fields:
      status: {type: string, enum: [open, done], required: true}
  note: {}
  deal:
    fields:
      stage: {type: string}
"""
GOOD = b"---\nstatus: open\n---\nwords\n"
BAD = b"---\nstatus: broken\n---\nwords\n"
SCOPE = Scope((), exact=True)
SECOND = 1_000_000_000
IDS = itertools.count(1)  # of all rigs: a store that is opened again makes new ones

ME = Process(pid=100, tid=100, uid=1000, gid=1000, sid=100)
OTHER = Process(pid=200, tid=200, uid=1000, gid=1000, sid=200)


class Clock:
    """Every look is a microsecond later; `pass_ns` lets time pass."""

    def __init__(self) -> None:
        self.now_ns = 1_700_000_000 * SECOND

    def __call__(self) -> int:
        self.now_ns += 1000
        return self.now_ns

    def pass_ns(self, ns: int) -> None:
        self.now_ns += ns


@dataclass
class Rig:
    """`tree` and what it stands on, with the shorthand that tests read well with."""

    tree: Tree
    engine: Engine
    overlay: PlainFiles
    clock: Clock
    living: set[int]

    # -- one call each -------------------------------------------------------
    def inode(self, path: str, caller: Process = ME) -> int:
        return self.tree.resolve(path, caller)

    def stat(self, path: str, caller: Process = ME) -> Attributes:
        return self.tree.getattr(self.inode(path, caller), caller)

    def exists(self, path: str, caller: Process = ME) -> bool:
        try:
            self.stat(path, caller)
        except Exception as error:
            if number(error) == errno.ENOENT:
                return False
            raise
        return True

    def parent(self, path: str, caller: Process = ME) -> tuple[int, str]:
        directory, _, name = path.rpartition("/")
        return self.inode(directory or "/", caller), name

    def ls(self, path: str, caller: Process = ME) -> list[str]:
        return sorted(one.name for one in self.tree.readdir(self.inode(path, caller), caller))

    def open(self, path: str, flags: int = os.O_RDONLY, caller: Process = ME) -> int:
        """As open(2) behaves: look up, then create or open."""
        if flags & os.O_CREAT:
            if not self.exists(path, caller):
                return self.create(path, flags, caller=caller)
            if flags & os.O_EXCL:
                raise FileExistsError(errno.EEXIST, path)
        return self.tree.open(self.inode(path, caller), flags, caller).handle

    def create(
        self,
        path: str,
        flags: int = os.O_WRONLY | os.O_CREAT,
        mode: int = 0o644,
        caller: Process = ME,
    ) -> int:
        return self.tree.create(*self.parent(path, caller), mode, flags, caller)[1].handle

    def close(self, handle: int, caller: Process = ME) -> None:
        """The last close: flush, then release whatever the flush said."""
        try:
            self.tree.flush(handle, caller)
        finally:
            self.tree.release(handle, caller)

    def write(
        self, handle: int, data: bytes, offset: int = 0, flags: int = 0, caller: Process = ME
    ) -> None:
        assert self.tree.write(handle, data, offset, flags, caller) == len(data)

    # -- what programs do ----------------------------------------------------
    def save(self, path: str, data: bytes, caller: Process = ME) -> None:
        """open(path, "wb"), write, close."""
        handle = self.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, caller)
        if data:
            self.write(handle, data, caller=caller)
        self.close(handle, caller)

    def append(self, path: str, data: bytes, caller: Process = ME) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        handle = self.open(path, flags, caller)
        self.write(handle, data, 0, flags, caller)
        self.close(handle, caller)

    def read(self, path: str, caller: Process = ME) -> bytes:
        handle = self.open(path, os.O_RDONLY, caller)
        try:
            return self.tree.read(handle, 1 << 26, 0)
        finally:
            self.close(handle, caller)

    def body(self, path: str, caller: Process = ME) -> bytes:
        """The bytes without the id line that reading adds."""
        lines = self.read(path, caller).splitlines(keepends=True)
        kept = b"".join(line for line in lines if not line.startswith(b"id: "))
        return kept.removeprefix(b"---\n---\n")

    def rename(self, old: str, new: str, flags: int = 0, caller: Process = ME) -> None:
        self.tree.rename(*self.parent(old, caller), *self.parent(new, caller), flags, caller)

    def unlink(self, path: str, caller: Process = ME) -> None:
        self.tree.unlink(*self.parent(path, caller), caller)

    def xattr(self, path: str, name: str) -> str:
        return self.tree.getxattr(self.inode(path), f"user.engram.{name}", ME).decode()

    def id(self, path: str) -> str:
        return self.xattr(path, "id")

    def events(self) -> list[str]:
        """Events of the notices that stand, newest first."""
        return [notice.event for notice in self.engine.notices(SCOPE)]

    def rejected(self) -> dict[str, bytes]:
        """What `.rejected` holds: path in it -> bytes."""
        found = {}
        for kind in self.ls("/.rejected"):
            for name in self.ls(f"/.rejected/{kind}"):
                found[f"{kind}/{name}"] = self.read(f"/.rejected/{kind}/{name}")
        return found


@contextmanager
def rigged(
    directory: Path,
    *,
    kinds: str | None = KINDS,
    store: Path | str = ":memory:",
    config: Config | None = None,
    **settings: object,
) -> Iterator[Rig]:
    """A rig of its own, checked and closed at the end."""
    clock = Clock()
    engine = Engine.open(
        store,
        kinds=kinds,
        embed="off",
        config=config or Config(),
        clock=clock,
        new_id=lambda: f"0198c0de-0000-7000-8000-{next(IDS):012x}",
    )
    overlay = PlainFiles(directory / "overlay")
    living = {ME.pid, OTHER.pid}
    defaults: dict[str, object] = {"uid": 1000, "gid": 1000}
    tree = Tree(
        engine,
        SCOPE,
        overlay,
        ControlFiles(engine, SCOPE),
        TreeSettings(**{**defaults, **settings}),  # type: ignore[arg-type]
        clock=clock,
        alive=living.__contains__,
        holds=lambda _pid, _end: True,
    )
    try:
        yield Rig(tree, engine, overlay, clock, living)
        assert engine.check() == ()
    finally:
        engine.close()
        overlay.close()


@contextmanager
def fails(code: str) -> Iterator[None]:
    """The block raises an error that programs see as `code`."""
    with pytest.raises(Exception) as caught:
        yield
    found = number(caught.value)
    assert found is not None, caught.value
    assert found == getattr(errno, code), caught.value
