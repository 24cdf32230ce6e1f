"""The columns follow the table of entries by what changed in it, and never change afterwards."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from engine.columns import ColumnCache
from engine.entries import Entries, is_live
from engine.model import Entry, Namespace
from engine.namespace import Scope

RED: Namespace = (("team", "red"),)
BLUE: Namespace = (("team", "blue"),)


def entry(no: int, **changes: object) -> Entry:
    made = Entry(
        no=no, id=f"id{no}", namespace=RED, kind="note", slug=f"s{no}", name=f"s{no}",
        inode=100 + no, mode=0o644, mtime_ns=1, ctime_ns=1, created_ns=1, updated_ns=no, size=1,
        shown_size=1, seq=no, source_seq=no,
    )  # fmt: skip
    return replace(made, **changes)  # type: ignore[arg-type]


def test_columns_are_the_table_after_any_changes() -> None:
    rng = random.Random(3)
    entries = Entries()
    entries.swap([entry(5)])
    cache = ColumnCache(entries)
    for step in range(300):
        no = rng.randrange(3_000)
        before = entries.get(no)
        changed = entry(
            no, namespace=rng.choice([RED, BLUE]), kind=rng.choice(["note", "deal"]),
            updated_ns=step, deleted_ns=rng.choice([None, step]),
        )  # fmt: skip
        if before is not None and rng.random() < 0.1:
            entries.erase(no)
        else:
            entries.swap([changed])
        if step % 7:
            continue
        columns = cache.now()
        held = {one.no: one for one in entries.all()}
        assert np.flatnonzero(columns.live).tolist() == sorted(
            no for no, one in held.items() if is_live(one)
        )
        for no, one in held.items():
            assert columns.entry(no) is one
            assert columns.updated_ns[no] == one.updated_ns
            assert columns.of_kinds(frozenset({one.kind}))[no]
            covered = columns.covered(Scope(one.namespace))
            assert covered[no] == is_live(one)


def test_columns_stay_as_they_were() -> None:
    entries = Entries()
    entries.swap([entry(0), entry(1)])
    cache = ColumnCache(entries)
    before = cache.now()
    assert cache.now() is before
    old = before.entry(1)
    entries.swap([entry(1, kind="deal", updated_ns=99), entry(2_000)])
    after = cache.now()
    assert (before.entry(1), int(before.updated_ns[1])) == (old, 1)
    assert after.entry(1).kind == "deal" and after.entry(2_000).no == 2_000
    with pytest.raises(KeyError):
        after.entry(1_500)


def test_an_erased_engram_is_in_no_column() -> None:
    entries = Entries()
    entries.swap([entry(0)])
    cache = ColumnCache(entries)
    assert cache.now().live[0]
    entries.erase(0)
    assert not cache.now().live[0]
    with pytest.raises(KeyError):
        cache.now().entry(0)
