"""Many documents in one transaction, for import and restore."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.entries import Place
from engine.errors import Invalid
from engine.linking import connect
from engine.model import Change, Commit, Draft
from engine.namespace import Scope
from engine.plan import Plan, run
from engine.put import Work, leave_place, make_ready, once, put, stage, still_right
from engine.state import State
from engine.succession import settle_due


def put_many(state: State, scope: Scope, drafts: Sequence[Draft]) -> tuple[Commit | Invalid, ...]:
    """Store documents; the result for each in order. Invalid ones are left out.

    A draft whose identity depends on another draft of the same call (the same place twice, an id
    that another one brings) is put by itself after the rest.
    """
    results: dict[int, Commit | Invalid] = {}
    ready: dict[int, Work] = {}
    changes: list[Change] = []
    makers = [once(state.new_id) for _ in drafts]
    try:
        with state.store.lock:
            changes += settle_due(state, state.clock())
        for at, draft in enumerate(drafts):
            try:
                ready[at] = make_ready(state, scope, draft, makers[at])
            except Invalid as refusal:
                results[at] = refusal
        with state.store.lock:
            changes += _commit(state, scope, _independent(ready), makers, results)
    finally:
        state.tell(changes)
    for at, draft in enumerate(drafts):
        if at not in results:
            try:
                results[at] = put(state, scope, draft)
            except Invalid as refusal:
                results[at] = refusal
    return tuple(results[at] for at in range(len(drafts)))


def _commit(
    state: State,
    scope: Scope,
    ready: dict[int, Work],
    makers: Sequence[Callable[[], str]],
    results: dict[int, Commit | Invalid],
) -> list[Change]:
    plan = Plan(state.clock())
    changes: list[Change] = []
    staged: dict[int, Commit] = {}
    for at, work in ready.items():
        try:
            if not still_right(state, scope, work, makers[at]):
                continue
        except Invalid as refusal:
            results[at] = refusal
            continue
        settled = leave_place(state, work)
        changes += settled
        if settled and not still_right(state, scope, work, makers[at]):
            continue
        staged[at] = stage(state, plan, work)
    connect(state, plan)
    run(state, plan)
    results.update(staged)
    return changes + plan.changes


def _independent(ready: dict[int, Work]) -> dict[int, Work]:
    """The first draft for each place and engram; the others come after it."""
    places: set[Place] = set()
    ids: set[str] = set()
    kept: dict[int, Work] = {}
    for at, work in ready.items():
        decision = work.decision
        carried = work.head.id
        touched = {decision.id} | ({carried} if carried is not None else set())
        if decision.removed is not None:
            touched.add(decision.removed.id)
        if work.place in places or touched & ids:
            continue
        places.add(work.place)
        ids |= touched
        kept[at] = work
    return kept
