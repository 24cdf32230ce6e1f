"""Vectors as stored: loaded in batches, shared by text, never of two models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.config import Config
from engine.errors import Unsupported
from engine.index import NO_HASH, Index
from engine.store import vectors, versions
from engine.store.connection import Store
from engine.store.documents import pack_documents
from engine.store.fulltext import Fulltext
from engine.store.loading import load
from engine.store.vectors import Model
from tests.engine.store_rows import make, put, text_hash

MINI = Model("mini", 4)


@pytest.fixture
def store() -> Iterator[Store]:
    store = Store.open(":memory:", Config(load_batch=7))
    yield store
    store.close()


def some(count: int, dimension: int = 4) -> tuple[list[bytes], np.ndarray]:
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(count, dimension)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return [text_hash(f"part {at}") for at in range(count)], rows


def test_vectors_come_back_as_they_were_in_batches(store: Store) -> None:
    hashes, rows = some(20)
    with store.transaction() as cursor:
        vectors.add(cursor, hashes[:15], rows[:15])
        vectors.add(cursor, hashes[15:], rows[15:])
        vectors.add(cursor, [], rows[:0])
    with store.cursor() as cursor:
        batches = list(vectors.load(cursor, 4, 7, damaged := []))
    assert damaged == []
    assert [len(batch) for batch, _ in batches] == [7, 7, 6]
    found = {
        hash: row.tolist()
        for batch, matrix in batches
        for hash, row in zip(batch, matrix, strict=True)
    }
    assert found == {hash: row.tolist() for hash, row in zip(hashes, rows, strict=True)}


def test_what_is_no_vector_of_length_1_is_left_out_and_dropped(store: Store) -> None:
    hashes, rows = some(20)
    wrong = {2: 2 * rows[2], 3: 0 * rows[3], 9: np.full(4, np.nan), 10: np.full(4, np.inf)}
    wrong |= {14: np.full(4, 3e38)}  # its square is beyond a float
    for at, row in wrong.items():
        rows[at] = row
    with store.transaction() as cursor:
        vectors.add(cursor, hashes, rows)
    with store.transaction() as cursor:
        cursor.execute("UPDATE vector SET embedding = 'x'::BLOB WHERE rowid = 16")
        cursor.execute("UPDATE vector SET hash = 'x'::BLOB WHERE rowid = 17")
    with store.transaction() as cursor:
        damaged: list[int] = []
        kept = [hash for some, _ in vectors.load(cursor, 4, 7, damaged) for hash in some]
        sound = [hash for at, hash in enumerate(hashes) if at not in {*wrong, 16, 17}]
        assert kept == sound and len(damaged) == 7
        vectors.drop_damaged(cursor, damaged)
        assert [hash for some, _ in vectors.load(cursor, 4, 7, []) for hash in some] == sound
        assert vectors.count(cursor) == 13


def test_another_model_is_refused_with_the_command_to_run(store: Store) -> None:
    with store.transaction() as cursor:
        vectors.agree(cursor, Model("first", 8))
        vectors.agree(cursor, MINI)  # no vector yet: nothing is mixed
        vectors.agree(cursor, MINI)
        vectors.add(cursor, *some(1))
    with (
        pytest.raises(Unsupported, match="engramfs reindex --embed") as refused,
        store.transaction() as cursor,
    ):
        vectors.agree(cursor, Model("other", 4))
    assert "mini" in str(refused.value)
    assert "other" in str(refused.value)
    with store.transaction() as cursor:
        assert vectors.model(cursor) == MINI
        vectors.drop_all(cursor)
        vectors.agree(cursor, Model("other", 4))
        assert vectors.model(cursor) == Model("other", 4)


def test_a_new_store_has_no_model(store: Store) -> None:
    with store.cursor() as cursor:
        assert vectors.model(cursor) is None


def test_loading_embeds_nothing_again(store: Store) -> None:
    index = Index()
    put(store, index, None, [["part", "0"], ["part", "1"], ["part", "99"]])
    hashes, rows = some(30)
    with store.transaction() as cursor:
        vectors.agree(cursor, MINI)
        vectors.add(cursor, hashes, rows)
    loaded = Index()
    load(store, loaded, Fulltext(store), with_vectors=True)
    assert loaded.pending() == [text_hash("part 99")]
    found = loaded.snapshot().cosines(rows[1])
    assert found[:2].tolist() == pytest.approx([rows[0] @ rows[1], rows[1] @ rows[1]], rel=1e-6)
    assert np.isnan(found[2])
    without = Index()
    load(store, without, Fulltext(store), with_vectors=False)
    assert np.isnan(without.snapshot().cosines(rows[1])).all()


def test_vectors_are_loaded_before_duckdb_may_use_more_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = Config(store_parts_small=1, store_memory_small=64 << 20, store_memory_medium=96 << 20)
    store = Store.open(tmp_path, config)
    put(store, Index(), None, [["part", "0"], ["part", "1"]])
    with store.transaction() as cursor:
        vectors.agree(cursor, MINI)
        vectors.add(cursor, *some(2))
    limits = []

    def limit() -> str:
        with store.cursor() as cursor:
            return str(cursor.execute("SELECT current_setting('memory_limit')").fetchall()[0][0])

    real = vectors.load

    def load_vectors(*given: Any) -> Iterator[tuple[list[bytes], np.ndarray]]:
        limits.append(limit())
        return real(*given)

    monkeypatch.setattr(vectors, "load", load_vectors)
    load(store, Index(), Fulltext(store), with_vectors=True)
    assert [*limits, limit()] == ["64.0 MiB", "96.0 MiB"]
    store.close()


def test_vectors_of_texts_that_no_version_has_are_dropped(store: Store) -> None:
    hashes, rows = some(4)
    used = make(
        1, 0, [["x"]], documents=pack_documents([1, 1], [hashes[2], NO_HASH])
    )  # fmt: skip
    with store.transaction() as cursor:
        versions.append(cursor, used)
        vectors.add(cursor, hashes, rows)
        assert vectors.drop_unused(cursor) == 3
        assert vectors.drop_unused(cursor) == 0
        [(kept, _)] = list(vectors.load(cursor, 4, 7, []))
    assert kept == [hashes[2]]


@pytest.mark.parametrize(("number", "left"), [(1_002, 1_002), (1_003, 1)])
def test_opening_drops_the_vectors_of_texts_long_gone_when_they_are_many(
    store: Store, number: int, left: int
) -> None:
    put(store, Index(), None, [["part", "5"]])
    hashes, rows = some(number)
    with store.transaction() as cursor:
        vectors.agree(cursor, MINI)
        vectors.add(cursor, hashes, rows)
    loaded = Index()
    load(store, loaded, Fulltext(store), with_vectors=True)
    assert loaded.pending() == []
    with store.cursor() as cursor:
        assert vectors.count(cursor) == left
