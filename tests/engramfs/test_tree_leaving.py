"""Engrams that are renamed to plain names while they are open, and come back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engramfs.tree_rig import ME, OTHER, Rig, rigged


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with rigged(tmp_path) as made:
        yield made


def test_a_file_that_leaves_goes_on_being_written(rig: Rig) -> None:
    rig.save("/note/a.md", b"one\n")
    handle = rig.open("/note/a.md", os.O_WRONLY | os.O_TRUNC)
    rig.rename("/note/a.md", "/note/a.txt", caller=OTHER)
    rig.write(handle, b"two\n")
    rig.rename("/note/a.txt", "/note/b.txt", caller=OTHER)
    rig.close(handle)
    assert rig.ls("/note") == ["b.txt"]
    assert rig.read("/note/b.txt") == b"two\n"


def test_a_new_file_can_leave_before_it_is_committed(rig: Rig) -> None:
    handle = rig.create("/task/new.md")
    rig.write(handle, b"not valid at all")
    rig.rename("/task/new.md", "/task/new.txt")
    rig.close(handle)
    assert rig.ls("/task") == ["new.txt"]
    assert rig.read("/task/new.txt") == b"not valid at all"


def test_a_reader_sees_its_version_after_its_file_left_and_came_back(rig: Rig) -> None:
    rig.save("/note/a.md", b"as it was\n")
    handle = rig.open("/note/a.md")
    was = rig.tree.read(handle, 100, 0)
    rig.rename("/note/a.md", "/note/a.md~")
    rig.rename("/note/a.md~", "/note/a.md")
    rig.save("/note/a.md", b"another and longer text\n", OTHER)
    assert rig.tree.read(handle, 100, 0) == was
    assert rig.stat("/note/a.md").size == len(was)
    assert rig.stat("/note/a.md", OTHER).size > len(was)
    rig.close(handle)
    assert rig.stat("/note/a.md").size > len(was)


def test_a_writer_writes_the_engram_after_its_file_left_and_came_back(rig: Rig) -> None:
    rig.save("/note/a.md", b"as it was\n")
    handle = rig.open("/note/a.md", os.O_RDWR)
    rig.rename("/note/a.md", "/note/a.md~")
    rig.rename("/note/a.md~", "/note/b.md")
    rig.tree.truncate(rig.inode("/note/b.md"), 0, ME, handle)
    rig.write(handle, b"what is new\n")
    rig.close(handle)
    assert rig.body("/note/b.md") == b"what is new\n"
    assert rig.ls("/note") == ["b.md"]


def test_a_reader_of_an_older_version_sees_that_where_its_file_left_to(rig: Rig) -> None:
    rig.save("/note/a.md", b"as it was\n")
    handle = rig.open("/note/a.md")
    was = rig.tree.read(handle, 100, 0)
    rig.append("/note/a.md", b"and more\n", OTHER)
    rig.rename("/note/a.md", "/note/a.md~")
    assert rig.stat("/note/a.md~").size == len(was)
    assert rig.stat("/note/a.md~", OTHER).size > len(was)
    rig.close(handle)
    assert rig.stat("/note/a.md~").size > len(was)


def test_a_writer_sees_what_it_has_written_where_its_file_left_to(rig: Rig) -> None:
    rig.save("/note/a.md", b"as it was\n")
    handle = rig.open("/note/a.md", os.O_WRONLY | os.O_TRUNC)
    rig.rename("/note/a.md", "/note/a.md~")
    rig.write(handle, b"new\n")
    before = rig.stat("/note/a.md~")
    assert before.size == 4
    assert rig.stat("/note/a.md~", OTHER).size != 4
    rig.close(handle)
    after = rig.stat("/note/a.md~")
    assert (after.size, after.inode) == (before.size, before.inode)
    assert after.mtime_ns == before.mtime_ns
