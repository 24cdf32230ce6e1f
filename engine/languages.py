"""Which languages the live engrams are written in: a question's words are stemmed in those."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from engine.catalogue import Catalogue
from engine.entries import Entries
from engine.model import PropertyValue
from engine.properties import PropertyIndex

DEFAULT_LANG = "en"  # of engrams that name none and whose kind names none


class Languages:
    """Live engrams counted by language; changed under the writer lock only."""

    def __init__(self) -> None:
        self._of: dict[int, str] = {}
        self._counts: Counter[str] = Counter()
        self._ranked: tuple[str, ...] = (DEFAULT_LANG,)

    def ranked(self) -> tuple[str, ...]:
        """Most frequent first; the default where there is no engram."""
        return self._ranked

    def set(self, no: int, lang: str) -> None:
        """A live engram is written in a language; "" is the default."""
        lang = lang or DEFAULT_LANG
        if self._of.get(no) != lang:
            self._drop(no)
            self._of[no] = lang
            self._counts[lang] += 1
            self._rank()

    def remove(self, no: int) -> None:
        """An engram was deleted."""
        if no in self._of:
            self._drop(no)
            self._rank()

    def _drop(self, no: int) -> None:
        lang = self._of.pop(no, None)
        if lang is not None:
            self._counts[lang] -= 1

    def _rank(self) -> None:
        ranked = tuple(lang for lang, count in self._counts.most_common() if count > 0)
        self._ranked = ranked or (DEFAULT_LANG,)


def lang_of(properties: Mapping[str, PropertyValue], kind: str, catalogue: Catalogue) -> str:
    """The engram's own language, else its kind's, else ""."""
    own = properties.get("lang")
    if isinstance(own, str) and own:
        return own
    known = catalogue.kind(kind)
    return known.lang if known is not None else ""


def count_languages(entries: Entries, properties: PropertyIndex, catalogue: Catalogue) -> Languages:
    """The languages of all live engrams."""
    languages = Languages()
    for entry in entries.live():
        languages.set(entry.no, lang_of(properties.of(entry.no), entry.kind, catalogue))
    return languages
