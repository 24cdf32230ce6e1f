"""Values as YAML text that YAML 1.2 and 1.1 readers understand alike (but for dates).

Strings are plain where no reader could take them for something else; ISO dates stay plain too, as
editors expect, and are strings to the core schema.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import date

from engine.ids import UUID
from engine.yaml_nodes import core_value

_SAFE = re.compile(
    r"[^\W_](?:[^\x00-\x1f\x7f-\xa0\u2028\u2029\ufeff:#,\[\]{}\"'`]|:(?=[^\s,\]}]))*\Z"
)
_WORD = re.compile(r"(?:y|n|yes|no|on|off|true|false|null|~|\.inf|\.nan)\Z", re.IGNORECASE)
_NUMBER_LIKE = re.compile(r"[-+.0-9][-+.0-9a-fA-FxoeE_:,]*\Z")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[Tt][0-9:.]+(?:Z|[-+][0-9]{2}:?[0-9]{2})?)?\Z")
_UNSAFE_IN_QUOTES = re.compile("[\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]")


class Verbatim(str):
    """A text that is written without quotes because it is a number as somebody wrote it."""

    __slots__ = ()


def verbatim(value: object) -> object:
    """Written numbers marked to get no quotes, in a list too; anything else as it is."""
    if isinstance(value, list):
        return [verbatim(item) for item in value]
    if isinstance(value, str):
        core = core_value(value)
        if isinstance(core, int | float) and not isinstance(core, bool):
            return Verbatim(value)
    return value


def double_quoted(text: str) -> str:
    """`text` in double quotes, on one line."""
    escaped = json.dumps(text, ensure_ascii=False)
    return _UNSAFE_IN_QUOTES.sub(lambda found: f"\\u{ord(found.group()):04x}", escaped)


def single_quoted(text: str) -> str:
    """`text` in single quotes, or in double ones where those cannot hold it."""
    if not text.isprintable():
        return double_quoted(text)
    return "'" + text.replace("'", "''") + "'"


def scalar_text(value: object) -> str:
    """A string, number or boolean as a YAML scalar on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Verbatim):
        return str(value)
    if isinstance(value, str):
        return value if _is_plain(value) else double_quoted(value)
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else f"{'-' if value < 0 else ''}.inf"
    if isinstance(value, date):  # and datetime
        return value.isoformat()
    return str(value) if isinstance(value, int | float) else double_quoted(str(value))


def mapping_text(values: Mapping[str, object], indent: int = 0) -> str:
    """Lines `key: value`, each ending in a line feed; what is inside is indented by two blanks."""
    pad = " " * indent
    lines = []
    for key, value in values.items():
        name = pad + scalar_text(str(key)) + ":"
        if isinstance(value, Mapping) and value:
            lines.append(name + "\n" + mapping_text(value, indent + 2))
        elif isinstance(value, list | tuple) and value:
            items = "".join(f"{pad}  - {_flow(item)}\n" for item in value)
            lines.append(name + "\n" + items)
        else:
            lines.append(f"{name} {_flow(value)}\n")
    return "".join(lines)


def _flow(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        pairs = (f"{scalar_text(str(key))}: {_flow(item)}" for key, item in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_flow(item) for item in value) + "]"
    return scalar_text(value)


def _is_plain(text: str) -> bool:
    if _DATE.match(text) or UUID.fullmatch(text):
        return True
    return (
        bool(_SAFE.match(text))
        and text == text.strip()
        and not _WORD.match(text)
        and not _NUMBER_LIKE.match(text)
    )
