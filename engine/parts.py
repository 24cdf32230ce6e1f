"""An engram as parts: the head, then a part a heading section, or several where one is long.

Pure: text and places in, parts out. The parts of a body cover it without overlap.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from unicodedata import category
from uuid import UUID, uuid5

from engine.also import runs
from engine.model import Part, PropertyValue, Span
from engine.pieces import Count, split, utf8
from engine.sections import sections
from engine.text import analyse
from engine.tokens import bytes4

PATH_SEPARATOR = "\x1f"  # joins a heading path in the name that an id is made of

# Well-known properties about the engram rather than in it: each is asked for by a filter, an edge
# or a setting, and as a word it would match everywhere.
SETTINGS = frozenset({"lang", "favourite", "source_role"})
_NOT_EMBEDDED = SETTINGS | {"derived_from", "superseded_by"}

_OVERHEAD_STEP = 16  # so that a title which grows by a word moves no border
_LINE_END = re.compile(rb"\r?\n")


@dataclass(frozen=True, slots=True)
class HeadText:
    """What part 0 is made of, and how the engram's text is analysed and embedded."""

    title: str
    slug: str = ""
    summary: str = ""
    aliases: tuple[str, ...] = ()
    values: tuple[
        tuple[str, str], ...
    ] = ()  # (property, value as text), a list's values one by one
    scalars: tuple[tuple[str, str], ...] = ()  # those that are embedded: no lists
    lang: str = "en"
    embed: bool = True


def head_text(
    title: str,
    *,
    slug: str = "",
    summary: str = "",
    aliases: Sequence[str] = (),
    properties: Mapping[str, PropertyValue],
    skip: Collection[str] = (),
    lang: str = "en",
    embed: bool = True,
) -> HeadText:
    """Gather a head. `skip` names the properties of the kind that are not to be indexed."""
    values: list[tuple[str, str]] = []
    scalars: list[tuple[str, str]] = []
    for key, value in properties.items():
        if key == "aliases" or key in SETTINGS or key in skip:
            continue
        texts = [(key, text) for text in _texts(value)]
        values += texts
        if isinstance(value, str | int | float) and key not in _NOT_EMBEDDED:
            scalars += texts
    return HeadText(
        title, slug, summary, tuple(aliases), tuple(values), tuple(scalars), lang, embed
    )


def cut(
    body: str,
    head: HeadText,
    engram_id: str,
    *,
    body_line: int = 1,
    body_start: int = 0,
    newline: str = "\n",
    source: bytes | None = None,
    max_tokens: int = 256,
    count_tokens: Count | None = None,
) -> tuple[Part, ...]:
    """The parts of an engram, the head first.

    `body` has LF line ends; it begins at byte `body_start` and line `body_line` (from 1) of the
    source, whose line ends are `newline`; where they are mixed, give the `source` too. `max_tokens`
    is what the embedder reads, title and headings included, counted by `count_tokens` (None: four
    bytes a token). An id is the UUIDv5 of the engram's id and: heading path, number among equal
    paths, each behind U+001F, then #k for the k-th further piece of a long section.
    """
    namespace = UUID(engram_id)
    drafts = _drafts(body, head, max_tokens, count_tokens or bytes4)
    spans = _spans(body, drafts, body_line, body_start, newline, source)
    parts = [_head_part(head, namespace, body_line, body_start)]
    for position, (draft, span) in enumerate(zip(drafts, spans, strict=True), start=1):
        parts.append(
            Part(
                id=str(uuid5(namespace, draft.name)),
                position=position,
                heading_path=draft.path,
                text=body[draft.start : draft.end],
                span=span,
                runs=runs((*draft.path, analysed(body, draft.content, draft.end)), head.lang),
                embed_text=_embed_text(body, draft) if head.embed else "",
            )
        )
    return tuple(parts)


@dataclass(frozen=True, slots=True)
class _Draft:
    """A part to be: body[start:end], of which body[content:end] is not in the heading path."""

    name: str  # within the engram
    path: tuple[str, ...]
    start: int
    content: int
    end: int
    prefix: str  # of the embedded text
    inner: bool  # other sections stand below this one


def _drafts(body: str, head: HeadText, max_tokens: int, count: Count) -> list[_Draft]:
    found = sections(body)
    numbers: dict[str, int] = {}
    drafts: list[_Draft] = []
    base = count("")
    for index, section in enumerate(found):
        below = found[index + 1].path if index + 1 < len(found) else ()
        path = PATH_SEPARATOR.join(section.path)
        number = numbers[path] = numbers.get(path, -1) + 1
        name = f"{path}{PATH_SEPARATOR}{number}"
        inner = len(below) > len(section.path) > 0
        prefix, room = prefix_of(head.title, section.path, max_tokens, count)
        pieces = split(
            body, section.content, section.end, section.fences, room, lambda t: count(t) - base
        )
        for piece, (start, end) in enumerate(pieces):
            drafts.append(
                _Draft(
                    f"{name}#{piece}" if piece else name,
                    section.path,
                    start if piece else section.start,
                    start,
                    end,
                    prefix,
                    inner,
                )
            )
    return drafts


