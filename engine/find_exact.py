"""Find what is meant by an id, a title or a spelling: words, never vectors.

    page = find_exact(reader, scope, "kuberntes", limit=10)

An id gives its engram, or the part that has it as the evidence of its engram, and nothing else. Any
other text is a question with the operators of `engine.search`: first the engrams whose title it is,
then those that it names otherwise (slug, alias, path), then those that hold its words or other
spellings of them (`engine.spellings`; words in quotes and those of operators have none).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from engine.channels import NAMED, TITLED, Retrieved, retrieve
from engine.columns import Columns
from engine.evidence import Evidence
from engine.filters import Filters
from engine.ids import UUID
from engine.masks import Masks, chosen, favourites, masks
from engine.model import Page
from engine.namespace import Scope
from engine.operators import meeting, plain_text
from engine.paging import first_page, to_rank, window
from engine.query import parse_query
from engine.ranking import Ranking, Rules, rank
from engine.reader import Reader
from engine.search import judge, snippet_words
from engine.vocabulary import LONGEST_NAME, name

CHANNELS = ("lexical", "trigram", "exact")


def find_exact(
    reader: Reader,
    scope: Scope,
    text: str,
    filters: Filters | None = None,
    *,
    limit: int | None = None,
    offset: int = 0,
    scope_ids: Iterable[str] | None = None,
    shown: bool = True,
) -> Page:
    """The hits from `offset` on; the arguments are those of `search`. Invalid for an empty text."""
    judge(text)
    asked = window(reader.config, limit, offset, shown)
    columns = reader.columns.now()
    only = chosen(reader.entries, scope_ids)
    if id := UUID.fullmatch(text.strip()):
        every = masks(
            columns, reader.properties, scope, filters or Filters(), only, superseded=True
        )
        ranking = _of_id(reader, columns, scope, every, id[0].lower())
        if not ranking.before_filters.any():  # what is found and filtered is no miss
            reader.missed(scope, text)
        return first_page(reader, scope, ranking, asked)
    mask = masks(columns, reader.properties, scope, filters or Filters(), only)
    langs = reader.languages(mask.covered)
    query = parse_query(text, langs)
    plain = plain_text(text)
    found = retrieve(
        reader, columns, mask.covered, mask.hidden, plain, CHANNELS,
        groups=query.groups, free=query.free,
    )  # fmt: skip
    found = _called(reader, found, plain)
    allowed = meeting(reader, columns, mask.allowed, query, langs)
    rules = Rules(reader.config, now_ns=reader.now_ns(), evidence=reader.config.evidence_parts)
    liked = favourites(reader.properties)
    ranking = rank(columns, found, allowed, liked, rules, to_rank(reader.config, asked))
    if not ranking.before_filters.any():  # what is found and filtered is no miss
        reader.missed(scope, text)
    words = (*snippet_words(plain, query), *found.spellings)
    return first_page(reader, scope, ranking, asked, words=words, warnings=found.warnings)


def _called(reader: Reader, found: Retrieved, text: str) -> Retrieved:
    """Engrams whose title or slug is the text once both are folded, accents aside."""
    whole = name(text)
    if not whole or len(whole) >= LONGEST_NAME:  # which is where names are cut
        return found
    names = reader.vocabulary.names()
    numbers, engrams = names.current(names.strings.near(whole, 0)[0])
    exact = dict(found.exact or {})
    for number, engram in zip(numbers.tolist(), engrams.tolist(), strict=True):
        if engram < found.engrams:
            level = NAMED if number % 2 else TITLED  # the slug stands behind the title
            exact[engram] = max(level, exact.get(engram, 0))
    return replace(found, exact=exact)


def _of_id(reader: Reader, columns: Columns, scope: Scope, mask: Masks, id: str) -> Ranking:
    """The one engram of an id among the allowed, or none; with the part whose id it is."""
    entry, position = reader.entries.by_id(id), -1
    if entry is not None and entry.deleted_ns is not None:
        entry = reader.entries.successor(entry.no)  # the copy that answers to it
    if entry is None:
        entry, position = reader.find_part(scope, id) or (None, -1)
    own = [entry.no] if entry is not None and entry.no < len(mask.allowed) else []
    numbers = np.array([no for no in own if mask.allowed[no]], np.int64)
    parts = Evidence(np.full((1, 1), position, np.int32), np.ones((1, 1)))
    return Ranking(
        columns, numbers, np.ones(len(numbers)), np.ones(len(numbers), np.bool_), len(numbers),
        {"exact": np.ones(len(numbers), np.int64)}, evidence_of=lambda _: parts,
        before_filters=mask.covered[own].astype(np.float64),
    )  # fmt: skip
