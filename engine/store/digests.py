"""Rows of digests and their texts. Only `engine.digests` writes them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engine.model import Namespace
from engine.store.extensions import Cursor
from engine.store.places import namespace_of, pack_namespace

Numbers = NDArray[np.int64]
At = tuple[str, str]  # where a digest is stored: its namespace as it stands there, and its name


@dataclass(frozen=True, slots=True)
class DigestRow:
    """A digest as it is stored; the columns are explained in 0004_digests.sql."""

    namespace: Namespace
    name: str
    title: str
    hash: str
    maker: str
    members: Numbers = field(compare=False)
    engrams: int
    seq: int
    edges: str
    built_ns: int
    text: str


# -- digests ---------------------------------------------------------------------
def load(cursor: Cursor) -> tuple[list[DigestRow], list[At]]:
    """(the digests that can be trusted, where one is that cannot)."""
    rows = cursor.execute(
        "SELECT d.namespace, d.name, d.title, d.hash, d.maker, d.members, d.engrams, d.seq, "
        "d.edges, d.built_ns, t.text, t.sha256 FROM digest d LEFT JOIN digest_text t "
        "ON t.namespace = d.namespace AND t.name = d.name AND t.hash = d.hash "
        "ORDER BY d.namespace, d.name"
    ).fetchall()
    sound: list[DigestRow] = []
    broken: list[At] = []
    for *told, text, seal in rows:
        namespace, numbers = namespace_of(told[0]), _numbers(told[5])
        if namespace is None or numbers is None or text is None or sealed(text) != seal:
            broken.append((told[0], told[1]))
            continue
        sound.append(DigestRow(*(namespace, *told[1:5], numbers, *told[6:], text)))
    return sound, broken


def _numbers(stored: bytes) -> Numbers | None:
    """Numbers of engrams, ascending; None when they are none."""
    if len(stored) % 8:
        return None
    found = np.frombuffer(stored, "<i8").astype(np.int64)
    return found if not len(found) or (found[0] >= 0 and np.all(found[1:] > found[:-1])) else None


def keep(cursor: Cursor, row: DigestRow) -> None:
    """A digest is now so; its text is kept by `keep_text`."""
    at = [pack_namespace(row.namespace), row.name]
    cursor.execute("DELETE FROM digest WHERE namespace = ? AND name = ?", at)
    cursor.execute(
        "INSERT INTO digest VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            *at, row.title, row.hash, row.maker, row.members.astype("<i8").tobytes(), row.engrams,
            row.seq, row.edges, row.built_ns,
        ],
    )  # fmt: skip


def drop(cursor: Cursor, places: Iterable[At], now_ns: int) -> None:
    """These digests are none any more; their texts stay for a while.

    Two statements, however many there are: a namespace can lose all its communities at once, and
    two for each of 500 keep writers waiting for 1.6 s.
    """
    these = "(namespace, name) IN (SELECT (r->>0, r->>1) FROM (SELECT unnest(?::JSON[]) AS r))"
    pairs = json.dumps(list(places))
    cursor.execute(f"DELETE FROM digest WHERE {these}", [pairs])
    cursor.execute(
        f"UPDATE digest_text SET left_ns = ? WHERE {these} AND left_ns IS NULL", [now_ns, pairs]
    )


def mark_stale(cursor: Cursor) -> None:
    """No digest is fresh: no engram's commit is numbered below 0."""
    cursor.execute("UPDATE digest SET seq = -1")


# -- texts -----------------------------------------------------------------------
def sealed(text: str) -> str:
    """The checksum that a text is stored with."""
    return hashlib.sha256(text.encode()).hexdigest()


def texts(cursor: Cursor, namespace: Namespace, hashes: Collection[str]) -> dict[str, str]:
    """The sound texts of these hashes in a namespace, of whichever digest."""
    if not hashes:
        return {}
    rows = cursor.execute(
        "SELECT hash, text, sha256 FROM digest_text WHERE namespace = ? "
        "AND hash IN (SELECT unnest(?::VARCHAR[]))",
        [pack_namespace(namespace), list(hashes)],
    ).fetchall()
    return {hash: text for hash, text, seal in rows if sealed(text) == seal}


def keep_text(cursor: Cursor, namespace: Namespace, name: str, hash: str, text: str) -> None:
    """A text of a digest, or of a group within it."""
    at = [pack_namespace(namespace), name, hash]
    cursor.execute("DELETE FROM digest_text WHERE namespace = ? AND name = ? AND hash = ?", at)
    cursor.execute(
        "INSERT INTO digest_text VALUES (?, ?, ?, ?, ?, NULL)", [*at, text, sealed(text)]
    )


def use_texts(
    cursor: Cursor, namespace: Namespace, name: str, hashes: Collection[str], now_ns: int
) -> None:
    """These texts are what a digest stands on; its others are left from now on. Those that were
    made for another digest, which may leave them, become its own as well."""
    at = [pack_namespace(namespace), name]
    cursor.execute(
        "INSERT INTO digest_text SELECT DISTINCT ON (hash) namespace, ?, hash, text, sha256, NULL "
        "FROM digest_text WHERE namespace = ? AND hash IN (SELECT unnest(?::VARCHAR[])) "
        "AND hash NOT IN (SELECT hash FROM digest_text WHERE namespace = ? AND name = ?)",
        [name, at[0], list(hashes), *at],
    )
    cursor.execute(
        "UPDATE digest_text SET left_ns = CASE WHEN hash IN (SELECT unnest(?::VARCHAR[])) "
        "THEN NULL ELSE coalesce(left_ns, ?) END WHERE namespace = ? AND name = ?",
        [list(hashes), now_ns, *at],
    )


def drop_texts_before(cursor: Cursor, at_ns: int) -> None:
    """Forget texts that were left before."""
    cursor.execute("DELETE FROM digest_text WHERE left_ns < ?", [at_ns])


# -- what they are made of ----------------------------------------------------------
def checksums(cursor: Cursor, seqs: Collection[int]) -> dict[int, str]:
    """The SHA-256 of the bytes of states by their commits; what cannot be read is left out."""
    rows = cursor.execute(
        "SELECT seq, sha256 FROM state WHERE seq IN (SELECT unnest(?::BIGINT[])) "
        "AND sha256 IS NOT NULL",
        [list(seqs)],
    ).fetchall()
    return dict(rows)
