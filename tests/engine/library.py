"""A store in memory for search and recall: the real views, over documents kept in a dictionary."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from engine.catalogue import OPEN, Catalogue
from engine.columns import ColumnCache
from engine.config import DAY_NS, Config
from engine.document import parse
from engine.edges import Edges
from engine.engram_vectors import EngramVectors
from engine.entries import Entries
from engine.index import NO_HASH, Documents, Index
from engine.model import Degraded, Digest, Entry, EventKind, Namespace
from engine.namespace import Scope
from engine.naming import Names
from engine.notes import Notes
from engine.ports import Reranker
from engine.prepare import Bench, Prepared, judge, prepare
from engine.properties import PropertyIndex
from engine.reader import Changed, Then
from engine.recall.pack import Pack
from engine.recall.pairs import parse_pairs
from engine.recall.recall import recall
from engine.recall.request import parse_request
from engine.result_sets import ResultSets
from engine.store.edges import EdgeRow
from engine.store.versions import StoredPart
from engine.time_expressions import Interval, find
from engine.tokens import counter
from engine.vocabulary import Vocabulary
from engine.walk import Neighbour

NOW_NS = 2_000 * DAY_NS
DIMENSION = 64
TREE = Scope((), exact=True)


class BagEmbedder:
    """Vectors of hashed words, so that texts that share words are close, whatever their order."""

    max_tokens = 256
    fingerprint = "bag"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed_query(self, text: str) -> NDArray[np.float32]:
        self.asked.append(text)
        return self.embed(text)

    def embed(self, text: str) -> NDArray[np.float32]:
        vector = np.full(DIMENSION, 1e-6, np.float32)
        for word in text.lower().split():
            at = hashlib.blake2b(word.strip(".,?!").encode(), digest_size=4).digest()
            vector[int.from_bytes(at, "big") % DIMENSION] += 1.0
        return vector / np.linalg.norm(vector)

    def count_tokens(self, text: str) -> int:
        return len(text.split()) + 2


@dataclass(frozen=True, slots=True)
class Held:
    """A hydrated row."""

    title: str
    summary: str
    properties: Mapping[str, object]
    source: bytes
    parts: tuple[StoredPart, ...]
    terms: tuple[str, ...]


class Library:
    """Fulfils `engine.reader.Reader`."""

    def __init__(
        self,
        catalogue: Catalogue = OPEN,
        config: Config | None = None,
        embedder: BagEmbedder | None = None,
    ) -> None:
        self.catalogue = catalogue
        self.config = config or Config()
        self.embedder = embedder
        self.entries = Entries()
        self.columns = ColumnCache(self.entries)
        self.vocabulary = Vocabulary(self.entries)
        self.names = Names(self.entries)
        self.properties = PropertyIndex()
        self.index = Index()
        self.rows: dict[int, Held] = {}
        self.versions: dict[int, list[Entry]] = {}
        self.results = ResultSets(self.config, lambda: self.now)
        self.engram_vectors = EngramVectors()
        self.reranker: Reranker | None = None
        self.now = NOW_NS
        self.edges = Edges()
        self.notes = Notes(self.edges)
        self.walked: list[int] = []  # from whom
        self.misses: list[str] = []
        self.noted: list[tuple[EventKind, int, str]] = []
        self.used: dict[int, float] = {}  # utility, by number
        self.shelf: tuple[Digest, ...] = ()  # the digests that are fresh
        self.missing: tuple[Degraded, ...] = ()  # why there are no others
        self.waited: list[float] = []
        self._documents = 0
        self._seq = 0

    # -- writing -----------------------------------------------------------
    def put(
        self,
        path: str,
        text: str = "",
        *,
        days: float = 0.0,
        namespace: Namespace = (),
        embed: bool = True,
    ) -> Entry:
        """Put a document at `kind/slug`, last changed so many days ago."""
        kind, _, slug = path.partition("/")
        before = self.entries.at((namespace, kind, slug))
        no = before.no if before else len(self.entries.all())
        id = before.id if before else f"00000000-0000-7000-8000-{no:012d}"
        bench = Bench(self.catalogue, self.config, None)
        document = parse(text.encode(), self.config)
        content = prepare(document, judge(document, bench, kind, slug, slug), id, bench)
        self._seq += 1
        updated = NOW_NS - int(days * DAY_NS)
        entry = Entry(
            no=no, id=id, namespace=namespace, kind=kind, slug=slug, name=slug, inode=100 + no,
            mode=0o644, mtime_ns=updated, ctime_ns=updated, created_ns=updated, updated_ns=updated,
            size=len(content.source), shown_size=len(content.shown), seq=self._seq,
            source_seq=self._seq, title=content.head.title, parts=len(content.parts),
        )  # fmt: skip
        self._index(entry, content, embed)
        self.versions.setdefault(no, []).append(entry)
        return entry

    def _index(self, entry: Entry, content: Prepared, embed: bool) -> None:
        self.rows[entry.seq] = Held(
            content.head.title,
            content.head.summary,
            content.head.properties,
            content.source,
            content.stored_parts,
            tuple(content.terms.split("\n")),
        )
        self.properties.set(entry.no, content.head.properties)
        terms = [part.terms for part in content.parts]
        self.index.add_many(
            [Documents(entry.no, self._documents, content.lengths, content.hashes, terms)]
        )
        self._documents += len(content.parts)
        self.entries.swap([entry])
        self.names.set(entry, content.head.aliases)
        if self.embedder is not None and embed:
            for part, hash in zip(content.parts, content.hashes, strict=True):
                if hash != NO_HASH:
                    self.index.add_vectors([hash], self.embedder.embed(part.embed_text)[None])

    def delete(self, path: str) -> None:
        """Soft-delete."""
        kind, _, slug = path.partition("/")
        entry = self.entries.at(((), kind, slug))
        assert entry is not None
        self.properties.remove(entry.no)
        self.index.add_many((), killed=(entry.no,))
        self.names.remove(entry.no)
        self.entries.swap([replace(entry, deleted_ns=NOW_NS)])

    def link(
        self, a: str, relation: str, b: str, confidence: float | None = None, **meta: str
    ) -> None:
        """An edge between two `kind/slug`, made by hand; `meta` as `EdgeRow` has it."""
        source, target = self._no(a), self._no(b)
        row = EdgeRow(source, relation, target, b, "", "link", confidence=confidence, **meta)  # type: ignore[arg-type]
        self.edges.set(source, (*self.edges.out(source), row))

    def _no(self, path: str) -> int:
        kind, _, slug = path.partition("/")
        [entry] = [one for one in self.entries.live() if (one.kind, one.slug) == (kind, slug)]
        return entry.no

    # -- engine.reader.Reader ----------------------------------------------
    def languages(self, covered: NDArray[np.bool_]) -> Sequence[str]:
        return ("en",)

    def time_expressions(
        self, question: str, now: datetime, covered: NDArray[np.bool_], seconds: float | None
    ) -> tuple[Interval, ...]:
        return find(question, now, self.languages(covered))

    def hydrate(self, entries: Sequence[Entry]) -> Mapping[int, Held]:
        return {entry.no: self.rows[entry.seq] for entry in entries if entry.seq in self.rows}

    def hydrate_at(self, scope: Scope, entries: Sequence[Entry], at_ns: int) -> Then:
        """As `put` says they were, by `days`; every version is kept."""
        were = {
            entry.no: [one for one in self.versions[entry.no] if one.updated_ns <= at_ns]
            for entry in entries
        }
        held = {no: found[-1] for no, found in were.items() if found}
        rows = {no: self.rows[one.seq] for no, one in held.items()}
        changed = {
            entry.no: Changed(
                [part.id for part in self.rows[entry.seq].parts],
                [part.id for part in rows[entry.no].parts],
                [line.split() for line in rows[entry.no].terms],
            )
            for entry in entries
            if entry.no in held and held[entry.no].seq != entry.seq
        }
        return Then(rows, held, frozenset(were.keys() - held.keys()), changed=changed)

    def part_terms(self, entries: Sequence[Entry]) -> Mapping[int, Sequence[str]]:
        return {entry.no: self.rows[entry.seq].terms for entry in entries}

    def unreadable(self, scope: Scope) -> tuple[Degraded, ...]:
        return ()

    def find_part(self, scope: Scope, id: str) -> tuple[Entry, int] | None:
        for entry in self.entries.live():
            parts = self.rows[entry.seq].parts
            for position, part in enumerate(parts):
                if part.id == id and scope.covers(entry.namespace):
                    return entry, position
        return None

    def neighbours(self, scope: Scope, no: int, direction: str) -> Sequence[Neighbour]:
        self.walked.append(no)
        found = []
        rows = [(row, True) for row in self.edges.out(no)]
        rows += [(row, False) for row in self.edges.into(no)]
        for row, outward in rows:
            other = self.entries.get(row.target if outward else row.source)
            assert other is not None
            wanted = direction in ("both", "out" if outward else "in")
            if wanted and other.deleted_ns is None and scope.covers(other.namespace):
                found.append(Neighbour(other, row.relation, outward, row.confidence))
        return found

    def now_ns(self) -> int:
        return self.now

    def counter(self, name: str) -> Callable[[str], int]:
        return counter(name)

    def wait_for_vectors(self, seconds: float) -> None:
        self.waited.append(seconds)

    def digests(self, scope: Scope) -> tuple[tuple[Digest, ...], tuple[Degraded, ...]]:
        return self.shelf, self.missing

    def missed(self, scope: Scope, question: str) -> None:
        self.misses.append(question)

    def note(self, scope: Scope, event: EventKind, entries: Iterable[Entry], session: str) -> None:
        self.noted += [(event, entry.no, session) for entry in entries]

    def utility(self, scope: Scope, engrams: int) -> NDArray[np.float64]:
        return np.array([self.used.get(no, 0.0) for no in range(engrams)])

    def counted(self, scope: Scope) -> int:
        return len(self.noted)

    # -- asking ------------------------------------------------------------
    def ask(self, request: str, scope: Scope = TREE, **options: object) -> Pack:
        """The pack for a request as it would stand in a name."""
        parsed = parse_request(parse_pairs(request), self.catalogue, self.config)
        return recall(self, scope, parsed, path_of=path_of, **options)  # type: ignore[arg-type]

    def paths(self, request: str) -> list[str]:
        """The paths of the items."""
        return [item.path or item.entry.id for item in self.ask(request).items]


def path_of(entry: Entry) -> str | None:
    """Paths as in prefix mode; other namespaces have none."""
    return f"{entry.kind}/{entry.name}.md" if entry.namespace == () else None
