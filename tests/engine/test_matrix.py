"""The rows of vectors: in blocks that never move once they are full."""

from __future__ import annotations

import numpy as np
import pytest

from engine import matrix
from engine.matrix import Matrix, Rows


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix, "BLOCK_ROWS", 8)


def some(count: int, dimension: int = 5) -> np.ndarray:
    return np.random.default_rng(count).normal(size=(count, dimension)).astype(np.float32)


def filled(given: np.ndarray, *sizes: int) -> Matrix:
    """A matrix that got the rows in pieces of these sizes, and then the rest one by one."""
    made, start = Matrix(), 0
    for size in (*sizes, *[1] * (len(given) - sum(sizes))):
        hashes = [str(at).encode() for at in range(start, start + size)]
        made.add(hashes, given[start : start + size])
        start += size
    return made


@pytest.mark.parametrize("sizes", [(), (30,), (3, 20), (8, 8), (9, 1, 7)])
def test_rows_are_the_same_however_they_came(sizes: tuple[int, ...]) -> None:
    given = some(30)
    held = filled(given, *sizes).view()
    assert len(held) == 30 and held.tolist() == given.tolist()
    assert np.array_equal(held[np.array([29, 0, 7, 8, 8])], given[[29, 0, 7, 8, 8]])
    assert held[np.array([], np.int64)].shape == (0, 5)
    query = some(1)[0]
    assert held @ query == pytest.approx(given @ query, rel=1e-5)


@pytest.mark.parametrize("rows", [[], [3], [0, 29, 8], list(range(30))])
def test_the_products_of_some_rows_are_those_of_all(rows: list[int]) -> None:
    given, query = some(30), some(1)[0]
    held = filled(given).view()
    assert held.products(np.array(rows, np.int32), query) == pytest.approx(given[rows] @ query)


def test_a_view_stays_as_it_was() -> None:
    given = some(30)
    made = filled(given[:5])
    before = made.view()
    made.add([b"x", b"y", b"z", b"w"], some(4))
    assert before.tolist() == given[:5].tolist() and len(made.view()) == 9


def test_a_full_block_is_never_copied() -> None:
    made = filled(some(20))
    blocks = made.view().blocks
    made.add([b"x" * at for at in range(1, 15)], some(14))
    after = made.view().blocks
    assert len(after) == 5 and all(a is b for a, b in zip(blocks[:2], after[:2], strict=True))


def test_reserved_room_is_used_and_another_dimension_takes_it_over() -> None:
    made = Matrix()
    made.reserve(20, 3)
    assert [len(block) for block in made.view().blocks] == [8, 8, 4]
    made.reserve(20, 5)
    reserved = made.view().blocks
    made.add([str(at).encode() for at in range(20)], some(20))
    assert all(a is b for a, b in zip(reserved, made.view().blocks, strict=True))


def test_no_rows() -> None:
    assert len(Rows()) == 0 and Rows().tolist() == []
    assert (Rows() @ np.zeros(3, np.float32)).shape == (0,)
