"""Which replaced versions of an engram are kept, and for how long."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from engine.config import Config
from engine.store import edges, versions
from engine.store.connection import Store
from engine.store.extensions import Cursor
from engine.store.versions import Version

_PAST = (
    "SELECT seq, engram, event, at_ns, written_by, source_seq, parts_seq, amends, "
    "deleted_ns IS NOT NULL, seq IN (SELECT seq FROM settled), taken FROM state JOIN ("
    "SELECT seq, coalesce(octet_length(source), 0) + coalesce(strlen(terms), 0) "
    "+ coalesce(strlen(parts), 0) + strlen(state) AS taken FROM version) USING (seq)"
)

_OF_ERASED = (
    ("former_path", "engram"), ("copy", "original"), ("copy", "copy"), ("absorbed", "engram"),
    ("demand", "engram"),
)  # fmt: skip

_NO_VERSIONS = ("attributes", "parts")  # events that change no byte of the file


@dataclass(frozen=True, slots=True)
class Past:
    """What the rule needs to know about one row of `version`; `size` is what the row takes."""

    seq: int
    engram: int
    event: str
    at_ns: int
    written_by: str
    source_seq: int
    parts_seq: int
    amends: int | None
    deleted: bool
    settled: bool  # decided before: a version of its own, whatever was pruned around it
    size: int


@dataclass(frozen=True, slots=True)
class Kept:
    """The rows that stay, and those of them that the history shows (replaced versions)."""

    seqs: frozenset[int]
    shown: frozenset[int]
    erased: frozenset[int]  # engrams of which nothing stays


@dataclass(frozen=True, slots=True)
class _Replaced:
    past: Past
    until_ns: int  # when it was replaced
    sacred: bool  # the newest replaced version of a live engram


def kept(rows: Iterable[Past], now_ns: int, config: Config) -> Kept:
    """Apply the history's rule to all rows of some engrams.

    The present row stays, and so does every row that holds bytes or parts of one that stays, and
    the saves of a run that may still go on (its beginning says how long). A change of attributes,
    or of the host's parts, is no version. Saves of one session within `collapse_ns` of the first
    are one version, as are those of one handle (`amends`): only the last of them, and the state
    before the first, stay. Of the replaced versions the newest `history_versions` an engram stay,
    for `history_ns` after they were replaced, `history_bytes` over all engrams, oldest first; but
    the newest one of an engram that lives, or died within the grace time, always. A deleted engram
    whose last version goes is erased.
    """
    present: dict[int, Past] = {}
    by_seq: dict[int, Past] = {}
    candidates: list[_Replaced] = []
    stay: set[int] = set()
    ordered = sorted(rows, key=lambda past: (past.engram, past.seq))
    for engram, group in groupby(ordered, key=lambda past: past.engram):
        every = list(group)
        by_seq.update((past.seq, past) for past in every)
        present[engram] = every[-1]
        if now_ns - every[-1].at_ns <= config.collapse_ns:
            stay |= _last_burst(every, config.collapse_ns)
        candidates += _replaced(every, now_ns, config)
    candidates = _within_bytes(candidates, config.history_bytes)
    shown = {replaced.past.seq for replaced in candidates}
    with_history = {replaced.past.engram for replaced in candidates}
    erased = {
        engram
        for engram, now in present.items()
        if now.deleted
        and engram not in with_history
        and now_ns - now.at_ns > max(config.grace_ns, config.collapse_ns)
    }
    stay |= shown | {now.seq for engram, now in present.items() if engram not in erased}
    for seq in list(stay):
        stay |= {by_seq[seq].source_seq, by_seq[seq].parts_seq}
    return Kept(frozenset(stay), frozenset(shown), frozenset(erased))


def _replaced(every: Sequence[Past], now_ns: int, config: Config) -> list[_Replaced]:
    """The replaced versions of one engram, oldest first, after all limits but that on bytes."""
    present = every[-1]
    amended = {past.amends for past in every if past.amends is not None}
    found: list[_Replaced] = []
    starts = _burst_starts(every, config.collapse_ns)
    for (past, first), (after, next_first) in pairwise(starts):
        collapses = past.seq in amended or first.seq == next_first.seq
        if not collapses and past.event != "delete":
            found.append(_Replaced(past, after.at_ns, False))
    found = found[-config.history_versions :] if config.history_versions else []
    if found and (not present.deleted or now_ns - present.at_ns <= config.grace_ns):
        found[-1] = _Replaced(found[-1].past, found[-1].until_ns, True)
    return [one for one in found if one.sacred or now_ns - one.until_ns <= config.history_ns]


def _burst_starts(every: Sequence[Past], collapse_ns: int) -> list[tuple[Past, Past]]:
    """Of each version of one engram the save that began the run it belongs to, maybe itself."""
    starts: list[tuple[Past, Past]] = []
    for past in every:
        if past.event not in _NO_VERSIONS:
            before, first = starts[-1] if starts else (past, past)
            goes_on = not before.settled and _one_burst(first, past, collapse_ns)
            starts.append((past, first if goes_on else past))
    return starts


def _last_burst(every: Sequence[Past], collapse_ns: int) -> set[int]:
    starts = _burst_starts(every, collapse_ns)
    return {past.seq for past, first in starts if first.seq == starts[-1][1].seq}


def _one_burst(first: Past, later: Past, collapse_ns: int) -> bool:
    """Both are saves over something older, by one session, close together."""
    return (
        first.event == later.event == "update"
        and bool(later.written_by)
        and later.written_by == first.written_by
        and later.at_ns - first.at_ns <= collapse_ns
    )


def _within_bytes(candidates: list[_Replaced], limit: int) -> list[_Replaced]:
    """Drop the longest replaced until the rest takes `limit` bytes."""
    total = sum(one.past.size for one in candidates)
    dropped: set[int] = set()
    for one in sorted(candidates, key=lambda one: (one.until_ns, one.past.seq)):
        if total <= limit:
            break
        if not one.sacred:
            dropped.add(one.past.seq)
            total -= one.past.size
    return [one for one in candidates if one.past.seq not in dropped]


@dataclass(frozen=True, slots=True)
class AtTime:
    """What some engrams were at a time: the row of each that was there, by its number.

    `absent` were not there yet, or deleted; `gone` were there, and that version is not kept.
    """

    seqs: Mapping[int, int]
    absent: frozenset[int]
    gone: frozenset[int]


def at_time(
    rows: Iterable[Past], created: Mapping[int, int], at_ns: int, now_ns: int, config: Config
) -> AtTime:
    """Choose among all rows of the engrams in `created`, which says when each was made.

    Only present states and the versions that `kept` shows count, so that the answer does not depend
    on when the history was pruned. A row without a version of its own (attributes, the host's
    parts) counts where it is the present one.
    """
    held = list(rows)
    shown = kept(held, now_ns, config).shown
    seqs: dict[int, int] = {}
    gone: set[int] = set()
    by_engram: dict[int, list[Past]] = {}
    for row in sorted(held, key=lambda past: past.seq):
        by_engram.setdefault(row.engram, []).append(row)
    for engram, every in by_engram.items():
        usable = _usable(every, shown)
        before = [at for at, row in enumerate(usable) if row.at_ns <= at_ns]
        if not before:
            if created.get(engram, at_ns) <= at_ns:
                gone.add(engram)
            continue
        row = usable[before[-1]]
        after = usable[before[-1] + 1] if before[-1] + 1 < len(usable) else None
        deaths = [
            each.at_ns
            for each in every
            if each.deleted and row.seq < each.seq and (after is None or each.seq < after.seq)
        ]
        if row.deleted or any(death <= at_ns for death in deaths):
            continue
        if after is not None and after.event == "revive" and not deaths:
            gone.add(engram)  # it was dead for a while, nobody knows how long
            continue
        seqs[engram] = row.seq
    return AtTime(seqs, frozenset(created.keys() - seqs.keys() - gone), frozenset(gone))


def _usable(every: Sequence[Past], shown: frozenset[int]) -> list[Past]:
    """The rows of one engram that can be told, oldest first."""
    present = every[-1]
    begun = [row for row in every if row.event not in _NO_VERSIONS][-1:]
    same = [row for row in begun if row.source_seq == present.source_seq]
    seqs = {present.seq, *(row.seq for row in same)}
    return [row for row in every if row.seq in shown or row.seq in seqs]


# -- over the store ---------------------------------------------------------------
def history(cursor: Cursor, engram: int, now_ns: int, config: Config) -> list[Version]:
    """The replaced versions of an engram that are kept, newest first, without their bytes."""
    rows = cursor.execute(f"{_PAST} WHERE engram = ?", [engram]).fetchall()
    shown = kept([Past(*row) for row in rows], now_ns, config).shown
    found = versions.rows(cursor, sorted(shown))
    return [found[seq] for seq in sorted(found, reverse=True)]


def rows_of(cursor: Cursor, engrams: Iterable[int]) -> list[Past]:
    """Every row of some engrams, as the rule needs it; one query."""
    numbers = ", ".join(str(int(no)) for no in engrams)
    if not numbers:
        return []
    rows = cursor.execute(f"{_PAST} WHERE engram IN ({numbers})").fetchall()
    return [Past(*row) for row in rows]


def _settle(cursor: Cursor, past: Sequence[Past], rule: Kept) -> None:
    before = {row.seq for row in past if row.settled}
    shown = rule.shown & {row.seq for row in past}
    cursor.execute("INSERT INTO settled SELECT unnest(?::BIGINT[])", [sorted(shown - before)])
    cursor.execute(
        "DELETE FROM settled WHERE seq IN (SELECT unnest(?::BIGINT[]))", [sorted(before - shown)]
    )


@dataclass(frozen=True, slots=True)
class Due:
    """What is to go, as it was found before the writer lock was taken."""

    last: int  # number of the last commit that was surely looked at
    past: tuple[Past, ...]
    rule: Kept


def due(store: Store, now_ns: int) -> Due:
    """Apply the rule to the whole store, while others write: it takes a second at 140,000 engrams.

    What they write belongs to engrams that `prune` then leaves alone until the next time.
    """
    with store.cursor() as cursor:
        (last,) = cursor.execute("SELECT coalesce(max(seq), 0) FROM version").fetchall()[0]
        rows = cursor.execute(
            f"{_PAST} WHERE engram IN "
            "(SELECT engram FROM version GROUP BY engram HAVING count(*) > 1)"
        ).fetchall()
    past = tuple(Past(*row) for row in rows)
    return Due(int(last), past, kept(past, now_ns, store.config))


def prune(store: Store, found: Due) -> tuple[int, frozenset[int]]:
    """Delete the rows that are due, in one transaction.

    Returns how many went, and the engrams that were erased: nothing of them is left, the caller
    forgets them.
    """
    with store.transaction() as cursor:
        rows = cursor.execute(
            f"SELECT DISTINCT engram FROM version WHERE seq > {found.last}"
        ).fetchall()
        written = {engram for (engram,) in rows}
        past = [row for row in found.past if row.engram not in written]
        gone = [row.seq for row in past if row.seq not in found.rule.seqs]
        erased = found.rule.erased - written
        if gone:
            store.counters.keep(cursor)
            _settle(cursor, past, found.rule)
            cursor.execute("DELETE FROM version WHERE seq IN (SELECT unnest(?::BIGINT[]))", [gone])
            edges.drop_of(cursor, erased)
        if erased:
            numbers = ", ".join(map(str, sorted(erased)))
            for table, column in _OF_ERASED:
                cursor.execute(f"DELETE FROM {table} WHERE {column} IN ({numbers})")
    return len(gone), erased
