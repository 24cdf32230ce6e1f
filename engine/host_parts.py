"""The parts that a host gives an engram: accepted, sealed, cut for the index, put together again.

Pure. They have no place in the engram's file, so the store keeps their text with the parts that are
cut from it, and the SHA-256 of them all with the state. One that is longer than the embedder reads
is cut into pieces as a long section is: else its end would have no vector. Its pieces follow one
another and cover it, so the part as it was given is their texts in a row.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol
from uuid import UUID, uuid5

from engine.also import runs
from engine.config import Config
from engine.errors import Invalid, Problem, shown
from engine.model import NOWHERE, HostPart, Part, Span
from engine.parts import PATH_SEPARATOR, HeadText, analysed, prefix_of
from engine.pieces import Count, split, utf8
from engine.tokens import bytes4

ORIGIN = "host"
_REMEMBERED = 1024 * 1024  # characters of an engram's parts whose pieces are kept (5 MB a megabyte)


@dataclass(frozen=True, slots=True)
class Hosted:
    """A host's parts as they were given, and the SHA-256 that was stored with them.

    They are read and carried along unproved, so that damage neither refuses an edit of the file
    nor passes for sound afterwards: `check` proves them.
    """

    parts: tuple[HostPart, ...] = ()
    sha256: str = ""  # hexadecimal; "": there are none

    @property
    def sound(self) -> bool:
        """Are they what was given?"""
        return self.sha256 == digest(self.parts)


NOTHING = Hosted()


def seal(parts: tuple[HostPart, ...]) -> Hosted:
    """Parts just accepted."""
    return Hosted(parts, digest(parts))


def digest(parts: Sequence[HostPart]) -> str:
    """SHA-256 over all that was given, hexadecimal; "" for no parts."""
    if not parts:
        return ""
    given = [[list(part.heading_path), part.text, _numbers(part.span)] for part in parts]
    return hashlib.sha256(json.dumps(given, separators=(",", ":")).encode()).hexdigest()


def _numbers(span: Span | None) -> list[int]:
    span = span or NOWHERE
    return [span.start_line, span.end_line, span.byte_start, span.byte_end]


# -- at the border --------------------------------------------------------------------
def accepted(parts: Iterable[HostPart], limits: Config) -> tuple[HostPart, ...]:
    """The parts as they will be stored, their line ends LF; Invalid with every problem."""
    if isinstance(parts, str | HostPart):
        raise Invalid(Problem("the parts are one value, not several", hint="give a list of them"))
    given: tuple[object, ...] = tuple(parts)
    problems = [
        problem for at, part in enumerate(given) for problem in _problems(f"parts[{at}]", part)
    ]
    if len(given) > limits.host_parts:
        problems.append(
            Problem(
                f"there are {len(given)} parts; the limit is {limits.host_parts}",
                hint="give longer ones: they are cut where the embedder needs it",
            )
        )
    held = [part for part in given if isinstance(part, HostPart)]
    if problems:
        raise Invalid(*problems)
    sizes = [len(path.encode()) for part in held if (path := _joined(part))]
    used = sum(len(part.text.encode()) for part in held) + sum(sizes)
    if used > limits.host_parts_bytes:
        problems.append(
            Problem(
                f"the parts have {used} bytes; the limit is {limits.host_parts_bytes}",
                hint="spread them over several engrams",
            )
        )
    if max(sizes, default=0) > limits.host_heading_bytes:
        problems.append(
            Problem(
                f"a heading path has {max(sizes)} bytes; the limit is {limits.host_heading_bytes}",
                hint="shorten it: it is searched with every piece of its part",
            )
        )
    if problems:
        raise Invalid(*problems)
    return tuple(replace(part, text=part.text.replace("\r\n", "\n")) for part in held)


def _problems(name: str, part: object) -> Iterator[Problem]:
    """What is wrong with one part by itself."""
    if not isinstance(part, HostPart):
        what = f"{name} is a {type(part).__name__}, not a HostPart"
        yield Problem(what, hint="give HostPart(text, heading_path)")
        return
    if not isinstance(part.text, str):
        yield Problem(f"the text of {name} is no text", hint="decode it first")
    elif not part.text.strip():
        yield Problem(f"{name} has no text", hint="leave it out")
    else:
        yield from _half_character(f"the text of {name}", part.text)
    if not isinstance(part.heading_path, tuple):
        what = f"the heading path of {name} is a {type(part.heading_path).__name__}"
        yield Problem(what, hint='give a tuple of headings, such as ("Page 12",)')
        return
    for heading in part.heading_path:
        if not isinstance(heading, str) or not heading.strip() or len(heading.splitlines()) > 1:
            what = f"a heading of {name} is not a line of text: {shown(repr(heading))}"
            yield Problem(what, hint="give each heading as one line that is not blank")
        else:
            yield from _half_character(f"a heading of {name}", heading)
    if part.span is not None and not _ordered(part.span):
        what = f"the span of {name} is no span"
        yield Problem(what, hint="lines count from 1, bytes from 0, and the end is not before")


def _half_character(what: str, text: str) -> Iterator[Problem]:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = f"U+{ord(error.object[error.start]):04X}"
        yield Problem(
            f"{what} holds half of a surrogate pair, {half}", hint="pass whole characters"
        )


def _ordered(span: object) -> bool:
    if not isinstance(span, Span) or not all(type(number) is int for number in _numbers(span)):
        return False
    return 1 <= span.start_line <= span.end_line and 0 <= span.byte_start <= span.byte_end


def _joined(part: HostPart) -> str:
    return PATH_SEPARATOR.join(part.heading_path)


# -- for the index --------------------------------------------------------------------
def cut_host(
    parts: Sequence[HostPart],
    head: HeadText,
    engram_id: str,
    *,
    first: int,
    max_tokens: int,
    count_tokens: Count | None,
) -> tuple[Part, ...]:
    """The parts as they are indexed, at the positions from `first` on.

    An id is the UUIDv5 of the engram's id and: heading path, number among equal paths, "host", each
    behind U+001F, then #k for the k-th further piece. `max_tokens` and `count_tokens` are those
    of `parts.cut`.
    """
    if not parts:
        return ()
    size = sum(len(part.text) for part in parts)
    make = _cut if size <= _REMEMBERED else _cut.__wrapped__
    count = count_tokens or bytes4
    made = make(tuple(parts), head.title, head.lang, head.embed, engram_id, max_tokens, count)
    return tuple(replace(part, position=at) for at, part in enumerate(made, first))


@lru_cache(maxsize=2)  # an editor saves one engram again and again: a fifth of the time
def _cut(
    parts: tuple[HostPart, ...],
    title: str,
    lang: str,
    embed: bool,
    engram_id: str,
    max_tokens: int,
    count: Count,
) -> tuple[Part, ...]:
    """The parts at the positions from 0 on."""
    namespace, name = UUID(engram_id), _namer()
    base = count("")
    made: list[Part] = []
    for part in parts:
        named = name(part.heading_path)
        prefix, room = prefix_of(title, part.heading_path, max_tokens, count)
        text = part.text
        pieces = split(text, 0, len(text), (), room, lambda t: count(t) - base)
        for piece, (start, end) in enumerate(pieces):
            content = text[start:end]
            made.append(
                Part(
                    id=_id(namespace, named, piece),
                    position=len(made),
                    heading_path=part.heading_path,
                    text=content,
                    span=_span(part, start, end),
                    runs=runs((*part.heading_path, analysed(text, start, end)), lang),
                    embed_text=f"{prefix}\n{content.strip()}".strip() if embed else "",
                    origin=ORIGIN,
                )
            )
    return tuple(made)


def _namer() -> Callable[[tuple[str, ...]], str]:
    """Names of parts within their engram, asked for in order."""
    numbers: dict[str, int] = {}

    def name(heading_path: tuple[str, ...]) -> str:
        path = PATH_SEPARATOR.join(heading_path)
        number = numbers[path] = numbers.get(path, -1) + 1
        return PATH_SEPARATOR.join((path, str(number), ORIGIN))

    return name


def _id(namespace: UUID, name: str, piece: int) -> str:
    return str(uuid5(namespace, f"{name}#{piece}" if piece else name))


def _span(part: HostPart, start: int, end: int) -> Span:
    """Where a piece stands in what the host took the part from."""
    if part.span is None:
        return NOWHERE
    line = part.span.start_line + part.text.count("\n", 0, start)
    byte = part.span.byte_start + len(utf8(part.text[:start]))
    if end == len(part.text):
        return Span(line, part.span.end_line, byte, part.span.byte_end)
    content = part.text[start:end]
    feeds = content.count("\n") - (1 if content.endswith("\n") else 0)
    return Span(line, line + feeds, byte, byte + len(utf8(content)))


# -- from the store -------------------------------------------------------------------
class Piece(Protocol):
    """A part as it is stored."""

    @property
    def id(self) -> str: ...

    @property
    def heading_path(self) -> tuple[str, ...]: ...

    @property
    def span(self) -> Span: ...

    @property
    def origin(self) -> str: ...

    @property
    def text(self) -> str | None: ...


def joined(stored: Iterable[Piece], engram_id: str) -> tuple[HostPart, ...]:
    """The host's parts as they were given, from all stored parts of an engram.

    A piece goes on with the part before it if its id says so.
    """
    namespace, name = UUID(engram_id), _namer()
    found: list[list[Piece]] = []
    named = ""
    for piece in stored:
        if piece.origin != ORIGIN:
            continue
        if found and piece.id == _id(namespace, named, len(found[-1])):
            found[-1].append(piece)
        else:
            named = name(piece.heading_path)
            found.append([piece])
    return tuple(_whole(pieces) for pieces in found)


def _whole(pieces: Sequence[Piece]) -> HostPart:
    first, last = pieces[0].span, pieces[-1].span
    span = Span(first.start_line, last.end_line, first.byte_start, last.byte_end)
    text = "".join(piece.text or "" for piece in pieces)
    return HostPart(text, pieces[0].heading_path, None if span == NOWHERE else span)
