"""Make everything derived anew from the stored bytes: parts, terms, edges, vectors.

An engram whose parts or terms come out otherwise than they are stored gets a row that differs in
these only; it is no version, and no time moves. The full-text index is then built from the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from engine.embedding import prepared_again
from engine.entries import is_live
from engine.errors import EngineError, StoreCorrupt, Unsupported
from engine.linking import connect
from engine.model import Entry
from engine.objects import row_of
from engine.plan import Plan, run
from engine.prepare import Prepared
from engine.rows import parts_row
from engine.state import State
from engine.store import edges as stored_edges
from engine.store import vectors, versions
from engine.store.edges import DANGLING
from engine.store.versions import Version

_BATCH = 200  # engrams written in one transaction


def reindex(
    state: State,
    *,
    embed: bool,
    progress: Callable[[int, int], None] | None = None,
    kinds: frozenset[str] | None = None,
    engrams: Collection[int] | None = None,
) -> dict[str, int]:
    """Rebuild; returns counts of engrams looked at, changed and damaged.

    `embed`: forget every vector, so that the model of this store embeds everything again; one that
    was stopped before it had embedded everything goes on where it was. Damaged
    engrams are left as they are and recorded in `state.damaged`. `kinds` or `engrams`, by number,
    limit it to some.
    """
    if embed:
        forget_vectors(state)
    live = [
        entry
        for entry in state.entries.live()
        if (kinds is None or entry.kind in kinds) and (engrams is None or entry.no in engrams)
    ]
    if engrams is None:
        _drop_strays(state)
    counts = {"engrams": len(live), "changed": 0, "damaged": 0}
    for start in range(0, len(live), _BATCH):
        batch = live[start : start + _BATCH]
        again: list[tuple[Entry, Prepared]] = []
        for entry in batch:
            try:
                again.append((entry, prepared_again(state, entry)))
                state.damaged.pop(entry.no, None)
            except EngineError as error:
                counts["damaged"] += 1
                state.damaged[entry.no] = f"{entry.kind}/{entry.name}: {error}"
        counts["changed"] += _write(state, again)
        if progress is not None:
            progress(start + len(batch), len(live))
    return counts


def _drop_strays(state: State) -> None:
    """Edges of engrams that do not exist go, those to one dangle: in memory they do already."""
    with state.store.lock:
        with state.store.cursor() as cursor:
            stored = stored_edges.load(cursor)
        ends = {*stored.source.tolist(), *stored.target.tolist()} - {DANGLING}
        strays = [no for no in ends if state.entries.get(no) is None]
        if strays:
            with state.store.transaction() as cursor:
                stored_edges.drop_of(cursor, strays)
        state.store.troubles.pop("edges", None)


def forget_vectors(state: State) -> None:
    """Every text waits for a vector again; those that such a call has brought since stay.

    Unsupported where embedding is off, EmbedderFailed (and nothing forgotten) without a model.
    """
    embedder = state.embedder
    if embedder is None or state.embed == "off":
        raise Unsupported(
            "embedding is off, so there is no model to embed with",
            "set embed to background or inline and run it again",
        )
    embedder.agree(re_embed=True)
    embedder.embed_query("text")
    with state.store.lock:
        with state.store.transaction() as cursor:
            goes_on = vectors.is_anew(cursor, embedder.fingerprint) and state.index.pending_count
            if not goes_on:
                vectors.begin_anew(cursor, embedder.fingerprint)
        if not goes_on:
            state.index.drop_vectors()


def _write(state: State, again: list[tuple[Entry, Prepared]]) -> int:
    with state.store.lock:
        plan = Plan(state.clock())
        for entry, content in again:
            here = state.entries.get(entry.no)
            if here is None or not is_live(here) or here.source_seq != entry.source_seq:
                continue  # written meanwhile, so it is as fresh as can be
            if here.seq == entry.seq and differs(state, here, content):
                plan.add(parts_row(state, plan, here, content, "attributes"), content)
            else:
                plan.looked_at[entry.no] = content
        changed = len(plan.rows)
        connect(state, plan)
        run(state, plan)
        return changed


def differs(state: State, entry: Entry, content: Prepared) -> bool:
    """Is what is stored of the parts another thing than what the bytes give now?"""
    try:
        row = row_of(state, entry)
    except StoreCorrupt:
        return True
    with state.store.cursor() as cursor:
        terms = versions.terms_of(cursor, [row.parts_seq]).get(row.parts_seq)
    proved = row.documents_sound and row.parts_sound and row.terms_sound(terms)
    return not proved or stored_of(replace(row, terms=terms)) != fresh_of(content)


def stored_of(row: Version) -> tuple[object, ...]:
    """What a row says of everything that is derived from its bytes."""
    return (
        row.documents, row.parts, row.terms, row.title, row.summary, dict(row.properties),
        row.shown_size,
    )  # fmt: skip


def fresh_of(content: Prepared) -> tuple[object, ...]:
    """The same as a fresh analysis gives it."""
    head = content.head
    return (
        content.documents, content.stored_parts, content.terms, head.title, head.summary,
        dict(head.properties), len(content.shown),
    )  # fmt: skip
