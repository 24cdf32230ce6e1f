"""The column `documents` of a version: of each part its number of terms and its text's hash.

And the sums that prove what is derived from an engram's bytes: the CRC-32 of documents, parts and
terms as they were stored, each in eight digits, one behind another. "" where a release of before
wrote the row.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

HASH_BYTES = 16
DOCUMENT = np.dtype([("length", "<i4"), ("hash", "u1", (HASH_BYTES,))])
NO_HASH = bytes(HASH_BYTES)  # of a part that is never embedded

_COLUMNS = ("documents", "parts", "terms")
_DIGITS = 8


def pack_documents(lengths: Sequence[int], hashes: Sequence[bytes]) -> bytes:
    """The column `documents`: of each part the number of terms and the embedded text's hash."""
    packed = np.zeros(len(lengths), dtype=DOCUMENT)
    packed["length"] = lengths
    if lengths:
        packed["hash"] = np.frombuffer(b"".join(hashes), np.uint8).reshape(-1, HASH_BYTES)
    return packed.tobytes()


def unpack_documents(packed: bytes) -> tuple[NDArray[np.int32], list[bytes]]:
    """(lengths int32[n], hashes) of the column `documents`."""
    rows = np.frombuffer(packed, dtype=DOCUMENT)
    joined = rows["hash"].tobytes()
    return (
        rows["length"].astype(np.int32),
        [joined[at : at + HASH_BYTES] for at in range(0, len(joined), HASH_BYTES)],
    )


def sums_of(documents: bytes, parts: str, terms: str) -> str:
    """The sums of three columns."""
    columns = (documents, parts.encode(), terms.encode())
    return "".join(f"{zlib.crc32(column):0{_DIGITS}x}" for column in columns)


def proved(sums: str, column: str, stored: bytes) -> bool:
    """Is a column what was stored? Without sums it is trusted."""
    if not sums:
        return True
    at = _COLUMNS.index(column) * _DIGITS
    return sums[at : at + _DIGITS] == f"{zlib.crc32(stored):0{_DIGITS}x}"


def terms_proved(sums: str, documents: bytes, terms: str | None) -> bool:
    """Are these the terms that were stored? Without sums their number in each part decides."""
    if terms is None or len(documents) % DOCUMENT.itemsize:
        return False
    if sums:
        return proved(sums, "terms", terms.encode())
    lengths: list[int] = unpack_documents(documents)[0].tolist()
    return [len(line.split()) for line in terms.split("\n")] == lengths
