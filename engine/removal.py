"""Delete and revive: a soft delete hides an engram and its edges; its id brings both back."""

from __future__ import annotations

from dataclasses import replace

from engine.applying import ensure_known
from engine.embedding import embed_missing
from engine.entries import Former, Place, is_live, place_of
from engine.errors import Conflict, NotFound
from engine.identity import heir
from engine.linking import connect
from engine.model import Commit, Entry, Identity
from engine.move import at_place, own
from engine.namespace import Scope
from engine.plan import Plan, run
from engine.rows import content_row, deleted_row, free_inode
from engine.slug import nfc
from engine.state import State
from engine.succession import changing, settle_at, succeed


def delete(state: State, scope: Scope, id: str, *, why: str = "unlink", by: str = "") -> Entry:
    """Soft-delete a live engram; returns it as deleted.

    `why` is "unlink" or "overlay" (its bytes went to a plain file). Where a single copy succeeds it
    at once, the engram lives on at the copy's place; what is returned still says that it left here.
    """
    with changing(state) as changes:
        entry = own(state, scope, id)
        plan = Plan(state.clock())
        place = place_of(entry)
        gone = replace(entry, deleted_ns=plan.now_ns, ctime_ns=plan.now_ns)
        copied = None
        if why == "unlink":
            copied = heir(state.entries, entry, plan.now_ns, state.config.grace_ns)
        copy = state.entries.get(copied.copy) if copied is not None else None
        if copied is not None and copy is not None and by and copied.written_by == by:
            succeed(state, plan, entry, copy, by)
        else:
            gone = plan.add(deleted_row(state, plan, entry, by))
            plan.remember[place] = Former(entry.no, plan.now_ns, why)
            if copied is not None:
                due = plan.now_ns + state.config.grace_ns
                plan.awaiting[entry.no] = (copied.copy, due)
            plan.tell("delete", gone)
            connect(state, plan)
        if why == "unlink" and state.refusals.stands(place):
            plan.clears[place] = False
        run(state, plan)
        changes += plan.changes
        return gone


def revive(
    state: State, scope: Scope, id: str, *, kind: str | None = None, slug: str | None = None
) -> Commit:
    """Bring a deleted engram back, at its last place or at another one.

    Raises NotFound (it never was, or is out of scope), Conflict (it lives, or the place is taken).
    """
    with changing(state) as changes:
        entry = state.entries.by_id(id)
        if entry is None or not scope.sees(entry):
            raise NotFound(f"there is no engram {id}")
        if is_live(entry):
            raise Conflict(f"the engram {id} lives, at {entry.kind}/{entry.name}")
        wanted = ensure_known(state, kind if kind is not None else entry.kind)
        scope.require(wanted)
        name = slug if slug is not None else entry.name
        place = (entry.namespace, wanted, nfc(slug) if slug is not None else entry.slug)
        at = state.entries.at(place)
        if at is not None and is_live(at):
            raise Conflict(f"{wanted}/{name} is taken by {at.id}", "revive it under another name")
        plan = Plan(state.clock())
        former = state.entries.former(place)
        if former is not None and former.no != entry.no:
            changes += settle_at(state, former.no, plan.now_ns)
        commit = _revived(state, plan, entry, place, name)
        connect(state, plan)
        run(state, plan)
        changes += plan.changes
        return commit


def _revived(state: State, plan: Plan, entry: Entry, place: Place, name: str) -> Commit:
    content = at_place(state, entry, place, name)
    plan.vectors.update(embed_missing(state, content))
    row = content_row(
        state, plan, content,
        no=entry.no,
        event="revive",
        by="",
        place=place,
        name=name,
        created_ns=entry.created_ns,
        updated_ns=entry.updated_ns,
        inode=free_inode(state, place, None, entry),
        mode=entry.mode,
        mtime_ns=entry.mtime_ns,
    )  # fmt: skip
    at = state.entries.at(place)
    if at is not None:
        plan.blanks.append(place)
    if state.entries.former(place) is not None:
        plan.forget.append(place)
    if any(original == entry.no for original, _, _ in state.entries.awaiting()):
        plan.settled.append(entry.no)
    made = plan.add(row, content)
    plan.tell("revive", made)
    return Commit(made, True, Identity.REVIVED)
