"""Sources: what the engrams of an answer are derived from.

    ids, found = sources_of(reader, scope, entries, path_of)

The edges of the relation `derived_from`, out of an engram, one step deep: those of its front matter
and those made by hand. A source is live and in scope; one that is superseded is given too, since it
is what was used. A source that is an item of the answer itself is named like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from engine.model import Entry
from engine.namespace import Scope
from engine.passages import body_of
from engine.reader import Reader, Row
from engine.recall.lines import headed

DERIVED_FROM = "derived_from"
BATCH = 32  # sources whose rows are read at once: an engram may have thousands


@dataclass(frozen=True, slots=True)
class Source:
    """An engram that others are derived from, with its whole text; `path` is None outside the
    tree. Where its body is empty the text is its summary; where the answer has given the text
    already it is "" and `same_as` names what gave it."""

    id: str
    entry: Entry
    path: str | None
    title: str
    text: str
    same_as: str = ""

    @property
    def name(self) -> str:
        """Its path, or its id."""
        return self.path if self.path is not None else self.id


def sources_of(
    reader: Reader,
    scope: Scope,
    entries: Sequence[Entry],
    path_of: Callable[[Entry], str | None],
    *,
    at_ns: int | None = None,
) -> tuple[Mapping[int, tuple[str, ...]], Iterator[Source]]:
    """(ids of its sources by the number of each engram that has any; all sources, one by one).

    Sources stand in order of first appearance: by the order of `entries`, and for one engram in the
    order in which it names them; each once. Ids are given of all that the scope sees; a source that
    cannot be read is not among the second. `at_ns`: sources as they were then, of what was derived
    by then. Rows are read in batches as they are asked for.
    """
    by_engram = _by_engram(reader, scope, entries, at_ns)
    appeared: dict[int, Entry] = {}
    for own in by_engram.values():
        appeared.update((each.no, each) for each in own if each.no not in appeared)
    return _ids(by_engram), _read(reader, scope, list(appeared.values()), path_of, at_ns)


def _read(
    reader: Reader,
    scope: Scope,
    entries: Sequence[Entry],
    path_of: Callable[[Entry], str | None],
    at_ns: int | None,
) -> Iterator[Source]:
    for first in range(0, len(entries), BATCH):
        batch = entries[first : first + BATCH]
        rows: Mapping[int, Row]
        was: Mapping[int, Entry] = {}
        if at_ns is None:
            rows = reader.hydrate(batch)
        else:
            then = reader.hydrate_at(scope, batch, at_ns)
            rows, was = then.rows, then.entries
        for now in batch:
            row, entry = rows.get(now.no), was.get(now.no, now)
            if row is not None:
                text = body_of(row) or row.summary
                yield Source(entry.id, entry, path_of(entry), headed(row.title), text)


def consolidated(reader: Reader, entry: Entry) -> bool:
    """Is it of a kind that kinds.yaml marks `consolidated: true`: made from others, so that its
    sources come with it whether they are asked for or not?"""
    kind = reader.catalogue.kind(entry.kind)
    return kind is not None and kind.consolidated


def source_ids(
    reader: Reader,
    scope: Scope,
    entries: Sequence[Entry],
    *,
    at_ns: int | None = None,
) -> Mapping[int, tuple[str, ...]]:
    """The first half of `sources_of`, without a look into the store."""
    return _ids(_by_engram(reader, scope, entries, at_ns))


def _ids(by_engram: Mapping[int, Sequence[Entry]]) -> dict[int, tuple[str, ...]]:
    return {no: tuple(each.id for each in own) for no, own in by_engram.items()}


def _by_engram(
    reader: Reader, scope: Scope, entries: Sequence[Entry], at_ns: int | None
) -> dict[int, list[Entry]]:
    """The sources of each engram that has any, each once, in its order."""
    found: dict[int, list[Entry]] = {}
    for entry in entries:
        own = {each.no: each for each in _sources(reader, scope, entry, at_ns)}
        if own:
            found[entry.no] = list(own.values())
    return found


def _sources(reader: Reader, scope: Scope, entry: Entry, at_ns: int | None) -> list[Entry]:
    found = []
    for step in reader.edges.steps_out(entry.no):
        if step.relation == DERIVED_FROM and step.target >= 0:
            if at_ns is not None and step.row.created_ns > at_ns:
                continue
            source = reader.entries.get(step.target)
            if source is not None and source.deleted_ns is not None:
                source = reader.entries.successor(step.target)
            if source is not None and source.no != entry.no and scope.sees(source):
                found.append(source)
    return found
