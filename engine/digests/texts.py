"""What the summariser is given of an engram: its passages, with the vectors that they have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from engine.digests.extractive import excerpt
from engine.digests.sentences import shortened
from engine.matrix import Vectors
from engine.model import Entry
from engine.ports import Text
from engine.state import State
from engine.store import versions
from engine.store.documents import unpack_documents
from engine.store.versions import Version

_COUNTED = 4_096  # parts that the vector of a group is the mean of, at most


def texts_of(
    state: State, entries: Sequence[Entry], weights: NDArray[np.float64]
) -> dict[int, Text]:
    """By engram number, as the engrams were when these were their entries.

    One that cannot be read, or whose state of then is no longer kept, is missing.
    """
    sources = state.sources.written_of(entries)
    lost: dict[int, str] = {}
    with state.store.cursor() as cursor:
        rows = versions.rows(cursor, [entry.seq for entry in entries], lost=lost)
    found = {}
    for entry in entries:
        row, source = rows.get(entry.seq), sources.get(entry.no)
        if row is not None and source is not None:
            found[entry.no] = _text(state, entry, row, source, float(weights[entry.no]))
    return found


def _text(state: State, entry: Entry, row: Version, source: bytes, weight: float) -> Text:
    """Its summary, then the parts of its body and its host's; where it has neither, its values."""
    said = [(row.summary, 0)] if row.summary else []
    for position, part in enumerate(row.parts or ()):
        if position > 0:
            cut = source[part.span.byte_start : part.span.byte_end]
            text = part.text if part.text is not None else cut.decode("utf-8", "replace")
            said.append((text.replace("\r\n", "\n"), position))
    if not any(text.strip() for text, _ in said):
        scalars = {k: v for k, v in row.properties.items() if isinstance(v, str | int | float)}
        said = [("\n".join(f"{key}: {value}" for key, value in scalars.items()), 0)]
    said = [(text, position) for text, position in said if text.strip()]
    whole = Text(
        entry.no,
        f"{entry.kind}/{entry.slug}",
        entry.title,
        tuple(text for text, _ in said),
        _vectors(state, row, [position for _, position in said]),
        weight,
    )
    return within(whole, state.config.digest_characters, foremost=int(bool(row.summary.strip())))


def within(text: Text, characters: int, *, foremost: int = 0) -> Text:
    """The text, or so many characters of one that has more: the passages that stand `foremost`,
    then the most central sentences of all others; its beginning, if it has none."""
    if sum(map(len, text.passages)) <= characters:
        return text
    told = _beginning(text.passages[:foremost], characters)
    room = characters - sum(len(passage) for _, passage in told)
    rest = _some(text, range(foremost, len(text.passages)))
    central = excerpt(rest, room) or _beginning(rest.passages, room)
    told += [(foremost + at, passage) for at, passage in central]
    some = _some(text, [at for at, _ in told])
    return replace(some, passages=tuple(passage for _, passage in told))


def _some(text: Text, numbers: Sequence[int]) -> Text:
    """The same with these passages alone."""
    vectors = None if text.vectors is None else text.vectors[list(numbers)]
    return replace(text, passages=tuple(text.passages[at] for at in numbers), vectors=vectors)


def _beginning(passages: Sequence[str], room: int) -> list[tuple[int, str]]:
    """(number, passage) of the first that have room. One that would end in a piece of a sentence
    is left out, unless it is all there is."""
    kept: list[tuple[int, str]] = []
    for at, passage in enumerate(passages):
        if room > 0:
            told = shortened(passage, room) or ("" if kept else passage[:room])
            if told:
                kept.append((at, told))
            room -= len(passage)
    return kept


def _vectors(state: State, row: Version, positions: Sequence[int]) -> Vectors | None:
    """float32[positions, dimension]; a row of zeroes where a part has none."""
    matrix = state.index.matrix
    if state.embed == "off" or not matrix.dimension:
        return None
    _, hashes = unpack_documents(row.documents)
    view = matrix.view()
    found: Vectors = np.zeros((len(positions), matrix.dimension), np.float32)
    for at, position in enumerate(positions):
        at_row = matrix.row_of.get(hashes[position], -1) if position < len(hashes) else -1
        if 0 <= at_row < len(view):
            found[at] = view[np.array([at_row])][0]
    return found


def middle(state: State, numbers: NDArray[np.int64]) -> Vectors | None:
    """float32[1, dimension]: the normalised mean of the vectors of some engrams' parts; None: they
    have none. Of very many parts some count, spread over them."""
    snapshot = state.index.snapshot()
    if state.embed == "off" or not len(snapshot.vectors) or not len(numbers):
        return None
    wanted = np.zeros(int(numbers.max()) + 1, np.bool_)
    wanted[numbers] = True
    rows = snapshot.doc_vector[snapshot.visible(wanted)]
    rows = rows[(rows >= 0) & (rows < len(snapshot.vectors))]
    if not len(rows):
        return None
    some = rows[:: -(-len(rows) // _COUNTED)]
    found: Vectors = snapshot.vectors[some].mean(axis=0, keepdims=True)
    return found / max(float(np.linalg.norm(found)), 1e-9)
