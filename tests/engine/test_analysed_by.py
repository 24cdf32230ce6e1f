"""A store whose terms an earlier release made is told, and indexed anew."""

from __future__ import annotations

from pathlib import Path

from engine.analysed_by import OUTDATED
from engine.config import Config
from engine.store import versions
from engine.store.documents import pack_documents, unpack_documents
from tests.engine.desk import HERE, Desk
from tests.waiting import until


def earlier(desk: Desk) -> None:
    """As a release left it that knew no camelCase, and wrote no sums."""
    with desk.engine._state.store.transaction() as cursor:
        cursor.execute("DELETE FROM meta WHERE key = 'analysis'")
        cursor.execute(
            r"UPDATE version SET terms = regexp_replace(terms, '\t[^\n]*', '', 'g'), "
            "state = json_merge_patch(state, '{\"sums\": null}')"
        )
        for seq, terms, documents in cursor.execute(
            "SELECT seq, terms, documents FROM version"
        ).fetchall():
            lengths = [len(terms) for terms in versions.split_terms(terms)]
            packed = pack_documents(lengths, unpack_documents(documents)[1])
            cursor.execute("UPDATE version SET documents = ? WHERE seq = ?", [packed, seq])


def found(desk: Desk, question: str) -> list[str]:
    return [hit.entry.slug for hit in desk.engine.search(HERE, question).hits]


def test_a_new_store_agrees(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.put("a", "getUserById\n")
    assert desk.engine.status(HERE).problems == ()
    desk.reopen()
    assert desk.engine.status(HERE).problems == ()
    desk.engine.close()


def test_a_large_store_says_what_to_do_and_reindex_does_it(tmp_path: Path) -> None:
    desk = Desk(tmp_path, config=Config(analyse_parts=0))
    desk.put("a", "getUserById\n")
    earlier(desk)
    desk.reopen()
    assert found(desk, "user") == []
    assert desk.engine.status(HERE).problems == (OUTDATED,)
    desk.engine.reindex()
    assert found(desk, "user") == ["a"]
    assert desk.engine.status(HERE).problems == ()
    desk.reopen()
    assert found(desk, "user") == ["a"] and desk.engine.status(HERE).problems == ()
    assert desk.engine.check() == ()
    desk.engine.close()


def test_a_small_store_is_indexed_anew_at_a_quiet_moment(tmp_path: Path) -> None:
    desk = Desk(tmp_path, config=Config(quiet_seconds=0.01))
    desk.put("a", "getUserById\n")
    earlier(desk)
    desk.reopen()
    until(lambda: not desk.engine.status(HERE).problems)
    assert found(desk, "user") == ["a"]
    assert desk.engine.check() == ()
    desk.engine.close()
