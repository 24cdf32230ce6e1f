"""Rename and exchange: an engram goes to another place and stays the same engram.

The new place is judged first; then old and new change together. Where an engram is in the way,
either the arriving one wins and the other is soft-deleted, or (what arrives is a temporary) the one
at the target stays and only takes the bytes.
"""

from __future__ import annotations

from dataclasses import replace

from engine.applying import ensure_known
from engine.document import parse, with_place
from engine.embedding import embed_missing
from engine.entries import Former, Place, is_live, place_of
from engine.errors import Invalid, NotFound
from engine.identity import target_keeps
from engine.linking import connect
from engine.model import Change, Commit, Entry, Identity
from engine.namespace import Scope
from engine.objects import hosted_of
from engine.plan import Plan, run
from engine.prepare import Prepared, judge, prepare, unjudged
from engine.rewrite import rewrite_linkers
from engine.rows import content_row, deleted_row, state_row
from engine.slug import name_problem, nfc
from engine.state import State
from engine.store.versions import Version
from engine.succession import absorb, changing, settle_at


def rename(
    state: State,
    scope: Scope,
    id: str,
    kind: str,
    slug: str,
    *,
    name: str | None = None,
    by: str = "",
    rewrite: bool = False,
) -> Commit:
    """Move a live engram to (kind, slug); `name` is the spelling of the file-name stem.

    `rewrite`: those that link to it by its place name the new one in their text.
    Raises NotFound, Invalid (the new kind refuses it), StoreCorrupt, StoreFull.
    """
    spelled = name if name is not None else slug
    problem = name_problem(spelled)
    if problem is not None:
        raise Invalid(problem)
    with changing(state) as changes:
        entry = own(state, scope, id)
        place = (entry.namespace, ensure_known(state, kind), nfc(slug))
        scope.require(place[1])
        target = state.entries.at(place)
        plan = Plan(state.clock())
        if place == place_of(entry):
            return _respell(state, plan, entry, spelled, by, changes)
        former = state.entries.former(place)
        if former is not None and former.no != entry.no and target is None:
            changes += settle_at(state, former.no, plan.now_ns)
            entry = own(state, scope, id)  # it may have become one with its original
        if target is not None and is_live(target) and _keeps(state, plan, entry, target):
            commit = _take_bytes(state, plan, entry, target, spelled, by)
        else:
            commit = _go(state, plan, entry, place, target, spelled, by)
        if rewrite:
            linkers = rewrite_linkers(state, plan, entry, commit.entry, by)
            commit = replace(commit, rewritten=linkers)
        connect(state, plan)
        run(state, plan)
        changes += plan.changes
        state.demand.wrote(commit.entry, by)
        return commit


def exchange(state: State, scope: Scope, id_a: str, id_b: str, by: str = "") -> None:
    """Two live engrams swap their places; each is judged by its new kind first."""
    with changing(state) as changes:
        a, b = own(state, scope, id_a), own(state, scope, id_b)
        if a.no == b.no:
            return
        plan = Plan(state.clock())
        for entry, there in ((a, b), (b, a)):
            place = (entry.namespace, there.kind, there.slug)
            content = at_place(state, entry, place, there.name)
            plan.vectors.update(embed_missing(state, content))
            moved = plan.add(
                _moved_row(state, plan, entry, content, place, there.name, by), content
            )
            plan.tell("rename", moved, (entry.kind, entry.name))
        connect(state, plan)
        run(state, plan)
        changes += plan.changes


def own(state: State, scope: Scope, id: str) -> Entry:
    """The live engram of this id, to be changed; NotFound outside the scope."""
    entry = state.entries.by_id(id)
    if entry is None or not is_live(entry) or not scope.sees(entry):
        raise NotFound(f"there is no engram {id}")
    return entry


def at_place(
    state: State, entry: Entry, place: Place, name: str, *, into: Entry | None = None
) -> Prepared:
    """An engram's bytes and host's parts prepared for another place (or for the engram `into`).

    Reserved keys that name the old place are edited in place. Properties are judged only where the
    kind is another one.
    """
    id = into.id if into is not None else entry.id
    hosted = hosted_of(state, into, entry)
    bench = state.bench()
    source = with_place(
        state.sources.written(entry), id=id, kind=place[1], slug=place[2], limits=state.config
    )
    document = parse(source, state.config)
    if place[1] != entry.kind:
        head = judge(document, bench, place[1], place[2], name)
    else:
        properties = state.properties.of(entry.no)
        head = unjudged(document, bench, place[1], place[2], name, properties)
    return prepare(document, head, id, bench, hosted)


