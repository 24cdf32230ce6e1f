"""What is kept about places: former ones, copies, empty entries and kind directories."""

from __future__ import annotations

import json
from dataclasses import dataclass

from engine.entries import Copied, Former, Place
from engine.model import Entry, Namespace
from engine.store.extensions import Cursor

AT = "namespace = ? AND kind = ? AND slug = ?"


def pack_namespace(namespace: Namespace) -> str:
    """A namespace as the store's columns hold it."""
    return json.dumps(namespace, separators=(",", ":"), ensure_ascii=False)


def unpack_namespace(text: str) -> Namespace:
    """The inverse of `pack_namespace`."""
    return tuple((name, value) for name, value in json.loads(text))


def namespace_of(packed: str) -> Namespace | None:
    """A namespace as stored; None when it is none."""
    try:
        found = unpack_namespace(packed)
    except (ValueError, TypeError):
        return None
    texts = all(isinstance(text, str) for pair in found for text in pair)
    return found if texts and pack_namespace(found) == packed else None


def key_of(place: Place) -> list[str]:
    """A place as the values of `AT`."""
    namespace, kind, slug = place
    return [pack_namespace(namespace), kind, slug]


# -- former places --------------------------------------------------------------
def load_formers(cursor: Cursor) -> dict[Place, Former]:
    """What every place had before."""
    rows = cursor.execute(
        "SELECT namespace, kind, slug, engram, at_ns, why FROM former_path ORDER BY at_ns"
    ).fetchall()
    return {(unpack_namespace(row[0]), row[1], row[2]): Former(*row[3:]) for row in rows}


def remember(cursor: Cursor, place: Place, former: Former) -> None:
    """A place lost its engram; what it had before that is forgotten."""
    forget(cursor, place)
    cursor.execute(
        "INSERT INTO former_path VALUES (?, ?, ?, ?, ?, ?)",
        [*key_of(place), former.no, former.at_ns, former.why],
    )


def forget(cursor: Cursor, place: Place) -> None:
    """A new engram took the place."""
    cursor.execute(f"DELETE FROM former_path WHERE {AT}", key_of(place))


# -- copies -----------------------------------------------------------------------
def load_copies(cursor: Cursor) -> list[Copied]:
    """Every copy that may still succeed its original, oldest first."""
    rows = cursor.execute("SELECT original, copy, written_by, at_ns FROM copy ORDER BY at_ns, copy")
    return [Copied(*row) for row in rows.fetchall()]


def add_copy(cursor: Cursor, copied: Copied) -> None:
    """Bytes that carried the id of `original` became an engram of their own."""
    cursor.execute(
        "INSERT INTO copy VALUES (?, ?, ?, ?)",
        [copied.original, copied.copy, copied.written_by, copied.at_ns],
    )


def drop_copies(cursor: Cursor, original: int) -> None:
    """No succession of this engram is possible any more."""
    cursor.execute("DELETE FROM copy WHERE original = ?", [original])


def drop_copies_before(cursor: Cursor, at_ns: int) -> None:
    """Forget the copies that were made before a time: their grace time is over."""
    cursor.execute("DELETE FROM copy WHERE at_ns < ?", [at_ns])


# -- ids that answer with another engram --------------------------------------------
def load_absorbed(cursor: Cursor) -> dict[str, int]:
    """Id -> number of the engram that answers to it."""
    return dict(cursor.execute("SELECT id, engram FROM absorbed").fetchall())


def absorb(cursor: Cursor, id: str, engram: int) -> None:
    """From now on an id answers with another engram."""
    cursor.execute("DELETE FROM absorbed WHERE id = ?", [id])
    cursor.execute("INSERT INTO absorbed VALUES (?, ?)", [id, engram])


# -- empty entries --------------------------------------------------------------------
def load_blanks(cursor: Cursor) -> list[Entry]:
    """Every durable empty entry."""
    rows = cursor.execute(
        "SELECT namespace, kind, slug, name, inode, mode, mtime_ns, ctime_ns FROM blank"
    ).fetchall()
    return [_blank(*row) for row in rows]


def _blank(
    namespace: str, kind: str, slug: str, name: str, inode: int, mode: int, mtime: int, ctime: int
) -> Entry:
    return Entry(
        no=-1, id="", namespace=unpack_namespace(namespace), kind=kind, slug=slug, name=name,
        inode=inode, mode=mode, mtime_ns=mtime, ctime_ns=ctime, created_ns=ctime,
        updated_ns=mtime, size=0, shown_size=0, seq=0, source_seq=0,
    )  # fmt: skip


def keep_blank(cursor: Cursor, blank: Entry) -> None:
    """Keep an empty entry, or its new attributes."""
    place = (blank.namespace, blank.kind, blank.slug)
    drop_blank(cursor, place)
    cursor.execute(
        "INSERT INTO blank VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [*key_of(place), blank.name, blank.inode, blank.mode, blank.mtime_ns, blank.ctime_ns],
    )


def drop_blank(cursor: Cursor, place: Place) -> None:
    """The empty entry became an engram, or was removed."""
    cursor.execute(f"DELETE FROM blank WHERE {AT}", key_of(place))


# -- kind directories ---------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Directory:
    """A kind's directory in one namespace: stable inode, permission bits, mtime."""

    namespace: Namespace
    kind: str
    inode: int
    mode: int
    mtime_ns: int


def load_directories(cursor: Cursor) -> list[Directory]:
    """Every kind directory that was ever seen."""
    rows = cursor.execute("SELECT namespace, kind, inode, mode, mtime_ns FROM directory").fetchall()
    return [Directory(unpack_namespace(row[0]), *row[1:]) for row in rows]


def keep_directory(cursor: Cursor, directory: Directory) -> None:
    """Keep a directory's attributes."""
    drop_directory(cursor, directory.namespace, directory.kind)
    cursor.execute(
        "INSERT INTO directory VALUES (?, ?, ?, ?, ?)",
        [
            pack_namespace(directory.namespace), directory.kind, directory.inode, directory.mode,
            directory.mtime_ns,
        ],
    )  # fmt: skip


def drop_directory(cursor: Cursor, namespace: Namespace, kind: str) -> None:
    """The kind was removed."""
    cursor.execute(
        "DELETE FROM directory WHERE namespace = ? AND kind = ?", [pack_namespace(namespace), kind]
    )
