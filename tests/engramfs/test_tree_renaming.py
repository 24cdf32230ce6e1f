"""The rename matrix, and the save dances that are made of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engramfs.tree_rig import BAD, GOOD, ME, OTHER, SECOND, Rig, fails, rigged

NOREPLACE, EXCHANGE, WHITEOUT = 1, 2, 4


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with rigged(tmp_path) as made:
        yield made


def age(rig: Rig) -> None:
    """What is there is no longer anybody's temporary, and no path remembers what it lost."""
    rig.clock.pass_ns(600 * SECOND)


# -- engram -> engram ------------------------------------------------------------
def test_a_rename_keeps_everything_but_the_name(rig: Rig) -> None:
    rig.save("/note/a.md", b"words\n")
    before, id = rig.stat("/note/a.md"), rig.id("/note/a.md")
    rig.rename("/note/a.md", "/note/b.md")
    after = rig.stat("/note/b.md")
    assert rig.ls("/note") == ["b.md"]
    assert rig.id("/note/b.md") == id
    assert (after.inode, after.mtime_ns, after.size) == (before.inode, before.mtime_ns, before.size)
    with fails("ENOENT"):
        rig.rename("/note/a.md", "/note/c.md")


def test_a_new_kind_judges_first(rig: Rig) -> None:
    rig.save("/note/a.md", b"words\n")
    with fails("EPROTO"):
        rig.rename("/note/a.md", "/task/a.md")
    assert rig.ls("/note") == ["a.md"] and rig.ls("/task") == []
    assert rig.events() == ["refused"]
    rig.rename("/note/a.md", "/deal/a.md")
    assert rig.xattr("/deal/a.md", "kind") == "deal"


def test_over_another_engram(rig: Rig) -> None:
    rig.save("/note/a.md", b"one\n")
    rig.save("/note/b.md", b"two\n")
    age(rig)
    id = rig.id("/note/a.md")
    rig.rename("/note/a.md", "/note/b.md")
    assert rig.ls("/note") == ["b.md"]
    assert rig.id("/note/b.md") == id
    assert rig.body("/note/b.md") == b"one\n"


def test_over_another_engram_by_a_temporary(rig: Rig) -> None:
    rig.save("/note/x.md", b"old\n")
    age(rig)
    id, inode = rig.id("/note/x.md"), rig.stat("/note/x.md").inode
    rig.save("/note/tmpab12.md", b"new\n")
    rig.rename("/note/tmpab12.md", "/note/x.md")
    assert rig.ls("/note") == ["x.md"]
    assert (rig.id("/note/x.md"), rig.stat("/note/x.md").inode) == (id, inode)
    assert rig.body("/note/x.md") == b"new\n"
    assert rig.events() == []


def test_over_a_target_that_changed_since_the_temporary_was_made(rig: Rig) -> None:
    rig.save("/note/x.md", b"old\n")
    age(rig)
    rig.save("/note/tmp.md", b"mine\n")
    rig.save("/note/x.md", b"theirs\n", OTHER)
    rig.rename("/note/tmp.md", "/note/x.md")
    assert rig.events() == ["conflict"]


def test_no_replace(rig: Rig) -> None:
    rig.save("/note/a.md", b"one\n")
    rig.save("/note/b.md", b"two\n")
    rig.save("/note/plain", b"x")
    for old, new in (("a.md", "b.md"), ("a.md", "plain"), ("plain", "a.md")):
        with fails("EEXIST"):
            rig.rename(f"/note/{old}", f"/note/{new}", NOREPLACE)
    rig.rename("/note/a.md", "/note/c.md", NOREPLACE)
    rig.rename("/note/plain", "/note/d.md", NOREPLACE)
    rig.rename("/note/b.md", "/note/plain", NOREPLACE)
    assert rig.ls("/note") == ["c.md", "d.md", "plain"]


