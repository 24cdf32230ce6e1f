"""Conditions on one property.

Numbers are equal by value, datetimes by instant, strings exactly after NFC; a list matches if an
element does; null and mappings match nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal

from engine.instants import instant
from engine.slug import nfc
from engine.values import number

# A written integer with a superfluous sign or zero, or another base, is a code (a postcode, say):
# where no type is declared it is compared as text only.
_CODE = re.compile(r"\+.*|-?0[0-9].*|0[xo].*")


@dataclass(frozen=True, slots=True)
class Equals:
    """A property equals one of these, whatever of them its value can be. `shape`: open mode."""

    name: str
    texts: frozenset[str] = frozenset()
    numbers: frozenset[Decimal] = frozenset()
    instants: frozenset[int] = frozenset()
    flags: frozenset[bool] = frozenset()
    shape: bool = False


@dataclass(frozen=True, slots=True)
class Range:
    """A property lies between: numbers `low` and `high` inclusive, instants since and before.

    `literal` is what the condition means where a property is called `prop_after` itself: only open
    mode, whose names nobody declares.
    """

    name: str
    low: Decimal | None = None
    high: Decimal | None = None
    since: int | None = None
    before: int | None = None
    literal: Equals | None = None


Test = Equals | Range


def by_shape(name: str, values: Collection[str]) -> Equals:
    """What values can mean where no type is declared."""
    return Equals(
        name,
        frozenset(map(nfc, values)),
        frozenset(n for v in values if not is_code(v) and (n := number(v)) is not None),
        frozenset(at for v in values if (at := instant(v)) is not None),
        frozenset(v.lower() == "true" for v in values if v.lower() in ("true", "false")),
        shape=True,
    )


def is_code(text: str) -> bool:
    """Whether a number is written as no number is by itself: 00123, +5, 0x1F."""
    return bool(_CODE.fullmatch(text))
