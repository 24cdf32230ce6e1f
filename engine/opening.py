"""Open a store: migrate it, fill the views from it, agree on the model."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import numpy as np

from engine import tokens
from engine.agreement import Agreed
from engine.catalogue import catalogue_from_rows
from engine.config import Config
from engine.demand import Demand
from engine.edges import Edges
from engine.embed import Embedder, OnnxEmbedder
from engine.entries import Entries, is_live
from engine.errors import EmbedderFailed, Invalid, Problem
from engine.identity import heir
from engine.index import Index
from engine.languages import count_languages
from engine.naming import Names
from engine.ports import Reranker, TextHook
from engine.properties import PropertyIndex
from engine.refusals import Refusals
from engine.sources import Sources
from engine.state import DIRECTORIES_SEQ, State
from engine.store import catalogue as stored_catalogue
from engine.store import edges as stored_edges
from engine.store import meta, places
from engine.store.connection import Store
from engine.store.edges import DANGLING, EdgeColumns
from engine.store.fulltext import Fulltext
from engine.store.loading import load
from engine.store.versions import Version, entry_of

log = logging.getLogger(__name__)

EMBED_MODES = ("background", "inline", "off")


def open_state(
    where: Path | str,
    *,
    embedder: Embedder | None,
    embed: str,
    config: Config,
    clock: Callable[[], int],
    new_id: Callable[[], str],
    re_embed: bool = False,
    reranker: Reranker | None = None,
    text_hook: TextHook | None = None,
) -> tuple[State, Fulltext]:
    """The state of an opened store; `re_embed` drops the vectors of another model.

    Raises StoreHeld, StoreCorrupt, SchemaTooNew, Unsupported, EmbedderFailed."""
    if embed not in EMBED_MODES:
        known = ", ".join(EMBED_MODES)
        raise Invalid(Problem(f"embed cannot be {embed!r}", key="embed", hint=f"one of {known}"))
    if embed != "off" and embedder is None:
        embedder = OnnxEmbedder()
    store = Store.open(where, config)
    collects = gc.isenabled()
    gc.disable()  # a third of the time goes into looking for garbage that is not there
    try:
        agreed = Agreed(embedder, store) if embedder is not None else None
        if embed != "off" and agreed is not None:
            _agree(agreed, embed, re_embed)
        state, fulltext = _filled(store, agreed, embed, config, clock, new_id)
    except BaseException:
        store.close()
        raise
    finally:
        if collects:
            gc.enable()
    state.reranker, state.text_hook = reranker, text_hook
    return state, fulltext


def _agree(embedder: Agreed, embed: str, re_embed: bool) -> None:
    """The store's vectors are the model's, or there are none.

    A model that cannot be read does not keep a store shut in the background mode: everything else
    works, and embedding fails and is reported until it can be read. Its tokenizer must be there:
    what it counts decides where parts are cut.
    """
    embedder.count_tokens("")
    try:
        embedder.agree(re_embed=re_embed)
    except EmbedderFailed as error:
        if embed == "inline":
            raise
        log.error("the model cannot be used: %s", error)


def _filled(
    store: Store,
    embedder: Agreed | None,
    embed: str,
    config: Config,
    clock: Callable[[], int],
    new_id: Callable[[], str],
) -> tuple[State, Fulltext]:
    fulltext = Fulltext(store)
    index = Index(config.bm25_k1, config.bm25_b)
    loaded = load(store, index, fulltext, with_vectors=embed != "off")
    entries, properties = Entries(), PropertyIndex()
    names = Names(entries)
    _fill_views(loaded.present, entries, names, properties)
    with store.cursor() as cursor:
        rows = stored_catalogue.load(cursor)
        edges = Edges(_sound(store, stored_edges.load(cursor), entries))
        directories = places.load_directories(cursor)
        for blank in places.load_blanks(cursor):
            if entries.at((blank.namespace, blank.kind, blank.slug)) is None:
                entries.keep_blank(blank)
        for place, former in places.load_formers(cursor).items():
            entries.remember(place, former)
        for copied in places.load_copies(cursor):
            entries.add_copy(copied)
        for id, no in places.load_absorbed(cursor).items():
            entries.absorb(id, no)
    for entry in entries.all():
        if not is_live(entry):
            edges.orphan(entry.no)
    catalogue = catalogue_from_rows(rows)
    state = State(
        store=store,
        config=config,
        clock=clock,
        new_id=new_id,
        embed=embed,
        embedder=embedder,
        count_tokens=_token_counter(embedder),
        catalogue=catalogue,
        entries=entries,
        names=names,
        edges=edges,
        properties=properties,
        index=index,
        languages=count_languages(entries, properties, catalogue),
        refusals=Refusals(store, config),
        sources=Sources(store, config),
        demand=Demand(store, entries, config, clock),
        directories={(each.namespace, each.kind): each for each in directories},
        damaged=loaded.unreadable,
        unproved=set(loaded.unproved),
    )
    _await_successions(state)
    _date_directories(state)
    return state, fulltext


def _sound(store: Store, columns: EdgeColumns, entries: Entries) -> EdgeColumns:
    """Edges out of engrams, dangling where the other end is none: a broken row in the table keeps
    no store shut and hides no engram. `check` names it, and `reindex` mends it."""
    known = np.fromiter((entry.no for entry in entries.all()), np.int32)
    leaves = np.isin(columns.source, known)
    arrives = np.isin(columns.target, known)
    broken = np.count_nonzero(~leaves | ~arrives & (columns.target != DANGLING))
    if not broken:
        return columns
    said = f"{broken} edges have an end that is no engram: run `engramfs check --repair`"
    store.troubles["edges"] = said
    log.error("%s", said)
    kept = {each.name: getattr(columns, each.name)[leaves] for each in fields(EdgeColumns)}
    kept["target"] = np.where(arrives, columns.target, DANGLING).astype(np.int32)[leaves]
    return EdgeColumns(**kept)


def _fill_views(
    present: list[Version], entries: Entries, names: Names, properties: PropertyIndex
) -> None:
    states = [entry_of(row) for row in present]
    entries.swap(states)
    for row, entry in zip(present, states, strict=True):
        if is_live(entry):
            aliases = row.properties.get("aliases")
            names.set(entry, [str(each) for each in aliases] if isinstance(aliases, list) else ())
            properties.set(entry.no, row.properties)


def _token_counter(embedder: Embedder | None) -> Callable[[str], int] | None:
    """How long a part may be is counted as the model counts, with or without the model itself:
    so a store has the same parts whether embedding is on or off."""
    if embedder is not None:
        return embedder.count_tokens
    return tokens.counter("model")


def _await_successions(state: State) -> None:
    """Which unlinked engrams wait for their grace time to end, so that a copy may succeed them."""
    for _, former in state.entries.formers():
        original = state.entries.get(former.no)
        if former.why != "unlink" or original is None or original.deleted_ns != former.at_ns:
            continue
        copied = heir(state.entries, original, former.at_ns, state.config.grace_ns)
        if copied is not None:
            due = former.at_ns + state.config.grace_ns
            state.entries.await_succession(original.no, copied.copy, due)


def _date_directories(state: State) -> None:
    """Directories are written down at quiet moments; commits since the last one know better."""
    with state.store.cursor() as cursor:
        since = meta.number(cursor, DIRECTORIES_SEQ)
    latest = {shelf: each.mtime_ns for shelf, each in state.directories.items()}
    young = [entry for entry in state.entries.all() if entry.seq >= since]
    for entry in young:
        shelf = (entry.namespace, entry.kind)
        if shelf in latest:
            at = entry.deleted_ns if entry.deleted_ns is not None else entry.created_ns
            latest[shelf] = max(latest[shelf], at)
    numbers = {entry.no for entry in young}
    for place, former in state.entries.formers():
        shelf = (place[0], place[1])
        if shelf in latest and former.no in numbers:
            latest[shelf] = max(latest[shelf], former.at_ns)
    for shelf, at in latest.items():
        if at != state.directories[shelf].mtime_ns:
            state.directories[shelf] = replace(state.directories[shelf], mtime_ns=at)
            state.moved_directories.add(shelf)
