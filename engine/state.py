"""What an open engine holds: the store, the views kept beside it, the clock, who listens."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from engine.agreement import Agreed
from engine.catalogue import Catalogue
from engine.config import Config
from engine.demand import Demand
from engine.edges import Edges
from engine.entries import Entries, Shelf
from engine.errors import NotFound
from engine.index import Index
from engine.languages import Languages
from engine.model import Change, Entry, Namespace
from engine.namespace import Scope
from engine.naming import Names
from engine.notes import Notes
from engine.ports import Reranker, TextHook
from engine.prepare import Bench
from engine.properties import PropertyIndex
from engine.refusals import Refusals
from engine.slug import nfc
from engine.sources import Sources
from engine.store import meta, places
from engine.store.connection import Store
from engine.store.places import Directory
from engine.texts_ahead import TextsAhead

log = logging.getLogger(__name__)

DIRECTORY_MODE = 0o755
DIRECTORIES_SEQ = "directories_seq"  # meta: the directories' times are stored up to this commit


@dataclass(slots=True)
class State:
    """An open store with its views. Views change under `store.lock`, after the transaction."""

    store: Store
    config: Config
    clock: Callable[[], int]
    new_id: Callable[[], str]
    embed: str  # background | inline | off
    embedder: Agreed | None  # there is none only where embedding is off
    count_tokens: Callable[[str], int] | None
    catalogue: Catalogue
    entries: Entries
    names: Names
    edges: Edges
    properties: PropertyIndex
    index: Index
    languages: Languages
    refusals: Refusals
    sources: Sources
    demand: Demand
    reranker: Reranker | None = None  # the host's
    text_hook: TextHook | None = None  # the host's
    texts_ahead: TextsAhead = field(default_factory=TextsAhead)
    directories: dict[Shelf, Directory] = field(default_factory=dict)
    moved_directories: set[Shelf] = field(default_factory=set)  # mtime not in the store yet
    damaged: dict[int, str] = field(default_factory=dict)  # engrams that cannot be read, and why
    unproved: set[int] = field(default_factory=set)  # engrams of which parts or terms are damaged
    listeners: list[Callable[[Change], None]] = field(default_factory=list)
    notes: Notes = field(init=False)

    def __post_init__(self) -> None:
        self.notes = Notes(self.edges)

    def bench(self) -> Bench:
        """What a document is prepared with at this moment."""
        return Bench(self.catalogue, self.config, self.count_tokens, text_hook=self.text_hook)

    def find(self, scope: Scope, ref: str) -> Entry:
        """The live engram that an id or `kind/slug` names; NotFound if there is none in scope.

        Until a succession is settled the old id leads to the copy.
        """
        entry = self.entries.by_id(ref.lower())
        if entry is not None and entry.deleted_ns is not None:
            entry = self.entries.successor(entry.no)
        if entry is None and "/" in ref:
            directory, _, slug = ref.rpartition("/")
            kind = self.catalogue.by_directory(directory) or self.catalogue.kind(directory)
            if kind is not None:
                at = self.entries.at((scope.attributes, kind.name, nfc(slug)))
                entry = at if at is not None and at.id else None
        if entry is None or entry.deleted_ns is not None or not scope.sees(entry):
            raise NotFound(f"there is no engram {ref}")
        return entry

    def directory(self, namespace: Namespace, kind: str) -> Directory:
        """A kind's directory; it is given its inode when it is first asked for."""
        found = self.directories.get((namespace, kind))
        if found is not None:
            return found
        with self.store.lock:
            found = self.directories.get((namespace, kind))
            if found is None:
                inode = self.store.new_inode()
                came = [entry.created_ns for entry in self.entries.shelf(namespace, kind)]
                at = max(came, default=self.clock())
                found = Directory(namespace, kind, inode, DIRECTORY_MODE, at)
                self.keep_directory(found)
            return found

    def keep_directory(self, directory: Directory) -> None:
        """Store a directory's attributes; under the writer lock."""
        with self.store.transaction() as cursor:
            places.keep_directory(cursor, directory)
        self.directories[(directory.namespace, directory.kind)] = directory
        self.moved_directories.discard((directory.namespace, directory.kind))

    def touch_directory(self, namespace: Namespace, kind: str, now_ns: int) -> None:
        """An entry came or went. Written down at a quiet moment: a commit is one row."""
        found = self.directories.get((namespace, kind))
        if found is not None and found.mtime_ns != now_ns:
            self.directories[(namespace, kind)] = replace(found, mtime_ns=now_ns)
            self.moved_directories.add((namespace, kind))

    def keep_moved_directories(self) -> None:
        """Write down the directories' times."""
        with self.store.lock:
            moved = [self.directories[shelf] for shelf in self.moved_directories]
            if moved:
                with self.store.transaction() as cursor:
                    for directory in moved:
                        places.keep_directory(cursor, directory)
                    meta.put(cursor, DIRECTORIES_SEQ, self.store.counters.next_seq)
                self.moved_directories.clear()

    def tell(self, changes: list[Change]) -> None:
        """Notify the listeners, outside every lock; one that fails is logged, others are told."""
        for change in changes:
            for listener in list(self.listeners):
                try:
                    listener(change)
                except Exception:
                    log.exception("a listener failed on %s of %s", change.event, change.id)
