"""`.graph`: the edges as directories of symlinks.

    .graph/<kind>/<slug>/out/<relation>/<neighbour>.md      and in/<relation>/ for edges into it

A link is found by looking for that one edge, so that a directory with 100,000 neighbours costs no
more than one with three. The directory of a relation is there for every name that can be one, and
listed once it has an edge: `ln -s` into it makes the first.
"""

from __future__ import annotations

import stat
import time
from dataclasses import dataclass

from engine.model import Edge, Entry
from engine.slug import nfc
from engramfs import attributes as shape
from engramfs.address import Walk
from engramfs.answers import Kept
from engramfs.changes import Changes
from engramfs.edge_text import by_hand, edge_text, edge_values
from engramfs.errors import FsError
from engramfs.graph_address import (
    EdgeFile,
    GraphNode,
    NeighbourLink,
    Nothing,
    OfEngram,
    OfKind,
    OfRelation,
    Side,
    Top,
    graph_node,
)
from engramfs.ground import Ground, not_there
from engramfs.inodes import walked
from engramfs.link_names import LINK, ById, meaning, stem_of
from engramfs.ports import Attributes, Listed
from engramfs.targets import Targets

DEPTH = 5  # of a link's directory below the root of the mount
_ASKED = 1024  # names that links were made under
_ASKED_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Found:
    """A neighbour by one relation, and the edges that lead to it; at least one."""

    engram: Entry
    other: Entry
    outward: bool
    edges: tuple[Edge, ...]

    @property
    def source(self) -> Entry:
        return self.engram if self.outward else self.other

    @property
    def target(self) -> Entry:
        return self.other if self.outward else self.engram

    @property
    def relation(self) -> str:
        return self.edges[0].relation

    @property
    def moved_ns(self) -> int:
        """When what is said of the edge changed last."""
        return max(edge.updated_ns for edge in self.edges)


