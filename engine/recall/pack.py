"""What fits the budget, in order, with its accounting.

Items are taken in fused order until the first that does not fit. An item is judged with the least
head, in which every number has its greatest width, so that whether n items fit depends on the
budget in one way only: a larger budget never holds fewer. Then the head is filled with what room is
left, and the whole answer is counted as it will be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from engine.model import Degraded
from engine.recall.answer import PLACEHOLDER_TOKEN, Extras, Form, Head, settle, token_of
from engine.recall.items import Item, reductions
from engine.recall.repeats import Shown, without_repeats
from engine.recall.tail import NO_TAIL, Tail

# What follows some items in the answer, when so many tokens are left for it.
TailOf = Callable[[Sequence[Item], int], Tail]

SLACK = 16  # tokens by which the sum of single counts may be off before the exact count
TOKEN_ATTEMPTS = 8


@dataclass(frozen=True, slots=True)
class Omitted:
    """Items left out: how many, and the paths of the first ones, as told in the answer."""

    count: int = 0
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pack:
    """An answer. `rendered` are its bytes; `tokens` is their count by `counter`, without the trace
    that may follow. `characters` are code points of the items' text. `cut_by` is what ended the
    items, budget or max_characters; "" where nothing did."""

    items: tuple[Item, ...]
    omitted: Omitted
    truncated: bool
    tokens: int
    characters: int
    counter: str
    warnings: tuple[str, ...]
    degraded: tuple[Degraded, ...]
    controls: Mapping[str, object]
    token: str
    rendered: bytes
    trace: Mapping[str, object] | None = None
    cut_by: str = ""


@dataclass(frozen=True, slots=True)
class Limits:
    """What an answer may have: tokens, code points of item text.

    `extra` tokens come on top of the budget, for the sources and chunks behind the items.
    """

    budget: int
    max_characters: int
    extra: int = 0
    widest_budget: int = 32_768  # the greatest number that a budget can be


@dataclass(frozen=True, slots=True)
class Account:
    """What is known about the answer before it is packed. `paths` are of all ranked, in order."""

    total: int
    paths: Sequence[str]
    counter: str
    controls: Mapping[str, object]
    changed: str
    degraded: tuple[Degraded, ...] = ()
    warnings: tuple[str, ...] = ()
    count_untagged: bool = False


@dataclass(slots=True)
class _Chosen:
    items: list[Item] = field(default_factory=list)
    sections: list[str] = field(default_factory=list)
    places: list[int] = field(default_factory=list)  # in the ranking; some rows may have vanished
    reduced: bool = False
    seen: int = 0  # of the ranking, taken or gone
    cut_by: str = ""

    def cut(self, most: int) -> None:
        if most < len(self.items):
            self.cut_by = "budget"
            self.seen = self.places[most]
            del self.items[most:], self.sections[most:], self.places[most:]


def pack(
    items: Iterable[Item | None],
    form: Form,
    account: Account,
    limits: Limits,
    count: Callable[[str], int],
    tail: TailOf = lambda *_: NO_TAIL,
) -> Pack:
    """Pack `items`, in fused order (None: a row that is gone), into an answer within `limits`.

    `items` is read lazily; `tail` gives what follows the items that are taken. `count` may be any
    function of a text; the answer never counts more than the budget by it, be it that nothing is
    left of the answer.
    """
    packer = _Packer(form, account, limits, count, tail)
    chosen = packer.choose(iter(items))
    while True:
        packed = packer.finish(chosen)
        if packed is not None:
            return packed
        if not chosen.items:
            return packer.nothing(chosen)
        chosen.reduced = False
        chosen.cut(len(chosen.items) - 1)


def fits(
    items: Sequence[Item | None],
    form: Form,
    account: Account,
    limits: Limits,
    count: Callable[[str], int],
) -> bool:
    """Would all of these items stand in the answer as they are?"""
    chosen = _Packer(form, account, limits, count, lambda *_: NO_TAIL).choose(iter(items))
    there = sum(item is not None for item in items)
    return len(chosen.items) == there and not chosen.reduced


class _Packer:
    def __init__(
        self,
        form: Form,
        account: Account,
        limits: Limits,
        count: Callable[[str], int],
        tail: TailOf,
    ) -> None:
        self._tail = tail
        self._form = form
        self._account = account
        self._limits = limits
        self._count = count

    def choose(self, items: Iterator[Item | None]) -> _Chosen:
        chosen = _Chosen()
        least = self._judged(chosen)
        estimate = least
        characters = 0
        shown = Shown()
        for place, item in enumerate(items):
            if item is None:
                chosen.seen = place + 1
                continue
            first = not chosen.items
            item = without_repeats(item, shown)
            characters += item.characters
            chosen.cut_by = "max_characters"
            if characters <= self._limits.max_characters:
                chosen.cut_by = "budget"
                section = self._form.section(item)
                tokens = self._count(section)
                estimate += tokens
                if estimate <= self._limits.budget + SLACK + len(chosen.items):
                    self._take(chosen, place, item, section, tokens)
                    chosen.cut_by = ""
                    continue
            if first:
                self._reduce(chosen, place, item, least)
            break
        self._shrink(chosen, least)
        return chosen

    def _take(self, chosen: _Chosen, place: int, item: Item, section: str, tokens: int) -> None:
        counted = replace(item, tokens=tokens)
        chosen.items.append(counted)
        chosen.sections.append(self._form.section(counted) if self._form.counts_items else section)
        chosen.places.append(place)
        chosen.seen = place + 1

    def _shrink(self, chosen: _Chosen, least: int) -> None:
        """Drop from the end what does not fit by an exact count."""
        while chosen.items and self._judged(chosen) > self._limits.budget:
            if len(chosen.items) == 1 and not chosen.reduced:
                place, item = chosen.places[0], chosen.items[0]
                chosen.cut(0)
                self._reduce(chosen, place, item, least)
                return
            chosen.cut(len(chosen.items) - 1)

    def _reduce(self, chosen: _Chosen, place: int, item: Item, least: int) -> None:
        """Take the first item with only its best passages, as many as fit; or not at all."""
        for smaller in reductions(item):
            if smaller.characters > self._limits.max_characters:
                continue
            section = self._form.section(smaller)
            tokens = self._count(section)
            if least + tokens > self._limits.budget + SLACK:
                continue
            self._take(chosen, place, smaller, section, tokens)
            chosen.reduced = True
            if self._judged(chosen) <= self._limits.budget:
                return
            chosen.cut(0)
            chosen.reduced = False

    def _judged(self, chosen: _Chosen) -> int:
        """Tokens of the answer with these items and the least head, at its widest."""
        head = self._head(chosen, self._limits.widest_budget, PLACEHOLDER_TOKEN)
        controls = {
            key: self._limits.widest_budget if key == "budget" else value
            for key, value in self._account.controls.items()
        }
        head = replace(head, controls=controls)
        return self._count(self._form.render(head, self._form.ladder(head)[-1], chosen.sections))

    def finish(self, chosen: _Chosen) -> Pack | None:
        """The answer with the fullest head that fits; None if even the least does not."""
        limits = self._limits
        room = limits.budget + limits.extra - self._judged(chosen)
        tail: Tail | None = self._tail(chosen.items, room)
        while tail is not None:
            packed = self._fullest(chosen, tail)
            if packed is not None:
                return packed
            tail = tail.shorter()
        return None

    def _fullest(self, chosen: _Chosen, tail: Tail) -> Pack | None:
        guess = self._judged(chosen)
        head = self._head(chosen, guess, PLACEHOLDER_TOKEN, tail)
        ladder = self._form.ladder(head)
        least = self._front(head, ladder[-1])
        room = self._limits.budget or self._limits.extra
        behind = self._count(self._form.sources(tail.sources) + self._form.chunks(tail.chunks))
        for extras in ladder:
            front = self._front(head, extras)
            last = extras is ladder[-1]
            if self._form.front_tokens is not None and front > self._form.front_tokens and not last:
                continue
            if guess - least + front > room + SLACK and not last:
                continue
            most = None if last else self._form.front_tokens
            for attempt in range(TOKEN_ATTEMPTS if last else 1):
                packed = self._render(
                    chosen, extras, guess - least + front + behind, attempt, tail, most
                )
                if packed is not None:
                    return packed
        return None

    def _render(
        self,
        chosen: _Chosen,
        extras: Extras,
        guess: int,
        attempt: int = 0,
        tail: Tail = NO_TAIL,
        most_front: int | None = None,
    ) -> Pack | None:
        """The answer, whose count stands in it; None when it has more tokens than it may, or more
        than `most_front` before the items."""
        account = self._account
        said = [
            repr(sorted(account.controls.items())), *chosen.sections, *tail.sources, *tail.chunks,
            *(f"{d.what} {d.reason}" for d in account.degraded), *account.paths[chosen.seen :][:20],
        ]  # fmt: skip

        fronts: dict[str, tuple[Head, Extras]] = {}

        def render(token: str, tokens: int | None, pad: int) -> str:
            padded = replace(extras, pad=pad)
            head = self._head(chosen, tokens, token, tail)
            text = self._form.render(head, padded, chosen.sections, tail)
            fronts[text] = (head, padded)
            return text

        text, tokens, token = settle(
            render, self._count, guess, lambda more: token_of(said, attempt + more)
        )
        if tokens > self._limits.budget + self._limits.extra:
            return None
        if most_front is not None and self._front(*fronts[text]) > most_front:
            return None
        head = self._head(chosen, tokens, token, tail)
        return self._pack(chosen, head, text, head.paths[: extras.paths])

    def nothing(self, chosen: _Chosen) -> Pack:
        """No head fits: tokens and `truncated` alone, or no byte at all."""
        packed = self._render(chosen, Extras(bare=True), self._limits.budget)
        if packed is not None:
            return packed
        return self._pack(chosen, self._head(chosen, self._count(""), ""), "", ())

    def _front(self, head: Head, extras: Extras) -> int:
        return self._count(self._form.render(head, extras, ()))

    def _head(self, chosen: _Chosen, tokens: int | None, token: str, tail: Tail = NO_TAIL) -> Head:
        account = self._account
        cut = (("sources", tail.sources_cut), ("chunks", tail.chunks_cut))
        untagged = [one for one in chosen.items if one.surface == "engram" and not one.tagged]
        return Head(
            tokens=tokens,
            omitted=max(account.total - chosen.seen, 0),
            paths=tuple(account.paths[chosen.seen : chosen.seen + 20]),
            truncated=chosen.seen < account.total or chosen.reduced,
            characters=sum(item.characters for item in chosen.items),
            token=token,
            counter=account.counter,
            controls=account.controls,
            changed=account.changed,
            degraded=account.degraded,
            warnings=(
                *account.warnings,
                *(f"not all {what} did fit" for what, was_cut in cut if was_cut),
            ),
            untagged=len(untagged) if account.count_untagged else None,
        )

    def _pack(self, chosen: _Chosen, head: Head, text: str, paths: tuple[str, ...]) -> Pack:
        return Pack(
            items=tuple(chosen.items),
            omitted=Omitted(head.omitted, paths),
            truncated=head.truncated,
            tokens=head.tokens if head.tokens is not None else self._count(text),
            characters=head.characters,
            counter=head.counter,
            warnings=head.warnings,
            degraded=head.degraded,
            controls=head.controls,
            token=head.token,
            rendered=text.encode("utf-8"),
            cut_by=chosen.cut_by,
        )
