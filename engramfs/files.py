"""Engram files that are open, or created and not yet committed.

A `File` is what ext4 would call the inode in memory: handles share it, a rename carries it along,
an unlink detaches it from its place.
"""

from __future__ import annotations

import threading

from engine.model import Entry
from engramfs.address import EngramFile
from engramfs.handles import Pinned
from engramfs.locks import Place
from engramfs.ports import Caller
from engramfs.staging import Staged

Handle = Pinned | Staged


def place_of(address: EngramFile) -> Place:
    """The key of an engram's path within one mount."""
    return (address.kind, address.slug)


class File:
    """One open file.

    pending: created here, nothing committed yet; `inode`, `mode` and `born_ns` are its own then.
    refused: pending, and its bytes were refused: unlisted until a flush succeeds.
    lost: pending at a path that lost this engram within the grace time; the others still see it.
    gone: unlinked, replaced, or renamed to an overlay name; `last` is what it was.
    plain: a descriptor of that overlay file, where somebody may still write.
    """

    __slots__ = (
        "address", "born_ns", "gone", "handles", "id", "inode", "last", "lost", "mode",
        "pending", "place", "plain", "refused",
    )  # fmt: skip

    def __init__(self, address: EngramFile, id: str = "") -> None:
        self.address = address
        self.place = place_of(address)
        self.id = id
        self.handles: list[Handle] = []
        self.pending = False
        self.refused = False
        self.lost: Entry | None = None
        self.gone = False
        self.last: Entry | None = None
        self.plain: int | None = None
        self.inode = 0
        self.mode = 0o644
        self.born_ns = 0

    def own(self, caller: Caller, current: Entry | None) -> Handle | None:
        """The handle whose view the caller's process has of this file, None: everybody's.

        A dirty handle goes first; else the newest one that reads decides: the kernel closes handles
        late, so an older one of the same process may be there still. Processes are looked up only
        when some handle is special.
        """
        handles = self.handles[::-1]
        if not any(handle.shows(current) for handle in handles):
            return None
        pid = caller.pid
        mine = [handle for handle in handles if handle.belongs(pid)]
        for handle in mine:
            if isinstance(handle, Staged) and handle.dirty:
                return handle
        for handle in mine:
            if isinstance(handle, Pinned) or handle.readable:
                return handle if handle.shows(current) else None
        return None

    def dirty_of(self, caller: Caller) -> Staged | None:
        """The newest dirty handle of the caller's process."""
        dirty = [each for each in self.staged() if each.dirty]
        if not dirty:
            return None
        pid = caller.pid
        return next((handle for handle in dirty if handle.belongs(pid)), None)

    def staged(self) -> list[Staged]:
        """Write handles, newest first."""
        return [handle for handle in self.handles[::-1] if isinstance(handle, Staged)]

    def settled(self, entry: Entry) -> None:
        """A commit succeeded: the file is an engram's."""
        self.id = entry.id
        self.pending = False
        self.refused = False
        self.lost = None


def _has(handle: Handle, new: Entry | None) -> bool:
    """Is the handle on this version, or on a later one?"""
    entry = handle.entry if isinstance(handle, Pinned) else handle.base_entry
    return new is not None and entry is not None and not entry.empty and entry.seq >= new.seq


