"""Paths and inodes -> what is there, and how it looks to whoever asks.

Everybody sees the committed version of an engram. The one exception: a process that has a dirty
handle on it, or reads a version that is no longer the committed one, sees that handle's size and
times, so that fstat before close equals stat after it.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from typing import NoReturn

from engine.catalogue import Catalogue
from engine.model import Entry
from engramfs import attributes as shape
from engramfs.address import (
    Address,
    EngramFile,
    KindDirectory,
    Misnamed,
    Plain,
    Root,
    Special,
    Walk,
)
from engramfs.aliases import Alias, Aliases, hidden_name
from engramfs.errors import FsError
from engramfs.files import File
from engramfs.ground import HIDDEN, Ground, OpenHandle, not_there
from engramfs.handles import Pinned, PlainHandle, Talk
from engramfs.inodes import ROOT
from engramfs.ports import Attributes, Caller
from engramfs.rejected import RejectedFiles
from engramfs.staging import Staged
from engramfs.walks import Walks

_KEPT_PATHS = 1 << 14
_KEPT_ANSWERS = 256


class Looking:
    """Resolves and describes."""

    def __init__(
        self, ground: Ground, aliases: Aliases, rejected: RejectedFiles, walks: Walks
    ) -> None:
        self._ground = ground
        self._aliases = aliases
        self._rejected = rejected
        self._walks = walks
        self._paths: dict[str, Address] = {}
        self._paths_of: Catalogue = ground.engine.catalogue
        self._answers: OrderedDict[str, tuple[bytes, int]] = OrderedDict()  # with its mtime
        self.talks: dict[str, list[Pinned | Talk]] = {}  # open control files by name
        self._mounted_ns = ground.clock()
        self._directories: dict[str, tuple[int, int]] = {}  # changes of the overlay, mtime

    # -- addresses ---------------------------------------------------------
    def parse(self, path: str) -> Address:
        """The address of a path; kept until the kinds change."""
        catalogue = self._ground.engine.catalogue
        if catalogue is not self._paths_of or len(self._paths) >= _KEPT_PATHS:
            self._paths = {}
            self._paths_of = catalogue
        found = self._paths.get(path)
        if found is None:
            found = self._paths[path] = self._ground.layout.parse(path)
        return found

    def child(self, parent: int, name: str) -> Address:
        """The address of an entry of a directory."""
        node = self._ground.inodes.node(parent)
        if isinstance(node, Alias):
            raise FsError("ENOTDIR", "an open file that is gone is no directory")
        return self._ground.layout.child(node, name)

    # -- numbers -----------------------------------------------------------
    def number(self, address: Address, caller: Caller) -> int:
        """The inode of what is at an address. ENOENT, ENOTDIR."""
        if isinstance(address, EngramFile):
            ground = self._ground
            if self._aliases.hides and self._aliases.hidden(address):
                raise not_there()
            place = (address.kind, address.slug)
            if ground.closing:
                ground.closing.wait(place)
            file = ground.files.get(place)
            entry = ground.entry(place)
            if file is not None and file.pending and entry is None:
                if file.refused and file.own(caller, None) is None:
                    raise not_there()
                return ground.inodes.remember(file.inode, address)
            if entry is None:
                raise not_there()
            return ground.inodes.remember(entry.inode, address)
        alias = self._alias(address)
        if alias is not None:
            return self._ground.inodes.remember(alias.number, alias)
        return self._ground.inodes.remember(self.look(address, caller).inode, address)

    def _alias(self, address: Address) -> Alias | None:
        parts = hidden_name(address)
        if parts is None or not parts[-1].startswith(HIDDEN):
            return None
        alias = self._aliases.find(parts)
        if alias is None:
            raise not_there()
        return alias

    # -- attributes --------------------------------------------------------
    def look(self, address: Address, caller: Caller) -> Attributes:
        """The attributes of what is at an address. ENOENT, ENOTDIR, or the errors of a request."""
        if isinstance(address, EngramFile):
            return self.engram(address, caller)
        if isinstance(address, Plain):
            return self._plain(address, caller)
        if isinstance(address, KindDirectory):
            return self.kind_directory(address)
        if isinstance(address, Root):
            return self._root()
        if isinstance(address, Special):
            return self.special(address, caller)
        if isinstance(address, Walk):
            return self._walks.look(address, caller)
        return missing(address)

    def engram(self, address: EngramFile, caller: Caller) -> Attributes:
        """An engram file as the caller's process sees it."""
        ground = self._ground
        if self._aliases.hides and self._aliases.hidden(address):
            raise not_there()
        place = (address.kind, address.slug)
        if ground.closing:
            ground.closing.wait(place)
        entry = ground.entry(place)
        file = ground.files.get(place)
        if file is not None:
            found = self.file(file, entry, caller)
        elif entry is not None:
            found = self._entry(entry)
        else:
            found = None
        if found is None:
            raise not_there()
        return found

    def file(self, file: File, entry: Entry | None, caller: Caller) -> Attributes | None:
        """An open file; `entry` is what is committed at its place. None: unlisted."""
        own = file.own(caller, entry)
        if own is not None:
            return self.handle(own, entry)
        if entry is not None:
            return self._entry(entry)
        if not file.pending or file.refused:
            return None
        if file.lost is not None:
            return self._entry(file.lost)._replace(inode=file.inode)
        settings = self._ground.settings
        return shape.of_file(
            file.inode, file.mode, 0, file.born_ns, file.born_ns, settings.uid, settings.gid
        )

    def stat(self, path: str, caller: Caller) -> Attributes:
        """The attributes of what is at a path."""
        address = self.parse(path)
        if isinstance(address, EngramFile):
            return self.engram(address, caller)
        alias = self._alias(address)
        return self.look(address, caller) if alias is None else self.alias(alias, caller)

    def common(self, address: EngramFile) -> Attributes:
        """An engram file as everybody sees it. ENOENT."""
        place = (address.kind, address.slug)
        entry = self._ground.entry(place)
        if entry is not None:
            return self._entry(entry)
        file = self._ground.files.get(place)
        if file is None or not file.pending:
            raise not_there()
        settings = self._ground.settings
        return shape.of_file(
            file.inode, file.mode, 0, file.born_ns, file.born_ns, settings.uid, settings.gid
        )

    def handle(self, handle: Pinned | Staged, entry: Entry | None) -> Attributes:
        """What fstat through this very handle shows; `entry` is committed at its place."""
        if isinstance(handle, Pinned):
            if handle.fixed is not None:
                return handle.fixed
            pinned = handle.entry
            file = handle.file
            if pinned is None:  # the bytes of a file that nothing was committed of yet
                assert file is not None
                return self._staged_look(file, entry, len(handle.data), file.born_ns, file.born_ns)
            return self._of(pinned, len(handle.data), entry)
        if not handle.dirty and handle.base_entry is not None:
            base = handle.base_entry
            return self._of(base, self._ground.size(base), entry)
        file = handle.file
        size = handle.size(lambda: self._ground.current(file))
        found = self._staged_look(file, entry, size, handle.mtime_ns, handle.ctime_ns)
        if handle.kept_mode is not None:
            found = found._replace(mode=found.mode & ~0o777 | handle.kept_mode)
        return found

    def fstat(self, held: OpenHandle, caller: Caller) -> Attributes | None:
        """What fstat through a handle shows. None: what its name shows.

        The size is of the handle's own bytes: a commit may have added an id line to the file, and
        SEEK_END, which asks here, must find the end of what the program writes on.
        """
        if isinstance(held, PlainHandle):
            return shape.of_plain(os.fstat(held.descriptor))
        if isinstance(held, Talk):
            return None
        file = held.file
        if file is None:
            return held.fixed if isinstance(held, Pinned) else None
        if file.plain is not None:
            return self._left(os.fstat(file.plain), held if held.shows(None) else None)
        if file.gone:
            return self.handle(held, file.last)._replace(nlink=0)
        entry = self._ground.entry(file.place)
        if held.shows(entry):
            return self.handle(held, entry)
        found = self.file(file, entry, caller)
        if found is None or isinstance(held, Pinned):
            return found
        return found._replace(size=held.size(lambda: self._ground.current(file)))

    def _staged_look(
        self, file: File, entry: Entry | None, size: int, mtime_ns: int, ctime_ns: int
    ) -> Attributes:
        settings = self._ground.settings
        known = entry if entry is not None else file.last
        pending = known is None or (file.pending and entry is None)
        inode = file.inode if pending or known is None else known.inode
        mode = file.mode if pending or known is None else known.mode
        return shape.of_file(inode, mode, size, mtime_ns, ctime_ns, settings.uid, settings.gid)

    def _of(self, pinned: Entry, size: int, entry: Entry | None) -> Attributes:
        """A version that may be an old one, under the inode that the path has now."""
        settings = self._ground.settings
        found = shape.of_entry(pinned, size, settings.uid, settings.gid)
        if entry is not None and entry.id == pinned.id:
            found = found._replace(inode=entry.inode)
        return found

    def _entry(self, entry: Entry) -> Attributes:
        settings = self._ground.settings
        return shape.of_entry(entry, self._ground.size(entry), settings.uid, settings.gid)

    def alias(self, alias: Alias, caller: Caller) -> Attributes:
        """A file that is gone from its path but still open somewhere."""
        if alias.descriptor is not None:
            return self._plain_file(os.fstat(alias.descriptor), caller)._replace(nlink=0)
        file = alias.file
        if file is None:
            return alias.fixed
        if not file.gone:  # the replacement failed: the file still is at its path
            try:
                return self.engram(file.address, caller)
            except FsError:
                return alias.fixed
        own = file.own(caller, file.last)
        return alias.fixed if own is None else self.handle(own, file.last)._replace(nlink=0)

    def _plain_file(self, found: os.stat_result, caller: Caller) -> Attributes:
        """A plain file. An engram that was renamed to it may be open still: its process sees what
        it reads there, or has written."""
        file = self._ground.files.left_as(found.st_ino)
        return self._left(found, None if file is None else file.own(caller, None))

    def _left(self, found: os.stat_result, own: Pinned | Staged | None) -> Attributes:
        there = shape.of_plain(found)
        if own is None:
            return there
        mine = self.handle(own, None)
        return there._replace(size=mine.size, mtime_ns=mine.mtime_ns, ctime_ns=mine.ctime_ns)

    def _plain(self, address: Plain, caller: Caller) -> Attributes:
        parts = address.parts
        if parts[-1].startswith(HIDDEN):
            alias = self._aliases.find(parts)
            if alias is None:
                raise not_there()
            return alias.fixed
        if self._ground.outside(parts):
            raise not_there()
        if self._aliases.hides and self._aliases.hidden(address):
            raise not_there()
        return self._plain_file(self._ground.overlay.stat(parts), caller)

    def kind_directory(self, address: KindDirectory) -> Attributes:
        """Its mtime moves with its entries, the plain files among them included."""
        ground, settings = self._ground, self._ground.settings
        inode, mode, mtime_ns = ground.engine.directory(ground.scope, address.kind)
        mtime_ns = max(mtime_ns, self._plain_mtime_ns(address.directory))
        if address.top:
            inode = ROOT
        return shape.of_directory(
            inode, mode & ~settings.umask, mtime_ns, settings.uid, settings.gid
        )

    def _plain_mtime_ns(self, directory: str) -> int:
        """When a plain file in a kind's directory came or went last; kept until one does again."""
        overlay = self._ground.overlay
        changes = overlay.changes
        known = self._directories.get(directory)
        if known is not None and known[0] == changes:
            return known[1]
        try:
            found = overlay.stat((directory,)).st_mtime_ns
        except FileNotFoundError:  # no plain file was ever put there
            found = 0
        self._directories[directory] = (changes, found)
        return found

    def _root(self) -> Attributes:
        settings = self._ground.settings
        mode, mtime_ns = self._ground.root_look()
        return shape.of_directory(ROOT, mode, mtime_ns, settings.uid, settings.gid)

    # -- special names -----------------------------------------------------
    def special(self, address: Special, caller: Caller) -> Attributes:
        """A control file, or something in `.rejected`."""
        if address.name.name == self._rejected.name:
            return self._rejected.look(address)
        name = special_name(address)
        mode = self._ground.control.mode(name)
        if mode is None:
            raise not_there(name)
        size, mtime_ns = self._own_talk(name, caller) or self._answer(name, caller, mode)
        settings = self._ground.settings
        inode = self._ground.inodes.special(name)
        return shape.of_file(inode, mode, size, mtime_ns, mtime_ns, settings.uid, settings.gid)

    def answer(self, address: Special, caller: Caller) -> bytes:
        """The bytes of a control file."""
        self._aliases.settle_for_answers()
        return self._ground.control.serve(special_name(address), caller)

    def _answer(self, name: str, caller: Caller, mode: int) -> tuple[int, int]:
        """(size, mtime): the time when the answer was first this one."""
        self._aliases.settle_for_answers()
        try:
            data = self._ground.control.serve(name, caller)
        except FsError:
            if not mode & 0o222:
                raise
            data = b""  # the last request was refused: reading fails, asking anew must not
        known = self._answers.get(name)
        if known is not None and known[0] == data:
            return len(data), known[1]
        now_ns = self._ground.clock() if known is not None else self._mounted_ns
        self._answers[name] = (data, now_ns)
        if len(self._answers) > _KEPT_ANSWERS:
            self._answers.popitem(last=False)
        return len(data), now_ns

    def forget(self, talk: Pinned | Talk) -> None:
        """A control file is closed."""
        for name, talks in list(self.talks.items()):
            if talk in talks:
                talks.remove(talk)
                if not talks:
                    self.talks.pop(name, None)

    def _own_talk(self, name: str, caller: Caller) -> tuple[int, int] | None:
        """(size, mtime) of the answer that the caller's process has open, if it has."""
        talks = self.talks.get(name)
        if not talks:
            return None
        pid = caller.pid
        for talk in reversed(list(talks)):
            if isinstance(talk, Talk):
                if talk.caller.pid == pid:
                    return talk.session.size(), self._ground.clock()
            elif talk.belongs(pid):
                known = self._answers.get(name)
                return len(talk.data), self._mounted_ns if known is None else known[1]
        return None


def special_name(address: Special) -> str:
    """The name as it stands in the path."""
    if address.request is None:
        return address.name.name
    return f"{address.name.name}?{address.request}"


def missing(address: Misnamed) -> NoReturn:
    """Nothing can be under that name; only what a path goes through is told apart."""
    if address.code == "ENOTDIR":
        raise FsError(address.code, address.sentence)
    raise not_there()
