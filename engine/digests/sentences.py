"""Markdown -> its sentences, in any script, each as it was written but on one line.

Only paragraphs, list items and quotations have sentences: no headings, code, tables or HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from engine.scripts import unspaced

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

LONGEST = 400  # characters; a longer one says too much to be a line of a digest
_CLAUSE = 40  # characters of a clause of Thai, Lao or Khmer, which mark no end of a sentence

# Full stops of Latin, Greek and Cyrillic want a blank and no small letter behind them; those of
# other scripts (Devanagari, Arabic, Urdu, Ethiopic, Armenian, Burmese, Khmer) a blank or nothing.
_END = re.compile(
    "(?<![.!?\u2026])[.!?\u2026]+[\"'\u201d\u2019\u00bb)\\]*_]*\\s+(?=[^a-z\\s])"
    "|[\u3002\uff01\uff1f\uff61\u0964\u0965\u061f\u06d4\u1362\u0589\u104a\u104b\u17d4\u17d5]+"
    "[\u300d\u300f\uff09\u201d\u2019\u00bb\"')*_]*\\s*"
)
_ABBREVIATED = re.compile(
    r"(?:^|[\s(\[\"'*_])(?:[^\W\d_]|\d{1,2}|e\.g|i\.e|z\.b|d\.h|u\.a|p\.ex|dr|mr|mrs|ms|prof|st|jr|sr"
    r"|no|nr|nos|fig|figs|eq|vol|art|abs|bd|hr|fr|vs|cf|ca|approx|bzw|evtl|resp|pp|ed|eds|al)\.\Z",
    re.IGNORECASE,
)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(?![^\n]*`)([^\n]*)$", re.MULTILINE)
_TASK = re.compile(r"\[[ xX]\]\s+")


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """(line of the text that it begins in, counted from 0; the sentence), in order.

    White space is made one blank; nothing else is changed, emphasis and links stay as written.
    """
    tokens = _blocks().parse(text)
    for before, token in pairwise(tokens):
        if before.type == "paragraph_open" and token.map is not None:
            content = token.content
            for start, end in _cut(content):
                sentence = " ".join(content[start:end].split())
                if sentence:
                    line = token.map[0] + content.count("\n", 0, start)
                    yield line, _TASK.sub("", sentence, count=1) if start == 0 else sentence


def open_fences(passages: Iterable[str]) -> Iterator[str]:
    """For each of the passages that a text was cut into the fence of the code that it begins in,
    mostly ""; before a passage it keeps that code from being read as sentences."""
    opened = ""
    for passage in passages:
        yield opened
        for mark, rest in _FENCE.findall(passage):
            if not opened:
                opened = mark
            elif mark.startswith(opened) and not rest.strip():
                opened = ""


def shortened(text: str, most: int) -> str:
    """The text, or of one of more than `most` characters what ends within them: whole sentences
    and paragraphs; "" where none does."""
    if len(text) <= most:
        return text
    begins = max(at for at, _ in _cut(text[: most + 1]) if at <= most)  # the one that may go on
    return text[: max(begins, text.rfind("\n\n", 0, most) + 1)]


@cache
def _blocks() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])  # what stands in a line stays as it is
    return parser


def _cut(text: str) -> Iterator[tuple[int, int]]:
    """Where the sentences of a paragraph are."""
    start = 0
    for end in _END.finditer(text):
        if not _ABBREVIATED.search(text[max(start, end.start() - 12) : end.end()].rstrip()):
            yield from _clauses(text, start, end.end())
            start = end.end()
    yield from _clauses(text, start, len(text))


def _clauses(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A sentence, or of one that is too long the clauses that only a blank divides."""
    if end - start > LONGEST:
        for gap in _gap().finditer(text, start, end):
            if gap.start() - start >= _CLAUSE:
                yield start, gap.start()
                start = gap.end()
    yield start, end


@cache
def _gap() -> re.Pattern[str]:
    """A blank between two letters of scripts that put none between words."""
    return re.compile(f"(?<=[{unspaced()}])\\s+(?=[{unspaced()}])")
