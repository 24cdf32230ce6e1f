"""What search and recall need of an opened store, as small protocols.

`Engine` (or its state) fulfils `Reader`; tests fulfil it with the real views over documents kept in
memory. Everything is read without a lock. A search takes one snapshot of the index; engrams that
came or changed after the table of entries was read are not seen by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine.catalogue import Catalogue
from engine.columns import ColumnCache
from engine.config import Config
from engine.edges import Edges
from engine.engram_vectors import EngramVectors
from engine.entries import Entries
from engine.fusion import Floats, Mask
from engine.index import Index
from engine.model import Degraded, Digest, Entry, EventKind, PropertyValue, Span
from engine.namespace import Scope
from engine.naming import Names
from engine.notes import Notes
from engine.ports import Reranker
from engine.properties import PropertyIndex
from engine.result_sets import ResultSets
from engine.time_expressions import Interval
from engine.vocabulary import Vocabulary
from engine.walk import Neighbour


class PlacedPart(Protocol):
    """Where a part stands in the source as written."""

    @property
    def id(self) -> str: ...

    @property
    def heading_path(self) -> tuple[str, ...]: ...

    @property
    def span(self) -> Span: ...

    @property
    def text(self) -> str | None:
        """Of a part of origin `host`; None for a part that is cut from the source."""
        ...


class Row(Protocol):
    """One engram hydrated, from the commits that hold its bytes and its parts."""

    @property
    def title(self) -> str: ...

    @property
    def summary(self) -> str: ...

    @property
    def properties(self) -> Mapping[str, PropertyValue]: ...

    @property
    def source(self) -> bytes | None:
        """As written."""
        ...

    @property
    def parts(self) -> Sequence[PlacedPart] | None:
        """By position; 0 is the head."""
        ...


@dataclass(frozen=True, slots=True)
class Changed:
    """The parts that an engram has now, and those it had then: ids by position; terms of then."""

    ids_now: Sequence[str]
    ids_then: Sequence[str]
    terms_then: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Then:
    """Some engrams at a time, by number; each of those asked for is in just one of the four.

    `rows` have source and parts; `entries` (of the same numbers) have kind, name, title and sizes
    of then, so that paths and spans are those of then. `absent` were younger, deleted at that time,
    or of a kind that the scope does not see; `gone` were there, but that version is no longer kept;
    `damaged` cannot be read.
    """

    rows: Mapping[int, Row]
    entries: Mapping[int, Entry]
    absent: frozenset[int] = frozenset()
    gone: frozenset[int] = frozenset()
    damaged: frozenset[int] = frozenset()
    changed: Mapping[int, Changed] = field(default_factory=dict)  # those that are others now

    def of(self, entries: Sequence[Entry]) -> Mapping[int, Row]:
        """The rows of some of the engrams, as `Reader.hydrate` gives them."""
        return {entry.no: self.rows[entry.no] for entry in entries if entry.no in self.rows}


class QueryEmbedder(Protocol):
    """The half of an embedder that a question needs. Failures are EmbedderFailed."""

    @property
    def max_tokens(self) -> int: ...

    def embed_query(self, text: str) -> NDArray[np.float32]: ...

    def count_tokens(self, text: str) -> int: ...


class Reader(Protocol):
    """An opened store, for reading."""

    @property
    def config(self) -> Config: ...

    @property
    def catalogue(self) -> Catalogue: ...

    @property
    def entries(self) -> Entries: ...

    @property
    def columns(self) -> ColumnCache:
        """`ColumnCache(entries)`, made once."""
        ...

    @property
    def names(self) -> Names: ...

    @property
    def properties(self) -> PropertyIndex: ...

    @property
    def index(self) -> Index: ...

    @property
    def vocabulary(self) -> Vocabulary:
        """`Vocabulary(entries)`, made once."""
        ...

    @property
    def edges(self) -> Edges:
        """The edges of all engrams."""
        ...

    @property
    def notes(self) -> Notes:
        """`Notes(edges)`, made once."""
        ...

    @property
    def embedder(self) -> QueryEmbedder | None:
        """None: embedding is switched off, and existing vectors are not used."""
        ...

    @property
    def results(self) -> ResultSets:
        """The result sets that are kept."""
        ...

    @property
    def engram_vectors(self) -> EngramVectors:
        """`EngramVectors()`, made once."""
        ...

    @property
    def reranker(self) -> Reranker | None:
        """The host's, if it has one."""
        ...

    def languages(self, covered: Mask) -> Sequence[str]:
        """Languages of the text of these engrams, most frequent first."""
        ...

    def time_expressions(
        self, question: str, now: datetime, covered: Mask, seconds: float | None
    ) -> tuple[Interval, ...]:
        """The times that a question names, in the languages of these engrams; `now` is aware.

        TimeExpressionsNotReady when the words of a language are not read within `seconds`.
        """
        ...

    def hydrate(self, entries: Sequence[Entry]) -> Mapping[int, Row]:
        """Rows by engram number, all at once; engrams that cannot be read are missing."""
        ...

    def hydrate_at(self, scope: Scope, entries: Sequence[Entry], at_ns: int) -> Then:
        """What engrams of a scope were at a time, all at once, with source and parts."""
        ...

    def part_terms(self, entries: Sequence[Entry]) -> Mapping[int, Sequence[str]]:
        """By engram number the terms of each part as they are stored, by position; engrams that
        cannot be read are missing."""
        ...

    def unreadable(self, scope: Scope) -> tuple[Degraded, ...]:
        """What an answer in a scope may lack, because engrams are damaged, as known by now."""
        ...

    def find_part(self, scope: Scope, id: str) -> tuple[Entry, int] | None:
        """The live engram in scope that has the part with this id, and the part's position."""
        ...

    def neighbours(self, scope: Scope, no: int, direction: str) -> Sequence[Neighbour]:
        """Where the edges of an engram lead in a scope (`engine.walk`), by its number."""
        ...

    def now_ns(self) -> int:
        """The clock."""
        ...

    def counter(self, name: str) -> Callable[[str], int]:
        """A token counter by name; EmbedderFailed if the model's tokenizer cannot be had."""
        ...

    def wait_for_vectors(self, seconds: float) -> None:
        """Return when no vector is pending, or after `seconds`."""
        ...

    def digests(self, scope: Scope) -> tuple[tuple[Digest, ...], tuple[Degraded, ...]]:
        """The fresh digests of exactly the scope's namespace, and why there are no others; where
        the scope has kinds, of those alone that tell of no engram of another."""
        ...

    def missed(self, scope: Scope, question: str) -> None:
        """A question had no hit."""
        ...

    def note(self, scope: Scope, event: EventKind, entries: Iterable[Entry], session: str) -> None:
        """A reader was given engrams: it counts once for a session and day (`engine.demand`)."""
        ...

    def utility(self, scope: Scope, engrams: int) -> Floats:
        """What use so many engrams are to readers whom the scope covers, in 0..1, by number."""
        ...

    def counted(self, scope: Scope) -> int:
        """How many events that rests on."""
        ...
