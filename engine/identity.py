"""Whose identity does a write get? The table of the filesystem contract, as pure decisions.

| the id in the bytes is  | at a free place              | over a live engram              |
|-------------------------|------------------------------|---------------------------------|
| none                    | new, or the lost engram's    | the place's                     |
| the place's own         | –                            | the same                        |
| live elsewhere          | a copy: new, the line edited | the place's, the line edited    |
| outside the scope       | as none, the line edited     | the place's, the line edited    |
| of a deleted engram     | revived here                 | revived here, the other deleted |
| unknown                 | taken                        | refused                         |

A place whose engram went to an overlay name within the grace time counts as live.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.entries import Copied, Entries, Place, is_live
from engine.errors import Invalid, Problem
from engine.model import Entry, Identity, Namespace
from engine.namespace import Scope


@dataclass(frozen=True, slots=True)
class Decision:
    """Who the written bytes become."""

    identity: Identity
    id: str
    entry: Entry | None  # the engram's present state, live or deleted; None: it is new
    at: Entry | None  # the live engram or blank that stands at the place
    removed: Entry | None = None  # the live engram that goes, because another is revived here
    copy_of: Entry | None = None  # a succession is possible from this one
    absorbed: bool = False  # `removed` was a copy of `entry` and becomes one with it


def decide(
    entries: Entries,
    scope: Scope,
    place: Place,
    carried: str | None,
    *,
    line: int | None,
    now_ns: int,
    grace_ns: int,
    new_id: Callable[[], str],
) -> Decision:
    """The row and column of the table for bytes that carry the id `carried` (None: no id).

    `line` is where the id stands in the file. Raises Invalid for an unknown id over an engram.
    """
    at = entries.at(place)
    live = at if at is not None and is_live(at) else None
    memory = entries.lost(place, now_ns, grace_ns) if live is None else None
    lost = memory[0] if memory is not None else None
    counts_as_live = memory is not None and memory[1].why == "overlay"
    owner = entries.by_id(carried) if carried is not None else None
    foreign = owner is not None and not _within(owner, scope, place[0])

    if live is not None:
        return _over_live(entries, live, carried, owner, foreign, line)
    if carried is None or foreign:
        if lost is not None:
            return Decision(Identity.RECLAIMED, lost.id, lost, at)
        return Decision(Identity.NEW, new_id(), None, at)
    if owner is None:
        if counts_as_live and lost is not None:
            raise _unknown(lost.id, carried, line)
        return Decision(Identity.NEW, carried, None, at)
    if is_live(owner):
        if counts_as_live and lost is not None:
            return Decision(Identity.RECLAIMED, lost.id, lost, at)
        original = owner if owner.namespace == place[0] else None
        return Decision(Identity.COPY, new_id(), None, at, copy_of=original)
    if lost is not None and owner.no == lost.no:
        return Decision(Identity.RECLAIMED, owner.id, owner, at)
    return Decision(Identity.REVIVED, owner.id, owner, at)


def _over_live(
    entries: Entries,
    live: Entry,
    carried: str | None,
    owner: Entry | None,
    foreign: bool,
    line: int | None,
) -> Decision:
    if carried is None or foreign:
        return Decision(Identity.SAME, live.id, live, live)
    if owner is None:
        raise _unknown(live.id, carried, line)
    if is_live(owner):  # its own id, or one that lives elsewhere
        return Decision(Identity.SAME, live.id, live, live)
    copy = entries.successor(owner.no)
    if copy is not None and copy.no == live.no:
        return Decision(Identity.SUCCESSOR, owner.id, owner, live, removed=live, absorbed=True)
    return Decision(Identity.REVIVED, owner.id, owner, live, removed=live)


def _within(owner: Entry, scope: Scope, namespace: Namespace) -> bool:
    """A deleted engram is never revived into another namespace than its own."""
    if is_live(owner):
        return scope.sees(owner)
    return owner.namespace == namespace


def _unknown(own: str, carried: str, line: int | None) -> Invalid:
    return Invalid(
        Problem(
            f"this file's id is {own}, not {carried}",
            line=line,
            key="id",
            hint="keep or remove the line; to replace the engram, rm it first",
        )
    )


def target_keeps(arriving: Entry, *, incoming: bool, now_ns: int, grace_ns: int) -> bool:
    """Does the engram at the target of a rename keep its identity, and only take the bytes?

    It does when what arrives is a temporary: made within the grace time, and nothing links to it.
    `incoming`: a live engram links to the arriving one.
    """
    return not incoming and now_ns - arriving.created_ns <= grace_ns


def heir(entries: Entries, original: Entry, now_ns: int, grace_ns: int) -> Copied | None:
    """The one living copy of an engram made within the grace time before `now_ns`, if just one."""
    living = [
        copied
        for copied in entries.copies(original.no)
        if now_ns - copied.at_ns <= grace_ns and _lives(entries, copied.copy)
    ]
    return living[0] if len(living) == 1 else None


def _lives(entries: Entries, no: int) -> bool:
    entry = entries.get(no)
    return entry is not None and is_live(entry)
