"""A result set as plain JSON, and back: what a host keeps of a session between two processes.

Engrams are named by their ids. Columns rather than one object a hit: 1,000 hits are 120 KB.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from engine.entries import Entries
from engine.errors import Invalid, Problem
from engine.evidence import Evidence
from engine.ids import UUID
from engine.model import Degraded, Relation
from engine.namespace import Scope
from engine.result_sets import ResultSet

_MOST = 2**53  # of a whole number that every JSON reader keeps
_MOST_POSITION = 2**31 - 1


def to_json(found: ResultSet, entries: Entries) -> dict[str, object]:
    """The set as JSON holds it; engrams that are gone for good are left out."""
    ids = [entry.id if (entry := entries.get(no)) else "" for no in found.numbers.tolist()]
    there = np.flatnonzero([bool(id) for id in ids])
    found = found.taken(there)
    return {
        "id": found.id,
        "total": found.total,
        "words": list(found.words),
        "degraded": [[lost.what, lost.reason] for lost in found.degraded],
        "warnings": list(found.warnings),
        "ids": [id for id in ids if id],
        "seqs": found.seqs.tolist(),
        "scores": found.scores.tolist(),
        "ranks": {name: ranks.tolist() for name, ranks in found.ranks.items()},
        "positions": found.evidence.positions.tolist(),
        "part_scores": found.evidence.scores.tolist(),
        "relations": [
            None if step is None else [step.label, step.outward, step.source, step.hop]
            for step in found.relations
        ],
    }


def from_json(value: object, scope: Scope, entries: Entries, most: int) -> ResultSet | None:
    """The set again, its hits cut to `most`; None for one without an id.

    Engrams that this store does not have are left out. Raises Invalid for anything but what
    `to_json` makes.
    """
    data = _mapping("set", value)
    if not data.get("id"):
        return None
    id = _text("set.id", data["id"])
    if not UUID.fullmatch(id):
        raise _wrong("set.id", "a UUID")
    ids = _texts("set.ids", data.get("ids"))[:most]
    total = _whole("set.total", data.get("total"))

    def column(key: str, check: Callable[[str, object], object], value: object) -> list[object]:
        held = _sequence(key, value)
        if len(held) < len(ids):
            raise _wrong(key, "as long as set.ids")
        return [check(key, each) for each in held[: len(ids)]]

    ranks = _mapping("set.ranks", data.get("ranks"))
    positions = column("set.positions", _positions, data.get("positions"))
    part_scores = column("set.part_scores", _reals, data.get("part_scores"))
    known = {at: entry.no for at, id in enumerate(ids) if (entry := entries.by_id(id.lower()))}
    rows = np.array(list(known), np.int64)
    numbers = np.zeros(len(ids), np.int64)
    numbers[rows] = list(known.values())
    found = ResultSet(
        scope,
        max(total, len(ids)),
        numbers,
        np.array(column("set.seqs", _whole, data.get("seqs")), np.int64),
        np.array(column("set.scores", _real, data.get("scores")), np.float64),
        {
            _text("set.ranks", name): np.array(column("set.ranks", _whole, held), np.int64)
            for name, held in ranks.items()
        },
        Evidence(
            _table("set.positions", positions).astype(np.int32),
            _table("set.part_scores", part_scores),
        ),
        _relations(_sequence("set.relations", data.get("relations")), len(ids)),
        tuple(_texts("set.words", data.get("words"))),
        tuple(_degraded(each) for each in _sequence("set.degraded", data.get("degraded"))),
        tuple(_texts("set.warnings", data.get("warnings"))),
        id,
    )
    if found.evidence.positions.shape != found.evidence.scores.shape:
        raise _wrong("set.part_scores", "of the shape of set.positions")
    return found.taken(rows)


def _degraded(value: object) -> Degraded:
    pair = _texts("set.degraded", value)
    if len(pair) != 2:
        raise _wrong("set.degraded", "pairs of what and why")
    return Degraded(pair[0], pair[1])


def _relations(rows: Sequence[object], hits: int) -> tuple[Relation | None, ...]:
    if rows and len(rows) < hits:
        raise _wrong("set.relations", "empty or as long as set.ids")
    return tuple(_relation(row) for row in rows[:hits])


def _relation(value: object) -> Relation | None:
    if value is None:
        return None
    match _sequence("set.relations", value):
        case [str() as label, bool() as outward, str() as source, hop]:
            return Relation(label, outward, source, _whole("set.relations", hop))
    raise _wrong("set.relations", "lists of label, outward, source and hop")


def _table(key: str, rows: list[object]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    widths = {len(_sequence(key, row)) for row in rows}
    if len(widths) > 1:
        raise _wrong(key, "rows of one length")
    return np.array(rows, np.float64).reshape(len(rows), widths.pop() if widths else 0)


def _mapping(key: str, value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise _wrong(key, "an object")
    return value


def _sequence(key: str, value: object) -> Sequence[object]:
    if not isinstance(value, list | tuple):
        raise _wrong(key, "a list")
    return value


def _text(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise _wrong(key, "a text")
    return value


def _texts(key: str, value: object) -> list[str]:
    return [_text(key, each) for each in _sequence(key, value)]


def _whole(key: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not -1 <= value <= _MOST:
        raise _wrong(key, f"whole numbers up to {_MOST}")
    return value


def _positions(key: str, value: object) -> list[int]:
    found = [_whole(key, each) for each in _sequence(key, value)]
    if max(found, default=0) > _MOST_POSITION:
        raise _wrong(key, f"whole numbers up to {_MOST_POSITION}")
    return found


def _real(key: str, value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            if math.isfinite(real := float(value)):
                return real
        except OverflowError:  # JSON's whole numbers have no end
            pass
    raise _wrong(key, "finite numbers")


def _reals(key: str, value: object) -> list[float]:
    return [_real(key, each) for each in _sequence(key, value)]


def _wrong(key: str, wanted: str) -> Invalid:
    return Invalid(
        Problem(
            f"{key} of the exported session is not {wanted}",
            key=key,
            hint="restore what `export` gave",
        )
    )
