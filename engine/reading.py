"""An open store as search and recall read it: `engine.reader.Reader` over the engine's state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from engine import tokens
from engine.catalogue import Catalogue
from engine.columns import ColumnCache
from engine.config import Config
from engine.digests.digests import Digests
from engine.edges import Edges
from engine.embedding import prepared_again
from engine.engram_vectors import EngramVectors
from engine.entries import Entries, is_live
from engine.errors import EngineError
from engine.fusion import Floats, Mask
from engine.index import Index
from engine.model import Degraded, Digest, Entry, EventKind
from engine.namespace import Scope
from engine.naming import Names
from engine.notes import Notes
from engine.objects import hosted_of
from engine.part_ids import find_part
from engine.ports import Reranker
from engine.prepare import Prepared
from engine.properties import PropertyIndex
from engine.reader import Changed, QueryEmbedder, Row, Then
from engine.result_sets import ResultSets
from engine.state import State
from engine.store import history, versions
from engine.time_expressions import Interval
from engine.time_warmth import expressions
from engine.vocabulary import Vocabulary
from engine.walk import Neighbour, neighbours

_MISS_CHARACTERS = 200  # of a question that is kept; `.status` lists them


class Reading:
    """Everything that search and recall need, always of this moment."""

    def __init__(
        self,
        state: State,
        wait: Callable[[float], object],
        columns: ColumnCache,
        digests: Digests,
    ) -> None:
        self._state = state
        self.counters: Mapping[str, Callable[[str], int]] = {}  # the host's own, by name
        self._wait = wait  # until the background has embedded everything, or so many seconds
        self.columns = columns
        self._digests = digests
        self.vocabulary = Vocabulary(state.entries)
        self.results = ResultSets(state.config, state.clock)
        self.engram_vectors = EngramVectors()

    @property
    def config(self) -> Config:
        """The numbers of this store."""
        return self._state.config

    @property
    def catalogue(self) -> Catalogue:
        """The kinds as they are now."""
        return self._state.catalogue

    @property
    def entries(self) -> Entries:
        """Present states of all engrams."""
        return self._state.entries

    @property
    def names(self) -> Names:
        """What engrams are called."""
        return self._state.names

    @property
    def properties(self) -> PropertyIndex:
        """Property values of live engrams."""
        return self._state.properties

    @property
    def index(self) -> Index:
        """Full text and vectors."""
        return self._state.index

    @property
    def edges(self) -> Edges:
        """The edges of all engrams."""
        return self._state.edges

    @property
    def notes(self) -> Notes:
        """The edges with a note."""
        return self._state.notes

    @property
    def embedder(self) -> QueryEmbedder | None:
        """None: embedding is off."""
        return self._state.embedder if self._state.embed != "off" else None

    @property
    def reranker(self) -> Reranker | None:
        """The host's, if it has one."""
        return self._state.reranker

    def languages(self, covered: Mask) -> Sequence[str]:
        """Languages of these engrams, most frequent first; the store's own if there is none."""
        return self._state.languages.among(covered)

    def time_expressions(
        self, question: str, now: datetime, covered: Mask, seconds: float | None
    ) -> tuple[Interval, ...]:
        """The times that a question names, in the languages of these engrams."""
        return expressions(question, now, self.languages(covered), seconds)

    def hydrate(self, entries: Sequence[Entry]) -> Mapping[int, Row]:
        """Rows by engram number, bytes and parts included; damaged ones are missing.

        Parts that are damaged are made anew from the bytes.
        """
        sources = self._state.sources.written_of(entries)  # from the cache, where they can be
        seqs = [entry.seq for entry in entries if entry.no in sources]
        with self._state.store.cursor() as cursor:
            found = versions.rows(cursor, seqs, lost={})
            lost = [seq for seq in seqs if seq not in found or not found[seq].parts_sound]
            bare = versions.bare_rows(cursor, lost, lost={})
        rows: dict[int, Row] = {}
        for entry in entries:
            row = found.get(entry.seq)
            if row is None or not row.parts_sound:
                content = self._made_anew(entry)
                if content is None:
                    continue
                if entry.seq not in bare:
                    lost_row = f"the row of {entry.kind}/{entry.name} cannot be read"
                    self._state.damaged[entry.no] = lost_row
                    continue
                row = replace(bare[entry.seq], parts=content.stored_parts)
            rows[entry.no] = replace(row, source=sources[entry.no])
        return rows

    def hydrate_at(self, scope: Scope, entries: Sequence[Entry], at_ns: int) -> Then:
        """What engrams of a scope were at a time: at most five queries, however many there are."""
        created = {entry.no: entry.created_ns for entry in entries}
        with self._state.store.cursor() as cursor:
            past = history.rows_of(cursor, created)
            found = history.at_time(past, created, at_ns, self.now_ns(), self.config)
            changed = [
                entry for entry in entries if found.seqs.get(entry.no, entry.seq) != entry.seq
            ]
            seqs = [found.seqs[entry.no] for entry in changed]
            before = versions.rows(cursor, seqs, terms=True, lost={})
            now = versions.rows(cursor, [entry.seq for entry in changed], lost={})
        rows = dict(self.hydrate([e for e in entries if found.seqs.get(e.no) == e.seq]))
        was = {row.engram: versions.entry_of(row) for row in before.values() if row.parts_sound}
        unseen = frozenset(no for no, entry in was.items() if not scope.sees(entry))
        was = {no: entry for no, entry in was.items() if no not in unseen}
        sources = self._state.sources.written_of(list(was.values()))
        differ: dict[int, Changed] = {}
        for entry in changed:
            then, present = before.get(found.seqs[entry.no]), now.get(entry.seq)
            if then is not None and entry.no in sources:
                rows[entry.no] = replace(then, source=sources[entry.no])
                ids = [part.id for part in present.parts or ()] if present is not None else []
                differ[entry.no] = Changed(
                    ids,
                    [part.id for part in then.parts or ()],
                    versions.split_terms(then.terms or ""),
                )
        return Then(
            rows=rows,
            entries={entry.no: was.get(entry.no, entry) for entry in entries if entry.no in rows},
            absent=found.absent | unseen,
            gone=found.gone,
            damaged=frozenset(found.seqs.keys() - rows.keys() - unseen),
            changed=differ,
        )

    def part_terms(self, entries: Sequence[Entry]) -> Mapping[int, Sequence[str]]:
        """By engram number the terms of each part, by position; damaged engrams are missing.

        Terms that are damaged are made anew from the bytes.
        """
        with self._state.store.cursor() as cursor:
            found = versions.bare_rows(cursor, [entry.seq for entry in entries], lost={})
            terms = versions.terms_of(cursor, [row.parts_seq for row in found.values()])
        lines: dict[int, Sequence[str]] = {}
        for entry in entries:
            row = found.get(entry.seq)
            text = terms.get(row.parts_seq) if row is not None else None
            if row is None or text is None or not row.terms_sound(text):
                content = self._made_anew(entry)
                text = content.terms if content is not None else None
            if text is not None:
                lines[entry.no] = text.split("\n")
        return lines

    def _made_anew(self, entry: Entry) -> Prepared | None:
        """What is derived of an engram, of which the store's is damaged, for the answer at hand.

        The background mends the store. None where the bytes are damaged too, and that is noted.
        """
        state = self._state
        if state.entries.get(entry.no) != entry:
            return None  # it was changed or erased meanwhile
        if entry.no in state.damaged:
            return None
        state.unproved.add(entry.no)
        try:
            hosted = hosted_of(state, entry)
            content = prepared_again(state, entry, hosted=hosted)
        except EngineError as error:
            state.damaged[entry.no] = f"{entry.kind}/{entry.name}: {error}"
            return None
        if not hosted.sound:
            state.damaged[entry.no] = f"the host's parts of {entry.kind}/{entry.name} are damaged"
            return None
        return content

    def unreadable(self, scope: Scope) -> tuple[Degraded, ...]:
        """What an answer in this scope may lack, because engrams are damaged.

        Of a row that cannot be read nobody knows the namespace: it counts in every scope.
        """
        number = 0
        for no in list(self._state.damaged):
            entry = self._state.entries.get(no)
            number += entry is None or (is_live(entry) and scope.sees(entry))
        if not number:
            return ()
        said = "1 engram" if number == 1 else f"{number} engrams"
        return (Degraded("engrams", f"{said} cannot be read: `engramfs check` names them"),)

    def find_part(self, scope: Scope, id: str) -> tuple[Entry, int] | None:
        """The live engram in scope that has the part with this id, and the part's position."""
        return find_part(self._state, scope, id)

    def neighbours(self, scope: Scope, no: int, direction: str) -> Sequence[Neighbour]:
        """Where the edges of an engram lead in a scope."""
        return neighbours(self._state, scope, no, direction)

    def now_ns(self) -> int:
        """The clock."""
        return self._state.clock()

    def counter(self, name: str) -> Callable[[str], int]:
        """A token counter by name, the host's own first."""
        if name in self.counters:
            return self.counters[name]
        embedder = self._state.embedder
        return tokens.counter(name, embedder.count_tokens if embedder is not None else None)

    def wait_for_vectors(self, seconds: float) -> None:
        """Return when no vector is pending, after `seconds`, or when embedding fails."""
        if self._state.embed != "off" and self._state.index.pending_count:
            self._wait(seconds)

    def digests(self, scope: Scope) -> tuple[tuple[Digest, ...], tuple[Degraded, ...]]:
        """The fresh digests of exactly the scope's namespace, and why there are no others."""
        return self._digests.fresh(scope)

    def missed(self, scope: Scope, question: str) -> None:
        """A question had no hit: told by `status`."""
        self._state.demand.missed(scope, _begun(question))

    def note(self, scope: Scope, event: EventKind, entries: Iterable[Entry], session: str) -> None:
        """A reader was given engrams: it counts once for a session and day."""
        self._state.demand.note(scope, event, entries, session)

    def utility(self, scope: Scope, engrams: int) -> Floats:
        """What use so many engrams are to readers whom the scope covers, in 0..1, by number."""
        return self._state.demand.utility(scope, engrams)

    def counted(self, scope: Scope) -> int:
        """How many events that rests on."""
        return self._state.demand.counted(scope, self.columns.now().among(scope))


def _begun(question: str) -> str:
    """As much of a question as its list in `status` needs, in valid UTF-8 as the store wants it."""
    question = question.encode("utf-8", "backslashreplace").decode()
    return question if len(question) <= _MISS_CHARACTERS else question[: _MISS_CHARACTERS - 1] + "…"
