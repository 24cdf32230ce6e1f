"""Text of an engram's parts and body as evidence, in the coordinates of the file as it is shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from engine.model import NOWHERE, Entry, Passage, Span
from engine.reader import PlacedPart, Row
from engine.text import fold

_FENCE = re.compile(rb"(?:\xef\xbb\xbf)?---\r?\n")
_FLOW = re.compile(rb"(?:\xef\xbb\xbf)?---\r?\n(?:[ \t]*(?:#[^\n]*)?\r?\n)*[ \t]*\{")
_WORD_BORDER = re.compile(r"\s+\S*\Z")
_PIECE = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Shift:
    """How far the bytes and lines behind the front matter move when the id line is shown."""

    bytes: int = 0
    lines: int = 0


def shift(entry: Entry, source: bytes, *, shown: bool) -> Shift:
    """The shift of an engram's file. `shown` False: its bytes are shown as they were written."""
    added = entry.shown_size - entry.size
    if not shown or added <= 0:
        return Shift()
    if not _FENCE.match(source):
        return Shift(added, 3)  # a block was made
    return Shift(added, 0 if _FLOW.match(source) else 1)


def body_of(row: Row) -> str:
    """The body with LF line ends: the parts that are cut from it cover it without a gap."""
    cut = [part for part in (row.parts or ())[1:] if part.text is None]
    if not cut or row.source is None:
        return ""
    return _text(row.source[cut[0].span.byte_start : cut[-1].span.byte_end])


def passages_of(
    row: Row, parts: Iterable[tuple[int, float]], moved: Shift = Shift()
) -> tuple[Passage, ...]:
    """Some parts, given as (position, score), in document order; blank ones left out.

    A host's part stands nowhere in the file, whatever span its host gave it.
    """
    held = row.parts or ()
    found = []
    for position, score in sorted(parts):
        if position >= len(held):
            continue
        part = held[position]
        text = part_text(row, part)
        if text.strip():
            span = NOWHERE if part.text is not None else _moved(part.span, moved, position)
            found.append(Passage(text, part.heading_path, span, score, position))
    return tuple(found)


def part_text(row: Row, part: PlacedPart) -> str:
    """The text of a part, LF line ends, as it stands in the source."""
    if part.text is not None:
        return part.text
    return _text((row.source or b"")[part.span.byte_start : part.span.byte_end])


def snippet(text: str, words: Sequence[str], most: int) -> str:
    """At most `most` characters of a text, around the first word that one of `words` begins.

    `words` are folded, and may be stems. Where they begin none, the first that holds one counts. An
    ellipsis stands where something was cut, and is not counted.
    """
    flat = " ".join(text.split())
    if len(flat) <= most:
        return flat
    known = tuple(word for word in words if word)
    first = _first(flat, known) if known else 0
    start = 0 if first < most * 2 // 3 else first - most // 4
    if start:
        border = flat.rfind(" ", 0, start + 1)
        start = border + 1 if start - border < most // 4 else start
    piece = flat[start : start + most]
    end = start + len(piece)
    if end < len(flat) and not flat[end].isspace():
        last = _WORD_BORDER.search(piece)
        if last is not None and last.start() > most // 2:
            piece = piece[: last.start()]
    before = "…" if start else ""
    after = "…" if start + len(piece) < len(flat) else ""
    return f"{before}{piece.rstrip()}{after}"


def _first(flat: str, words: tuple[str, ...]) -> int:
    """Where the first word begins that has one of `words` at its beginning, or else anywhere; 0."""
    for pattern in _patterns(words):
        if flat.isascii():
            found = pattern.search(flat.lower())
            if found is not None:
                return found.start()
            continue
        for piece in _PIECE.finditer(flat):  # folding changes lengths, so one word at a time
            found = pattern.search(fold(piece[0]))
            if found is not None:
                return piece.start() + min(found.start(), len(piece[0]) - 1)
    return 0


@lru_cache(maxsize=256)
def _patterns(words: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """(at the beginning of a word, anywhere)."""
    any_of = "|".join(map(re.escape, words))
    return re.compile(rf"(?<![^\W_])(?:{any_of})"), re.compile(any_of)


def _moved(span: Span, moved: Shift, position: int) -> Span:
    if not moved.bytes:
        return span
    if position == 0:  # the head grows by the line
        return Span(
            span.start_line, span.end_line + moved.lines, span.byte_start,
            span.byte_end + moved.bytes,
        )  # fmt: skip
    return Span(
        span.start_line + moved.lines,
        span.end_line + moved.lines,
        span.byte_start + moved.bytes,
        span.byte_end + moved.bytes,
    )


def _text(source: bytes) -> str:
    return source.decode("utf-8", "replace").replace("\r\n", "\n")
