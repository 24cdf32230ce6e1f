"""The rename matrix: engrams, plain files and refused bytes, onto engrams' names and plain names.

Everything is validated first and then changes together, or nothing changes. What cannot be one
transaction (an engram's bytes leave for the overlay, or come from it) is ordered so that kill -9 in
between leaves the bytes in both places, never in neither.
"""

from __future__ import annotations

import os

from engine.errors import Invalid
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
from engramfs.aliases import Aliases, hidden_name
from engramfs.arriving import Arriving
from engramfs.errors import FsError
from engramfs.files import place_of
from engramfs.ground import HIDDEN, Ground, misnamed, not_there
from engramfs.handles import PlainHandle
from engramfs.leaving import Leaving
from engramfs.looking import Looking, missing
from engramfs.moving import Moving
from engramfs.opener import Opener
from engramfs.ports import Caller
from engramfs.rejected import RejectedFiles
from engramfs.walks import Walks

NOREPLACE, EXCHANGE = 1, 2  # as the kernel numbers them; WHITEOUT (4) is EINVAL


class Renaming:
    """Decides which rename it is."""

    def __init__(
        self,
        ground: Ground,
        looking: Looking,
        aliases: Aliases,
        opener: Opener,
        rejected: RejectedFiles,
        walks: Walks,
        moving: Moving,
        leaving: Leaving,
        arriving: Arriving,
    ) -> None:
        self._ground = ground
        self._looking = looking
        self._aliases = aliases
        self._opener = opener
        self._rejected = rejected
        self._walks = walks
        self._moving = moving
        self._leaving = leaving
        self._arriving = arriving

    def rename(self, old: Address, new: Address, flags: int, caller: Caller) -> None:
        """renameat2. EINVAL for flags that cannot be had here."""
        self._ground.require_writable()
        hidden = hidden_name(new)
        if hidden is not None and hidden[-1].startswith(HIDDEN):
            self._hide(old, hidden, caller)
            return
        if flags & ~(NOREPLACE | EXCHANGE) or flags == NOREPLACE | EXCHANGE:
            raise FsError("EINVAL", "these rename flags are not possible here")
        _require_names(old, new)
        if isinstance(old, Walk) or isinstance(new, Walk):
            self._walks.rename(old, new)
            return
        if self._aliases.hides:
            if isinstance(new, EngramFile | Plain):
                self._aliases.restore(new)
            if isinstance(old, EngramFile | Plain) and self._aliases.hidden(old):
                raise not_there()
        if isinstance(new, Plain):
            self._opener.allow_plain(new, os.O_EXCL)
        if flags & EXCHANGE:
            self._exchange(old, new)
        elif isinstance(old, EngramFile) and isinstance(new, EngramFile):
            self._moving.move(old, new, bool(flags & NOREPLACE), caller)
        elif isinstance(old, EngramFile) and isinstance(new, Plain):
            self._leaving.leave(old, new, bool(flags & NOREPLACE), caller)
        elif isinstance(old, Plain) and isinstance(new, EngramFile):
            self._require_shown(old)
            self._arriving.arrive(old, new, bool(flags & NOREPLACE), caller)
        elif isinstance(old, Plain) and isinstance(new, Plain):
            self._require_shown(old)
            self._ground.overlay.rename(old.parts, new.parts, flags)
            self._aliases.moved(old.parts, new.parts)
        elif isinstance(old, Special):
            self._write_again(old, new, bool(flags & NOREPLACE), caller)

    def _require_shown(self, address: Plain) -> None:
        if self._ground.outside(address.parts):
            raise not_there()

    def _exchange(self, old: Address, new: Address) -> None:
        ground = self._ground
        if isinstance(old, Plain) and isinstance(new, Plain):
            self._require_shown(old)
            self._opener.allow_plain(old, os.O_EXCL)
            ground.overlay.rename(old.parts, new.parts, EXCHANGE)
            return
        if not isinstance(old, EngramFile) or not isinstance(new, EngramFile):
            raise FsError("EINVAL", "only two engrams or two plain files can be exchanged")
        with ground.locks.hold(place_of(old), place_of(new)):
            first, second = ground.entry(place_of(old)), ground.entry(place_of(new))
            if first is None or second is None:
                raise not_there()
            if first.empty or second.empty:
                raise FsError("EINVAL", "an empty entry cannot be exchanged")
            try:
                ground.engine.exchange(ground.scope, first.id, second.id)
            except Invalid as error:
                raise FsError("EINVAL", f"they cannot be exchanged: {error}") from None
            ground.files.swap(old, new)

    def _write_again(self, old: Special, new: Address, no_replace: bool, caller: Caller) -> None:
        """mv from `.rejected` is a write of those bytes."""
        found = self._rejected.find(old)
        data = self._rejected.read(old)
        if isinstance(new, EngramFile):
            self._arriving.write(new, data, no_replace, caller)
            self._rejected.discard_moved(found, new)
        elif isinstance(new, Plain):
            self._leaving.write(new, data, 0o644, self._ground.clock(), no_replace)
            self._rejected.discard_moved(found, None)

    # -- libfuse's hide ----------------------------------------------------
    def _hide(self, old: Address, parts: tuple[str, ...], caller: Caller) -> None:
        ground = self._ground
        if isinstance(old, EngramFile):
            if self._aliases.hides and self._aliases.hidden(old):
                raise not_there()
            file = ground.files.get(place_of(old))
            entry = ground.entry(place_of(old))
            fixed = self._looking.common(old)
            self._aliases.hide(old, parts, fixed, caller, file=file, entry=entry)
        elif isinstance(old, Plain):
            fixed = self._looking.look(old, caller)
            self._aliases.hide(old, parts, fixed, caller, descriptor=self._descriptor(old))
        elif isinstance(old, Special) and old.name.name == self._rejected.name:
            fixed = self._looking.special(old, caller)
            self._rejected.discard(old)
            self._aliases.hide(old, parts, fixed, caller)
        elif isinstance(old, Misnamed):
            missing(old)
        else:
            raise FsError("EPERM", "only files are hidden")

    def _descriptor(self, address: Plain) -> int | None:
        """A descriptor of a plain file that outlives its name. Its last handle may be released
        already while libfuse, or somebody between lookup and open, still means it."""
        inode = self._ground.overlay.stat(address.parts).st_ino
        for handle in list(self._ground.handles.values()):
            if isinstance(handle, PlainHandle) and handle.inode == inode:
                return os.dup(handle.descriptor)
        try:
            return self._ground.overlay.open(address.parts, os.O_RDONLY)
        except OSError:  # a symlink, or not ours to read
            return None


def _require_names(old: Address, new: Address) -> None:
    """The rules that need no look at what is there."""
    if isinstance(old, Misnamed):
        missing(old)
    if isinstance(new, Misnamed):
        raise misnamed(new)
    if isinstance(new, Special):
        raise FsError("EACCES", f"{new.name.name} is a special name; nothing can be put there")
    if isinstance(old, Special) and not (old.name.name == RejectedFiles.name and old.rest):
        raise FsError("EACCES", f"{old.name.name} is generated; it cannot be moved")
    if isinstance(old, Root) or isinstance(new, Root):
        raise FsError("EBUSY", "it is the mountpoint")
    if isinstance(old, KindDirectory) or isinstance(new, KindDirectory):
        raise FsError(
            "EPERM",
            "the directory of a kind cannot be renamed or replaced",
            "make another kind and move the engrams into it",
        )
