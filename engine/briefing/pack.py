"""What of a briefing fits its budget.

Constraints come first: all of them by title, then the first few in full, up to a cap of twice the
budget. One that has no room in full is told by its summary or its title; one whose title has none
is counted, and then nothing of less weight is told. Everything else is told in its order until the
budget is used up. The whole answer is counted as it will be read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from engine.briefing.forms import Form, Head, Told
from engine.briefing.notes import Note
from engine.recall.answer import PLACEHOLDER_TOKEN, settle, token_of

TOKEN_ATTEMPTS = 8


@dataclass(frozen=True, slots=True)
class Draft:
    """What could be told.

    `constraints` are the first of `constraints_total` by title; `fuller` are larger forms of the
    first of them, the largest first. `total` counts the engrams that could be named. `head` has
    what is known of the answer before it is packed.
    """

    constraints: Sequence[Note]
    constraints_total: int
    fuller: Sequence[Sequence[Note]]
    others: Sequence[Note]
    total: int
    head: Head


@dataclass(frozen=True, slots=True)
class Briefing:
    """An answer. `rendered` are its bytes, `tokens` is their count by `counter`.

    `omitted` counts the engrams in scope that it does not name, `constraints_left` the constraints
    among them; `truncated`: some for want of room.
    """

    notes: tuple[Note, ...]
    constraints_left: int
    omitted: int
    truncated: bool
    tokens: int
    counter: str
    controls: Mapping[str, object]
    token: str
    rendered: bytes


@dataclass(slots=True)
class _Told:
    """What is told of a draft: constraints as they are shown, by their place in it, and so many
    others."""

    constraints: dict[int, Note] = field(default_factory=dict)
    others: int = 0
    advice: bool = False


def pack(draft: Draft, form: Form, count: Callable[[str], int], budget: int, cap: int) -> Briefing:
    """The briefing within `budget`, or within `cap` where constraints need it.

    `count` may be any function of a text; the answer never counts more than the cap by it, be it
    that nothing is left of the answer.
    """
    packer = _Packer(draft, form, count, budget, cap)
    told = packer.choose()
    while True:
        found = packer.finish(told, budget if told.others else cap)
        if found is not None:
            return found
        if not _shrink(told, draft):
            return packer.nothing()


def _shrink(told: _Told, draft: Draft) -> bool:
    """Leave out the last thing that was put in; False when nothing is left to leave out."""
    fuller = [at for at, note in told.constraints.items() if note is not draft.constraints[at]]
    if told.others:
        told.others -= 1
    elif fuller:
        told.constraints[fuller[-1]] = draft.constraints[fuller[-1]]
    elif told.constraints:
        told.constraints.popitem()
    elif told.advice:
        told.advice = False
    else:
        return False
    return True


class _Packer:
    def __init__(
        self, draft: Draft, form: Form, count: Callable[[str], int], budget: int, cap: int
    ) -> None:
        self._draft = draft
        self._form = form
        self._count = count
        self._budget = budget
        self._cap = cap
        self._texts: dict[int, str] = {}  # by the id of a note, of which the draft holds all
        self._usual = draft.head
        # A head that takes the whole budget tells less of itself.
        for usual in (
            draft.head,
            replace(draft.head, controls={}, changed=""),
            replace(draft.head, controls={}, changed="", reasons=False),
        ):
            self._usual = usual
            if self._tokens(_Told()) <= budget:
                break

    def choose(self) -> _Told:
        """As much as fits by an exact count of the answer with the widest numbers in its head."""
        draft, cap = self._draft, self._cap
        advice = self._tokens(_Told(advice=True)) <= self._budget
        told = _Told(self._titles(advice), advice=advice)
        for at, forms in enumerate(draft.fuller):
            title = told.constraints.get(at)
            if title is None:
                continue
            for fuller in forms:
                told.constraints[at] = fuller
                if self._tokens(told) <= cap:
                    break
                told.constraints[at] = title
        if not self._left(told):
            told.others = _most(
                lambda n: self._tokens(replace(told, others=n)) <= self._budget, len(draft.others)
            )
        return told

    def _titles(self, advice: bool) -> dict[int, Note]:
        """The titles of constraints that have room, the first ones first. Where one has none, those
        that are as long have none either; shorter ones are tried."""
        told: dict[int, Note] = {}
        rest = list(enumerate(self._draft.constraints))

        def fits(more: int) -> bool:
            wider = _Told({**told, **dict(rest[:more])}, advice=advice)
            return self._tokens(wider) <= self._cap

        while rest:
            fitting = _most(fits, len(rest))
            told |= dict(rest[:fitting])
            missed, rest = rest[fitting : fitting + 1], rest[fitting + 1 :]
            for _, long in missed:
                rest = [one for one in rest if self._length(one[1]) < self._length(long)]
        return told

    def finish(self, told: _Told, limit: int) -> Briefing | None:
        """The answer with the true numbers; None if that does not fit."""
        for attempt in range(TOKEN_ATTEMPTS):
            found = self._render(told, attempt)
            if found.tokens <= limit:
                return found
        return None

    def nothing(self) -> Briefing:
        """No head fits: tokens and `truncated`, with the number of constraints if that has room; or
        no byte at all."""
        for unsaid in (True, False):
            found = self._render(_Told(), bare=True, unsaid=unsaid)
            if found.tokens <= self._cap:
                return found
        return replace(found, tokens=self._count(""), token="", rendered=b"")

    def _render(
        self, told: _Told, attempt: int = 0, *, bare: bool = False, unsaid: bool = True
    ) -> Briefing:
        notes = self._notes(told)
        texts = self._as_told(notes)
        head = replace(self._head(told), bare=bare)
        if not unsaid:
            head = replace(head, unsaid="")
        said = self._form.render(replace(head, token=""), texts, 0)

        def render(token: str, tokens: int | None, pad: int) -> str:
            return self._form.render(replace(head, tokens=tokens, token=token), texts, pad)

        text, tokens, token = settle(
            render, self._count, self._tokens(told), lambda more: token_of([said], attempt + more)
        )
        return Briefing(
            notes=notes,
            constraints_left=self._left(told),
            omitted=head.omitted,
            truncated=head.truncated,
            tokens=tokens,
            counter=head.counter,
            controls=self._draft.head.controls,
            token=token,
            rendered=text.encode("utf-8", "backslashreplace"),
        )

    def _tokens(self, told: _Told) -> int:
        texts = self._as_told(self._notes(told))
        return self._count(self._form.render(self._head(told), texts, 0))

    def _as_told(self, notes: Sequence[Note]) -> list[Told]:
        return [(note.section, self._text(note)) for note in notes]

    def _text(self, note: Note) -> str:
        if id(note) not in self._texts:
            self._texts[id(note)] = self._form.note(note)
        return self._texts[id(note)]

    def _length(self, note: Note) -> int:
        return self._count(self._text(note))

    def _notes(self, told: _Told) -> tuple[Note, ...]:
        return (*told.constraints.values(), *self._draft.others[: told.others])

    def _left(self, told: _Told) -> int:
        return self._draft.constraints_total - len(told.constraints)

    def _head(self, told: _Told) -> Head:
        """With the widest number of tokens, and a token as wide as any."""
        draft, left = self._draft, self._left(told)
        fullest = dict(enumerate(forms[0] for forms in draft.fuller))
        unsaid = ""
        if left:
            plural = "constraint does" if left == 1 else "constraints do"
            unsaid = f"{left} more {plural} not fit: a larger budget shows more."
        return replace(
            self._usual,
            tokens=self._cap,
            omitted=draft.total - len(self._notes(told)),
            truncated=bool(left)
            or told.others < len(draft.others)
            or any(told.constraints.get(at) is not note for at, note in fullest.items()),
            token=PLACEHOLDER_TOKEN,
            unsaid=unsaid,
            advice=draft.head.advice if told.advice else "",
        )


def _most(fits: Callable[[int], bool], limit: int) -> int:
    """The greatest number up to `limit` that fits, where all below it do; 0 if none does. All of
    them are tried first: then nothing has to be said of those left out."""
    if fits(limit):
        return limit
    low, high = 0, limit - 1
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low
