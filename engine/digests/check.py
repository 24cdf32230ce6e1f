"""Prove that stored digests are what they claim: their text, their engrams, their hash."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine.columns import Columns
from engine.digests.making import Leaves, Means
from engine.digests.scopes import TENANT, Ground
from engine.digests.shelf import Shelf
from engine.store.digests import At, DigestRow
from engine.store.places import pack_namespace


def disagreements(columns: Columns, shelf: Shelf, means: Means) -> Iterator[tuple[At, str]]:
    """Where, and a sentence; the caller holds the writer lock. A stale one has nothing to prove."""
    rows, broken = shelf.stored()
    for at in broken:
        yield at, f"the text or the engrams of the digest {at[1]} are damaged"
    for row in rows:
        at = pack_namespace(row.namespace), row.name
        held = shelf.of(row.namespace).get(row.name)
        if held is None or held != row or not np.array_equal(held.members, row.members):
            yield at, f"the digest {row.name} in memory is not the stored one"
        ground = Ground(columns, row.namespace)
        if not ground.stands(row):
            continue
        if ground.among(row.members).engrams != len(row.members):
            yield at, f"the digest {row.name} covers engrams that are not there"
        elif (
            row.maker == means.maker
            and row.name != TENANT
            and _hash(columns, row, means) != row.hash
        ):
            yield at, f"the digest {row.name} was not made of what its engrams say"


def _hash(columns: Columns, row: DigestRow, means: Means) -> str:
    leaves = Leaves(means.state).of([columns.entry(no) for no in row.members.tolist()])
    return means.tree_of(leaves).hash
