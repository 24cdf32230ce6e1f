"""Engrams, parts, edges and counts as values, made from an open store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from engine.columns import Columns
from engine.document import parse
from engine.entries import Place
from engine.errors import StoreCorrupt
from engine.fusion import Longs
from engine.host_parts import NOTHING, Hosted, joined
from engine.index import PENDING
from engine.model import Edge, Engram, Entry, Span, Status, VectorIndex
from engine.namespace import Scope
from engine.parts import head_lines, head_text
from engine.state import State
from engine.store import events, vectors, versions
from engine.store.edges import DANGLING, EdgeRow
from engine.store.versions import Version
from engine.walk import Arc, arcs

_MISSES = 10  # questions without a hit that `status` names
_DAMAGED = 10  # and damaged engrams


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """A part of a stored engram: text with LF line ends, span in the bytes as written."""

    id: str
    position: int
    heading_path: tuple[str, ...]
    text: str
    span: Span
    origin: str = "cut"


def engram(state: State, entry: Entry) -> Engram:
    """One engram, hydrated."""
    row = row_of(state, entry)
    document = parse(state.sources.written(entry), state.config)
    return Engram(
        id=entry.id,
        kind=entry.kind,
        slug=entry.slug,
        name=entry.name,
        title=entry.title,
        summary=row.summary,
        properties=row.properties,
        body=document.body,
        namespace=entry.namespace,
        created_ns=entry.created_ns,
        updated_ns=entry.updated_ns,
        deleted_ns=entry.deleted_ns,
        seq=entry.seq,
    )


def parts_of(state: State, entry: Entry) -> tuple[StoredPassage, ...]:
    """The parts of an engram, the head first."""
    row = row_of(state, entry)
    source = state.sources.written(entry)
    kind = state.catalogue.kind(entry.kind)
    skip = [f.name for f in (kind.fields.values() if kind is not None else ()) if f.skip_index]
    head = head_text(
        entry.title,
        slug=entry.slug,
        summary=row.summary,
        aliases=state.names.aliases(entry.no),
        properties=row.properties,
        skip=skip,
    )
    found = []
    for position, part in enumerate(row.parts or ()):
        if part.text is not None:
            text = part.text
        elif position == 0:
            text = head_lines(head)
        else:
            cut = source[part.span.byte_start : part.span.byte_end]
            text = cut.decode("utf-8", "replace").replace("\r\n", "\n")
        found.append(
            StoredPassage(part.id, position, part.heading_path, text, part.span, part.origin)
        )
    return tuple(found)


def hosted_of(state: State, entry: Entry | None, absorbed: Entry | None = None) -> Hosted:
    """The host's parts that an engram goes on with (None: it is new, and has none).

    Where it takes in another engram, it takes that one's if there are any: they go with the bytes.
    StoreCorrupt when they cannot be read.
    """
    if absorbed is not None and absorbed.host_sha256:
        entry = absorbed
    if entry is None or not entry.host_sha256:
        return NOTHING
    try:
        row = row_of(state, entry)
    except StoreCorrupt as error:
        raise StoreCorrupt(
            f"the host's parts of {entry.kind}/{entry.name} cannot be read: {error.message}",
            "the host can give them again, or none, with `replace_parts`",
        ) from error
    return hosted_in(row)


def hosted_in(row: Version) -> Hosted:
    """The host's parts in a row that has its parts."""
    return Hosted(joined(row.parts or (), row.id), row.host_sha256)


def row_of(state: State, entry: Entry) -> Version:
    """An engram's present row with its parts; StoreCorrupt when it cannot be read."""
    with state.store.cursor() as cursor:
        row = versions.rows(cursor, [entry.seq]).get(entry.seq)
    if row is None:
        raise StoreCorrupt(
            f"the row of {entry.kind}/{entry.name} ({entry.id}) is missing",
            "`engramfs check` names everything that is damaged",
        )
    return row


