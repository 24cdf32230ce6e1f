"""Opening, settings, migrations, transactions and what fails at the border to DuckDB."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from engine.errors import EngineError, SchemaTooNew, StoreCorrupt, StoreHeld
from engine.store import meta, versions
from engine.store.connection import FILE, Store
from engine.store.extensions import extension_path
from engine.store.migrate import packaged
from tests.engine.store_rows import make

ROOT = Path(__file__).parents[2]


def python(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=300
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


def test_a_file_cut_short(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    commit(store)
    store.close()
    os.truncate(tmp_path / FILE, 20_000)
    with pytest.raises(StoreCorrupt, match="is damaged"):
        Store.open(tmp_path)


def test_a_log_without_its_file_is_kept(tmp_path: Path) -> None:
    (tmp_path / f"{FILE}.wal").write_bytes(b"commits")
    with pytest.raises(StoreCorrupt, match=r"the log engramfs\.duckdb\.wal, but no"):
        Store.open(tmp_path)
    assert (tmp_path / f"{FILE}.wal").read_bytes() == b"commits"


def test_a_directory_in_the_place_of_the_file(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(StoreCorrupt, match="Is a directory"):
        Store.open(tmp_path)


def test_a_database_of_another_program(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / FILE)) as other:
        other.execute("CREATE TABLE meta (key VARCHAR)")
    with pytest.raises(StoreCorrupt, match="of SQLite"):
        Store.open(tmp_path)


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
        plain.execute("UPDATE meta SET value = ? WHERE key = 'schema'", [str(packaged()[-1][0])])
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


def test_a_store_in_memory_writes_nothing_beside_the_program() -> None:
    """DuckDB's own default is a directory `.tmp` where the program was started."""
    with closing(Store.open(":memory:")) as store, store.cursor() as cursor:
        found = cursor.execute("SELECT current_setting('temp_directory')").fetchone()
    assert found in ((None,), ("",))
