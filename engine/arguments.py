"""What a host gave that is of another type than a call takes, told in a sentence.

    @explained
    def search(scope: Scope, question: str) -> Page: ...

Arguments are looked at only after a call has failed with an error of Python's own: one that goes
well pays for one more frame. Annotations are read as they are written, so nothing is imported for
them; what is neither a plain type, a container nor one of the `_VALUES` is taken as it is.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import ParamSpec, TypeVar

from engine.errors import Invalid, Problem

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)

_PLAIN: Mapping[str, type | tuple[type, ...]] = {
    "str": str,
    "bytes": bytes,
    "bool": bool,
    "int": int,
    "float": (int, float),
    "Path": Path,
    "None": type(None),
}
_CONTAINERS: Mapping[str, type] = {
    "Iterable": Iterable,
    "Collection": Collection,
    "Sequence": Sequence,
    "Mapping": Mapping,
    "tuple": Sequence,  # a list does as well
    "frozenset": Collection,
}
_VALUES = frozenset((
    "Scope", "Draft", "Entry", "EdgeMeta", "HostPart", "Filters", "Config", "Catalogue",
    "RecallRequest", "BriefingRequest", "MatchRequest", "Expansion", "Recipe", "Rejected",
))  # fmt: skip
_ALIASES = {"Namespace": "tuple[tuple[str, str], ...]"}
_ELEMENTS = 1000  # of a container that are looked at


def explained(function: Callable[P, R]) -> Callable[P, R]:
    """The same function; where it fails for an argument of another type it raises Invalid."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except (TypeError, AttributeError, ValueError) as error:
            problems = tuple(_wrong_arguments(function, args, kwargs))
            if not problems:
                raise
            raise Invalid(*problems) from error

    return call


def explaining(made: C) -> C:
    """The same class, its public methods `explained`."""
    for name, member in list(vars(made).items()):
        if name.startswith("_"):
            continue
        if inspect.isfunction(member):
            setattr(made, name, explained(member))
        elif isinstance(member, classmethod):
            setattr(made, name, classmethod(explained(member.__func__)))
    return made


def _wrong_arguments(
    function: Callable[..., object], args: Iterable[object], kwargs: Mapping[str, object]
) -> Iterator[Problem]:
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return  # arguments too many or too few, which Python says
    for name, value in bound.arguments.items():
        annotation = bound.signature.parameters[name].annotation
        if isinstance(annotation, str):
            yield from _wrong(name, value, annotation)


def _wrong(path: str, value: object, annotation: str) -> list[Problem]:
    """What is wrong with a value, or with what it holds."""
    annotation = _ALIASES.get(annotation, annotation)
    found = [_against(path, value, option) for option in _split(annotation, "|")]
    if not all(found):
        return []
    inside = next((each for each in found if each[0].key != path), None)
    if inside is not None:
        return inside
    said = f"{path} is of the type {type(value).__name__}"
    return [Problem(said, key=path, hint=f"it takes {annotation}")]


def _against(path: str, value: object, option: str) -> list[Problem]:
    """The same for one of the types that are allowed; a problem at `path` says that it is not."""
    base, _, inner = option.partition("[")
    other = [Problem("", key=path)]
    if base in _PLAIN:
        return [] if isinstance(value, _PLAIN[base]) else other
    if base in _CONTAINERS:
        if isinstance(value, str | bytes) or not isinstance(value, _CONTAINERS[base]):
            return other
        return _elements(path, value, base, inner.removesuffix("]"))
    if base in _VALUES:
        if base not in {cls.__name__ for cls in type(value).__mro__}:
            return other
        return _fields(path, value)
    return []


def _elements(path: str, value: object, base: str, inner: str) -> list[Problem]:
    of = _split(inner, ",")
    if base == "Mapping" or not isinstance(value, Collection):  # an iterator is read once
        return []
    if base == "tuple" and of[-1:] != ["..."]:
        if len(value) != len(of):
            return [Problem("", key=path)]
        pairs = zip(value, of, strict=True)
    else:
        pairs = ((each, of[0]) for each in islice(value, _ELEMENTS))  # type: ignore[assignment]
    wrong = (_wrong(f"{path}[{at}]", each, type) for at, (each, type) in enumerate(pairs))
    return next((problems for problems in wrong if problems), [])


def _fields(path: str, value: object) -> list[Problem]:
    if not dataclasses.is_dataclass(value):
        return []
    return [
        problem
        for field in dataclasses.fields(value)
        for problem in _wrong(f"{path}.{field.name}", getattr(value, field.name), str(field.type))
    ]


def _split(text: str, separator: str) -> list[str]:
    """The pieces between separators that stand in no brackets."""
    pieces, depth = [""], 0
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if letter == separator and not depth:
            pieces.append("")
        else:
            pieces[-1] += letter
    return [piece.strip() for piece in pieces if piece.strip()]
