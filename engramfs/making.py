"""Making and removing names: directories, links, special files, unlink."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from engine.errors import Conflict, Invalid, NotFound
from engramfs.address import (
    Address,
    EngramFile,
    KindDirectory,
    Misnamed,
    Plain,
    Root,
    Special,
    Walk,
    forbidden_engram_shape,
)
from engramfs.aliases import Aliases, hidden_name
from engramfs.errors import FsError
from engramfs.files import place_of
from engramfs.ground import HIDDEN, Ground, by, misnamed, not_there
from engramfs.inodes import Node
from engramfs.looking import missing
from engramfs.opener import Opener
from engramfs.ports import Caller
from engramfs.rejected import RejectedFiles
from engramfs.walks import Walks


class Making:
    """mkdir, rmdir, unlink, symlink, link."""

    def __init__(
        self,
        ground: Ground,
        opener: Opener,
        aliases: Aliases,
        rejected: RejectedFiles,
        walks: Walks,
    ) -> None:
        self._ground = ground
        self._opener = opener
        self._aliases = aliases
        self._rejected = rejected
        self._walks = walks

    # -- making ------------------------------------------------------------
    def mkdir(self, address: Address, mode: int) -> None:
        """A plain directory, or at the root of an open mount a kind."""
        ground = self._ground
        if isinstance(address, Walk):
            self._walks.mkdir(address)
        self._allow(address, "directory")
        if isinstance(address, Root | KindDirectory):
            raise FsError("EEXIST", "the directory is there already")
        if not isinstance(address, Plain):
            return
        name = address.parts[0]
        makes_kind = (
            len(address.parts) == 1
            and ground.layout.root is None
            and ground.engine.catalogue.open
            and not name.startswith(".")
        )
        if not makes_kind:
            ground.overlay.mkdir(address.parts, mode)
            return
        if ground.settings.only_kinds is not None:
            raise FsError("EPERM", f"the kind {name} would not be shown here", "see --only-kinds")
        try:
            name.encode()
            ground.engine.make_kind(name)
        except UnicodeEncodeError:
            raise FsError("EINVAL", "the name of a kind is valid UTF-8") from None
        except Conflict as error:
            raise FsError("EEXIST", error.message, error.hint) from None
        except Invalid as error:
            raise FsError("EINVAL", str(error)) from None
        ground.touch_root(ground.clock())

    def symlink(self, address: Address, target: str, caller: Caller) -> None:
        """A symlink in the overlay; in `.graph` an edge."""
        if isinstance(address, Walk):
            self._walks.symlink(address, target, caller)
            return
        self._allow(address, "symlink")
        if isinstance(address, Plain):
            self._ground.overlay.symlink(target, address.parts)
        else:
            raise FsError("EEXIST", "the directory is there already")

    def readlink(self, node: Node) -> str:
        """The target as written. EINVAL for what is no symlink."""
        if isinstance(node, Walk):
            return self._walks.readlink(node)
        if not isinstance(node, Plain):
            raise FsError("EINVAL", "it is no symlink")
        if self._ground.outside(node.parts):
            raise not_there()
        return self._ground.overlay.readlink(node.parts)

    def link(self, node: Node, address: Address) -> None:
        """A hard link between two names of the overlay."""
        if not isinstance(node, Plain):
            raise FsError(
                "EPERM", "an engram has one path", "make a copy, or link to it in the text"
            )
        self._allow(address, "hard link")
        if not isinstance(address, Plain):
            raise FsError("EEXIST", "the directory is there already")
        self._ground.overlay.link(node.parts, address.parts)

    def mknod(self, address: Address, mode: int) -> None:
        """Only regular files, which the tree makes by `create`."""
        if not stat.S_ISREG(mode):
            self._allow(address, "fifo, socket or device")
            raise FsError("EPERM", "only files, directories and symlinks can be made here")

    def _allow(self, address: Address, shape: str) -> None:
        """The rules for everything that is no regular file."""
        self._ground.require_writable()
        if isinstance(address, Misnamed):
            raise misnamed(address)
        if isinstance(address, Special):
            raise FsError("EACCES", f"{address.name.name} is a special name; nothing can be made")
        if isinstance(address, Walk):
            raise self._walks.refuse_file(address)
        if isinstance(address, EngramFile):
            raise FsError("EPERM", forbidden_engram_shape(address, shape))
        if isinstance(address, Plain):
            self._opener.allow_plain(address, os.O_EXCL)

    # -- removing ----------------------------------------------------------
    def rmdir(self, address: Address) -> None:
        """A plain directory, or an empty kind: a declared one stays."""
        ground = self._ground
        ground.require_writable()
        if isinstance(address, Plain):
            if ground.outside(address.parts):
                raise not_there()
            ground.overlay.rmdir(address.parts)
            return
        if isinstance(address, Misnamed):
            missing(address)
        if isinstance(address, Special):
            self._rmdir_special(address)
            return
        if isinstance(address, Walk):
            self._walks.rmdir(address)
            return
        if isinstance(address, EngramFile):
            if ground.entry(place_of(address)) is None:
                raise not_there()
            raise FsError("ENOTDIR", "an engram is a file")
        if isinstance(address, Root) or address.top:
            raise FsError("EBUSY", "it is the mountpoint")
        self._rmdir_kind(address)

    def _rmdir_kind(self, address: KindDirectory) -> None:
        ground = self._ground
        self._aliases.settle_all()
        parts = (address.directory,)
        occupied = (
            ground.engine.entries(ground.scope, address.kind)
            or any(file.pending for file in ground.files.in_kind(address.kind))
            or ground.overlay.entries(parts)
        )
        if occupied:
            raise FsError("ENOTEMPTY", f"{address.directory} is not empty")
        if not ground.engine.catalogue.open:
            return  # the catalogue says that it is there
        ground.engine.remove_kind(address.kind)
        with suppress(FileNotFoundError):  # if no plain file was ever put there
            ground.overlay.rmdir(parts)
        ground.touch_root(ground.clock())

    def _rmdir_special(self, address: Special) -> None:
        """`rm -r .rejected/deal`: the directory goes with its last file."""
        if address.name.name != self._rejected.name or not address.rest:
            raise FsError("EACCES", f"{address.name.name} cannot be removed")
        if self._rejected.listing(address):
            raise FsError("ENOTEMPTY", f"{'/'.join(address.rest)} holds refused bytes")

    def unlink(self, address: Address, caller: Caller) -> None:
        """Remove a name that is no directory."""
        ground = self._ground
        parts = hidden_name(address)
        if parts is not None and parts[-1].startswith(HIDDEN):
            if not self._aliases.drop(parts):
                raise not_there()
            return
        ground.require_writable()
        if isinstance(address, EngramFile):
            if self._aliases.hides and self._aliases.hidden(address):
                raise not_there()
            if not self.unlink_engram(address, by(caller)):
                raise not_there()
        elif isinstance(address, Plain):
            if ground.outside(address.parts):
                raise not_there()
            if self._aliases.hides and self._aliases.hidden(address):
                raise not_there()
            self.unlink_plain(address)
        elif isinstance(address, Special):
            if address.name.name != self._rejected.name:
                raise FsError("EACCES", f"{address.name.name} is generated")
            self._rejected.discard(address)
        elif isinstance(address, Walk):
            self._walks.unlink(address)
        elif isinstance(address, Misnamed):
            missing(address)
        else:
            raise FsError("EISDIR", "it is a directory")

    def remove(self, address: EngramFile | Plain, writer: str) -> None:
        """What was hidden is removed; somebody else may have done that meanwhile."""
        if isinstance(address, EngramFile):
            self.unlink_engram(address, writer)
        else:
            with suppress(FileNotFoundError):
                self.unlink_plain(address)

    def unlink_plain(self, address: Plain) -> None:
        """A plain file, and what is remembered of it."""
        if self._ground.births:
            self._ground.births.pop(self._ground.overlay.stat(address.parts).st_ino, None)
        self._ground.overlay.unlink(address.parts)

    def unlink_engram(self, address: EngramFile, writer: str) -> bool:
        """Soft-delete what is at a path; False when there is nothing."""
        ground, place = self._ground, place_of(address)
        with ground.locks.hold(place):
            file = ground.files.get(place)
            entry = ground.entry(place)
            if entry is None:
                if file is None or not file.pending:
                    return False
            elif entry.empty:
                ground.engine.drop_blank(ground.scope, address.kind, address.slug)
            else:
                try:
                    ground.engine.delete(ground.scope, entry.id, why="unlink", by=writer)
                except NotFound:
                    return False
            if file is not None:
                ground.files.detach(file, entry)
        return True
