"""A picture as an SVG: it is looked at as it is, printed, or edited."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from engramfs.picture import Picture, colours, degrees, xml_text

_WIDTH = 1600.0
_MARGIN = 100.0
_LINE = 22.0  # of the legend
_LABELS = 120  # more hide what they name
_LETTER = 7.0  # about as wide as one is
_LABEL = 40  # characters
_ARROWS = 2_000  # of more edges the heads are only ink

_STYLE = """
text{font:13px system-ui,sans-serif;fill:#1f2430}
.about{font-size:18px;font-weight:600}
.label{paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-linejoin:round;text-anchor:middle}
.ground{fill:#fff}
.tie{stroke:#c3c9d2;stroke-width:1}
.node{stroke:#fff;stroke-width:1}
marker path{fill:#c3c9d2}
@media (prefers-color-scheme:dark){
text{fill:#e3e6ec}.label{stroke:#15181e}.ground{fill:#15181e}.node{stroke:#15181e}
.tie{stroke:#3b424e}marker path{fill:#3b424e}}
"""


def svg(picture: Picture) -> str:
    """The picture as one SVG document."""
    return "\n".join(_lines(picture)) + "\n"


def _lines(picture: Picture) -> Iterator[str]:
    links = degrees(picture)
    most = max(links, default=0) or 1
    base = 7.0 if len(picture.nodes) <= 100 else 4.0 if len(picture.nodes) <= 1000 else 2.0
    radii = [base + 12 * math.sqrt(count / most) for count in links]
    kinds = colours(picture.nodes)
    top = _MARGIN + _LINE * (len(kinds) + 2)
    at, height = _fitted(picture.places, top)

    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:.0f} {height:.0f}" '
        f'width="{_WIDTH:.0f}" height="{height:.0f}">'
    )
    yield f"<title>{_text(picture.about)}</title>"
    yield f"<style>{_STYLE}</style>"
    yield (
        '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>'
    )
    yield f'<rect class="ground" width="{_WIDTH:.0f}" height="{height:.0f}"/>'
    head = ' marker-end="url(#head)"' if len(picture.ties) <= _ARROWS else ""
    yield "<g>"
    for tie in picture.ties:
        (x1, y1), (x2, y2) = at[tie.source], at[tie.target]
        x2, y2 = _before((x1, y1), (x2, y2), radii[tie.target])
        yield (
            f'<line class="tie" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"{head}>'
            f"<title>{_text(tie.relation)}</title></line>"
        )
    yield "</g><g>"
    for node, (x, y), radius in zip(picture.nodes, at, radii, strict=True):
        said = f"{node.label}\n{node.path or node.id}\n{node.summary}".strip()
        yield (
            f'<circle class="node" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" '
            f'fill="{kinds[node.kind][0]}"><title>{_text(said)}</title></circle>'
        )
    yield "</g><g>"
    for no, label in _labels(picture, at, links):
        x, y = at[no]
        yield f'<text class="label" x="{x:.1f}" y="{y - radii[no] - 4:.1f}">{_text(label)}</text>'
    yield "</g>"
    yield f'<text class="about" x="{_MARGIN}" y="{_MARGIN}">{_text(picture.about)}</text>'
    yield f'<text x="{_MARGIN}" y="{_MARGIN + _LINE}">{_text(picture.counts)}</text>'
    for line, (kind, (colour, count)) in enumerate(kinds.items()):
        y = _MARGIN + _LINE * (line + 2)
        yield f'<circle cx="{_MARGIN + 6}" cy="{y - 4}" r="6" fill="{colour}"/>'
        yield f'<text x="{_MARGIN + 20}" y="{y}">{_text(kind)} ({count:,})</text>'
    yield "</svg>"


def _labels(
    picture: Picture, at: Sequence[tuple[float, float]], links: Sequence[int]
) -> Iterator[tuple[int, str]]:
    """(node, its label) of those linked best, without one that would lie on another."""
    taken: list[tuple[float, float, float]] = []
    for no in sorted(range(len(at)), key=lambda no: (-links[no], no)):
        label = picture.nodes[no].label
        label = label if len(label) <= _LABEL else label[: _LABEL - 1] + "…"
        (x, y), half = at[no], len(label) * _LETTER / 2
        if all(abs(x - x2) > half + half2 or abs(y - y2) > _LINE for x2, y2, half2 in taken):
            taken.append((x, y, half))
            yield no, label
        if len(taken) == _LABELS:
            return


def _fitted(
    places: tuple[tuple[float, float], ...], top: float
) -> tuple[list[tuple[float, float]], float]:
    """The places in pixels below `top`, and the height of the drawing."""
    if not places:
        return [], top + _MARGIN
    left, right = min(x for x, _ in places), max(x for x, _ in places)
    low, high = min(y for _, y in places), max(y for _, y in places)
    wide, tall = max(right - left, 1e-9), max(high - low, 1e-9)
    room = _WIDTH - 2 * _MARGIN
    scale = room / max(wide, tall)
    indent = _MARGIN + (room - wide * scale) / 2
    found = [(indent + (x - left) * scale, top + (high - y) * scale) for x, y in places]
    return found, top + tall * scale + _MARGIN


def _before(
    start: tuple[float, float], end: tuple[float, float], radius: float
) -> tuple[float, float]:
    """The point on the way to `end` that is `radius` short of it."""
    far = math.dist(start, end)
    share = max(far - radius, 0) / far if far else 0
    return start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share


def _text(text: str) -> str:
    return escape(xml_text(text))
