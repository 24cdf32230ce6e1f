"""Recall: a question and a budget in, a context pack out.

    pack = recall(reader, scope, request, path_of=path_of)

`reader` is what `engine.reader.Reader` says; `request` comes from `parse_request` of
`engine.recall.request`; `path_of(entry)` is the engram's path as the asker sees it, None outside
the tree. The answer's bytes are `pack.rendered`, its name `pack.token`; who asks
keeps them, so that a request that is a token is NotFound here. Raises Invalid when the request's
namespace contradicts the scope, StrictRecallFailed, and EmbedderFailed when the counter "model"
cannot be had.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from engine.channels import Retrieved, retrieve
from engine.columns import Columns
from engine.errors import GraphFailed, NotFound, StrictRecallFailed
from engine.graph_channel import GraphChannel, Spread
from engine.masks import favourites, masks
from engine.model import Degraded, Entry, Relation
from engine.namespace import Scope, bind
from engine.neighbours import wanted
from engine.passages import shift
from engine.ranking import Ranking, Rules, browse, rank
from engine.reader import Reader
from engine.recall.answer import Form, changed_controls, controls_of
from engine.recall.items import Item, make_item
from engine.recall.json_form import JsonForm, with_trace
from engine.recall.markdown import MarkdownForm, trace_text
from engine.recall.narrowing import Narrowed, narrow
from engine.recall.pack import Facts, Limits, Pack, pack
from engine.recall.request import RecallRequest
from engine.recall.trace import Timings, trace_of
from engine.reranking import reranked, to_rerank

PathOf = Callable[[Entry], str | None]
TOKENS_AN_ITEM = 80  # fewer than most have: how many rows are read at once is taken from it
MOST_ROWS = 64


@dataclass(frozen=True, slots=True)
class _Asked:
    """What one recall works with."""

    reader: Reader
    request: RecallRequest
    path_of: PathOf
    count: Callable[[str], int]
    shown: bool
    seconds: float | None


def recall(
    reader: Reader,
    scope: Scope,
    request: RecallRequest,
    *,
    path_of: PathOf,
    shown: bool = True,
    seconds: float | None = None,
) -> Pack:
    """The pack for a request under a scope.

    `shown` says whether files are shown with their id line (spans move with it). `seconds` bounds
    what the vector channel and a host's reranker may take; the answer is degraded when they take
    longer.
    """
    if request.token:
        raise NotFound(f"the answer {request.token} is kept by who asked", "ask there, or ask anew")
    timings = Timings(time.perf_counter())
    scope = bind(scope, request.namespace)
    if request.fresh:
        reader.wait_for_vectors(reader.config.fresh_wait_seconds)
        timings.lap("fresh")
    asked = _Asked(reader, request, path_of, reader.counter(request.counter), shown, seconds)
    columns = reader.columns.now()
    narrowed = narrow(
        masks(columns, reader.properties, scope, request.filters), columns, reader.properties,
        request,
    )  # fmt: skip
    mask = narrowed.masks
    timings.lap("filters")
    found, ranking = _ranking(asked, scope, columns, narrowed)
    failed: tuple[Degraded, ...] = ()
    if not request.browse:
        ranking, failed = reranked(reader, scope, request.question, ranking, seconds)
    ranking = ranking.first(request.limit).above(dict(request.least), request.least_score)
    timings.lap("ranking")
    if request.strict and found is not None and found.failed:
        first = found.failed[0]
        raise StrictRecallFailed(
            f"{first.what} did not run: {first.reason}",
            f"leave strict out, or ask with channels={','.join(found.ran) or 'lexical'}",
        )
    if not ranking.total and not request.browse:
        reader.missed(scope, request.question)
    form: Form = JsonForm() if request.format == "json" else MarkdownForm()
    facts = _facts(asked, found, ranking, failed)
    limits = Limits(
        request.budget, request.max_characters, max(reader.config.recall_budget_max, request.budget)
    )
    packed = pack(_items(asked, ranking), form, facts, limits, asked.count)
    timings.lap("pack")
    if request.trace:
        packed = _with_trace(
            packed, trace_of(found, ranking, mask, packed, path_of, timings), request.format
        )
    return packed


def _ranking(
    asked: _Asked, scope: Scope, columns: Columns, narrowed: Narrowed
) -> tuple[Retrieved | None, Ranking]:
    reader, request, mask = asked.reader, asked.request, narrowed.masks
    if request.browse:
        return None, browse(columns, mask.allowed, request.limit, narrowed.tagged)
    most = max(request.limit, to_rerank(reader))
    hits = most if request.k is None else request.k  # k bounds what vectors alone bring in
    found = retrieve(
        reader, columns, mask.covered, mask.hidden, request.question, request.channels,
        nearest=wanted(mask, mask.allowed, request.fusion, hits), seconds=asked.seconds,
    )  # fmt: skip
    rules = Rules(
        reader.config,
        request.fusion,
        dict(request.weights),
        request.k,
        reader.now_ns() if request.now_ns is None else request.now_ns,
        reader.config.passages,
        narrowed.tagged,
    )
    liked = favourites(reader.properties)
    graph = _graph_channel(asked, scope)
    try:
        return found, rank(columns, found, mask.allowed, liked, rules, most, graph)
    except GraphFailed as error:
        if reader.config.fail_on_graph_error:
            raise
        said = Degraded("graph", error.message)
        found = replace(found, degraded=(*found.degraded, said), failed=(*found.failed, said))
        return found, rank(columns, found, mask.allowed, liked, rules, most)


def _graph_channel(asked: _Asked, scope: Scope) -> GraphChannel | None:
    request = asked.request
    if "graph" not in request.channels:
        return None
    how = Spread(request.hops, request.reverse, request.seeds)
    return GraphChannel(partial(asked.reader.neighbours, scope), how)


def _items(asked: _Asked, ranking: Ranking) -> Iterator[Item | None]:
    """The items in order, their rows read in batches as they are asked for."""
    reader, request = asked.reader, asked.request
    step = min(max(request.budget // TOKENS_AN_ITEM, 4), MOST_ROWS)
    for first in range(0, len(ranking.ranked), step):
        batch = ranking.ranked[first : first + step]
        entries = [one.entry for one in batch]
        rows, evidence = reader.hydrate(entries), ranking.evidence(entries)
        for one in batch:
            row = rows.get(one.entry.no)
            if row is None:
                yield None
                continue
            moved = shift(one.entry, row.source or b"", shown=asked.shown)
            item = make_item(
                one, row, evidence.get(one.entry.no, ()), asked.path_of(one.entry),
                request.detail, moved, reader.config, asked.count,
            )  # fmt: skip
            yield _led(asked, ranking, item)


def _led(asked: _Asked, ranking: Ranking, item: Item) -> Item:
    """With the edge that led to it, where the graph channel has it."""
    reached = ranking.reached.get(item.entry.no)
    before = asked.reader.entries.get(reached.source) if reached is not None else None
    if reached is None or before is None:  # erased meanwhile
        return item
    relation = Relation(reached.relation, reached.outward, before.id, reached.hop)
    return replace(item, relation=relation, via=asked.path_of(before) or before.id)


def _facts(
    asked: _Asked, found: Retrieved | None, ranking: Ranking, failed: tuple[Degraded, ...]
) -> Facts:
    request = asked.request
    degraded = (*(found.degraded if found is not None else ()), *failed)
    warnings = (*request.warnings, *(found.warnings if found is not None else ()))
    paths = [asked.path_of(one.entry) or one.entry.id for one in ranking.ranked]
    return Facts(
        total=len(ranking.ranked),
        paths=paths,
        counter=request.counter,
        controls=controls_of(request),
        changed=changed_controls(request, asked.reader.config),
        degraded=degraded,
        warnings=warnings,
    )


def _with_trace(packed: Pack, trace: Mapping[str, object], format: str) -> Pack:
    """The trace stands behind the answer and is not counted."""
    answer = packed.rendered.decode()
    if format != "json":
        text = answer + trace_text(trace)
    else:
        text = with_trace(answer, trace) if answer else ""
    return replace(packed, rendered=text.encode("utf-8"), trace=trace)