def prefix_of(title: str, path: tuple[str, ...], max_tokens: int, count: Count) -> tuple[str, int]:
    """Title and headings for the embedded text, and the tokens that they leave: half at least."""
    headings = path[1:] if path and path[0] == title else path
    text = "\n".join(line for line in (title, " > ".join(headings)) if line)
    used = count(text)
    if used > max_tokens // 2:  # no tokenizer makes more tokens than bytes
        text = utf8(text)[: max_tokens // 2 - count("")].decode("utf-8", "ignore")
        used = count(text)
    used = -(-used // _OVERHEAD_STEP) * _OVERHEAD_STEP
    return text, max(max_tokens - used, max_tokens // 2, 1)


def _embed_text(body: str, draft: _Draft) -> str:
    """Title, headings, content. A heading with nothing but sections below it is in theirs."""
    content = body[draft.content : draft.end].strip()
    if not content and draft.inner:
        return ""
    return f"{draft.prefix}\n{content}".strip()


def analysed(text: str, start: int, end: int) -> str:
    """text[start:end]; where the border splits a run of characters, with the one behind it.

    Otherwise the pair of characters at the border could not be found.
    """
    if end < len(text) and all(category(c)[0] in "LMN" for c in text[end - 1 : end + 1]):
        end += 1
    return text[start:end]


def _head_part(head: HeadText, namespace: UUID, body_line: int, body_start: int) -> Part:
    texts = [head.title, *head.aliases]
    named = set(analyse("\n".join(texts), head.lang))
    if not named.issuperset(analyse(head.slug, head.lang)):
        texts.append(head.slug)  # one that repeats the title adds nothing but length
    texts += [head.summary, *(text for _, text in head.values)]
    described = (head.title, head.summary, *(f"{key}: {text}" for key, text in head.scalars))
    return Part(
        id=str(uuid5(namespace, "")),
        position=0,
        heading_path=(),
        text=head_lines(head),
        span=Span(1, max(body_line - 1, 1), 0, body_start),
        runs=runs(texts, head.lang),
        embed_text="\n".join(line for line in described if line) if head.embed else "",
    )


def head_lines(head: HeadText) -> str:
    """The text of part 0: one line each for title, aliases, summary, slug and every property."""
    lines = [head.title]
    if head.aliases:
        lines.append(f"aliases: {', '.join(head.aliases)}")
    lines += [head.summary] if head.summary else []
    lines += [f"slug: {head.slug}"] if head.slug else []
    listed: dict[str, list[str]] = {}
    for key, text in head.values:
        listed.setdefault(key, []).append(text)
    lines += [f"{key}: {', '.join(texts)}" for key, texts in listed.items()]
    return "\n".join(lines)


def _texts(value: object) -> list[str]:
    """The scalars of a property value as text, in order; null is none."""
    if isinstance(value, bool):
        return ["true" if value else "false"]
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for inner in value.values() for text in _texts(inner)]
    if isinstance(value, Sequence):
        return [text for inner in value for text in _texts(inner)]
    return [] if value is None else [str(value)]


def _spans(
    body: str,
    drafts: Sequence[_Draft],
    body_line: int,
    body_start: int,
    newline: str,
    source: bytes | None,
) -> list[Span]:
    """Lines and bytes of the drafts, which follow one another without gaps."""
    returns = _carriage_returns(newline, source, body_start)
    spans: list[Span] = []
    line, byte, ended = body_line, body_start, 0
    for draft in drafts:
        text = body[draft.start : draft.end]
        feeds = text.count("\n")
        end = byte + (len(text) if text.isascii() else len(utf8(text)))
        end += returns(ended, ended + feeds)
        last = line + feeds - (1 if text.endswith("\n") else 0)
        spans.append(Span(line, last, byte, end))
        line, byte, ended = line + feeds, end, ended + feeds
    return spans


def _carriage_returns(
    newline: str, source: bytes | None, body_start: int
) -> Callable[[int, int], int]:
    """(first, last) -> how many of these line ends of the body are CRLF in the source."""
    if source is None:
        return lambda first, last: (last - first) * (len(newline) - 1)
    if source.find(b"\r\n", body_start) < 0:
        return lambda first, last: 0
    ends = [len(end[0]) - 1 for end in _LINE_END.finditer(source, body_start)]
    return lambda first, last: sum(ends[first:last])
