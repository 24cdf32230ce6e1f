"""readdir: engrams and blanks by the spelling they were created with, plain files beside them."""

from __future__ import annotations

import stat

from engine.slug import SUFFIX, nfc
from engramfs.address import (
    EngramFile,
    KindDirectory,
    Misnamed,
    Plain,
    Root,
    Special,
    Walk,
    looks_like_engram,
)
from engramfs.aliases import Aliases
from engramfs.errors import FsError
from engramfs.ground import HIDDEN, Ground, not_there
from engramfs.inodes import OVERLAY, Node
from engramfs.looking import missing
from engramfs.ports import Caller, Listed, Names
from engramfs.rejected import RejectedFiles
from engramfs.walks import Walks


class Listing:
    """Lists directories. No name is listed twice; special and hidden names never are."""

    def __init__(
        self, ground: Ground, aliases: Aliases, rejected: RejectedFiles, walks: Walks
    ) -> None:
        self._ground = ground
        self._aliases = aliases
        self._rejected = rejected
        self._walks = walks

    def entries(self, node: Node, caller: Caller) -> list[Listed]:
        """Entries without `.` and `..`. ENOTDIR, ENOENT."""
        if isinstance(node, KindDirectory):
            return self._kind(node, caller)
        if isinstance(node, Root):
            return self._root()
        if isinstance(node, Plain):
            if self._ground.outside(node.parts):
                raise not_there()
            self._ground.overlay.stat(node.parts)  # a missing one lists as empty otherwise
            return self._plain(node.parts)
        if isinstance(node, Special) and node.name.name == self._rejected.name:
            return self._rejected.listing(node)
        if isinstance(node, Walk):
            return self._walks.listing(node)
        if isinstance(node, Misnamed):
            missing(node)
        raise FsError("ENOTDIR", "it is a file")

    def _root(self) -> list[Listed]:
        ground = self._ground
        catalogue = ground.engine.catalogue
        listed = []
        for kind in catalogue.parents():
            if ground.shown(kind.name):
                inode = ground.engine.directory(ground.scope, kind.name)[0]
                listed.append(Listed(kind.directory, inode, stat.S_IFDIR))
        for found in self._plain(()):
            of_kind = catalogue.by_directory(nfc(found.name)) is not None
            if not of_kind and not ground.control.reserved(found.name):
                listed.append(found)
        return listed

    def _kind(self, address: KindDirectory, caller: Caller) -> list[Listed]:
        ground = self._ground
        if ground.closing:
            ground.closing.wait(kind=address.kind)
        gone = {
            hide.address.slug
            for hide in list(self._aliases.hides.values())
            if isinstance(hide.address, EngramFile)
            and hide.address.kind == address.kind
            and self._aliases.hidden(hide.address)
        }
        listed = {
            entry.slug: Listed(entry.name + SUFFIX, entry.inode, stat.S_IFREG)
            for entry in ground.engine.entries(ground.scope, address.kind)
            if entry.slug not in gone
        }
        for file in ground.files.in_kind(address.kind):
            slug = file.address.slug
            if not file.pending or slug in listed or slug in gone:
                continue
            # A path whose new content is pending still has what it lost; a new file is seen by
            # those who write it, and by the others once it is committed.
            if file.lost is not None and not file.refused:
                listed[slug] = Listed(file.lost.name + SUFFIX, file.inode, stat.S_IFREG)
            elif file.own(caller, None) is not None and not file.refused:
                listed[slug] = Listed(file.address.name + SUFFIX, file.inode, stat.S_IFREG)
        found = list(listed.values())
        for plain in self._plain((address.directory,)):
            if looks_like_engram(plain.name) and plain.name.endswith(SUFFIX):
                continue
            if not (address.top and ground.control.reserved(plain.name)):
                found.append(plain)
        return found

    def _plain(self, parts: Names) -> list[Listed]:
        hides = self._aliases.hides
        listed = []
        for name, inode, kind in self._ground.overlay.entries(parts):
            if name.startswith(HIDDEN):
                continue
            if hides and self._aliases.hidden(Plain((*parts, name))):
                continue
            listed.append(Listed(name, inode + OVERLAY, kind))
        return listed
