"""Cutting a long section: at paragraphs, then sentences, then blanks, then between characters.

Borders are chosen by content: among the borders that would fill a piece at least by half, the best
kind wins, and among equals the one whose following text hashes highest. So after an edit the
borders behind it soon fall where they fell before, and the pieces there stay the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from zlib import crc32

CHARACTERS_PER_TOKEN = 16  # less dense text (blanks, base64) is cut by its length

Span = tuple[int, int]
Count = Callable[[str], int]

_PARAGRAPH, _SENTENCE, _WORD, _CHARACTER = 3, 2, 1, 0  # kinds of borders, the best first
_HASHED = 64  # characters behind a border that its hash is made of
_WORDS_IN_RUN = 8  # words of a run that has no better border inside, on average

_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n)+")
_BLANKS = re.compile(r"(?:[ \t]*\n)*")
_SENTENCE_END = re.compile(
    "[.!?\u2026]+[\"'\u201d\u2019)\\]*_]*\\s+(?=[^a-z\\s])"
    "|[\u3002\uff01\uff1f\uff61][\u300d\u300f\uff09\u201d\u2019]*\\s*"
)
_ROW = re.compile(r"[ \t]*(?:[-*+][ \t]|[0-9]{1,9}[.)][ \t]|\||>)")
_TABLE = re.compile(r"[^\n]*\n {0,3}\|?[ \t]*:?-+:?[ \t]*\|")
_WORDS = re.compile(r"\S+\s*|\s+")


@dataclass(frozen=True, slots=True)
class _Atom:
    """A stretch that is not cut further; `rank` is the kind of the border before it."""

    start: int
    end: int
    rank: int
    weight: int


def split(
    text: str, start: int, end: int, fences: Sequence[Span], limit: int, count: Count
) -> list[Span]:
    """Spans of text[start:end], without gaps, none above `limit` tokens. `fences` are code blocks.

    `count` tells the tokens of a text; it is not asked where the bytes alone are few enough, for no
    tokenizer makes more tokens than bytes.
    """
    whole = text[start:end]
    if (
        len(whole.encode("utf-8", "surrogatepass")) <= limit
        or _weight(whole, limit, count) <= limit
    ):
        return [(start, end)]
    atoms = [
        atom
        for begin, stop, fenced in _blocks(text, start, end, fences)
        for atom in _atoms(text, (begin, stop), fenced, limit, count)
    ]
    return list(_packed(text, atoms, limit))


def _packed(text: str, atoms: Sequence[_Atom], limit: int) -> Iterator[Span]:
    first = 0
    while first < len(atoms):
        total, last = atoms[first].weight, first + 1
        borders: list[tuple[int, int, int]] = []
        while last < len(atoms) and total + atoms[last].weight <= limit:
            if total * 2 >= limit:
                borders.append((atoms[last].rank, _hash(text, atoms[last]), last))
            total += atoms[last].weight
            last += 1
        if last < len(atoms) and borders:
            last = max((*borders, (atoms[last].rank, _hash(text, atoms[last]), last)))[2]
        yield atoms[first].start, atoms[last - 1].end
        first = last


def _hash(text: str, atom: _Atom) -> int:
    return crc32(utf8(text[atom.start : min(atom.end, atom.start + _HASHED)]))


def _weight(text: str, limit: int, count: Count) -> int:
    """Tokens of a text, or more where it is long for its tokens; beyond the limit it may guess."""
    longest = limit * CHARACTERS_PER_TOKEN
    if len(text) > longest:
        return limit + 1
    return max(count(text), -(-len(text) // CHARACTERS_PER_TOKEN))


def _blocks(
    text: str, start: int, end: int, fences: Sequence[Span]
) -> Iterator[tuple[int, int, bool]]:
    """Paragraphs and fenced code with the blank lines behind them: (start, end, is code)."""
    for fence_start, fence_end in [*fences, (end, end)]:
        for gap in _BLANK_LINES.finditer(text, start, fence_start):
            yield start, gap.end(), False
            start = gap.end()
        if start < fence_start:
            yield start, fence_start, False
        if fence_start < end:
            blanks = _BLANKS.match(text, fence_end, end)
            start = blanks.end() if blanks else fence_end
            yield fence_start, start, True


def _atoms(text: str, span: Span, fenced: bool, limit: int, count: Count) -> Iterator[_Atom]:
    """The block itself if it fits, else its rows or sentences, else runs of its words."""
    start, end = span
    weight = _weight(text[start:end], limit, count)
    if weight <= limit:
        yield _Atom(start, end, _PARAGRAPH, weight)
        return
    rank = _PARAGRAPH
    for border, kind in [*_borders(text, start, end, fenced), (end, _PARAGRAPH)]:
        weight = _weight(text[start:border], limit, count)
        if weight <= limit:
            yield _Atom(start, border, rank, weight)
        else:
            for begin, stop, inner in _runs(text, start, border, rank, limit):
                yield _Atom(begin, stop, inner, _weight(text[begin:stop], limit, count))
        start, rank = border, kind


def _borders(text: str, start: int, end: int, fenced: bool) -> Iterator[tuple[int, int]]:
    """Where rows of code, lists, quotes and tables, or sentences, begin inside a block."""
    if not (fenced or _ROW.match(text, start, end) or _TABLE.match(text, start, end)):
        for sentence in _SENTENCE_END.finditer(text, start, end):
            if sentence.end() < end:
                yield sentence.end(), _SENTENCE
        return
    line = text.find("\n", start, end) + 1
    while 0 < line < end:
        good = _ROW.match(text, line, end) or text[line - 2 : line - 1] == "\n"
        yield line, _SENTENCE if good else _WORD
        line = text.find("\n", line, end) + 1


def _runs(text: str, start: int, end: int, rank: int, limit: int) -> Iterator[tuple[int, int, int]]:
    """Runs of words of at most `limit` bytes; a longer word is cut between characters."""
    room = max(limit // 2, 1)
    used = 0
    for word in _WORDS.finditer(text, start, end):
        written = utf8(word[0])
        if used and used + len(written) > room:
            yield start, word.start(), rank
            start, rank, used = word.start(), _WORD, 0
        if len(written) > room:
            for stop in _character_borders(text, start, word.end(), max(room // 4, 1)):
                yield start, stop, rank
                start, rank = stop, _CHARACTER
            rank = _WORD
            continue
        used += len(written)
        if crc32(written) % _WORDS_IN_RUN == 0:
            yield start, word.end(), rank
            start, rank, used = word.end(), _WORD, 0
    if start < end:
        yield start, end, rank


def _character_borders(text: str, start: int, end: int, step: int) -> Iterator[int]:
    """Every `step` characters, but never before a combining mark."""
    border = start + step
    while border < end:
        while border < end and unicodedata.category(text[border])[0] == "M":
            border += 1
        if border < end:
            yield border
        border += step
    yield end


def utf8(text: str) -> bytes:
    """The bytes of a text; halves of surrogate pairs, which no file holds, pass through."""
    return text.encode("utf-8", "surrogatepass")
