"""Namespaces, and the scopes that limit what a reader sees.

A namespace is an ordered list of name=value attributes on an object. A scope covers an object when
each of the scope's attributes is on the object with the same value, so the empty scope covers all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.errors import Invalid, Problem
from engine.model import Namespace


@dataclass(frozen=True, slots=True)
class Scope:
    """The attributes a reader is limited to. `exact`: only objects of exactly this namespace."""

    attributes: Namespace = ()
    exact: bool = False

    def covers(self, namespace: Namespace) -> bool:
        """Whether an object with this namespace is visible."""
        if self.exact or self.attributes == namespace:
            return self.attributes == namespace
        return all(attribute in namespace for attribute in self.attributes)


def parse_namespace(attributes: Sequence[str]) -> Namespace:
    """`["team=sales", "project=apollo"]` as a namespace; Invalid with every problem."""
    pairs: list[tuple[str, str]] = []
    problems: list[Problem] = []
    for attribute in attributes:
        name, equals, value = attribute.partition("=")
        if not equals:
            problems.append(_problem(attribute, f"`{attribute}` is not of the form name=value"))
        else:
            pairs.append((name, value))
    problems += _problems(pairs)
    if problems:
        raise Invalid(*problems)
    return tuple(pairs)


def bind(ceiling: Scope, call: Namespace) -> Scope:
    """Narrow `ceiling` by the attributes of a call.

    A call may add attributes; one that the ceiling has with another value is Invalid, as is any
    that an exact ceiling lacks.
    """
    problems = _problems(call)
    held = dict(ceiling.attributes)
    for name, value in call:
        if name in held and held[name] != value:
            message = f"namespace.{name} is {held[name]!r} here and cannot be {value!r}"
            problems.append(_problem(name, message, "leave it out"))
        elif name not in held and ceiling.exact:
            message = f"namespace.{name} cannot be added here"
            problems.append(_problem(name, message, "only the command line and the API narrow"))
    if problems:
        raise Invalid(*problems)
    added = tuple(pair for pair in call if pair[0] not in held)
    return Scope(ceiling.attributes + added, ceiling.exact)


def _problems(pairs: Sequence[tuple[str, str]]) -> list[Problem]:
    problems = []
    names: set[str] = set()
    for name, value in pairs:
        if not name or name != name.strip() or not name.isprintable() or "=" in name:
            problems.append(_problem(name, f"{name!r} is not a name of a namespace attribute"))
        elif name in names:
            problems.append(_problem(name, f"the attribute {name} is given twice"))
        names.add(name)
        if not value or value != value.strip() or "." in value or not value.isprintable():
            problems.append(
                _problem(
                    name,
                    f"{value!r} is not a value of a namespace attribute",
                    "a value is not empty and has no dot, control character or outer blank",
                )
            )
    return problems


def _problem(key: str, message: str, hint: str = "write it as name=value") -> Problem:
    return Problem(message, key=f"namespace.{key}", hint=hint)
