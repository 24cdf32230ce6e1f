"""No text twice: what an answer has given already is named instead.

    shown = Shown()
    for item in items: item = without_repeats(item, shown)

It depends on the items before only, so that items at a budget stay the first of those at a larger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from engine.model import NOWHERE, Passage
from engine.recall.items import Item

REPEATED_CHARACTERS = 40  # of a text from which it is not given twice


@dataclass(slots=True)
class Shown:
    """What an answer has given so far."""

    texts: dict[str, str] = field(default_factory=dict)  # text -> the name of what gave it first
    whole: dict[int, str] = field(default_factory=dict)  # engram whose body stands there -> name
    passages: dict[int, Item] = field(default_factory=dict)  # engram -> the item of its passages

    def give(self, name: str, *texts: str) -> None:
        """Note what `name` gives, unless another did before; a mere phrase is not noted."""
        for text in map(str.strip, texts):
            if len(text) >= REPEATED_CHARACTERS:
                self.texts.setdefault(text, name)

    def give_item(self, item: Item) -> None:
        """Note what an item gives."""
        self.give(item.name, item.body or "", *(one.text for one in item.passages))
        if item.surface != "engram" or item.entry is None:
            return
        if item.body:
            self.whole.setdefault(item.entry.no, item.name)
        if item.passages:
            self.passages.setdefault(item.entry.no, item)

    def holder(self, no: int, passage: Passage) -> str:
        """The name of what has shown all of a passage, or quote, of an engram; ""."""
        if passage.position and passage.span != NOWHERE and no in self.whole:
            return self.whole[no]
        item = self.passages.get(no)
        return item.name if item is not None and _within(passage, item.passages) else ""


def _within(passage: Passage, given: Sequence[Passage]) -> bool:
    """Does it stand in passages, in document order, of the same engram? A quote may go on from one
    to the next: a long paragraph is several parts."""
    if passage.span == NOWHERE:
        return any(one.position == passage.position for one in given)
    reached = passage.span.byte_start
    for one in given:
        if one.span.byte_start <= reached:
            reached = max(reached, one.span.byte_end)
    return reached >= passage.span.byte_end


def without_repeats(item: Item, shown: Shown) -> Item:
    """The item without text that `shown` has; what it gives itself is added.

    Text that is short enough to be a phrase of its own stays.
    """
    told = _fact(item, shown) if item.surface == "fact" else _text(item, shown)
    shown.give_item(told)
    return told


def _text(item: Item, shown: Shown) -> Item:
    passages = tuple(one for one in item.passages if one.text.strip() not in shown.texts)
    repeated = [shown.texts[one.text.strip()] for one in item.passages if one not in passages]
    body = item.body
    if body is not None and body.strip() in shown.texts:
        repeated.insert(0, shown.texts[body.strip()])
        body = None
    if not repeated:
        return item
    return replace(item, body=body, passages=passages, same_as=repeated[0])


def _fact(item: Item, shown: Shown) -> Item:
    """A quote keeps its place, but not a text that stands there, within another one or alone."""
    if item.fact is None or item.fact.quote is None or item.fact.quote_of is None:
        return item
    quote = item.fact.quote
    if len(quote.text.strip()) < REPEATED_CHARACTERS:
        return item
    holder = shown.holder(item.fact.quote_of.no, quote)
    same_as = holder or shown.texts.get(quote.text.strip(), "")
    if not same_as:
        return item
    bare = (replace(quote, text=""),)
    return replace(item, passages=bare, same_as=same_as, quoted_in=holder)
