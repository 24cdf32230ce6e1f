"""Search: one page of ranked engrams for a question that may hold operators.

    page = search(reader, scope, question, filters, limit=10, offset=0, fusion="score")

`reader` is what `engine.reader.Reader` says; `filters` come from `parse_filters` of
`engine.filters`, or with the question from `parse_search` of `engine.recall.searches`. `"phrase"`,
`-word` and `title:word` are conditions; every other word counts towards the score. Raises Invalid
for an empty question.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from engine.channels import retrieve
from engine.errors import Invalid, Problem
from engine.errors import shown as quoted
from engine.filters import Filters
from engine.masks import chosen, favourites, masks
from engine.model import Degraded, Page
from engine.namespace import Scope
from engine.neighbours import wanted
from engine.operators import meeting, plain_text
from engine.paging import first_page, to_rank, window
from engine.query import Query, parse_query
from engine.ranking import Rules, rank
from engine.reader import Reader
from engine.reranking import reranked, to_rerank
from engine.text import tokens

CHANNELS = ("lexical", "vector", "exact")
RAW = "raw"  # one channel's own scores
FUSIONS = ("score", "rrf", RAW)
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

    The fusion is score, rrf, or raw: the scores of one channel alone, as they are. `scope_ids`:
    only these engrams may be hits. `shown` says whether files are shown with their id
    line (spans move with it); `seconds` is what the vector channel and a host's reranker may take.
    """
    judge(question, channels, fusion)
    config = reader.config
    asked = window(config, limit, offset, shown)
    columns = reader.columns.now()
    only = chosen(reader.entries, scope_ids)
    mask = masks(columns, reader.properties, scope, filters or Filters(), only)
    langs = reader.languages(mask.covered)
    query = parse_query(question, langs)
    plain = plain_text(question)
    allowed = meeting(reader, columns, mask.allowed, query, langs)
    hits = max(asked.offset + asked.limit, to_rerank(reader))
    found = retrieve(
        reader, columns, mask.covered, mask.hidden, plain, channels,
        groups=query.groups, nearest=wanted(mask, allowed, fusion, hits), seconds=seconds,
    )  # fmt: skip
    rules = Rules(config, fusion, now_ns=reader.now_ns(), evidence=config.evidence_parts)
    liked = favourites(reader.properties)
    ranking = rank(columns, found, allowed, liked, rules, to_rank(config, asked))
    if not ranking.before_filters.any():  # what is found and filtered is no miss
        reader.missed(scope, question)
    failed: tuple[Degraded, ...] = ()
    if fusion != RAW:
        ranking, failed = reranked(reader, scope, plain, ranking, seconds)
    return first_page(
        reader, scope, ranking, asked, words=snippet_words(plain, query),
        degraded=(*found.degraded, *failed), warnings=found.warnings,
    )  # fmt: skip


def snippet_words(plain: str, query: Query) -> tuple[str, ...]:
    """What snippets stand around: the words of a question, and what they were stemmed to."""
    stems = chain.from_iterable(query.groups[:SNIPPET_WORDS])
    return tuple(dict.fromkeys((*tokens(plain)[:SNIPPET_WORDS], *stems)))


def judge(question: str, channels: Sequence[str] = CHANNELS, fusion: str = "score") -> None:
    """Invalid for a question that is empty, and for channels or a fusion that do not exist."""
    problems = []
    if not question.strip():
        problems.append(Problem("the question is empty", key="q", hint="search with q=…"))
    if not channels or not set(channels) <= set(CHANNELS):
        known = ", ".join(CHANNELS)
        problems.append(
            Problem(
                f"the channels are {quoted(', '.join(channels))!r}", key="channels",
                hint=f"some of {known}",
            )
        )  # fmt: skip
    if fusion not in FUSIONS:
        known = ", ".join(FUSIONS)
        problems.append(
            Problem(f"fusion is {quoted(fusion)!r}", key="fusion", hint=f"one of {known}")
        )
    elif fusion == RAW and tuple(channels) not in (("lexical",), ("vector",)):
        problems.append(
            Problem(
                "scores of several channels cannot stand beside one another as they are",
                key="fusion", hint="raw is for the channel lexical alone, or vector alone",
            )
        )  # fmt: skip
    if problems:
        raise Invalid(*problems)
