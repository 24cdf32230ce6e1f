"""Rows and small stores for the tests of the store."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from engine.index import Documents, Index
from engine.model import Span
from engine.store import versions
from engine.store.connection import Store
from engine.store.documents import pack_documents, unpack_documents
from engine.store.versions import StoredPart, Version

Terms = Sequence[Sequence[str]]


def text_hash(text: str) -> bytes:
    """The 16 bytes that stand for an embedded text."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def make(
    seq: int, engram: int, terms: Terms = (("a",),), first_doc: int = 0, **changes: Any
) -> Version:
    """A version with plausible values; `terms` makes its parts."""
    joined = versions.join_terms([[part] for part in terms])
    values: dict[str, Any] = {
        "seq": seq, "engram": engram, "id": f"0198c0de-0000-7000-8000-{engram:012d}",
        "event": "create", "at_ns": seq * 1_000_000_000, "written_by": "pid:1",
        "namespace": (("team", "sales"),), "kind": "deal", "slug": f"s{engram}",
        "name": f"s{engram}", "title": f"Title {engram}", "summary": "", "properties": {},
        "created_ns": 1, "updated_ns": 1, "deleted_ns": None, "inode": 100 + engram,
        "mode": 0o644, "mtime_ns": 1, "ctime_ns": 1, "size": 6, "shown_size": 47,
        "source_seq": seq, "parts_seq": seq, "sha256": "00" * 32, "first_doc": first_doc,
        "documents": pack_documents(
            [len(part) for part in terms], [text_hash(" ".join(part)) for part in terms]
        ),
        "parts": tuple(
            StoredPart(f"p{engram}-{at}", ("Top", f"§{at}"), Span(1, 2, 0, 6))
            for at in range(len(terms))
        ),
        "terms": joined, "source": b"source",
    }  # fmt: skip
    values.update(changes)
    return Version(**values)


def bare(version: Version, seq: int, event: str, **changes: Any) -> Version:
    """The next row of an engram that changes neither bytes nor parts."""
    return replace(version, seq=seq, event=event, parts=None, terms=None, source=None, **changes)


def put(store: Store, index: Index, engram: int | None, terms: Terms, **changes: Any) -> Version:
    """Commit a version the way the engine does: one transaction, then the index, under the lock."""
    counters = store.counters
    with store.lock:
        number = counters.engram() if engram is None else engram
        row = make(counters.seq(), number, terms, counters.documents(len(terms)), **changes)
        with store.transaction() as cursor:
            versions.append(cursor, row)
        lengths, hashes = unpack_documents(row.documents)
        index.add_many([Documents(number, row.first_doc, lengths, hashes, terms)])
    return row


def delete(store: Store, index: Index, row: Version) -> Version:
    """Soft-delete an engram."""
    with store.lock:
        seq = store.counters.seq()
        gone = bare(row, seq, "delete", deleted_ns=seq, at_ns=seq * 1_000_000_000)
        with store.transaction() as cursor:
            versions.append(cursor, gone)
        index.add_many((), killed=(row.engram,))
    return gone
