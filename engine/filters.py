"""Filters of a request: parsed once, then judged on entries and their property values.

Repeated or comma-separated values mean any of them. A value that holds commas is also tried whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from math import isfinite

from engine.arguments import explained
from engine.catalogue import WELL_KNOWN, Catalogue, Field, Kind
from engine.conditions import Equals, Range, Test, by_shape
from engine.errors import Invalid, Problem, shown
from engine.ids import UUID
from engine.instants import instant
from engine.model import Entry
from engine.slug import SUFFIX, nfc
from engine.values import number

TIMES = ("created_after", "created_before", "updated_after", "updated_before")
CORE_KEYS = frozenset({"kinds", "kind", "title", "scope_ids", *TIMES})
PROPERTY = "prop."

TRUE = frozenset({"true", "on", "1"})
FALSE = frozenset({"false", "off", "0"})

_SUFFIXES = ("_after", "_before", "_min", "_max")


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions that must all hold. None: no condition. Times are nanoseconds since the epoch.

    `kinds` are in the catalogue's spelling; `scope_ids` are ids or `kind/slug` in lower case of the
    kind; `given` are the pairs as they came, to be echoed.
    """

    kinds: frozenset[str] | None = None
    titles: frozenset[str] | None = None
    created_after: int | None = None
    created_before: int | None = None
    updated_after: int | None = None
    updated_before: int | None = None
    tests: tuple[Test, ...] = ()
    scope_ids: frozenset[str] | None = None
    given: tuple[tuple[str, str], ...] = ()

    @property
    def empty(self) -> bool:
        """True if everything matches."""
        return self == Filters(given=self.given)

    def matches_entry(self, entry: Entry) -> bool:
        """Every condition but those on properties."""
        return (
            (self.kinds is None or entry.kind in self.kinds)
            and (self.titles is None or nfc(entry.title) in self.titles)
            and (self.created_after is None or entry.created_ns >= self.created_after)
            and (self.created_before is None or entry.created_ns < self.created_before)
            and (self.updated_after is None or entry.updated_ns >= self.updated_after)
            and (self.updated_before is None or entry.updated_ns < self.updated_before)
            and (
                self.scope_ids is None
                or entry.id in self.scope_ids
                or f"{entry.kind.lower()}/{entry.slug}" in self.scope_ids
            )
        )


def is_filter_key(key: str) -> bool:
    """Whether a request key is a filter."""
    return key in CORE_KEYS or key.startswith(PROPERTY)


@explained
def parse_filters(pairs: Sequence[tuple[str, str]], catalogue: Catalogue) -> Filters:
    """Decoded (key, value) pairs as filters.

    Raises Invalid with a problem a key: unknown keys, kinds, properties that no given kind
    declares, values that are not of the declared type.
    """
    values: dict[str, list[str]] = {}
    for key, value in pairs:
        values.setdefault(key, []).append(value)
    parsing = _Parsing(catalogue)
    known = {key: given for key, given in values.items() if key in CORE_KEYS}
    kinds = parsing.kinds(known)
    times = {key: parsing.time(key, known[key]) for key in TIMES if key in known}
    titles = parsing.titles(known["title"]) if "title" in known else None
    ids = parsing.ids(known["scope_ids"]) if "scope_ids" in known else None
    tests = []
    for key, given in values.items():
        if key.startswith(PROPERTY):
            test = parsing.test(key, given, kinds)
            if test is not None:
                tests.append(test)
        elif key not in CORE_KEYS:
            parsing.say(
                key, f"`{key}` is not a filter", "filters are prop.NAME, " + _listed(CORE_KEYS)
            )
    if parsing.problems:
        raise Invalid(*parsing.problems)
    return Filters(
        kinds,
        titles,
        times.get("created_after"),
        times.get("created_before"),
        times.get("updated_after"),
        times.get("updated_before"),
        tuple(tests),
        ids,
        tuple(pairs),
    )


