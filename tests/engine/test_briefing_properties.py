"""Properties of every briefing: its budget, its constraints, its scope."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.briefing.forms import Markdown
from engine.briefing.pack import Briefing
from tests.engine.briefs import Store, left

TEXT = st.text("abc \n#>-*é水\u202e", max_size=40)
ENGRAMS = st.lists(
    st.tuples(
        st.sampled_from(["rule", "rule", "way", "finding", "task", "note"]),
        TEXT,
        st.integers(0, 40),
        st.booleans(),
        st.sampled_from([1, 1, 60, 230]),  # words of its title
    ),
    max_size=25,
)
COUNTERS: dict[str, Callable[[str], int]] = {
    "characters": len,
    "bytes": lambda text: len(text.encode()),
    "tenths": lambda text: len(text) // 10,
    "nothing": lambda text: 0,
    "much": lambda text: 10**6,
    "digits": lambda text: sum(map(int, filter(str.isdigit, text))),
    "odd": lambda text: (len(text) * 7919) % 1000,
    "falling": lambda text: max(0, 3000 - len(text)),
}


def fill(store: Store, engrams: Iterable[Any], **where: Any) -> None:
    for at, (kind, text, days, liked, words) in enumerate(engrams):
        title = " ".join(["é水"] * words)
        head = f"title: {title}\nsummary: {json.dumps(text)}\nfavourite: {str(liked).lower()}"
        store.put(f"{kind}/n{at}", f"---\n{head}\n---\n{text}\n", days=days, **where)


@given(
    ENGRAMS,
    st.sampled_from(sorted(COUNTERS)),
    st.integers(64, 700),
    st.sampled_from(["md", "json"]),
)
def test_never_over_the_cap_under_any_counter(
    engrams: list[Any], name: str, budget: int, format: str
) -> None:
    store = Store()
    fill(store, engrams)
    store.count = COUNTERS[name]
    budget += 448 if format == "json" else 0
    found = store.brief(f"budget={budget}&format={format}")
    text = found.rendered.decode()
    assert found.tokens == store.count(text)
    if found.rendered:
        assert found.tokens <= 2 * budget
        if any(note.section != "constraints" for note in found.notes):
            assert found.tokens <= budget
            assert found.constraints_left == 0
        if found.constraints_left:  # where nothing but `truncated` fits, their number may not
            whole = format == "json" or found.token in text
            assert text.count(left(found)) in ((1,) if whole else (0, 1))
    given_ = [note.entry.no for note in found.notes]
    assert len(given_) == len(set(given_)) == len(engrams) - found.omitted


@given(ENGRAMS, ENGRAMS, st.integers(64, 700))
@settings(max_examples=50)
def test_nothing_outside_the_scope_changes_an_answer(
    here: list[Any], elsewhere: list[Any], budget: int
) -> None:
    alone, beside = Store(), Store()
    fill(alone, here)
    fill(beside, here)
    fill(beside, elsewhere, namespace=(("team", "b"),))
    request = f"budget={budget}"
    assert alone.brief(request).rendered == beside.brief(request).rendered


def constraints(found: Briefing) -> list[int]:
    return [note.entry.no for note in found.notes if note.section == "constraints"]


@given(ENGRAMS, st.integers(64, 700), st.integers(0, 700))
@settings(max_examples=50)
def test_a_larger_budget_drops_none_of_the_first_constraints(
    engrams: list[Any], budget: int, more: int
) -> None:
    store = Store()
    fill(store, engrams)
    order = constraints(store.brief("budget=32768"))
    small, large = store.brief(f"budget={budget}"), store.brief(f"budget={budget + more}")

    def first(found: Briefing) -> int:
        """How many before the first that has no room."""
        shown = set(constraints(found))
        return next((at for at, no in enumerate(order) if no not in shown), len(order))

    assert len(order) == sum(kind == "rule" for kind, *_ in engrams)
    assert first(small) <= first(large)
    assert constraints(small) == [no for no in order if no in set(constraints(small))]


@given(ENGRAMS, st.integers(64, 700))
@settings(max_examples=50)
def test_no_constraint_is_left_out_that_has_room(engrams: list[Any], budget: int) -> None:
    """By characters, which add up: with the next one of those left out it would be too long."""
    store = Store()
    fill(store, engrams)
    store.count = len
    found = store.brief(f"budget={budget}")
    if not found.constraints_left or not found.token:
        return
    every = {note.entry.no: note for note in store.brief("budget=32768").notes}
    least = min(
        len(Markdown().note(replace(every[no], full=None, summary=""))) + 1
        for no in set(constraints(store.brief("budget=32768"))) - set(constraints(found))
    )
    spare = 2 * budget - found.tokens + (len(left(found)) + 2) * (found.constraints_left == 1)
    assert spare < least + 4, "4: the head is judged by its widest numbers"
