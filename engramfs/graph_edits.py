"""Making, removing and describing edges through `.graph`."""

from __future__ import annotations

import os
from collections.abc import Sequence

from engine.errors import EngineError, Invalid, NotFound, Problem, shown
from engine.model import EdgeMeta, Entry
from engramfs.address import Walk
from engramfs.edge_draft import EdgeDraft
from engramfs.edge_text import by_hand, edge_text, read_edge
from engramfs.errors import FsError
from engramfs.graph_address import EdgeFile, NeighbourLink, OfRelation, graph_node
from engramfs.graph_files import Found, GraphFiles
from engramfs.ground import Ground, not_there
from engramfs.handles import Pinned, Talk
from engramfs.ports import Caller
from engramfs.refused_names import RefusedNames
from engramfs.targets import Targets, Through

_SEE = "the reason is in .errors"


class GraphEdits:
    """Every refusal is a line of `.errors`."""

    def __init__(
        self, ground: Ground, files: GraphFiles, targets: Targets, names: RefusedNames
    ) -> None:
        self._ground = ground
        self._files = files
        self._targets = targets
        self._names = names

    # -- edges -------------------------------------------------------------
    def symlink(self, address: Walk, text: str, caller: Caller, through: Through) -> None:
        """`ln -s ENGRAM …/out/RELATION/`: an edge by hand. EPROTO: refused, read `.errors`."""
        node = graph_node(address.steps)
        if isinstance(node, EdgeFile):
            raise FsError(
                "EINVAL", "names that end in .edge are of what is said of an edge",
                "give the link the name of the engram",
            )  # fmt: skip
        if not isinstance(node, NeighbourLink):
            raise FsError("EPERM", "links are made in the directory of a relation, as out/about")
        engram = self._files.relation(node.at)
        if self._files.find(node) is not None:
            raise FsError("EEXIST", f"{node.name} is there already")
        own = node.at.side.engram.directory
        at = Walk(address.top, address.steps[:-1])
        other = self._targets.find(text, at, own, caller, through)
        if other is None:
            problem = Problem(
                f"{shown(text)} leads to no engram of this mount",
                hint="name its file by an absolute path, or as kind/slug.md",
            )
            raise self._refused(address, engram, "EPROTO", (problem,))
        if self._files.linked(node.at, engram, other) is not None:
            raise FsError("EEXIST", "that engram is a neighbour already", "its link is listed")
        source, target = (engram, other) if node.at.side.outward else (other, engram)
        try:
            self._ground.engine.link(self._ground.scope, source.id, node.at.relation, target.id)
        except (Invalid, NotFound) as error:
            raise self._refused(address, engram, "EPROTO", _problems(error)) from None
        self._names.settle(engram.kind, _path(address))
        self._files.made(node, engram, other)

    def unlink(self, address: Walk) -> None:
        """`rm` of a link: the edge is gone. EPERM for one that a text makes."""
        node = graph_node(address.steps)
        if isinstance(node, EdgeFile):
            found = self._files.found(node)
            problem = Problem(
                "what is said of an edge cannot be removed without it",
                hint="empty the file, or rm the link beside it",
            )
            raise self._refused(address, found.engram, "EPERM", (problem,))
        if not isinstance(node, NeighbourLink):
            self._files.look(address)
            raise FsError("EISDIR", "it is a directory")
        found = self._files.found(node)
        try:
            self._ground.engine.unlink(
                self._ground.scope, found.source.id, found.relation, found.target.id
            )
        except Invalid as error:
            raise self._refused(address, found.engram, "EPERM", error.problems) from None
        except NotFound:
            raise not_there("the neighbour") from None
        self._names.settle(found.engram.kind, _path(address))

    def rename(self, old: Walk, new: Walk) -> None:
        """`ln -sf` makes a link beside the one that is there and renames it onto that: nothing is
        left to do where both are the same neighbour. Names cannot be chosen, so all else is EPERM.
        """
        one, other = graph_node(old.steps), graph_node(new.steps)
        if isinstance(one, NeighbourLink) and isinstance(other, NeighbourLink):
            found, there = self._files.found(one), self._files.find(other)
            if there is not None and one.at == other.at and found.other.id == there.other.id:
                return
        self._files.look(old)
        raise FsError(
            "EPERM", "links are called as their engrams are, and stay in their relation",
            "make the other edge with ln -s, then rm this one",
        )  # fmt: skip

    # -- directories -------------------------------------------------------
    def mkdir(self, address: Walk) -> None:
        """The directory of a relation is there already, all others follow from what is stored."""
        if isinstance(graph_node(address.steps), OfRelation):
            self._files.look(address)
            raise FsError("EEXIST", "the directory of a relation is there already")
        raise FsError("EPERM", "directories in .graph follow from the engrams and their edges")

    def rmdir(self, address: Walk) -> None:
        """A relation's directory is gone from the listing when its last edge is."""
        node = graph_node(address.steps)
        listed = self._files.listing(address)
        if not isinstance(node, OfRelation):
            raise FsError("EPERM", "directories in .graph follow from the engrams and their edges")
        if listed:
            raise FsError("ENOTEMPTY", f"{node.relation} has edges")

    # -- what is said of an edge ---------------------------------------------
    def open(self, address: Walk, flags: int, caller: Caller) -> Pinned | Talk:
        """The file of an edge. EISDIR, ELOOP for a link, EACCES for an edge of a text."""
        node = graph_node(address.steps)
        if isinstance(node, NeighbourLink):
            self._files.found(node)
            raise FsError("ELOOP", "it is a symlink")
        if not isinstance(node, EdgeFile):
            self._files.look(address)
            raise FsError("EISDIR", "it is a directory")
        found = self._files.found(node)
        values = self._files.values(found)
        data = edge_text(values)
        if not flags & (os.O_ACCMODE | os.O_TRUNC):
            fixed = self._files.look(address)._replace(size=len(data))
            return Pinned(data, caller, fixed=fixed)
        self._ground.require_writable()
        if by_hand(found.edges) is None:
            source = values["source"]
            problem = Problem(
                f"the edge is made by the text of {source}", hint=f"change it in {source}"
            )
            raise self._refused(address, found.engram, "EACCES", (problem,))
        draft = EdgeDraft(
            b"" if flags & os.O_TRUNC else data,
            lambda said: self._save(address, found, values, said),
            appends=bool(flags & os.O_APPEND),
        )
        draft.dirty = bool(flags & os.O_TRUNC)
        return Talk(draft, caller, _path(address))

    def _save(self, address: Walk, before: Found, values: dict[str, object], said: bytes) -> None:
        """EPROTO: refused, nothing was changed, read `.errors`."""
        engine, scope = self._ground.engine, self._ground.scope
        try:
            meta = read_edge(said, values)
            edges = engine.edges_between(scope, before.source.id, before.relation, before.target.id)
            now = by_hand(edges)
            if now is None:
                raise NotFound("the edge was removed meanwhile", "make it again with ln -s")
            held = EdgeMeta(now.note, now.status, now.role, now.confidence, now.evidence_id)
            if meta != held:
                engine.link(scope, now.source, now.relation, now.target, meta)
        except (Invalid, NotFound) as error:
            raise self._refused(address, before.engram, "EPROTO", _problems(error)) from None
        self._names.settle(before.engram.kind, _path(address))

    def _refused(
        self, address: Walk, engram: Entry, code: str, problems: Sequence[Problem]
    ) -> FsError:
        path = _path(address)
        self._names.record(engram.kind, path, "edge", problems)
        return FsError(code, f"{path}: {'; '.join(map(str, problems))}", _SEE)


def _problems(error: EngineError) -> Sequence[Problem]:
    if isinstance(error, Invalid):
        return error.problems
    return (Problem(error.message, hint=error.hint),)


def _path(address: Walk) -> str:
    steps = (step.encode("utf-8", "backslashreplace").decode() for step in address.steps)
    return "/".join((address.top, *steps))
