"""Every table of the index damaged in a closed store: never a wrong or empty answer in silence."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest

from engine.embed import Floats
from engine.errors import EmbedderFailed, StoreCorrupt
from engine.store.connection import FILE
from tests.engine.desk import HERE, Desk
from tests.engine.hash_embedder import HashEmbedder

WORDS = ("pumps", "valves", "motors")
NOTICED = "the full-text index of the store is damaged"

# Statements, with {base} for the table of postings in use.
DAMAGE = {
    "postings are missing": "DELETE FROM {base} WHERE term % 2 = 0",
    "all postings are missing": "DELETE FROM {base}",
    "postings are too many": "INSERT INTO {base} VALUES (0, 2, 1)",
    "a count is wrong": "UPDATE {base} SET tf = tf + 1 WHERE term = 1",
    "a document is wrong": "UPDATE {base} SET doc = doc + 1 WHERE term = 1",
    "a posting has another term": "UPDATE {base} SET term = 0 WHERE term = 1",
    "the table is not there": "DROP TABLE {base}",
    "terms are missing": "DELETE FROM term WHERE id % 2 = 0",
    "the last term is missing": "DELETE FROM term WHERE id = (SELECT max(id) FROM term)",
    "a term is spelled otherwise": "UPDATE term SET text = text || 'x' WHERE text = 'pump'",
    "terms are swapped": "UPDATE term SET id = CASE id WHEN 0 THEN 1 ELSE 0 END WHERE id < 2",
    "terms share a number": "UPDATE term SET id = 0",
    "a term is there twice": "INSERT INTO term SELECT id + 1000, text FROM term",
    "the other table is in use": "UPDATE meta SET value = CASE value WHEN 'posting_a' "
    "THEN 'posting_b' ELSE 'posting_a' END WHERE key = 'posting_table'",
    "a table of no such name is in use": "UPDATE meta SET value = 'x' WHERE key = 'posting_table'",
    "less is folded": "UPDATE meta SET value = '2' WHERE key = 'folded_doc'",
    "more is folded": "UPDATE meta SET value = '99' WHERE key = 'folded_doc'",
    "it is not said how much is folded": "DELETE FROM meta WHERE key = 'folded_doc'",
    "the seal is none": "UPDATE meta SET value = 'x' WHERE key = 'folded_seal'",
}


def filled(place: Path, **options: object) -> Desk:
    """A store whose index is folded, and a document that is not."""
    desk = Desk(place, **options)
    for number, word in enumerate(WORDS):
        desk.put(f"n{number}", f"# About\n\n{word} and {WORDS[number - 1]}\n")
    assert desk.engine._upkeep.fulltext.fold(desk.engine._state.index)
    desk.put("late", "# Late\n\npumps\n")
    return desk


def found(desk: Desk) -> dict[str, list[tuple[str, float]]]:
    """Every answer with its scores."""
    pages = {word: desk.engine.search(HERE, word).hits for word in WORDS}
    return {
        word: [(hit.entry.slug, round(hit.score, 6)) for hit in hits]
        for word, hits in pages.items()
    }


def harm(desk: Desk, *statements: str) -> None:
    """Change the file of the closed store."""
    desk.engine.close()
    connection = duckdb.connect(str(Path(desk.where) / FILE))
    rows = connection.execute("SELECT value FROM meta WHERE key = 'posting_table'").fetchall()
    for statement in statements:
        connection.execute(statement.format(base=rows[0][0]))
    connection.close()


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_index_is_noticed_and_made_anew(
    tmp_path: Path, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    desk = filled(tmp_path)
    right = found(desk)
    assert [slug for slug, _ in right["pumps"]] != []
    harm(desk, DAMAGE[what])
    with caplog.at_level(logging.ERROR):
        desk.engine = desk._open()
    assert NOTICED in caplog.text
    assert found(desk) == right
    desk.sound()
    for build in (desk.engine._upkeep.fulltext.fold, desk.engine._upkeep.fulltext.bulk):
        assert build(desk.engine._state.index)
        assert found(desk) == right
        desk.sound()
    caplog.clear()
    desk.reopen()
    assert NOTICED not in caplog.text
    assert found(desk) == right
    desk.sound()
    desk.engine.close()


def test_what_the_sums_do_not_show_check_does(tmp_path: Path) -> None:
    """Two counts changed against one another leave every sum as it was."""
    desk = filled(tmp_path)
    right = found(desk)
    harm(
        desk,
        "UPDATE {base} SET tf = tf + 1 WHERE rowid = 0",
        "UPDATE {base} SET tf = tf - 1 WHERE rowid = 1",
    )
    desk.engine = desk._open()
    assert [one.key for one in desk.engine.check()] == ["index"]
    assert desk.engine.check(repair=True) == ()
    assert found(desk) == right
    desk.engine.close()


def test_a_number_that_is_none_keeps_the_store_shut_with_a_sentence(tmp_path: Path) -> None:
    for key in ("folded_doc", "inode"):
        desk = filled(tmp_path / key)
        harm(desk, f"UPDATE meta SET value = 'many' WHERE key = '{key}'")
        with pytest.raises(StoreCorrupt, match=f"'many' where its {key} should be"):
            Desk(tmp_path / key)


VECTORS = {
    "are too long": "UPDATE vector SET embedding = embedding || embedding",
    "one is too short": "UPDATE vector SET embedding = 'x'::BLOB WHERE rowid = 0",
    "are lost": "DELETE FROM vector",
    "are too large": "UPDATE vector SET embedding = repeat('\\x00\\x00\\x00\\x41', 32)::BLOB",
    "are no numbers": "UPDATE vector SET embedding = repeat('\\x00\\x00\\xC0\\x7F', 32)::BLOB",
    "one is infinite": "UPDATE vector SET embedding = repeat('\\x00\\x00\\x80\\x7F', 32)::BLOB "
    "WHERE rowid = 0",
    "one is nothing": "UPDATE vector SET embedding = repeat('\\x00', 128)::BLOB WHERE rowid = 0",
    "one has another text's key": "UPDATE vector SET hash = 'x'::BLOB WHERE rowid = 0",
}


@pytest.mark.parametrize("what", VECTORS)
def test_damaged_vectors_are_made_again(tmp_path: Path, what: str) -> None:
    desk = filled(tmp_path, embed="inline", embedder=HashEmbedder())
    right = found(desk)
    harm(desk, VECTORS[what])
    desk.options["embed"] = "off"
    desk.engine = desk._open()  # without vectors it opens, and says so in every answer
    assert desk.engine.search(HERE, "pumps").degraded != ()
    desk.engine.close()
    desk.options["embed"] = "background"
    desk.engine = desk._open()
    desk.engine.reading.wait_for_vectors(120)
    assert desk.engine.status(HERE).pending_vectors == 0
    assert found(desk) == right
    desk.sound()
    desk.engine.close()


def test_damaged_vectors_stand_in_status_until_they_are_made_again(tmp_path: Path) -> None:
    desk = filled(tmp_path, embed="inline", embedder=HashEmbedder())
    harm(desk, VECTORS["are no numbers"])

    class Broken(HashEmbedder):
        def embed_passages(self, texts: Sequence[str]) -> Floats:
            raise EmbedderFailed("the model is broken", "mend it")

    desk.options.update(embed="background", embedder=Broken())
    desk.engine = desk._open()
    said = "6 stored vectors were damaged; those that are needed are made again"
    assert said in desk.engine.status(HERE).problems
    assert desk.engine.search(HERE, "pumps").degraded[0].reason == "8 vectors pending"
    desk.reopen(embedder=HashEmbedder())
    desk.engine.reading.wait_for_vectors(120)
    assert desk.engine.status(HERE).problems == ()
    desk.sound()
    desk.engine.close()


def test_vectors_damaged_behind_an_open_engine_are_found_by_check(tmp_path: Path) -> None:
    desk = filled(tmp_path, embed="inline", embedder=HashEmbedder())
    with desk.engine._state.store.transaction() as cursor:
        cursor.execute(VECTORS["are no numbers"])
    (problem,) = desk.engine.check()
    assert problem.key == "vectors" and problem.message.startswith("6 stored vectors")
    desk.reopen()
    desk.engine.reading.wait_for_vectors(120)
    desk.sound()
    desk.engine.close()


@pytest.mark.parametrize("method", ["search", "find_exact", "find_objects"])
def test_a_hit_that_cannot_be_read_is_told(tmp_path: Path, method: str) -> None:
    desk = filled(tmp_path)
    seq = desk.entry("n1").seq
    harm(desk, f"UPDATE version SET source = 'x'::BLOB WHERE seq = {seq}")
    desk.engine = desk._open()
    page = getattr(desk.engine, method)(HERE, "valves")
    assert page.total == 2
    assert [hit.entry.slug for hit in page.hits] == ["n2"]
    assert page.warnings == ("note/n1 was found and cannot be read (run `engramfs check`)",)
    assert desk.engine.continue_(HERE, page.set_id).warnings == page.warnings
    desk.rm("n1")
    assert desk.engine.continue_(HERE, page.set_id).warnings == ()
    desk.engine.close()


@pytest.mark.parametrize("table", ["term", "vector", "version", "edge", "kind"])
def test_a_table_that_is_gone_keeps_the_store_shut_with_a_sentence(
    tmp_path: Path, table: str
) -> None:
    desk = filled(tmp_path, embed="inline", embedder=HashEmbedder())
    harm(desk, "DROP VIEW state", f"DROP TABLE {table}")
    with pytest.raises(StoreCorrupt, match=r"the tables of|not a store's"):
        desk._open()
