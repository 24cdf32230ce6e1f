"""Successions: the one living copy of an unlinked engram takes over its id, edges, created time.

At once when the process that wrote the copy unlinks the original (a move across roots), else when
the grace time of the lost path ends without its being created again. The copy's own id answers with
the original from then on.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from engine.document import parse, with_place
from engine.entries import Former, is_live, place_of
from engine.errors import Invalid, StoreCorrupt
from engine.linking import connect
from engine.model import Change, Entry
from engine.objects import hosted_of
from engine.plan import Plan, run
from engine.prepare import prepare, unjudged
from engine.rows import content_row, deleted_row
from engine.state import State

log = logging.getLogger(__name__)


@contextmanager
def changing(state: State) -> Iterator[list[Change]]:
    """The writer lock, taken for one operation; successions that are due are settled first.

    What is added to the list, subscribers are told after the lock is let go, even if the rest of
    the operation fails: it was committed.
    """
    changes: list[Change] = []
    try:
        with state.store.lock:
            changes += settle_due(state, state.clock())
            yield changes
    finally:
        state.tell(changes)


def settle_due(state: State, now_ns: int) -> list[Change]:
    """Carry out every succession whose time has come; the caller holds the writer lock."""
    changes: list[Change] = []
    for original, copy, due in state.entries.awaiting():
        if now_ns >= due:
            changes += settle(state, original, copy, now_ns)
    return changes


def settle_at(state: State, place_engram: int, now_ns: int) -> list[Change]:
    """The lost path of an engram is about to be taken by another: its grace time ends now."""
    changes: list[Change] = []
    for original, copy, _ in state.entries.awaiting():
        if original == place_engram:
            changes += settle(state, original, copy, now_ns)
    return changes


def settle(state: State, original: int, copy: int, now_ns: int) -> list[Change]:
    """One succession, or its end where the original lives again or the copy does not."""
    gone, heir = state.entries.get(original), state.entries.get(copy)
    if gone is None or heir is None or is_live(gone) or not is_live(heir):
        state.entries.end_succession(original)
        return []
    plan = Plan(now_ns)
    try:
        succeed(state, plan, gone, heir, by="")
    except (StoreCorrupt, Invalid) as error:
        log.error("%s/%s cannot take over: %s", heir.kind, heir.name, error)
        state.entries.end_succession(original)
        return []
    run(state, plan)
    return plan.changes


def succeed(state: State, plan: Plan, original: Entry, copy: Entry, by: str) -> Entry:
    """Plan that `original` lives on at the place of `copy`, with the copy's bytes."""
    written = state.sources.written(copy)
    source = with_place(written, id=original.id, limits=state.config)
    document = parse(source, state.config)
    bench = state.bench()
    head = unjudged(document, bench, copy.kind, copy.slug, copy.name, state.properties.of(copy.no))
    content = prepare(document, head, original.id, bench, hosted_of(state, original, copy))
    same = state.sources.same(original, source)
    row = content_row(
        state,
        plan,
        content,
        no=original.no,
        event="rename",
        by=by,
        place=place_of(copy),
        name=copy.name,
        created_ns=original.created_ns,
        updated_ns=original.updated_ns if same else copy.updated_ns,
        inode=copy.inode,
        mode=copy.mode,
        mtime_ns=copy.mtime_ns,
    )
    plan.rows.append(deleted_row(state, plan, copy, by))
    entry = plan.add(row, content)
    absorb(state, plan, copy, original)
    plan.remember[place_of(original)] = Former(original.no, plan.now_ns, "rename")
    plan.settled.append(original.no)
    plan.drop_copies.append(original.no)
    plan.tell("rename", entry, (original.kind, original.name))
    connect(state, plan)
    return entry


def absorb(state: State, plan: Plan, gone: Entry, by: Entry) -> None:
    """From this commit on `gone` is one with `by`: its id and the edges to it lead there."""
    plan.absorb[gone.id] = by.no
    for id in state.entries.ids_absorbed_by(gone.no):
        plan.absorb[id] = by.no
    plan.merged[gone.no] = by.no
