"""The table that `stat` and `ls` are answered from: every engram's present state, in memory.

All namespaces stand in one table. Reads need no lock (one dictionary operation each); writes come
one at a time, under the writer lock of the store. A directory of which several entries change in
one commit is replaced as a whole, so that no listing ever sees half of a rename.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from engine.model import Entry, Namespace

Place = tuple[Namespace, str, str]  # namespace, kind, slug
Shelf = tuple[Namespace, str]  # namespace, kind
Follower = Callable[[Sequence[tuple[int, Entry | None]]], None]


def place_of(entry: Entry) -> Place:
    """Where an entry stands, or stood before it was deleted."""
    return (entry.namespace, entry.kind, entry.slug)


def is_live(entry: Entry) -> bool:
    """An engram that is there: neither deleted nor a blank."""
    return entry.deleted_ns is None and bool(entry.id)


@dataclass(frozen=True, slots=True)
class Former:
    """The engram that a place had, and why it went: rename, unlink or overlay."""

    no: int
    at_ns: int
    why: str


@dataclass(frozen=True, slots=True)
class Copied:
    """A copy made by bytes that carried its original's id."""

    original: int
    copy: int
    written_by: str
    at_ns: int


class Entries:
    """Current states by number, id, inode and place; blanks; and what places remember."""

    def __init__(self) -> None:
        self._by_no: dict[int, Entry] = {}
        self._by_id: dict[str, int] = {}
        self._by_inode: dict[int, Entry] = {}
        self._shelves: dict[Shelf, dict[str, Entry]] = {}
        self._former: dict[Place, Former] = {}
        self._copies: dict[int, tuple[Copied, ...]] = {}
        self._absorbed: dict[str, int] = {}
        self._awaiting: dict[int, tuple[int, int]] = {}
        self._followers: list[Follower] = []

    # -- reading -----------------------------------------------------------
    def at(self, place: Place) -> Entry | None:
        """The live engram or blank at a place."""
        shelf = self._shelves.get((place[0], place[1]))
        return None if shelf is None else shelf.get(place[2])

    def get(self, no: int) -> Entry | None:
        """The present state of an engram, deleted or not."""
        return self._by_no.get(no)

    def by_id(self, id: str) -> Entry | None:
        """The present state of the engram that answers to an id, deleted or not."""
        no = self._absorbed.get(id)
        if no is None:
            no = self._by_id.get(id)
        return None if no is None else self._by_no.get(no)

    def by_inode(self, inode: int) -> Entry | None:
        """The live engram or blank with this inode."""
        return self._by_inode.get(inode)

    def shelf(self, namespace: Namespace, kind: str) -> list[Entry]:
        """Live engrams and blanks of one kind."""
        return list(self._shelves.get((namespace, kind), {}).values())

    def kinds(self, namespace: Namespace) -> list[str]:
        """Kinds that have an entry in a namespace."""
        return [
            shelf[1]
            for shelf, held in list(self._shelves.items())
            if held and shelf[0] == namespace
        ]

    def all(self) -> list[Entry]:
        """Present states of all engrams, deleted ones too, blanks not."""
        return list(self._by_no.values())

    def follow(self, follower: Follower) -> None:
        """Call `follower` with the engrams of each commit, when all of them stand in the table.

        An engram that is erased comes as (its number, None). Called under the writer lock.
        """
        self._followers.append(follower)

    def live(self) -> list[Entry]:
        """All live engrams."""
        return [entry for entry in self.all() if entry.deleted_ns is None]

    def blanks(self) -> list[Entry]:
        """All durable empty entries."""
        return [
            entry
            for shelf in list(self._shelves.values())
            for entry in list(shelf.values())
            if not entry.id
        ]

    # -- what places remember ----------------------------------------------
    def former(self, place: Place) -> Former | None:
        """The engram that a place had before; None once a new one has taken the place."""
        return self._former.get(place)

    def formers(self) -> list[tuple[Place, Former]]:
        """All former places."""
        return list(self._former.items())

    def lost(self, place: Place, now_ns: int, grace_ns: int) -> tuple[Entry, Former] | None:
        """The engram that a place lost within the grace time and that lives nowhere else."""
        former = self._former.get(place)
        if former is None or former.why == "rename" or now_ns - former.at_ns > grace_ns:
            return None
        entry = self._by_no.get(former.no)
        if entry is None or entry.deleted_ns != former.at_ns:
            return None  # it lives, or it lived again and was lost elsewhere since
        return entry, former

    def copies(self, original: int) -> tuple[Copied, ...]:
        """Copies of an engram that could succeed it, oldest first, dead ones too."""
        return self._copies.get(original, ())

    def successor(self, original: int) -> Entry | None:
        """The living copy that will take over a deleted engram when its grace time ends."""
        awaiting = self._awaiting.get(original)
        if awaiting is None:
            return None
        copy = self._by_no.get(awaiting[0])
        return copy if copy is not None and copy.deleted_ns is None else None

    def awaiting(self) -> list[tuple[int, int, int]]:
        """(original, copy, due_ns) of every succession that is not settled yet."""
        return [(original, copy, due) for original, (copy, due) in list(self._awaiting.items())]

    def absorbed_by(self, id: str) -> int | None:
        """The number of the engram that took in the one with this id."""
        return self._absorbed.get(id)

    def ids_absorbed_by(self, no: int) -> list[str]:
        """Ids of other engrams that answer with this one."""
        return [id for id, by in self._absorbed.items() if by == no]

    # -- writing, under the writer lock --------------------------------------
    def swap(self, states: Iterable[Entry]) -> None:
        """Replace the present states of some engrams at once."""
        changes: dict[Shelf, dict[str, Entry | None]] = {}
        gone: list[int] = []
        news = list(states)
        for new in news:
            old = self._by_no.get(new.no)
            if old is not None and old.deleted_ns is None:
                shelf = changes.setdefault((old.namespace, old.kind), {})
                shelf.setdefault(old.slug, None)
                gone.append(old.inode)
        for new in news:
            if new.deleted_ns is None:
                changes.setdefault((new.namespace, new.kind), {})[new.slug] = new
                blank = self.at(place_of(new))
                if blank is not None and not blank.id:
                    gone.append(blank.inode)
        for new in news:
            self._by_no[new.no] = new
            self._by_id[new.id] = new.no
        kept = {new.inode for new in news if new.deleted_ns is None}
        for new in news:
            if new.deleted_ns is None:
                self._by_inode[new.inode] = new
        for inode in gone:
            if inode not in kept:
                self._by_inode.pop(inode, None)
        for shelf_key, slots in sorted(changes.items(), key=_arrivals_first):
            self._apply(shelf_key, slots)
        for follower in self._followers:
            follower([(new.no, new) for new in news])

    def _apply(self, key: Shelf, slots: dict[str, Entry | None]) -> None:
        held = self._shelves.get(key)
        if held is None:
            held = self._shelves[key] = {}
        if len(slots) > 1:
            held = dict(held)
        for slug, entry in slots.items():
            if entry is None:
                held.pop(slug, None)
            else:
                held[slug] = entry
        if len(slots) > 1:
            self._shelves[key] = held

    def keep_blank(self, blank: Entry) -> None:
        """A durable empty entry; the place must hold no engram."""
        old = self.at(place_of(blank))
        if old is not None and old.inode != blank.inode:
            self._by_inode.pop(old.inode, None)
        self._apply((blank.namespace, blank.kind), {blank.slug: blank})
        self._by_inode[blank.inode] = blank

    def drop_blank(self, place: Place) -> Entry | None:
        """Forget the blank at a place; an engram there is left alone."""
        blank = self.at(place)
        if blank is None or blank.id:
            return None
        self._apply((place[0], place[1]), {place[2]: None})
        self._by_inode.pop(blank.inode, None)
        return blank

    def remember(self, place: Place, former: Former) -> None:
        """A place lost its engram."""
        self._former[place] = former

    def forget(self, place: Place) -> Former | None:
        """A new engram took the place."""
        return self._former.pop(place, None)

    def add_copy(self, copied: Copied) -> None:
        """Bytes that carried the id of `original` became an engram of their own."""
        self._copies[copied.original] = (*self._copies.get(copied.original, ()), copied)

    def drop_copies(self, original: int) -> tuple[Copied, ...]:
        """Forget the copies of an engram."""
        return self._copies.pop(original, ())

    def drop_copies_before(self, at_ns: int) -> None:
        """Forget copies that are too old to succeed anybody."""
        for original, copies in list(self._copies.items()):
            young = tuple(copied for copied in copies if copied.at_ns >= at_ns)
            if young:
                self._copies[original] = young
            else:
                del self._copies[original]

    def erase(self, no: int) -> None:
        """Nothing is left of a deleted engram in the store."""
        entry = self._by_no.pop(no, None)
        for follower in self._followers:
            follower([(no, None)])
        if entry is not None and self._by_id.get(entry.id) == no:
            del self._by_id[entry.id]
        for place in [place for place, former in self._former.items() if former.no == no]:
            del self._former[place]
        for id in self.ids_absorbed_by(no):
            del self._absorbed[id]
        self._copies.pop(no, None)
        self._awaiting.pop(no, None)

    def await_succession(self, original: int, copy: int, due_ns: int) -> None:
        """`copy` takes over from `original` at `due_ns` unless that one is created again."""
        self._awaiting[original] = (copy, due_ns)

    def end_succession(self, original: int) -> None:
        """The succession is settled, or off."""
        self._awaiting.pop(original, None)

    def absorb(self, id: str, no: int) -> None:
        """From now on an id answers with another engram."""
        self._absorbed[id] = no

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.live())


def _arrivals_first(change: tuple[Shelf, dict[str, Entry | None]]) -> bool:
    """A move between kinds shows the file in both for an instant rather than in neither."""
    return all(entry is None for entry in change[1].values())
