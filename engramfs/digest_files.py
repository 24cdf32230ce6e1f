"""`.digests`: a file for each digest that says what its engrams say now.

    .digests/<name>.md

A stale one, and one that could not be made, is not there: `.digests?ask=map` tells of those.
Nothing can be changed here: a digest follows from engrams.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from engine.errors import NotFound
from engine.slug import MAX_NAME_BYTES, SUFFIX, nfc
from engramfs import attributes as shape
from engramfs.address import Walk
from engramfs.changes import Changes
from engramfs.digest_text import file_text
from engramfs.errors import FsError
from engramfs.ground import Ground, not_there
from engramfs.handles import Pinned
from engramfs.inodes import walked
from engramfs.ports import Attributes, Caller, Listed

if TYPE_CHECKING:
    from engine.model import Digest

_TOP = ".digests"


class DigestFiles:
    """Looks, lists and reads."""

    def __init__(self, ground: Ground, changes: Changes) -> None:
        self._ground = ground
        self._changes = changes

    def look(self, address: Walk) -> Attributes:
        """ENOENT, ENOTDIR."""
        settings = self._ground.settings
        if address.steps:
            return self._look(self._digest(address))
        newest = max((each.built_ns for each in self._fresh()), default=0)
        return shape.of_directory(
            walked(_TOP), 0o555, max(newest, self._changes.at_ns), settings.uid, settings.gid
        )

    def listing(self, address: Walk) -> list[Listed]:
        """Entries of the directory. ENOENT, ENOTDIR."""
        if address.steps:
            self._digest(address)
            raise FsError("ENOTDIR", "a digest is a file")
        names = map(_file, self._fresh())
        return [Listed(name, walked(_TOP, name), stat.S_IFREG) for name in names]

    def readlink(self, address: Walk) -> str:
        """EINVAL: nothing here is a link."""
        self.look(address)
        raise FsError("EINVAL", "it is no symlink")

    def engram_at(self, address: Walk) -> None:
        """No link leads to an engram here."""

    def open(self, address: Walk, flags: int, caller: Caller) -> Pinned:
        """The bytes as they are now. EISDIR, EACCES."""
        if not address.steps:
            raise FsError("EISDIR", f"{_TOP} is a directory")
        digest = self._digest(address)
        if flags & (os.O_ACCMODE | os.O_TRUNC):
            raise FsError("EACCES", "a digest is made of what engrams say", "change those")
        return Pinned(file_text(digest), caller, fixed=self._look(digest))

    # -- inside ------------------------------------------------------------
    def _look(self, digest: Digest) -> Attributes:
        settings, at_ns = self._ground.settings, digest.built_ns
        return shape.of_file(
            walked(_TOP, _file(digest)), 0o444, len(file_text(digest)), at_ns, at_ns,
            settings.uid, settings.gid,
        )  # fmt: skip

    def _digest(self, address: Walk) -> Digest:
        file, *beyond = address.steps
        name = nfc(file.removesuffix(SUFFIX))
        engine = self._ground.engine
        try:
            found = engine.digest(self._ground.sight, name) if file.endswith(SUFFIX) else None
        except NotFound:
            found = None
        if found is None or found.stale:
            raise not_there(file)
        if beyond:
            raise FsError("ENOTDIR", "a digest is a file")
        return found

    def _fresh(self) -> list[Digest]:
        """Those that are shown; one that is too long for a name is not among them."""
        ground = self._ground
        return [
            digest
            for digest in ground.engine.digests(ground.sight)
            if not digest.stale and len(_file(digest).encode()) <= MAX_NAME_BYTES
        ]


def _file(digest: Digest) -> str:
    return f"{digest.name}{SUFFIX}"
