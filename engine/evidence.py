"""Which parts of an engram justify that it was found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.fusion import Floats, Ints, Longs

Parts = tuple[tuple[int, float], ...]  # (position, base) of an engram's evidence, best first


@dataclass(frozen=True, slots=True)
class Evidence:
    """The best parts of some engrams, best first: int32 and float64[engrams, most].

    A position of -1 is none.
    """

    positions: Ints
    scores: Floats

    def of(self, at: int) -> Parts:
        """Those of the engram in row `at`."""
        pairs = zip(self.positions[at].tolist(), self.scores[at].tolist(), strict=True)
        return tuple(pair for pair in pairs if pair[0] >= 0)


def no_evidence(numbers: Longs) -> Evidence:
    """For engrams that were found as wholes."""
    nothing = np.zeros((len(numbers), 0))
    return Evidence(nothing.astype(np.int32), nothing)
