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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import compress, islice, tee

import numpy as np

from engine.as_of import ranking_at
from engine.channels import Retrieved, retrieve
from engine.columns import Columns
from engine.errors import (
    GraphFailed,
    NotFound,
    TimeExpressionsNotReady,
)
from engine.fusion import Floats
from engine.graph_channel import GraphChannel, Spread
from engine.instants import moment
from engine.masks import favourites, masks
from engine.model import Degraded, Digest, EventKind
from engine.namespace import Scope, bind
from engine.neighbours import wanted
from engine.query import query_terms
from engine.ranking import Ranked, Ranking, Rules, browse, rank
from engine.reader import Reader
from engine.recall.altitude import LOOKED_AT, lifted, passed_over, uncovered, within
from engine.recall.answer import Form, changed_controls, controls_of
from engine.recall.candidates import Asked, Candidate, PathOf, Rows, in_order, items, names_of
from engine.recall.extras import tail_of
from engine.recall.facts import Fact, facts
from engine.recall.items import Item
from engine.recall.json_form import JsonForm, with_trace
from engine.recall.markdown import MarkdownForm, trace_text
from engine.recall.narrowing import Narrowed, narrow
from engine.recall.pack import Account, Limits, Pack, fits, pack
from engine.recall.request import RecallRequest
from engine.recall.said import Said
from engine.recall.trace import MOST_DROPPED, Cuts, Timings, trace_of
from engine.reranking import reranked, to_rerank
from engine.temporal_channel import closeness
from engine.walk import Neighbour


def recall(
    reader: Reader,
    scope: Scope,
    request: RecallRequest,
    *,
    path_of: PathOf,
    shown: bool = True,
    seconds: float | None = None,
    session: str = "",
) -> Pack:
    """The pack for a request under a scope.

    `shown` says whether files are shown with their id line (spans move with it). `seconds` bounds
    what the vector channel and a host's reranker may take; the answer is degraded when they take
    longer. `session` is who asks: what is packed counts once for it and a day (`engine.demand`).
    """
    if request.token:
        raise NotFound(f"the answer {request.token} is kept by who asked", "ask there, or ask anew")
    timings = Timings(time.perf_counter())
    scope = bind(scope, request.namespace)
    if request.fresh:
        reader.wait_for_vectors(reader.config.fresh_wait_seconds)
        timings.lap("fresh")
    said = Said(warnings=list(request.warnings))
    columns = reader.columns.now()
    narrowed = narrow(
        masks(columns, reader.properties, scope, request.filters), columns, reader.properties,
        request,
    )  # fmt: skip
    timings.lap("filters")
    found, ranking = _ranking(reader, scope, request, columns, narrowed, seconds, said)
    if not request.browse:
        ranking, failed = reranked(reader, scope, request.question, ranking, seconds)
        said.degraded += failed
    limited = ranking.first(request.limit)
    floored = limited.above(dict(request.least), request.least_score)
    idle = [f"min_score.{name}" for name, _ in request.least if name not in limited.strengths]
    said.warnings += [f"{key} counts for nothing: the channel did not run" for key in idle]
    timings.lap("ranking")
    kept, rows = _as_of(reader, scope, request, narrowed, floored, said)
    asked = Asked(
        reader, scope, request, path_of, reader.counter(request.counter), shown, seconds, rows
    )
    told = _facts(asked, narrowed, kept, said)
    if request.strict and said.failed:
        raise said.strict(request.channels)
    if not request.browse and not ranking.before_filters.any():  # filtered is no miss
        reader.missed(scope, request.question)
    packed, candidates, shelf = _packed(asked, narrowed, kept, told, said)
    timings.lap("pack")
    entries = [item.entry for item in packed.items if item.surface == "engram"]
    event: EventKind = "shown" if request.browse else "recall"
    reader.note(scope, event, [entry for entry in entries if entry is not None], session)
    if request.trace:
        digests = [one for one in candidates if isinstance(one, Digest)]
        cuts = Cuts(
            ranking, limited, floored, kept,
            [one.entry.no if isinstance(one, Ranked) else None for one in candidates],
            _of_engrams(request),
            {no: one.name for one in digests for no in one.members.tolist()},
            passed_over(shelf, digests),
        )  # fmt: skip
        timings.spent(said.seconds if found is None else {**found.seconds, **said.seconds})
        trace = trace_of(
            found, columns, cuts, narrowed, packed, path_of, timings, weights=said.weights,
        )  # fmt: skip
        packed = _with_trace(packed, trace, request.format)
    return packed


