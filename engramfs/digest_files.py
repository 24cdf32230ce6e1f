"""`.digests`: a file for each digest that says what its engrams say now.

    .digests/<name>.md

A stale one, and one that could not be made, is not there: `.digests?ask=map` tells of those.
Nothing can be changed here: a digest follows from engrams.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from engine.slug import MAX_NAME_BYTES, SUFFIX, nfc
from engramfs import attributes as shape
from engramfs.address import Walk
from engramfs.changes import Changes
from engramfs.digest_answers import shown_digests
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
            return self._file(self._digest(address))
        newest = max((each.built_ns for each in self._fresh().values()), default=0)
        return shape.of_directory(
            walked(_TOP), 0o555, max(newest, self._changes.at_ns), settings.uid, settings.gid
        )

    def listing(self, address: Walk) -> list[Listed]:
        """Entries of the directory. ENOENT, ENOTDIR."""
        if address.steps:
            self._digest(address)
            raise FsError("ENOTDIR", "a digest is a file")
        return [Listed(name, walked(_TOP, name), stat.S_IFREG) for name in self._fresh()]

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
        return Pinned(file_text(digest), caller, fixed=self._file(digest))

    # -- inside ------------------------------------------------------------
    def _file(self, digest: Digest) -> Attributes:
        settings = self._ground.settings
        name, at_ns = f"{digest.name}{SUFFIX}", digest.built_ns
        return shape.of_file(
            walked(_TOP, name), 0o444, len(file_text(digest)), at_ns, at_ns,
            settings.uid, settings.gid,
        )  # fmt: skip

    def _digest(self, address: Walk) -> Digest:
        name, *beyond = address.steps
        found = self._fresh().get(nfc(name))
        if found is None:
            raise not_there(name)
        if beyond:
            raise FsError("ENOTDIR", "a digest is a file")
        return found

    def _fresh(self) -> dict[str, Digest]:
        """By the name of the file; one that is too long for a name is not among them."""
        ground, settings = self._ground, self._ground.settings
        root = ground.layout.root
        kinds = settings.only_kinds if root is None else frozenset({root.kind})
        found = {
            f"{nfc(digest.name)}{SUFFIX}": digest
            for digest in shown_digests(ground.engine, ground.scope, kinds)
            if not digest.stale
        }
        return {name: each for name, each in found.items() if len(name.encode()) <= MAX_NAME_BYTES}
