"""Names: what may be made where, and with which errno it fails."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engramfs.tree_rig import GOOD, ME, SCOPE, Rig, fails, rigged


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with rigged(tmp_path) as made:
        yield made


def mkdir(rig: Rig, path: str) -> None:
    rig.tree.mkdir(*rig.parent(path), 0o755, ME)


def rmdir(rig: Rig, path: str) -> None:
    rig.tree.rmdir(*rig.parent(path), ME)


# -- engram names ---------------------------------------------------------------
@pytest.mark.parametrize(
    "name",
    ["Site Roadmap.md", "README.md", "readme.md", "100%2F.md", " x .md", "日本.md", "a.b.md"],
)
def test_names_that_work_everywhere(rig: Rig, name: str) -> None:
    rig.save(f"/note/{name}", b"words\n")
    assert rig.ls("/note") == [name]
    assert rig.body(f"/note/{name}") == b"words\n"


def test_capitals_and_spaces_make_different_files(rig: Rig) -> None:
    for name in ("Site Roadmap.md", "site-roadmap.md", "README.md", "readme.md"):
        rig.save(f"/note/{name}", name.encode())
    assert rig.ls("/note") == ["README.md", "Site Roadmap.md", "readme.md", "site-roadmap.md"]


def test_one_file_under_both_normal_forms(rig: Rig) -> None:
    composed, decomposed = "/note/café.md", "/note/cafe\u0301.md"
    rig.save(decomposed, b"words\n")
    assert rig.ls("/note") == ["cafe\u0301.md"]
    assert rig.inode(composed) == rig.inode(decomposed)
    rig.save(composed, b"other\n")
    assert rig.ls("/note") == ["cafe\u0301.md"]  # as created
    rig.rename(decomposed, composed)
    assert rig.ls("/note") == ["café.md"]
    assert rig.body(decomposed) == b"other\n"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("a\nb.md", "EINVAL"),
        ("a\x7fb.md", "EINVAL"),
        ("a\udcffb.md", "EINVAL"),
        ("x" * 253 + ".md", "ENAMETOOLONG"),
        ("x.MD", "EPERM"),
        ("x.Md", "EPERM"),
    ],
)
def test_names_that_are_refused_at_create(rig: Rig, name: str, code: str) -> None:
    with fails(code):
        rig.create(f"/note/{name}")
    rig.save("/note/a.md", b"words\n")
    with fails(code):
        rig.rename("/note/a.md", f"/note/{name}")
    with fails("ENOENT"):
        rig.stat(f"/note/{name}")
    assert rig.ls("/note") == ["a.md"]


def test_what_has_an_engrams_name_is_a_regular_file(rig: Rig) -> None:
    note = rig.inode("/note")
    with fails("EPERM"):
        mkdir(rig, "/note/x.md")
    with fails("EPERM"):
        rig.tree.symlink(note, "x.md", "target", ME)
    with fails("EPERM"):
        rig.tree.mknod(note, "x.md", stat.S_IFIFO | 0o600, ME)
    with fails("EPERM"):
        rig.tree.mknod(note, "fifo", stat.S_IFIFO | 0o600, ME)
    rig.save("/note/a.md", b"words\n")
    with fails("EPERM"):
        rig.tree.link(rig.inode("/note/a.md"), note, "b.md", ME)
    rig.save("/note/plain.txt", b"x")
    with fails("EPERM"):
        rig.tree.link(rig.inode("/note/plain.txt"), note, "b.md", ME)
    rig.tree.symlink(note, "link", "plain.txt", ME)
    with fails("EPERM"):
        rig.rename("/note/link", "/note/b.md")
    rig.tree.mknod(note, "new.md", stat.S_IFREG | 0o644, ME)
    assert rig.read("/note/new.md") == b""


def test_an_engram_is_no_directory(rig: Rig) -> None:
    rig.save("/note/a.md", b"words\n")
    with fails("ENOTDIR"):
        rig.stat("/note/a.md/part")
    with fails("ENOTDIR"):
        rmdir(rig, "/note/a.md")
    with fails("ENOTDIR"):
        rig.ls("/note/a.md")
    with fails("EISDIR"):
        rig.unlink("/note")
    with fails("EISDIR"):
        rig.open("/note", os.O_RDONLY)


# -- plain names ----------------------------------------------------------------
@pytest.mark.parametrize(
    "name",
    ["4913", ".x.md.swp", "x.md~", "#x.md#", ".#x.md", "sedAbC12", ".x.md.Xy12Zz", "x.md.tmp.123"],
)
def test_temporaries_are_plain_files(rig: Rig, name: str) -> None:
    rig.save(f"/note/{name}", b"anything \xff")
    assert rig.ls("/note") == [name]
    assert rig.read(f"/note/{name}") == b"anything \xff"
    assert rig.engine.entries(SCOPE) == []
    rig.unlink(f"/note/{name}")


def test_notes_in_plain_directories_fail_loudly(rig: Rig) -> None:
    mkdir(rig, "/note/img")
    mkdir(rig, "/plain")
    for path in ("/note/img/x.md", "/plain/x.md", "/plain/X.MD"):
        with fails("EPERM"):
            rig.create(path)
        with fails("EPERM"):
            mkdir(rig, path)
    rig.save("/note/img/chart.png", b"x")
    with fails("EPERM"):
        rig.rename("/note/img/chart.png", "/note/img/chart.md")
    rig.save("/note/a.md", b"words\n")
    with fails("EPERM"):
        rig.rename("/note/a.md", "/plain/a.md")
    mkdir(rig, "/.obsidian")
    rig.save("/.obsidian/template.md", b"x")
    rig.save("/README.md", b"x")
    assert rig.ls("/") == [".obsidian", "README.md", "deal", "note", "plain", "task"]


def test_links_and_directories_of_the_overlay(rig: Rig) -> None:
    mkdir(rig, "/.git")
    rig.tree.symlink(rig.inode("/.git"), "HEAD", "refs/heads/main", ME)
    assert rig.tree.readlink(rig.inode("/.git/HEAD"), ME) == "refs/heads/main"
    assert stat.S_ISLNK(rig.stat("/.git/HEAD").mode)
    listed = rig.tree.readdir(rig.inode("/.git"), ME)
    assert [(one.name, stat.S_IFMT(one.mode)) for one in listed] == [("HEAD", stat.S_IFLNK)]
    rig.save("/.git/a", b"x")
    rig.tree.link(rig.inode("/.git/a"), rig.inode("/.git"), "b", ME)
    assert rig.stat("/.git/b").nlink == 2
    with fails("ENOTEMPTY"):
        rmdir(rig, "/.git")
    for name in ("a", "b", "HEAD"):
        rig.unlink(f"/.git/{name}")
    rmdir(rig, "/.git")
    with fails("ENOENT"):
        rig.ls("/.git")


# -- kinds ------------------------------------------------------------------------
def test_kind_directories_stay(rig: Rig) -> None:
    with fails("EEXIST"):
        mkdir(rig, "/note")
    rig.save("/note/a.md", b"words\n")
    with fails("ENOTEMPTY"):
        rmdir(rig, "/note")
    rig.unlink("/note/a.md")
    rig.save("/note/.swp", b"x")
    with fails("ENOTEMPTY"):
        rmdir(rig, "/note")
    rig.unlink("/note/.swp")
    handle = rig.create("/note/b.md")
    with fails("ENOTEMPTY"):
        rmdir(rig, "/note")
    rig.write(handle, b"x")
    rig.close(handle)
    rig.unlink("/note/b.md")
    rmdir(rig, "/note")  # 0, and it stays: rm -rf and git clean work
    assert "note" in rig.ls("/")
    mkdir(rig, "/plain")
    for old, new in (("/note", "/other"), ("/plain", "/note"), ("/note", "/deal")):
        with fails("EPERM"):
            rig.rename(old, new)


def test_open_mode_mkdir_makes_a_kind(tmp_path: Path) -> None:
    with rigged(tmp_path, kinds=None) as rig:
        assert rig.ls("/") == []
        mkdir(rig, "/Notes")
        rig.save("/Notes/a.md", b"---\nanything: goes\n---\nwords\n")
        assert rig.ls("/") == ["Notes"]
        assert rig.xattr("/Notes/a.md", "kind") == "Notes"
        mkdir(rig, "/.obsidian")
        rig.save("/.obsidian/x.md", b"x")
        mkdir(rig, "/Notes/img")
        with fails("EPERM"):
            rig.create("/Notes/img/x.md")
        with fails("ENOTEMPTY"):
            rmdir(rig, "/Notes")
        with fails("EPERM"):
            rig.rename("/Notes", "/Others")
        rig.unlink("/Notes/a.md")
        rmdir(rig, "/Notes/img")
        rmdir(rig, "/Notes")
        assert rig.ls("/") == [".obsidian"]
        for name in ("a\nb", "x\udcff"):
            with fails("EINVAL"):
                mkdir(rig, f"/{name}")


def test_only_some_kinds_are_shown(tmp_path: Path) -> None:
    with rigged(tmp_path, only_kinds=frozenset({"note"})) as rig:
        assert rig.ls("/") == ["note"]
        rig.overlay.mkdir(("task",), 0o755)
        assert rig.ls("/") == ["note"]
        for attempt in (
            lambda: rig.stat("/task"),
            lambda: rig.stat("/task/x.md"),
            lambda: rig.ls("/task"),
        ):
            with fails("ENOENT"):
                attempt()
        with fails("EPERM"):
            mkdir(rig, "/task")


def test_roots_mode(tmp_path: Path) -> None:
    with rigged(tmp_path, root_kind="task") as rig:
        rig.save("/x.md", GOOD)
        assert rig.ls("/") == ["x.md"]
        assert rig.inode("/") == rig.stat("/").inode == 1
        assert rig.engine.lookup(SCOPE, "task", "x") is not None
        rig.save("/.x.md.swp", b"x")
        assert rig.overlay.stat(("task", ".x.md.swp")).st_size == 1
        assert rig.stat("/.errors").size == 0
        with fails("EPROTO"):
            rig.save("/y.md", b"---\nstatus: no\n---\n")
        assert rig.ls("/.rejected") == ["y.md"]
        rig.unlink("/.rejected/y.md")
        rig.rename("/x.md", "/z.md")
        mkdir(rig, "/img")
        with fails("EPERM"):
            rig.create("/img/x.md")
        assert rig.ls("/") == [".x.md.swp", "img", "z.md"]


# -- special names -----------------------------------------------------------------
@pytest.mark.parametrize("name", [".recall", ".link", ".vector", ".graph:x", ".recall?q=x"])
def test_special_names_cannot_be_made(rig: Rig, name: str) -> None:
    rig.save("/note/a.md", b"words\n")
    rig.save("/plain.txt", b"x")
    with fails("EACCES"):
        rig.create(f"/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    with fails("EACCES"):
        mkdir(rig, f"/{name}")
    with fails("EACCES"):
        rig.tree.symlink(1, name, "x", ME)
    for old in ("/note/a.md", "/plain.txt"):
        with fails("EACCES"):
            rig.rename(old, f"/{name}")


def test_special_names_of_later_releases_are_not_there(rig: Rig) -> None:
    for name in (".history", ".metrics"):
        with fails("ENOENT"):
            rig.stat(f"/{name}")
    for old in ("/.help", "/.rejected"):
        with fails("EACCES"):
            rig.rename(old, "/x")
    rig.save("/.recallrc", b"plain")
    rig.save("/note/.recall", b"plain")
    assert rig.read("/.recallrc") == rig.read("/note/.recall") == b"plain"
