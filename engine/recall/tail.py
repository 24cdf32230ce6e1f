"""What follows the items, each within tokens of its own: sources, then chunks.

Each section stands whole or not at all; the first that does not fit ends its part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Tail:
    """Sections as they stand in the answer; `cut`: not all of that part did fit."""

    sources: tuple[str, ...] = ()
    chunks: tuple[str, ...] = ()
    sources_cut: bool = False
    chunks_cut: bool = False

    def shorter(self) -> Tail | None:
        """Without the last chunk, or else the last source; None when nothing is left."""
        if self.chunks:
            return replace(self, chunks=self.chunks[:-1], chunks_cut=True)
        if self.sources:
            return replace(self, sources=self.sources[:-1], sources_cut=True)
        return None


NO_TAIL = Tail()


def fitting(
    sections: Iterable[str],
    whole: Callable[[Sequence[str]], str],
    most: int,
    count: Callable[[str], int],
) -> tuple[tuple[str, ...], bool]:
    """(the first sections that have `most` tokens together as `whole` shows them, was one left)."""
    kept: list[str] = []
    for section in sections:
        if count(whole([*kept, section])) > most:
            return tuple(kept), True
        kept.append(section)
    return tuple(kept), False
