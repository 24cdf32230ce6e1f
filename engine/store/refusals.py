"""What was refused and why: the lines of `.errors`, and the refused bytes."""

from __future__ import annotations

import hashlib
import json

from engine.entries import Place
from engine.model import Notice, Problem, Rejected
from engine.store.extensions import Cursor
from engine.store.places import AT, key_of, pack_namespace, unpack_namespace


# -- notices -----------------------------------------------------------------------
def load_notices(cursor: Cursor) -> list[Notice]:
    """All notices of all namespaces, newest first."""
    rows = cursor.execute(
        "SELECT no, at_ns, namespace, kind, slug, path, event, problems "
        "FROM notice ORDER BY no DESC"
    ).fetchall()
    return [
        Notice(
            no, at_ns, unpack_namespace(namespace), kind, slug, path, event,
            tuple(Problem(*problem) for problem in json.loads(problems)),
        )
        for no, at_ns, namespace, kind, slug, path, event, problems in rows
    ]  # fmt: skip


def add_notice(cursor: Cursor, notice: Notice) -> None:
    """Store a notice."""
    problems = [[each.message, each.line, each.key, each.hint] for each in notice.problems]
    cursor.execute(
        "INSERT INTO notice VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            notice.no, notice.at_ns, pack_namespace(notice.namespace), notice.kind, notice.slug,
            notice.path, notice.event, json.dumps(problems, separators=(",", ":")),
        ],
    )  # fmt: skip


def drop_notices(cursor: Cursor, numbers: list[int]) -> None:
    """Forget some notices."""
    if numbers:
        cursor.execute(f"DELETE FROM notice WHERE no IN ({', '.join(map(str, map(int, numbers)))})")


def drop_notices_of(cursor: Cursor, place: Place) -> None:
    """A path committed or was unlinked: what stood against it is settled."""
    cursor.execute(f"DELETE FROM notice WHERE {AT}", key_of(place))


# -- refused bytes --------------------------------------------------------------------
def load_rejected(cursor: Cursor) -> dict[Place, tuple[Rejected, ...]]:
    """The refused bytes that are kept (without the bytes), a path's newest first."""
    rows = cursor.execute(
        "SELECT namespace, kind, slug, name, at_ns, hex(sha256), octet_length(source) "
        "FROM rejected ORDER BY namespace, kind, slug, at_ns DESC, rowid DESC"
    ).fetchall()
    found: dict[Place, tuple[Rejected, ...]] = {}
    for namespace, kind, slug, name, at_ns, digest, size in rows:
        place = (unpack_namespace(namespace), kind, slug)
        before = found.get(place, ())
        found[place] = (
            *before,
            Rejected(place[0], kind, name, len(before), size, at_ns, digest.lower()),
        )
    return found


def reject(cursor: Cursor, place: Place, name: str, at_ns: int, source: bytes, keep: int) -> str:
    """Keep refused bytes: as the path's newest, once, and of older ones the last `keep` in all.

    Returns their SHA-256 in hexadecimal.
    """
    digest = hashlib.sha256(source)
    drop_rejected(cursor, place, digest.hexdigest())
    cursor.execute(
        "INSERT INTO rejected VALUES (?, ?, ?, ?, ?, ?, ?)",
        [*key_of(place), name, at_ns, digest.digest(), source],
    )
    kept = cursor.execute(
        f"SELECT hex(sha256) FROM rejected WHERE {AT} ORDER BY at_ns DESC, rowid DESC "
        f"OFFSET {int(keep)}",
        key_of(place),
    ).fetchall()
    for (old,) in kept:
        drop_rejected(cursor, place, old)
    return digest.hexdigest()


def rejected_source(cursor: Cursor, place: Place, sha256: str) -> bytes | None:
    """Refused bytes by their SHA-256 in hexadecimal; None when they are gone."""
    row = cursor.execute(
        f"SELECT source FROM rejected WHERE {AT} AND sha256 = unhex(?)", [*key_of(place), sha256]
    ).fetchone()
    return None if row is None else bytes(row[0])


def drop_rejected(cursor: Cursor, place: Place, sha256: str | None = None) -> None:
    """Discard some refused bytes of a path, or all of them."""
    if sha256 is None:
        cursor.execute(f"DELETE FROM rejected WHERE {AT}", key_of(place))
    else:
        cursor.execute(
            f"DELETE FROM rejected WHERE {AT} AND sha256 = unhex(?)", [*key_of(place), sha256]
        )
