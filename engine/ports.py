"""What a host may plug into an engine: a reranker, and a hook on the text that is embedded.

Engine.open(store, reranker=mine, text_hook=expand)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

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
