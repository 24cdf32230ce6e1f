"""Attributes, handles, xattrs, and what is listed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engramfs.tree_rig import BAD, GOOD, ME, OTHER, SECOND, Rig, fails, rigged


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with rigged(tmp_path) as made:
        yield made


# -- fstat before close equals stat after ------------------------------------------
@pytest.mark.parametrize("flags", [os.O_WRONLY | os.O_CREAT | os.O_TRUNC, os.O_RDWR | os.O_CREAT])
@pytest.mark.parametrize("known", [True, False])
def test_fstat_before_close_equals_stat_after(tmp_path: Path, flags: int, known: bool) -> None:
    with rigged(tmp_path, show_id=False) as rig:
        if known:
            rig.save("/note/a.md", b"something else altogether\n")
        handle = rig.open("/note/a.md", flags)
        rig.write(handle, b"# new\n")
        before = rig.stat("/note/a.md")
        by_handle = rig.tree.getattr(rig.inode("/note/a.md"), ME, handle)
        assert by_handle == before
        rig.close(handle)
        after = rig.stat("/note/a.md")
        shown = ("inode", "mode", "size", "mtime_ns", "nlink")
        assert [getattr(before, one) for one in shown] == [getattr(after, one) for one in shown]


def test_others_see_the_committed_version(rig: Rig) -> None:
    rig.save("/note/a.md", b"one\n")
    committed = rig.stat("/note/a.md")
    handle = rig.open("/note/a.md", os.O_WRONLY | os.O_TRUNC)
    rig.write(handle, b"a much longer text than before, by far\n" * 3)
    assert rig.stat("/note/a.md", OTHER) == committed
    assert rig.stat("/note/a.md").size != committed.size
    rig.write(handle, b"!", 0, caller=OTHER)  # whoever wrote the handle sees it too
    assert rig.stat("/note/a.md", OTHER) == rig.stat("/note/a.md")
    rig.close(handle)


def test_a_reader_sees_the_size_of_what_it_reads(rig: Rig) -> None:
    rig.save("/note/a.md", b"one\n")
    handle = rig.open("/note/a.md", os.O_RDONLY)
    old = rig.stat("/note/a.md")
    rig.save("/note/a.md", b"another and longer text\n", OTHER)
    assert rig.stat("/note/a.md") == old
    assert len(rig.tree.read(handle, 999, 0)) == old.size
    assert rig.stat("/note/a.md", OTHER).size > old.size
    rig.close(handle)
    assert rig.stat("/note/a.md") == rig.stat("/note/a.md", OTHER)


def test_the_document_grows_by_its_id_line_only(rig: Rig) -> None:
    handle = rig.create("/task/a.md")
    rig.write(handle, GOOD)
    before = rig.stat("/task/a.md")
    rig.close(handle)
    after = rig.stat("/task/a.md")
    assert after.size - before.size == 41
    assert (before.inode, before.mtime_ns) == (after.inode, after.mtime_ns)


def test_the_end_of_a_handle_is_the_end_of_its_own_bytes(rig: Rig) -> None:
    handle = rig.create("/task/a.md")
    rig.write(handle, GOOD)
    rig.tree.fsync(handle, ME)  # adds the id line to the file, not to what is being written
    inode = rig.inode("/task/a.md")
    assert rig.stat("/task/a.md").size == len(GOOD) + 41
    assert rig.tree.getattr(inode, ME, handle).size == len(GOOD)
    rig.close(handle)
    plain = rig.create("/task/.b.tmp", os.O_RDWR | os.O_CREAT)
    rig.write(plain, GOOD)
    rig.rename("/task/.b.tmp", "/task/b.md")
    assert rig.tree.getattr(rig.inode("/task/b.md"), ME, plain).size == len(GOOD)
    rig.write(plain, b"more\n", len(GOOD))
    rig.close(plain)
    assert rig.read("/task/b.md").endswith(b"words\nmore\n")


# -- times and modes --------------------------------------------------------------
def test_times_set_before_the_close_are_the_commits(rig: Rig) -> None:
    handle = rig.create("/note/a.md", mode=0o600)
    rig.write(handle, b"words\n")
    inode = rig.inode("/note/a.md")
    rig.tree.utimens(inode, 7 * SECOND, 7 * SECOND, ME)  # cp -p
    rig.tree.chmod(inode, 0o640, ME, handle)
    assert rig.stat("/note/a.md").mtime_ns == 7 * SECOND
    rig.close(handle)
    found = rig.stat("/note/a.md")
    assert (found.mtime_ns, stat.S_IMODE(found.mode)) == (7 * SECOND, 0o640)


def test_a_later_write_clears_times_set_before(rig: Rig) -> None:
    handle = rig.create("/note/a.md")
    rig.write(handle, b"words\n")
    rig.tree.utimens(rig.inode("/note/a.md"), None, 7 * SECOND, ME)
    rig.write(handle, b"more\n", 6)
    rig.close(handle)
    assert rig.stat("/note/a.md").mtime_ns > 7 * SECOND


def test_touch_and_chmod_move_no_updated(rig: Rig) -> None:
    rig.save("/note/a.md", b"words\n")
    updated = rig.xattr("/note/a.md", "updated")
    before = rig.stat("/note/a.md")
    inode = rig.inode("/note/a.md")
    rig.tree.utimens(inode, None, 9 * SECOND, ME)
    rig.tree.chmod(inode, 0o4711, ME)
    rig.tree.utimens(inode, 5 * SECOND, None, ME)
    found = rig.stat("/note/a.md")
    assert (found.mtime_ns, stat.S_IMODE(found.mode)) == (9 * SECOND, 0o711)
    assert found.ctime_ns > before.ctime_ns
    assert rig.xattr("/note/a.md", "updated") == updated
    rig.tree.chown(inode, 1000, -1, ME)
    with fails("EPERM"):
        rig.tree.chown(inode, 33, 33, ME)


def test_the_same_bytes_again_move_the_times_only(rig: Rig) -> None:
    rig.save("/note/a.md", b"words\n")
    updated = rig.xattr("/note/a.md", "updated")
    before = rig.stat("/note/a.md")
    rig.save("/note/a.md", rig.read("/note/a.md"))
    after = rig.stat("/note/a.md")
    assert after.mtime_ns > before.mtime_ns and after.size == before.size
    assert rig.xattr("/note/a.md", "updated") == updated


def test_a_directory_moves_when_its_entries_do(rig: Rig) -> None:
    rig.save("/note/a.md", b"words\n")
    first = rig.stat("/note").mtime_ns
    rig.save("/note/a.md", b"other words\n")
    assert rig.stat("/note").mtime_ns == first
    rig.unlink("/note/a.md")
    assert rig.stat("/note").mtime_ns > first
    rig.tree.utimens(rig.inode("/note"), 5, 5 * SECOND, ME)
    assert rig.stat("/note").mtime_ns == 5 * SECOND


# -- handles ------------------------------------------------------------------------
def test_readers_are_pinned_and_engrams_are_direct(rig: Rig) -> None:
    rig.save("/note/a.md", b"one\n")
    opened = rig.tree.open(rig.inode("/note/a.md"), os.O_RDONLY, ME)
    assert opened.direct_io
    one = rig.tree.read(opened.handle, 999, 0)
    rig.save("/note/a.md", b"two\n", OTHER)
    rig.unlink("/note/a.md", OTHER)
    assert rig.tree.read(opened.handle, 999, 0) == one
    assert rig.tree.read(opened.handle, 3, 5) == one[5:8]
    rig.close(opened.handle)
    with fails("EBADF"):
        rig.tree.read(opened.handle, 1, 0)


def test_a_new_file_is_its_writers_until_it_is_committed(rig: Rig) -> None:
    handle = rig.create("/note/a.md")
    rig.write(handle, b"half")
    assert rig.ls("/note") == ["a.md"]
    assert rig.read("/note/a.md") == b"half"
    assert rig.ls("/note", OTHER) == []
    assert rig.stat("/note/a.md", OTHER).size == 0
    with fails("ENOENT"):
        rig.read("/note/a.md", OTHER)
    with fails("EEXIST"):
        rig.create("/note/a.md", os.O_WRONLY | os.O_CREAT | os.O_EXCL, caller=OTHER)
    rig.close(handle)
    assert rig.ls("/note", OTHER) == ["a.md"]


def test_plain_files_pass_through(rig: Rig) -> None:
    opened = rig.tree.create(rig.inode("/note"), "chart.png", 0o600, os.O_RDWR, ME)[1]
    assert not opened.direct_io
    rig.write(opened.handle, b"\x89PNG")
    rig.tree.flush(opened.handle, ME)
    rig.tree.fsync(opened.handle, ME)
    assert rig.tree.read(opened.handle, 9, 0) == b"\x89PNG"
    inode = rig.inode("/note/chart.png")
    assert inode >= 1 << 48
    rig.tree.truncate(inode, 1, ME, opened.handle)
    rig.tree.chmod(inode, 0o4644, ME)
    rig.tree.utimens(inode, None, 3 * SECOND, ME)
    rig.close(opened.handle)
    found = rig.stat("/note/chart.png")
    assert (found.size, stat.S_IMODE(found.mode), found.mtime_ns) == (1, 0o644, 3 * SECOND)
    flags = os.O_WRONLY | os.O_APPEND
    handle = rig.open("/note/chart.png", flags)
    rig.write(handle, b"!", 0, flags)
    rig.close(handle)
    assert rig.read("/note/chart.png") == b"\x89!"
    assert rig.ls("/note") == ["chart.png"]
    rig.unlink("/note/chart.png")
    assert rig.ls("/note") == []


# -- xattrs -----------------------------------------------------------------------
def test_xattrs(rig: Rig) -> None:
    rig.save("/deal/a.md", b"# T\n\none\n\n## H\n\ntwo\n")
    inode = rig.inode("/deal/a.md")
    names = rig.tree.listxattr(inode, ME)
    assert names == [f"user.engram.{one}" for one in ("id", "kind", "created", "updated", "parts")]
    assert rig.xattr("/deal/a.md", "kind") == "deal"
    assert int(rig.xattr("/deal/a.md", "parts")) >= 2
    assert rig.xattr("/deal/a.md", "created").startswith("2023-11-14T")
    for name in ("user.engram.error", "user.other", "security.capability"):
        with fails("ENODATA"):
            rig.tree.getxattr(inode, name, ME)
    rig.tree.setxattr(inode, "user.engram.id", b"x", 0, ME)
    rig.tree.setxattr(inode, "system.posix_acl_access", b"x", 0, ME)
    rig.tree.removexattr(inode, "user.engram.id", ME)
    with fails("EOPNOTSUPP"):
        rig.tree.setxattr(inode, "user.colour", b"red", 0, ME)
    with fails("EOPNOTSUPP"):
        rig.tree.removexattr(inode, "user.colour", ME)
    assert rig.tree.listxattr(rig.inode("/deal"), ME) == []


def test_the_xattr_error_says_why(rig: Rig) -> None:
    rig.save("/task/x.md", GOOD)
    with fails("EPROTO"):
        rig.save("/task/x.md", BAD)
    assert "user.engram.error" in rig.tree.listxattr(rig.inode("/task/x.md"), ME)
    rig.save("/task/x.md", GOOD + b"changed\n")
    with fails("ENODATA"):
        rig.xattr("/task/x.md", "error")


# -- control files -----------------------------------------------------------------
def test_control_files_are_pinned_and_never_listed(rig: Rig) -> None:
    assert rig.ls("/") == ["deal", "note", "task"]
    assert rig.stat("/.errors").size == 0
    with fails("EPROTO"):
        rig.save("/task/x.md", BAD)
    found = rig.stat("/.errors")
    text = rig.read("/.errors")
    assert found.size == len(text) > 0 and b"status" in text
    handle = rig.open("/.errors")
    rig.save("/task/x.md", GOOD)
    assert rig.tree.read(handle, 9999, 0) == text
    assert rig.stat("/.errors").size == len(text)  # to the process that has it open
    rig.close(handle)
    assert rig.stat("/.errors").size == 0
    for name in ("/.errors", "/.status", "/.help"):
        with fails("EACCES"):
            rig.open(name, os.O_WRONLY)
        with fails("EACCES"):
            rig.unlink(name)
        with fails("EACCES"):
            rig.tree.truncate(rig.inode(name), 0, ME)
    with fails("EINVAL"):
        rig.stat("/.search?nonsense=1")


def test_a_question_can_be_written_and_its_answer_read(rig: Rig) -> None:
    rig.save("/note/pumps.md", b"# Pumps\n\noverheating pumps\n")
    handle = rig.open("/.search", os.O_RDWR)
    rig.write(handle, b"q=pumps\n")
    assert b"pumps" in rig.tree.read(handle, 9999, 0)
    rig.close(handle)


def test_events_can_be_followed(rig: Rig) -> None:
    handle = rig.open("/.events")
    start = len(rig.tree.read(handle, 1 << 20, 0))
    rig.save("/note/a.md", b"words\n")
    more = rig.tree.read(handle, 1 << 20, start)
    assert b"a.md" in more
    assert rig.stat("/.events").size >= start + len(more)
    rig.close(handle)


# -- .rejected ----------------------------------------------------------------------
def test_rejected_bytes_are_listed_read_discarded_and_written_again(rig: Rig) -> None:
    for number in range(3):
        with fails("EPROTO"):
            rig.save("/task/x.md", b"no status %d\n" % number)
    assert sorted(rig.rejected()) == ["task/x.md", "task/x.md.1", "task/x.md.2"]
    assert rig.rejected()["task/x.md"] == b"no status 2\n"
    rig.unlink("/.rejected/task/x.md.1")
    assert sorted(rig.rejected()) == ["task/x.md", "task/x.md.1"]
    with fails("EACCES"):
        rig.open("/.rejected/task/x.md", os.O_WRONLY)
    for name in ("/.rejected/new", "/.rejected/task/new.md"):
        with fails("EACCES"):
            rig.create(name)
    with fails("EPROTO"):
        rig.rename("/.rejected/task/x.md", "/task/y.md")
    rig.rename("/.rejected/task/x.md", "/note/kept.md")  # no schema there asks for a status
    assert rig.body("/note/kept.md") == b"no status 2\n"
    rig.rename("/.rejected/task/x.md", "/task/kept.txt")
    assert rig.read("/task/kept.txt") == b"no status 0\n"
    assert sorted(rig.rejected()) == ["task/y.md"]
    rig.unlink("/.rejected/task/y.md")
    assert rig.ls("/.rejected") == []


def test_statfs_is_the_disks(rig: Rig) -> None:
    assert rig.tree.statfs().f_blocks == rig.overlay.statvfs().f_blocks


def test_the_newest_handle_of_a_process_decides(rig: Rig) -> None:
    rig.save("/note/a.md", b"one\n")
    old = rig.open("/note/a.md", caller=OTHER)
    rig.save("/note/a.md", b"another and longer text\n")
    new = rig.open("/note/a.md", caller=OTHER)  # the kernel has not released the old one yet
    assert rig.stat("/note/a.md", OTHER).size == len(rig.tree.read(new, 999, 0))
    rig.close(new, OTHER)
    assert rig.stat("/note/a.md", OTHER).size == len(rig.tree.read(old, 999, 0))
    rig.close(old, OTHER)
