"""Opening and creating: an address and flags in, a handle out."""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress

from engine.model import Entry
from engramfs.address import (
    Address,
    EngramFile,
    Misnamed,
    Plain,
    Special,
    Walk,
    forbidden_plain,
)
from engramfs.aliases import Alias, Aliases
from engramfs.caller import asker
from engramfs.errors import FsError
from engramfs.files import File, place_of
from engramfs.ground import Ground, by, is_hidden, misnamed, not_there
from engramfs.handles import Pinned, PlainHandle, Talk
from engramfs.inodes import Node
from engramfs.looking import Looking, missing, special_name
from engramfs.ports import Attributes, Caller, Opened
from engramfs.rejected import RejectedFiles
from engramfs.staging import Staged
from engramfs.walks import Walks

_FRESH_SECONDS = 1.0  # a file hidden longer ago was no accident of timing
_KEPT_LATE = 256
_SERVER = os.getpid()  # reads on nobody's behalf


class Opener:
    """Makes handles."""

    def __init__(
        self,
        ground: Ground,
        looking: Looking,
        aliases: Aliases,
        rejected: RejectedFiles,
        walks: Walks,
    ) -> None:
        self._ground = ground
        self._looking = looking
        self._aliases = aliases
        self._rejected = rejected
        self._walks = walks
        self._late: dict[int, Address] = {}  # by thread: what it opened too late
        self._counts = ground.engine.config.demand  # who reads: to find that out costs 30 µs

    def open(self, node: Node, flags: int, caller: Caller) -> Opened:
        """Open what is there. EISDIR, ENOENT, EACCES (generated), EROFS, ESTALE."""
        if isinstance(node, EngramFile):
            return self._engram(node, flags, caller)
        if isinstance(node, Alias):
            return self._alias(node, flags, caller)
        if isinstance(node, Plain):
            return self._plain(node, flags, 0, caller)
        if isinstance(node, Special):
            return self._special(node, flags, caller)
        if isinstance(node, Walk):
            return Opened(self._ground.add(self._walks.open(node, flags, caller)), True)
        if isinstance(node, Misnamed):
            missing(node)
        raise FsError("EISDIR", "it is a directory")

    def create(
        self, address: Node, mode: int, flags: int, caller: Caller
    ) -> tuple[Attributes, Opened]:
        """Open a file, made first where it is missing. EEXIST with O_EXCL."""
        self._ground.require_writable()
        if isinstance(address, EngramFile):
            return self._create_engram(address, mode, flags, caller)
        if isinstance(address, Plain):
            self.allow_plain(address, flags)
            opened = self._plain(address, flags | os.O_CREAT, mode, caller)
            return self._looking.look(address, caller), opened
        if isinstance(address, Special):
            return self._create_special(address, flags, caller)
        if isinstance(address, Walk):
            return self._create_walk(address, flags, caller)
        if isinstance(address, Misnamed):
            raise misnamed(address)
        code = "EEXIST" if flags & os.O_EXCL else "EISDIR"
        raise FsError(code, "a directory has this name")

    def _create_walk(self, address: Walk, flags: int, caller: Caller) -> tuple[Attributes, Opened]:
        """What is there can be opened; nothing new can be made."""
        if not address.steps:
            raise self._walks.refuse_file(address)
        try:
            found = self._looking.look(address, caller)
        except FsError:
            raise self._walks.refuse_file(address) from None
        if flags & os.O_EXCL:
            raise FsError("EEXIST", f"{address.steps[-1]} is there already")
        return found, self.open(address, flags, caller)

    def allow_plain(self, address: Plain, flags: int = 0) -> None:
        """EPERM where no plain file may be made (one that is there may be opened)."""
        if is_hidden(address):
            raise FsError("EPERM", "this name is for files that were removed while open")
        if self._ground.outside(address.parts):
            raise FsError(
                "EPERM",
                f"{address.parts[0]} is a kind that this mount does not show",
                "see --only-kinds",
            )
        reason = forbidden_plain(address)
        if reason is None:
            return
        if not flags & os.O_EXCL:
            try:
                self._ground.overlay.stat(address.parts)
            except FileNotFoundError:
                pass
            else:
                return
        raise FsError("EPERM", reason)

    # -- engrams -----------------------------------------------------------
    def _engram(self, address: EngramFile, flags: int, caller: Caller) -> Opened:
        if flags & (os.O_ACCMODE | os.O_TRUNC):
            self._ground.require_writable()
            return self._stage_existing(address, flags, caller)
        if self._aliases.hides and self._aliases.hidden(address):
            raise not_there()
        return Opened(self._ground.add(self._read(address, caller)), True)

    def _read(self, address: EngramFile, caller: Caller) -> Pinned:
        """A handle for reading; that it was opened may be counted (`engine.demand`)."""
        handle, ground = self._pin(address, caller), self._ground
        if self._counts and handle.entry is not None and caller.pid != _SERVER:
            ground.engine.opened(ground.scope, handle.entry, asker(caller), by(caller))
        return handle

    def _pin(self, address: EngramFile, caller: Caller) -> Pinned:
        ground = self._ground
        place = (address.kind, address.slug)
        entry = ground.entry(place)
        if entry is not None:
            handle = Pinned(ground.source(entry), caller, entry=entry)
            ground.files.attach(address, entry, handle)
            return handle
        file = ground.files.get(place)
        if file is None or not file.pending:
            raise not_there()
        own = file.dirty_of(caller)
        if own is not None:  # its own process reads back what it wrote
            handle = Pinned(own.content(lambda: ground.current(file)), caller)
        elif file.lost is not None and not file.refused:
            handle = Pinned(ground.source(file.lost), caller, entry=file.lost)
        else:
            raise not_there()  # readers see committed documents only
        ground.files.join(file, handle)
        return handle

    def _stage_existing(self, address: EngramFile, flags: int, caller: Caller) -> Opened:
        ground = self._ground
        if self._aliases.hides and self._aliases.hidden(address):
            raise not_there()
        with ground.locks.hold(place_of(address)):
            entry = ground.entry(place_of(address))
            file = ground.files.get(place_of(address))
            if entry is None and (file is None or not file.pending):
                raise not_there()
            handle = self._stage(address, entry, flags, caller)
            return Opened(ground.add(handle), True)

    def _stage(
        self, address: EngramFile, entry: Entry | None, flags: int, caller: Caller
    ) -> Staged:
        """A write handle; the place's lock is held."""
        ground = self._ground
        only_appends = flags & os.O_APPEND and flags & os.O_ACCMODE == os.O_WRONLY
        base: bytes | None = b""
        if entry is not None and not flags & os.O_TRUNC:
            base = None if only_appends else ground.source(entry)
        pid = caller.pid
        handle = Staged(
            pid,
            base=base,
            base_entry=entry,
            readable=flags & os.O_ACCMODE != os.O_WRONLY,
            limit=ground.settings.file_bytes,
            now_ns=ground.clock(),
        )
        if flags & os.O_TRUNC:
            handle.truncate(0, pid=pid, now_ns=ground.clock(), current=bytes)
        ground.files.attach(address, entry, handle)
        return handle

    def _create_engram(
        self, address: EngramFile, mode: int, flags: int, caller: Caller
    ) -> tuple[Attributes, Opened]:
        ground, place = self._ground, place_of(address)
        if self._aliases.hides:
            self._aliases.settle_at(address)
        with ground.locks.hold(place):
            entry = ground.entry(place)
            file = ground.files.get(place)
            pending = file if file is not None and file.pending and entry is None else None
            if pending is not None and pending.refused:
                # Unlisted, so whoever creates it does not know that it is still being written.
                pending.refused = False
                handle = self._stage(address, None, flags | os.O_TRUNC, caller)
                opened = Opened(ground.add(handle), True)
            elif entry is not None or pending is not None:
                if flags & os.O_EXCL:
                    raise FsError("EEXIST", f"{ground.path(address)} is there already")
                if not flags & (os.O_ACCMODE | os.O_TRUNC):
                    opened = Opened(ground.add(self._read(address, caller)), True)
                else:
                    opened = Opened(ground.add(self._stage(address, entry, flags, caller)), True)
            else:
                self._new_file(address, mode)
                handle = self._stage(address, None, flags | os.O_TRUNC, caller)
                opened = Opened(ground.add(handle), True)
        return self._looking.engram(address, caller), opened

    def _new_file(self, address: EngramFile, mode: int) -> File:
        """A file that exists for its creators until something is committed."""
        ground = self._ground
        file = File(address)
        file.pending = True
        file.inode = ground.engine.new_inode()
        file.mode = mode & 0o777
        file.born_ns = ground.clock()
        file.lost = ground.engine.lost(ground.scope, address.kind, address.slug)
        ground.files.add(file)
        ground.inodes.remember(file.inode, address)
        return file

    # -- the others --------------------------------------------------------
    def _plain(self, address: Plain, flags: int, mode: int, caller: Caller) -> Opened:
        if flags & (os.O_ACCMODE | os.O_TRUNC | os.O_CREAT):
            self._ground.require_writable()
        if self._ground.outside(address.parts):
            raise not_there()
        if self._aliases.hides:
            if flags & os.O_CREAT:
                self._aliases.settle_at(address)
            elif self._aliases.hidden(address):
                raise not_there()
        overlay = self._ground.overlay
        if flags & os.O_CREAT:
            flags, new = self._made(address, flags, mode)
            if new is not None:
                handle = PlainHandle(new, flags, caller)
                self._ground.born(handle.inode)
                return Opened(self._ground.add(handle), False)
        descriptor = overlay.open(address.parts, flags & ~(os.O_CREAT | os.O_EXCL), mode)
        return Opened(self._ground.add(PlainHandle(descriptor, flags, caller)), False)

    def _made(self, address: Plain, flags: int, mode: int) -> tuple[int, int | None]:
        """(flags, descriptor of a new file); None when it was there already."""
        try:
            exclusive = flags | os.O_EXCL
            return flags, self._ground.overlay.open(address.parts, exclusive, mode)
        except FileExistsError:
            if flags & os.O_EXCL:
                raise
            return flags, None

    def _alias(self, alias: Alias, flags: int, caller: Caller) -> Opened:
        """A file that is gone can be read again (/proc/self/fd)."""
        ground, file = self._ground, alias.file
        if alias.descriptor is not None:
            kept = flags & (os.O_ACCMODE | os.O_TRUNC) | os.O_CLOEXEC
            descriptor = os.open(f"/proc/self/fd/{alias.descriptor}", kept)
            return Opened(ground.add(PlainHandle(descriptor, flags, caller)), False)
        if flags & (os.O_ACCMODE | os.O_TRUNC):
            return self._too_late(alias, flags, caller)
        if file is None:
            if alias.entry is None:
                raise FsError("ESTALE", "the file was removed")
            data = ground.source(alias.entry)
            return Opened(ground.add(Pinned(data, caller, fixed=alias.fixed)), True)
        if not file.gone:
            return self._engram(file.address, flags, caller)
        own = file.dirty_of(caller)
        if own is not None:
            data = own.content(lambda: ground.current(file))
        elif file.last is not None:
            data = ground.source(file.last)
        else:
            raise FsError("ESTALE", "the file was removed before anything was stored of it")
        handle = Pinned(data, caller, entry=file.last)
        ground.files.join(file, handle)
        return Opened(ground.add(handle), True)

    def _too_late(self, alias: Alias, flags: int, caller: Caller) -> Opened:
        """The engram was replaced between lookup and open, or is gone: it cannot be written any
        more. At ESTALE the kernel looks the path up again, but once only: a thread that is too
        late a second time gets what the path leads to now."""
        address = alias.address
        fresh = time.monotonic() - alias.since < _FRESH_SECONDS
        again = self._late.pop(caller.tid, None) == address
        if again and fresh and isinstance(address, EngramFile):
            with suppress(FsError):
                return self._stage_existing(address, flags, caller)
        if len(self._late) >= _KEPT_LATE:
            self._late.clear()
        self._late[caller.tid] = address
        raise FsError("ESTALE", "the file was removed or replaced; look its path up again")

    def _special(self, address: Special, flags: int, caller: Caller) -> Opened:
        ground = self._ground
        writes = bool(flags & (os.O_ACCMODE | os.O_TRUNC))
        if address.name.name == self._rejected.name:
            data = self._rejected.read(address)
            if writes:
                raise FsError(
                    "EACCES", "refused bytes are only read", "mv them out to write them again"
                )
            fixed = self._rejected.look(address)
            return Opened(ground.add(Pinned(data, caller, fixed=fixed)), True)
        name = special_name(address)
        mode = ground.control.mode(name)
        if mode is None:
            raise not_there(name)
        if stat.S_ISDIR(mode):
            raise FsError("EISDIR", f"{name} is a directory")
        talk: Pinned | Talk
        if writes or ground.control.live(name):
            if writes and not mode & 0o222:
                raise FsError("EACCES", f"{name} is generated and can only be read")
            talk = Talk(ground.control.session(name, caller), caller, name)
        else:
            data = self._looking.answer(address, caller)
            fixed = self._looking.special(address, caller)._replace(size=len(data))
            talk = Pinned(data, caller, fixed=fixed)
        number = ground.add(talk)
        self._looking.talks.setdefault(name, []).append(talk)
        return Opened(number, True)

    def _create_special(
        self, address: Special, flags: int, caller: Caller
    ) -> tuple[Attributes, Opened]:
        name = special_name(address)
        exists = address.name.name != self._rejected.name and self._ground.control.mode(name)
        if not exists or flags & os.O_EXCL:
            raise FsError("EACCES", f"{name} is a special name; nothing can be created there")
        opened = self._special(address, flags, caller)
        return self._looking.special(address, caller), opened
