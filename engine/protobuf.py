"""Protocol Buffers' wire format, as far as a model file needs it: a message is a row of fields.

Source: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def fields(message: bytes | memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """(number, value) of each field in order; a value of fixed size comes as its bytes.

    Raises ValueError for what is no message.
    """
    view, at = memoryview(message), 0
    try:
        while at < len(view):
            key, at = _varint(view, at)
            kind = key & 7
            if kind == _VARINT:
                number, at = _varint(view, at)
                yield key >> 3, number
                continue
            if kind == _BYTES:
                size, at = _varint(view, at)
            elif kind in (_FIXED32, _FIXED64):
                size = 4 if kind == _FIXED32 else 8
            else:
                raise ValueError(f"byte {at}: no field begins with {key:#x}")
            if at + size > len(view):
                raise ValueError(f"byte {at}: a field of {size} bytes is cut off")
            yield key >> 3, view[at : at + size]
            at += size
    except IndexError:
        raise ValueError("the message ends inside a number") from None


def field(number: int, value: int | float | str | bytes | memoryview) -> bytes:
    """One field; a float is written with 32 bits, a negative int with 64."""
    if isinstance(value, int):
        return _number(number << 3 | _VARINT) + _number(value & 0xFFFF_FFFF_FFFF_FFFF)
    if isinstance(value, float):
        return _number(number << 3 | _FIXED32) + struct.pack("<f", value)
    held = value.encode() if isinstance(value, str) else value
    return b"".join((opening(number, len(held)), held))


def opening(number: int, size: int) -> bytes:
    """What stands before the `size` bytes of a field; for those too large to be copied again."""
    return _number(number << 3 | _BYTES) + _number(size)


def _varint(view: memoryview, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = view[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7


def _number(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
