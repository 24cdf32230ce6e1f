"""An edge, and an answer around edges, as Markdown and JSON; and what whoever asks sees of them.

Stored text stands behind `> ` (docs/adr/0009).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.model import Edge, Entry
from engramfs import searching
from engramfs.render import instant, one_line

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.namespace import Scope

_ORIGINS = {"link": "by hand", "field": "by a field", "body": "in the text"}


@dataclass(frozen=True, slots=True)
class View:
    """Who asks, and what they see.

    `ref` gives the id of what a person named, or raises NotFound. `shown`: files show their id
    line. `next_request` is that of `engramfs.searching`. `keeps`: a result set outlives the answer.
    """

    engine: Engine
    scope: Scope
    ref: Callable[[str], str]
    path_of: searching.PathOf
    next_request: searching.Next
    shown: bool = True
    keeps: bool = True

    def name(self, id: str) -> str:
        """What the engram with an id is called in an answer: its path, else the id."""
        entry = self.engine.by_id(self.scope, id)
        path = self.path_of(entry) if entry is not None else None
        return path or id


def text(head: Sequence[str], sections: Sequence[str]) -> bytes:
    """An answer: what it is, then its sections."""
    lines = ["---", *head, "---"]
    for section in sections:
        lines += ["", section]
    return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")


def edge_text(view: View, edge: Edge) -> str:
    """An edge as a section: its ends, where it comes from, and what is said of it."""
    target = view.name(edge.target) if edge.target else "?"
    facts = [_ORIGINS[edge.origin]]
    if edge.confidence is not None:
        facts.append(f"confidence {edge.confidence:g}")
    facts.append(f"since {instant(edge.created_ns)}")
    lines = [one_line(f"## {view.name(edge.source)} {edge.relation} {target}"), ""]
    lines.append("; ".join(facts))
    if edge.origin != "link":
        lines += _quoted("", f"{edge.written}#{edge.heading}" if edge.heading else edge.written)
    lines += _quoted("", edge.note)
    lines += _quoted("status: ", edge.status)
    lines += _quoted("role: ", edge.role)
    lines += _quoted("evidence: ", edge.evidence_id)
    return "\n".join(lines)


def _quoted(key: str, text: str) -> list[str]:
    return [f"> {key}{one_line(line)}".rstrip() for line in text.splitlines()]


def edge_values(view: View, edge: Edge) -> dict[str, object]:
    """An edge as JSON holds it; `target` is null while it dangles."""
    by_id = view.engine.by_id
    source, target = by_id(view.scope, edge.source), by_id(view.scope, edge.target)
    return {
        "source": end_values(view, source) if source is not None else None,
        "relation": edge.relation,
        "target": end_values(view, target) if target is not None else None,
        "written": edge.written,
        "heading": edge.heading,
        "origin": edge.origin,
        "note": edge.note,
        "status": edge.status,
        "role": edge.role,
        "confidence": edge.confidence,
        "evidence_id": edge.evidence_id,
        "created": instant(edge.created_ns),
        "updated": instant(edge.updated_ns),
    }


def end_values(view: View, entry: Entry) -> dict[str, object]:
    """An engram as the end of an edge; `path` is null outside the tree."""
    return {
        "path": view.path_of(entry),
        "id": entry.id,
        "kind": entry.kind,
        "title": entry.title,
    }
