"""The directory names of property values in `.views`. Pure; two values never share a name.

What a file name cannot hold, or would hide, is percent-encoded, so that `unquote` gives the value
back. The empty text is `%`. A value that is too long keeps its beginning and ends in `%~` and 32
digits of its SHA-256.
"""

from __future__ import annotations

import hashlib
from unicodedata import category

from engine.model import PropertyValue
from engine.slug import MAX_NAME_BYTES, nfc
from engine.values import number

_DIGITS = 32


def value_text(value: PropertyValue, of_number: bool = False) -> str:
    """A value as one text, equal where the values are: a number by value, a text in NFC."""
    if isinstance(value, bool):
        return "true" if value else "false"
    exact = number(value) if of_number else None
    return nfc(str(value)) if exact is None else f"{exact.normalize() + 0:f}"


def value_name(text: str) -> str:
    """The name of the directory of a value."""
    escaped = [_escaped(character) for character in text]
    if text.startswith("."):
        escaped[0] = "%2E"
    name = "".join(escaped) or "%"
    if len(name.encode()) <= MAX_NAME_BYTES:
        return name
    end = f"%~{hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]}"
    room = MAX_NAME_BYTES - len(end)
    kept = 0
    for piece in escaped:
        room -= len(piece.encode())
        if room < 0:
            break
        kept += 1
    return "".join(escaped[:kept]) + end


def _escaped(character: str) -> str:
    if character in "/%" or category(character) == "Cc":
        return "".join(f"%{byte:02X}" for byte in character.encode())
    return character
