"""Matches as an agent is given them: Markdown ready to stand before a prompt, or JSON.

Without a match the Markdown has no byte, so that there is nothing to put in; unless engrams are
damaged, for one of them could be a match.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.config import Config
from engine.match_request import MatchRequest
from engine.model import Degraded, Entry
from engine.recall.answer import ECHO_BYTES, echo, joined
from engine.recall.lines import about, flat, reasons, short
from engine.visible import json_text, one_line


@dataclass(frozen=True, slots=True)
class Match:
    """An engram that shares `words` with a prompt; `path` None: it is outside the tree."""

    entry: Entry
    path: str | None
    title: str
    summary: str
    words: tuple[str, ...]
    score: float  # raw


@dataclass(frozen=True, slots=True)
class Total:
    """How many match; `more`: perhaps others too, which were not read."""

    engrams: int
    more: bool


def render(
    request: MatchRequest,
    items: Sequence[Match],
    total: Total,
    degraded: Sequence[Degraded],
    config: Config,
) -> bytes:
    """The answer in the format that the request asks for."""
    most = config.snippet_characters
    text = ""
    if request.format == "json":
        text = _json(request, items, total, degraded, most)
    elif items or degraded:
        text = _markdown(items, total, degraded, most)
    return text.encode("utf-8", "backslashreplace")


def _markdown(items: Sequence[Match], total: Total, degraded: Sequence[Degraded], most: int) -> str:
    of = f"{total.engrams} or more" if total.more else str(total.engrams)
    lines = ["---", f"matches: {len(items)} of {of}"]
    lines += [f"degraded: {reasons(degraded)}"] if degraded else []
    lines.append("---")
    for item in items:
        lines += [
            "",
            f"## {flat(item.path or item.entry.id)}",
            f"shared words: {one_line(', '.join(item.words))}",
        ]
        said = about(item.title, item.summary, item.entry.slug, most)
        lines += [f"> {said}"] if said else []
    return "\n".join(lines) + "\n"


def _json(
    request: MatchRequest,
    items: Sequence[Match],
    total: Total,
    degraded: Sequence[Degraded],
    most: int,
) -> str:
    values = {
        "items": [
            {
                "path": item.path,
                "id": item.entry.id,
                "kind": item.entry.kind,
                "title": item.title,
                "summary": short(item.summary, most),
                "words": list(item.words),
                "score": item.score,
            }
            for item in items
        ],
        "total": total.engrams,
        "more": total.more,
        "degraded": [{"what": said.what, "reason": said.reason} for said in degraded],
        "warnings": list(request.warnings),
        "controls": {
            "prompt": echo(request.prompt, ECHO_BYTES),
            "kinds": list(request.kinds),
            "limit": request.limit,
            "format": request.format,
            **{key: echo(value, ECHO_BYTES) for key, value in joined(request.written)},
            **{f"namespace.{name}": value for name, value in request.namespace},
        },
    }
    return json_text(values) + "\n"
