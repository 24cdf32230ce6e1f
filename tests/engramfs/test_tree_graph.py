"""`.graph`: edges walked, made, removed and described by path."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.model import Draft, EdgeMeta
from engine.namespace import Scope
from engramfs.inodes import OVERLAY
from tests.engramfs.tree_rig import ME, OTHER, SCOPE, Rig, fails, rigged

ABOUT = "/.graph/note/a/out/about"


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with rigged(tmp_path) as made:
        for path in ("note/a", "note/b", "deal/b", "deal/Two words", "note/v1.2"):
            made.save(f"/{path}.md", b"# x\n")
        yield made


def ln(rig: Rig, text: str, path: str) -> None:
    """symlink(2): the kernel looks first, and after."""
    if rig.exists(path):
        raise FileExistsError(17, path)
    parent, name = rig.parent(path)
    found = rig.tree.symlink(parent, name, text, ME)
    assert stat.S_ISLNK(found.mode)


def readlink(rig: Rig, path: str) -> str:
    return rig.tree.readlink(rig.inode(path), ME)


def led(rig: Rig, path: str) -> str:
    """Where a symlink leads, as the kernel follows it."""
    return os.path.normpath(f"{os.path.dirname(path)}/{readlink(rig, path)}")


def said(rig: Rig) -> str:
    """The newest line of .errors."""
    notice = rig.engine.notices(SCOPE)[0]
    return f"{notice.path}: {'; '.join(map(str, notice.problems))}"


def link(rig: Rig, a: str, relation: str, b: str, **meta: object) -> None:
    rig.engine.link(SCOPE, a, relation, b, EdgeMeta(**meta))  # type: ignore[arg-type]


# -- looking -----------------------------------------------------------------
def test_the_directories(rig: Rig) -> None:
    link(rig, "note/a", "about", "note/b")
    link(rig, "deal/b", "knows", "note/a")
    assert ".graph" not in rig.ls("/")
    assert rig.ls("/.graph") == ["deal", "note", "task"]
    assert rig.ls("/.graph/note") == ["a", "b", "v1.2"]
    assert rig.ls("/.graph/note/a") == ["in", "out"]
    assert (rig.ls("/.graph/note/a/out"), rig.ls("/.graph/note/a/in")) == (["about"], ["knows"])
    assert rig.ls("/.graph/note/a/in/knows") == ["b.deal.md"]
    assert rig.ls("/.graph/deal/b/out/knows") == ["a.note.md"]
    for gone in ("/.graph/kind", "/.graph/note/x", "/.graph/note/a/about", f"{ABOUT}/x.md"):
        with fails("ENOENT"):
            rig.stat(gone)
    with fails("ENOTDIR"):
        rig.stat(f"{ABOUT}/b.md/x")
    with fails("ENOENT"):
        rig.stat("/.views?x")


def test_two_kinds_with_one_slug_and_names_with_blanks_and_dots(rig: Rig) -> None:
    for other in ("note/b", "deal/b", "deal/Two words", "note/v1.2"):
        link(rig, "note/a", "about", other)
    links = {
        "b.md": "/note/b.md", "b.deal.md": "/deal/b.md",
        "Two words.deal.md": "/deal/Two words.md", "v1.2.note.md": "/note/v1.2.md",
    }  # fmt: skip
    assert rig.ls(ABOUT) == sorted(links)
    for name, target in links.items():
        assert led(rig, f"{ABOUT}/{name}") == target
        assert rig.read(led(rig, f"{ABOUT}/{name}")).endswith(b"# x\n")


def test_what_stat_shows(rig: Rig) -> None:
    link(rig, "note/a", "about", "note/b")
    found = rig.stat(f"{ABOUT}/b.md")
    assert found.mode == stat.S_IFLNK | 0o777 and found.nlink == 1 and found.uid == 1000
    assert found.size == len(readlink(rig, f"{ABOUT}/b.md"))
    assert found.mtime_ns == rig.engine.edges(SCOPE, "note/a")[0].updated_ns
    (listed,) = rig.tree.readdir(rig.inode(ABOUT), ME)
    assert (listed.inode, listed.mode) == (found.inode, stat.S_IFLNK)
    path, numbers = "", set()
    for step in (".graph", "note", "a", "out", "about"):
        path += f"/{step}"
        directory = rig.stat(path)
        assert directory.mode == stat.S_IFDIR | 0o755
        parent = rig.tree.readdir(rig.inode(os.path.dirname(path)), ME)
        if step != ".graph":
            assert {one.name: one.inode for one in parent}[step] == directory.inode
        numbers.add(directory.inode)
    assert len(numbers) == 5 and min(numbers) > OVERLAY
    before = rig.stat(ABOUT).mtime_ns
    assert rig.stat(ABOUT).mtime_ns == before
    link(rig, "note/a", "about", "deal/b")
    assert rig.stat(ABOUT).mtime_ns > before


def test_numbers_stay_with_the_engram(tmp_path: Path) -> None:
    store = tmp_path / "store"
    seen = []
    for name in ("a", "b"):
        with rigged(tmp_path, store=store) as rig:
            if name == "a":
                rig.save("/note/a.md", b"# x\n")
                rig.save("/note/c.md", b"# x\n")
                link(rig, "note/a", "about", "note/c")
            else:
                rig.rename("/note/a.md", "/note/b.md")
            top = f"/.graph/note/{name}/out/about"
            paths = (top, f"{top}/c.md", f"{top}/c.edge")
            seen.append([rig.stat(path).inode for path in paths])
    assert seen[0] == seen[1] and len(set(seen[0])) == 3


def test_what_is_deleted_or_renamed_is_followed(rig: Rig) -> None:
    rig.save("/note/a.md", b"[[note/b]] and [[deal/b]]\n")
    mentions = "/.graph/note/a/out/mentions"
    assert rig.ls(mentions) == ["b.deal.md", "b.md"]
    rig.rename("/note/b.md", "/note/moved.md")
    rig.unlink("/deal/b.md")
    assert rig.ls(mentions) == ["moved.md"]
    assert led(rig, f"{mentions}/moved.md") == "/note/moved.md"
    assert not rig.exists(f"{mentions}/b.md")
    assert rig.ls("/.graph/note/moved/in/mentions") == ["a.md"]


def test_a_long_name_is_an_id(rig: Rig) -> None:
    rig.save(f"/deal/{'x' * 250}.md", b"")
    link(rig, "note/a", "about", f"deal/{'x' * 250}")
    (name,) = rig.ls(ABOUT)
    assert name == f"{rig.id('/deal/' + 'x' * 250 + '.md')}..md"
    assert led(rig, f"{ABOUT}/{name}") == f"/deal/{'x' * 250}.md"


def test_kinds_that_are_not_shown(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with rigged(tmp_path, store=store) as rig:
        rig.save("/note/a.md", b"# x\n")
        rig.save("/deal/b.md", b"# x\n")
        link(rig, "note/a", "about", "deal/b")
        link(rig, "note/a", "about", "deal/b")
    with rigged(tmp_path, store=store, only_kinds=frozenset({"note", "task"})) as rig:
        assert rig.ls("/.graph") == ["note", "task"]
        assert rig.ls("/.graph/note/a/out") == rig.ls(ABOUT) == []
        with fails("ENOENT"):
            rig.stat(f"{ABOUT}/b.deal.md")
        with fails("EPROTO"):
            ln(rig, "/engram/deal/b.md", f"{ABOUT}/b.deal.md")
    with rigged(tmp_path, store=store, read_only=True) as rig:
        assert rig.ls(ABOUT) == ["b.deal.md"]
        for change in (
            lambda: rig.unlink(f"{ABOUT}/b.deal.md"),
            lambda: ln(rig, "note/a.md", "/.graph/deal/b/out/about/a.note.md"),
            lambda: rig.save(f"{ABOUT}/b.deal.edge", b"note: x\n"),
            lambda: rig.create(f"{ABOUT}/x"),
        ):
            with fails("EROFS"):
                change()


def test_roots_lead_to_one_another(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with rigged(tmp_path, store=store) as rig:
        for path in ("note/a", "note/c", "deal/b", "task/t"):
            rig.save(f"/{path}.md", b"---\nstatus: open\n---\n" if "task" in path else b"# x\n")
        for other in ("note/c", "deal/b", "task/t"):
            link(rig, "note/a", "about", other)
    where = (("note", "/n"), ("deal", "/d"), ("deal", "/real/d"))
    with rigged(tmp_path, store=store, root_kind="note", mountpoints=where) as rig:
        assert rig.ls("/.graph") == ["note"]
        assert rig.ls(ABOUT) == ["b.deal.md", "c.md"]  # tasks are mounted nowhere
        assert readlink(rig, f"{ABOUT}/b.deal.md") == "/d/b.md"
        assert led(rig, f"{ABOUT}/c.md") == "/c.md"
        rig.unlink(f"{ABOUT}/b.deal.md")
        for text in ("/d/b.md", "/real/d/b.md", "../../../../../../d/b.md", "/d/b"):
            ln(rig, text, f"{ABOUT}/b.md")
            assert rig.ls(ABOUT) == ["b.deal.md", "c.md"]
            rig.unlink(f"{ABOUT}/b.md")


# -- making and removing -------------------------------------------------------
@pytest.mark.parametrize(
    "text",
    [
        "/engram/deal/b.md", "/engram/deal/b", "../../../../../deal/b.md", "deal/b.md", "deal/b",
        "/engram/../engram/deal//b.md", "/engram/.graph/note/b/out/knows/b.deal.md",
        "../../deal/b.md",
    ],
)  # fmt: skip
def test_targets_as_people_type_them(rig: Rig, text: str) -> None:
    link(rig, "note/b", "knows", "deal/b")
    ln(rig, text, f"{ABOUT}/any name at all.md")
    assert rig.ls(ABOUT) == ["b.deal.md"]
    (edge,) = rig.engine.edges_between(SCOPE, "note/a", "about", "deal/b")
    assert edge.origin == "link"
    assert rig.stat(f"{ABOUT}/b.md").inode == rig.stat(f"{ABOUT}/b.deal.md").inode
    rig.unlink(f"{ABOUT}/any name at all.md")
    assert rig.ls(ABOUT) == rig.ls("/.graph/note/a/out") == []
    assert rig.engine.notices(SCOPE) == []


def test_a_mere_name_is_of_the_own_kind(rig: Rig) -> None:
    ln(rig, "b.md", f"{ABOUT}/b.md")
    assert led(rig, f"{ABOUT}/b.md") == "/note/b.md"
    with pytest.raises(FileExistsError):
        ln(rig, "/engram/deal/b.md", f"{ABOUT}/b.md")
    with fails("EEXIST"):
        ln(rig, "/engram/note/b.md", f"{ABOUT}/b again.md")
    ln(rig, "/engram/deal/b.md", f"{ABOUT}/b.deal.md")
    assert rig.ls(ABOUT) == ["b.deal.md", "b.md"]


def test_into_in_the_edge_comes_from_there(rig: Rig) -> None:
    ln(rig, "/engram/deal/b.md", "/.graph/note/a/in/owns/b.deal.md")
    assert rig.ls("/.graph/deal/b/out/owns") == ["a.note.md"]
    rig.unlink("/.graph/note/a/in/owns/b.deal.md")
    assert rig.ls("/.graph/deal/b/out") == []


@pytest.mark.parametrize(
    ("text", "path", "code", "sentence"),
    [
        ("/etc/passwd", f"{ABOUT}/x.md", "EPROTO", "/etc/passwd leads to no engram"),
        ("/engram/note/gone.md", f"{ABOUT}/x.md", "EPROTO", "leads to no engram"),
        ("/engram/note/a.md", f"{ABOUT}/a.md", "EPROTO", "cannot be linked to itself"),
        ("note/b.md", "/.graph/note/a/out/contains/b.md", "EPROTO", "is said of parts only"),
        ("note/b.md", "/.graph/note/a/out/x\x01/b.md", "EPROTO", "has a control character"),
        ("note/b.md", f"/.graph/note/a/out/{'r' * 201}/b.md", "EPROTO", "longer than 200 bytes"),
        ("note/b.md", f"{ABOUT}/b.edge", "EINVAL", "names that end in .edge"),
        ("note/b.md", "/.graph/note/a/out/b.md", "EEXIST", ""),
        ("note/b.md", "/.graph/note/b.md", "EPERM", "links are made in the directory of a rel"),
        ("note/b.md", "/.views/note/tags/b.md", "EPERM", "follows from the properties"),
    ],
)  # fmt: skip
def test_what_cannot_be_linked(rig: Rig, text: str, path: str, code: str, sentence: str) -> None:
    with fails(code):
        ln(rig, text, path)
    if sentence:
        assert sentence in said(rig)
        assert said(rig).startswith(path.removeprefix("/"))
    assert rig.engine.edges(SCOPE, "note/a") == ()


def test_an_edge_of_a_text_is_changed_in_the_text(rig: Rig) -> None:
    rig.save("/note/a.md", b"See [[note/b]].\n")
    path = "/.graph/note/a/out/mentions/b.md"
    with fails("EPERM"):
        rig.unlink(path)
    assert "made by the text of note/a (take `note/b` out of the file)" in said(rig)
    with fails("EPERM"):
        rig.unlink("/.graph/note/b/in/mentions/a.md")
    rig.save("/note/a.md", b"See nothing.\n")
    assert rig.ls("/.graph/note/a/out") == []


def test_names_and_directories_cannot_be_chosen(rig: Rig) -> None:
    link(rig, "note/a", "about", "note/b")
    link(rig, "note/a", "about", "deal/b")
    for make in (
        lambda: rig.create(f"{ABOUT}/.b.md.swp"),
        lambda: rig.tree.mkdir(*rig.parent(f"{ABOUT}/x"), 0o755, ME),
        lambda: rig.tree.mkdir(*rig.parent("/.graph/note/x"), 0o755, ME),
        lambda: rig.rename(f"{ABOUT}/b.md", f"{ABOUT}/c.md"),
        lambda: rig.rename(f"{ABOUT}/b.md", f"{ABOUT}/b.deal.md"),
        lambda: rig.rename(f"{ABOUT}/b.md", "/.graph/note/a/out/knows/b.md"),
        lambda: rig.rename(f"{ABOUT}/b.md", "/note/x.md"),
        lambda: rig.rename("/note/b.md", f"{ABOUT}/x.md"),
        lambda: rig.tree.link(rig.inode("/note/b.md"), *rig.parent(f"{ABOUT}/x.md"), ME),
        lambda: rig.tree.rmdir(*rig.parent("/.graph/note/a/out"), ME),
        lambda: rig.unlink(f"{ABOUT}/b.edge"),
    ):
        with fails("EPERM"):
            make()
    for make in (
        lambda: rig.create("/.graph"),
        lambda: rig.rename("/note/b.md", "/.views"),
        lambda: rig.tree.chmod(rig.inode(ABOUT), 0o700, ME),
        lambda: rig.tree.rmdir(*rig.parent("/.graph"), ME),
    ):
        with fails("EACCES"):
            make()
    with fails("EEXIST"):
        rig.tree.mkdir(*rig.parent("/.graph/note/a/out/new"), 0o755, ME)
    with fails("ENOTEMPTY"):
        rig.tree.rmdir(*rig.parent(ABOUT), ME)
    with fails("EISDIR"):
        rig.unlink(ABOUT)
    rig.unlink(f"{ABOUT}/b.md")
    rig.unlink(f"{ABOUT}/b.deal.md")
    rig.tree.rmdir(*rig.parent(ABOUT), ME)
    assert rig.stat(ABOUT) and rig.ls(ABOUT) == []  # `ln -s` makes the first edge there
    with fails("ENOENT"):
        rig.stat("/.graph/note/a/out/.git")


def test_ln_f_replaces_a_link_by_itself_only(rig: Rig) -> None:
    link(rig, "note/a", "about", "note/b", note="kept")
    with fails("EEXIST"):  # so no temporary link is made either, and what is said is kept
        ln(rig, "/engram/note/b.md", f"{ABOUT}/CuTemp")
    ln(rig, "/engram/deal/b.md", f"{ABOUT}/CuTemp")
    rig.rename(f"{ABOUT}/CuTemp", f"{ABOUT}/b.deal.md")
    with fails("EPERM"):
        rig.rename(f"{ABOUT}/CuTemp", f"{ABOUT}/b.md")
    assert rig.ls(ABOUT) == ["b.deal.md", "b.md"]
    assert rig.engine.edges_between(SCOPE, "note/a", "about", "note/b")[0].note == "kept"


def test_many_neighbours_are_listed_all(rig: Rig) -> None:
    count = 3000
    drafts = [Draft("note", f"n{number}", b"") for number in range(count)]
    rig.engine.put_many(SCOPE, drafts)
    rig.save("/deal/hub.md", "".join(f"[[note/n{number}]]\n" for number in range(count)).encode())
    hub = "/.graph/deal/hub/out/mentions"
    names = rig.ls(hub)
    assert len(names) == count
    assert led(rig, f"{hub}/n2999.note.md") == "/note/n2999.md"
    listed = rig.tree.readdir(rig.inode(hub), ME)
    assert len({one.inode for one in listed}) == count
    assert rig.ls("/.graph/note/n7/in/mentions", OTHER) == ["hub.deal.md"]


def test_what_is_outside_the_scope_does_not_exist(rig: Rig) -> None:
    team = Scope((("team", "sales"),), exact=True)
    other = rig.engine.put(team, Draft("deal", "b", b"# theirs\n")).entry
    rig.engine.link(Scope(()), rig.id("/note/a.md"), "about", other.id)
    rig.engine.link(Scope(()), other.id, "about", rig.id("/note/a.md"))
    assert rig.ls("/.graph/note/a/out") == rig.ls("/.graph/note/a/in") == rig.ls(ABOUT) == []
    assert not rig.exists(f"{ABOUT}/b.deal.md")
    link(rig, "note/a", "about", "deal/b")
    assert rig.ls(ABOUT) == ["b.deal.md"]
    rig.unlink(f"{ABOUT}/b.deal.md")
    assert len(rig.engine.edges(Scope(()), rig.id("/note/a.md"))) == 2
