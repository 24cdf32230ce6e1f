"""Replaced versions are kept; the saves of one session, or of one handle, are one of them."""

from __future__ import annotations

from pathlib import Path

from engine.store import history, versions
from tests.engine.desk import HERE, Desk


def past(desk: Desk, slug: str) -> list[bytes]:
    """The bytes of the replaced versions, newest first."""
    state = desk.engine._state
    with state.store.cursor() as cursor:
        rows = history.history(cursor, desk.entry(slug).no, desk.clock.now, state.config)
        return [versions.source(cursor, row.source_seq) for row in rows]


def test_saves_of_one_session_within_a_minute_are_one_version(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.put("x", "old\n", by="before")
    desk.clock.pass_seconds(600)
    for number in range(3):
        desk.put("x", f"draft {number}\n", by="me")
        desk.clock.pass_seconds(10)
    desk.put("x", "somebody else's\n", by="you")
    assert past(desk, "x") == [b"draft 2\n", b"old\n"]
    desk.clock.pass_seconds(600)
    desk.put("x", "later\n", by="you")
    assert past(desk, "x") == [b"somebody else's\n", b"draft 2\n", b"old\n"]
    desk.engine._upkeep.prune()
    assert past(desk, "x") == [b"somebody else's\n", b"draft 2\n", b"old\n"]
    desk.sound()
    desk.engine.close()


def test_the_commits_of_one_handle_are_one_version(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.put("x", "old\n", by="before")
    desk.clock.pass_seconds(600)
    first = desk.put("x", "half\n").entry
    desk.clock.pass_seconds(600)
    commit = desk.put("x", "whole\n", amends=first.seq)
    assert commit.replaced == first.seq
    assert past(desk, "x") == [b"old\n"]
    desk.engine.close()


def test_renames_and_attributes_leave_the_bytes_of_before(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.put("x", "one\n")
    desk.engine.set_attributes(HERE, desk.entry("x"), mode=0o600)
    desk.put("x", "two\n")
    desk.mv("x", "y")
    desk.clock.pass_seconds(600)
    desk.put("y", "three\n")
    desk.engine._upkeep.prune()
    assert desk.written("y") == b"three\n"
    assert b"one\n" in past(desk, "y") and b"two\n" in past(desk, "y")
    desk.reopen()
    desk.sound()
    desk.engine.close()


def test_a_deleted_engram_is_erased_after_its_time(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    gone = desk.put("x", "one\n").entry
    desk.put("linker", "[[x]]\n")
    desk.rm("x")
    desk.clock.pass_seconds(91 * 86_400)
    desk.engine._upkeep.prune()
    desk.sound()
    assert desk.put("y", f"---\nid: {gone.id}\n---\n").entry.no != gone.no
    desk.put("x", "another\n")
    assert desk.targets("linker") == ["x"]
    desk.reopen()
    desk.sound()
    desk.engine.close()


def test_what_is_written_while_the_rule_is_applied_stays(tmp_path: Path) -> None:
    """A revival between the look and the deletion must not be erased."""
    desk = Desk(tmp_path)
    desk.put("a", "one\n")
    desk.put("b", "one\n")
    gone = [desk.rm("a"), desk.rm("b")]
    desk.clock.pass_seconds(100 * 86_400)
    found = history.due(desk.engine._state.store, desk.clock())
    assert found.rule.erased == {one.no for one in gone}
    desk.engine.revive(HERE, gone[0].id)
    _, erased = history.prune(desk.engine._state.store, found)
    assert erased == {gone[1].no}
    desk.engine._state.entries.erase(gone[1].no)
    assert desk.written("a") == b"one\n"
    desk.sound()
    desk.engine.close()
