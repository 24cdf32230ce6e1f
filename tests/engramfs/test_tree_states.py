"""The tree beside a dictionary: whatever programs do, both hold the same files and bytes.

Ids are not shown here, so that bytes compare as they are. The model knows names, contents, open
handles, and what a path lost within the grace time; the clock never leaves that time.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from engramfs.ports import Process
from tests.engramfs.tree_rig import ME, OTHER, Rig, fails, rigged

EYE = Process(pid=300, tid=300, uid=1000, gid=1000, sid=300)

ENGRAMS = ("/note/a.md", "/note/b.md", "/task/a.md", "/task/b.md")
PLAIN = ("/note/p", "/task/.a.swp", "/q")
PATHS = st.sampled_from(ENGRAMS + PLAIN)
ENGRAM = st.sampled_from(ENGRAMS)
TEXT = st.text("abc \n", min_size=1, max_size=12)
DATA = st.builds(
    lambda head, text: (head + text).encode(),
    st.sampled_from(
        ["", "---\nstatus: open\n---\n", "---\nstatus: done\n---\n", "---\nstatus: x\n---\n"]
    ),
    TEXT,
)


def valid(path: str, data: bytes) -> bool:
    """May these bytes stand at the path?"""
    if path not in ENGRAMS:
        return True
    first, *lines = data.split(b"\n")
    if first != b"---":
        return path.startswith("/note")
    if b"---" not in lines or path.startswith("/note"):
        return False
    return lines[: lines.index(b"---")] in ([b"status: open"], [b"status: done"])


@dataclass
class File:
    """What a name stands for. `content` None: created, nothing committed."""

    path: str | None
    content: bytes | None = None
    blank: bool = False

    @property
    def listed(self) -> bool:
        return self.content is not None


@dataclass
class Handle:
    number: int
    file: File
    staged: bytes | None  # whole-file bytes; None: nothing staged, or appends only
    appended: bytes = b""
    changed: bool = False
    base: bytes = b""

    @property
    def bytes(self) -> bytes:
        if self.staged is not None:
            return self.staged
        return (self.file.content or b"") + self.appended


@dataclass
class Model:
    files: dict[str, File] = field(default_factory=dict)
    lost: dict[str, bytes] = field(default_factory=dict)

    def at(self, path: str) -> File | None:
        return self.files.get(path)

    def commit(self, file: File, data: bytes) -> None:
        file.content, file.blank = data, False
        if file.path is not None:
            self.lost.pop(file.path, None)

    def refused(self, path: str) -> None:
        """Nothing new came to stand there: what the path lost stands again."""
        file = self.files.get(path)
        if path in self.lost and (file is None or file.content is None):
            if file is None:
                file = self.files[path] = File(path)
            self.commit(file, self.lost[path])

    def drop(self, path: str) -> None:
        file = self.files.pop(path, None)
        if file is None:
            return
        if path in ENGRAMS and file.content is not None and not file.blank:
            self.lost[path] = file.content
        file.path = None


class Trees(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.model = Model()
        self.handles: list[Handle] = []

    @initialize()
    def start(self) -> None:
        directory = self.stack.enter_context(tempfile.TemporaryDirectory())
        self.rig: Rig = self.stack.enter_context(rigged(Path(directory), show_id=False))

    def teardown(self) -> None:
        for handle in self.handles:
            self.rig.tree.release(handle.number, ME)
        self.stack.close()

    # -- whole programs ------------------------------------------------------
    @rule(path=PATHS, data=DATA)
    def save(self, path: str, data: bytes) -> None:
        if not valid(path, data):
            with fails("EPROTO"):
                self.rig.save(path, data, OTHER)
            self.model.refused(path)
            return
        self.rig.save(path, data, OTHER)
        self.model.commit(self._file(path), data)

    @rule(path=ENGRAM)
    def empty(self, path: str) -> None:
        self.rig.save(path, b"", OTHER)
        file = self._file(path)
        if self._undecided(file):
            return
        if path.startswith("/note"):
            self.model.commit(file, b"")
        elif file.content is None:
            file.content, file.blank = b"", True

    @rule(path=ENGRAM, data=DATA)
    def append(self, path: str, data: bytes) -> None:
        file = self.model.at(path)
        whole = ((file.content if file else None) or b"") + data
        if not valid(path, whole):
            with fails("EPROTO"):
                self.rig.append(path, data, OTHER)
            self.model.refused(path)
            return
        self.rig.append(path, data, OTHER)
        self.model.commit(self._file(path), whole)

    @rule(path=PATHS)
    def unlink(self, path: str) -> None:
        if self.model.at(path) is None:
            with fails("ENOENT"):
                self.rig.unlink(path, OTHER)
            return
        self.rig.unlink(path, OTHER)
        self.model.drop(path)

    @rule(path=ENGRAM, size=st.integers(0, 40))
    def truncate(self, path: str, size: int) -> None:
        file = self.model.at(path)
        if file is None or file.content is None:
            return
        inode = self.rig.inode(path, OTHER)
        data = file.content[:size].ljust(size, b"\0")
        if file.blank and size == 0:
            self.rig.tree.truncate(inode, size, OTHER)
        elif (valid(path, data) or (not data and path.startswith("/note"))) and b"\0" not in data:
            self.rig.tree.truncate(inode, size, OTHER)
            self.model.commit(file, data)
        elif b"\0" not in data:
            with fails("EPROTO"):
                self.rig.tree.truncate(inode, size, OTHER)

    @rule(old=PATHS, new=PATHS, no_replace=st.booleans())
    def rename(self, old: str, new: str, no_replace: bool) -> None:
        source, target = self.model.at(old), self.model.at(new)
        if old == new:
            return
        flags = 1 if no_replace else 0
        if source is None:
            with fails("ENOENT"):
                self.rig.rename(old, new, flags, OTHER)
            return
        if source.content is None or (target is not None and target.content is None):
            return  # files that are still being made are renamed by tests of their own
        if no_replace and target is not None:
            with fails("EEXIST"):
                self.rig.rename(old, new, flags, OTHER)
            return
        if not self._may_move(source, old, new, target):
            with fails("EPROTO"):
                self.rig.rename(old, new, flags, OTHER)
            self.model.refused(new)
            return
        self.rig.rename(old, new, flags, OTHER)
        self._moved(source, old, new, target)

    # -- handles -------------------------------------------------------------
    @precondition(lambda self: len(self.handles) < 4)
    @rule(path=ENGRAM, truncate=st.booleans())
    def open(self, path: str, truncate: bool) -> None:
        flags = os.O_RDWR | os.O_CREAT | (os.O_TRUNC if truncate else 0)
        known = self.model.at(path)
        created = known is None
        file = self._file(path)
        number = self.rig.open(path, flags, ME)
        base = file.content or b""
        fresh = truncate or created
        self.handles.append(Handle(number, file, b"" if fresh else None, changed=fresh, base=base))

    @precondition(lambda self: self.handles)
    @rule(which=st.integers(0, 3), data=DATA, offset=st.integers(0, 3))
    def write(self, which: int, data: bytes, offset: int) -> None:
        handle = self.handles[which % len(self.handles)]
        whole = bytearray(handle.base if handle.staged is None else handle.staged)
        at = min(offset, len(whole))
        self.rig.write(handle.number, data, at, os.O_RDWR, ME)
        whole[at : at + len(data)] = data
        handle.staged, handle.changed = bytes(whole), True
        assert self.rig.tree.read(handle.number, 999, 0) == handle.staged

    @precondition(lambda self: self.handles)
    @rule(which=st.integers(0, 3))
    def flush(self, which: int) -> None:
        handle = self.handles[which % len(self.handles)]
        self._flush(handle)

    @precondition(lambda self: self.handles)
    @rule(which=st.integers(0, 3))
    def close(self, which: int) -> None:
        handle = self.handles.pop(which % len(self.handles))
        self._flush(handle)
        self.rig.tree.release(handle.number, ME)
        self._released(handle)

    # -- what must hold --------------------------------------------------------
    @invariant()
    def the_same_files(self) -> None:
        if not hasattr(self, "rig"):
            return
        for directory in ("/note", "/task", "/"):
            names = {
                path.rpartition("/")[2]
                for path, file in self.model.files.items()
                if (path.rpartition("/")[0] or "/") == directory and self._seen(path, file)
            }
            if directory == "/":
                names |= {"deal", "note", "task"}
            assert self.rig.ls(directory, EYE) == sorted(names)
        for path, file in self.model.files.items():
            if self._seen(path, file):
                data = self.model.lost[path] if file.content is None else file.content
                assert self.rig.read(path, EYE) == data
                assert self.rig.stat(path, EYE).size == len(data)
        assert self.rig.engine.check() == ()

    # -- the model's own business ----------------------------------------------
    def _seen(self, path: str, file: File) -> bool:
        return file.content is not None or (path in self.model.lost)

    def _file(self, path: str) -> File:
        return self.model.files.setdefault(path, File(path))

    def _undecided(self, file: File) -> bool:
        """Is another handle on the new file dirty? Then that one decides."""
        return file.content is None and any(
            handle.file is file and handle.changed for handle in self.handles
        )

    def _may_move(self, source: File, old: str, new: str, target: File | None) -> bool:
        assert source.content is not None
        if new not in ENGRAMS:
            return True
        if source.blank:
            return target is None or new.startswith("/note")
        if old in ENGRAMS and old.split("/")[1] == new.split("/")[1]:
            return True  # within a kind properties are not judged again
        if not source.content:
            return new.startswith("/note")
        return valid(new, source.content)

    def _moved(self, source: File, old: str, new: str, target: File | None) -> None:
        files, content = self.model.files, source.content
        assert content is not None
        leaves = old in ENGRAMS and new not in ENGRAMS
        arrives = old not in ENGRAMS and new in ENGRAMS
        if target is not None:
            target.path = None
            files.pop(new)
        if leaves:
            self.model.drop(old)
            files[new] = File(new, content)
            for handle in self.handles:
                if handle.file is source:  # it goes on writing there
                    handle.file = files[new]
        elif arrives:
            files.pop(old)
            files[new] = File(new)
            self.model.commit(files[new], content)
        else:
            files.pop(old)
            files[new] = source
            source.path = new
            if source.blank and target is not None:
                self.model.commit(source, content)
            elif not source.blank:
                self.model.lost.pop(new, None)
                self.model.lost.pop(old, None)

    def _flush(self, handle: Handle) -> None:
        file = handle.file
        if not handle.changed or not handle.bytes:
            self.rig.tree.flush(handle.number, ME)
            return
        if file.path is None:
            self.rig.tree.flush(handle.number, ME)  # late: kept in `.rejected`
            handle.changed = False
            return
        if valid(file.path, handle.bytes):
            self.rig.tree.flush(handle.number, ME)
            self.model.commit(file, handle.bytes)
            handle.changed = False
            return
        with fails("EPROTO"):
            self.rig.tree.flush(handle.number, ME)
        self.model.refused(file.path)

    def _released(self, handle: Handle) -> None:
        file = handle.file
        if file.path is not None and handle.changed and not handle.bytes:
            if file.path not in ENGRAMS or file.path.startswith("/note"):
                if not self._undecided(file):
                    self.model.commit(file, b"")
            elif file.content is None and not self._undecided(file):
                file.content, file.blank = b"", True
        nobodys = not any(other.file is file for other in self.handles)
        if file.content is None and file.path is not None and nobodys:
            self.model.files.pop(file.path)
            file.path = None


Trees.TestCase.settings = settings(
    max_examples=20,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestTrees = Trees.TestCase