def test_exchange(rig: Rig) -> None:
    rig.save("/note/a.md", b"one\n")
    rig.save("/note/b.md", b"two\n")
    a, b = rig.id("/note/a.md"), rig.id("/note/b.md")
    handle = rig.open("/note/a.md", os.O_WRONLY | os.O_TRUNC)
    rig.rename("/note/a.md", "/note/b.md", EXCHANGE)
    assert (rig.id("/note/a.md"), rig.id("/note/b.md")) == (b, a)
    rig.write(handle, b"ONE\n")
    rig.close(handle)
    assert (rig.body("/note/a.md"), rig.body("/note/b.md")) == (b"two\n", b"ONE\n")
    rig.save("/note/p", b"p")
    rig.save("/note/q", b"q")
    rig.rename("/note/p", "/note/q", EXCHANGE)
    assert rig.read("/note/p") == b"q"
    for flags in (EXCHANGE, WHITEOUT, NOREPLACE | EXCHANGE, 8):
        with fails("EINVAL"):
            rig.rename("/note/a.md", "/note/p", flags)
    with fails("ENOENT"):
        rig.rename("/note/a.md", "/note/none.md", EXCHANGE)
    rig.save("/task/t.md", GOOD)
    with fails("EINVAL"):
        rig.rename("/note/a.md", "/task/t.md", EXCHANGE)


# -- engram -> overlay, and back ---------------------------------------------------
def test_leaving_for_the_overlay_and_back(rig: Rig) -> None:
    rig.save("/note/a.md", b"words\n")
    shown, id, before = rig.read("/note/a.md"), rig.id("/note/a.md"), rig.stat("/note/a.md")
    rig.rename("/note/a.md", "/note/a.md~")
    assert rig.ls("/note") == ["a.md~"]
    assert rig.read("/note/a.md~") == shown
    assert rig.stat("/note/a.md~").mtime_ns == before.mtime_ns
    rig.rename("/note/a.md~", "/note/a.md")
    assert rig.ls("/note") == ["a.md"]
    assert rig.id("/note/a.md") == id
    assert rig.stat("/note/a.md").mtime_ns == before.mtime_ns


def test_leaving_replaces_a_plain_file_and_no_directory(rig: Rig) -> None:
    rig.save("/note/a.md", b"words\n")
    rig.save("/note/a.md~", b"older backup")
    rig.rename("/note/a.md", "/note/a.md~")
    assert rig.read("/note/a.md~").endswith(b"words\n")
    rig.tree.mkdir(*rig.parent("/note/img"), 0o755, ME)
    rig.save("/note/b.md", b"words\n")
    with fails("EISDIR"):
        rig.rename("/note/b.md", "/note/img")
    assert rig.body("/note/b.md") == b"words\n"
    assert rig.ls("/note") == ["a.md~", "b.md", "img"]


def test_a_temporary_becomes_the_engrams_next_version(rig: Rig) -> None:
    rig.save("/task/x.md", GOOD)
    id, inode = rig.id("/task/x.md"), rig.stat("/task/x.md").inode
    rig.save("/task/.x.tmp", GOOD + b"more\n")
    rig.tree.utimens(rig.inode("/task/.x.tmp"), None, 3 * SECOND, ME)
    rig.tree.chmod(rig.inode("/task/.x.tmp"), 0o600, ME)
    rig.rename("/task/.x.tmp", "/task/x.md")
    found = rig.stat("/task/x.md")
    assert rig.ls("/task") == ["x.md"]
    assert (rig.id("/task/x.md"), found.inode) == (id, inode)
    assert (found.mtime_ns, found.mode & 0o777) == (3 * SECOND, 0o600)
    assert rig.body("/task/x.md") == GOOD + b"more\n"


def test_a_refused_temporary_stays(rig: Rig) -> None:
    rig.save("/task/x.md", GOOD)
    old = rig.read("/task/x.md")
    rig.save("/task/.x.tmp", BAD)
    with fails("EPROTO"):
        rig.rename("/task/.x.tmp", "/task/x.md")
    assert rig.read("/task/x.md") == old
    assert rig.read("/task/.x.tmp") == BAD
    assert rig.rejected() == {"task/x.md": BAD}


def test_a_backup_made_first_stands_again_when_the_new_one_is_refused(rig: Rig) -> None:
    rig.save("/task/x.md", GOOD)  # sed -i.bak, perl -i.orig, patch
    old, id = rig.read("/task/x.md"), rig.id("/task/x.md")
    rig.save("/task/sedAbC12", BAD)
    rig.rename("/task/x.md", "/task/x.md.bak")
    with fails("EPROTO"):
        rig.rename("/task/sedAbC12", "/task/x.md")
    assert rig.read("/task/x.md") == old
    assert rig.id("/task/x.md") == id


