"""What becomes of writes: appends, late bytes, the grace time, conflicts, shutdown."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.model import Draft
from tests.engramfs.tree_rig import BAD, GOOD, ME, OTHER, SCOPE, SECOND, Rig, fails, rigged

APPEND = os.O_WRONLY | os.O_APPEND


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with rigged(tmp_path) as made:
        yield made


# -- append --------------------------------------------------------------------
def test_appenders_overwrite_neither_each_other_nor_an_edit(rig: Rig) -> None:
    rig.save("/note/log.md", b"start\n")
    one = rig.open("/note/log.md", APPEND)
    two = rig.open("/note/log.md", APPEND, OTHER)
    rig.write(one, b"one\n", 0, APPEND)
    rig.write(two, b"two\n", 0, APPEND, OTHER)
    rig.close(two, OTHER)
    text = rig.read("/note/log.md")
    rig.save("/note/log.md", text.replace(b"start", b"START"), OTHER)
    rig.close(one)
    assert rig.body("/note/log.md") == b"START\ntwo\none\n"
    assert rig.events() == []


def test_append_ignores_the_offset_and_reads_back(rig: Rig) -> None:
    rig.append("/note/log.md", b"a\n")
    rig.stat("/note/log.md")
    rig.append("/note/log.md", b"b\n")
    flags = os.O_RDWR | os.O_APPEND
    handle = rig.open("/note/log.md", flags)
    rig.write(handle, b"c\n", 0, flags)
    assert rig.tree.read(handle, 999, 0).endswith(b"a\nb\nc\n")
    rig.tree.flush(handle, ME)
    rig.write(handle, b"d\n", 0, flags)
    rig.close(handle)
    assert rig.body("/note/log.md") == b"a\nb\nc\nd\n"


def test_a_truncated_appender_is_a_whole_file_handle(rig: Rig) -> None:
    rig.save("/note/log.md", b"old\n")
    handle = rig.open("/note/log.md", APPEND | os.O_TRUNC)
    rig.write(handle, b"a", 77, APPEND)
    rig.write(handle, b"b", 77, APPEND)
    rig.close(handle)
    assert rig.body("/note/log.md") == b"ab"


def test_append_that_is_switched_off_again(rig: Rig) -> None:
    rig.save("/note/log.md", b"")
    handle = rig.open("/note/log.md", APPEND)
    rig.write(handle, b"abc", 0, APPEND)
    rig.write(handle, b"X", 1, os.O_WRONLY)  # fcntl(F_SETFL, 0)
    rig.close(handle)
    assert rig.body("/note/log.md") == b"aXc"


# -- gone ----------------------------------------------------------------------
def test_bytes_written_after_unlink_are_kept(rig: Rig) -> None:
    rig.save("/note/a.md", b"old\n")
    handle = rig.open("/note/a.md", os.O_WRONLY | os.O_TRUNC)
    rig.unlink("/note/a.md", OTHER)
    rig.write(handle, b"late\n")
    rig.close(handle)  # flush is 0
    assert rig.events() == ["late-write"]
    assert rig.rejected() == {"note/a.md": b"late\n"}
    assert not rig.exists("/note/a.md")


def test_a_late_append_keeps_the_whole_file(rig: Rig) -> None:
    rig.save("/note/a.md", b"old\n")
    handle = rig.open("/note/a.md", APPEND)
    rig.unlink("/note/a.md", OTHER)
    rig.write(handle, b"late\n", 0, APPEND)
    rig.close(handle)
    assert rig.rejected()["note/a.md"].endswith(b"old\nlate\n")


def test_deleted_by_another_way_in(rig: Rig) -> None:
    rig.save("/note/a.md", b"old\n")
    handle = rig.open("/note/a.md", os.O_WRONLY | os.O_TRUNC)
    rig.write(handle, b"late\n")
    rig.engine.delete(SCOPE, rig.id("/note/a.md"))
    rig.close(handle)
    assert rig.rejected() == {"note/a.md": b"late\n"}


def test_renamed_by_another_way_in(rig: Rig) -> None:
    rig.save("/note/a.md", b"old\n")
    handle = rig.open("/note/a.md", os.O_WRONLY | os.O_TRUNC)
    rig.write(handle, b"new\n")
    rig.engine.rename(SCOPE, rig.id("/note/a.md"), "note", "b")
    rig.close(handle)
    assert rig.ls("/note") == ["b.md"]
    assert rig.body("/note/b.md") == b"new\n"


# -- grace ---------------------------------------------------------------------
def test_a_file_created_anew_is_the_same_engram(rig: Rig) -> None:
    rig.save("/note/a.md", b"old\n")
    id = rig.id("/note/a.md")
    rig.unlink("/note/a.md")
    assert rig.ls("/note") == []
    rig.save("/note/a.md", b"new\n")
    assert rig.id("/note/a.md") == id


def test_while_new_content_is_pending_the_old_engram_is_listed_and_opened(rig: Rig) -> None:
    rig.save("/task/a.md", GOOD)
    old = rig.read("/task/a.md")
    id = rig.id("/task/a.md")
    rig.unlink("/task/a.md")
    handle = rig.create("/task/a.md", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    rig.write(handle, BAD)
    assert rig.ls("/task", OTHER) == ["a.md"]
    assert rig.read("/task/a.md", OTHER) == old
    assert rig.stat("/task/a.md", OTHER).size == len(old)
    assert rig.stat("/task/a.md").size == len(BAD)
    with fails("EPROTO"):
        rig.close(handle)
    assert rig.read("/task/a.md") == old
    assert rig.id("/task/a.md") == id
    assert rig.events() == ["refused"]


def test_a_commit_never_changes_the_inode_of_a_path(rig: Rig) -> None:
    rig.save("/task/a.md", GOOD)
    rig.unlink("/task/a.md")
    handle = rig.create("/task/a.md")
    rig.write(handle, GOOD + b"more\n")
    before = rig.stat("/task/a.md")
    assert before.inode == rig.stat("/task/a.md", OTHER).inode
    rig.close(handle)
    assert rig.stat("/task/a.md").inode == before.inode


def test_after_the_grace_time_it_is_another_engram(rig: Rig) -> None:
    rig.save("/note/a.md", b"old\n")
    id = rig.id("/note/a.md")
    rig.unlink("/note/a.md")
    rig.clock.pass_ns(301 * SECOND)
    rig.save("/note/a.md", b"new\n")
    assert rig.id("/note/a.md") != id


# -- concurrency ---------------------------------------------------------------
def test_last_close_wins_and_is_never_silent(rig: Rig) -> None:
    rig.save("/note/a.md", b"base\n")
    handle = rig.open("/note/a.md", os.O_WRONLY | os.O_TRUNC)
    rig.save("/note/a.md", b"theirs\n", OTHER)
    rig.write(handle, b"mine\n")
    rig.close(handle)
    assert rig.body("/note/a.md") == b"mine\n"
    assert rig.events() == ["conflict"]


def test_attributes_that_changed_meanwhile_are_no_conflict(rig: Rig) -> None:
    rig.save("/note/a.md", b"base\n")
    handle = rig.open("/note/a.md", os.O_WRONLY | os.O_TRUNC)
    rig.tree.chmod(rig.inode("/note/a.md"), 0o600, OTHER)
    rig.write(handle, b"mine\n")
    rig.close(handle)
    assert rig.events() == []
    assert rig.stat("/note/a.md").mode & 0o777 == 0o600


def test_a_conflict_can_be_refused(tmp_path: Path) -> None:
    with rigged(tmp_path, on_conflict="refuse") as rig:
        rig.save("/note/a.md", b"base\n")
        handle = rig.open("/note/a.md", os.O_WRONLY | os.O_TRUNC)
        rig.save("/note/a.md", b"theirs\n", OTHER)
        rig.write(handle, b"mine\n")
        with fails("EBUSY"):
            rig.close(handle)
        assert rig.body("/note/a.md") == b"theirs\n"
        assert rig.events() == ["conflict"]
        assert rig.rejected() == {"note/a.md": b"mine\n"}


def test_shutdown_commits_or_keeps_every_dirty_handle(rig: Rig) -> None:
    good, bad = rig.create("/task/good.md"), rig.create("/task/bad.md")
    rig.write(good, GOOD)
    rig.write(bad, BAD)
    rig.create("/task/blank.md")
    rig.tree.shutdown()
    assert rig.ls("/task") == ["blank.md", "good.md"]
    assert rig.rejected() == {"task/bad.md": BAD}


def test_read_only(tmp_path: Path) -> None:
    with rigged(tmp_path, read_only=True) as rig:
        rig.engine.put(SCOPE, Draft("note", "a", b"words\n"))
        assert rig.body("/note/a.md") == b"words\n"
        inode = rig.inode("/note/a.md")
        for attempt in (
            lambda: rig.save("/note/b.md", b"x"),
            lambda: rig.open("/note/a.md", os.O_WRONLY),
            lambda: rig.unlink("/note/a.md"),
            lambda: rig.rename("/note/a.md", "/note/b.md"),
            lambda: rig.tree.chmod(inode, 0o600, ME),
            lambda: rig.tree.truncate(inode, 0, ME),
            lambda: rig.tree.mkdir(1, "plain", 0o755, ME),
            lambda: rig.tree.access(inode, os.W_OK, ME),
        ):
            with fails("EROFS"):
                attempt()
        rig.tree.access(inode, os.R_OK, ME)


# -- a restart -------------------------------------------------------------------
def test_what_stays_over_a_restart(tmp_path: Path) -> None:
    with rigged(tmp_path, store=tmp_path / "store") as rig:
        rig.save("/note/a.md", b"words\n")
        rig.save("/task/blank.md", b"")
        rig.save("/note/plain.txt", b"x")
        rig.tree.utimens(rig.inode("/note/a.md"), None, 5 * SECOND, ME)
        with fails("EPROTO"):
            rig.save("/task/x.md", BAD)
        names = ("/note", "/task", "/note/a.md", "/task/blank.md", "/note/plain.txt")
        before = [rig.stat(name) for name in names]
        rig.tree.shutdown()
    with rigged(tmp_path, store=tmp_path / "store") as rig:
        assert [rig.stat(name) for name in names] == before
        assert rig.rejected() == {"task/x.md": BAD}
        rig.save("/task/blank.md", GOOD)
        assert rig.stat("/task/blank.md").inode == before[3].inode
        rig.save("/task/x.md", GOOD)
        assert rig.events() == []


def test_a_notice_goes_with_its_file(rig: Rig) -> None:
    rig.save("/task/x.md", GOOD)
    with fails("EPROTO"):
        rig.save("/task/x.md", BAD)
    rig.unlink("/task/x.md")
    assert rig.events() == []


def test_two_writers_of_a_new_file(rig: Rig) -> None:
    one = rig.create("/task/x.md")
    two = rig.open("/task/x.md", os.O_WRONLY, OTHER)
    rig.write(one, BAD)
    rig.write(two, GOOD, caller=OTHER)
    with fails("EPROTO"):
        rig.close(one)
    rig.close(two, OTHER)
    assert rig.body("/task/x.md") == GOOD


def test_a_new_file_that_the_first_writer_left_empty(rig: Rig) -> None:
    one = rig.create("/task/x.md")
    two = rig.open("/task/x.md", os.O_WRONLY, OTHER)
    rig.write(two, GOOD, caller=OTHER)
    rig.close(one)  # the other handle decides
    assert rig.ls("/task", ME) == []
    rig.close(two, OTHER)
    assert rig.body("/task/x.md") == GOOD


def test_another_creates_what_was_refused_and_is_still_open(rig: Rig) -> None:
    one = rig.create("/task/x.md")
    rig.write(one, BAD)
    with fails("EPROTO"):
        rig.tree.flush(one, ME)
    rig.save("/task/x.md", GOOD, OTHER)
    rig.tree.truncate(rig.inode("/task/x.md"), 0, ME, one)
    rig.write(one, GOOD + b"mine\n")
    rig.close(one)
    assert rig.body("/task/x.md") == GOOD + b"mine\n"
    assert rig.events() == ["conflict"]
