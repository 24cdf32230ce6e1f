"""Stored text as a terminal may be given it: what it would obey is shown as an escape."""

from __future__ import annotations

import json
import re

_ESCAPED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def visible(text: str) -> str:
    """Text without anything a terminal obeys or a reader of lines takes for one: as escapes."""
    if _ESCAPED.search(text) is None:
        return text
    return _ESCAPED.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def one_line(text: str) -> str:
    """The same on one line."""
    return visible(" ".join(text.split()))


def json_text(value: object, indent: int | None = None) -> str:
    """JSON in which only escapes stand for what a terminal obeys; compact unless indented."""
    separators = (",", ":") if indent is None else (",", ": ")
    text = json.dumps(
        value, ensure_ascii=False, separators=separators, allow_nan=False, indent=indent
    )
    if _ESCAPED.search(text) is None:
        return text
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
