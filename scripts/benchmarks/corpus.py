"""Synthetic engrams with natural term frequencies, and questions sampled from them.

Words are made of syllables and drawn by Zipf's law (rank ** -1.07); the most frequent ranks are
English function words, so that natural questions meet them as they do in prose.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from engine.model import Draft

FUNCTION_WORDS = """
the of and to a in is that for it as was with be by on not he his but at are this have
from or had an they which one you were all her she there would their we him been has
when who will no more if out so up said what its about than into them can only other
time new some could these
""".split()  # noqa: SIM905  (read as prose, not as a column)
SYLLABLES = [c + v + e for c in "bcdfghklmnprstvz" for v in "aeiou" for e in ("", "n", "r", "s")]
VOCABULARY = 50_000
SECTIONS = 5
WORDS = 100
EXPONENT = 1.07
NATURAL = (
    "what is the {0} of the {1}",
    "how do I get from {0} to {1} when it is {2}",
    "who said that the {0} would be {1}",
    "why was the {0} not in the {1}",
    "which of these {0} is more {1} than the {2}",
)


class Corpus:
    """`engrams` documents of SECTIONS sections of WORDS words each; the seed fixes everything."""

    def __init__(self, engrams: int, seed: int = 7) -> None:
        self.engrams = engrams
        self._random = np.random.default_rng(seed)
        made = {
            "".join(self._random.choice(SYLLABLES, int(self._random.integers(2, 5))))
            for _ in range(2 * VOCABULARY)
        }
        content = sorted(made - set(FUNCTION_WORDS))
        self._random.shuffle(content)
        self.words = np.array((FUNCTION_WORDS + content)[:VOCABULARY])
        weights = np.arange(1, len(self.words) + 1, dtype=np.float64) ** -EXPONENT
        self._cumulated = np.cumsum(weights / weights.sum())

    def _sample(self, count: int, least: int = 0) -> NDArray[np.str_]:
        ranks = np.searchsorted(self._cumulated, self._random.random(count))
        clipped: NDArray[np.str_] = self.words[np.clip(ranks, least, len(self.words) - 1)]
        return clipped

    def body(self) -> str:
        """One document, of about 600 bytes a section."""
        sections = []
        for number in range(SECTIONS):
            text = " ".join(self._sample(WORDS).tolist())
            sections.append(f"## Section {number}\n\n{text}\n")
        return "\n".join(sections)

    def drafts(self, kind: str) -> Iterator[Draft]:
        """All documents, as they would be written to `kind`."""
        for number in range(self.engrams):
            source = f"# Document {number}\n\n{self.body()}".encode()
            yield Draft(kind, f"d{number:07}", source)

    def questions(self, sampled: int = 200, natural: int = 50) -> list[str]:
        """`sampled` of 2 to 8 terms drawn by frequency, then `natural` ones with function words."""
        first = len(FUNCTION_WORDS)
        short = [
            " ".join(self._sample(int(self._random.integers(2, 9))).tolist())
            for _ in range(sampled)
        ]
        long = [
            NATURAL[n % len(NATURAL)].format(*self._sample(3, least=first).tolist())
            for n in range(natural)
        ]
        return short + long
