"""What a namespace has digests of, and whether a digest still says what its engrams say. Pure.

A digest carries exactly its namespace, so a scope is a kind or a community of linked engrams within
one, and the namespace as a whole is its tenant.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.columns import Columns
from engine.fusion import Mask
from engine.model import Digest, Entry, Namespace
from engine.store.digests import DigestRow

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]
Ends = NDArray[np.int32]

TENANT = "tenant"
_KIND, _COMMUNITY = "kind-", "community-"
_SLUG = 40  # characters of one in a community's name
_ID = 8  # last characters of an id, which are random
_TITLES = 3  # of a community's engrams that name it


@dataclass(frozen=True, slots=True)
class Standing:
    """A scope's live engrams at one moment: their number and the latest commit among them.

    Both are the same only while the same engrams are in it in the same states: one that comes or
    changes has a later commit than any before, and one that only goes leaves fewer.
    """

    engrams: int
    seq: int


NOBODY = Standing(0, -1)


@dataclass(frozen=True, slots=True)
class Shape:
    """A digest that is to be: what it covers (`members`, ascending) and how its scope stands."""

    name: str
    title: str
    members: Numbers
    standing: Standing


class Ground:
    """One namespace at one moment: how its scopes stand."""

    def __init__(self, columns: Columns, namespace: Namespace) -> None:
        self.columns = columns
        self.namespace = namespace
        self._fresh: dict[str, tuple[DigestRow, bool]] = {}
        known = namespace in columns.namespaces
        code = columns.namespaces.index(namespace) if known else -1
        self.mask: Mask = columns.live & (columns.namespace == code)
        self.numbers: Numbers = np.flatnonzero(self.mask)
        of_kind = columns.kind[self.numbers]
        counts = np.bincount(of_kind, minlength=len(columns.kinds))
        latest = np.full(len(columns.kinds), -1, np.int64)
        np.maximum.at(latest, of_kind, columns.seq[self.numbers])
        self.kinds: Mapping[str, Standing] = {
            kind: Standing(int(counts[at]), int(latest[at]))
            for at, kind in enumerate(columns.kinds)
            if counts[at]
        }
        self.whole = Standing(len(self.numbers), int(latest.max(initial=-1)))

    def among(self, members: Numbers) -> Standing:
        """How these engrams stand, of which some may not be there any more."""
        here = members[members < len(self.mask)]
        here = here[self.mask[here]]
        return Standing(len(here), int(self.columns.seq[here].max(initial=-1)))

    def of(self, row: DigestRow) -> Standing:
        """How the scope of a stored digest stands now."""
        if row.name == TENANT:
            return self.whole
        if row.name.startswith(_KIND):
            return self.kinds.get(row.name.removeprefix(_KIND), NOBODY)
        return self.among(row.members)

    def stands(self, row: DigestRow) -> bool:
        """The scope of a stored digest is as it was when that was made."""
        return Standing(row.engrams, row.seq) == self.of(row)

    def fresh(self, row: DigestRow) -> bool:
        """A digest says what its engrams say now, and they are all there. Told once for each row:
        a moment stays as it is, and with 500 digests finding out takes 30 ms."""
        known = self._fresh.get(row.name)
        if known is None or known[0] is not row:
            there = self.among(row.members).engrams == len(row.members)
            known = self._fresh[row.name] = row, there and self.stands(row)
        return known[1]

    def still_named(self, row: DigestRow) -> bool:
        """A community is named by its oldest member, which may be gone by now or have another name;
        other digests always are."""
        if not is_community(row.name) or not len(row.members):
            return True
        oldest = int(row.members[0])
        there = oldest < len(self.mask) and bool(self.mask[oldest])
        return there and community_name(self.columns.entry(oldest)) == row.name

    def expected(self) -> list[str]:
        """The names of the digests that there are to be in any case."""
        return [*(kind_name(kind) for kind in self.kinds), *([TENANT] if self.kinds else [])]


def kind_name(kind: str) -> str:
    """The name of a kind's digest."""
    return _KIND + kind


def community_name(oldest: Entry) -> str:
    """The name of the digest of a community by its oldest member."""
    return f"{_COMMUNITY}{oldest.slug[:_SLUG]}-{oldest.id[-_ID:]}"


def is_community(name: str) -> bool:
    """Is it the name of a community's digest?"""
    return name.startswith(_COMMUNITY)


def level_of(name: str) -> str:
    """`Digest.level` by its name."""
    return "tenant" if name == TENANT else "scope"


