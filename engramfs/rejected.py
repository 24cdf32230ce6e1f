"""The directory `.rejected`: refused bytes, by path, newest first. Reading and removing only."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

from engine.model import Rejected
from engine.slug import nfc
from engramfs import attributes as shape
from engramfs.address import EngramFile, Special
from engramfs.errors import FsError
from engramfs.ground import Ground, not_there
from engramfs.ports import Attributes, Listed

if TYPE_CHECKING:
    from collections.abc import Iterator

_SUFFIX = ".md"


class RejectedFiles:
    """`.rejected/<kind>/<slug>.md`, `.rejected/<slug>.md` in roots mode."""

    name = ".rejected"

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    # -- looking -----------------------------------------------------------
    def look(self, address: Special) -> Attributes:
        """Attributes of the directory, a kind's directory or a file in it."""
        settings = self._ground.settings
        if address.request is not None:
            raise not_there(address.name.name)
        inode = self._ground.inodes.special("/".join((self.name, *address.rest)))
        if self.is_directory(address):
            newest = max((each.at_ns for each in self._within(address)), default=0)
            return shape.of_directory(
                inode, 0o755 & ~settings.umask, newest, settings.uid, settings.gid
            )
        found = self.find(address)
        return shape.of_file(
            inode, 0o644, found.size, found.at_ns, found.at_ns, settings.uid, settings.gid
        )

    def is_directory(self, address: Special) -> bool:
        """Is it `.rejected` itself or, in prefix mode, a kind's directory in it?

        A kind's directory is listed while it has files, and can always be looked into.
        """
        if not address.rest:
            return True
        if self._roots or len(address.rest) != 1:
            return False
        return self._ground.kind_of(nfc(address.rest[0])) is not None

    def find(self, address: Special) -> Rejected:
        """The refused bytes under a name. ENOENT."""
        if len(address.rest) == (1 if self._roots else 2):
            name = nfc(address.rest[-1])
            for each in self._within(address):
                if nfc(_file_name(each)) == name:
                    return each
        raise not_there("/".join((self.name, *address.rest)))

    def listing(self, address: Special) -> list[Listed]:
        """Entries of `.rejected` or of a kind's directory in it."""
        special = self._ground.inodes.special
        if not self.is_directory(address):
            self.find(address)
            raise FsError("ENOTDIR", "refused bytes are a file")
        if self._roots or address.rest:
            parent = "/".join((self.name, *address.rest))
            names = [_file_name(each) for each in self._within(address)]
            return [Listed(name, special(f"{parent}/{name}"), stat.S_IFREG) for name in names]
        directories = dict.fromkeys(self._directory(each) for each in self._within(address))
        return [Listed(name, special(f"{self.name}/{name}"), stat.S_IFDIR) for name in directories]

    def read(self, address: Special) -> bytes:
        """Refused bytes. EISDIR, ENOENT."""
        if self.is_directory(address):
            raise FsError("EISDIR", "it is a directory")
        return self._ground.engine.rejected_source(self.find(address))

    # -- removing ----------------------------------------------------------
    def discard(self, address: Special) -> None:
        """`rm`: these bytes are not wanted any more."""
        if self.is_directory(address):
            raise FsError("EISDIR", "it is a directory")
        self._discard(self.find(address))

    def discard_moved(self, moved: Rejected, target: EngramFile | None) -> None:
        """`mv` out of `.rejected` succeeded. A commit at the bytes' own path cleared them already,
        and a rank may mean others by now."""
        if target is not None and (target.kind, target.name) == (moved.kind, moved.name):
            return
        for each in self._ground.engine.rejected(self._ground.scope):
            if (each.kind, each.name, each.sha256) == (moved.kind, moved.name, moved.sha256):
                self._discard(each)

    def _discard(self, rejected: Rejected) -> None:
        self._ground.engine.discard_rejected(
            self._ground.scope, rejected.kind, rejected.name, rejected.rank
        )

    # -- which -------------------------------------------------------------
    @property
    def _roots(self) -> bool:
        return self._ground.layout.root is not None

    def _within(self, address: Special) -> Iterator[Rejected]:
        for each in self._ground.engine.rejected(self._ground.scope):
            if not self._ground.shown(each.kind):
                continue
            if self._roots or not address.rest or self._directory(each) == nfc(address.rest[0]):
                yield each

    def _directory(self, rejected: Rejected) -> str:
        return nfc(self._ground.engine.catalogue.directory(rejected.kind))


def _file_name(rejected: Rejected) -> str:
    rank = f".{rejected.rank}" if rejected.rank else ""
    return f"{rejected.name}{_SUFFIX}{rank}"
