"""Find engrams as wholes: BM25 over whole engrams, the mean of their parts' vectors, no evidence.

    page = find_objects(reader, scope, "overheating pumps", limit=10)

Where `search` judges an engram by its best part, this judges it by all of them together. The
question is plain text, without operators. Filters, fusion and order are those of `engine.search`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from engine import bm25
from engine.channels import (
    CONTAINED,
    COSINE_DECIMALS,
    NAMED,
    NO_WORD,
    Notes,
    Retrieved,
    question_vector,
)
from engine.columns import Columns
from engine.evidence import no_evidence
from engine.filters import Filters
from engine.fusion import ROUNDING, Floats, Mask, fitted
from engine.masks import Masks, chosen, favourites, masks
from engine.model import Page
from engine.namespace import Scope
from engine.naming_in_text import named, titles_contained
from engine.paging import first_page, to_rank, window
from engine.query import Group, query_terms
from engine.ranking import Rules, rank
from engine.reader import Reader
from engine.reranking import reranked
from engine.search import judge
from engine.snapshot import Snapshot
from engine.tail import Postings


def find_objects(
    reader: Reader,
    scope: Scope,
    question: str,
    filters: Filters | None = None,
    *,
    limit: int | None = None,
    offset: int = 0,
    fusion: str = "score",
    scope_ids: Iterable[str] | None = None,
    shown: bool = True,
    seconds: float | None = None,
) -> Page:
    """The hits from `offset` on, without evidence. The arguments are those of `search`."""
    judge(question, fusion=fusion)
    config = reader.config
    asked = window(config, limit, offset, shown)
    columns = reader.columns.now()
    only = chosen(reader.entries, scope_ids)
    mask = masks(columns, reader.properties, scope, filters or Filters(), only)
    found = _retrieve(reader, columns, mask, question, seconds)
    rules = Rules(config, fusion, now_ns=reader.now_ns())
    liked = favourites(reader.properties)
    ranking = rank(columns, found, mask.allowed, liked, rules, to_rank(config, asked))
    if not ranking.before_filters.any():  # what is found and filtered is no miss
        reader.missed(scope, question)
    ranking = replace(ranking, evidence_of=no_evidence)
    ranking, failed = reranked(reader, scope, question, ranking, seconds)
    degraded = (*found.degraded, *failed)
    return first_page(reader, scope, ranking, asked, degraded=degraded, warnings=found.warnings)


def _retrieve(
    reader: Reader, columns: Columns, mask: Masks, question: str, seconds: float | None
) -> Retrieved:
    """The channels over engrams, each of which is one document."""
    snapshot = reader.index.snapshot()
    owners = snapshot.doc_engram
    engrams = max(len(columns), int(owners.max(initial=-1)) + 1)
    in_scope = fitted(mask.covered, engrams)
    parts = snapshot.visible(in_scope)
    visible = np.bincount(owners[parts], minlength=engrams) > 0
    counted = visible & ~fitted(mask.hidden, engrams)
    groups = query_terms(question, reader.languages(mask.covered))
    postings = snapshot.postings_of(term for group in groups for term in group)
    lexical = _lexical(snapshot, groups, postings, parts, visible)
    lexical = np.where(counted, np.round(lexical, ROUNDING), 0.0)
    notes = Notes()
    counted_parts = parts & counted[owners]
    vector = question_vector(reader, snapshot, question, counted_parts, notes, seconds)
    cosine: Floats | None = None
    if vector is not None:
        cosine = np.zeros(engrams, np.float64)
        if len(vector):
            cosine = reader.engram_vectors.cosines(snapshot, vector, counted_parts, engrams)
            cosine = np.round(cosine, COSINE_DECIMALS)
    heads = np.where(_in_head(snapshot, postings, parts, engrams), lexical, 0.0)
    exact = dict.fromkeys(titles_contained(columns, heads, question), CONTAINED)
    exact |= dict.fromkeys(named(reader, columns, in_scope, question), NAMED)
    if not groups and not exact:
        notes.warnings.append(NO_WORD)
    return Retrieved(
        engrams, np.arange(engrams, dtype=np.int32), np.zeros(engrams, np.int32), counted,
        lexical, cosine, exact, tuple(notes.degraded), tuple(notes.failed), tuple(notes.warnings),
    )  # fmt: skip


def _lexical(
    snapshot: Snapshot,
    groups: Sequence[Group],
    postings: dict[str, Postings],
    parts: Mask,
    visible: Mask,
) -> Floats:
    """float64[engrams]: BM25 where an engram is one document, all its parts joined.

    So N and df count engrams, and the lengths and counts of the visible `parts` are summed.
    """
    owners = snapshot.doc_engram
    engrams = len(visible)
    weights = snapshot.doc_length[parts]
    lengths = np.bincount(owners[parts], weights=weights, minlength=engrams).astype(np.int64)

    def summed(term: str) -> Postings:
        rows, counts = postings[term]
        seen = parts[rows]
        total = np.bincount(owners[rows[seen]], weights=counts[seen], minlength=engrams)
        having = np.flatnonzero(total)
        return having.astype(np.int32), total[having].astype(np.int32)

    return bm25.scores(
        groups, summed, lengths.astype(np.int32), visible, k1=snapshot.k1, b=snapshot.b
    )


def _in_head(snapshot: Snapshot, postings: dict[str, Postings], parts: Mask, engrams: int) -> Mask:
    """Engrams with a word of the question in their head."""
    found = np.zeros(engrams, dtype=bool)
    heads = parts & (snapshot.doc_position == 0)
    for rows, _ in postings.values():
        found[snapshot.doc_engram[rows[heads[rows]]]] = True
    return found
