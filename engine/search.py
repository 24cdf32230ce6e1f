"""Search: one page of ranked engrams for a question that may hold operators.

    page = search(reader, scope, question, filters, limit=10, offset=0, fusion="score")

`reader` is what `engine.reader.Reader` says; `filters` come from `parse_filters` of
`engine.filters`, or with the question from `parse_search` of `engine.recall.request`. `"phrase"`,
`-word` and `title:word` are conditions; every other word counts towards the score. Raises Invalid
for an empty question.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from engine.channels import retrieve
from engine.errors import Invalid, Problem
from engine.filters import Filters
from engine.masks import chosen, favourites, masks
from engine.model import Hit, Page
from engine.namespace import Scope
from engine.operators import meeting, plain_text
from engine.passages import passages_of, shift, snippet
from engine.query import parse_query
from engine.ranking import Parts, Ranked, Rules, rank
from engine.reader import Reader, Row
from engine.text import tokens

CHANNELS = ("lexical", "vector", "exact")
SNIPPET_WORDS = 64  # words of a question that a snippet is centred by


def search(
    reader: Reader,
    scope: Scope,
    question: str,
    filters: Filters | None = None,
    *,
    limit: int | None = None,
    offset: int = 0,
    fusion: str = "score",
    channels: Sequence[str] = CHANNELS,
    scope_ids: Iterable[str] | None = None,
    shown: bool = True,
    seconds: float | None = None,
) -> Page:
    """The hits from `offset` on, each with up to three passages as snippets of 240 characters.

    `limit` is not checked against the config's: a host may ask for more. `shown` says whether
    files are shown with their id line (spans move with it); `seconds` is what the vector channel
    may take. `scope_ids`: only these engrams may be hits.
    """
    if not question.strip():
        raise Invalid(Problem("the question is empty", key="q", hint="search with q=…"))
    config = reader.config
    limit = config.default_limit if limit is None else limit
    columns = reader.columns.now()
    only = chosen(reader.entries, scope_ids)
    mask = masks(columns, reader.properties, scope, filters or Filters(), only)
    query = parse_query(question, reader.languages())
    plain = plain_text(question)
    found = retrieve(
        reader, columns, mask.covered, mask.hidden, plain, channels,
        groups=query.groups, seconds=seconds,
    )  # fmt: skip
    allowed = meeting(reader, columns, mask.allowed, query)
    rules = Rules(config, fusion, now_ns=reader.now_ns(), evidence=config.evidence_parts)
    ranking = rank(columns, found, allowed, favourites(reader.properties), rules, offset + limit)
    page = ranking.ranked[offset : offset + limit]
    entries = [ranked.entry for ranked in page]
    rows, evidence = reader.hydrate(entries), ranking.evidence(entries)
    words = tokens(plain)[:SNIPPET_WORDS]
    hits = tuple(
        _hit(
            ranked, rows[ranked.entry.no], evidence.get(ranked.entry.no, ()), words,
            config.snippet_characters, shown,
        )
        for ranked in page
        if ranked.entry.no in rows
    )  # fmt: skip
    if not ranking.total:
        reader.missed(scope, question)
    return Page(hits, ranking.total, offset, found.degraded, found.warnings)


def _hit(ranked: Ranked, row: Row, parts: Parts, words: list[str], most: int, shown: bool) -> Hit:
    moved = shift(ranked.entry, row.source or b"", shown=shown)
    evidence = tuple(
        replace(passage, text=snippet(passage.text, words, most))
        for passage in passages_of(row, parts, moved)
    )
    return Hit(
        ranked.entry,
        ranked.score,
        ranked.channels,
        evidence,
        row.summary,
        dict(row.properties),
        "superseded" if row.properties.get("superseded_by") else "live",
    )
