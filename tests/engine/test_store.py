"""Opening, settings, migrations, transactions and what fails at the border to DuckDB."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import pytest

from engine.config import Config
from engine.errors import EngineError, SchemaTooNew, StoreCorrupt, StoreHeld
from engine.store import catalogue, meta, versions
from engine.store.catalogue import KindRow
from engine.store.connection import FILE, Store
from engine.store.extensions import extension_path
from engine.store.migrate import migrate, packaged
from tests.engine.store_rows import make

ROOT = Path(__file__).parents[2]


def python(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=120
    )


def commit(store: Store, **changes: object) -> versions.Version:
    with store.lock:
        row = make(store.counters.seq(), store.counters.engram(), **changes)  # type: ignore[arg-type]
        with store.transaction() as cursor:
            versions.append(cursor, row)
    return row


def setting(store: Store, name: str) -> object:
    with store.cursor() as cursor:
        return cursor.execute("SELECT current_setting(?)", [name]).fetchall()[0][0]


# -- opening --------------------------------------------------------------------------
def test_the_settings_of_the_design(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    assert setting(store, "autoinstall_known_extensions") is False
    assert setting(store, "autoload_known_extensions") is False
    assert setting(store, "temp_directory") == str(tmp_path / "tmp")
    assert setting(store, "memory_limit") == "256.0 MiB"
    for parts, limit in ((20_001, "512.0 MiB"), (500_001, "1.5 GiB"), (3, "256.0 MiB")):
        store.fit_memory(parts)
        assert setting(store, "memory_limit") == limit
    store.close()


def test_a_store_in_memory(tmp_path: Path) -> None:
    store = Store.open(":memory:")
    commit(store)
    other = Store.open(":memory:")
    with other.cursor() as cursor:
        assert versions.load_current(cursor) == []
    with store.cursor() as cursor:
        assert len(versions.load_current(cursor)) == 1
    assert store.checkpoint()
    store.close()
    other.close()


def test_temporary_files_of_a_killed_process_are_swept(tmp_path: Path) -> None:
    Store.open(tmp_path).close()
    (tmp_path / "tmp" / "bulk.duckdb").write_bytes(b"left")
    Store.open(tmp_path).close()
    assert list((tmp_path / "tmp").iterdir()) == []


def test_held_by_this_process(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    with pytest.raises(StoreHeld, match="held by this process"):
        Store.open(tmp_path)
    store.close()
    store.close()
    Store.open(tmp_path).close()


def test_held_by_another_process_is_named(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    program = (
        "import sys; from engine.store.connection import Store\n"
        "try: Store.open(sys.argv[1])\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    answer = python("-c", program, str(tmp_path)).stdout
    store.close()
    assert answer.startswith("StoreHeld")
    assert f"process {os.getpid()}" in answer


def test_held_by_a_plain_duckdb_is_named(tmp_path: Path) -> None:
    Store.open(tmp_path).close()
    program = (
        "import duckdb, sys; held = duckdb.connect(sys.argv[1]); print('open', flush=True)\n"
        "sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / FILE)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as holder:  # fmt: skip
        assert holder.stdout is not None and holder.stdin is not None
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(StoreHeld, match=f"process {holder.pid}"):
            Store.open(tmp_path)
        holder.stdin.close()
        holder.wait(60)
    Store.open(tmp_path).close()


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"not a database " * 1_000)
    with pytest.raises(StoreCorrupt, match="is damaged"):
        Store.open(tmp_path)


def test_a_flipped_header(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    commit(store)
    store.close()
    content = bytearray((tmp_path / FILE).read_bytes())
    for at in (5_000, 9_000):
        content[at] ^= 0xFF
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(StoreCorrupt, match="is damaged"):
        Store.open(tmp_path)
    assert (tmp_path / FILE).read_bytes() == content


def test_somebody_elses_database(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / FILE)) as other:
        other.execute("CREATE TABLE meta (key VARCHAR)")
    with pytest.raises(StoreCorrupt, match="not a store's"):
        Store.open(tmp_path)


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    for where in (str(tmp_path), ":memory:"):
        store = Store.open(where)
        store.close()
        with pytest.raises(EngineError, match="is closed"), store.cursor():
            pass
        with pytest.raises(EngineError, match="is closed"), store.transaction():
            pass


def test_a_failed_open_leaves_nothing_claimed(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    with store.transaction() as cursor:
        meta.put(cursor, "schema", 999)
    store.close()
    for _ in range(2):
        with pytest.raises(SchemaTooNew):
            Store.open(tmp_path)
    with duckdb.connect(str(tmp_path / FILE)) as plain:
        plain.execute("UPDATE meta SET value = '1' WHERE key = 'schema'")
    Store.open(tmp_path).close()


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EngineError, match="cannot be made"):
        Store.open(tmp_path / "file")


def test_extensions_are_found_in_their_packages() -> None:
    for name in ("fts", "vss"):
        assert extension_path(name).is_file()


# -- migrations -------------------------------------------------------------------------
def test_every_column_is_explained() -> None:
    for _, sql in packaged():
        for body in re.findall(r"CREATE TABLE \w+ \((.*?)\n\);", sql, re.DOTALL):
            for line in body.strip("\n").split("\n"):
                assert "--" in line, line


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
        cwd=ROOT, capture_output=True, text=True, timeout=120,
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
        catalogue.replace(cursor, [KindRow("b", "{}"), KindRow("a", '{"x": 1}')])
        catalogue.replace(cursor, [KindRow("c", "{}"), KindRow("a", "{}"), KindRow("", "[]")])
    with store.cursor() as cursor:
        assert meta.get(cursor, "schema") == "7"
        assert meta.get(cursor, "new") == "x"
        assert meta.get(cursor, "absent") is None
        assert [row.name for row in catalogue.load(cursor)] == ["c", "a", ""]
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
    present = load(store, index, fulltext, with_vectors=True)
    assert {int(seq) for seq in seqs if seq.strip()} <= {row.seq for row in present}
    snapshot = index.snapshot()
    for row in present:
        rows, _ = snapshot.postings(f"only{row.seq}")
        assert [int(snapshot.doc_engram[at]) for at in rows] == [row.engram]
    assert len(snapshot.postings("common")[0]) == len(present)
    store.close()