def title_of(name: str, namespace: Namespace) -> str:
    """The title of a digest of a kind or the tenant; of a community that is to be made anew."""
    if name == TENANT:
        said = ", ".join(f"{key}={value}" for key, value in namespace)
        return f"Everything of {said}" if said else "Everything"
    if is_community(name):
        return "Linked engrams"
    return f"Kind {name.removeprefix(_KIND)}"


def kinds(ground: Ground, superseded: Collection[int]) -> list[Shape]:
    """The kinds of a namespace. A digest tells nothing of superseded engrams."""
    columns, told = ground.columns, _without(ground.numbers, superseded)
    of_kind = columns.kind[told]
    return [
        Shape(
            kind_name(kind), title_of(kind_name(kind), ground.namespace),
            told[of_kind == columns.kinds.index(kind)], standing,
        )
        for kind, standing in ground.kinds.items()
    ]  # fmt: skip


def communities(
    ground: Ground,
    groups: Sequence[Sequence[int]],
    superseded: Collection[int],
    weights: Floats,
    least: int,
) -> list[Shape]:
    """The communities of a namespace with at least so many members that count.

    One is named by its oldest member, whose edges change least; its title is that of the members
    with the most edges (`weights`, by engram number).
    """
    found = []
    for group in groups:
        numbers = np.sort(np.fromiter(group, np.int64, len(group)))
        numbers = numbers[numbers < len(ground.mask)]
        told = _without(numbers[ground.mask[numbers]], superseded)
        if len(told) < least:
            continue
        name = community_name(ground.columns.entry(int(told[0])))
        order = sorted(told.tolist(), key=lambda no: (-weights[no], no))
        titles = [ground.columns.entry(no).title for no in order[:_TITLES]]
        found.append(Shape(name, " · ".join(titles), told, ground.among(told)))
    return found


def weights_of(length: int, ground: Ground, source: Ends, target: Ends) -> Floats:
    """float64[length] by engram number: (1 + edges at it), mean 1 over the namespace."""
    ends = np.concatenate([source, target]).astype(np.int64)
    edges = 1.0 + np.bincount(ends, minlength=length)[:length]
    mean = float(edges[ground.numbers].mean()) if len(ground.numbers) else 1.0
    return np.asarray(edges / mean, np.float64)


def hash_of_edges(source: Ends, target: Ends) -> str:
    """The same for the same pairs of linked engrams, in any order and number."""
    pairs = np.unique(source.astype(np.int64) << 32 | target.astype(np.int64))
    return hashlib.sha256(pairs.astype("<i8").tobytes()).hexdigest()


def tells_of(columns: Columns, digest: Digest, kinds: Collection[str] | None) -> bool:
    """Does a digest tell of engrams of these kinds alone? None: of any. One that is to be made
    tells of what it is to be of; the tenant of any kind, whether it has engrams or not."""
    if kinds is None:
        return True
    if digest.name == TENANT:
        return False
    members = digest.members
    if not len(members):
        return digest.name in {kind_name(kind) for kind in kinds}
    codes = [code for code, kind in enumerate(columns.kinds) if kind in kinds]
    return bool(np.isin(columns.kind[members], codes).all())


def signs(columns: Columns, source: Ends, target: Ends) -> dict[Namespace, tuple[int, int, int]]:
    """By namespace (live engrams, latest commit, a sum over the edges within it): a namespace in
    which all three are as before has nothing new. The ends may lead to nobody, below 0."""
    count = len(columns.namespaces)
    live = np.flatnonzero(columns.live)
    where = columns.namespace[live]
    latest = np.full(count, -1, np.int64)
    np.maximum.at(latest, where, columns.seq[live])
    inside = (source >= 0) & (target >= 0) & (source < len(columns)) & (target < len(columns))
    source, target = source[inside], target[inside]
    at = columns.namespace[source]
    inside = (at == columns.namespace[target]) & columns.live[source] & columns.live[target]
    pairs = source[inside].astype(np.uint64) << np.uint64(32) | target[inside].astype(np.uint64)
    sums = np.zeros(count, np.uint64)
    np.add.at(sums, at[inside], (pairs ^ pairs >> np.uint64(29)) * np.uint64(0x9E3779B97F4A7C15))
    engrams = np.bincount(where, minlength=count)
    told = zip(engrams.tolist(), latest.tolist(), sums.tolist(), strict=True)
    return dict(zip(columns.namespaces, told, strict=True))


def _without(numbers: Numbers, superseded: Collection[int]) -> Numbers:
    return numbers[~np.isin(numbers, np.fromiter(superseded, np.int64, len(superseded)))]
