"""The rows of `version`: what an engram was after each commit.

A commit appends one row (two where a rename replaces another engram) and changes none. A row that
changes only the place or the attributes leaves `source`, `parts` and `terms` out and points with
`source_seq` and `parts_seq` at the rows that hold them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from engine.errors import NotFound, StoreCorrupt
from engine.model import Entry, Namespace, Part, PropertyValue, Span
from engine.store.documents import DOCUMENT, proved, sums_of, terms_proved
from engine.store.extensions import Cursor

# The fields of a row that are in the column `state`.
_STATE = (
    "id", "event", "at_ns", "written_by", "amends", "namespace", "kind", "slug", "name", "title",
    "summary", "properties", "created_ns", "updated_ns", "deleted_ns", "inode", "mode", "mtime_ns",
    "ctime_ns", "size", "shown_size", "source_seq", "parts_seq", "sha256", "first_doc",
    "host_sha256", "written_ns", "sums",
)  # fmt: skip
_Held = tuple[str | None, str | None, bytes | None]  # parts, terms, source
_CURRENT = "seq IN (SELECT max(seq) FROM version GROUP BY engram)"


def join_terms(runs_of_parts: Iterable[Iterable[Sequence[str]]]) -> str:
    """The column `terms`: a line a part, tabs between its runs, which no phrase crosses.

    A term holds no white space (`engine.text` sees to it).
    """
    return "\n".join("\t".join(" ".join(run) for run in runs) for runs in runs_of_parts)


def split_terms(text: str) -> list[list[str]]:
    """The terms of each part. An engram has at least its head, so "" is one part without terms."""
    return [line.split() for line in text.split("\n")]


@dataclass(frozen=True, slots=True)
class StoredPart:
    """A part as stored: where it stands. `text` is None for parts cut from the source."""

    id: str
    heading_path: tuple[str, ...]
    span: Span
    origin: str = "cut"
    text: str | None = None


def stored(part: Part) -> StoredPart:
    """What the store keeps of a part; a host's part has no place in the source, so its text too."""
    text = part.text if part.origin == "host" else None
    return StoredPart(part.id, part.heading_path, part.span, part.origin, text)


@dataclass(frozen=True, slots=True)
class Version:
    """One row. Times are nanoseconds since the epoch, sizes bytes.

    `documents` is made by `engine.store.documents`; a row of a deleted engram keeps those it had,
    so that their numbers are never given again. `parts` and `terms` (made by `join_terms`) are both
    None when `parts_seq` is another row, `source` is None when `source_seq` is. What is derived is
    proved by `sums` where it is read, and made anew from the bytes where it is damaged.
    """

    seq: int
    engram: int
    id: str
    event: str  # create | update | rename | delete | revive | attributes | parts
    at_ns: int
    written_by: str
    namespace: Namespace
    kind: str
    slug: str
    name: str
    title: str
    summary: str
    properties: Mapping[str, PropertyValue]
    created_ns: int
    updated_ns: int
    deleted_ns: int | None
    inode: int
    mode: int
    mtime_ns: int
    ctime_ns: int
    size: int
    shown_size: int
    source_seq: int
    parts_seq: int
    sha256: str  # hexadecimal
    first_doc: int
    host_sha256: str = ""  # of the host's parts, as `Entry` has it
    written_ns: int = 0  # when the bytes last changed; 0: with `updated`
    sums: str = ""
    documents: bytes = b""
    amends: int | None = None
    parts: tuple[StoredPart, ...] | None = None
    terms: str | None = None
    source: bytes | None = None
    parts_sound: bool = True  # `parts`, where they are read, are those that were stored

    @property
    def part_count(self) -> int:
        """Number of parts."""
        return len(self.documents) // DOCUMENT.itemsize

    @property
    def documents_sound(self) -> bool:
        """Are the documents those that were stored? An engram has its head at least."""
        return self.part_count > 0 and proved(self.sums, "documents", self.documents)

    def terms_sound(self, terms: str | None) -> bool:
        """Are these the terms that were stored?"""
        return terms_proved(self.sums, self.documents, terms)


def entry_of(row: Version) -> Entry:
    """The entry that `stat` and `ls` are answered from."""
    return Entry(
        no=row.engram, id=row.id, namespace=row.namespace, kind=row.kind, slug=row.slug,
        name=row.name, inode=row.inode, mode=row.mode, mtime_ns=row.mtime_ns,
        ctime_ns=row.ctime_ns, created_ns=row.created_ns, updated_ns=row.updated_ns,
        size=row.size, shown_size=row.shown_size, seq=row.seq, source_seq=row.source_seq,
        title=row.title, parts=row.part_count, deleted_ns=row.deleted_ns,
        host_sha256=row.host_sha256, written_ns=row.written_ns or row.updated_ns,
    )  # fmt: skip


