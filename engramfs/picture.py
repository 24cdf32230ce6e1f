"""A picture of the graph as values: what is drawn, where, and in which colour. Nothing here draws.

`engramfs.picture_page` makes an HTML page of it, `picture_svg` an SVG, `picture_text` what other
programs read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from engine.excerpt import Excerpt, Tie
from engine.graph import layout
from engine.model import Entry

# Of middle lightness, so that they stand out from a light page and from a dark one.
_COLOURS = (
    *("#4c78a8", "#e0823d", "#54a24b", "#b279a2", "#3fa7a0"),
    *("#cf9f2e", "#c85a5a", "#7a86c4", "#8f7a66", "#d67aa6"),
)
_OTHER = "#8a8f98"  # kinds beyond those; an eye tells no more apart

_SUMMARY = 600  # characters
_NOTE = 200
_NOT_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Node(NamedTuple):
    """An engram in a picture. `path` is "" for one that stands in no tree."""

    id: str
    kind: str
    path: str
    title: str
    summary: str

    @property
    def label(self) -> str:
        """What it is called in the picture."""
        return self.title or self.path or self.id


@dataclass(frozen=True, slots=True)
class Picture:
    """`ties` lead between places in `nodes`; `places` (x to the right, y up) are as `engine.graph`
    lays them out. `whole`: how many engrams there were to draw. `about` says of what this is."""

    nodes: tuple[Node, ...]
    ties: tuple[Tie, ...]
    places: tuple[tuple[float, float], ...]
    whole: int
    about: str

    @property
    def counts(self) -> str:
        """How much is drawn, and that it is not all, in a sentence."""
        nodes, ties = len(self.nodes), len(self.ties)
        drawn = f"{nodes:,} engram{'s' * (nodes != 1)}, {ties:,} edge{'s' * (ties != 1)}"
        if nodes < self.whole:
            return f"{drawn}: the best linked of {self.whole:,} engrams"
        return drawn


def to_message(found: Excerpt, path_of: Callable[[Entry], str | None]) -> dict[str, Any]:
    """An excerpt as JSON; long texts are shortened."""
    nodes = [
        Node(
            entry.id,
            entry.kind,
            path_of(entry) or "",
            _short(entry.title, _SUMMARY),
            _short(summary, _SUMMARY),
        )
        for entry, summary in zip(found.entries, found.summaries, strict=True)
    ]
    ties = [tie._replace(note=_short(tie.note, _NOTE)) for tie in found.ties]
    return {"nodes": nodes, "ties": ties, "whole": found.whole}


def from_message(message: dict[str, Any], about: str) -> Picture:
    """The picture of an excerpt, laid out."""
    nodes = tuple(Node(*node) for node in message["nodes"])
    ties = tuple(Tie(*tie) for tie in message["ties"])
    ends = np.array([tie[:2] for tie in ties], np.int64).reshape(-1, 2)
    places = tuple((float(x), float(y)) for x, y in layout(len(nodes), ends).tolist())
    return Picture(nodes, ties, places, message["whole"], about)


def colours(nodes: Sequence[Node]) -> dict[str, tuple[str, int]]:
    """(colour, how many engrams) of each kind, the most frequent kind first."""
    counts = Counter(node.kind for node in nodes)
    ordered = sorted(counts, key=lambda kind: (-counts[kind], kind))
    given = (*_COLOURS, *[_OTHER] * len(ordered))
    return {kind: (colour, counts[kind]) for kind, colour in zip(ordered, given, strict=False)}


def degrees(picture: Picture) -> list[int]:
    """How many ties each node has."""
    found = [0] * len(picture.nodes)
    for tie in picture.ties:
        found[tie.source] += 1
        found[tie.target] += 1
    return found


def xml_text(text: str) -> str:
    """The text with U+FFFD for each character that XML has no place for."""
    return _NOT_XML.sub("\ufffd", text)


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