def equal_to(name: str, value: object, catalogue: Catalogue) -> Equals:
    """The condition that a property has a value (or one of a list), as a host gives it.

    A text counts as it stands; numbers, booleans, dates and times as `prop.NAME=…` writes them.
    Raises Invalid for a property that no kind declares (open mode takes any), and for values that
    fit no declaration of it.
    """
    parsing = _Parsing(catalogue)
    fields = parsing.fields(name, None)
    if not fields and not catalogue.open:
        parsing.say(name, f"no kind declares `{shown(name)}`", parsing.declared(None))
    given = list(value) if isinstance(value, list | tuple) else [value]
    values = [text for one in given if (text := _written(one)) is not None]
    if len(values) < len(given) or not given:
        what = "null is a missing value, which nothing equals" if value is None else "no value"
        hint = "ask for a text, a number, a boolean, a time, or a list of these"
        parsing.say(name, f"{shown(name)}: {what}", hint)
    if parsing.problems:
        raise Invalid(*parsing.problems)
    test = parsing.fitting(name, name, values, (), fields) if fields else by_shape(name, values)
    if parsing.problems:
        raise Invalid(*parsing.problems)
    return test


def _written(value: object) -> str | None:
    """A value as text; None for what no property can equal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value) if isfinite(value) else None
    if isinstance(value, date):  # and datetime
        return value.isoformat()
    return str(value) if isinstance(value, str | int | Decimal) else None


def _any_of(given: Iterable[str]) -> list[str]:
    """The values asked for: each as a whole, and its parts between commas."""
    found: dict[str, None] = {}
    for value in given:
        found[value.strip()] = None
        found.update(dict.fromkeys(split([value])))
    return [value for value in found if value]


def split(given: Iterable[str]) -> list[str]:
    """Repeated and comma-separated values, each once, blanks around them and empty ones dropped."""
    parts = (part.strip() for value in given for part in value.split(","))
    return list(dict.fromkeys(part for part in parts if part))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


class _Parsing:
    """Collects problems while pairs are read."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self.problems: list[Problem] = []

    def say(self, key: str, message: str, hint: str) -> None:
        self.problems.append(Problem(message, key=shown(key), hint=hint))

    def kinds(self, known: Mapping[str, list[str]]) -> frozenset[str] | None:
        asked: frozenset[str] | None = None
        for key in ("kinds", "kind"):
            if key not in known:
                continue
            names = split(known[key])
            if not names:
                self.say(key, f"{key} is empty", "name kinds or groups, or leave it out")
            found, unknown = self.catalogue.expand(names)
            if not self.catalogue.grows:
                valid = _listed({**self.catalogue.kinds, **self.catalogue.groups})
                for name in unknown:
                    message = f"{key}: `{shown(name)}` is no kind or group"
                    self.say(key, message, f"the kinds are {valid}")
            these = frozenset({*found, *unknown})
            asked = these if asked is None else asked & these
        return asked

    def time(self, key: str, given: list[str]) -> int | None:
        at = instant(given[0])
        if at is None or len(given) > 1:
            what = (
                "is given twice" if len(given) > 1 else f"{shown(given[0])!r} is not a date or time"
            )
            self.say(key, f"{key}: {what}", "write one such as 2026-04-05 or 2026-04-05T10:00:00Z")
        return at

    def titles(self, given: list[str]) -> frozenset[str]:
        found = frozenset(map(nfc, _any_of(given)))
        if not found:
            self.say("title", "title is empty", "write a title, or leave it out")
        return found

    def ids(self, given: list[str]) -> frozenset[str]:
        found = set()
        refs = split(given)
        if not refs:
            self.say("scope_ids", "scope_ids is empty", "write ids, or leave it out")
        for ref in refs:
            kind, slash, slug = ref.strip("/").partition("/")
            if UUID.fullmatch(ref):
                found.add(ref.lower())
            elif slash and slug:
                found.add(f"{kind.lower()}/{nfc(slug.removesuffix(SUFFIX))}")
            else:
                self.say(
                    "scope_ids",
                    f"scope_ids: `{shown(ref)}` names no engram",
                    "write an id or kind/slug",
                )
        return frozenset(found)

    def test(self, key: str, given: list[str], kinds: frozenset[str] | None) -> Test | None:
        name = key.removeprefix(PROPERTY)
        fields = self.fields(name, kinds)
        if fields:
            return self.equals(key, name, given, fields)
        for suffix in _SUFFIXES:
            base = name.removesuffix(suffix)
            if base in (name, ""):
                continue
            fields = self.fields(base, kinds)
            if fields or self.catalogue.open:
                return self.range(key, base, suffix, given, fields)
        if self.catalogue.open and name:
            return self.equals(key, name, given, [])
        where = f" by {_listed(kinds)}" if kinds else ""
        said = f"{key}={shown(','.join(given))}: `{shown(name)}` is not declared{where}"
        self.say(key, said, self.declared(kinds))
        return None

    def declared(self, kinds: frozenset[str] | None) -> str:
        """The properties that can be asked for."""
        names = {name for kind in self.searched(kinds) for name in kind.fields}
        return "declared are " + _listed({*names, *WELL_KNOWN})

    def searched(self, kinds: frozenset[str] | None) -> list[Kind]:
        every = self.catalogue.kinds.values()
        return [kind for kind in every if kinds is None or kind.name in kinds]

    def fields(self, name: str, kinds: frozenset[str] | None) -> list[Field]:
        """The declarations of a property in the kinds that are searched."""
        if name in WELL_KNOWN:
            return [WELL_KNOWN[name]]
        return [kind.fields[name] for kind in self.searched(kinds) if name in kind.fields]

    def equals(self, key: str, name: str, given: list[str], fields: list[Field]) -> Equals | None:
        values = _any_of(given)
        if not values:
            self.say(key, f"{key} is empty", "write a value, or leave it out")
            return None
        if not fields:
            return by_shape(name, values)
        several = len(split(given)) > 1
        if several and not any("in" in declared.operators for declared in fields):
            self.say(key, f"{key} takes one value", f"write {key}=VALUE once")
            return None
        wholes = {value.strip() for value in given if "," in value}
        return self.fitting(key, name, values, wholes, fields)

    def fitting(
        self,
        key: str,
        name: str,
        values: Sequence[str],
        excused: Collection[str],
        fields: Sequence[Field],
    ) -> Equals:
        """Any of the values, each as whatever a declaration takes it for.

        One that fits none is told, but for those excused.
        """
        texts: set[str] = set()
        numbers: set[Decimal] = set()
        instants: set[int] = set()
        flags: set[bool] = set()
        for value in values:
            fit = False
            for declared in fields:
                if declared.enum and declared.type == "string" and value not in declared.enum:
                    continue
                if declared.type == "string":
                    texts.add(nfc(value))
                    fit = True
                elif declared.type == "number" and (exact := number(value)) is not None:
                    numbers.add(exact)
                    fit = True
                elif declared.type == "datetime" and (at := instant(value)) is not None:
                    instants.add(at)
                    fit = True
                elif declared.type == "boolean" and value.lower() in TRUE | FALSE:
                    flags.add(value.lower() in TRUE)
                    fit = True
            if not fit and value not in excused:
                self.say(key, f"{key}: {shown(value)!r} does not fit", _valid(fields))
        return Equals(
            name, frozenset(texts), frozenset(numbers), frozenset(instants), frozenset(flags)
        )

    def range(
        self, key: str, name: str, suffix: str, given: list[str], fields: list[Field]
    ) -> Range | None:
        kind_of = "datetime" if suffix in ("_after", "_before") else "number"
        literal = None if fields else by_shape(name + suffix, _any_of(given))
        if fields and not any(declared.type == kind_of for declared in fields):
            self.say(key, f"{key}: `{name}` is not a {kind_of}", _range_hint(name, fields))
            return None
        at, exact = instant(given[0]), number(given[0].strip())
        found = at if kind_of == "datetime" else exact
        if len(given) > 1 or found is None:
            what = "is given twice" if len(given) > 1 else f"{shown(given[0])!r} is not a {kind_of}"
            example = "2026-04-05" if kind_of == "datetime" else "12.5"
            self.say(key, f"{key}: {what}", f"write one such as {key}={example}")
            return None
        return Range(
            name,
            low=exact if suffix == "_min" else None,
            high=exact if suffix == "_max" else None,
            since=at if suffix == "_after" else None,
            before=at if suffix == "_before" else None,
            literal=literal,
        )


def _valid(fields: Iterable[Field]) -> str:
    examples = {
        "number": "a number",
        "datetime": "a date or time such as 2026-04-05",
        "boolean": "true or false",
        "string": "a text",
    }
    return "write " + " or ".join(
        dict.fromkeys(
            "one of " + ", ".join(map(str, declared.enum))
            if declared.enum
            else examples[declared.type]
            for declared in fields
        )
    )


def _range_hint(name: str, fields: Iterable[Field]) -> str:
    for declared in fields:
        if declared.type == "datetime":
            return f"use {PROPERTY}{name}_after and _before"
        if declared.type == "number":
            return f"use {PROPERTY}{name}_min and _max"
    return f"use {PROPERTY}{name}=VALUE"
