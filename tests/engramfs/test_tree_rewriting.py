"""`rewrite_links`: a rename in the mount changes the links of others, open files among them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engramfs.tree_rig import OTHER, SCOPE, Rig, fails, rigged

LINKER = b"see [[a]] and [text](../note/a.md)\n"
REWRITTEN = b"see [[new]] and [text](../note/new.md)\n"


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with rigged(tmp_path, rewrite_links=True) as rig:
        rig.save("/note/a.md", b"the target\n")
        rig.save("/note/b.md", LINKER)
        yield rig


def test_without_the_setting_the_text_stays(tmp_path: Path) -> None:
    with rigged(tmp_path) as rig:
        rig.save("/note/a.md", b"the target\n")
        rig.save("/note/b.md", LINKER)
        rig.rename("/note/a.md", "/note/new.md")
        assert rig.body("/note/b.md") == LINKER


def test_a_rename_rewrites_those_that_link_there(rig: Rig) -> None:
    before = rig.stat("/note/b.md")
    rig.rename("/note/a.md", "/note/new.md")
    assert rig.body("/note/b.md") == REWRITTEN
    after = rig.stat("/note/b.md")
    assert (after.inode, after.size) == (before.inode, before.size + 4)
    assert after.mtime_ns > before.mtime_ns
    assert rig.events() == []
    rig.rename("/note/new.md", "/deal/new.md")
    assert rig.body("/note/b.md").count(b"deal/new") == 1


def test_a_reader_keeps_the_version_that_it_opened(rig: Rig) -> None:
    handle = rig.open("/note/b.md")
    rig.rename("/note/a.md", "/note/new.md")
    assert rig.tree.read(handle, 1 << 16, 0).endswith(LINKER)
    rig.close(handle)
    assert rig.body("/note/b.md") == REWRITTEN


def test_a_writer_who_had_the_linker_open_is_told_of_the_conflict(rig: Rig) -> None:
    handle = rig.open("/note/b.md", os.O_RDWR | os.O_TRUNC, OTHER)
    rig.write(handle, b"mine, with [[a]]\n", caller=OTHER)
    rig.rename("/note/a.md", "/note/new.md")
    rig.close(handle, OTHER)
    assert rig.body("/note/b.md") == b"mine, with [[a]]\n"
    assert rig.events() == ["conflict"]
    (edge,) = rig.engine.edges(SCOPE, "note/b")
    assert edge.target == rig.id("/note/new.md")  # the former path is still an alias


def test_an_append_goes_behind_the_rewritten_text(rig: Rig) -> None:
    handle = rig.open("/note/b.md", os.O_WRONLY | os.O_APPEND, OTHER)
    rig.write(handle, b"more\n", 0, os.O_WRONLY | os.O_APPEND, OTHER)
    rig.rename("/note/a.md", "/note/new.md")
    rig.close(handle, OTHER)
    assert rig.body("/note/b.md") == REWRITTEN + b"more\n"
    assert rig.events() == []


def test_under_refuse_the_writer_is_refused(tmp_path: Path) -> None:
    with rigged(tmp_path, rewrite_links=True, on_conflict="refuse") as rig:
        rig.save("/note/a.md", b"the target\n")
        rig.save("/note/b.md", LINKER)
        handle = rig.open("/note/b.md", os.O_RDWR | os.O_TRUNC, OTHER)
        rig.write(handle, b"mine\n", caller=OTHER)
        rig.rename("/note/a.md", "/note/new.md")
        with fails("EBUSY"):
            rig.close(handle, OTHER)
        assert rig.body("/note/b.md") == REWRITTEN
        assert rig.rejected() == {"note/b.md": b"mine\n"}
        rig.unlink("/.rejected/note/b.md")


def test_a_linker_that_is_refused_today_stays_as_it_is(rig: Rig) -> None:
    rig.save("/task/t.md", b"---\nstatus: open\n---\nsee [[a]]\n")
    rig.engine.apply_kinds(
        "kinds: {task: {fields: {status: {type: string, enum: [open, done], required: true},"
        " due: {type: string, required: true}}}, note: {}, deal: {fields: {stage: {type: string}}}}"
    )
    rig.rename("/note/a.md", "/note/new.md")
    assert rig.read("/task/t.md").endswith(b"see [[a]]\n")
    assert rig.body("/note/b.md") == REWRITTEN
