"""How well rankings and packs answer: the measures, and recall asked for both at once."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from engine.engine import Engine
from engine.model import Entry
from engine.namespace import Scope
from engine.recall.pack import Pack
from engine.recall.recall import recall as recalled
from engine.recall.request import RecallRequest

SCOPE = Scope((), exact=True)
DEEP = 100  # engrams that the vector channel alone may bring in, so that recall@100 has them
BUDGETS = (1_000, 2_000)
READY_SECONDS = 60.0
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


def ask(engine: Engine, question: str, budgets: Sequence[int] = BUDGETS, **how: Any) -> Answer:
    """What recall ranks, and packs within budgets; `how` are fields of the request.

    With `of` it is one channel's own ranking, among what all of them found together. Engrams stand
    for themselves, never a digest for them. RuntimeError when a channel did not run.
    """
    of = how.pop("of", None)
    request = RecallRequest(question=question, altitude="entity", **{"k": DEEP, **how})
    cheap = replace(
        request, budget=engine.config.recall_budget_min_json, detail="summary", limit=DEEP,
        trace=True, format="json",
    )  # fmt: skip
    trace = cast(Any, _recalled(engine, cheap).trace)
    rows = trace["ranked"] if of is None else trace["channels"].get(of, ())
    return Answer(
        [row["path"] for row in rows],
        {
            budget: _paths(_recalled(engine, replace(request, budget=budget)))
            for budget in (budgets if of is None else ())
        },
    )


def _recalled(engine: Engine, request: RecallRequest) -> Pack:
    reader = cast(Any, _Unnoticed(engine))
    pack = recalled(reader, SCOPE, request, path_of=path_of)
    if pack.degraded:
        raise RuntimeError(f"{pack.degraded[0].what} did not run: {pack.degraded[0].reason}")
    return pack


def _paths(pack: Pack) -> list[str]:
    return [path_of(cast(Entry, item.entry)) for item in pack.items if item.surface == "engram"]


def wait_until_ready(engine: Engine) -> None:
    """Return when times in questions are understood, soon after opening; TimeoutError."""
    deadline = time.monotonic() + READY_SECONDS
    request = RecallRequest(question="last week")
    reader = cast(Any, _Unnoticed(engine))
    while said := recalled(reader, SCOPE, request, path_of=path_of).degraded:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{said[0].what} does not run after a minute: {said[0].reason}")
        time.sleep(0.05)


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
