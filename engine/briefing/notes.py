"""What a briefing tells of one engram."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from engine.config import Config
from engine.model import Entry
from engine.passages import body_of
from engine.reader import Row
from engine.recall.items import Item
from engine.recall.lines import headed, short


@dataclass(frozen=True, slots=True)
class Note:
    """An engram in a section: in full, with its summary, or by its title alone."""

    section: str
    entry: Entry
    path: str | None
    title: str
    summary: str = ""
    favourite: bool = False
    full: Item | None = None

    @property
    def name(self) -> str:
        """Its path, or its id outside the tree."""
        return self.path if self.path is not None else self.entry.id


def titled(
    section: str, entry: Entry, path_of: Callable[[Entry], str | None], *, favourite: bool
) -> Note:
    """By title."""
    return Note(section, entry, path_of(entry), headed(entry.title), favourite=favourite)


def summarised(note: Note, row: Row | None, config: Config) -> Note:
    """With its summary; one that cannot be read stays as it is."""
    if row is None:
        return note
    return replace(
        note, title=headed(row.title), summary=short(row.summary, config.snippet_characters)
    )


def in_full(note: Note, row: Row | None) -> Note:
    """With all of its text; one that cannot be read stays as it is."""
    if row is None:
        return note
    role = row.properties.get("source_role")
    item = Item(
        id=note.entry.id,
        kind=note.entry.kind,
        entry=note.entry,
        path=note.path,
        title=headed(row.title),
        summary=row.summary,
        status="live",
        source_role=role if isinstance(role, str) else "user",
        score=0.0,
        channels={},
        properties=dict(row.properties),
        body=body_of(row),
    )
    return replace(note, title=item.title, summary=row.summary, full=item)