def _ranking(
    reader: Reader,
    scope: Scope,
    request: RecallRequest,
    columns: Columns,
    narrowed: Narrowed,
    seconds: float | None,
    said: Said,
) -> tuple[Retrieved | None, Ranking]:
    mask = narrowed.masks
    most = request.limit + (MOST_DROPPED if request.trace else 0)
    if request.browse:
        return None, browse(columns, mask.allowed, most, narrowed.tagged)
    most = max(most, to_rerank(reader))
    found = retrieve(
        reader, columns, mask.covered, mask.hidden, request.question, request.channels,
        nearest=wanted(mask, mask.allowed, request.fusion, request.k), seconds=seconds,
    )  # fmt: skip
    said.degraded += found.degraded
    said.failed += found.failed
    said.warnings += found.warnings
    rules = Rules(
        reader.config,
        request.fusion,
        dict(request.weights),
        request.k,
        reader.now_ns() if request.now_ns is None else request.now_ns,
        reader.config.passages,
        narrowed.tagged,
    )
    weights = rules.channel_weights()
    said.weights = {name: weights[name] for name in request.channels}
    ranked = partial(
        rank, columns, found, mask.allowed, favourites(reader.properties), rules, most,
        timely=_timely(reader, request, columns, narrowed, seconds, said),
        utility=reader.utility(scope, len(columns)),
    )  # fmt: skip
    try:
        return found, ranked(_graph_channel(reader, scope, request, said))
    except GraphFailed as error:
        if reader.config.fail_on_graph_error:
            raise
        said.fail("graph", error.message)
        return found, ranked(None)


def _graph_channel(
    reader: Reader, scope: Scope, request: RecallRequest, said: Said
) -> GraphChannel | None:
    if "graph" not in request.channels:
        return None
    how = Spread(request.hops, request.reverse, request.seeds)
    said.seconds["graph"] = 0.0

    def neighbours(no: int, direction: str) -> Sequence[Neighbour]:
        began = time.perf_counter()
        near = reader.neighbours(scope, no, direction)
        said.seconds["graph"] += time.perf_counter() - began
        return near

    return GraphChannel(neighbours, how)


def _timely(
    reader: Reader,
    request: RecallRequest,
    columns: Columns,
    narrowed: Narrowed,
    seconds: float | None,
    said: Said,
) -> Floats | None:
    """How well engrams stand in the time that the question names; None where it names none.

    0 for those that the scope does not see: ranks are counted over all that stand in it.
    """
    if "temporal" not in request.channels:
        return None
    began = time.perf_counter()
    try:
        now = request.now or moment(reader.now_ns(), reader.config.time_zone)
        intervals = reader.time_expressions(request.question, now, narrowed.masks.covered, seconds)
    except TimeExpressionsNotReady as error:
        said.fail("temporal", error.message)
        return None
    if not intervals:
        return None
    near = closeness(intervals, columns, reader.properties, reader.catalogue)
    said.seconds["temporal"] = time.perf_counter() - began
    return np.where(narrowed.masks.covered & ~narrowed.masks.hidden, near, 0.0)


def _as_of(
    reader: Reader,
    scope: Scope,
    request: RecallRequest,
    narrowed: Narrowed,
    ranking: Ranking,
    said: Said,
) -> tuple[Ranking, Rows]:
    """The ranking, and how its rows are read: as they are, or as they were."""
    if request.as_of_ns is None:
        return ranking, reader.hydrate
    ranked = [one.entry for one in ranking.ranked]
    then = reader.hydrate_at(scope, ranked, request.as_of_ns)
    for numbers, what in ((then.gone, "no longer kept"), (then.damaged, "unreadable")):
        if numbers:
            of = f"{len(numbers)} engram{'s' if len(numbers) != 1 else ''}"
            said.degraded.append(Degraded("as_of", f"the version of then is {what} of {of}"))
    groups = query_terms(request.question, reader.languages(narrowed.masks.covered))
    return ranking_at(ranking, then, groups), then.of


