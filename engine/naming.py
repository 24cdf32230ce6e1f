"""What engrams are called: the index by which links find their target by slug, alias or title.

Names are compared in NFC, exact case first, then ignoring case. Keys are folded; the exact spelling
is compared when a name is looked up. Updates come under the writer lock; a lookup is one dictionary
read and a filter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from engine.entries import Entries, is_live
from engine.model import Entry, Namespace
from engine.slug import fold, nfc

Key = tuple[Namespace, str]
Numbers = set[int]


class Names:
    """Live engrams by what they are called."""

    def __init__(self, entries: Entries) -> None:
        self._entries = entries
        self._slugs: dict[Key, Numbers] = {}
        self._titles: dict[Key, Numbers] = {}
        self._aliases: dict[Key, Numbers] = {}
        self._known: dict[int, tuple[Namespace, str, str, tuple[str, ...]]] = {}
        self._spelled: dict[int, tuple[str, ...]] = {}

    def set(self, entry: Entry, aliases: Iterable[str]) -> None:
        """Index a live engram, replacing what it was called before."""
        spelled = tuple(nfc(alias) for alias in aliases)
        folded = tuple(dict.fromkeys(fold(alias) for alias in spelled))
        known = (entry.namespace, fold(entry.slug), fold(entry.title), folded)
        if spelled:
            self._spelled[entry.no] = spelled
        else:
            self._spelled.pop(entry.no, None)
        if self._known.get(entry.no) == known:
            return
        self.remove(entry.no, keep_spelling=True)
        self._known[entry.no] = known
        namespace = entry.namespace
        _add(self._slugs, (namespace, known[1]), entry.no)
        _add(self._titles, (namespace, known[2]), entry.no)
        for alias in folded:
            _add(self._aliases, (namespace, alias), entry.no)

    def remove(self, no: int, *, keep_spelling: bool = False) -> None:
        """Forget a deleted engram's names."""
        if not keep_spelling:
            self._spelled.pop(no, None)
        known = self._known.pop(no, None)
        if known is None:
            return
        namespace, slug, title, aliases = known
        _drop(self._slugs, (namespace, slug), no)
        _drop(self._titles, (namespace, title), no)
        for alias in aliases:
            _drop(self._aliases, (namespace, alias), no)

    def aliases(self, no: int) -> tuple[str, ...]:
        """The aliases of a live engram, NFC."""
        return self._spelled.get(no, ())

    def by_slug(self, namespace: Namespace, slug: str) -> list[Entry]:
        """Live engrams of any kind with this slug; of this case if there are any."""
        return self._find(self._slugs, namespace, slug, lambda entry: (entry.slug,))

    def by_title(self, namespace: Namespace, title: str) -> list[Entry]:
        """Live engrams with this title; of this case if there are any."""
        return self._find(self._titles, namespace, title, lambda entry: (entry.title,))

    def by_alias(self, namespace: Namespace, alias: str) -> list[Entry]:
        """Live engrams with this alias; of this case if there are any."""
        return self._find(self._aliases, namespace, alias, lambda entry: self.aliases(entry.no))

    def _find(
        self,
        index: dict[Key, Numbers],
        namespace: Namespace,
        name: str,
        spellings: Callable[[Entry], Iterable[str]],
    ) -> list[Entry]:
        found = [self._entries.get(no) for no in sorted(index.get((namespace, fold(name)), ()))]
        live = [entry for entry in found if entry is not None and is_live(entry)]
        exact_name = nfc(name)
        exact = [entry for entry in live if any(nfc(own) == exact_name for own in spellings(entry))]
        return exact or live


def _add(index: dict[Key, Numbers], key: Key, no: int) -> None:
    index.setdefault(key, set()).add(no)


def _drop(index: dict[Key, Numbers], key: Key, no: int) -> None:
    held = index.get(key)
    if held is not None:
        held.discard(no)
        if not held:
            index.pop(key, None)
