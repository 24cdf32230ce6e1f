"""The edges of all engrams in memory, and which of them wait for a target to appear.

An edge waits while it dangles or while its target is deleted. A link that leads to its own engram
is no edge, but another may take that name: its row is kept, hidden, and waits too. The names by
which it could find a target are keys of an index, so that a commit learns with a few dictionary
reads whether any link waits for what it makes; a plain Put does not pay for links that others left
dangling.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from engine.model import Entry, Link
from engine.slug import fold
from engine.store.edges import DANGLING, EdgeRow

_SUFFIXES = (".md", ".html")


def keys_of_target(written: str, heading: str = "") -> set[str]:
    """Folded names under which what a link names could appear: whole, last step, stem, id."""
    whole = fold(written.strip())
    last = whole.rstrip("/").rpartition("/")[2]
    keys = {whole, last}
    for suffix in _SUFFIXES:
        if last.endswith(suffix):
            keys.add(last.removesuffix(suffix))
    if heading:
        for mark in ("#", "# "):  # a title such as "C# basics"
            keys.add(fold(f"{written.strip()}{mark}{heading}"))
    return keys - {""}


def keys_of_engram(entry: Entry, aliases: Iterable[str]) -> set[str]:
    """Folded names by which links can find an engram."""
    names = (entry.id, entry.slug, entry.name, entry.title, *aliases)
    return {fold(name) for name in names} - {""}


def link_of(row: EdgeRow, to_kind: str | None = None) -> Link:
    """The link as its author wrote it, to be resolved again."""
    return Link(row.relation, row.written, row.heading, row.origin, None, to_kind)


class Edges:
    """Rows by source and by target. Changed under the writer lock only."""

    def __init__(self, rows: Iterable[EdgeRow] = ()) -> None:
        self._out: dict[int, tuple[EdgeRow, ...]] = {}
        self._into: dict[int, set[int]] = {}
        self._waiting: dict[str, set[int]] = {}
        by_source: dict[int, list[EdgeRow]] = {}
        for row in rows:
            by_source.setdefault(row.source, []).append(row)
        for source, own in by_source.items():
            self.set(source, own)

    def out(self, no: int) -> tuple[EdgeRow, ...]:
        """Edges that an engram expresses, in its order."""
        return self._out.get(no, ())

    def sources(self, no: int) -> list[int]:
        """Engrams with an edge to this one."""
        return sorted(self._into.get(no, ()))

    def into(self, no: int) -> list[EdgeRow]:
        """Edges to an engram."""
        return [row for source in self.sources(no) for row in self.out(source) if row.target == no]

    def all(self) -> list[EdgeRow]:
        """Every edge."""
        return [row for rows in list(self._out.values()) for row in rows]

    def waiting(self, keys: Iterable[str]) -> set[int]:
        """Engrams with an edge that could find its target under one of these names."""
        found: set[int] = set()
        for key in keys:
            found |= self._waiting.get(key, set())
        return found

    def set(self, source: int, rows: Sequence[EdgeRow]) -> None:
        """The edges of an engram are now these."""
        for row in self._out.pop(source, ()):
            held = self._into.get(row.target)
            if held is not None:
                held.discard(source)
                if not held:
                    self._into.pop(row.target, None)
        if not rows:
            return
        self._out[source] = tuple(rows)
        for row in rows:
            if row.target in (DANGLING, source):
                self._wait(row)
            else:
                self._into.setdefault(row.target, set()).add(source)

    def orphan(self, target: int) -> None:
        """An engram was deleted: the edges to it are hidden, and may find another."""
        for row in self.into(target):
            self._wait(row)

    def erase(self, no: int) -> None:
        """Nothing is left of an engram: its edges go, those to it dangle."""
        self.set(no, ())
        for source in self.sources(no):
            rows = [
                replace(row, target=DANGLING) if row.target == no else row
                for row in self.out(source)
            ]
            self.set(source, rows)

    def _wait(self, row: EdgeRow) -> None:
        # Entries stay until `settled`: one that matches no more costs a look, nothing else.
        for key in keys_of_target(row.written, row.heading):
            self._waiting.setdefault(key, set()).add(row.source)

    def settled(self, keys: Iterable[str], sources: Iterable[int]) -> None:
        """These engrams no longer wait under these names."""
        gone = set(sources)
        for key in keys:
            held = self._waiting.get(key)
            if held is not None:
                held -= gone
                if not held:
                    self._waiting.pop(key, None)
