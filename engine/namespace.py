"""Namespaces, and the scopes that limit what a reader sees.

A namespace is an ordered list of name=value attributes on an object. A scope covers a namespace
when that has each of the scope's attributes with the same value, so the empty scope covers all. It
sees an engram whose namespace it covers and whose kind is one of its kinds, where it has any.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from engine.arguments import explained
from engine.errors import Invalid, Problem, shown
from engine.model import Entry, Namespace


@dataclass(frozen=True, slots=True)
class Scope:
    """The attributes a reader is limited to. `exact`: only objects of exactly this namespace.
    `kinds`: only engrams of these, in the catalogue's spelling; None: of any."""

    attributes: Namespace = ()
    exact: bool = False
    kinds: frozenset[str] | None = None

    def __post_init__(self) -> None:
        """Invalid for what would cover nothing, or something else, without a word."""
        if not isinstance(self.attributes, tuple) or not all(map(_is_pair, self.attributes)):
            attributes = f"the attributes of a scope are {shown(repr(self.attributes))}"
            hint = 'they are a tuple of pairs, such as (("team", "sales"),)'
            raise Invalid(Problem(attributes, key="attributes", hint=hint))
        if self.kinds is not None and not isinstance(self.kinds, frozenset):
            kinds = f"the kinds of a scope are {shown(repr(self.kinds))}"
            raise Invalid(Problem(kinds, key="kinds", hint="they are a frozenset, or None"))

    def sees(self, entry: Entry) -> bool:
        """Whether an engram is there for this reader: what is not is no part of any answer."""
        of_kinds = self.kinds is None or entry.kind in self.kinds
        return of_kinds and self.covers(entry.namespace)

    def covers(self, namespace: Namespace) -> bool:
        """Whether engrams of this namespace can be seen."""
        if self.exact or self.attributes == namespace:
            return self.attributes == namespace
        return all(attribute in namespace for attribute in self.attributes)

    def includes(self, kinds: frozenset[str] | None) -> bool:
        """Whether it sees every engram that a reader of these kinds (None: of any) sees."""
        return self.kinds is None or (kinds is not None and kinds <= self.kinds)

    def require(self, kind: str) -> None:
        """Invalid where engrams of a kind cannot be seen, so that none is written out of sight."""
        if self.kinds is not None and kind not in self.kinds:
            known = ", ".join(sorted(self.kinds)) or "none"
            message = f"{shown(kind)} is not among the kinds that are seen here"
            raise Invalid(Problem(message, key="kind", hint=f"those are {known}"))

    @property
    def of_any_kind(self) -> Scope:
        """The same with all kinds."""
        return self if self.kinds is None else replace(self, kinds=None)


@explained
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
    return replace(ceiling, attributes=ceiling.attributes + added)


def _is_pair(pair: object) -> bool:
    return isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(t, str) for t in pair)


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