def test_vims_dance_with_a_refusal(rig: Rig) -> None:
    rig.save("/task/x.md", GOOD)
    old, id = rig.read("/task/x.md"), rig.id("/task/x.md")
    rig.rename("/task/x.md", "/task/x.md~")
    handle = rig.create("/task/x.md")
    rig.tree.truncate(rig.inode("/task/x.md"), 0, ME, handle)
    rig.write(handle, BAD)
    with fails("EPROTO"):
        rig.tree.fsync(handle, ME)
    rig.tree.chmod(rig.inode("/task/x.md"), 0o644, ME, handle)
    with fails("EPROTO"):
        rig.close(handle)
    rig.rename("/task/x.md~", "/task/x.md")  # vim puts its backup back
    assert rig.read("/task/x.md") == old
    assert rig.id("/task/x.md") == id
    assert rig.events() == ["refused"]  # the same bytes: the reason stands
    assert rig.rejected() == {"task/x.md": BAD}


def test_vims_dance(rig: Rig) -> None:
    rig.save("/task/x.md", GOOD)
    id = rig.id("/task/x.md")
    text = rig.read("/task/x.md")
    rig.rename("/task/x.md", "/task/x.md~")
    handle = rig.create("/task/x.md")
    rig.write(handle, text + b"more\n")
    rig.tree.fsync(handle, ME)
    before = rig.stat("/task/x.md")
    rig.close(handle)
    assert rig.stat("/task/x.md") == before
    rig.unlink("/task/x.md~")
    assert rig.id("/task/x.md") == id
    assert rig.ls("/task") == ["x.md"]
    assert rig.events() == []


def test_a_temporary_that_is_too_new_to_know_better(rig: Rig) -> None:
    rig.save("/note/x.md", b"old\n")
    handle = rig.create("/note/.tmp")
    rig.write(handle, b"mine\n")
    rig.close(handle)
    rig.save("/note/x.md", b"theirs\n", OTHER)
    rig.rename("/note/.tmp", "/note/x.md")
    assert rig.body("/note/x.md") == b"mine\n"
    assert rig.events() == ["conflict"]


def test_a_conflict_by_rename_can_be_refused(tmp_path: Path) -> None:
    with rigged(tmp_path, on_conflict="refuse") as rig:
        rig.save("/note/x.md", b"old\n")
        rig.save("/note/.tmp", b"mine\n")
        rig.save("/note/x.md", b"theirs\n", OTHER)
        with fails("EBUSY"):
            rig.rename("/note/.tmp", "/note/x.md")
        assert rig.rejected() == {"note/x.md": b"mine\n"}
        assert rig.read("/note/.tmp") == b"mine\n"


# -- open files ------------------------------------------------------------------
def test_an_open_file_goes_along(rig: Rig) -> None:
    rig.save("/note/a.md", b"one\n")
    handle = rig.open("/note/a.md", os.O_WRONLY | os.O_TRUNC)
    rig.rename("/note/a.md", "/note/b.md", caller=OTHER)
    rig.write(handle, b"two\n")
    rig.close(handle)
    assert rig.ls("/note") == ["b.md"]
    assert rig.body("/note/b.md") == b"two\n"


