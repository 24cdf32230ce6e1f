"""How well rankings and packs answer: the measures, and recall asked for both at once."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from engine.engine import Engine
from engine.model import Entry
from engine.namespace import Scope
from engine.recall.recall import recall as recalled
from engine.recall.request import RecallRequest

SCOPE = Scope((), exact=True)
DEEP = 100  # engrams that the vector channel alone may bring in, so that recall@100 has them
BUDGETS = (1_000, 2_000)
NAMES = (
    "nDCG@10", "recall@5", "recall@10", "recall@100", "MRR",
    *(f"in {budget:,} tokens" for budget in BUDGETS),
)  # fmt: skip

Grades = Mapping[str, int]  # path -> grade above 0
Measures = dict[str, float]  # name -> mean over the questions


@dataclass(frozen=True)
class Answer:
    """Paths, best first; and by budget those whose items are in the pack."""

    ranked: Sequence[str]
    within: Mapping[int, Sequence[str]] = field(default_factory=dict)


class _Unnoticed:
    """A store's reader, whose readers count as no demand: questions must not weigh on the next."""

    def __init__(self, engine: Engine) -> None:
        self._reading = engine.reading

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reading, name)

    def note(self, *_: object) -> None:
        """Nobody read anything."""


def ask(engine: Engine, question: str, **how: Any) -> Answer:
    """What recall answers, engrams at every altitude; `how` are fields of the request.

    With `of` one channel's own ranking is given, among what all of them found together.
    """
    of = how.pop("of", None)
    within: dict[int, Sequence[str]] = {}
    ranked: Sequence[str] = ()
    for budget in BUDGETS:
        last = budget == BUDGETS[-1]
        request = RecallRequest(
            question=question, budget=budget, altitude="entity", trace=last,
            **{"k": DEEP, **how},
        )  # fmt: skip
        pack = recalled(cast(Any, _Unnoticed(engine)), SCOPE, request, path_of=path_of)
        within[budget] = [path_of(item.entry) for item in pack.items]
        if pack.trace is not None:
            trace = cast(Any, pack.trace)
            rows = trace["ranked"] if of is None else trace["channels"].get(of, ())
            ranked = [row["path"] for row in rows]
    return Answer(ranked, within if of is None else {})


def path_of(entry: Entry) -> str:
    """`kind/slug`, as judgements name an engram."""
    return f"{entry.kind}/{entry.slug}"


def measured(answers: Iterable[tuple[Answer, Grades]]) -> Measures:
    """Means over the questions; budgets only where all answers have them."""
    found: dict[str, list[float]] = {}
    for answer, grades in answers:
        for name, value in _of_one(answer, grades).items():
            found.setdefault(name, []).append(value)
    return {name: statistics.mean(values) for name, values in found.items()}


def _of_one(answer: Answer, grades: Grades) -> Measures:
    ranked = answer.ranked
    return {
        "nDCG@10": ndcg(ranked, grades),
        **{f"recall@{depth}": recall(ranked, grades, depth) for depth in (5, 10, 100)},
        "MRR": reciprocal(ranked, grades),
        **{
            f"in {budget:,} tokens": recall(paths, grades, len(paths))
            for budget, paths in answer.within.items()
        },
    }


def ndcg(ranked: Sequence[str], grades: Grades, depth: int = 10) -> float:
    """Normalised discounted cumulated gain (Järvelin and Kekäläinen), gains as they are."""
    gained = sum(grades.get(id, 0) / math.log2(at + 2) for at, id in enumerate(ranked[:depth]))
    best = sorted(grades.values(), reverse=True)[:depth]
    return gained / sum(grade / math.log2(at + 2) for at, grade in enumerate(best))


def recall(ranked: Sequence[str], grades: Grades, depth: int = 100) -> float:
    """Share of the relevant engrams among the first `depth`."""
    return len(set(ranked[:depth]) & grades.keys()) / len(grades)


def reciprocal(ranked: Sequence[str], grades: Grades) -> float:
    """One over the rank of the first that answers best, 0 if none does."""
    best = max(grades.values())
    return next((1 / (at + 1) for at, id in enumerate(ranked) if grades.get(id) == best), 0.0)
