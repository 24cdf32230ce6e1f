"""What a recall narrows by beside its filters: tags, who said it, and what was there at a time.

Like every filter they act before any ranking is cut, and change no score.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from engine.columns import Columns
from engine.conditions import Equals
from engine.filters import Filters, split
from engine.fusion import Mask
from engine.masks import Masks, mask_of
from engine.model import SOURCE_ROLES, Entry
from engine.properties import PropertyIndex
from engine.recall.request import RecallRequest
from engine.slug import nfc

TAGS, ROLE, USUAL_ROLE = "tags", "source_role", "user"
AS_OF = "as_of"


@dataclass(frozen=True, slots=True)
class Narrowed:
    """The masks after narrowing. `tagged` are engrams with a tag, None where tags are not asked
    for; `taken` are those that each key took out."""

    masks: Masks
    tagged: Mask | None
    taken: tuple[tuple[str, Mask], ...] = ()

    @property
    def narrows(self) -> bool:
        """Is there anything in scope that it leaves out?"""
        return self.masks.filtered > 0 or any(key == AS_OF for key, _ in self.taken)

    def why(self, no: int) -> str:
        """What took an engram out."""
        keys = (key for key, mask in self.taken if no < len(mask) and mask[no])
        return next(keys, "a filter")


def narrow(
    masks: Masks, columns: Columns, properties: PropertyIndex, request: RecallRequest
) -> Narrowed:
    """Take out what the request's tags, roles and `as_of` do not let through."""
    allowed = masks.allowed
    taken: list[tuple[str, Mask]] = []

    def keep(key: str, mask: Mask) -> None:
        nonlocal allowed
        taken.append((key, allowed & ~mask))
        allowed = allowed & mask

    tagged: Mask | None = None
    if request.tags or request.tags_match == "exact":
        tagged = mask_of(properties.having(TAGS), len(columns))
        keep(TAGS, _with_tags(properties, request, tagged))
    if set(request.source_roles) != set(SOURCE_ROLES):
        keep("source_roles", _with_roles(properties, request.source_roles, len(columns)))
    if request.as_of_ns is not None:
        there = np.zeros(len(columns), dtype=bool)
        for no in np.flatnonzero(allowed).tolist():
            there[no] = columns.entry(no).created_ns <= request.as_of_ns
        keep(AS_OF, there)
    filtered = masks.filtered + sum(int(np.count_nonzero(mask)) for _, mask in taken)
    return Narrowed(replace(masks, allowed=allowed, filtered=filtered), tagged, tuple(taken))


def _with_tags(properties: PropertyIndex, request: RecallRequest, tagged: Mask) -> Mask:
    """A value that holds a comma is a tag of its own, or else the tags between its commas."""
    values = [(nfc(value), [nfc(tag) for tag in split([value])]) for value in request.tags]

    def having(tag: str) -> Mask:
        return mask_of(properties.select(_equal(TAGS, tag)), len(tagged))

    match = request.tags_match
    if match.startswith("any"):
        found = np.logical_or.reduce(
            [having(tag) for whole, parts in values for tag in {whole, *parts}]
        )
    else:
        found = np.ones(len(tagged), bool)
        for whole, parts in values:
            found &= having(whole) | np.logical_and.reduce([having(tag) for tag in parts])
    if match in ("any", "all"):
        return np.asarray(found | ~tagged)
    if match == "exact":
        if not values:
            return ~tagged
        for no in np.flatnonzero(found).tolist():
            tags = tags_of(properties, no)
            read = [[whole] if whole in tags else parts for whole, parts in values]
            found[no] = tags == {tag for some in read for tag in some}
    return np.asarray(found)


def _with_roles(properties: PropertyIndex, roles: tuple[str, ...], engrams: int) -> Mask:
    found = np.zeros(engrams, dtype=bool)
    for role in roles:
        found |= mask_of(properties.select(_equal(ROLE, role)), engrams)
    if USUAL_ROLE in roles:
        found |= ~mask_of(properties.having(ROLE), engrams)
    return found


def tags_of(properties: PropertyIndex, no: int) -> set[str]:
    """The tags of an engram."""
    held = properties.of(no).get(TAGS)
    return {nfc(tag) for tag in held if isinstance(tag, str)} if isinstance(held, list) else set()


def role_of(properties: PropertyIndex, entry: Entry) -> str:
    """Who said an engram: `user` where nothing says so."""
    role = properties.of(entry.no).get(ROLE)
    return role if isinstance(role, str) else USUAL_ROLE


def _equal(name: str, value: str) -> Filters:
    return Filters(tests=(Equals(name, texts=frozenset((value,))),))
