"""The nodes of a YAML text, and what the YAML 1.2 core schema makes of a plain scalar."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
_INT = re.compile(r"[-+]?[0-9]+\Z|0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_SPECIAL = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z")
_NUMBER_START = frozenset("-+.0123456789")
_LONGEST_NUMBER = 400  # characters; a longer run of digits is text


def core_value(text: str) -> str | int | float | bool | None:
    """The value of a plain scalar by the YAML 1.2 core schema."""
    if text in _NULLS:
        return None
    if text[0] in _NUMBER_START:
        if len(text) > _LONGEST_NUMBER:
            return text
        if _INT.match(text):
            if text[:2] in ("0x", "0o"):
                return int(text[2:], 16 if text[1] == "x" else 8)
            return int(text)
        if _FLOAT.match(text):
            return float(text)
        if _SPECIAL.match(text):
            return float(text.replace(".", "", 1))
        return text
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    return text


@dataclass(frozen=True, slots=True)
class Written:
    """A scalar as written: `value` is what the core schema makes of `text`.

    `plain` is false for quoted and block scalars, whose value is always their text. `line` counts
    from 1 in the file.
    """

    text: str
    value: str | int | float | bool | None
    plain: bool
    line: int


class Block(dict[str, "Node"]):
    """A mapping, with the line of each key."""

    __slots__ = ("lines",)

    def __init__(self) -> None:
        super().__init__()
        self.lines: dict[str, int] = {}


Node = Written | tuple["Node", ...] | Block
