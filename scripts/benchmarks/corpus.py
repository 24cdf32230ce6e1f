"""Synthetic engrams with natural term frequencies and clustered vectors, and questions for them.

Words are made of syllables and drawn by Zipf's law (rank ** -1.07); the most frequent ranks are
English function words, so that natural questions meet them as they do in prose. The seed fixes
everything, whatever the number of documents.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.embed import Embedder
from engine.model import Draft

FUNCTION_WORDS = """
the of and to a in is that for it as was with be by on not he his but at are this have
from or had an they which one you were all her she there would their we him been has
when who will no more if out so up said what its about than into them can only other
time new some could these
""".split()  # noqa: SIM905  (read as prose, not as a column)
SYLLABLES = [c + v + e for c in "bcdfghklmnprstvz" for v in "aeiou" for e in ("", "n", "r", "s")]
LONGEST = 4  # syllables of a word
VOCABULARY = 50_000
SECTIONS = 5
PARTS = SECTIONS + 2  # of a document: its head, the section of its title, and these
WORDS = 100
EXPONENT = 1.07
NATURAL = (
    "what is the {0} of the {1}",
    "how do I get from {0} to {1} when it is {2}",
    "who said that the {0} would be {1}",
    "why was the {0} not in the {1}",
    "which of these {0} is more {1} than the {2}",
)
TOPICS = 500  # clusters of vectors; a document's parts are of one
SPREAD = 1.0  # length of the noise beside a centre of 1: texts of a topic have cosines around 0.5
NOISE = 1 << 22  # floats that the noise is cut from

Vectors = NDArray[np.float32]


class Corpus:
    """`engrams` documents of SECTIONS sections of WORDS words each."""

    def __init__(self, engrams: int, seed: int = 7) -> None:
        self.engrams = engrams
        self._random = np.random.default_rng(seed)
        self._asking = np.random.default_rng((seed, 1))
        drawn = self._random.integers(len(SYLLABLES), size=(2 * VOCABULARY, LONGEST)).tolist()
        lengths = self._random.integers(2, LONGEST + 1, 2 * VOCABULARY).tolist()
        made = dict.fromkeys(
            "".join([SYLLABLES[one] for one in word[:length]])
            for word, length in zip(drawn, lengths, strict=True)
        )
        content = [word for word in made if word not in FUNCTION_WORDS]
        self.words = np.array((FUNCTION_WORDS + content)[:VOCABULARY], dtype=object)
        weights = np.arange(1, len(self.words) + 1, dtype=np.float64) ** -EXPONENT
        self._cumulated = np.cumsum(weights / weights.sum())

    def _sample(self, random: np.random.Generator, count: int, least: int = 0) -> list[str]:
        """Words by frequency, those of the ranks from `least` on."""
        below = self._cumulated[least - 1] if least else 0.0
        ranks = np.searchsorted(self._cumulated, random.uniform(below, 1.0, count))
        drawn: list[str] = self.words[np.minimum(ranks, len(self.words) - 1)].tolist()
        return drawn

    def body(self) -> str:
        """One document, of about 600 bytes a section."""
        words = self._sample(self._random, SECTIONS * WORDS)
        return "\n".join(
            f"## Section {number}\n\n{' '.join(words[number * WORDS : (number + 1) * WORDS])}\n"
            for number in range(SECTIONS)
        )

    def drafts(self, kind: str) -> Iterator[Draft]:
        """All documents, as they would be written to `kind`."""
        for number in range(self.engrams):
            source = f"# Document {number}\n\n{self.body()}".encode()
            yield Draft(kind, f"d{number:07}", source)

    def questions(self, sampled: int = 200, natural: int = 50) -> list[str]:
        """`sampled` of 2 to 8 terms drawn by frequency, then `natural` ones with function words.

        The terms are none of the function words, which a question would lose as stop words.
        """
        first, random = len(FUNCTION_WORDS), self._asking
        short = [
            " ".join(self._sample(random, int(random.integers(2, 9)), least=first))
            for _ in range(sampled)
        ]
        long = [
            NATURAL[n % len(NATURAL)].format(*self._sample(random, 3, least=first))
            for n in range(natural)
        ]
        return short + long


class ClusteredVectors:
    """An embedder whose vectors lie in TOPICS clusters, made from the text alone in no time.

    A passage belongs to the topic of its first line (its document's title), a question to one of
    its own. With a `model` a question is embedded for real, and that vector thrown away, so that it
    costs what it costs; without one a question that was asked before is answered from memory.
    """

    fingerprint = f"clustered vectors, {TOPICS} topics, spread {SPREAD}"
    max_tokens = 256

    def __init__(self, dimension: int = 384, model: Embedder | None = None) -> None:
        self.dimension = dimension
        self.model = model
        self._asked: dict[str, Vectors] = {}
        random = np.random.default_rng(11)
        centres = random.normal(size=(TOPICS, dimension))
        self._centres = (centres / np.linalg.norm(centres, axis=1, keepdims=True)).astype("f4")
        self._noise = random.normal(size=NOISE, scale=SPREAD / np.sqrt(2 * dimension)).astype("f4")

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """float32[len(texts), dimension]."""
        return self._made([(text.partition("\n")[0], text) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        """float32[dimension]."""
        if self.model is not None:
            self.model.embed_query(text)
        if text not in self._asked:
            self._asked[text] = self._made([(text, text)])[0]
        return self._asked[text]

    def count_tokens(self, text: str) -> int:
        """A word is a token, as nearly as matters here."""
        return self.model.count_tokens(text) if self.model is not None else len(text.split())

    def release(self) -> None:
        """There is nothing to let go of."""

    def _made(self, texts: Sequence[tuple[str, str]]) -> Vectors:
        topics = [_number(topic) % TOPICS for topic, _ in texts]
        places = np.array([_number(text) for _, text in texts], np.uint64)
        along = np.arange(self.dimension)
        room = np.uint64(NOISE - self.dimension)
        first = (places % room).astype(np.int64)[:, None] + along
        second = (places // room % room).astype(np.int64)[:, None] + along
        made = self._centres[topics] + self._noise[first] + self._noise[second]
        unit: Vectors = made / np.linalg.norm(made, axis=1, keepdims=True)
        return unit


def _number(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
