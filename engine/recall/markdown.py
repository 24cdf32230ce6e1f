"""The Markdown form of an answer.

A front matter, then one section an item: a heading with its path, and the stored text behind `> `.
Every line that comes from an engram is quoted, so no line of one can be taken for a heading of the
answer or for its front matter, whatever it holds; what a terminal would obey is shown as an escape.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from engine.model import Passage, PropertyValue
from engine.recall.answer import REASON_CHARACTERS, Extras, Head
from engine.recall.chunks import Chunk
from engine.recall.items import Item
from engine.recall.lines import flat, headed
from engine.recall.sources import Source
from engine.recall.tail import NO_TAIL, Tail
from engine.recall.trace import trace_lines
from engine.visible import one_line, visible

FRONT_TOKENS = 48
MOST_PATHS = 6
PROPERTY_CHARACTERS = 240

# Told by the item otherwise, or settings of the engram rather than knowledge in it.
_UNSHOWN = frozenset(("aliases", "lang", "favourite", "source_role", "superseded_by"))
_PLAIN = re.compile(r"\w|\w[\w./@+\- ]*[\w./@+\-]")
_BREAK = re.compile(r"\n")


class MarkdownForm:
    """Ready to paste into a context."""

    front_tokens: int | None = FRONT_TOKENS
    counts_items = False

    def section(self, item: Item) -> str:
        lines = [f"## {flat(item.name)}", *_told(item)]
        quoted = list(_about(item))
        if item.body is not None and item.body.strip():
            quoted += [*([""] if quoted else []), *_lines(item.body)]
        lines += map(_quoted, quoted)
        for passage in item.passages:
            if not passage.text:
                continue  # an item before shows it
            if len(lines) > 1:
                lines.append("")
            lines.append(_place(passage))
            lines += map(_quoted, _lines(passage.text))
        return "\n".join(lines) + "\n"

    def ladder(self, head: Head) -> Sequence[Extras]:
        full = Extras(0, 0, bool(head.changed), bool(head.degraded), bool(head.warnings))
        most = min(len(head.paths), MOST_PATHS)
        rungs = [replace(full, paths=n) for n in range(most, -1, -1)]
        for less in (replace(full, controls=False), Extras(warnings=full.warnings), Extras()):
            if less != rungs[-1]:
                rungs.append(less)
        return rungs

    def source(self, source: Source) -> str:
        lines = [f"## {flat(source.name)}"]
        if source.same_as:
            return "\n".join([*lines, f"same text as: {flat(source.same_as)}"]) + "\n"
        title = f"**{one_line(source.title)}**" if source.title else ""
        quoted = [*([title, ""] if title else []), *_lines(source.text)]
        return "\n".join([*lines, *map(_quoted, quoted)]) + "\n"

    def chunk(self, chunk: Chunk) -> str:
        name = chunk.path if chunk.path is not None else chunk.id
        lines = [f"## {flat(name)}", _place(chunk.passage)]
        return "\n".join([*lines, *map(_quoted, _lines(chunk.passage.text))]) + "\n"

    def sources(self, sections: Sequence[str]) -> str:
        return _part("sources", sections)

    def chunks(self, sections: Sequence[str]) -> str:
        return _part("chunks", sections)

    def render(
        self, head: Head, extras: Extras, sections: Sequence[str], tail: Tail = NO_TAIL
    ) -> str:
        front = self._front(head, extras)
        answer = "\n".join([front, *sections])
        return answer + self.sources(tail.sources) + self.chunks(tail.chunks)

    def _front(self, head: Head, extras: Extras) -> str:
        lines = ["---"]
        if head.tokens is not None:
            lines.append(f"tokens: {head.tokens}{' #' * extras.pad}")
        if not extras.bare:
            lines.append(f"omitted: {head.omitted}")
        if extras.paths:
            shown = ", ".join(map(_plain, head.paths[: extras.paths]))
            lines.append(f"paths: [{shown}]")
        lines.append(f"truncated: {'true' if head.truncated else 'false'}")
        if not extras.bare:
            if head.untagged is not None:
                lines.append(f"untagged: {head.untagged}")
            if head.degraded:
                lines.append(f"degraded: {len(head.degraded)}")
            if extras.reasons:
                reasons = ", ".join(
                    _plain(f"{d.what} - {d.reason[:REASON_CHARACTERS]}") for d in head.degraded
                )
                lines.append(f"reasons: [{reasons}]")
            if extras.warnings:
                lines.append(f"warnings: {len(head.warnings)}")
            if extras.controls:
                lines.append(f"controls: {head.changed}")
            lines.append(f"token: {head.token}")
        lines.append("---")
        return "\n".join(lines) + "\n"


def trace_text(trace: Mapping[str, object]) -> str:
    """The trace behind an answer, quoted like all that may hold stored text."""
    return "\n# trace\n" + "".join(f"{_quoted(flat(line))}\n" for line in trace_lines(trace))


def _part(title: str, sections: Sequence[str]) -> str:
    """What follows the items under a heading; nothing without sections."""
    return "\n".join([f"\n# {title}\n", *sections]) if sections else ""


def _told(item: Item) -> Iterator[str]:
    """The lines of the answer's own about an item: what it is, and why it is here."""
    if item.status != "live":
        yield f"status: {item.status}"
    if item.fact is not None:
        yield f"fact: {one_line(item.fact.relation)} {flat(item.target)}"
        if item.fact.role:
            yield f"role: {one_line(item.fact.role)}"
    elif item.surface == "digest":
        yield f"why: it covers {item.covers} engram{'s' if item.covers != 1 else ''}"
    elif item.named or item.channels:
        yield f"why: {', '.join(_reasons(item))}"
    if item.source_names:
        yield f"sources: {', '.join(map(flat, item.source_names))}"
    if item.quoted_in:
        yield f"quoted in: {flat(item.quoted_in)}, {_lines_of(item.passages[0])}"
    elif item.same_as:
        yield f"same text as: {flat(item.same_as)}"


