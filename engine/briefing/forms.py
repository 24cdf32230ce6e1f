"""A briefing in Markdown or as JSON. Stored text is quoted as in a recall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.briefing.notes import Note
from engine.briefing.plan import CONSTRAINTS
from engine.model import Degraded
from engine.recall.lines import about, flat, reasons
from engine.recall.markdown import MarkdownForm
from engine.visible import json_text

_WHOLE = 10**9  # characters: a note's summary is short already


@dataclass(frozen=True, slots=True)
class Head:
    """The accounting of a briefing. `tokens` None: no number is true (see `settle`).

    `unsaid` says how many constraints found no room, `advice` how to mark kinds; "" when there is
    nothing to say. `changed` are the controls that differ from their default, as a request. Without
    `reasons` Markdown counts what is degraded. A `bare` head tells tokens and `truncated` alone.
    """

    tokens: int | None
    omitted: int
    truncated: bool
    token: str
    counter: str
    controls: Mapping[str, object]
    changed: str
    unsaid: str = ""
    advice: str = ""
    warnings: tuple[str, ...] = ()
    degraded: tuple[Degraded, ...] = ()
    reasons: bool = True
    bare: bool = False


Told = tuple[str, str]  # (section, a note as it stands there)


class Form(Protocol):
    """Markdown or JSON."""

    def note(self, note: Note) -> str:
        """One note, as it stands in the answer."""

    def render(self, head: Head, told: Sequence[Told], pad: int) -> str:
        """The whole answer; `pad` makes it a little longer (see `settle`)."""


class Markdown:
    """A front matter, then a heading and the notes of each section."""

    def note(self, note: Note) -> str:
        if note.full is not None:
            return MarkdownForm().section(note.full)
        said = about(note.title, note.summary, note.entry.slug, _WHOLE)
        return f"> - {flat(note.name)}" + (f": {said}" if said else "")

    def render(self, head: Head, told: Sequence[Told], pad: int) -> str:
        sections = [_front(head, pad)]
        if head.advice and not head.bare:
            sections.append(f"{head.advice}\n")
        texts: dict[str, list[str]] = {CONSTRAINTS: []} if head.unsaid else {}
        for section, text in told:
            texts.setdefault(section, []).append(text)
        for section, held in texts.items():
            said = "\n".join(held).rstrip("\n")  # what is in full ends with one
            unsaid = head.unsaid if section == CONSTRAINTS else ""
            parts = filter(None, (f"# {section.capitalize()}", said, unsaid))
            sections.append("\n\n".join(parts) + "\n")
        return "\n".join(sections)


class Json:
    """One object, one note a line. Arrays are always present."""

    def note(self, note: Note) -> str:
        return json_text(_values(note)) + "\n"

    def render(self, head: Head, told: Sequence[Told], pad: int) -> str:
        values: dict[str, object] = {"tokens": head.tokens, "truncated": head.truncated}
        if not head.bare:
            values |= {
                "omitted": {"count": head.omitted},
                "counter": head.counter,
                "token": head.token,
                "degraded": [{"what": said.what, "reason": said.reason} for said in head.degraded],
                "warnings": [*head.warnings, *filter(None, (head.advice, head.unsaid))],
                "controls": dict(head.controls),
            }
        elif head.unsaid:
            values["warnings"] = [head.unsaid]
        pieces = [f"{json_text(key)}:{json_text(value)}," for key, value in values.items()]
        front = "".join(f"{piece}{' ' if n < pad else ''}" for n, piece in enumerate(pieces))
        items = ",".join(text for _, text in told)
        return f'{{{front}"items":[\n{items}]}}\n'


def _front(head: Head, pad: int) -> str:
    lines = ["---"]
    if head.tokens is not None:
        lines.append(f"tokens: {head.tokens}{' #' * pad}")
    if not head.bare:
        lines.append(f"omitted: {head.omitted}")
    lines.append(f"truncated: {'true' if head.truncated else 'false'}")
    if not head.bare:
        if head.degraded:
            said = reasons(head.degraded) if head.reasons else len(head.degraded)
            lines.append(f"degraded: {said}")
        lines += [f"controls: {head.changed}"] if head.changed else []
        lines.append(f"token: {head.token}")
    return "\n".join([*lines, "---"]) + "\n"


def _values(note: Note) -> dict[str, object]:
    return {
        "section": note.section,
        "path": note.path,
        "id": note.entry.id,
        "kind": note.entry.kind,
        "title": note.title,
        "summary": note.summary,
        "favourite": note.favourite,
        "body": None if note.full is None else note.full.body,
        "properties": {} if note.full is None else dict(note.full.properties),
    }
