"""What conditions on properties mean, judged on one engram: the model for columns and filters."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from engine.conditions import Equals, Range, Test, is_code
from engine.instants import instant
from engine.model import PropertyValue
from engine.slug import nfc
from engine.values import number


def holds(test: Test, properties: Mapping[str, PropertyValue]) -> bool:
    """Whether a condition holds for the properties of one engram."""
    if isinstance(test, Range) and test.literal is not None and test.literal.name in properties:
        test = test.literal
    value = properties.get(test.name)
    items = value if isinstance(value, list) else [value]
    judge: Callable[[object], bool] = (
        (lambda item: equals(test, item))
        if isinstance(test, Equals)
        else lambda item: within(test, item)
    )
    return any(judge(item) for item in items)


def equals(test: Equals, value: object) -> bool:
    """Whether one scalar is one of those asked for."""
    if isinstance(value, bool):
        return value in test.flags
    if isinstance(value, str):
        if nfc(value) in test.texts:
            return True
        if test.instants and instant(value) in test.instants:
            return True
        if test.shape and is_code(value):
            return False
    return bool(test.numbers) and number(value) in test.numbers


def within(test: Range, value: object) -> bool:
    """Whether one scalar lies in the range."""
    if test.since is not None or test.before is not None:
        at = instant(value) if isinstance(value, str) else None
        return (
            at is not None
            and (test.since is None or at >= test.since)
            and (test.before is None or at < test.before)
        )
    exact = number(value)
    return (
        exact is not None
        and (test.low is None or exact >= test.low)
        and (test.high is None or exact <= test.high)
    )
