"""The parts that a host gives an engram, replaced as a whole in one commit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from engine.catalogue import Catalogue
from engine.embedding import Vector, embed_missing, prepared_again
from engine.errors import StoreCorrupt
from engine.host_parts import Hosted, accepted, seal
from engine.linking import connect
from engine.model import Change, Commit, Entry, HostPart, Identity
from engine.namespace import Scope
from engine.objects import hosted_of
from engine.plan import Plan, run
from engine.prepare import Prepared
from engine.rows import parts_row
from engine.state import State
from engine.succession import settle_due

_ROUNDS = 3  # of preparing outside the lock; then under it


def replace_parts(state: State, scope: Scope, ref: str, parts: Iterable[HostPart] | None) -> Commit:
    """Give an engram these parts instead of those that its host gave it before; None: none.

    All or nothing, one commit; the same parts again are none (`changed` is False). They stay until
    they are replaced: through edits of the file, renames, deletion and revival. The file's bytes
    and times do not move, so no editor finds it changed; `updated` does, for what the engram says
    is another thing now. The file's history has no version of them.
    Raises Invalid with every problem, NotFound, StoreFull, EmbedderFailed (embed = inline);
    nothing is stored then.
    """
    hosted = seal(accepted(parts if parts is not None else (), state.config))
    changes: list[Change] = []
    try:
        with state.store.lock:
            changes += settle_due(state, state.clock())
        for left in reversed(range(_ROUNDS)):
            work = None if left == 0 else _ready(state, scope, ref, hosted)
            with state.store.lock:
                if work is None:
                    work = _ready(state, scope, ref, hosted)
                entry, catalogue, content, vectors = work
                if state.find(scope, ref) == entry and state.catalogue is catalogue:
                    if content is None:
                        return Commit(entry, False, Identity.SAME)
                    plan = Plan(state.clock(), vectors=vectors)
                    row = parts_row(state, plan, entry, content, "parts")
                    row = replace(row, updated_ns=plan.now_ns, written_ns=entry.written_ns)
                    made = plan.add(row, content)
                    plan.tell("update", made)
                    connect(state, plan)
                    run(state, plan)
                    changes += plan.changes
                    return Commit(made, True, Identity.SAME)
        raise AssertionError("work done under the lock is right")
    finally:
        state.tell(changes)


_Work = tuple[Entry, Catalogue, Prepared | None, dict[bytes, Vector]]


def _ready(state: State, scope: Scope, ref: str, hosted: Hosted) -> _Work:
    """The engram with its new parts cut, analysed and embedded; no content: it has them."""
    catalogue, entry = state.catalogue, state.find(scope, ref)
    if _has(state, entry, hosted):
        return entry, catalogue, None, {}
    content = prepared_again(state, entry, hosted=hosted)
    return entry, catalogue, content, embed_missing(state, content)


def _has(state: State, entry: Entry, hosted: Hosted) -> bool:
    """Damaged ones are never the same."""
    if entry.host_sha256 != hosted.sha256:
        return False
    try:
        return hosted_of(state, entry) == hosted
    except StoreCorrupt:
        return False
