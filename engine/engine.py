"""The façade: everything that the filesystem, the command line, a server or another host calls.

    engine = Engine.open("store", kinds=text)
    commit = engine.put(Scope(()), Draft("note", "hello", b"# Hello"))

Every method takes the scope first and answers with frozen values. Writes are one transaction each;
reads see committed states only. The errors are those of `engine.errors`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from engine import attributes, move, removal, replacing
from engine.analysis import Webs
from engine.applying import make_kind, remove_kind
from engine.arguments import explaining
from engine.asking import Asking
from engine.catalogue import Catalogue
from engine.config import Config
from engine.entries import Place, is_live
from engine.errors import NotFound
from engine.filters import Filters, equal_to
from engine.grouping import values_of
from engine.ids import uuid7
from engine.model import (
    Change,
    Commit,
    Draft,
    Edge,
    Engram,
    Entry,
    HostPart,
    Notice,
    Problem,
    PropertyValue,
    Rejected,
    Status,
)
from engine.namespace import Scope
from engine.objects import StoredPassage, edges_of, engram, lost, parts_of, status
from engine.opening import open_state
from engine.part_ids import find_part
from engine.put import put
from engine.put_many import put_many
from engine.reading import Reading
from engine.slug import nfc
from engine.upkeep import Upkeep
from engine.walking import Walking

if TYPE_CHECKING:
    from engine.embed import Embedder
    from engine.errors import Invalid
    from engine.ports import Guard, Reranker, Summariser, TextHook


@explaining
class Engine(Asking, Walking):
    """An open store. Make it with `open`; `close` it once."""

    def __init__(self, upkeep: Upkeep) -> None:
        self._upkeep = upkeep
        self._state = upkeep.state
        self._webs = Webs()
        self._recipes = {}
        self.reading = Reading(
            self._state, upkeep.background.wait_embedded, upkeep.columns, upkeep.digests
        )

    @classmethod
    def open(
        cls,
        store: Path | str,
        *,
        kinds: str | None = None,
        embedder: Embedder | None = None,
        embed: str = "background",
        config: Config | None = None,
        clock: Callable[[], int] = time.time_ns,
        new_id: Callable[[], str] = uuid7,
        re_embed: bool = False,
        reranker: Reranker | None = None,
        text_hook: TextHook | None = None,
        summariser: Summariser | None = None,
        guard: Guard | None = None,
        counters: Mapping[str, Callable[[str], int]] | None = None,
    ) -> Self:
        """Open or make a store: a directory, or ":memory:".

        `kinds` is the text of a kinds.yaml to apply; `embed` is "background", "inline" or "off";
        `embedder` None means the bundled model. `clock` gives nanoseconds since the epoch.
        `re_embed` drops the vectors of another model, which are refused otherwise. `reranker`,
        `text_hook`, `summariser` (None: the one that is built in) and `guard` are the host's own
        (`engine.ports`). `counters` are its own ways to count tokens, by the name that a recall
        asks for.
        Raises StoreHeld, StoreCorrupt, SchemaTooNew, StoreFull, Invalid, Unsupported.
        """
        state, fulltext = open_state(
            store, embedder=embedder, embed=embed, config=config or Config(), clock=clock,
            new_id=new_id, re_embed=re_embed, reranker=reranker, text_hook=text_hook,
        )  # fmt: skip
        upkeep = Upkeep(state, fulltext, summariser, guard)
        try:
            if kinds is not None:
                upkeep.apply_kinds(kinds)
        except BaseException:
            state.store.close()
            raise
        upkeep.start()
        engine = cls(upkeep)
        engine.reading.counters = dict(counters or {})
        return engine

    def close(self) -> None:
        """End the background work, checkpoint and let go of the store."""
        self._upkeep.close()

    # -- kinds -----------------------------------------------------------------
    @property
    def catalogue(self) -> Catalogue:
        """The kinds as they are now; frozen."""
        return self._state.catalogue

    @property
    def config(self) -> Config:
        """The numbers of this store."""
        return self._state.config

    def apply_kinds(self, text: str) -> tuple[str, ...]:
        """Apply kinds.yaml, all or nothing; what changed, a line each. Invalid names engrams."""
        return self._upkeep.apply_kinds(text)

    def make_kind(self, name: str) -> None:
        """Open mode's mkdir."""
        make_kind(self._state, name)

    def remove_kind(self, name: str) -> None:
        """Open mode's rmdir; Conflict unless it is empty."""
        remove_kind(self._state, name)

    # -- reading -----------------------------------------------------------------
    def lookup(self, scope: Scope, kind: str, slug: str) -> Entry | None:
        """The live engram or blank at a place of exactly this namespace."""
        found = self._state.entries.at(self._place(scope, kind, slug))
        return found if found is not None and scope.sees(found) else None

    def _place(self, scope: Scope, kind: str, slug: str) -> Place:
        known = self._state.catalogue.kind(kind)
        return (scope.attributes, known.name if known is not None else kind, nfc(slug))

    def entries(self, scope: Scope, kind: str | None = None) -> list[Entry]:
        """Live engrams and blanks of exactly this namespace."""
        entries = self._state.entries
        shelves = [kind] if kind is not None else entries.kinds(scope.attributes)
        seen = (each for each in shelves if scope.kinds is None or each in scope.kinds)
        return [entry for shelf in seen for entry in entries.shelf(scope.attributes, shelf)]

    def by_id(self, scope: Scope, id: str) -> Entry | None:
        """The live engram that answers to an id, if the scope covers it."""
        entry = self._state.entries.by_id(id.lower())
        if entry is None or entry.deleted_ns is not None or not scope.sees(entry):
            return None
        return entry

    def by_inode(self, scope: Scope, inode: int) -> Entry | None:
        """The live engram or blank with an inode."""
        entry = self._state.entries.by_inode(inode)
        return entry if entry is not None and scope.sees(entry) else None

    def source(self, entry: Entry, shown: bool = True) -> bytes:
        """The bytes of an entry as written, or as shown with the id line.

        StoreCorrupt when they disagree with their checksum.
        """
        sources = self._state.sources
        return sources.shown(entry) if shown else sources.written(entry)

    def get(self, scope: Scope, ref: str) -> Engram:
        """One engram by id or `kind/slug`; NotFound."""
        return engram(self._state, self._state.find(scope, ref))

    def children(self, scope: Scope, ref: str) -> tuple[StoredPassage, ...]:
        """The parts of an engram with their text: the head, the file's, then its host's."""
        return parts_of(self._state, self._state.find(scope, ref))

    def part(self, scope: Scope, id: str) -> tuple[Entry, StoredPassage]:
        """A part by its id, with the engram that has it; NotFound."""
        found = find_part(self._state, scope, id)
        if found is None:
            raise NotFound(f"there is no part {id}")
        entry, position = found
        return entry, parts_of(self._state, entry)[position]

    def by_property(self, scope: Scope, name: str, value: object) -> tuple[Entry, ...]:
        """The live engrams that have a value (or one of a list) in a property, by kind and slug.

        Numbers are equal by value, texts exactly after NFC, times by instant; a list has each of
        its elements, null is missing. Invalid for a property that no kind declares.
        """
        state = self._state
        test = equal_to(name, value, state.catalogue)
        numbers = state.properties.select(Filters(tests=(test,)))
        found = [entry for no in numbers if (entry := state.entries.get(no)) is not None]
        seen = [each for each in found if is_live(each) and scope.sees(each)]
        return tuple(sorted(seen, key=lambda each: (each.kind, each.slug, each.id)))

    def values_of(
        self, scope: Scope, kind: str, name: str
    ) -> tuple[tuple[Entry, PropertyValue], ...]:
        """(engram, value) for the engrams of a kind that have a property; of a list each."""
        return tuple(values_of(self._state, scope, kind, name))

    def edges(self, scope: Scope, ref: str) -> tuple[Edge, ...]:
        """Edges out of an engram, then those into it; to and from what the scope covers."""
        return edges_of(self._state, scope, self._state.find(scope, ref))

    def lost(self, scope: Scope, kind: str, slug: str) -> Entry | None:
        """The engram that a path lost within the grace time and that lives nowhere."""
        return lost(self._state, self._place(scope, kind, slug))

    def status(self, scope: Scope) -> Status:
        """Counts of what the scope sees."""
        upkeep, columns = self._upkeep, self._upkeep.columns.now()
        found = status(self._state, columns, scope, upkeep.problems(), upkeep.hnsw.progress())
        return replace(found, digests=upkeep.digests.counts(scope))

    # -- writing -----------------------------------------------------------------
    def put(self, scope: Scope, draft: Draft, *, expect: int | None = None) -> Commit:
        """Store a document; Invalid with all problems, Conflict, StoreFull, EmbedderFailed.

        `expect`: Conflict if the bytes at the place changed after that commit (0: if any).
        """
        return self._upkeep.after(put(self._state, scope, draft, expect))

    def put_many(self, scope: Scope, drafts: Sequence[Draft]) -> tuple[Commit | Invalid, ...]:
        """Store many documents in one transaction; a result for each, in order.

        Invalid ones are left out and reported; any other error stores none.
        """
        return self._upkeep.after(put_many(self._state, scope, drafts), many=len(drafts))

    def rename(
        self,
        scope: Scope,
        id: str,
        kind: str,
        slug: str,
        *,
        name: str | None = None,
        by: str = "",
        rewrite: bool = False,
    ) -> Commit:
        """Move a live engram; one that is in the way is replaced (design: rename over existing).

        `rewrite`: those that link to it by its place name the new one, in the same transaction.
        """
        commit = move.rename(self._state, scope, id, kind, slug, name=name, by=by, rewrite=rewrite)
        return self._upkeep.after(commit)

    def exchange(self, scope: Scope, id_a: str, id_b: str, *, by: str = "") -> None:
        """Two live engrams swap their places."""
        move.exchange(self._state, scope, id_a, id_b, by)
        self._upkeep.after(None)

    def replace_parts(self, scope: Scope, ref: str, parts: Iterable[HostPart] | None) -> Commit:
        """Give an engram texts that are not in its file, instead of those given before.

        All or nothing; None removes them; the same again change nothing. The file's bytes and
        times do not move, `updated` does. Invalid with every problem, NotFound, StoreFull,
        EmbedderFailed.
        """
        return self._upkeep.after(replacing.replace_parts(self._state, scope, ref, parts))

    def delete(self, scope: Scope, id: str, *, why: str = "unlink", by: str = "") -> Entry:
        """Soft-delete; `why` is "unlink" or "overlay". Returns the entry as it left."""
        return self._upkeep.after(removal.delete(self._state, scope, id, why=why, by=by))

    def revive(
        self, scope: Scope, id: str, *, kind: str | None = None, slug: str | None = None
    ) -> Commit:
        """Bring a deleted engram back, at its last place unless another is given."""
        return self._upkeep.after(removal.revive(self._state, scope, id, kind=kind, slug=slug))

    def set_attributes(
        self, scope: Scope, entry: Entry, *, mode: int | None = None, mtime_ns: int | None = None
    ) -> Entry:
        """Change permission bits or mtime of a live engram or blank."""
        return attributes.set_attributes(self._state, scope, entry, mode=mode, mtime_ns=mtime_ns)

    def keep_blank(
        self,
        scope: Scope,
        kind: str,
        slug: str,
        name: str,
        inode: int,
        mode: int,
        mtime_ns: int,
        ctime_ns: int | None = None,
    ) -> Entry:
        """A durable empty entry; Conflict where an engram lives."""
        return attributes.keep_blank(
            self._state, scope, kind, slug, name, inode, mode, mtime_ns, ctime_ns
        )

    def drop_blank(self, scope: Scope, kind: str, slug: str) -> None:
        """Remove an empty entry, if there is one."""
        attributes.drop_blank(self._state, scope, kind, slug)

    def new_inode(self) -> int:
        """An inode number that was never handed out, below 2**40."""
        return self._state.store.new_inode()

    def directory(self, scope: Scope, kind: str) -> tuple[int, int, int]:
        """(inode, permission bits, mtime_ns) of a kind's directory."""
        found = self._state.directory(scope.attributes, kind)
        return found.inode, found.mode, found.mtime_ns

    def set_directory(
        self, scope: Scope, kind: str, *, mode: int | None = None, mtime_ns: int | None = None
    ) -> tuple[int, int, int]:
        """Change a directory's permission bits or mtime."""
        found = attributes.set_directory(self._state, scope, kind, mode=mode, mtime_ns=mtime_ns)
        return found.inode, found.mode, found.mtime_ns

    # -- refusals ----------------------------------------------------------------
    def refuse(
        self,
        scope: Scope,
        *,
        kind: str,
        slug: str,
        path: str,
        event: str,
        problems: Iterable[Problem],
        source: bytes | None,
        name: str | None = None,
    ) -> Notice:
        """Record why something was refused, and keep its bytes; the same refusal again is one."""
        state = self._state
        with state.store.lock:
            place = (scope.attributes, kind, nfc(slug))
            return state.refusals.refuse(
                place, name if name is not None else slug, path, event, problems, source,
                state.clock(),
            )  # fmt: skip

    def notices(self, scope: Scope) -> list[Notice]:
        """What stands in `.errors` of exactly this namespace, newest first."""
        return self._state.refusals.notices(scope, self._state.clock())

    def clear_notices(self, scope: Scope, kind: str, slug: str) -> None:
        """What `refuse` recorded of a place that never commits is settled."""
        with self._state.store.lock:
            self._state.refusals.clear((scope.attributes, kind, nfc(slug)))

    def rejected(self, scope: Scope) -> tuple[Rejected, ...]:
        """Refused bytes that are kept, of exactly this namespace."""
        return self._state.refusals.rejected(scope)

    def rejected_source(self, rejected: Rejected) -> bytes:
        """The refused bytes; NotFound when they were discarded meanwhile."""
        return self._state.refusals.bytes_of(rejected)

    def discard_rejected(self, scope: Scope, kind: str, name: str, rank: int) -> None:
        """Forget refused bytes; NotFound."""
        with self._state.store.lock:
            self._state.refusals.discard(scope.attributes, kind, name, rank)

    # -- following -----------------------------------------------------------------
    def subscribe(self, callback: Callable[[Change], None]) -> Callable[[], None]:
        """Call back after every commit, outside the lock; returns what ends it."""
        listeners = self._state.listeners
        listeners.append(callback)

        def end() -> None:
            if callback in listeners:
                listeners.remove(callback)

        return end

    # -- upkeep ----------------------------------------------------------------------
    def settle(self) -> None:
        """Carry out the successions whose time has come (the background does so by itself)."""
        self._upkeep.settle()

    def check(self, repair: bool = False) -> tuple[Problem, ...]:
        """What does not agree in the store; with `repair`, what still does not after repairing."""
        return self._upkeep.check(repair)

    def reindex(
        self, embed: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> Mapping[str, int]:
        """Make everything derived anew from the stored bytes; with `embed` the vectors too."""
        return self._upkeep.reindex(embed, progress)
