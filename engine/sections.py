"""Markdown body -> sections by heading, by a line scanner.

Headings are ATX (`# x`) and setext (underlined) ones that stand outside lists, quotes, fenced code,
HTML comments and `<pre>`-like blocks. A paragraph of more than eight lines is never a setext
heading: a line of dashes below it was meant as a rule.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

LONGEST_HEADING = 200  # characters; a longer one is cut in the path, and its line counts as content

_SETEXT_LINES = 8
_LIST_LINES = 50  # how far above an indented heading its list item is looked for
_MARK = re.compile(
    r"^ {0,3}(?:(?P<atx>#{1,6})(?=[ \t\n]|\Z)|(?P<fence>`{3,}|~{3,})|(?P<under>=+|-+)[ \t]*$"
    r"|(?P<html><!--|<(?:script|pre|style|textarea)(?=[\s>]|\Z)))",
    re.MULTILINE | re.IGNORECASE,
)
_RAW_END = re.compile(r"</(?:script|pre|style|textarea)>", re.IGNORECASE)
_ITEM = re.compile(r"(?:[-*+]|[0-9]{1,9}[.)])[ \t]+")
_CLOSING_HASHES = re.compile(r"(?:^|[ \t]+)#+[ \t]*$")
# No text of a setext heading: indented code, list items, quotes, HTML, rules, tables.
_NO_PARAGRAPH = re.compile(
    r"\t| {4}| {0,3}(?:[-*+](?:[ \t]|$)|[0-9]{1,9}[.)](?:[ \t]|$)|>|</?[a-z!?]|"
    r"([*_-])(?:[ \t]*\1){2,}[ \t]*$|\|?[ \t]*:?-+:?[ \t]*\|[-:| \t]*$)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Section:
    """body[start:end] under one heading; `content` is where the text behind the heading begins."""

    path: tuple[str, ...]  # headings from the outermost in; () before the first heading
    start: int
    content: int
    end: int
    fences: tuple[tuple[int, int], ...] = ()  # fenced code inside, whole lines


@dataclass(frozen=True, slots=True)
class _Heading:
    level: int
    text: str
    start: int
    end: int  # of its last line, line feed included


def sections(body: str) -> list[Section]:
    """The sections in order, covering the whole body without overlap.

    Blank space before the first heading belongs to it. A blank body has no section.
    """
    if not body or body.isspace():
        return []
    headings, fences = _scan(body)
    found: list[Section] = []
    stack: list[tuple[int, str]] = []
    first = headings[0].start if headings else len(body)
    start = 0 if not body[:first].strip() else first
    if start:
        found.append(Section((), 0, 0, first, tuple(f for f in fences if f[0] < first)))
    if not headings:
        return [Section((), 0, 0, len(body), tuple(fences))]
    fence = sum(1 for span in fences if span[0] < first)
    ends = [*(heading.start for heading in headings[1:]), len(body)]
    for heading, end in zip(headings, ends, strict=True):
        while stack and stack[-1][0] >= heading.level:
            stack.pop()
        stack.append((heading.level, heading.text[:LONGEST_HEADING].rstrip()))
        content = heading.end if len(heading.text) <= LONGEST_HEADING else heading.start
        inside: list[tuple[int, int]] = []
        while fence < len(fences) and fences[fence][0] < end:
            inside.append(fences[fence])
            fence += 1
        path = tuple(text for _, text in stack)
        found.append(Section(path, start, content, end, tuple(inside)))
        start = end
    return found


def _scan(body: str) -> tuple[list[_Heading], list[tuple[int, int]]]:
    headings: list[_Heading] = []
    fences: list[tuple[int, int]] = []
    floor = position = 0  # no paragraph that a setext line could end reaches above `floor`
    while mark := _MARK.search(body, position):
        line_end = _line_end(body, mark.end())
        position = line_end
        if mark["atx"]:
            if body[mark.start()] == " " and _in_list(body, mark.start()):
                continue
            text = _CLOSING_HASHES.sub("", body[mark.end() : line_end].strip())
            headings.append(_Heading(len(mark["atx"]), _one_line(text), mark.start(), line_end))
        elif mark["fence"]:
            if mark["fence"][0] == "`" and "`" in body[mark.end() : line_end]:
                continue  # inline code
            position = _fence_end(body, line_end, mark["fence"])
            fences.append((mark.start(), position))
        elif mark["html"]:
            position = _raw_end(body, mark)
        else:
            heading = _setext(body, floor, mark.start(), line_end, mark["under"][0])
            if heading:
                headings.append(heading)
            elif mark["under"][0] == "=":
                continue  # text
        floor = position
    return headings, fences


def _in_list(body: str, start: int) -> bool:
    """True if the indented line at `start` goes on with a list item that began above it."""
    indent = len(body[start : start + 4]) - len(body[start : start + 4].lstrip(" "))
    for _ in range(_LIST_LINES):
        if start == 0:
            return False
        end = start - 1
        start = body.rfind("\n", 0, end) + 1
        if start < end and not body[start].isspace():
            item = _ITEM.match(body, start)
            return item is not None and item.end() - start <= indent
    return False


def _setext(body: str, floor: int, under: int, line_end: int, sign: str) -> _Heading | None:
    start = under
    for _ in range(_SETEXT_LINES + 1):
        if start <= floor:
            break
        above = body.rfind("\n", 0, start - 1) + 1
        line = body[above : start - 1]
        if not line or line.isspace():
            break
        if _NO_PARAGRAPH.match(line):
            return None
        start = above
    else:
        return None
    start = max(start, floor)
    text = _one_line(body[start:under])
    return _Heading(1 if sign == "=" else 2, text, start, line_end) if text else None


def _fence_end(body: str, position: int, fence: str) -> int:
    closing = re.compile(rf"^ {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}[ \t]*$", re.MULTILINE)
    found = closing.search(body, position)
    return _line_end(body, found.end()) if found else len(body)


def _raw_end(body: str, mark: re.Match[str]) -> int:
    if mark["html"] == "<!--":
        end = body.find("-->", mark.end())
    else:
        found = _RAW_END.search(body, mark.end())
        end = found.end() if found else -1
    return _line_end(body, end) if end >= 0 else len(body)


def _line_end(body: str, position: int) -> int:
    end = body.find("\n", position)
    return end + 1 if end >= 0 else len(body)


def _one_line(text: str) -> str:
    return " ".join(text.split())