# -- writing ------------------------------------------------------------------
def append(cursor: Cursor, row: Version) -> None:
    """Add one row; the caller's transaction makes it a commit."""
    cursor.execute("INSERT INTO version VALUES (?, ?, ?, ?, ?, ?, ?)", _values(row))


def append_many(cursor: Cursor, rows: Sequence[Version]) -> None:
    """Add many rows with one statement (measured: 0.08 ms a row against 0.6)."""
    if not rows:
        return
    columns = [list(column) for column in zip(*map(_values, rows), strict=True)]
    cursor.execute(
        "INSERT INTO version SELECT unnest(?::BIGINT[]), unnest(?::INTEGER[]), "
        "unnest(?::VARCHAR[]), unnest(?::BLOB[]), unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), "
        "unnest(?::BLOB[])",
        columns,
    )


def _values(row: Version) -> list[object]:
    state = {name: getattr(row, name) for name in _STATE}
    packed = None if row.parts is None else _pack_parts(row.parts)
    if packed is not None and row.terms is not None:
        state["sums"] = sums_of(row.documents, packed, row.terms)
    return [
        row.seq,
        row.engram,
        json.dumps(state, separators=(",", ":")),
        row.documents,
        packed,
        row.terms,
        row.source,
    ]


def _pack_parts(parts: tuple[StoredPart, ...]) -> str:
    return json.dumps(
        [
            [
                part.id, part.heading_path, part.span.start_line, part.span.end_line,
                part.span.byte_start, part.span.byte_end, part.origin, part.text,
            ]
            for part in parts
        ],
        separators=(",", ":"),
        ensure_ascii=False,
    )  # fmt: skip


def _unpack_parts(text: str) -> tuple[StoredPart, ...]:
    return tuple(
        StoredPart(id, tuple(path), Span(start, end, first, last), origin, host)
        for id, path, start, end, first, last, origin, host in json.loads(text)
    )


# -- reading ------------------------------------------------------------------
def load_current(cursor: Cursor, damaged: dict[int, str] | None = None) -> list[Version]:
    """Every engram's present state, deleted ones too, by number; no source, parts or terms.

    A row that cannot be read is left out and noted in `damaged` by its engram; without that it is
    StoreCorrupt.
    """
    rows = cursor.execute(
        f"SELECT seq, engram, state, documents FROM version WHERE {_CURRENT} ORDER BY engram"
    ).fetchall()
    namespaces: dict[Namespace, Namespace] = {}
    found: list[Version] = []
    for row in rows:
        try:
            found.append(_version(namespaces, *row))
        except StoreCorrupt as error:
            if damaged is None:
                raise
            damaged[row[1]] = str(error)
    return found


def rows(
    cursor: Cursor,
    seqs: Sequence[int],
    *,
    source: bool = False,
    terms: bool = False,
    lost: dict[int, str] | None = None,
) -> dict[int, Version]:
    """Some rows with their parts (bytes, terms), taken from the rows that hold them.

    Two queries, however many rows. A seq that is not there is left out; one that cannot be read is
    noted in `lost` with the reason, and without that StoreCorrupt.
    """
    bare = bare_rows(cursor, seqs, lost)
    holders = {row.parts_seq for row in bare.values()}
    if source:
        holders |= {row.source_seq for row in bare.values()}
    if not holders:
        return {}
    columns = f"seq, parts, {'terms' if terms else 'NULL'}, {'source' if source else 'NULL'}"
    held: dict[int, _Held] = {
        row[0]: (row[1], row[2], row[3])
        for row in cursor.execute(
            f"SELECT {columns} FROM version WHERE seq IN {_literal(holders)}"
        ).fetchall()
    }
    found: dict[int, Version] = {}
    for seq, row in bare.items():
        try:
            found[seq] = _filled(row, held, source)
        except StoreCorrupt as error:
            if lost is None:
                raise
            lost[seq] = error.message
    return found


def bare_rows(
    cursor: Cursor, seqs: Sequence[int], lost: dict[int, str] | None = None
) -> dict[int, Version]:
    """Some rows without source, parts and terms; `lost` as in `rows`."""
    if not seqs:
        return {}
    found: dict[int, Version] = {}
    for row in cursor.execute(
        f"SELECT seq, engram, state, documents FROM version WHERE seq IN {_literal(seqs)}"
    ).fetchall():
        try:
            found[row[0]] = _version({}, *row)
        except StoreCorrupt as error:
            if lost is None:
                raise
            lost[row[0]] = error.message
    return found


