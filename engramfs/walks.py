"""`.graph`, `.views` and `.digests` behind one door: what the tree asks of what engrams make."""

from __future__ import annotations

import stat

from engine.model import Entry
from engramfs.address import Address, Walk
from engramfs.aliases import Aliases
from engramfs.changes import Changes
from engramfs.digest_files import DigestFiles
from engramfs.edge_draft import EdgeDraft
from engramfs.errors import FsError
from engramfs.graph_edits import GraphEdits
from engramfs.graph_files import GraphFiles
from engramfs.ground import Ground
from engramfs.handles import Pinned, Talk
from engramfs.ports import Attributes, Caller, Listed
from engramfs.refused_names import RefusedNames
from engramfs.targets import Targets
from engramfs.view_files import ViewFiles

_GRAPH, _DIGESTS = ".graph", ".digests"
_MADE = {  # top -> (what is in it, what to do to have it otherwise)
    ".views": (
        "what is in .views follows from the properties of engrams",
        "change the property in the file",
    ),
    _DIGESTS: (
        "what is in .digests is made of what engrams say",
        "change those; engramfs digest rebuild makes it anew",
    ),
}


class Walks:
    """Every method takes the address of something at or below `.graph`, `.views` or `.digests`."""

    def __init__(self, ground: Ground, aliases: Aliases, names: RefusedNames) -> None:
        self._ground = ground
        self._aliases = aliases
        targets = Targets(ground)
        self._changes = Changes(ground)
        self._graph = GraphFiles(ground, targets, self._changes)
        self._views = ViewFiles(ground, targets, self._changes)
        self._digests = DigestFiles(ground, self._changes)
        self._edits = GraphEdits(ground, self._graph, targets, names)
        self._drafts: dict[Walk, list[Talk]] = {}

    def close(self) -> None:
        """Hear of no more commits."""
        self._changes.close()

    # -- looking -----------------------------------------------------------
    def look(self, address: Walk, caller: Caller) -> Attributes:
        """ENOENT, ENOTDIR. A process sees the size of what it is writing."""
        self._aliases.settle_for_answers()
        found = self._files(address).look(address)
        for talk in self._drafts.get(address, ()):
            session = talk.session
            if isinstance(session, EdgeDraft) and session.dirty and talk.caller.pid == caller.pid:
                return found._replace(size=session.size())
        return found

    def listing(self, address: Walk) -> list[Listed]:
        """Entries of a directory. ENOENT, ENOTDIR."""
        self._aliases.settle_for_answers()
        return self._files(address).listing(address)

    def readlink(self, address: Walk) -> str:
        """The text of a symlink. EINVAL for what is none."""
        return self._files(address).readlink(address)

    def _files(self, address: Walk) -> GraphFiles | ViewFiles | DigestFiles:
        if address.top == _DIGESTS:
            return self._digests
        return self._graph if address.top == _GRAPH else self._views

    # -- changing ----------------------------------------------------------
    def symlink(self, address: Walk, text: str, caller: Caller) -> None:
        """An edge by hand. EROFS, EPERM, EEXIST; EPROTO: refused, read `.errors`."""
        self._require_graph(address)
        self._aliases.settle_for_answers()
        self._edits.symlink(address, text, caller, self._engram_at)

    def unlink(self, address: Walk) -> None:
        """The edge goes. EROFS, EISDIR, ENOENT; EPERM for an edge that a text makes."""
        self._require_graph(address)
        self._edits.unlink(address)

    def mkdir(self, address: Walk) -> None:
        """EEXIST, EPERM: nothing can be made."""
        self._require_graph(address)
        self._edits.mkdir(address)

    def rmdir(self, address: Walk) -> None:
        """An empty relation is gone by itself; ENOTEMPTY, EPERM."""
        self._require_graph(address)
        self._edits.rmdir(address)

    def rename(self, old: Address, new: Address) -> None:
        """EPERM, but for the second half of `ln -sf`; EACCES for the special names themselves."""
        for address in (old, new):
            if isinstance(address, Walk) and not address.steps:
                raise self.refuse_file(address)
        if isinstance(old, Walk) and isinstance(new, Walk) and old.top == new.top:
            self._require_graph(old)
            self._edits.rename(old, new)
            return
        raise FsError(
            "EPERM", "links to engrams stay where they are, and nothing else is kept among them",
            "make an edge with ln -s, or .link",
        )  # fmt: skip

    def refuse_file(self, address: Walk) -> FsError:
        """Why no file can be made."""
        if not address.steps:
            return FsError("EACCES", f"{address.top} is a special name; nothing can be made there")
        if address.top == _DIGESTS:
            return FsError("EPERM", *_MADE[_DIGESTS])
        return FsError(
            "EPERM", f"{address.top} holds links to engrams only; no file can be made in it",
            "let the editor write in place, and keep its temporary files elsewhere",
        )  # fmt: skip

    def _require_graph(self, address: Walk) -> None:
        self._ground.require_writable()
        if not address.steps:
            raise FsError("EACCES", f"{address.top} is a special name")
        if address.top != _GRAPH:
            raise FsError("EPERM", *_MADE[address.top])

    def _engram_at(self, address: Walk) -> Entry | None:
        return self._files(address).engram_at(address)

    # -- the files of edges --------------------------------------------------
    def open(self, address: Walk, flags: int, caller: Caller) -> Pinned | Talk:
        """EISDIR, ELOOP, EROFS, EACCES for an edge that a text makes."""
        if address.top == _DIGESTS:
            return self._digests.open(address, flags, caller)
        if address.top != _GRAPH:
            is_link = stat.S_ISLNK(self._views.look(address).mode)
            raise FsError("ELOOP" if is_link else "EISDIR", "it is no file")
        held = self._edits.open(address, flags, caller)
        if isinstance(held, Talk):
            self._drafts.setdefault(address, []).append(held)
        return held

    def forget(self, talk: Talk) -> None:
        """A file is closed."""
        for address, talks in list(self._drafts.items()):
            if talk in talks:
                talks.remove(talk)
                if not talks:
                    self._drafts.pop(address, None)
