"""Which languages engrams are written in: a question's words are stemmed in those of its scope."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from engine.catalogue import Catalogue
from engine.entries import Entries
from engine.fusion import Mask, fitted
from engine.model import PropertyValue
from engine.properties import PropertyIndex
from engine.text import primary_language

DEFAULT_LANG = "en"  # of engrams that name none and whose kind names none
_NONE = -1


class Languages:
    """The primary language of each live engram; changed under the writer lock only."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._of = np.full(0, _NONE, np.int32)  # engram -> code; replaced as it grows

    def among(self, engrams: Mask) -> tuple[str, ...]:
        """The languages of some engrams, the most frequent first, then by tag.

        The default where there are none. Only these engrams decide, so nothing outside a scope
        changes how a question is understood in it.
        """
        of, known = self._of, tuple(self._codes)
        if len(known) == 1:
            return known
        codes = of[fitted(engrams, len(of))]
        counts = np.bincount(codes[(codes >= 0) & (codes < len(known))], minlength=len(known))
        ranked = sorted(zip((-counts).tolist(), known, strict=True))
        return tuple(lang for count, lang in ranked if count) or (DEFAULT_LANG,)

    def all(self) -> tuple[str, ...]:
        """The languages of all engrams, the most frequent first."""
        return self.among(np.ones(len(self._of), dtype=bool))

    def set(self, no: int, lang: str) -> None:
        """A live engram is written in a language; "" is the default."""
        if no >= len(self._of):
            grown = np.full(max(2 * len(self._of), no + 1, 64), _NONE, np.int32)
            grown[: len(self._of)] = self._of
            self._of = grown
        lang = primary_language(lang or DEFAULT_LANG)
        self._of[no] = self._codes.setdefault(lang, len(self._codes))

    def remove(self, no: int) -> None:
        """An engram was deleted."""
        if no < len(self._of):
            self._of[no] = _NONE


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