def _keeps(state: State, plan: Plan, arriving: Entry, target: Entry) -> bool:
    linked = any(
        row.source not in (arriving.no, target.no) and _lives(state, row.source)
        for row in state.edges.into(arriving.no)
    )
    return target_keeps(
        arriving, incoming=linked, now_ns=plan.now_ns, grace_ns=state.config.grace_ns
    )


def _lives(state: State, no: int) -> bool:
    entry = state.entries.get(no)
    return entry is not None and is_live(entry)


def _respell(
    state: State, plan: Plan, entry: Entry, name: str, by: str, changes: list[Change]
) -> Commit:
    """The same place in another spelling (composed and decomposed)."""
    if name == entry.name:
        return Commit(entry, False, Identity.SAME)
    row = replace(state_row(state, plan, entry, "rename", by), name=name)
    made = plan.add(row)
    plan.tell("rename", made, (entry.kind, entry.name))
    run(state, plan)
    changes += plan.changes
    return Commit(made, False, Identity.SAME)


def _go(
    state: State,
    plan: Plan,
    entry: Entry,
    place: Place,
    target: Entry | None,
    name: str,
    by: str,
) -> Commit:
    """The engram takes the place; one that is there is soft-deleted, a blank goes."""
    content = at_place(state, entry, place, name)
    plan.vectors.update(embed_missing(state, content))
    removed: tuple[Entry, ...] = ()
    if target is not None and is_live(target):
        gone = plan.add(deleted_row(state, plan, target, by))
        plan.tell("delete", gone)
        removed = (gone,)
    elif target is not None:
        plan.blanks.append(place)
    made = plan.add(_moved_row(state, plan, entry, content, place, name, by), content)
    plan.remember[place_of(entry)] = Former(entry.no, plan.now_ns, "rename")
    _clear(state, plan, entry, place)
    plan.tell("rename", made, (entry.kind, entry.name))
    replaced = target.seq if target is not None and is_live(target) else None
    return Commit(made, True, Identity.SAME, replaced, removed)


def _take_bytes(
    state: State, plan: Plan, arriving: Entry, target: Entry, name: str, by: str
) -> Commit:
    """The engram at the target stays, with the bytes and times of the temporary that arrives."""
    place = place_of(target)
    content = at_place(state, arriving, place, name, into=target)
    plan.vectors.update(embed_missing(state, content))
    same = state.sources.same(target, content.source)
    row = content_row(
        state, plan, content,
        no=target.no,
        event="update",
        by=by,
        place=place,
        name=name,
        created_ns=target.created_ns,
        updated_ns=target.updated_ns if same else plan.now_ns,
        inode=target.inode,
        mode=arriving.mode,
        mtime_ns=arriving.mtime_ns,
    )  # fmt: skip
    gone = plan.add(deleted_row(state, plan, arriving, by))
    made = plan.add(row, content)
    absorb(state, plan, arriving, target)
    _clear(state, plan, arriving, place)
    plan.tell("delete", gone)
    plan.tell("update", made)
    return Commit(made, True, Identity.SAME, target.seq, (gone,))


def _moved_row(
    state: State, plan: Plan, entry: Entry, content: Prepared, place: Place, name: str, by: str
) -> Version:
    return content_row(
        state, plan, content,
        no=entry.no,
        event="rename",
        by=by,
        place=place,
        name=name,
        created_ns=entry.created_ns,
        updated_ns=entry.updated_ns,
        inode=entry.inode,
        mode=entry.mode,
        mtime_ns=entry.mtime_ns,
    )  # fmt: skip


def _clear(state: State, plan: Plan, entry: Entry, place: Place) -> None:
    """The new path's bytes changed, the old path is gone: what stood against them is settled."""
    if state.entries.former(place) is not None:
        plan.forget.append(place)
    if state.refusals.stands(place):
        plan.clears[place] = True
    if state.refusals.stands(place_of(entry)):
        plan.clears[place_of(entry)] = False