class GraphFiles:
    """Looks and lists; `engramfs.graph_edits` changes."""

    def __init__(self, ground: Ground, targets: Targets, changes: Changes) -> None:
        self._ground = ground
        self._targets = targets
        self._changes = changes
        self._asked: Kept[tuple[str, bool, str, str], str] = Kept(
            _ASKED, _ASKED_SECONDS, time.monotonic
        )

    # -- looking -----------------------------------------------------------
    def look(self, address: Walk) -> Attributes:
        """ENOENT, ENOTDIR."""
        node = graph_node(address.steps)
        settings = self._ground.settings
        if isinstance(node, NeighbourLink):
            found = self.found(node)
            size = len(self._targets.path(found.other, DEPTH).encode())
            return shape.of_symlink(
                self._number(node, found), size, found.moved_ns, settings.uid, settings.gid
            )
        if isinstance(node, EdgeFile):
            found = self.found(node)
            mode = 0o644 if by_hand(found.edges) is not None else 0o444
            return shape.of_file(
                self._number(node, found), mode, len(edge_text(self.values(found))),
                found.moved_ns, found.moved_ns, settings.uid, settings.gid,
            )  # fmt: skip
        return shape.of_directory(
            walked(*self._key(node)), 0o755 & ~settings.umask, self._changes.at_ns,
            settings.uid, settings.gid,
        )  # fmt: skip

    def readlink(self, address: Walk) -> str:
        """EINVAL for what is no link."""
        node = graph_node(address.steps)
        if isinstance(node, NeighbourLink):
            return self._targets.path(self.found(node).other, DEPTH)
        self.look(address)
        raise FsError("EINVAL", "it is no symlink")

    def engram_at(self, address: Walk) -> Entry | None:
        """The engram that a link leads to; None for what is no link."""
        node = graph_node(address.steps)
        if not isinstance(node, NeighbourLink):
            return None
        found = self.find(node)
        return None if found is None else found.other

    def values(self, found: Found) -> dict[str, object]:
        """What the file of an edge says."""
        return edge_values(found.edges, self._shown(found.source), self._shown(found.target))

    # -- listing -----------------------------------------------------------
    def listing(self, address: Walk) -> list[Listed]:
        """Entries of a directory. ENOENT, ENOTDIR."""
        node = graph_node(address.steps)
        if isinstance(node, NeighbourLink | EdgeFile):
            self.found(node)
            raise FsError("ENOTDIR", "it is a file")
        key = self._key(node)
        if isinstance(node, OfRelation):
            return self._neighbours(node, key)
        return [Listed(name, walked(*key, step), stat.S_IFDIR) for name, step in self._names(node)]

    def _names(self, node: GraphNode) -> list[tuple[str, str]]:
        """(name, last step of its key) of the directories in a directory."""
        ground = self._ground
        match node:
            case Top():
                shown = (kind for kind in ground.engine.catalogue.parents())
                return [(kind.directory, kind.name) for kind in shown if ground.shown(kind.name)]
            case OfKind(directory):
                entries = ground.engine.entries(ground.scope, ground.kind_of(directory))
                return [(entry.name, entry.id) for entry in entries if not entry.empty]
            case OfEngram():
                return [("out", "out"), ("in", "in")]
            case Side(engram, outward):
                relations = {
                    each.relation
                    for each in ground.engine.neighbours(
                        ground.scope, self.engram(engram).id, direction=_direction(outward),
                        limit=None,
                    )
                    if self._targets.reached(each.entry.kind)
                }  # fmt: skip
                return [(relation, relation) for relation in sorted(relations)]
        raise AssertionError(f"{node} has no directories")

    def _neighbours(self, node: OfRelation, key: tuple[str, ...]) -> list[Listed]:
        ground, engram = self._ground, self.engram(node.side.engram)
        directories = {kind.name: kind.directory for kind in ground.engine.catalogue.parents()}
        own = directories[engram.kind]
        listed: dict[str, Listed] = {}
        for each in ground.engine.neighbours(
            ground.scope, engram.id, direction=_direction(node.side.outward),
            relations=(node.relation,), limit=None,
        ):  # fmt: skip
            other = each.entry
            if other.id not in listed and self._targets.reached(other.kind):
                stem = stem_of(other.name, directories[other.kind], own, other.id)
                inode = walked(*key, LINK, other.id)
                listed[other.id] = Listed(f"{stem}{LINK}", inode, stat.S_IFLNK)
        return list(listed.values())

    # -- what is there -----------------------------------------------------
    def engram(self, node: OfEngram) -> Entry:
        """The engram whose edges are walked. ENOENT."""
        entry = self._at(node.directory, node.slug)
        if entry is None or not self._ground.shown(entry.kind):
            raise not_there(f"{node.directory}/{node.slug}")
        return entry

    def relation(self, node: OfRelation) -> Entry:
        """The engram of a relation's directory. ENOENT.

        A name that begins with a dot is a relation only where there is an edge: programs look for
        `.git` wherever they are.
        """
        engram = self.engram(node.side.engram)
        if node.relation.startswith(".") and node.relation not in dict(self._names(node.side)):
            raise not_there(node.relation)
        return engram

    def found(self, node: NeighbourLink | EdgeFile) -> Found:
        """The neighbour that a name means. ENOENT."""
        found = self.find(node)
        if found is None:
            raise not_there("the neighbour")
        return found

    def find(self, node: NeighbourLink | EdgeFile) -> Found | None:
        """The neighbour that a name means: as listed, as its link was made, or by its mere slug
        where one neighbour only has that. ENOENT for the directory."""
        engram = self.relation(node.at)
        side, relation = node.at.side, node.at.relation
        if node.stem is not None:
            named = meaning(node.stem, side.engram.directory)
            if isinstance(named, ById):
                other = self._ground.engine.by_id(self._ground.scope, named.id)
            else:
                other = self._at(named.directory, named.slug)
            found = self._linked(engram, side.outward, relation, other)
            if found is not None:
                return found
        if isinstance(node, NeighbourLink):
            asked = self._asked.get((engram.id, side.outward, relation, nfc(node.name)))
            other = None if asked is None else self._ground.engine.by_id(self._ground.scope, asked)
            found = self._linked(engram, side.outward, relation, other)
            if found is not None:
                return found
        if node.stem is None:
            return None
        slug = nfc(node.stem)
        same = (self._at(kind.directory, slug) for kind in self._ground.engine.catalogue.parents())
        every = [self._linked(engram, side.outward, relation, other) for other in same]
        linked = [found for found in every if found is not None]
        return linked[0] if len(linked) == 1 else None

    def made(self, node: NeighbourLink, engram: Entry, other: Entry) -> None:
        """A link was made under a name; `ln` and the kernel look for it there."""
        key = (engram.id, node.at.side.outward, node.at.relation, nfc(node.name))
        self._asked.put(key, other.id)

    def linked(self, node: OfRelation, engram: Entry, other: Entry) -> Found | None:
        """The edges of a relation between two engrams."""
        return self._linked(engram, node.side.outward, node.relation, other)

    def _linked(
        self, engram: Entry, outward: bool, relation: str, other: Entry | None
    ) -> Found | None:
        if other is None or not self._targets.reached(other.kind):
            return None
        source, target = (engram, other) if outward else (other, engram)
        ground = self._ground
        edges = ground.engine.edges_between(ground.scope, source.id, relation, target.id)
        return Found(engram, other, outward, edges) if edges else None

    def _at(self, directory: str, slug: str) -> Entry | None:
        kind = self._ground.engine.catalogue.by_directory(directory)
        entry = None if kind is None else self._ground.entry((kind.name, slug))
        return None if entry is None or entry.empty else entry

    def _shown(self, entry: Entry) -> str:
        return f"{self._ground.engine.catalogue.directory(entry.kind)}/{entry.name}{LINK}"

    # -- numbers -----------------------------------------------------------
    def _number(self, node: NeighbourLink | EdgeFile, found: Found) -> int:
        sort = LINK if isinstance(node, NeighbourLink) else "edge"
        return walked(*self._key(node.at), sort, found.other.id)

    def _key(self, node: GraphNode) -> tuple[str, ...]:
        """What a directory is, whatever it is called now. ENOENT, ENOTDIR."""
        match node:
            case Top():
                return (".graph",)
            case OfKind(directory):
                kind = self._ground.kind_of(directory)
                if kind is None:
                    raise not_there(directory)
                return (".graph", kind)
            case OfEngram():
                entry = self.engram(node)
                return (".graph", entry.kind, entry.id)
            case Side(engram, outward):
                return (*self._key(engram), _direction(outward))
            case OfRelation(side, relation):
                self.relation(node)
                return (*self._key(side), relation)
            case Nothing(code):
                raise FsError(code, "nothing can be there")
            case NeighbourLink() | EdgeFile():
                raise FsError("ENOTDIR", "it is a file")


def _direction(outward: bool) -> str:
    return "out" if outward else "in"
