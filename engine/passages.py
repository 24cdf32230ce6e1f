"""Text of an engram's parts and body as evidence, in the coordinates of the file as it is shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from engine.document import with_id
from engine.errors import Invalid
from engine.model import NOWHERE, Entry, Passage, Span
from engine.reader import Row
from engine.text import fold

_FENCE = re.compile(rb"(?:\xef\xbb\xbf)?---\r?\n")
_PLAIN = re.compile(rb"---(\r?\n)(?=[A-Za-z_][A-Za-z_0-9]*: )")  # and a first key
_ID_LINE = re.compile(rb"id: [0-9a-f-]{36}\r?\n")
_WORD_BORDER = re.compile(r"\s+\S*\Z")
_PIECE = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Shift:
    """How far the bytes (`added`) and lines behind the front matter move when the id line is shown.

    `head` is all that stands before the body as it is shown; None: as written.
    """

    added: int = 0
    lines: int = 0
    head: bytes | None = None


def shift(entry: Entry, row: Row, *, shown: bool) -> Shift:
    """The shift of an engram's file. `shown` False: its bytes are shown as they were written."""
    source = row.source or b""
    if not shown or not source or not row.parts:
        return Shift()
    body = row.parts[0].span.byte_end
    plain = _PLAIN.match(source)
    if plain is not None:  # most are, and need no parsing
        line = f"id: {entry.id}".encode() + plain[1]
        if entry.shown_size - entry.size == len(line):
            return Shift(len(line), 1, source[: plain.end()] + line + source[plain.end() : body])
    line_end = source.find(b"\n", body) + 1 or len(source)  # it tells how a made block ends lines
    return _shift(source[:line_end], body, entry.id)


@lru_cache(maxsize=256)
def _shift(beginning: bytes, body: int, id: str) -> Shift:
    try:
        whole = with_id(beginning, id)
    except Invalid:  # accepted by other limits
        return Shift()
    added = len(whole) - len(beginning)
    head = whole[: body + added]
    return Shift(added, head.count(b"\n") - beginning.count(b"\n", 0, body), head)


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

    The text is that of the span in the file as it is shown, with LF for CRLF. Of a head it is what
    the front matter says, without fences and without the id line that stands first. A host's part
    stands nowhere in the file, whatever span its host gave it.
    """
    held = row.parts or ()
    found = []
    for position, score in sorted(parts):
        if position >= len(held):
            continue
        part = held[position]
        span = NOWHERE if part.text is not None else _place(row, position, moved)
        text = part.text if part.text is not None else _text(written(row, position, span, moved))
        if text.strip():
            found.append(Passage(text, part.heading_path, span, score, position))
    return tuple(found)


def written(row: Row, position: int, span: Span, moved: Shift) -> bytes:
    """The bytes of a span within a part, in the file as it is shown."""
    source = row.source or b""
    if position == 0:
        head = source if moved.head is None else moved.head
        return head[span.byte_start : span.byte_end]
    return source[span.byte_start - moved.added : span.byte_end - moved.added]


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


def _place(row: Row, position: int, moved: Shift) -> Span:
    """Where a part that is cut from the source stands in the file as it is shown."""
    span = (row.parts or ())[position].span
    if position == 0:
        head = (row.source or b"")[: span.byte_end] if moved.head is None else moved.head
        return _inside_fences(head)
    return Span(
        span.start_line + moved.lines,
        span.end_line + moved.lines,
        span.byte_start + moved.added,
        span.byte_end + moved.added,
    )


def _inside_fences(head: bytes) -> Span:
    """What a front matter says, of all that stands before a body; empty where there is none."""
    fence = _FENCE.match(head)
    if fence is None:
        return Span(1, 1, 0, 0)
    id_line = _ID_LINE.match(head, fence.end())
    start = id_line.end() if id_line is not None else fence.end()
    end = max(head.rfind(b"\n---") + 1, start)
    first = 1 + head.count(b"\n", 0, start)
    return Span(first, max(head.count(b"\n", 0, end), first), start, end)


def _text(source: bytes) -> str:
    return source.decode("utf-8", "replace").replace("\r\n", "\n")
