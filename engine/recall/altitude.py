"""From how high a recall looks: engrams, digests of scopes, or the digest of all.

auto: engrams if the first three fit; else the digests of the scopes that cover most of the fused
mass; else the tenant's; without digests, engrams. A digest and what it covers are never both given.
The three tiers are fabriq's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from engine.fusion import Mask
from engine.model import Digest
from engine.ranking import Ranking

LOOKED_AT = 3  # engrams that have to fit for auto to stay with engrams
MOST_OF = 0.5  # share of the mass that the chosen scopes cover at least, where they can


def lifted(
    altitude: str,
    digests: Sequence[Digest],
    ranking: Ranking,
    engrams_fit: Callable[[], bool],
    fits: Callable[[Sequence[Digest]], bool],
) -> tuple[Digest, ...]:
    """The digests to give instead of what they cover, first the one that covers most.

    `engrams_fit` says whether the first engrams fit the budget, `fits` whether some digests do.
    """
    if altitude == "entity" or not digests:
        return ()
    tenant = tuple(one for one in digests if one.level == "tenant")
    if altitude == "tenant":
        return tenant
    scopes = covering([one for one in digests if one.level == "scope"], ranking)
    if altitude == "scope":
        return scopes
    if engrams_fit():
        return ()
    for choice in (scopes, tenant):
        if choice and fits(choice):
            return choice
    return ()


def covering(scopes: Sequence[Digest], ranking: Ranking) -> tuple[Digest, ...]:
    """The scopes that cover most of the mass, most first; by name where they cover alike.

    Mass is the sum of the scores of the ranked engrams, each counted up to 1, so that one that the
    question names is not everything. Without any mass all scopes count, the largest first, but for
    those of which others before have every engram.
    """
    if not scopes:
        return ()
    most = max(int(ranking.numbers.max(initial=-1)), *(_last(one) for one in scopes)) + 1
    mass = np.zeros(most)
    mass[ranking.numbers] = np.minimum(ranking.scores, 1.0)
    left, total = mass.copy(), float(mass.sum())
    if total <= 0.0:
        return _apart(sorted(scopes, key=lambda one: (-len(one.members), one.name)))
    chosen: list[Digest] = []
    while float(left.sum()) > (1.0 - MOST_OF) * total:
        shares = {one.name: float(left[one.members].sum()) for one in scopes if one not in chosen}
        best = min(shares, key=lambda name: (-shares[name], name), default="")
        if not best or shares[best] <= 0.0:
            break
        chosen.append(next(one for one in scopes if one.name == best))
        left[chosen[-1].members] = 0.0
    return tuple(chosen)


def _apart(digests: Sequence[Digest]) -> tuple[Digest, ...]:
    """In order, those that cover an engram which none before covers."""
    chosen: list[Digest] = []
    for one in digests:
        if uncovered(chosen, one.members.tolist()).any():
            chosen.append(one)
    return tuple(chosen)


def passed_over(digests: Sequence[Digest], chosen: Sequence[Digest]) -> Mapping[str, str]:
    """Digest -> why it is not among the chosen ones; nothing where none is."""
    names = {one.name for one in chosen}
    why = {}
    for one in digests if chosen else ():
        if one.name in names:
            continue
        if not uncovered(chosen, one.members.tolist()).any():
            why[one.name] = "the digests given cover all that it covers"
        elif one.level != chosen[0].level:
            why[one.name] = "digests of scopes are enough"
        else:
            why[one.name] = "others cover most of what was found"
    return why


def within(digests: Sequence[Digest], allowed: Mask, as_of_ns: int | None) -> tuple[Digest, ...]:
    """The digests that tell of nothing that the request leaves out.

    Of a digest that was made after `as_of_ns` nobody knows whether it tells of later things.
    """
    return tuple(
        one
        for one in digests
        if (as_of_ns is None or one.built_ns <= as_of_ns)
        and _last(one) < len(allowed)
        and bool(allowed[one.members].all())
    )


def uncovered(digests: Sequence[Digest], numbers: Sequence[int]) -> Mask:
    """Which of these engrams none of the digests covers."""
    covered = {no for digest in digests for no in digest.members.tolist()}
    return np.fromiter((no not in covered for no in numbers), bool, len(numbers))


def _last(digest: Digest) -> int:
    return int(digest.members.max(initial=-1))