class Files:
    """The table of open files by place. Its lock is held for dictionary work only."""

    def __init__(self) -> None:
        self._files: dict[Place, File] = {}
        self._left: dict[int, File] = {}  # renamed to overlay names, by the inode there
        self._guard = threading.Lock()
        self.get = self._files.get

    def attach(self, address: EngramFile, entry: Entry | None, handle: Handle) -> File:
        """Give `handle` the file at its place, made when there is none yet."""
        place = place_of(address)
        with self._guard:
            file = self._files.get(place)
            if file is None:
                file = self._files[place] = File(address)
            if entry is not None:
                file.id = entry.id
            handle.file = file
            file.handles.append(handle)
            return file

    def add(self, file: File) -> None:
        """A file just created at a free place."""
        with self._guard:
            self._files[file.place] = file

    def join(self, file: File, handle: Handle) -> None:
        """One more handle on a file."""
        with self._guard:
            handle.file = file
            file.handles.append(handle)

    def leave(self, handle: Handle) -> File | None:
        """A handle is released. Returns its file when that was the last one."""
        file = handle.file
        if file is None:
            return None
        with self._guard:
            if handle in file.handles:
                file.handles.remove(handle)
            if file.handles:
                return None
            if self._files.get(file.place) is file:
                del self._files[file.place]
            self._forget_left(file)
            return file

    def _forget_left(self, file: File) -> None:
        for inode in [inode for inode, one in self._left.items() if one is file]:
            del self._left[inode]

    def detach(self, file: File, last: Entry | None) -> None:
        """The file was unlinked or replaced: its place is free, its handles read on."""
        with self._guard:
            if self._files.get(file.place) is file:
                del self._files[file.place]
            file.gone = True
            file.last = last

    def left(self, file: File, last: Entry | None, inode: int, descriptor: int | None) -> None:
        """The file was renamed to an overlay name. With `descriptor` its handles go on writing
        there; those that read keep the version that they have."""
        with self._guard:
            if self._files.get(file.place) is file:
                del self._files[file.place]
            if descriptor is None:
                file.gone, file.last = True, last
            file.pending = False
            file.plain = descriptor
            self._left[inode] = file

    def take_plain(self, file: File) -> int | None:
        """The descriptor of its overlay file, for whoever closes it: given out once."""
        with self._guard:
            found, file.plain = file.plain, None
            return found

    def left_as(self, inode: int) -> File | None:
        """The open file that left for this overlay file."""
        return self._left.get(inode)

    def returned(self, file: File) -> None:
        """It is about to become an engram again."""
        with self._guard:
            self._forget_left(file)
            file.gone, file.last = False, None

    def arrive(
        self, file: File | None, address: EngramFile, last: Entry | None, new: Entry | None
    ) -> None:
        """A rename put `new` at a place where `last` stood; `file`, if it is open, goes along.

        Handles on what stood there keep the version that they have. Those that were opened between
        the commit and this call have the new one already, and belong to it.
        """
        place = place_of(address)
        with self._guard:
            over = self._files.get(place)
            fresh: list[Handle] = []
            if over is not None and over is not file:
                fresh = [handle for handle in over.handles if _has(handle, new)]
                over.handles = [handle for handle in over.handles if handle not in fresh]
                over.gone, over.last = True, last
                del self._files[place]
            if file is None:
                if not fresh:
                    return
                file = File(address)
            elif self._files.get(file.place) is file:
                del self._files[file.place]
            file.address, file.place = address, place
            if new is not None:
                file.id = new.id
            for handle in fresh:
                handle.file = file
                file.handles.append(handle)
            if file.handles or file.pending:
                self._files[place] = file

    def move(self, file: File, address: EngramFile) -> None:
        """Another way in renamed the engram."""
        with self._guard:
            if self._files.get(file.place) is file:
                del self._files[file.place]
            file.address = address
            file.place = place_of(address)
            if file.handles or file.pending:
                self._files[file.place] = file

    def swap(self, one: EngramFile, other: EngramFile) -> None:
        """RENAME_EXCHANGE."""
        with self._guard:
            first = self._files.pop(place_of(one), None)
            second = self._files.pop(place_of(other), None)
            for file, address in ((first, other), (second, one)):
                if file is not None:
                    file.address, file.place = address, place_of(address)
                    self._files[file.place] = file

    def in_kind(self, kind: str) -> list[File]:
        """Open files of one kind."""
        with self._guard:
            return [file for place, file in self._files.items() if place[0] == kind]

    def all(self) -> list[File]:
        """Every file that is at its place."""
        with self._guard:
            return list(self._files.values())
