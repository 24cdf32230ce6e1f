"""Writing: nothing is committed before flush, fsync or rename; nothing that was written is lost."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.errors import StoreFull
from tests.engramfs.tree_rig import BAD, GOOD, ME, OTHER, SCOPE, SECOND, Rig, fails, rigged

APPEND = os.O_WRONLY | os.O_APPEND


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with rigged(tmp_path) as made:
        yield made


# -- flush ---------------------------------------------------------------------
def test_what_is_written_is_read_back_with_an_id(rig: Rig) -> None:
    rig.save("/note/a.md", b"# Hello\n")
    id = rig.id("/note/a.md")
    assert rig.read("/note/a.md") == f"---\nid: {id}\n---\n# Hello\n".encode()
    assert rig.stat("/note/a.md").size == len(rig.read("/note/a.md"))


def test_truncating_is_staged_until_the_flush(rig: Rig) -> None:
    rig.save("/task/x.md", GOOD)
    old = rig.read("/task/x.md")
    handle = rig.open("/task/x.md", os.O_WRONLY | os.O_TRUNC)
    assert rig.read("/task/x.md", OTHER) == old
    rig.write(handle, BAD)
    with fails("EPROTO"):
        rig.close(handle)
    assert rig.read("/task/x.md") == old
    assert rig.events() == ["refused"]
    assert rig.rejected() == {"task/x.md": BAD}
    assert "status" in rig.xattr("/task/x.md", "error")


def test_a_refused_buffer_is_kept_and_a_later_flush_may_succeed(rig: Rig) -> None:
    handle = rig.create("/task/x.md")
    rig.write(handle, b"---\nstatus: op")
    with fails("EPROTO"):
        rig.tree.flush(handle, ME)
    with fails("EPROTO"):
        rig.tree.fsync(handle, ME)
    assert len(rig.events()) == 1  # the same bytes: one refusal
    assert not rig.exists("/task/x.md", OTHER)
    assert rig.ls("/task", OTHER) == []
    rig.write(handle, b"en\n---\nwords\n", 14)
    rig.close(handle)
    assert rig.body("/task/x.md") == GOOD
    assert rig.events() == [] and rig.rejected() == {}


def test_flush_of_a_clean_handle_and_by_a_stranger_does_nothing(rig: Rig) -> None:
    rig.save("/note/a.md", b"one\n")
    seq = rig.engine.status(SCOPE).seq
    handle = rig.open("/note/a.md", os.O_WRONLY)
    rig.tree.flush(handle, ME)
    rig.write(handle, b"two\n")
    rig.tree.flush(handle, OTHER)  # fork and exec: neither opened nor wrote
    assert rig.engine.status(SCOPE).seq == seq
    rig.close(handle)
    assert rig.body("/note/a.md") != b"one\n"


def test_a_writer_that_did_not_open_commits_what_is_valid_and_is_spared_refusals(rig: Rig) -> None:
    handle = rig.create("/task/x.md")
    rig.write(handle, b"---\nstatus: ", caller=OTHER)
    rig.tree.flush(handle, OTHER)  # refused, but the opener lives: not its business
    assert rig.events() == []
    rig.write(handle, b"open\n---\n", 12, caller=OTHER)
    rig.tree.flush(handle, OTHER)
    assert rig.exists("/task/x.md", OTHER)
    rig.write(handle, b"junk", 4, caller=OTHER)
    rig.tree.flush(handle, OTHER)
    assert rig.events() == []
    rig.tree.release(handle, ME)  # the last chance to say it
    assert rig.events() == ["refused"]


def test_a_writer_whose_opener_is_gone_hears_the_refusal(rig: Rig) -> None:
    handle = rig.create("/task/x.md")
    rig.write(handle, BAD, caller=OTHER)
    rig.living.discard(ME.pid)
    with fails("EPROTO"):
        rig.tree.flush(handle, OTHER)


def test_the_commits_of_one_handle_do_not_conflict(rig: Rig) -> None:
    handle = rig.create("/note/a.md")
    for number in range(3):
        rig.write(handle, b"line\n", 5 * number)
        rig.tree.flush(handle, ME)
    rig.close(handle)
    assert rig.body("/note/a.md") == b"line\n" * 3
    assert rig.events() == []


# -- empty ---------------------------------------------------------------------
def test_emptying_is_a_commit_where_the_empty_document_is_valid(rig: Rig) -> None:
    rig.save("/note/a.md", b"words\n")
    id = rig.id("/note/a.md")
    rig.save("/note/a.md", b"")
    assert rig.read("/note/a.md") == b""
    assert rig.id("/note/a.md") == id


def test_emptying_is_refused_on_record_where_it_is_not(rig: Rig) -> None:
    rig.save("/task/x.md", GOOD)
    old = rig.read("/task/x.md")
    rig.save("/task/x.md", b"")  # the calls succeed, as `: > x.md` does
    assert rig.read("/task/x.md") == old
    assert rig.events() == ["refused"]
    with fails("EPROTO"):
        rig.tree.truncate(rig.inode("/task/x.md"), 0, ME)


def test_touch_makes_a_blank_or_an_empty_engram(rig: Rig) -> None:
    rig.save("/note/new.md", b"")
    assert rig.id("/note/new.md")
    rig.save("/task/new.md", b"")
    inode = rig.stat("/task/new.md").inode
    assert rig.read("/task/new.md") == b""
    assert rig.ls("/task") == ["new.md"]
    with fails("ENODATA"):
        rig.id("/task/new.md")
    with fails("EPROTO"):
        rig.save("/task/new.md", BAD)
    assert rig.read("/task/new.md") == b""
    rig.save("/task/new.md", GOOD)
    assert rig.body("/task/new.md") == GOOD
    assert rig.stat("/task/new.md").inode == inode
    rig.unlink("/task/new.md")
    assert rig.ls("/task") == []


def test_a_blank_is_touched_moved_and_removed(rig: Rig) -> None:
    rig.save("/task/a.md", b"")
    rig.tree.utimens(rig.inode("/task/a.md"), None, 5 * SECOND, ME)
    rig.tree.chmod(rig.inode("/task/a.md"), 0o600, ME)
    rig.rename("/task/a.md", "/task/b.md")
    found = rig.stat("/task/b.md")
    assert (found.mtime_ns, found.mode & 0o777, found.size) == (5 * SECOND, 0o600, 0)
    rig.save("/task/c.md", GOOD)
    with fails("EPROTO"):
        rig.rename("/task/b.md", "/task/c.md")
    rig.rename("/task/c.md", "/task/b.md")
    assert rig.ls("/task") == ["b.md"]
    assert rig.body("/task/b.md") == GOOD


def test_a_shell_flushes_before_it_has_written(rig: Rig) -> None:
    rig.save("/task/x.md", GOOD)
    handle = rig.open("/task/x.md", os.O_WRONLY | os.O_TRUNC)
    rig.tree.flush(handle, ME)
    assert rig.events() == []
    rig.write(handle, GOOD + b"more\n")
    rig.close(handle)
    assert rig.body("/task/x.md") == GOOD + b"more\n"


# -- truncate ------------------------------------------------------------------
def test_truncate_by_path_is_a_commit_and_by_the_writer_staged(rig: Rig) -> None:
    rig.save("/note/a.md", b"0123456789")
    start = len(rig.read("/note/a.md")) - 10
    inode = rig.inode("/note/a.md")
    rig.tree.truncate(inode, start + 4, OTHER)
    assert rig.read("/note/a.md").endswith(b"0123")
    handle = rig.open("/note/a.md", os.O_RDWR)
    rig.write(handle, b"abcd", start)
    rig.tree.truncate(inode, start + 2, ME)
    assert rig.read("/note/a.md", OTHER).endswith(b"0123")
    assert rig.tree.read(handle, 99, 0).endswith(b"ab")
    rig.close(handle)
    assert rig.read("/note/a.md").endswith(b"---\nab")


def test_ftruncate_and_sparse_writes(rig: Rig) -> None:
    rig.save("/note/a.md", b"words words words\n")
    handle = rig.open("/note/a.md", os.O_RDWR)
    inode = rig.inode("/note/a.md")
    rig.tree.truncate(inode, 0, ME, handle)
    assert rig.tree.getattr(inode, ME, handle).size == 0
    rig.write(handle, b"new\n")
    rig.close(handle)
    assert rig.body("/note/a.md") == b"new\n"


def test_space_is_reserved_in_size_only(rig: Rig) -> None:
    handle = rig.create("/note/a.md")
    rig.write(handle, b"words\n")
    rig.tree.fallocate(handle, 1, 0, 1000, ME)  # keep the size
    assert rig.stat("/note/a.md").size == 6
    rig.tree.fallocate(handle, 0, 0, 9, ME)
    assert rig.stat("/note/a.md").size == 9
    rig.tree.truncate(rig.inode("/note/a.md"), 6, ME, handle)
    with fails("EOPNOTSUPP"):
        rig.tree.fallocate(handle, 3, 0, 2, ME)  # punch a hole
    rig.close(handle)
    assert rig.body("/note/a.md") == b"words\n"


def test_too_large_poisons_until_truncated(tmp_path: Path) -> None:
    with rigged(tmp_path, file_bytes=100) as rig:
        rig.save("/note/a.md", b"old\n")
        old = rig.read("/note/a.md")
        handle = rig.open("/note/a.md", os.O_RDWR | os.O_TRUNC)
        rig.write(handle, b"x" * 90)
        with fails("EFBIG"):
            rig.tree.write(handle, b"y" * 20, 90, 0, ME)
        with fails("EFBIG"):
            rig.tree.flush(handle, ME)
        with fails("EFBIG"):
            rig.tree.fsync(handle, ME)
        assert rig.read("/note/a.md", OTHER) == old
        rig.tree.truncate(rig.inode("/note/a.md"), 10, ME, handle)
        rig.close(handle)
        assert rig.body("/note/a.md") == b"x" * 10
        with fails("EFBIG"):
            rig.tree.truncate(rig.inode("/note/a.md"), 101, OTHER)


def test_a_poisoned_handle_that_is_closed_leaves_a_line(tmp_path: Path) -> None:
    with rigged(tmp_path, file_bytes=100) as rig:
        handle = rig.create("/note/a.md")
        with fails("EFBIG"):
            rig.tree.write(handle, b"y" * 101, 0, 0, ME)
        with fails("EFBIG"):
            rig.close(handle)
        assert rig.events() == ["refused"]
        assert not rig.exists("/note/a.md")


@pytest.mark.parametrize("data", [b"", b"words\n"])
def test_what_a_full_disk_took_from_a_silent_writer_is_on_record(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    rig.save("/note/a.md", b"old\n")
    handle = rig.open("/note/a.md", os.O_WRONLY | os.O_TRUNC)
    if data:
        rig.write(handle, data)

    def full(*_: object, **__: object) -> None:
        raise StoreFull("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(rig.engine, "put", full)
        with fails("ENOSPC"):
            rig.close(handle)
    assert rig.body("/note/a.md") == b"old\n"
    assert "the disk is full" in str(rig.engine.notices(SCOPE)[0].problems[0])
    rig.save("/note/a.md", b"new\n")
    assert rig.events() == []
