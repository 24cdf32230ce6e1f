"""What a word of a question may be meant for: terms, titles and slugs, by their trigrams.

They are gathered when first asked for. A commit only notes which engrams it changed: whoever asks
looks at what is new, so a Put costs nothing and is known at once.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from engine.entries import Entries, is_live
from engine.fusion import Ints, Longs
from engine.model import Entry
from engine.snapshot import Snapshot
from engine.tail import Tail
from engine.text import fold
from engine.trigrams import Trigrams

LONGEST_NAME = 256  # characters of a title that are compared
_SPARE_NAMES = 1_024  # old ones that are not worth gathering all anew


@dataclass(frozen=True, slots=True)
class Names:
    """Titles and slugs, folded: two strings of each engram, one after the other.

    `owners` is the engram of each pair of strings, `pairs` the present pair of each engram, -1: it
    has none.
    """

    strings: Trigrams
    owners: Ints
    pairs: Ints

    def current(self, numbers: Longs) -> tuple[Longs, Longs]:
        """(numbers, engrams) of those strings that an engram is called by now."""
        known = numbers[numbers < 2 * len(self.owners)]
        engrams = self.owners[known // 2]
        live = self.pairs[engrams] == known // 2
        return known[live], engrams[live].astype(np.int64)


class Vocabulary:
    """The terms, titles and slugs of one store. Any thread may ask."""

    def __init__(self, entries: Entries) -> None:
        self._lock = threading.Lock()
        self._terms = Trigrams()
        self._folded = 0  # terms of the base that are in it
        self._unfolded: set[str] = set()  # terms in it that the base has not
        self._tails: WeakKeyDictionary[Tail, tuple[int, int]] = WeakKeyDictionary()
        self._entries = entries
        self._changed: dict[int, Entry | None] | None = None  # since names were asked for
        self._names = _no_names()

    def terms(self, snapshot: Snapshot) -> Trigrams:
        """Every term that a document of the snapshot has; those of others are among them."""
        with self._lock:
            folded = snapshot.base.terms()
            new: dict[str, None] = {}
            for tail, _ in snapshot.tails:  # before the base, which takes terms over from them
                before, seen = self._tails.get(tail, (0, 0))
                documents = tail.documents  # first, so that terms of later ones are looked at again
                if documents != before:
                    terms = tail.terms()
                    self._tails[tail] = (documents, len(terms))
                    new |= {t: None for t in terms[seen:] if t not in folded}
            for known in self._unfolded & new.keys():
                del new[known]
            self._unfolded |= new.keys()
            if len(folded) > self._folded:
                added = list(folded)[self._folded :]
                self._folded += len(added)
                taken = self._unfolded.intersection(added)
                self._unfolded -= taken
                new |= {term: None for term in added if term not in taken}
            self._terms.add(new)
            return self._terms

    def names(self) -> Names:
        """The titles and slugs as they are now."""
        with self._lock:
            if self._changed is None:
                self._changed = {}
                self._entries.follow(self._changed.update)
                for entry in self._entries.all():  # unless it has changed again
                    self._changed.setdefault(entry.no, entry)
            changed: dict[int, Entry | None] = {}
            while self._changed:
                no, state = self._changed.popitem()
                changed[no] = state
            if changed:
                self._names = _renamed(self._names, changed)
                called = int(np.count_nonzero(self._names.pairs >= 0))
                if len(self._names.owners) > 2 * called + _SPARE_NAMES:
                    everybody = {entry.no: entry for entry in self._entries.all()}
                    self._names = _renamed(_no_names(), everybody)
            return self._names


def name(text: str) -> str:
    """A title, a slug or a question as names are compared: folded, blanks as one, cut."""
    return " ".join(fold(text[: 4 * LONGEST_NAME]).split())[:LONGEST_NAME]


def _no_names() -> Names:
    return Names(Trigrams(), np.zeros(0, np.int32), np.zeros(0, np.int32))


def _renamed(old: Names, changed: Mapping[int, Entry | None]) -> Names:
    strings = old.strings.strings
    pairs = np.full(max(len(old.pairs), max(changed, default=-1) + 1), -1, np.int32)
    pairs[: len(old.pairs)] = old.pairs
    owners: list[int] = []
    new: list[str] = []
    for no, entry in changed.items():
        if entry is None or not is_live(entry):
            pairs[no] = -1
            continue
        called: Sequence[str] = (name(entry.title), name(entry.slug))
        pair = int(pairs[no])
        if pair < 0 or (strings[2 * pair], strings[2 * pair + 1]) != called:
            pairs[no] = len(old.owners) + len(owners)
            owners.append(no)
            new += called
    old.strings.add(new)
    return Names(old.strings, np.concatenate([old.owners, np.array(owners, np.int32)]), pairs)