def edges_of(state: State, scope: Scope, entry: Entry) -> tuple[Edge, ...]:
    """Edges out of an engram, dangling ones too, then those into it.

    An edge is hidden while its other end is deleted or outside the scope. Until a succession is
    settled, edges to the original lead to the copy.
    """
    led = {arc.row: edge_of(arc, entry) for arc in arcs(state, scope, entry.no, "out", limit=None)}
    out = (
        edge(row, entry, None) if row.target == DANGLING else led.get(row)
        for row in state.edges.out(entry.no)
    )
    into = (edge_of(arc, entry) for arc in arcs(state, scope, entry.no, "in", limit=None))
    return (*(each for each in out if each is not None), *into)


def edge_of(arc: Arc, entry: Entry) -> Edge:
    """An arc of an engram as a value."""
    return edge(arc.row, entry, arc.other) if arc.outward else edge(arc.row, arc.other, entry)


def edge(row: EdgeRow, source: Entry, target: Entry | None) -> Edge:
    """A stored edge as a value, between those who answer for its ends now."""
    return Edge(
        source=source.id,
        relation=row.relation,
        target=target.id if target is not None else "",
        written=row.written,
        heading=row.heading,
        origin=row.origin,
        note=row.note,
        status=row.status,
        role=row.role,
        confidence=row.confidence,
        evidence_id=row.evidence_id,
        created_ns=row.created_ns,
        updated_ns=row.updated_ns,
    )


def lost(state: State, place: Place) -> Entry | None:
    """The engram that a path lost within the grace time and that lives nowhere."""
    found = state.entries.lost(place, state.clock(), state.config.grace_ns)
    return found[0] if found is not None else None


def status(
    state: State,
    columns: Columns,
    scope: Scope,
    problems: tuple[str, ...],
    vector_index: VectorIndex,
) -> Status:
    """Counts of what the scope sees; nothing outside it moves one of them."""
    within = columns.within(scope)
    seen: Longs = np.flatnonzero(within & columns.live)
    pending, vector_index = _vectors(state, seen, vector_index)
    counts = np.bincount(columns.kind[seen], minlength=len(columns.kinds)).tolist()
    kinds = dict(zip(columns.kinds, counts, strict=True))
    waiting = [miss for miss in state.demand.waiting_misses() if miss.told_to(scope)]
    with state.store.cursor() as cursor:
        misses = (*waiting, *events.load_misses(cursor, scope, 100))
        model = vectors.model(cursor)
    asked = [miss.question for miss in misses]
    now = state.clock()
    return Status(
        engrams=len(seen),
        parts=sum(columns.entry(no).parts for no in seen.tolist()),
        pending_vectors=pending if state.embed != "off" else 0,
        refusals=len(state.refusals.notices(scope, now)),
        seq=int(columns.seq[within].max(initial=0)),
        embed=state.embed,
        vector_index=vector_index,
        model=model.fingerprint if model is not None else "",
        kinds={name: kinds.get(name, 0) for name in state.catalogue.of_kinds(scope.kinds).kinds},
        events=state.demand.counts(scope, columns.among(scope)),
        misses=tuple(dict.fromkeys(asked))[:_MISSES],
        problems=(*problems, *state.store.troubles.values(), *_damaged(state, scope)),
    )


def _vectors(state: State, numbers: Longs, index: VectorIndex) -> tuple[int, VectorIndex]:
    """(vectors still to be made for these engrams, how theirs are searched)."""
    snapshot = state.index.snapshot()
    engrams = np.zeros(int(snapshot.doc_engram.max(initial=-1)) + 1, np.bool_)
    engrams[numbers[numbers < len(engrams)]] = True
    rows = snapshot.doc_vector[snapshot.visible(engrams)]
    made = np.unique(rows[rows >= 0])
    held = int(np.count_nonzero(made < index.held))
    return int(np.count_nonzero(rows == PENDING)), replace(index, vectors=len(made), held=held)


def _damaged(state: State, scope: Scope) -> Iterator[str]:
    """What is wrong with damaged engrams. Where nobody knows the namespace, it is told to all."""
    held = ((state.entries.get(no), said) for no, said in list(state.damaged.items()))
    told = [said for entry, said in held if entry is None or scope.sees(entry)]
    yield from told[:_DAMAGED]
    if len(told) > _DAMAGED:
        yield f"and {len(told) - _DAMAGED} more engrams are damaged: `engramfs check` names them"
