"""The folded full-text index: postings sorted by term, refilled at leisure and switched at once.

Two tables take turns. A fold fills the one that is not in use, outside the writer lock, from the
live postings of the other and those in memory; a bulk build fills it from an index that DuckDB's
own full-text extension makes of the stored terms. Then one small transaction under the lock says
which table counts and up to which document. Killed at any moment, the store is as before or as
after; what is not folded is read from the versions at open. Puts go on meanwhile and touch neither.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import duckdb
import numpy as np
from numpy.typing import NDArray

from engine.index import Index
from engine.snapshot import Snapshot
from engine.store import meta
from engine.store.connection import Store
from engine.store.documents import terms_proved
from engine.store.extensions import Cursor
from engine.store.folded import FoldedBase
from engine.tail import Tail

TABLES = ("posting_a", "posting_b")
_TERMS = 20_000  # terms whose postings are read at a time
_ENGRAMS = 1_000  # whose terms are proved at a time
BULK_FILE = "bulk.duckdb"
SEAL = "folded_seal"  # meta: see `_seal`

log = logging.getLogger(__name__)

Tails = Sequence[tuple[Tail, int]]
Fill = Callable[[str, int, Snapshot, Tails], dict[str, int]]


class Fulltext:
    """The folded index of one store. `fold` and `bulk` run in any thread, one at a time."""

    def __init__(self, store: Store) -> None:
        self.store = store
        with store.cursor() as cursor:
            rows = cursor.execute("SELECT text, id FROM term ORDER BY id").fetchall()
            table = meta.get(cursor, "posting_table") or TABLES[0]
            folded = meta.number(cursor, "folded_doc")
            whole = _is_whole(cursor, rows, table, folded)
        if not whole:
            log.error("the full-text index of the store is damaged; it is made anew from its texts")
            _forget(store)
            rows, table, folded = [], TABLES[0], 0
        self.vocabulary: dict[str, int] = dict(rows)  # of folded documents, term -> id
        self.base = FoldedBase(store, self.vocabulary, table, folded)
        self._replaced: weakref.ref[FoldedBase] | None = None
        self._folding = threading.Lock()

    def fold(self, index: Index) -> bool:
        """Move what is in memory into the base; documents that die meanwhile stay masked.

        False when it has to wait: a search still reads the table that is to be filled.
        """
        return self._replace(index, self._fill_from_tails)

    def bulk(self, index: Index, without: Collection[int] = ()) -> bool:
        """Build the base anew from the stored terms of all live documents, by the extension.

        `without` are engrams whose terms are damaged.
        """
        return self._replace(index, partial(self._fill_from_extension, without))

    def unproved(self) -> set[int]:
        """The live engrams whose stored terms are damaged; reads all terms."""
        found: set[int] = set()
        with self.store.cursor() as cursor:
            cursor.execute(
                "SELECT now.engram, row.state->>'sums', row.documents, held.terms "
                "FROM state AS now JOIN version AS row USING (seq) "
                "LEFT JOIN version AS held ON held.seq = now.parts_seq "
                "WHERE now.deleted_ns IS NULL "
                "AND now.seq IN (SELECT max(seq) FROM version GROUP BY engram)"
            )
            while rows := cursor.fetchmany(_ENGRAMS):
                found.update(row[0] for row in rows if not terms_proved(row[1] or "", *row[2:]))
        return found

    def worth_folding(self, index: Index) -> bool:
        """Enough documents are unfolded."""
        config = self.store.config
        share = config.fold_tail_share * (index.documents - index.tail_documents)
        return index.tail_documents >= max(config.fold_tail_parts, share)

    def outgrown(self, index: Index) -> bool:
        """More documents are unfolded than folded."""
        return 2 * index.tail_documents > index.documents

    # -- inside ---------------------------------------------------------------------
    def _replace(self, index: Index, fill: Fill) -> bool:
        with self._folding:
            if self._replaced is not None and self._replaced() is not None:
                return False
            self._switch(index, fill)
            return True

    def _switch(self, index: Index, fill: Fill) -> None:
        with self.store.lock:  # no commit is half way: the index has all documents below `folded`
            snapshot, tails = index.freeze_tail()
            folded = self.store.counters.next_doc
        target = TABLES[1 - TABLES.index(self.base.table)]
        new_terms = fill(target, folded, snapshot, tails)
        self.vocabulary.update(new_terms)
        with self.store.cursor() as cursor:
            seal = _seal(cursor, target, folded, len(self.vocabulary))
        base = FoldedBase(self.store, self.vocabulary, target, folded)
        with self.store.lock:
            with self.store.transaction() as cursor:
                meta.put(cursor, "posting_table", target)
                meta.put(cursor, "folded_doc", folded)
                meta.put(cursor, SEAL, seal)
            self._replaced = weakref.ref(self.base)
            self.base = base
            index.set_base(base, tails)
        self.store.fit_memory(index.documents)

    def _fill_from_tails(
        self, target: str, folded: int, snapshot: Snapshot, tails: Tails
    ) -> dict[str, int]:
        new, postings = self._number(snapshot, tails)
        live = snapshot.doc_number[snapshot.live & (snapshot.doc_number < self.base.folded)]
        with self.store.aside() as cursor:
            _empty(cursor, target)
            _add_terms(cursor, new)
            cursor.register("live_doc", {"doc": live})
            cursor.register("tail_posting", postings)
            cursor.execute(
                f"INSERT INTO {target} SELECT term, doc, tf FROM ("
                f"SELECT term, doc, tf FROM {self.base.table} SEMI JOIN live_doc USING (doc) "
                "UNION ALL SELECT term, doc, tf FROM tail_posting) ORDER BY term, doc"
            )
        return new

    def _number(
        self, snapshot: Snapshot, tails: Tails
    ) -> tuple[dict[str, int], dict[str, NDArray[np.int32] | NDArray[np.int64]]]:
        """The numbers of terms that are new, and the live postings of the tails as columns."""
        new: dict[str, int] = {}
        first = self._first_free()
        terms: list[NDArray[np.int32]] = [np.zeros(0, np.int32)]
        rows: list[NDArray[np.int32]] = [np.zeros(0, np.int32)]
        counts: list[NDArray[np.int32]] = [np.zeros(0, np.int32)]
        for tail, origin in tails:
            for term, at, tf in tail.items():
                number = self.vocabulary.get(term)
                if number is None:
                    number = new.setdefault(term, first + len(new))
                terms.append(np.full(len(at), number, np.int32))
                rows.append(at + np.int32(origin))
                counts.append(tf)
        row = np.concatenate(rows)
        live = snapshot.live[row]
        return new, {
            "term": np.concatenate(terms)[live],
            "doc": snapshot.doc_number[row[live]],
            "tf": np.concatenate(counts)[live],
        }

    def _fill_from_extension(
        self, without: Collection[int], target: str, folded: int, snapshot: Snapshot, tails: Tails
    ) -> dict[str, int]:
        self.store.load_extension("fts")
        with self._workshop() as (cursor, home):
            _index_stored_terms(cursor, home, folded, without)
            index = "bulk.fts_main_part_text"
            first = self._first_free()
            new = dict(
                cursor.execute(
                    f"SELECT term, {first} + row_number() OVER (ORDER BY termid) - 1 "
                    f"FROM {index}.dict WHERE term NOT IN (SELECT text FROM {home}.term)"
                ).fetchall()
            )
            cursor.execute("BEGIN")
            try:
                _empty(cursor, target)
                _add_terms(cursor, new)
                cursor.execute(
                    f"INSERT INTO {target} SELECT term.id, docs.name, count(*) "
                    f"FROM {index}.terms AS terms JOIN {index}.docs AS docs USING (docid) "
                    f"JOIN {index}.dict AS dict USING (termid) JOIN term ON term.text = dict.term "
                    "GROUP BY ALL ORDER BY ALL"
                )
                cursor.execute("COMMIT")
            except BaseException:
                cursor.execute("ROLLBACK")
                raise
        return new

    @contextmanager
    def _workshop(self) -> Iterator[tuple[Cursor, str]]:
        """A second database for the extension's own tables, so that the store's file never holds
        them: (cursor, the store's name in it). It is gone afterwards, or at the next open."""
        path = None
        if self.store.directory is not None:
            path = self.store.directory / "tmp" / BULK_FILE
        with self.store.cursor() as cursor:
            home = str(cursor.execute("SELECT current_database()").fetchall()[0][0])
            place = ":memory:" if path is None else str(path).replace("'", "''")
            cursor.execute(f"ATTACH '{place}' AS bulk")
            try:
                yield cursor, home
            finally:
                cursor.execute(f"USE {home}")
                cursor.execute("DETACH bulk")
                if path is not None:
                    path.unlink(missing_ok=True)
                    path.with_name(f"{BULK_FILE}.wal").unlink(missing_ok=True)

    def _first_free(self) -> int:
        return len(self.vocabulary)


def postings(
    cursor: Cursor, table: str
) -> Iterator[tuple[list[str], NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]]:
    """The postings of a folded table, some terms at a time.

    (texts of those terms, index into the texts int32[n], document int64[n], count int32[n]).
    """
    row = cursor.execute("SELECT max(id) FROM term").fetchone()
    end = int(row[0]) + 1 if row is not None and row[0] is not None else 0
    for first in range(0, end, _TERMS):
        texts = [""] * _TERMS
        for id, text in cursor.execute(
            f"SELECT id, text FROM term WHERE id >= {first} AND id < {first + _TERMS}"
        ).fetchall():
            texts[id - first] = text
        found = cursor.execute(
            f"SELECT term - {first} AS term, doc, tf FROM {table} "
            f"WHERE term >= {first} AND term < {first + _TERMS}"
        ).fetchnumpy()
        yield texts, found["term"], found["doc"], found["tf"]


def _seal(cursor: Cursor, table: str, folded: int, terms: int) -> str:
    """What a folded index is known by when it is opened again: its name, its reach, and sums.

    A posting or term that is missing, changed or too many shows in them. `terms` is how many it
    was made of; those of a fold that was killed come after them. Takes 0.3 s at 50 million.
    """
    (postings,) = cursor.execute(
        f"SELECT count(*), sum(term), sum(doc), sum(tf), max(doc) FROM {table}"
    ).fetchall()
    (texts,) = cursor.execute(
        f"SELECT count(*), bit_xor(hash(id || ' ' || text)) FROM term WHERE id < {terms}"
    ).fetchall()
    return " ".join(map(str, (table, folded, terms, *postings, *texts)))


def _is_whole(cursor: Cursor, rows: list[tuple[str, int]], table: str, folded: int) -> bool:
    """Is the folded index what was sealed? One that was made before there were seals is trusted."""
    numbers = [number for _, number in rows]
    if len(dict(rows)) != len(rows) or numbers != list(range(len(rows))) or table not in TABLES:
        return False
    seal = meta.get(cursor, SEAL)
    if seal is None:
        return True
    try:
        return seal == _seal(cursor, table, folded, int(seal.split(" ")[2]))
    except (ValueError, IndexError, duckdb.Error):  # a seal that is none; a table that is not there
        return False


def _forget(store: Store) -> None:
    """Nothing is folded: every document's terms are read from its version."""
    with store.transaction() as cursor:
        for table in TABLES:
            _empty(cursor, table)
        cursor.execute("DELETE FROM term")
        for key, value in (("posting_table", TABLES[0]), ("folded_doc", 0)):
            meta.put(cursor, key, value)
        cursor.execute(f"DELETE FROM meta WHERE key = '{SEAL}'")


def _empty(cursor: Cursor, table: str) -> None:
    """A fresh table: a deleted row would still be read over until the next checkpoint."""
    cursor.execute(
        f"CREATE OR REPLACE TABLE {table} "
        "(term INTEGER NOT NULL, doc BIGINT NOT NULL, tf INTEGER NOT NULL)"
    )


def _add_terms(cursor: Cursor, new: dict[str, int]) -> None:
    if new:
        cursor.execute(
            "INSERT INTO term SELECT unnest(?::INTEGER[]), unnest(?::VARCHAR[])",
            [list(new.values()), list(new)],
        )


def _index_stored_terms(cursor: Cursor, home: str, folded: int, without: Collection[int]) -> None:
    """Let the extension index the terms of all live documents below `folded`.

    Its tokeniser is told to do nothing but split at white space: the terms are analysed already.
    """
    cursor.execute(
        "CREATE TABLE bulk.part_text AS "
        "SELECT first_doc + nth - 1 AS doc, lines[nth] AS terms FROM ("
        "SELECT first_doc, lines, unnest(generate_series(1, len(lines))) AS nth FROM ("
        "SELECT now.first_doc, string_split(held.terms, chr(10)) AS lines "
        "FROM state AS now JOIN version AS held ON held.seq = now.parts_seq "
        "WHERE now.seq IN (SELECT max(seq) FROM version GROUP BY engram) "
        "AND now.deleted_ns IS NULL AND now.parts > 0 "
        f"AND now.first_doc + now.parts <= {folded} "
        f"AND now.engram NOT IN ({', '.join(map(str, without)) or '-1'}))) ORDER BY doc"
    )
    cursor.execute("USE bulk")
    cursor.execute(
        "PRAGMA create_fts_index('part_text', 'doc', 'terms', stemmer='none', stopwords='none', "
        "ignore='(\\s)+', strip_accents=0, lower=0, overwrite=1)"
    )
    cursor.execute(f"USE {home}")
