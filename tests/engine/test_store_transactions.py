"""Migrations, transactions, numbers, full disks and kills: all or nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import pytest

from engine.config import Config
from engine.errors import EngineError, SchemaTooNew
from engine.store import catalogue, meta, versions
from engine.store.connection import FILE, Store
from engine.store.migrate import migrate, packaged
from tests.engine.store_rows import make

ROOT = Path(__file__).parents[2]


def commit(store: Store, **changes: object) -> versions.Version:
    with store.lock:
        row = make(store.counters.seq(), store.counters.engram(), **changes)  # type: ignore[arg-type]
        with store.transaction() as cursor:
            versions.append(cursor, row)
    return row


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    with store.transaction() as cursor:
        meta.put(cursor, "schema", 999)
    store.close()
    with pytest.raises(SchemaTooNew, match="schema 999, this program knows"):
        Store.open(tmp_path)


def test_each_migration_runs_once_and_a_failing_one_leaves_nothing() -> None:
    base = packaged()
    last = base[-1][0]
    with duckdb.connect() as connection:
        assert migrate(connection, "here") == last
        broken = [*base, (last + 1, "CREATE TABLE extra (x INTEGER); SELECT nothing_like_it()")]
        with pytest.raises(duckdb.Error):
            migrate(connection, "here", broken)
        assert meta.number(connection, "schema") == last
        mended = [*base, (last + 1, "CREATE TABLE extra (x INTEGER)")]
        for _ in range(2):
            assert migrate(connection, "here", mended) == last + 1
        with pytest.raises(SchemaTooNew):
            migrate(connection, "here", base)


# -- transactions ----------------------------------------------------------------------------
def test_all_or_nothing_at_any_exception() -> None:
    store = Store.open(":memory:")
    with pytest.raises(ZeroDivisionError), store.transaction() as cursor:
        versions.append(cursor, make(1, 0))
        raise ZeroDivisionError
    with pytest.raises(EngineError, match="could not do this"), store.transaction() as cursor:
        versions.append(cursor, make(1, 0))
        cursor.execute("SELECT no_such_column FROM version")
    commit(store)
    with store.cursor() as cursor:
        assert len(versions.load_current(cursor)) == 1
    store.close()


def test_a_transaction_inside_another_is_part_of_it() -> None:
    store = Store.open(":memory:")
    with pytest.raises(ZeroDivisionError), store.transaction() as outer:
        with store.transaction() as inner:
            assert inner is outer
            versions.append(inner, make(1, 0))
        raise ZeroDivisionError
    with store.cursor() as cursor:
        assert versions.load_current(cursor) == []
    store.close()


def test_readers_see_committed_rows_only() -> None:
    store = Store.open(":memory:")
    with store.transaction() as cursor:
        versions.append(cursor, make(1, 0))
        with store.cursor() as reader:
            assert versions.load_current(reader) == []
    with store.cursor() as reader:
        assert len(versions.load_current(reader)) == 1
    store.close()


def test_writers_wait_for_each_other(tmp_path: Path) -> None:
    store = Store.open(tmp_path)

    def several() -> None:
        for _ in range(20):
            commit(store)

    threads = [threading.Thread(target=several) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with store.cursor() as cursor:
        assert [row.seq for row in versions.load_current(cursor)] == list(range(1, 81))
    store.close()


def test_the_log_is_folded_into_the_file(tmp_path: Path) -> None:
    config = Config(checkpoint_bytes_max=200_000)
    store = Store.open(tmp_path, config)
    for _ in range(8):
        commit(store, source=b"x" * 50_000)
        assert store.log_bytes() < 260_000
    store.close()
    assert not (tmp_path / f"{FILE}.wal").exists()


def test_a_checkpoint_waits_for_a_fold_and_not_for_readers(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    commit(store)
    with store.aside() as cursor:
        cursor.execute("CREATE OR REPLACE TABLE posting_b (term INTEGER, doc BIGINT, tf INTEGER)")
        commit(store)
        assert not store.checkpoint()
    with store.cursor() as cursor:
        cursor.execute("BEGIN")
        assert len(versions.load_current(cursor)) == 2
        commit(store)
        assert store.checkpoint()
        assert len(versions.load_current(cursor)) == 2
    assert store.troubles == {}
    store.close()


def test_a_full_disk_refuses_cleanly_and_the_store_goes_on(tmp_path: Path) -> None:
    namespace = ["unshare", "--propagation", "unchanged"]
    namespace.append("--mount" if os.geteuid() == 0 else "-rm")
    done = subprocess.run(
        [*namespace, sys.executable, "-m", "tests.engine.full_disk", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("acknowledged")


# -- numbers ------------------------------------------------------------------------------
def test_numbers_are_never_given_twice(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    first = store.new_inode()
    row = commit(store, terms=[["a"], ["b"]], first_doc=store.counters.documents(2))
    with pytest.raises(ZeroDivisionError), store.transaction():
        rolled_back = store.new_inode()
        raise ZeroDivisionError
    store.close()
    store = Store.open(tmp_path)
    assert first >= 2
    assert store.new_inode() > rolled_back > first
    assert store.counters.seq() > row.seq
    assert store.counters.engram() > row.engram
    assert store.counters.documents(1) >= row.first_doc + 2
    store.close()


def test_erased_numbers_are_not_given_again(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    row = commit(store, terms=[["a"]] * 5, first_doc=store.counters.documents(5))
    with store.transaction() as cursor:
        store.counters.keep(cursor)
        cursor.execute("DELETE FROM version")
    store.close()
    store = Store.open(tmp_path)
    assert store.counters.seq() > row.seq
    assert store.counters.engram() > row.engram
    assert store.counters.documents(1) == row.first_doc + 5
    store.close()


def test_meta_and_catalogue_are_replaced() -> None:
    store = Store.open(":memory:")
    with store.transaction() as cursor:
        meta.put(cursor, "schema", 7)
        meta.put(cursor, "new", "x")
        catalogue.replace(cursor, [("b", "{}"), ("a", '{"x": 1}')])
        catalogue.replace(cursor, [("c", "{}"), ("a", "{}"), ("", "[]")])
    with store.cursor() as cursor:
        assert meta.get(cursor, "schema") == "7"
        assert meta.get(cursor, "new") == "x"
        assert meta.get(cursor, "absent") is None
        assert [name for name, _ in catalogue.load(cursor)] == ["c", "a", ""]
    store.close()


# -- kill -9 ----------------------------------------------------------------------------------
WRITER = """
import sys, threading
from engine.index import Index
from engine.store.connection import Store
from engine.store.fulltext import Fulltext
from engine.store.loading import load
from tests.engine.store_rows import put
store = Store.open(sys.argv[1])
index, fulltext = Index(), Fulltext(store)
load(store, index, fulltext, with_vectors=True)
def upkeep():
    while True:
        fulltext.fold(index)
        store.checkpoint()
        fulltext.bulk(index)