def test_a_named_temporary_file_is_renamed_while_open(rig: Rig) -> None:
    rig.save("/task/x.md", GOOD)
    age(rig)
    id, inode = rig.id("/task/x.md"), rig.stat("/task/x.md").inode
    handle = rig.create("/task/tmpab12.md", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    rig.write(handle, GOOD + b"more\n")
    rig.rename("/task/tmpab12.md", "/task/x.md")
    assert rig.body("/task/x.md", OTHER) == GOOD + b"more\n"
    rig.write(handle, b"and more\n", len(GOOD) + 5)
    rig.close(handle)
    assert rig.ls("/task") == ["x.md"]
    assert (rig.id("/task/x.md"), rig.stat("/task/x.md").inode) == (id, inode)
    assert rig.body("/task/x.md") == GOOD + b"more\nand more\n"
    assert rig.events() == []


def test_a_refused_temporary_that_is_open_stays(rig: Rig) -> None:
    rig.save("/task/x.md", GOOD)
    handle = rig.create("/task/tmp.md")
    rig.write(handle, BAD)
    with fails("EPROTO"):
        rig.rename("/task/tmp.md", "/task/x.md")
    assert rig.body("/task/x.md") == GOOD
    with fails("EPROTO"):
        rig.close(handle)


def test_a_plain_temporary_goes_on_writing_the_engram(rig: Rig) -> None:
    rig.save("/note/x.md", b"old\n")
    handle = rig.create("/note/.tmp", os.O_RDWR | os.O_CREAT)
    rig.write(handle, b"new\n")
    rig.rename("/note/.tmp", "/note/x.md")
    assert rig.body("/note/x.md") == b"new\n"
    rig.write(handle, b"more\n", 4)
    assert rig.tree.read(handle, 99, 0) == b"new\nmore\n"
    rig.close(handle)
    assert rig.ls("/note") == ["x.md"]
    assert rig.body("/note/x.md") == b"new\nmore\n"
    assert rig.events() == []


def test_writers_of_a_replaced_file_are_late(rig: Rig) -> None:
    rig.save("/note/x.md", b"old\n")
    handle = rig.open("/note/x.md", os.O_WRONLY | os.O_TRUNC)
    rig.save("/note/.tmp", b"new\n")
    rig.rename("/note/.tmp", "/note/x.md", caller=OTHER)
    rig.write(handle, b"late\n")
    rig.close(handle)
    assert rig.body("/note/x.md") == b"new\n"
    assert rig.rejected() == {"note/x.md": b"late\n"}


# -- plain -> plain ----------------------------------------------------------------
def test_plain_files_and_directories_are_renamed(rig: Rig) -> None:
    rig.tree.mkdir(*rig.parent("/note/img"), 0o755, ME)
    rig.save("/note/img/a.png", b"x")
    rig.rename("/note/img", "/note/pics")
    rig.rename("/note/pics/a.png", "/b.png")
    assert rig.ls("/note/pics") == []
    assert rig.read("/b.png") == b"x"
    with fails("EISDIR"):
        rig.open("/note/pics", os.O_WRONLY)
    with fails("EPERM"):
        rig.rename("/note/pics", "/note/x.md")


# -- history and identity ------------------------------------------------------------
def test_a_copy_has_an_id_of_its_own(rig: Rig) -> None:
    rig.save("/note/a.md", b"words\n")
    rig.save("/note/b.md", rig.read("/note/a.md"))
    first = rig.id("/note/b.md")
    assert first != rig.id("/note/a.md")
    for text in (b"one\n", b"two\n"):
        rig.save("/note/b.md", rig.read("/note/b.md") + text)
    assert rig.id("/note/b.md") == first


def test_mv_across_roots_keeps_the_identity(rig: Rig) -> None:
    rig.save("/note/a.md", b"words\n")
    id = rig.id("/note/a.md")
    age(rig)
    rig.save("/deal/a.md", rig.read("/note/a.md"), OTHER)  # cp, then rm, in one process
    rig.unlink("/note/a.md", OTHER)
    assert rig.id("/deal/a.md") == id


def test_an_unknown_id_over_an_engram_is_refused(rig: Rig) -> None:
    rig.save("/note/a.md", b"words\n")
    text = rig.read("/note/a.md").replace(
        rig.id("/note/a.md").encode(), b"0" * 8 + b"-0000-7000-8000-" + b"0" * 12
    )
    with fails("EPROTO"):
        rig.save("/note/a.md", text)
    rig.save("/note/.tmp", text)
    with fails("EPROTO"):
        rig.rename("/note/.tmp", "/note/a.md")
    assert rig.body("/note/a.md") == b"words\n"


def test_a_reader_that_comes_between_a_commit_and_what_follows_it(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the new version, so it belongs to the file that is there now."""
    rig.save("/note/x.md", b"one\n")
    first = rig.open("/note/x.md", caller=OTHER)
    found: list[int] = []
    put = rig.engine.put

    def put_and_open(*arguments: object, **named: object) -> object:
        commit = put(*arguments, **named)  # type: ignore[arg-type]
        found.append(rig.open("/note/x.md", caller=OTHER))
        return commit

    rig.save("/note/.tmp", b"second\n")
    monkeypatch.setattr(rig.engine, "put", put_and_open)
    rig.rename("/note/.tmp", "/note/x.md")
    monkeypatch.undo()
    size = rig.stat("/note/x.md", OTHER).size
    rig.save("/note/x.md", b"the third version\n")
    assert rig.stat("/note/x.md", OTHER).size == size == len(rig.tree.read(found[0], 99, 0))
    for handle in (first, *found):
        rig.tree.release(handle, OTHER)
