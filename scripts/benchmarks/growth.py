"""How questions grow with the store: a table and a plot, from the results that `search` kept.

    scripts/bench growth DIR [FILE.svg]

DIR is what `scripts/bench search --keep DIR` was given. The table is Markdown; the plot shows the
medians over the number of parts, both axes logarithmic.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

WIDE, HIGH = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 60, 190, 20, 50
LINES = (  # figure, contestant, name in the plot, colour
    ("hybrid p50", "engine", "hybrid", "#0b5fa5"),
    ("hybrid p50", "engine, a page", "hybrid, a page", "#4a90d9"),
    ("lexical p50", "engine", "lexical", "#0a8f5b"),
    ("hybrid p50", "tantivy + numpy", "tantivy + numpy", "#888888"),
    ("hybrid p50", "FTS5 + sqlite-vec", "FTS5 + sqlite-vec", "#c77700"),
    ("hybrid p50", "lancedb", "LanceDB hybrid", "#8a4fbf"),
    ("lexical p50", "match_bm25", "match_bm25", "#c0392b"),
)

Result = Mapping[str, Any]
Point = tuple[float, float]


def main(arguments: list[str]) -> bool:
    """Print the table, and write the plot if a file is named."""
    if not 1 <= len(arguments) <= 2:
        raise SystemExit("usage: scripts/bench growth DIR [FILE.svg]")
    results = kept(Path(arguments[0]))
    if not results:
        raise SystemExit(f"{arguments[0]} keeps no results: scripts/bench search --keep it first")
    for line in table(results):
        print(line)
    if len(arguments) == 2:
        Path(arguments[1]).write_text(plot(results))
    return True


def kept(directory: Path) -> list[Result]:
    """The results of all sizes, the smallest first."""
    found = [json.loads(path.read_text()) for path in directory.glob("*/result.json")]
    return sorted(found, key=lambda result: int(result["parts"]))


def table(results: Sequence[Result]) -> Iterator[str]:
    """A Markdown table, a column a size."""
    yield "| | " + " | ".join(f"{result['parts']:,} parts" for result in results) + " |"
    yield "|---" * (len(results) + 1) + "|"
    for figure, contestant, name, _ in LINES:
        values = [result["medians"].get(figure, {}).get(contestant) for result in results]
        if any(value is not None for value in values):
            yield f"| {name}, ms | " + " | ".join(_cell(value) for value in values) + " |"
    for name in ("alone", "beside four readers"):
        values = [result["medians"]["Put p50"][name] for result in results]
        yield f"| Put {name}, ms | " + " | ".join(_cell(value) for value in values) + " |"
    rows = [
        ("rows touched a question", [result["rows touched"]["p50"] for result in results]),
        ("opening, s", [result["alone"]["engine"]["seconds"] for result in results]),
        ("RSS, MB", [result["alone"]["engine"]["rss"] / 1e6 for result in results]),
        ("on disk, MB", [result["bytes"]["engine"] / 1e6 for result in results]),
        ("building, s", [result["building"] for result in results]),
    ]
    for name, numbers in rows:
        yield f"| {name} | " + " | ".join(_cell(number) for number in numbers) + " |"


def _cell(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def plot(results: Sequence[Result]) -> str:
    """The medians as an SVG."""
    lines = []
    for figure, contestant, name, colour in LINES:
        points = [
            (float(result["parts"]), float(result["medians"][figure][contestant]))
            for result in results
            if contestant in result["medians"].get(figure, {})
        ]
        if points:
            lines.append((name, colour, points))
    across = _decades([x for _, _, points in lines for x, _ in points])
    up = _decades([y for _, _, points in lines for _, y in points])

    def at(point: Point) -> Point:
        x = LEFT + _share(point[0], across) * (WIDE - LEFT - RIGHT)
        y = HIGH - BOTTOM - _share(point[1], up) * (HIGH - TOP - BOTTOM)
        return x, y

    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {HIGH}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDE}" height="{HIGH}" fill="white"/>',
    ]
    for power in range(across[0], across[1] + 1):
        x, _ = at((10.0**power, 10.0 ** up[0]))
        drawn.append(_line((x, TOP), (x, HIGH - BOTTOM), "#dddddd"))
        drawn.append(_text((x, HIGH - BOTTOM + 18), f"{10**power:,}", "middle"))
    for power in range(up[0], up[1] + 1):
        _, y = at((10.0 ** across[0], 10.0**power))
        drawn.append(_line((LEFT, y), (WIDE - RIGHT, y), "#dddddd"))
        drawn.append(_text((LEFT - 8, y + 4), f"{10.0**power:g}", "end"))
    drawn.append(_text(((LEFT + WIDE - RIGHT) / 2, HIGH - 10), "parts", "middle"))
    drawn.append(_text((LEFT - 8, TOP - 6), "ms", "end"))
    for name, colour, points, y in _labelled(lines, at):
        places = " ".join("{:.1f},{:.1f}".format(*at(point)) for point in points)
        drawn.append(
            f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="2"/>'
        )
        drawn += ['<circle cx="{:.1f}" cy="{:.1f}" r="3" fill="{}"/>'.format(*at(point), colour)
                  for point in points]  # fmt: skip
        drawn.append(_text((WIDE - RIGHT + 12, y + 4), name, "start", colour))
    return "\n".join([*drawn, "</svg>"]) + "\n"


def _labelled(
    lines: Sequence[tuple[str, str, list[Point]]], at: Any
) -> Iterator[tuple[str, str, list[Point], float]]:
    """Each line with the height of its name: by its last point, 15 apart at least."""
    below = 0.0
    for name, colour, points in sorted(lines, key=lambda line: at(line[2][-1])[1]):
        below = max(at(points[-1])[1], below + 15.0)
        yield name, colour, points, below


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _share(value: float, decades: tuple[int, int]) -> float:
    return (math.log10(value) - decades[0]) / (decades[1] - decades[0])


def _line(start: Point, end: Point, colour: str) -> str:
    x, y = start
    return (
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}" stroke="{colour}"/>'
    )


def _text(place: Point, text: str, anchor: str, colour: str = "#333333") -> str:
    x, y = place
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{text}</text>'