threading.Thread(target=upkeep, daemon=True).start()
while True:
    row = put(store, index, None, [["common", f"only{store.counters.next_seq}"]])
    print(row.seq, flush=True)
"""


@pytest.mark.parametrize("acknowledged", [3, 40, 111, 160])
def test_killed_at_any_moment_nothing_acknowledged_is_lost(
    tmp_path: Path, acknowledged: int
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as writer:  # fmt: skip
        assert writer.stdout is not None and writer.stderr is not None
        seqs = [writer.stdout.readline() for _ in range(acknowledged)]
        writer.kill()
        assert all(seqs), writer.stderr.read()
        seqs += writer.stdout.read().splitlines()
    from engine.index import Index
    from engine.store.fulltext import Fulltext
    from engine.store.loading import load

    with duckdb.connect(str(tmp_path / FILE)) as plain:  # once without our settings
        assert plain.execute("SELECT count(*) FROM version").fetchone() is not None
    store = Store.open(tmp_path)
    index, fulltext = Index(), Fulltext(store)
    present = load(store, index, fulltext, with_vectors=True).present
    assert {int(seq) for seq in seqs if seq.strip()} <= {row.seq for row in present}
    snapshot = index.snapshot()
    for row in present:
        rows, _ = snapshot.postings(f"only{row.seq}")
        assert [int(snapshot.doc_engram[at]) for at in rows] == [row.engram]
    assert len(snapshot.postings("common")[0]) == len(present)
    store.close()
