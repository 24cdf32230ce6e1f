"""Put: a document at a place becomes an engram's next version.

The slow work (parsing, judging, cutting, analysing, embedding where that is asked for) is done
before the writer lock is taken, for the identity that the write seems to have; under the lock the
identity is decided again, and the work done again in the rare case that it changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from engine.applying import ensure_known
from engine.document import Document, format_engram, parse
from engine.embedding import Vector, embed_missing
from engine.entries import Copied, Place, is_live
from engine.errors import Conflict, Invalid
from engine.identity import Decision, decide
from engine.linking import connect
from engine.model import Change, Commit, Draft, Entry, Identity
from engine.namespace import Scope
from engine.objects import hosted_of
from engine.plan import Plan, run
from engine.prepare import Bench, Prepared, judge, prepare
from engine.rows import FILE_MODE, content_row, deleted_row, free_inode, state_row
from engine.slug import name_problem, nfc
from engine.state import State
from engine.succession import absorb, settle_at, settle_due
from engine.validation import Head

_ROUNDS = 3  # of preparing outside the lock; then under it, so that a busy path gets its turn


@dataclass(frozen=True, slots=True)
class Work:
    """A draft made ready for one decision about its identity."""

    draft: Draft
    place: Place
    name: str
    bench: Bench
    document: Document
    head: Head
    decision: Decision
    content: Prepared | None  # None: the same bytes again
    vectors: dict[bytes, Vector]


def put(state: State, scope: Scope, draft: Draft, expect: int | None = None) -> Commit:
    """Store a document. `expect`: refuse if the bytes at the place changed after that commit.

    Raises Invalid with all problems, Conflict, StoreFull, EmbedderFailed (embed = inline); nothing
    is stored then.
    """
    new_id = once(state.new_id)
    changes: list[Change] = []
    try:
        with state.store.lock:
            changes += settle_due(state, state.clock())
        work = make_ready(state, scope, draft, new_id)
        for left in reversed(range(_ROUNDS)):
            with state.store.lock:
                if left == 0:
                    work = make_ready(state, scope, draft, new_id)
                if still_right(state, scope, work, new_id):
                    refuse_unexpected(work, expect)
                    settled = leave_place(state, work)
                    changes += settled
                    if settled:  # what the bytes are a copy of may be another engram now
                        work = make_ready(state, scope, draft, new_id)
                    plan = Plan(state.clock())
                    commit = stage(state, plan, work)
                    connect(state, plan)
                    run(state, plan)
                    changes += plan.changes
                    state.demand.wrote(commit.entry, draft.by)
                    return commit
            work = make_ready(state, scope, draft, new_id)
        raise AssertionError("work done under the lock is right")
    finally:
        state.tell(changes)


# -- outside the lock -----------------------------------------------------------
def make_ready(state: State, scope: Scope, draft: Draft, new_id: Callable[[], str]) -> Work:
    """Parse and judge a draft, decide whose it is, and derive everything from it."""
    bench = state.bench()
    kind = bench.catalogue.kind(draft.kind)
    name = draft.name if draft.name is not None else draft.slug
    problem = name_problem(name)
    if problem is not None:
        raise Invalid(problem)
    place = (scope.attributes, kind.name if kind is not None else draft.kind, nfc(draft.slug))
    scope.require(place[1])
    if draft.source is None:
        decision = _decide(state, scope, place, None, None, new_id)
        document = parse(_rendered(bench, draft, place, decision.id), bench.config)
    else:
        document = parse(draft.source, bench.config)
    head = judge(document, bench, place[1], place[2], name)
    if kind is None:
        ensure_known(state, place[1])
        bench = state.bench()
    if draft.source is not None:
        decision = _decide(state, scope, place, head.id, document.lines.get("id"), new_id)
    same = Work(draft, place, name, bench, document, head, decision, None, {})
    held = decision.entry if decision.identity is Identity.SAME else None
    if held is not None and state.sources.same(held, document.source):
        return same
    absorbed = decision.removed if decision.absorbed else None
    hosted = hosted_of(state, decision.entry, absorbed)
    content = prepare(document, head, decision.id, bench, hosted)
    if held is not None and state.sources.same(held, content.source):
        return same
    vectors = embed_missing(state, content)
    return Work(draft, place, name, bench, document, head, decision, content, vectors)


def once(new_id: Callable[[], str]) -> Callable[[], str]:
    """One new id, however often it is asked for."""
    made: list[str] = []

    def give() -> str:
        if not made:
            made.append(new_id())
        return made[0]

    return give


def _decide(
    state: State,
    scope: Scope,
    place: Place,
    carried: str | None,
    line: int | None,
    new_id: Callable[[], str],
) -> Decision:
    return decide(
        state.entries, scope, place, carried,
        line=line, now_ns=state.clock(), grace_ns=state.config.grace_ns, new_id=new_id,
    )  # fmt: skip


def _rendered(bench: Bench, draft: Draft, place: Place, id: str) -> bytes:
    kind = bench.catalogue.kind(place[1])
    numbers = [
        name
        for name, declared in (kind.fields if kind is not None else {}).items()
        if declared.type == "number"
    ]
    return format_engram(
        id, place[1], place[2], draft.title or "", draft.summary, draft.properties, draft.body,
        numbers,
    )  # fmt: skip


# -- under the lock ---------------------------------------------------------------
def still_right(state: State, scope: Scope, work: Work, new_id: Callable[[], str]) -> bool:
    """Would the work be done the same way now? Raises Invalid where the table refuses now."""
    if work.bench.catalogue is not state.catalogue:
        return False
    carried = work.head.id if work.draft.source is not None else None
    line = work.document.lines.get("id")
    now = _decide(state, scope, work.place, carried, line, new_id)
    before = work.decision
    if (now.id, now.identity) != (before.id, before.identity):
        return False
    return now == before or (work.content is not None and _whose(now) == _whose(before))


def _whose(decision: Decision) -> tuple[tuple[int, str] | None, ...]:
    """The engrams that a decision is about, with the host's parts that they go on with."""
    states = (decision.entry, decision.removed, decision.copy_of)
    return tuple((entry.no, entry.host_sha256) if entry is not None else None for entry in states)


