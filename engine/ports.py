"""What a host may plug into an engine: a reranker, a hook on the text that is embedded, a
summariser for digests and a guard on what that is given.

Engine.open(store, reranker=mine, text_hook=expand, summariser=mine, guard=vet)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.model import Hit, Part

if TYPE_CHECKING:
    from engine.validation import Head


class Reranker(Protocol):
    """Puts the best candidates of a search or recall in another order, before the page is cut."""

    def rerank(self, question: str, candidates: Sequence[Hit]) -> Sequence[float]:
        """A score for each candidate, higher is better; what ties keeps its order.

        Candidates come best first with their summary and properties, and as evidence the whole
        text of their best passages (none in `find_objects`). It can neither add nor remove one.
        Whatever it raises, a score too few and one that is no finite number leave the order as it
        was, and the answer says so.
        """
        ...


class TextHook(Protocol):
    """Rewrites the text that is embedded for a part, or for an engram as such (position 0).

    It is called while a document is prepared and again before its vectors are made, so it depends
    on its arguments alone. After another hook comes into force, `reindex` embeds what changed.
    """

    def __call__(self, head: Head, part: Part) -> str:
        """The text instead of `part.embed_text`; "" leaves the part without a vector.

        What it raises fails the write. It is not asked where nothing is embedded: kinds with
        `embed: false`, headings without text of their own.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """One thing that a digest is made of: an engram, or the summary of a group of them.

    `vectors` has a row for each passage, normalised float32[passages, dimension]; a row of zeroes
    where a passage has no vector (yet). A group's summary has one row: the mean of its engrams'
    parts. None: nothing is embedded.
    """

    engram: int  # its number; -1: the summary of a group
    name: str  # "note/acme"; of a group the name of its digest, or ""
    title: str
    passages: tuple[str, ...]  # in document order, the first ones where the engram is long
    vectors: NDArray[np.float32] | None = None
    weight: float = 1.0  # by its edges, mean 1 over the namespace; of a group the mean


class Summariser(Protocol):
    """Makes a digest's text. One call at a time, never from the thread of a reader or writer."""

    @property
    def fingerprint(self) -> str:
        """What it is and how it is set: texts made under another fingerprint are made anew."""
        ...

    def summarise(self, texts: Sequence[Text], tokens: int) -> str:
        """A text of at most about so many tokens about all of them; the same for the same texts.

        Raises SummariserFailed with the reason; whatever else it raises counts as the same, and so
        does an empty answer. The digest stays stale then and is tried again later.
        """
        ...

    def stop(self) -> None:
        """End what is running: the engine closes. Called from another thread, perhaps twice."""
        ...


class Guard(Protocol):
    """Vets what a summariser is about to be given. It fails closed.

    One that has a method `stop`, like a summariser's, is told so when the engine closes.
    """

    def __call__(self, texts: Sequence[Text]) -> bool | None:
        """Raises GuardRefused with the reason; whatever else it raises refuses as well.

        Returns None or True to let them through, and only then.
        """
        ...
