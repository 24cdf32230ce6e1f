"""Which mountpoints the settings ask for."""

from __future__ import annotations

from dataclasses import dataclass

from engramfs.settings import Settings
from engramfs.wire import Failed


@dataclass(frozen=True, slots=True)
class Point:
    """One mountpoint; `kind` is None in prefix mode."""

    path: str
    kind: str | None = None


def points(settings: Settings) -> tuple[Point, ...]:
    """The mountpoints in the order given. Failed (usage) when they make no sense."""
    if settings.text("mode") == "prefix":
        return (Point(settings.text("mountpoint")),)
    found = []
    for root in settings.names("roots"):
        kind, _, path = root.partition("=")
        if not kind or not path:
            raise Failed(f"the root {root} is not of the form KIND=DIR", 2)
        found.append(Point(path, kind))
    if not found:
        raise Failed("roots mode needs at least one --root KIND=DIR", 2)
    if len({point.kind for point in found}) < len(found):
        raise Failed("a kind has one root only", 2)
    return tuple(found)
