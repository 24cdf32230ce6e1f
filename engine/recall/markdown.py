"""The Markdown form of an answer.

A front matter, then one section an item: a heading with its path, and the stored text behind `> `.
Every line that comes from an engram is quoted, so no line of one can be taken for a heading of the
answer or for its front matter, whatever it holds; what a terminal would obey is shown as an escape.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from engine.model import Passage, PropertyValue
from engine.recall.answer import REASON_CHARACTERS, Extras, Head
from engine.recall.items import Item
from engine.visible import json_text, one_line, visible

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
        lines = [f"## {_flat(item.name)}"]
        if item.status != "live":
            lines.append(f"status: {item.status}")
        if item.via and set(item.channels) <= {"graph"}:  # its own words do not say why
            lines.append(_reached(item))
        quoted = list(_about(item))
        if item.body is not None and item.body.strip():
            quoted += [*([""] if quoted else []), *_lines(item.body)]
        lines += map(_quoted, quoted)
        for passage in item.passages:
            if len(lines) > 1:
                lines.append("")
            lines.append(_place(passage))
            lines += map(_quoted, _lines(passage.text))
        return "\n".join(lines) + "\n"

    def ladder(self, head: Head) -> Sequence[Extras]:
        controls = bool(head.changed)
        reasons = bool(head.degraded)
        most = min(len(head.paths), MOST_PATHS)
        rungs = [Extras(n, 0, controls, reasons) for n in range(most, -1, -1)]
        if controls:
            rungs.append(Extras(0, 0, False, reasons))
        if reasons:
            rungs.append(Extras())
        return rungs

    def render(self, head: Head, extras: Extras, sections: Sequence[str]) -> str:
        return "\n".join([self._front(head, extras), *sections])

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
            if head.degraded:
                lines.append(f"degraded: {len(head.degraded)}")
            if extras.reasons:
                reasons = ", ".join(
                    _plain(f"{d.what} - {d.reason[:REASON_CHARACTERS]}") for d in head.degraded
                )
                lines.append(f"reasons: [{reasons}]")
            if extras.controls:
                lines.append(f"controls: {head.changed}")
            lines.append(f"token: {head.token}")
        lines.append("---")
        return "\n".join(lines) + "\n"


def trace_text(trace: Mapping[str, object]) -> str:
    """The trace behind an answer, quoted like all that may hold stored text."""
    shown = json_text(trace, indent=1)
    return "\n# trace\n" + "".join(f"{_quoted(line)}\n" for line in shown.split("\n"))


def _reached(item: Item) -> str:
    """The edge that led to it, on one line."""
    relation = item.relation
    if relation is None:
        return ""
    ends = f"{'from' if relation.outward else 'to'} {_flat(item.via)}"
    return f"relation: {one_line(relation.label)} {ends}"


def _about(item: Item) -> Iterator[str]:
    """Title and summary, and the properties, each on one line."""
    title = "" if _says_title(item) or item.title == item.entry.slug else one_line(item.title)
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
    return bool(first) and first.lstrip("# ").strip() == item.title


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
    span = passage.span
    lines = f"lines {span.start_line}-{span.end_line}" if span.end_line else "passage"
    path = " > ".join(one_line(heading) for heading in passage.heading_path)
    return f"{lines}: {path}" if path else lines


def _flat(name: str) -> str:
    """A path on one line, its blanks as they are, so that it can be copied."""
    return visible(name.replace("\n", " "))


def _lines(text: str) -> list[str]:
    return _BREAK.split(visible(text.strip("\n")))


def _quoted(line: str) -> str:
    return f"> {line}".rstrip() if not line.strip() else f"> {line}"


def _plain(text: str) -> str:
    """A value in a YAML flow list: bare where that is safe, else as JSON."""
    flat = _flat(text)
    return flat if _PLAIN.fullmatch(flat) else json.dumps(flat, ensure_ascii=False)
