"""Edges found by their relation and by the words of their note, with both ends.

Words are analysed as in documents. An edge is found when its note holds one of them; those that
hold more come first, then the one that changed last, then by source, relation and target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from engine.model import Edge, Entry
from engine.namespace import Scope
from engine.objects import edge
from engine.query import Group, query_terms
from engine.state import State
from engine.store.edges import EdgeRow
from engine.text import analyse
from engine.walk import seen


@dataclass(frozen=True, slots=True)
class FoundLink:
    """An edge between two engrams that the scope sees."""

    edge: Edge
    source: Entry
    target: Entry
    score: int = 0  # distinct words of the question that stand in its note; 0 without a question


def find_links(
    state: State, scope: Scope, text: str = "", relation: str | None = None
) -> tuple[FoundLink, ...]:
    """Every edge of a relation (None: of any) whose note has a word of `text` ("": any note)."""
    asked = bool(text.strip())
    rows = list(_between(state, scope, relation, noted=asked))
    langs = _languages(state, [source for _, source, _ in rows])
    groups = query_terms(text, langs) if asked else ()
    found = []
    for row, source, target in rows:
        score = _score(row, groups, langs)
        if score or not asked:
            found.append(FoundLink(edge(row, source, target), source, target, score))
    return tuple(sorted(found, key=_order))


def has_relation(state: State, scope: Scope, relation: str) -> bool:
    """Is there an edge of this relation between two engrams that the scope sees?"""
    return next(_between(state, scope, relation, noted=False), None) is not None


def _between(
    state: State, scope: Scope, relation: str | None, *, noted: bool
) -> Iterator[tuple[EdgeRow, Entry, Entry]]:
    """The edges between two engrams that the scope sees, with both."""
    for row in state.edges.related(relation, noted=noted):
        source = state.entries.get(row.source)
        target = seen(state, scope, row.target)
        if source is None or source.deleted_ns is not None or not scope.sees(source):
            continue
        if target is not None and target.no != source.no:
            yield row, source, target


def _languages(state: State, engrams: Sequence[Entry]) -> tuple[str, ...]:
    numbers = [entry.no for entry in engrams]
    mask = np.zeros(max(numbers, default=-1) + 1, np.bool_)
    mask[numbers] = True
    return state.languages.among(mask)


def _score(row: EdgeRow, groups: Sequence[Group], langs: Sequence[str]) -> int:
    if not groups:
        return 0
    terms = {term for lang in langs for term in analyse(row.note, lang)}
    return sum(not terms.isdisjoint(group) for group in groups)


def _order(found: FoundLink) -> tuple[int, int, str, str, str]:
    edge = found.edge
    return (-found.score, -edge.updated_ns, edge.source, edge.relation, edge.target)
