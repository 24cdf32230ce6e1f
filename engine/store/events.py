"""What readers did: which engrams they read or were given, and questions without a hit.

Rows are given as one JSON text: the same values bound as lists cost DuckDB 75 times as much.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.model import Namespace
from engine.namespace import Scope
from engine.store.extensions import Cursor
from engine.store.places import namespace_of, pack_namespace

Key = tuple[int, str, str, Namespace]  # engram, class, session, namespace: what counts once a day
_KEY = "engram, event, session, namespace"


class Event(NamedTuple):
    """One thing that a reader did with an engram; `kind` is the class, "read" for example.

    A tuple, because one is made for every opened file.
    """

    at_ns: int
    engram: int
    kind: str
    session: str
    namespace: Namespace


@dataclass(frozen=True, slots=True)
class Miss:
    """A question without a hit, of a reader who saw engrams of `kinds`; None: of any."""

    at_ns: int
    namespace: Namespace
    question: str
    kinds: frozenset[str] | None = None

    def told_to(self, scope: Scope) -> bool:
        """Whether a reader may be told: not what others asked who see more."""
        return scope.includes(self.kinds) and scope.covers(self.namespace)


@dataclass(frozen=True, slots=True)
class Stored:
    """Every event of engrams, in arrays of equal length."""

    groups: tuple[tuple[str, str], ...]  # (class, namespace as stored)
    group: NDArray[np.int32]  # indexes `groups`
    engram: NDArray[np.int32]
    at_ns: NDArray[np.int64]


# -- what was done with engrams ------------------------------------------------------------
def add(cursor: Cursor, events: Sequence[Event]) -> None:
    """Append events, with one statement."""
    packed = {namespace: pack_namespace(namespace) for namespace in {e.namespace for e in events}}
    rows: list[list[str | int]] = [
        [each.at_ns, each.engram, each.kind, each.session, packed[each.namespace]]
        for each in events
    ]
    cursor.execute(
        "INSERT INTO demand SELECT r->>0, r->>1, r->>2, r->>3, r->>4 "
        "FROM (SELECT unnest(?::JSON[]) AS r)",
        [_text(rows)],
    )


def keys_between(cursor: Cursor, start_ns: int, end_ns: int) -> set[Key]:
    """What counted in a time; what cannot be read is left out."""
    rows = cursor.execute(
        f"SELECT {_KEY} FROM demand WHERE at_ns >= ? AND at_ns < ?", [start_ns, end_ns]
    ).fetchall()
    namespaces = {packed: namespace_of(packed) for packed in {row[3] for row in rows}}
    return {
        (engram, kind, session, namespace)
        for engram, kind, session, packed in rows
        if (namespace := namespaces[packed]) is not None
    }


def load(cursor: Cursor) -> Stored:
    """All of them, as numbers: to fetch as many texts takes six times as long."""
    groups = cursor.execute(
        "SELECT DISTINCT event, namespace FROM demand ORDER BY event, namespace"
    ).fetchall()
    found = cursor.execute(
        "WITH coded AS (SELECT r->>0 AS event, r->>1 AS namespace, nth FROM "
        "(SELECT unnest($1::JSON[]) AS r, generate_subscripts($1::JSON[], 1) - 1 AS nth)) "
        "SELECT nth::INTEGER AS nth, engram, at_ns FROM demand JOIN coded USING (event, namespace)",
        [json.dumps(groups)],
    ).fetchnumpy()
    return Stored(tuple(groups), found["nth"], found["engram"], found["at_ns"])


def drop_before(cursor: Cursor, at_ns: int) -> int:
    """Forget what readers did before a time; how many events of engrams that were."""
    cursor.execute("DELETE FROM event WHERE at_ns < ?", [at_ns])
    (gone,) = cursor.execute("DELETE FROM demand WHERE at_ns < ?", [at_ns]).fetchall()[0]
    return int(gone)


# -- questions without a hit ---------------------------------------------------------------
def add_misses(cursor: Cursor, misses: Sequence[Miss]) -> None:
    """Remember questions without a hit, with one statement."""
    rows: list[list[str | int]] = [
        [each.at_ns, pack_namespace(each.namespace), each.question, _packed(each.kinds)]
        for each in misses
    ]
    cursor.execute(
        "INSERT INTO event SELECT r->>0, r->>1, 'miss', r->>2, r->>3 "
        "FROM (SELECT unnest(?::JSON[]) AS r)",
        [_text(rows)],
    )


def load_misses(cursor: Cursor, scope: Scope, limit: int) -> list[Miss]:
    """The latest questions without a hit that a scope is told, newest first."""
    askers = cursor.execute(
        "SELECT DISTINCT namespace, kinds FROM event WHERE event = 'miss'"
    ).fetchall()
    told = {
        (packed, seen): namespace
        for packed, seen in askers
        if (namespace := namespace_of(packed)) is not None
        and Miss(0, namespace, "", _unpacked(seen)).told_to(scope)
    }
    rows = cursor.execute(
        "WITH asker AS (SELECT r->>0 AS namespace, r->>1 AS kinds "
        "FROM (SELECT unnest(?::JSON[]) AS r)) "
        "SELECT at_ns, namespace, detail, kinds FROM event JOIN asker USING (namespace, kinds) "
        f"WHERE event = 'miss' ORDER BY at_ns DESC, event.rowid DESC LIMIT {int(limit)}",
        [json.dumps(list(told))],
    ).fetchall()
    return [
        Miss(at_ns, told[packed, seen], text, _unpacked(seen)) for at_ns, packed, text, seen in rows
    ]


def _packed(kinds: frozenset[str] | None) -> str:
    return "" if kinds is None else json.dumps(sorted(kinds), ensure_ascii=False)


def _unpacked(kinds: str) -> frozenset[str] | None:
    return None if not kinds else frozenset(json.loads(kinds))


def _text(rows: list[list[str | int]]) -> str:
    """JSON that the store takes: what is no UTF-8 must not keep others from being stored."""
    return json.dumps(rows, ensure_ascii=False).encode("utf-8", "replace").decode()


# -- for `engine.check` ----------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Odd:
    """All events of engrams, and those that cannot be right."""

    events: int
    engrams: frozenset[int]  # that have any
    unreadable: int  # of a class or a namespace that is none
    twice: int  # that stand there again


def odd(cursor: Cursor, kinds: Sequence[str], day_ns: int) -> Odd:
    """Look at every event; `kinds` are the classes."""
    grouped = cursor.execute(
        "SELECT event, namespace, count(*) FROM demand GROUP BY event, namespace"
    ).fetchall()
    engrams = cursor.execute("SELECT DISTINCT engram FROM demand").fetchall()
    (twice,) = cursor.execute(
        "SELECT coalesce(sum(n - 1), 0) FROM (SELECT count(*) AS n FROM demand "
        f"GROUP BY {_KEY}, at_ns // {int(day_ns)})"
    ).fetchall()[0]
    return Odd(
        events=sum(times for _, _, times in grouped),
        engrams=frozenset(no for (no,) in engrams),
        unreadable=sum(
            times
            for kind, packed, times in grouped
            if kind not in kinds or namespace_of(packed) is None
        ),
        twice=int(twice),
    )


def mend(cursor: Cursor, known: Sequence[int], kinds: Sequence[str], day_ns: int) -> None:
    """Forget events of engrams that are not known, unreadable ones, and repeats."""
    for kind, packed in load(cursor).groups:
        if kind not in kinds or namespace_of(packed) is None:
            cursor.execute("DELETE FROM demand WHERE event = ? AND namespace = ?", [kind, packed])
    cursor.execute(
        "DELETE FROM demand WHERE engram NOT IN (SELECT CAST(unnest(?::JSON[]) AS INTEGER))",
        [json.dumps(known)],
    )
    cursor.execute(
        "DELETE FROM demand WHERE rowid NOT IN (SELECT arg_min(rowid, (at_ns, rowid)) FROM demand "
        f"GROUP BY {_KEY}, at_ns // {int(day_ns)})"
    )