def _reasons(item: Item) -> Iterator[str]:
    """Each channel with the item's rank in it; of the graph with the edge that led here."""
    if item.named:
        yield "named"
    for channel, rank in item.channels.items():
        if channel == "graph" and item.relation is not None:
            ends = f"{'from' if item.relation.outward else 'to'} {flat(item.via)}"
            yield f"graph {rank} ({one_line(item.relation.label)} {ends})"
        elif channel != "exact" or not item.named:
            yield f"{channel} {rank}"


def _about(item: Item) -> Iterator[str]:
    """Title and summary, and the properties, each on one line."""
    if item.fact is not None and item.fact.note:
        yield one_line(item.fact.note)
    slug = item.entry.slug if item.entry is not None else ""
    title = "" if _says_title(item) or item.title == slug else one_line(item.title)
    summary = one_line(item.summary)
    if title or summary:
        yield ": ".join(filter(None, (f"**{title}**" if title else "", summary)))
    shown = "; ".join(
        f"{one_line(name)}: {_value(value)}"
        for name, value in item.properties.items()
        if name not in _UNSHOWN and value not in (None, "", [])
    )
    if shown:
        cut = len(shown) > PROPERTY_CHARACTERS
        yield f"{shown[: PROPERTY_CHARACTERS - 1]}…" if cut else shown


def _says_title(item: Item) -> bool:
    """Does the text shown begin with the title as its heading?"""
    first = (item.body or "").lstrip().split("\n", 1)[0]
    return bool(first) and headed(first.lstrip("# ").strip()) == item.title


def _value(value: PropertyValue) -> str:
    if isinstance(value, list) and all(isinstance(one, str | int | float) for one in value):
        return one_line(", ".join(_scalar(one) for one in value))
    if isinstance(value, str | int | float):
        return one_line(_scalar(value))
    return one_line(json.dumps(value, ensure_ascii=False, default=str))


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _place(passage: Passage) -> str:
    lines = _lines_of(passage)
    path = " > ".join(one_line(heading) for heading in passage.heading_path)
    return f"{lines}: {path}" if path else lines


def _lines_of(passage: Passage) -> str:
    span = passage.span
    return f"lines {span.start_line}-{span.end_line}" if span.end_line else "passage"


def _lines(text: str) -> list[str]:
    return _BREAK.split(visible(text.strip("\n")))


def _quoted(line: str) -> str:
    return f"> {line}".rstrip() if not line.strip() else f"> {line}"


def _plain(text: str) -> str:
    """A value in a YAML flow list: bare where that is safe, else as JSON."""
    told = flat(text)
    return told if _PLAIN.fullmatch(told) else json.dumps(told, ensure_ascii=False)
