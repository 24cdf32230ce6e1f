"""The conditions of a search query: phrases, words in the title, and words that may not stand."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from engine.also import runs
from engine.columns import Columns
from engine.fusion import Ints, Mask
from engine.query import Phrase, Query, holds
from engine.reader import Reader
from engine.snapshot import Snapshot

_QUOTES = re.compile('["\u201c\u201d\u201e\u201f\u00ab\u00bb\uff02]')
_EXCLUDED = re.compile(r'(?<!\S)-(?:title:)?(?:"[^"]*"|(?=\w)[^\s"]+)', re.IGNORECASE)
_TITLE = re.compile(r"\btitle:(?=\S)", re.IGNORECASE)


def plain_text(question: str) -> str:
    """A query without its operators and without what it excludes: what a model can understand."""
    straight = _QUOTES.sub('"', question)
    return " ".join(_TITLE.sub("", _EXCLUDED.sub(" ", straight)).replace('"', " ").split())


def meeting(
    reader: Reader, columns: Columns, allowed: Mask, query: Query, langs: Sequence[str]
) -> Mask:
    """The engrams of `allowed` that meet the conditions of a query parsed in `langs`.

    A phrase stands in one part; what is excluded stands in none.
    """
    met = allowed.copy()
    snapshot = reader.index.snapshot()
    for phrase in dict.fromkeys(query.phrases):
        met &= _holding(reader, columns, snapshot, met, phrase)
    for phrase in dict.fromkeys(query.excluded):
        met &= ~_holding(reader, columns, snapshot, met, phrase)
    if query.titles or query.excluded_titles:
        for no in np.flatnonzero(met).tolist():
            titles = _titles(columns.entry(no).title, langs)
            met[no] = all(_any(titles, phrase) for phrase in query.titles) and not any(
                _any(titles, phrase) for phrase in query.excluded_titles
            )
    return met


def _holding(
    reader: Reader, columns: Columns, snapshot: Snapshot, among: Mask, phrase: Phrase
) -> Mask:
    """The engrams among some that hold a phrase, checked on the stored terms of their parts."""
    rows = np.zeros(0, dtype=np.int32)
    certain = np.zeros(0, dtype=np.int32)
    for written in phrase:
        having = _with_all(snapshot, written)
        if len(written) == 1:
            certain = np.union1d(certain, having)
        else:
            rows = np.union1d(rows, having)
    found = _engrams(snapshot, certain, len(among)) & among
    unsure = np.flatnonzero(_engrams(snapshot, rows, len(among)) & among & ~found)
    if len(unsure):
        stored = reader.part_terms([columns.entry(no) for no in unsure.tolist()])
        for no in unsure.tolist():
            found[no] = any(holds(terms, phrase) for terms in stored.get(no, ()))
    return found


def _with_all(snapshot: Snapshot, terms: Sequence[str]) -> Ints:
    """Rows of the documents that have all of some terms."""
    rows: Ints | None = None
    for term in dict.fromkeys(terms):
        these = snapshot.postings(term)[0]
        rows = these if rows is None else np.intersect1d(rows, these)
    return rows if rows is not None else np.zeros(0, dtype=np.int32)


def _engrams(snapshot: Snapshot, rows: Ints, length: int) -> Mask:
    mask = np.zeros(length, dtype=bool)
    owners = snapshot.doc_engram[rows[snapshot.live[rows]]] if len(rows) else rows
    mask[owners[owners < length]] = True
    return mask


def _titles(title: str, langs: Sequence[str]) -> list[str]:
    """A title's terms in each language, as they are stored."""
    return ["\t".join(map(" ".join, runs((title,), lang))) for lang in langs or ("en",)]


def _any(titles: Sequence[str], phrase: Phrase) -> bool:
    return any(holds(terms, phrase) for terms in titles)