def refuse_unexpected(work: Work, expect: int | None) -> None:
    """Conflict when the bytes at the place are younger than the commit `expect` (0: none)."""
    if expect is None:
        return
    at = work.decision.at
    held = at.source_seq if at is not None and is_live(at) else 0
    if held > expect or (expect > 0 and held == 0):
        raise Conflict(
            f"{work.place[1]}/{work.name} was changed by somebody else",
            "read it again and repeat the change",
        )


def leave_place(state: State, work: Work) -> list[Change]:
    """Where another engram takes a lost path, its grace time is over."""
    former = state.entries.former(work.place)
    entry = work.decision.entry
    if former is None or (entry is not None and entry.no == former.no):
        return []
    return settle_at(state, former.no, state.clock())


def stage(state: State, plan: Plan, work: Work) -> Commit:
    """Plan the commit of prepared work; its edges are still to be connected."""
    decision, draft = work.decision, work.draft
    at = state.entries.at(work.place)
    live = at if at is not None and is_live(at) else None
    if work.content is None and live is not None:
        return _stage_same(state, plan, draft, live)
    assert work.content is not None
    entry = state.entries.get(decision.entry.no) if decision.entry is not None else None
    unchanged = entry is not None and state.sources.same(entry, work.content.source)
    event = "create" if entry is None else "update" if is_live(entry) else "revive"
    name = at.name if at is not None and not draft.renamed_onto else work.name
    mode = draft.mode & 0o777 if draft.mode is not None else None
    if mode is None:
        mode = at.mode if at is not None else entry.mode if entry is not None else FILE_MODE
    no = entry.no if entry is not None else state.store.counters.engram()
    row = content_row(
        state, plan, work.content,
        no=no,
        event=event,
        by=draft.by,
        place=work.place,
        name=name,
        created_ns=entry.created_ns if entry is not None else plan.now_ns,
        updated_ns=entry.updated_ns if entry is not None and unchanged else plan.now_ns,
        inode=free_inode(state, work.place, draft.inode, entry),
        mode=mode,
        mtime_ns=draft.mtime_ns if draft.mtime_ns is not None else plan.now_ns,
        ctime_ns=_ctime_ns(plan, draft, live),
        amends=draft.amends,
    )  # fmt: skip
    removed: tuple[Entry, ...] = ()
    if decision.removed is not None and live is not None:
        gone = plan.add(deleted_row(state, plan, live, draft.by))
        removed = (gone,)
        if decision.absorbed and entry is not None:
            absorb(state, plan, live, entry)
        else:
            plan.tell("delete", gone)
    made = plan.add(row, work.content)
    plan.vectors.update(work.vectors)
    _stage_memory(state, plan, work, made, cleared=not unchanged)
    plan.tell(event, made)
    return Commit(made, True, decision.identity, live.seq if live is not None else None, removed)


def _stage_memory(state: State, plan: Plan, work: Work, made: Entry, *, cleared: bool) -> None:
    """What places, copies and refusals know afterwards."""
    decision, entries = work.decision, state.entries
    at = entries.at(work.place)
    if at is not None and at.empty:
        plan.blanks.append(work.place)
    if entries.former(work.place) is not None:
        plan.forget.append(work.place)
    if decision.identity is Identity.COPY and decision.copy_of is not None:
        plan.copies.append(Copied(decision.copy_of.no, made.no, work.draft.by, plan.now_ns))
    if any(original == made.no for original, _, _ in entries.awaiting()):
        plan.settled.append(made.no)
    if cleared and state.refusals.stands(work.place):
        plan.clears[work.place] = True


def _stage_same(state: State, plan: Plan, draft: Draft, live: Entry) -> Commit:
    """The same bytes again: no new version, but the times move as on any filesystem."""
    row = state_row(state, plan, live, "attributes", draft.by)
    row = replace(
        row,
        mtime_ns=draft.mtime_ns if draft.mtime_ns is not None else plan.now_ns,
        ctime_ns=_ctime_ns(plan, draft, live),
        mode=draft.mode & 0o777 if draft.mode is not None else row.mode,
    )
    if draft.renamed_onto and draft.name is not None:
        row = replace(row, name=draft.name)
    return Commit(plan.add(row), False, Identity.SAME, None)


def _ctime_ns(plan: Plan, draft: Draft, live: Entry | None) -> int:
    """When the file changed: the writer's own time, so that what it saw before its close stays
    true; never back, though, where somebody changed the file's attributes meanwhile."""
    if draft.ctime_ns is None:
        return plan.now_ns
    return draft.ctime_ns if live is None else max(draft.ctime_ns, live.ctime_ns)