def _packed(
    asked: Asked, narrowed: Narrowed, ranking: Ranking, told: Sequence[Fact], said: Said
) -> tuple[Pack, Sequence[Candidate], Sequence[Digest]]:
    """The pack, what was offered to it, in order, and the digests that might have been."""
    request, config = asked.request, asked.reader.config
    form: Form = JsonForm() if request.format == "json" else MarkdownForm()
    limits = Limits(
        request.budget, request.max_characters, request.extra_tokens,
        max(config.recall_budget_max, request.budget),
    )  # fmt: skip
    of_engrams = _of_engrams(request)
    engrams = ranking.ranked if of_engrams else ()
    candidates = in_order((), engrams, told, request.limit)

    made = _made(asked, ranking, candidates)

    def enough(some: Iterable[Item | None], of: Sequence[Candidate]) -> bool:
        return fits(list(some), form, _account(asked, of, said), limits, asked.count)

    shelf, missing = _digests(asked, narrowed, ranking, said)
    auto = request.altitude == "auto" and bool(shelf)
    # Where no engram was found, none has to be summed up.
    low = auto and of_engrams and enough(islice(copy(made), LOOKED_AT), candidates)
    if not low:
        said.degraded += missing
    digests = lifted(
        request.altitude, shelf, ranking, lambda: low,
        lambda some: enough(items(asked, ranking, some), some),
    )  # fmt: skip
    if digests:
        free = uncovered(digests, [one.entry.no for one in engrams])
        hanging = uncovered(digests, [fact.source.no for fact in told])
        candidates = in_order(
            digests, list(compress(engrams, free)), list(compress(told, hanging)), request.limit
        )
        made = _made(asked, ranking, candidates)
    while True:
        account = _account(asked, candidates, said)
        packed = pack(
            copy(made), form, account, limits, asked.count,
            partial(tail_of, asked, ranking, form),
        )  # fmt: skip
        if account.degraded == _account(asked, candidates, said).degraded:
            return packed, candidates, shelf  # else a row turned out damaged when it was read


def _of_engrams(request: RecallRequest) -> bool:
    """Does a surface ask for engrams?"""
    return bool({"engrams", "passages"} & set(request.surfaces))


def _made(asked: Asked, ranking: Ranking, candidates: Sequence[Candidate]) -> Iterator[Item | None]:
    """The items, made as they are read; a `copy` begins anew and makes none twice."""
    return tee(items(asked, ranking, candidates), 1)[0]


def _facts(asked: Asked, narrowed: Narrowed, ranking: Ranking, said: Said) -> tuple[Fact, ...]:
    """Edges as items: those with a note, or all where facts were asked for by name."""
    request = asked.request
    if "facts" not in request.surfaces:
        return ()
    if request.browse:
        if request.asked_surfaces:
            said.fail("facts", "they answer a question, and there is none")
        return ()
    try:
        found = facts(
            asked.reader, narrowed.masks, request.question, ranking, request.limit,
            bare=request.asked_surfaces, at_ns=request.as_of_ns,
        )  # fmt: skip
    except GraphFailed as error:
        if asked.reader.config.fail_on_graph_error:
            raise
        said.fail("facts", error.message)
        return ()
    return tuple(fact for fact in found if fact.score >= request.least_score)


def _digests(
    asked: Asked, narrowed: Narrowed, ranking: Ranking, said: Said
) -> tuple[Sequence[Digest], Sequence[Degraded]]:
    """The digests that may be given, and why others are missing, which is to be said where digests
    are turned to. Those that were asked for and are not there are named at once."""
    request = asked.request
    if "digests" not in request.surfaces or request.altitude == "entity":
        return (), ()
    wanted = request.themes or request.altitude != "auto" or request.asked_surfaces
    if not wanted and (request.browse or bool(ranking.named.any())):
        return (), ()
    fresh, missing = asked.reader.digests(asked.scope)
    found = [one for one in fresh if request.altitude in ("auto", one.level)]
    told = within(found, narrowed.masks.allowed, request.as_of_ns) if narrowed.narrows else found
    if not wanted:
        return told, missing if told else ()
    said.degraded += missing
    if not told and not missing:
        why = "each tells of more than was asked for" if found else "there are none here"
        said.degraded.append(Degraded("digests", why))
    return told, ()


def _account(asked: Asked, candidates: Sequence[Candidate], said: Said) -> Account:
    request = asked.request
    strict_tags = request.tags_match.endswith("_strict") or request.tags_match == "exact"
    return Account(
        total=len(candidates),
        paths=names_of(asked, candidates),
        counter=request.counter,
        controls=controls_of(request),
        changed=changed_controls(request, asked.reader.config),
        degraded=(*said.degraded, *asked.reader.unreadable(asked.scope)),
        warnings=tuple(said.warnings),
        count_untagged=bool(request.tags) and not strict_tags,
    )


def _with_trace(packed: Pack, trace: Mapping[str, object], format: str) -> Pack:
    """The trace stands behind the answer and is not counted."""
    answer = packed.rendered.decode()
    if format != "json":
        text = answer + trace_text(trace)
    else:
        text = with_trace(answer, trace) if answer else ""
    return replace(packed, rendered=text.encode("utf-8"), trace=trace)
