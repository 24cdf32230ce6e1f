"""Making the row that a commit appends: a new content, or a new state around the old one."""

from __future__ import annotations

from dataclasses import replace

from engine.entries import Place, place_of
from engine.model import Entry
from engine.plan import Plan
from engine.prepare import Prepared
from engine.state import State
from engine.store import versions
from engine.store.versions import Version

FILE_MODE = 0o644


def content_row(
    state: State,
    plan: Plan,
    content: Prepared,
    *,
    no: int,
    event: str,
    by: str,
    place: Place,
    name: str,
    created_ns: int,
    updated_ns: int,
    inode: int,
    mode: int,
    mtime_ns: int,
    ctime_ns: int | None = None,
    amends: int | None = None,
) -> Version:
    """A row that holds bytes, parts and terms itself, with new commit and document numbers."""
    counters = state.store.counters
    seq = counters.seq()
    namespace, kind, slug = place
    before = state.entries.get(no)
    if before is not None and before.updated_ns != updated_ns:
        before = None  # the bytes changed now
    return Version(
        seq=seq,
        engram=no,
        id=content.id,
        event=event,
        at_ns=plan.now_ns,
        written_by=by,
        amends=amends,
        namespace=namespace,
        kind=kind,
        slug=slug,
        name=name,
        title=content.head.title,
        summary=content.head.summary,
        properties=content.head.properties,
        created_ns=created_ns,
        updated_ns=updated_ns,
        deleted_ns=None,
        inode=inode,
        mode=mode,
        mtime_ns=mtime_ns,
        ctime_ns=plan.now_ns if ctime_ns is None else ctime_ns,
        size=len(content.source),
        shown_size=len(content.shown),
        source_seq=seq,
        parts_seq=seq,
        sha256=content.sha256,
        first_doc=counters.documents(len(content.parts)),
        host_sha256=content.host_sha256,
        written_ns=before.written_ns if before is not None else 0,
        documents=content.documents,
        parts=content.stored_parts,
        terms=content.terms,
        source=content.source,
    )


def state_row(state: State, plan: Plan, entry: Entry, event: str, by: str = "") -> Version:
    """The present row of an engram once more, pointing at the one that holds its bytes.

    A row that cannot be read is made again from the entry, so that a damaged engram can be deleted.
    """
    with state.store.cursor() as cursor:
        row = versions.bare(cursor, entry.seq)
    if row is None:
        row = _from_entry(entry)
    return replace(
        row,
        seq=state.store.counters.seq(),
        event=event,
        at_ns=plan.now_ns,
        written_by=by,
        amends=None,
        ctime_ns=plan.now_ns,
    )


def parts_row(state: State, plan: Plan, entry: Entry, content: Prepared, event: str) -> Version:
    """The present row with other parts and terms of the same bytes; no time moves."""
    row = state_row(state, plan, entry, event)
    return replace(
        row,
        ctime_ns=entry.ctime_ns,
        title=content.head.title,
        summary=content.head.summary,
        properties=content.head.properties,
        size=len(content.source),
        shown_size=len(content.shown),
        sha256=content.sha256,
        source_seq=entry.source_seq,
        parts_seq=row.seq,
        parts=content.stored_parts,
        terms=content.terms,
        documents=content.documents,
        first_doc=state.store.counters.documents(len(content.parts)),
        host_sha256=content.host_sha256,
    )


def deleted_row(state: State, plan: Plan, entry: Entry, by: str = "") -> Version:
    """The row of an engram that is soft-deleted by this commit."""
    return replace(state_row(state, plan, entry, "delete", by), deleted_ns=plan.now_ns)


def free_inode(state: State, place: Place, wanted: int | None, before: Entry | None) -> int:
    """The inode of a path: its own, else the just created file's, else the engram's of before."""
    at = state.entries.at(place)
    if at is not None:
        return at.inode
    if wanted is not None:
        return wanted
    if before is not None and state.entries.by_inode(before.inode) is None:
        return before.inode
    return state.store.new_inode()


def _from_entry(entry: Entry) -> Version:
    namespace, kind, slug = place_of(entry)
    return Version(
        seq=entry.seq, engram=entry.no, id=entry.id, event="", at_ns=0, written_by="",
        namespace=namespace, kind=kind, slug=slug, name=entry.name, title=entry.title, summary="",
        properties={}, created_ns=entry.created_ns, updated_ns=entry.updated_ns,
        deleted_ns=entry.deleted_ns, inode=entry.inode, mode=entry.mode, mtime_ns=entry.mtime_ns,
        ctime_ns=entry.ctime_ns, size=entry.size, shown_size=entry.shown_size,
        source_seq=entry.source_seq, parts_seq=entry.source_seq, sha256="", first_doc=0,
        host_sha256=entry.host_sha256, written_ns=entry.written_ns,
    )  # fmt: skip
