"""Inode numbers, and what stands behind them.

Engrams, blanks and the directories of kinds bring the engine's own lasting numbers (below 2**40).
Special names, aliases of hidden files, the overlay, and the links of `.graph` and `.views` have
ranges of their own, so that no two things in a mount share a number.
"""

from __future__ import annotations

import hashlib
import threading
import time
from typing import TYPE_CHECKING

from engine.model import Entry
from engramfs.address import Address
from engramfs.errors import FsError
from engramfs.ports import Attributes

if TYPE_CHECKING:
    from engramfs.files import File

ROOT = 1
_SPECIAL = 1 << 44
_ALIAS = 1 << 46
OVERLAY = 1 << 48
_WALKED = 1 << 62
_KEPT = 1 << 17  # numbers remembered; a program between two calls needs a handful


class Alias:
    """A file that was unlinked or replaced while open, under libfuse's name for it.

    `address` is where it was, `fixed` what it looked like when it was hidden; `descriptor` is a
    plain file's.
    """

    __slots__ = ("address", "descriptor", "entry", "file", "fixed", "number", "since")

    def __init__(
        self,
        number: int,
        address: Address,
        fixed: Attributes,
        file: File | None = None,
        entry: Entry | None = None,
        descriptor: int | None = None,
    ) -> None:
        self.number = number
        self.since = time.monotonic()
        self.address = address
        self.fixed = fixed
        self.file = file
        self.entry = entry
        self.descriptor = descriptor


Node = Address | Alias


def walked(*steps: str) -> int:
    """The lasting number of what is found by these steps (ids where there are any): a hash of them
    in a range of its own. No table: a directory may hold 100,000 links."""
    digest = hashlib.blake2b("\0".join(steps).encode(), digest_size=8).digest()
    return _WALKED | int.from_bytes(digest) & (_WALKED - 1)


class Inodes:
    """Number -> address, for the numbers given out lately; the oldest are forgotten."""

    def __init__(self) -> None:
        self._nodes: dict[int, Node] = {}
        self._specials: dict[str, int] = {}
        self._guard = threading.Lock()
        self._next_special = _SPECIAL
        self._next_alias = _ALIAS

    def remember(self, inode: int, node: Node) -> int:
        """`inode` now leads to `node`."""
        nodes = self._nodes
        if nodes.get(inode) is not node:
            if len(nodes) >= _KEPT:
                self._forget()
            nodes[inode] = node
        return inode

    def node(self, inode: int) -> Node:
        """What the number leads to. Raises ESTALE for one that was not given out lately."""
        found = self._nodes.get(inode)
        if found is None:
            raise FsError("ESTALE", f"inode {inode} is not known", "look the path up again")
        return found

    def special(self, key: str) -> int:
        """The number of a special name, the same as long as it is in use."""
        with self._guard:
            found = self._specials.get(key)
            if found is None:
                if len(self._specials) >= _KEPT:
                    del self._specials[next(iter(self._specials))]
                self._next_special += 1
                found = self._specials[key] = self._next_special
            return found

    def alias(self) -> int:
        """A fresh number for an alias."""
        with self._guard:
            self._next_alias += 1
            return self._next_alias

    def _forget(self) -> None:
        with self._guard:
            for inode in list(self._nodes)[: _KEPT // 8]:
                if inode != ROOT:
                    self._nodes.pop(inode, None)
