"""`.views`: engrams by what their properties say."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.model import Draft
from engine.slug import nfc
from tests.engramfs.test_tree_graph import led, readlink
from tests.engramfs.tree_rig import ME, SCOPE, Rig, fails, rigged

KINDS = """\
kinds:
  task:
    fields:
      status: {type: string, enum: [open, done, 'a/b'], required: true}
      size: {type: number, enum: [1, 2.5]}
      urgent: {type: boolean}
      due: {type: datetime}
      owner: {type: string, link: owned_by, to: person}
      parent: {type: string, link: belongs_to}
  person: {}
  note: {}
"""


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with rigged(tmp_path, kinds=KINDS) as made:
        yield made


def task(rig: Rig, slug: str, *lines: str) -> None:
    rig.save(f"/task/{slug}.md", "\n".join(("---", "status: open", *lines, "---", "")).encode())


def tree(rig: Rig, top: str) -> dict[str, list[str]]:
    return {name: rig.ls(f"{top}/{name}") for name in rig.ls(top)}


def test_properties_and_their_values(rig: Rig) -> None:
    rig.save("/person/ann.md", b"# Ann\n")
    task(rig, "one", "size: 1.0", "urgent: true", "owner: ann", "tags: [x/y, .z, '']")
    task(rig, "Two words", "size: 2.50", "owner: '[[ann]]'", "tags: [x/y]", "parent: ann")
    assert ".views" not in rig.ls("/")
    assert rig.ls("/.views") == ["note", "person", "task"]
    assert rig.ls("/.views/task") == ["owner", "parent", "size", "status", "tags", "urgent"]
    assert (rig.ls("/.views/note"), rig.ls("/.views/note/tags")) == (["tags"], [])
    assert tree(rig, "/.views/task/status") == {
        "a%2Fb": [], "done": [], "open": ["Two words.md", "one.md"],
    }  # fmt: skip
    assert tree(rig, "/.views/task/size") == {"1": ["one.md"], "2.5": ["Two words.md"]}
    assert tree(rig, "/.views/task/urgent") == {"false": [], "true": ["one.md"]}
    assert tree(rig, "/.views/task/owner") == {"ann": ["Two words.md", "one.md"]}
    assert tree(rig, "/.views/task/parent") == {"ann.person": ["Two words.md"]}
    assert tree(rig, "/.views/task/tags") == {
        "%": ["one.md"], "%2Ez": ["one.md"], "x%2Fy": ["Two words.md", "one.md"],
    }  # fmt: skip
    link = "/.views/task/tags/x%2Fy/Two words.md"
    assert led(rig, link) == "/task/Two words.md"
    assert rig.engine.source(rig.engine.entries(SCOPE, "task")[1]) == rig.read(led(rig, link))
    found = rig.stat(link)
    assert found.mode == stat.S_IFLNK | 0o777 and found.size == len(readlink(rig, link))
    (listed,) = rig.tree.readdir(rig.inode("/.views/task/urgent/true"), ME)
    assert (listed.inode, listed.mode) == (rig.stat("/.views/task/urgent/true/one.md").inode,
                                           stat.S_IFLNK)  # fmt: skip


def test_views_follow_what_is_saved(rig: Rig) -> None:
    task(rig, "one", "tags: [x]")
    before = rig.stat("/.views/task/tags").mtime_ns
    rig.save("/task/one.md", b"---\nstatus: done\nfavourite: yes\ntags: [y]\n---\n".replace(
        b"yes", b"true"))  # fmt: skip
    assert tree(rig, "/.views/task/tags") == {"y": ["one.md"]}
    assert tree(rig, "/.views/task/status")["done"] == ["one.md"]
    assert "favourite" in rig.ls("/.views/task")
    assert rig.ls("/.views/task/favourite/true") == ["one.md"]
    assert rig.stat("/.views/task/tags").mtime_ns > before
    rig.unlink("/task/one.md")
    assert rig.ls("/.views/task/tags") == [] and not rig.exists("/.views/task/tags/y")


def test_what_is_not_there_and_what_cannot_be_changed(rig: Rig) -> None:
    task(rig, "one", "tags: [x]")
    for gone in (
        "/.views/nothing", "/.views/task/due", "/.views/task/nothing", "/.views/task/status/lost",
        "/.views/task/tags/y", "/.views/task/tags/x/two.md", "/.views/task/tags/x/one",
        "/.views/\udcff", "/.views/task/tags/\udcff/x.md",
    ):  # fmt: skip
        with fails("ENOENT"):
            rig.stat(gone)
    link = "/.views/task/tags/x/one.md"
    with fails("ENOTDIR"):
        rig.stat(f"{link}/x")
    for change in (
        lambda: rig.unlink(link),
        lambda: rig.tree.mkdir(*rig.parent("/.views/task/tags/new"), 0o755, ME),
        lambda: rig.tree.rmdir(*rig.parent("/.views/task/tags/x"), ME),
        lambda: rig.tree.symlink(*rig.parent("/.views/task/tags/x/b.md"), "/engram/x", ME),
        lambda: rig.create("/.views/task/x"),
        lambda: rig.rename(link, "/.views/task/status/done/one.md"),
        lambda: rig.rename(link, "/.graph/task/one/out/about/one.md"),
    ):
        with fails("EPERM"):
            change()
    assert "change the property in the file" in "".join(
        str(problem) for notice in rig.engine.notices(SCOPE) for problem in notice.problems
    )


def test_in_a_root(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with rigged(tmp_path, kinds=KINDS, store=store) as rig:
        task(rig, "one", "owner: ann", "urgent: true")
        rig.save("/person/ann.md", b"# Ann\n")
    with rigged(tmp_path, kinds=KINDS, store=store, root_kind="task") as rig:
        assert rig.ls("/.views") == ["task"]
        assert led(rig, "/.views/task/urgent/true/one.md") == "/one.md"
        assert rig.ls("/.views/task/owner") == []  # people are mounted nowhere
    where = (("task", "/t"), ("person", "/p"))
    with rigged(tmp_path, kinds=KINDS, store=store, root_kind="task", mountpoints=where) as rig:
        assert tree(rig, "/.views/task/owner") == {"ann": ["one.md"]}


def test_an_open_mount_has_tags(tmp_path: Path) -> None:
    with rigged(tmp_path, kinds=None) as rig:
        rig.engine.make_kind("Ideas")
        rig.save("/Ideas/a.md", b"---\ntags: [x]\nstage: open\n---\n")
        assert tree(rig, "/.views/Ideas") == {"tags": ["x"]}
        assert led(rig, "/.views/Ideas/tags/x/a.md") == "/Ideas/a.md"


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.text(max_size=30) | st.text(min_size=250, max_size=260), max_size=4))
def test_every_tag_is_found_again(rig: Rig, tags: list[str]) -> None:
    rig.engine.put(SCOPE, Draft("note", "a", None, properties={"tags": list(tags)}))
    names = rig.ls("/.views/note/tags")
    stored = rig.engine.get(SCOPE, "note/a").properties.get("tags") or []
    assert isinstance(stored, list)
    assert len(names) == len({nfc(str(tag)) for tag in stored})
    for name in names:
        assert rig.ls(f"/.views/note/tags/{name}") == ["a.md"]
        assert "%~" in name or name == "%" or unquote(name) in {nfc(str(tag)) for tag in stored}
