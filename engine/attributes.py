"""What is not content: modes and times of engrams, empty entries, directories of kinds."""

from __future__ import annotations

from dataclasses import replace

from engine.applying import ensure_known
from engine.entries import is_live
from engine.errors import Conflict, Invalid, NotFound
from engine.model import Entry
from engine.namespace import Scope
from engine.plan import Plan, run
from engine.rows import state_row
from engine.slug import name_problem, nfc
from engine.state import State
from engine.store import places
from engine.store.places import Directory


def set_attributes(
    state: State, scope: Scope, entry: Entry, *, mode: int | None, mtime_ns: int | None
) -> Entry:
    """Change mode or mtime of a live engram or blank; ctime moves, `updated` does not."""
    with state.store.lock:
        now = state.clock()
        if entry.empty:
            here = state.entries.at((entry.namespace, entry.kind, entry.slug))
        else:
            here = state.entries.get(entry.no)
        if here is None or here.deleted_ns is not None or not scope.sees(here):
            raise NotFound(f"there is no engram at {entry.kind}/{entry.name}")
        new_mode = here.mode if mode is None else mode & 0o777
        new_mtime = here.mtime_ns if mtime_ns is None else mtime_ns
        if here.empty:
            blank = replace(here, mode=new_mode, mtime_ns=new_mtime, ctime_ns=now)
            _keep_blank(state, blank)
            return blank
        plan = Plan(now)
        row = state_row(state, plan, here, "attributes")
        made = plan.add(replace(row, mode=new_mode, mtime_ns=new_mtime))
        run(state, plan)
        return made


def keep_blank(
    state: State,
    scope: Scope,
    kind: str,
    slug: str,
    name: str,
    inode: int,
    mode: int,
    mtime_ns: int,
    ctime_ns: int | None = None,
) -> Entry:
    """A durable empty entry at a free place. Conflict where an engram lives."""
    problem = name_problem(name)
    if problem is not None:
        raise Invalid(problem)
    with state.store.lock:
        place = (scope.attributes, ensure_known(state, kind), nfc(slug))
        scope.require(place[1])
        at = state.entries.at(place)
        if at is not None and is_live(at):
            raise Conflict(f"{kind}/{name} is taken by {at.id}")
        now = state.clock()
        blank = Entry(
            no=-1, id="", namespace=place[0], kind=place[1], slug=place[2], name=name,
            inode=inode, mode=mode & 0o777, mtime_ns=mtime_ns,
            ctime_ns=now if ctime_ns is None else ctime_ns, created_ns=now,
            updated_ns=mtime_ns, size=0, shown_size=0, seq=0, source_seq=0,
        )  # fmt: skip
        _keep_blank(state, blank)
        if at is None:
            state.touch_directory(place[0], place[1], now)
        return blank


def drop_blank(state: State, scope: Scope, kind: str, slug: str) -> None:
    """Remove an empty entry; nothing where there is none."""
    with state.store.lock:
        place = (scope.attributes, ensure_known(state, kind), nfc(slug))
        at = state.entries.at(place)
        if at is None or not at.empty:
            return
        with state.store.transaction() as cursor:
            places.drop_blank(cursor, place)
        state.entries.drop_blank(place)
        state.touch_directory(place[0], place[1], state.clock())


def set_directory(
    state: State, scope: Scope, kind: str, *, mode: int | None, mtime_ns: int | None
) -> Directory:
    """Change permission bits or mtime of a kind's directory."""
    with state.store.lock:
        here = state.directory(scope.attributes, ensure_known(state, kind))
        changed = replace(
            here,
            mode=here.mode if mode is None else mode & 0o777,
            mtime_ns=here.mtime_ns if mtime_ns is None else mtime_ns,
        )
        state.keep_directory(changed)
        return changed


def _keep_blank(state: State, blank: Entry) -> None:
    with state.store.transaction() as cursor:
        places.keep_blank(cursor, blank)
    state.entries.keep_blank(blank)