def _filled(row: Version, held: Mapping[int, _Held], source: bool) -> Version:
    nothing: _Held = (None, None, None)
    parts, terms, _ = held.get(row.parts_seq, nothing)
    content = held.get(row.source_seq, nothing)[2] if source else None
    if parts is None or (source and content is None):
        raise _lost(row.source_seq if parts is not None else row.parts_seq)
    try:
        unpacked = _unpack_parts(parts)
    except (ValueError, TypeError) as error:
        raise _lost(row.parts_seq) from error
    sound = proved(row.sums, "parts", parts.encode())
    return replace(row, parts=unpacked, terms=terms, source=content, parts_sound=sound)


def source(cursor: Cursor, seq: int) -> bytes:
    """The bytes in row `seq` (an entry's `source_seq`).

    Raises NotFound when the history has dropped the row, StoreCorrupt when it has no bytes.
    """
    row = cursor.execute("SELECT source FROM version WHERE seq = ?", [seq]).fetchone()
    if row is None:
        raise NotFound(f"commit {seq} is no longer in the history")
    if row[0] is None:
        raise _lost(seq)
    return bytes(row[0])


def sealed(cursor: Cursor, seqs: Iterable[int]) -> dict[int, tuple[str, bytes]]:
    """(SHA-256 in hexadecimal, bytes) of rows by number (entries' `source_seq`).

    A row that is missing, holds no bytes or cannot be read is left out.
    """
    rows = cursor.execute(
        f"SELECT seq, state, source FROM version WHERE seq IN {_literal(seqs)}"
    ).fetchall()
    found: dict[int, tuple[str, bytes]] = {}
    for seq, state, source in rows:
        with suppress(ValueError, KeyError, TypeError):
            found[seq] = str(json.loads(state)["sha256"]), bytes(source)
    return found


def summaries(cursor: Cursor, seqs: Iterable[int]) -> dict[int, str]:
    """The summaries of rows by number; a row that is missing or cannot be read is left out."""
    wanted = set(seqs)
    if not wanted:
        return {}
    rows = cursor.execute(
        f"SELECT seq, state FROM version WHERE seq IN {_literal(wanted)}"
    ).fetchall()
    found: dict[int, str] = {}
    for seq, state in rows:
        with suppress(ValueError, KeyError, TypeError):
            found[seq] = str(json.loads(state)["summary"])
    return found


def bare(cursor: Cursor, seq: int) -> Version | None:
    """One row without source, parts and terms; None when it is missing or cannot be read."""
    return bare_rows(cursor, [seq], {}).get(seq)


def terms_of(cursor: Cursor, seqs: Iterable[int]) -> dict[int, str]:
    """The column `terms` of rows that have it (a version's `parts_seq`)."""
    wanted = set(seqs)
    if not wanted:
        return {}
    found = cursor.execute(
        f"SELECT seq, terms FROM version WHERE seq IN {_literal(wanted)} AND terms IS NOT NULL"
    ).fetchall()
    return dict(found)


def holders_of_part(cursor: Cursor, id: str) -> list[int]:
    """Numbers of the engrams that have, or had in a version that is kept, a part with this id."""
    found = cursor.execute(
        "SELECT DISTINCT engram FROM version WHERE contains(parts, ?) ORDER BY engram", [f'["{id}"']
    ).fetchall()
    return [no for (no,) in found]


def _lost(seq: int) -> StoreCorrupt:
    return StoreCorrupt(
        f"the bytes of commit {seq} are not in the store", "run `engramfs check` to see what else"
    )


def _literal(seqs: Iterable[int]) -> str:
    """Numbers as SQL text: a bound Python list of 300 costs DuckDB 50 ms."""
    return f"({', '.join(str(int(seq)) for seq in sorted(set(seqs)))})"


def _version(
    namespaces: dict[Namespace, Namespace], seq: int, engram: int, state: str, documents: bytes
) -> Version:
    try:
        values = json.loads(state)
        namespace: Namespace = tuple((name, value) for name, value in values.pop("namespace"))
        if len(documents) % DOCUMENT.itemsize:
            documents = b""  # none are sound: they are made anew
        return Version(
            seq=seq,
            engram=engram,
            documents=documents,
            namespace=namespaces.setdefault(namespace, namespace),
            **values,
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:  # no JSON, or another's
        raise StoreCorrupt(
            f"the row of commit {seq}, of the engram number {engram}, cannot be read",
            "restore engramfs.duckdb from a backup, or erase that engram",
        ) from error
