"""What the benchmarks share: alternating rounds, medians, one table and one JSON object.

Every figure stands beside its floor from the same run, because the machine's mood is in both.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

ROUNDS = 5


@dataclass
class Figure:
    """One thing measured, for each contestant once a round."""

    name: str
    unit: str  # "/s", "ms", "s"
    raw: dict[str, list[float]] = field(default_factory=dict)

    def median(self, contestant: str) -> float:
        return statistics.median(self.raw[contestant])


@dataclass(frozen=True)
class Target:
    """A promise: contestant's median against a number, or against `times` the floor's median.

    For a rate (`/s`) it is the least, for a time the most.
    """

    figure: str
    contestant: str
    number: float = 0.0
    times: float = 0.0
    floor: str = ""


def alternate(
    contestants: Sequence[str],
    measures: Mapping[str, tuple[str, Callable[[str], float]]],
    between: Callable[[str], None] = lambda contestant: None,
    rounds: int = ROUNDS,
) -> dict[str, Figure]:
    """Measure everything `rounds` times, in turn. `measures`: name -> (unit, how).

    `between` runs after each contestant, so that what it still does in the background is not laid
    upon the next one.
    """
    figures = {name: Figure(name, unit) for name, (unit, _) in measures.items()}
    for number in range(rounds):
        for contestant in contestants:
            print(f"round {number + 1} of {rounds}: {contestant}", file=sys.stderr, flush=True)
            for name, (_, measure) in measures.items():
                figures[name].raw.setdefault(contestant, []).append(measure(contestant))
            between(contestant)
    return figures


def percentile(
    figures: dict[str, Figure],
    figure: str,
    contestant: str,
    taken: Sequence[float],
    share: int,
    unit: str = "ms",
) -> None:
    """Add one round: the share's percentile of what was measured, seconds or a rate."""
    held = figures.setdefault(figure, Figure(figure, unit))
    value = float(np.percentile(taken, share)) * (1000 if unit == "ms" else 1)
    held.raw.setdefault(contestant, []).append(value)


def until_idle(pid: int, seconds: float = 30.0) -> None:
    """Return when the process has used no processor time for half a second."""
    deadline = time.monotonic() + seconds
    before = -1
    while before != (now := _ticks(pid)) and time.monotonic() < deadline:
        before = now
        time.sleep(0.5)


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def judge(target: Target, figures: Mapping[str, Figure]) -> tuple[bool, str]:
    """(kept, sentence)."""
    figure = figures[target.figure]
    value = figure.median(target.contestant)
    bound = target.number or target.times * figure.median(target.floor)
    kept = value >= bound if figure.unit == "/s" else value <= bound
    least = "at least" if figure.unit == "/s" else "at most"
    of = f" ({target.times:g} × {target.floor})" if target.times else ""
    said = "kept" if kept else "MISSED"
    shown = f"{_shown(value)}{figure.unit}, {least} {_shown(bound)}{figure.unit}{of}"
    return kept, f"{target.figure}: {shown}: {said}"


def report(
    title: str,
    figures: Mapping[str, Figure],
    contestants: Sequence[str],
    targets: Sequence[Target],
    more: Mapping[str, object] | None = None,
) -> bool:
    """Print the table, the targets and the JSON; True when every target is kept."""
    verdicts = [judge(target, figures) for target in targets]
    wide = max(len(name) for name in figures) + 2
    print(f"\n{title}: medians of the rounds; in brackets the rounds\n")
    for figure in figures.values():
        print(f"{figure.name} ({figure.unit})")
        for contestant in contestants:
            if contestant in figure.raw:
                rounds = " ".join(_shown(value) for value in figure.raw[contestant])
                median = _shown(figure.median(contestant))
                print(f"  {contestant:<{wide}}{median:>12}   [{rounds}]")
    print()
    for _, sentence in verdicts:
        print(sentence)
    result = {
        "benchmark": title,
        "machine": {
            "cpus": os.cpu_count(),
            "kernel": platform.release(),
            "python": platform.python_version(),
            "load": os.getloadavg()[0],
        },
        "figures": {
            figure.name: {
                "unit": figure.unit,
                "median": {name: figure.median(name) for name in figure.raw},
                "rounds": figure.raw,
            }
            for figure in figures.values()
        },
        "targets": [{"kept": kept, "sentence": sentence} for kept, sentence in verdicts],
        **(more or {}),
    }
    print("\n" + json.dumps(result))
    return all(kept for kept, _ in verdicts)


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
