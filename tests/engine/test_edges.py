"""Edges in memory against a dictionary, while they are folded into columns and a graph."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from engine.edges import Edges
from engine.graph import Topology
from engine.store.edges import DANGLING, EdgeRow, columns_of

Rows = dict[int, tuple[EdgeRow, ...]]

NUMBERS = st.integers(0, 6)
TARGETS = st.one_of(st.just(DANGLING), NUMBERS)
ROWS = st.lists(
    st.builds(
        EdgeRow,
        source=st.just(0),
        relation=st.sampled_from(["mentions", "about"]),
        target=TARGETS,
        written=st.sampled_from(["a", "b", "note/c"]),
        confidence=st.one_of(st.none(), st.just(0.5)),
    ),
    max_size=4,
)
STEPS = st.lists(st.tuples(NUMBERS, ROWS), max_size=8)


def owned(source: int, rows: list[EdgeRow]) -> tuple[EdgeRow, ...]:
    return tuple(
        EdgeRow(source, row.relation, row.target, row.written, confidence=row.confidence)
        for row in rows
    )


def agree(edges: Edges, model: Rows) -> None:
    every = [row for no in sorted(model) for row in model[no]]
    assert sorted(edges.all(), key=lambda row: row.source) == every
    for no in range(8):
        assert edges.out(no) == model.get(no, ())
        into = [row for row in every if row.target == no != row.source]
        assert edges.into(no) == into
        assert edges.sources(no) == sorted({row.source for row in into})
    waiting = {row.source for row in every if row.target in (DANGLING, row.source)}
    assert waiting <= edges.waiting(["a", "b", "c", "note/c"])


class Writers:
    """A lock before whose second taking, the swap, somebody has written."""

    def __init__(self, write: Callable[[], None]) -> None:
        self._write = write
        self._taken = 0

    def __enter__(self) -> None:
        self._taken += 1
        if self._taken == 2:
            self._write()

    def __exit__(self, *_: object) -> None: ...


@given(STEPS, STEPS, STEPS, STEPS)
def test_edges_are_what_was_set(
    stored: list[tuple[int, list[EdgeRow]]],
    before: list[tuple[int, list[EdgeRow]]],
    between: list[tuple[int, list[EdgeRow]]],
    after: list[tuple[int, list[EdgeRow]]],
) -> None:
    model: Rows = {no: owned(no, rows) for no, rows in stored}
    edges = Edges(columns_of(row for no in sorted(model) for row in model[no]))

    def write(steps: list[tuple[int, list[EdgeRow]]]) -> None:
        for no, rows in steps:
            model[no] = owned(no, rows)
            edges.set(no, model[no])

    agree(edges, model)
    write(before)
    agree(edges, model)
    edges.fold(Writers(lambda: write(between)))
    agree(edges, model)
    assert edges.unfolded <= len({no for no, _ in between})
    write(after)
    agree(edges, model)
    if after:
        edges.erase(after[0][0])
        gone = after[0][0]
        model[gone] = ()
        for no, rows in model.items():
            model[no] = tuple(
                EdgeRow(no, row.relation, DANGLING, row.written, confidence=row.confidence)
                if row.target == gone
                else row
                for row in rows
            )
        agree(edges, model)


def test_a_topology_without_edges_knows_nobody() -> None:
    nothing = columns_of(())
    assert Topology(nothing.source, nothing.target).into(0) == []
