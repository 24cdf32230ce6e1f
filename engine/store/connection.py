"""The open store: one DuckDB file, one writer at a time, a fresh cursor for every call.

No read transaction outlives a call. A commit only appends to DuckDB's log; the log is folded into
the file by `checkpoint`, never inside a commit, because a checkpoint that finds the disk full ends
the database while a commit that does is simply rolled back. A database that ended is opened again.
"""

from __future__ import annotations

import errno
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import duckdb

from engine.config import Config
from engine.errors import EngineError, StoreCorrupt
from engine.store import extensions, lock
from engine.store.counters import Counters
from engine.store.extensions import Cursor as Cursor
from engine.store.failures import full, is_fatal, translate
from engine.store.migrate import migrate

FILE = "engramfs.duckdb"
MEMORY = ":memory:"

log = logging.getLogger(__name__)


def _prepare(directory: Path) -> int:
    """Make the directories, claim the store, and drop what a killed process left in them."""
    try:
        temporary = directory / "tmp"
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary.mkdir(mode=0o700, exist_ok=True)
        claim = lock.claim(directory)
        for left in temporary.iterdir():
            if left.is_file():
                left.unlink(missing_ok=True)
        return claim
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise full(str(directory)) from error
        raise EngineError(
            f"the store {directory} cannot be made or written: {error.strerror}",
            "give another directory, or the right to write to this one",
        ) from error


