"""What the rooms of the tree share: engine, overlay, settings, and the tables of what is open."""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engine.model import Entry
from engine.namespace import Scope
from engine.slug import nfc
from engramfs.address import EngramFile, KindDirectory, Layout, Misnamed, Plain, shown_path
from engramfs.closing import Closing
from engramfs.counted import CountedOverlay
from engramfs.errors import FsError
from engramfs.files import File, Files
from engramfs.handles import Pinned, PlainHandle, Talk
from engramfs.inodes import ROOT, Inodes
from engramfs.locks import Place, PlaceLocks
from engramfs.ports import Caller, Control, Names, Overlay
from engramfs.staging import Staged

if TYPE_CHECKING:
    from engine.engine import Engine

HIDDEN = ".fuse_hidden"  # libfuse's prefix for files that were unlinked or replaced while open
_MODE_SET = stat.S_ISVTX  # on the overlay's directory: its bits were set through the mount
OpenHandle = Pinned | Staged | PlainHandle | Talk


@dataclass(frozen=True, slots=True)
class TreeSettings:
    """How one mountpoint behaves."""

    root_kind: str | None = None  # roots mode: the kind whose members stand at the root
    only_kinds: frozenset[str] | None = None  # prefix mode: the kinds shown; None: all
    # (kind, path) of every mountpoint of the process, in each spelling that people may use; the
    # kind is None in prefix mode. Of one kind the first is shown.
    mountpoints: tuple[tuple[str | None, str], ...] = ((None, "/engram"),)
    show_id: bool = True
    on_conflict: str = "win"  # or "refuse"
    read_only: bool = False
    rewrite_links: bool = False  # a rename makes those that link to the engram name its new place
    umask: int = 0o022  # taken from the 0755 of directories
    uid: int = 0
    gid: int = 0
    file_bytes: int = 32 * 1024 * 1024  # of an engram; more is EFBIG


class Ground:
    """Shared by the rooms of one tree."""

    def __init__(
        self,
        engine: Engine,
        scope: Scope,
        overlay: Overlay,
        control: Control,
        settings: TreeSettings,
        clock: Callable[[], int],
        alive: Callable[[int], bool],
        holds: Callable[[int, str], bool],
    ) -> None:
        self.engine = engine
        self.scope = scope
        self.overlay = CountedOverlay(overlay)
        self.control = control
        self.settings = settings
        self.clock = clock
        self.alive = alive
        self.files = Files()
        self.locks = PlaceLocks()
        self.inodes = Inodes()
        self.handles: dict[int, OpenHandle] = {}
        self.number = itertools.count(1).__next__
        self.layout = Layout(self.kind_of, self._root())
        root = self.layout.root
        kinds = settings.only_kinds if root is None else frozenset({root.kind})
        self.sight = replace(scope, kinds=kinds)  # what the mount shows of its namespace
        self.inodes.remember(ROOT, self.layout.top())
        self.closing = Closing(holds)
        self.births: dict[int, int] = {}  # st_ino of plain files -> when they were created here

    def _root(self) -> KindDirectory | None:
        kind = self.settings.root_kind
        if kind is None:
            return None
        known = self.engine.catalogue.kind(kind)
        if known is None or not known.parent:
            raise FsError("EINVAL", f"{kind} is no kind with a directory", "see .schema")
        return KindDirectory(known.name, known.directory, top=True)

    # -- kinds -------------------------------------------------------------
    def kind_of(self, directory: str) -> str | None:
        """The kind shown under this name at the root of prefix mode."""
        kind = self.engine.catalogue.by_directory(directory)
        if kind is None or not self.shown(kind.name):
            return None
        return kind.name

    def shown(self, kind: str) -> bool:
        """Is this kind part of the mount?"""
        kinds = self.sight.kinds
        return kinds is None or kind in kinds

    def outside(self, parts: Names) -> bool:
        """Does an overlay path lie in the directory of a kind that this mount does not show?"""
        if self.settings.only_kinds is None or self.layout.root is not None or not parts:
            return False
        kind = self.engine.catalogue.by_directory(nfc(parts[0]))
        return kind is not None and not self.shown(kind.name)

    # -- engrams -----------------------------------------------------------
    def entry(self, place: Place) -> Entry | None:
        """The live engram or blank at a place."""
        return self.engine.lookup(self.scope, place[0], place[1])

    def source(self, entry: Entry) -> bytes:
        """The bytes of a version as programs see them."""
        if entry.empty:
            return b""
        return self.engine.source(entry, self.settings.show_id)

    def size(self, entry: Entry) -> int:
        """Their number."""
        return entry.shown_size if self.settings.show_id else entry.size

    def current(self, file: File) -> bytes:
        """The bytes that an append to the file is added to."""
        if file.plain is not None:
            return read_all(file.plain)
        entry = file.last if file.gone else self.entry(file.place)
        return b"" if entry is None else self.source(entry)

    def path(self, address: EngramFile) -> str:
        """The path to show to people, relative to the mountpoint."""
        return shown_path(self.layout, address.directory, address.name)

    # -- the root of prefix mode ---------------------------------------------
    def root_look(self) -> tuple[int, int]:
        """(permission bits, mtime): the overlay's own directory keeps what was set."""
        found = self.overlay.stat(())
        was_set = found.st_mode & _MODE_SET
        mode = found.st_mode & 0o777 if was_set else 0o755 & ~self.settings.umask
        return mode, found.st_mtime_ns

    def chmod_root(self, mode: int) -> None:
        """The owner, who is the server, keeps all of theirs."""
        self.overlay.chmod((), mode & 0o777 | 0o700 | _MODE_SET)

    def touch_root(self, mtime_ns: int) -> None:
        """Kinds are no entries of the overlay; and the root's time can be set."""
        self.overlay.utimens((), mtime_ns, mtime_ns)

    # -- handles -----------------------------------------------------------
    def add(self, handle: OpenHandle) -> int:
        """Number an open handle."""
        number = self.number()
        self.handles[number] = handle
        return number

    # -- rules -------------------------------------------------------------
    def require_writable(self) -> None:
        """EROFS on a read-only mount."""
        if self.settings.read_only:
            raise FsError("EROFS", "the mount is read-only")

    def born(self, inode: int) -> None:
        """Remember when a plain file was created, to tell what is younger than a temporary."""
        if len(self.births) >= 4096:
            del self.births[next(iter(self.births))]
        self.births[inode] = self.clock()


def by(caller: Caller) -> str:
    """Who writes, as the engine is told."""
    return f"pid:{caller.pid}"


def read_all(descriptor: int) -> bytes:
    """A whole plain file."""
    size = os.fstat(descriptor).st_size
    found = []
    offset = 0
    while chunk := os.pread(descriptor, max(size - offset, 1 << 16), offset):
        found.append(chunk)
        offset += len(chunk)
    return b"".join(found)


def not_there(what: str = "the file") -> FsError:
    """ENOENT."""
    return FsError("ENOENT", f"{what} is not there")


def misnamed(address: Misnamed) -> FsError:
    """What creating under an impossible name raises."""
    return FsError(address.code, address.sentence)


def is_hidden(address: Plain) -> bool:
    """Is it one of libfuse's names for files that are gone?"""
    return address.parts[-1].startswith(HIDDEN)