class Store:
    """A store's database. Use `open`; close it once."""

    def __init__(self, directory: Path | None, config: Config) -> None:
        extensions.say_no_pandas()
        self.directory = directory
        self.config = config
        self.place = MEMORY if directory is None else str(directory)
        self.lock = threading.RLock()  # the writer lock
        self.troubles: dict[str, str] = {}  # what keeps failing in the background, by its name
        self._writing: Cursor | None = None
        self._connection: Cursor | None = None
        self._closed = False
        self._memory = config.store_memory_small
        self._claim = -1 if directory is None else _prepare(directory)
        try:
            self._connection = self._connect()
            with self.cursor() as cursor:
                migrate(cursor, self.place)
                self.counters = Counters.load(cursor)
        except BaseException:
            self._release()
            raise

    @classmethod
    def open(cls, where: Path | str, config: Config | None = None) -> Self:
        """Open or make the store in a directory, or one that lives in memory (":memory:").

        Raises StoreHeld, StoreCorrupt, SchemaTooNew, StoreFull.
        """
        if str(where) == MEMORY:
            return cls(None, config or Config())
        return cls(Path(where), config or Config())

    # -- reading and writing -------------------------------------------------
    @contextmanager
    def cursor(self) -> Iterator[Cursor]:
        """A fresh cursor for one call; DuckDB's errors come out as the engine's."""
        connection = self._live()
        cursor: Cursor | None = None
        try:
            cursor = connection.cursor()
            yield cursor
        except duckdb.Error as error:
            raise self._failed(error, connection) from error
        finally:
            if cursor is not None:
                cursor.close()

    @contextmanager
    def transaction(self, *, one_statement: bool = False) -> Iterator[Cursor]:
        """One write transaction under the writer lock: all of it, or nothing at any exception.

        Inside another transaction of the same thread it joins that one. `one_statement`: the body
        executes no more than that, so it needs no BEGIN and COMMIT, which cost half of it again.
        """
        with self.lock:
            if self._writing is not None:
                yield self._writing
                return
            connection = self._live()
            cursor: Cursor | None = None
            try:
                cursor = connection.cursor()
                if not one_statement:
                    cursor.execute("BEGIN")
                self._writing = cursor
                yield cursor
                if not one_statement:
                    cursor.execute("COMMIT")
            except duckdb.Error as error:
                _roll_back(cursor)
                raise self._failed(error, connection) from error
            except BaseException:
                _roll_back(cursor)
                raise
            finally:
                self._writing = None
                if cursor is not None:
                    cursor.close()
            if self.log_bytes() > self.config.checkpoint_bytes_max:
                self.checkpoint()

    @contextmanager
    def aside(self) -> Iterator[Cursor]:
        """One write transaction without the lock, for a table that nobody else writes or reads."""
        with self.cursor() as cursor:
            try:
                cursor.execute("BEGIN")
                yield cursor
                cursor.execute("COMMIT")
            except BaseException:
                _roll_back(cursor)
                raise

    # -- upkeep ----------------------------------------------------------------
    def log_bytes(self) -> int:
        """Size of DuckDB's log of commits that are not yet in the file itself."""
        if self.directory is None:
            return 0
        try:
            return (self.directory / f"{FILE}.wal").stat().st_size
        except FileNotFoundError:
            return 0

    def checkpoint(self) -> bool:
        """Fold the log into the file; False, with the reason in `troubles`, if it must wait.

        The commits are safe in the log either way.
        """
        with self.lock:
            if not self._room_for(self.log_bytes()):
                return self._put_off(full(self.place))
            connection = self._live()
            try:
                cursor = connection.cursor()
                try:
                    cursor.execute("CHECKPOINT")
                finally:
                    cursor.close()
            except duckdb.TransactionException as error:
                if "other write transactions active" not in str(error):
                    raise self._failed(error, connection) from error
                return False  # a fold fills its table; the next quiet moment is soon enough
            except duckdb.Error as error:
                return self._put_off(self._failed(error, connection))
        self.troubles.pop("checkpoint", None)
        return True

    def _room_for(self, size: int) -> bool:
        """The disk has so many bytes left: a checkpoint that runs out of them ends the database."""
        if self.directory is None:
            return True
        disk = os.statvfs(self.directory)
        return disk.f_bavail * disk.f_frsize >= size

    def _put_off(self, why: EngineError) -> bool:
        trouble = f"the log of the store cannot be folded into its file yet: {why.message}"
        log.warning("%s", trouble)
        self.troubles["checkpoint"] = trouble
        return False

    def fit_memory(self, parts: int) -> None:
        """Set DuckDB's memory limit for so many parts; a store in memory has nowhere else to be."""
        if self.directory is None:
            return
        config = self.config
        if parts <= config.store_parts_small:
            wanted = config.store_memory_small
        elif parts <= config.store_parts_medium:
            wanted = config.store_memory_medium
        else:
            wanted = config.store_memory_large
        if wanted != self._memory:
            with self.lock, self.cursor() as cursor:
                cursor.execute(f"SET memory_limit = '{wanted}B'")
            self._memory = wanted

    def new_inode(self) -> int:
        """A new inode number, from 2, never handed out before."""
        with self.lock:
            ready = self.counters.ready_inode()
            if ready is not None:
                return ready
            with self.cursor() as cursor:
                return self.counters.inode(cursor)

    def load_extension(self, name: str) -> None:
        """Load `fts` or `vss` for the whole database."""
        with self.cursor() as cursor:
            extensions.load(cursor, name)

    def close(self) -> None:
        """Checkpoint and let go of the store. A second call does nothing."""
        with self.lock:
            if not self._closed and self.log_bytes():
                self.checkpoint()
            self._release()

    # -- inside ------------------------------------------------------------------
    def _connect(self) -> Cursor:
        settings: dict[str, str | bool | int | float | list[str]] = {
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "allow_unsigned_extensions": "false",
            "threads": str(self.config.store_threads),
            "checkpoint_threshold": "1TB",  # never inside a commit; see `checkpoint`
        }
        path = MEMORY
        if self.directory is None:
            settings["temp_directory"] = ""  # else what does not fit goes to ./.tmp
        else:
            settings["memory_limit"] = f"{self._memory}B"
            settings["temp_directory"] = str(self.directory / "tmp")
            path = str(self.directory / FILE)
            if Path(f"{path}.wal").exists() and not Path(path).exists():
                raise StoreCorrupt(  # DuckDB would begin anew and throw the log away
                    f"the store {self.place} has the log {FILE}.wal, but no {FILE}",
                    "restore both from a backup, or move the log away",
                )
        try:
            connection = duckdb.connect(path, config=settings)
            # To read one text of FSST's it unpacks thousands: ten hits of a search took 40 ms, and
            # take 2. (Among the settings above DuckDB 1.5.5 overlooks this one.)
            connection.execute("SET disabled_compression_methods = 'fsst'")
            return connection
        except duckdb.Error as error:
            raise translate(error, self.place) from error

    def _failed(self, error: duckdb.Error, connection: Cursor) -> EngineError:
        """The engine's error; a database that ended is opened again first."""
        failure = translate(error, self.place)
        if is_fatal(error) and self.directory is not None:
            with self.lock:
                if self._connection is connection:
                    log.error("the database ended and is opened again: %s", error)
                    connection.close()
                    self._connection = None
                    self._live()
        return failure

    def _live(self) -> Cursor:
        """The connection; made again where an earlier attempt to do so failed."""
        connection = self._connection
        if connection is not None:
            return connection
        with self.lock:
            if self._closed:
                raise EngineError(f"the store {self.place} is closed")
            if self._connection is None:
                self._connection = self._connect()
            return self._connection

    def _release(self) -> None:
        self._closed = True
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._claim != -1:
            lock.give_up(self._claim)
            self._claim = -1


def _roll_back(cursor: Cursor | None) -> None:
    """Undo; after a failed COMMIT there is nothing left to undo, which DuckDB calls an error."""
    if cursor is None:
        return
    try:
        cursor.execute("ROLLBACK")
    except duckdb.TransactionException as error:
        if "no transaction is active" not in str(error):
            raise
    except duckdb.Error as error:
        if not is_fatal(error):
            raise
