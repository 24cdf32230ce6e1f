"""The graph and the views by the programs that people walk a tree with."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mounted import KINDS, Mounted, engramfs, mounted, task

ABOUT = ".graph/note/a/out/about"


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mounted]:
    with mounted(tmp_path) as made:
        for path in ("note/a", "note/b", "person/b", "person/Ann Lee"):
            (made.root / f"{path}.md").write_text(f"I am {path}\n")
        yield made


def sh(mount: Mounted, script: str, **environment: str) -> str:
    done = mount.sh(f"set -e\n{script}", **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_ln_ls_cat_readlink_and_rm(mount: Mounted) -> None:
    root = str(mount.root)
    sh(mount, f"mkdir -p {ABOUT}; ln -s ../../note/b.md {ABOUT}/")  # above the root is the root
    sh(mount, f"cd note; ln -s ../person/b.md ../{ABOUT}/other.md")  # from where the caller stands
    sh(mount, f"ln -s {root}/person/'Ann Lee.md' {ABOUT}/")
    names = ["'Ann Lee.person.md'", "b.md", "b.person.md"]
    assert sh(mount, f"ls --quoting-style=shell {ABOUT}").splitlines() == names
    assert sh(mount, "ls .graph/note/a/out; ls '.graph/person/Ann Lee/in/about'").split() == [
        "about", "a.note.md",
    ]  # fmt: skip
    assert sh(mount, f"cat {ABOUT}/b.md").endswith("I am note/b\n")
    assert sh(mount, f"cat {ABOUT}/b.person.md {ABOUT}/other.md").count("I am person/b\n") == 2
    assert sh(mount, f"readlink {ABOUT}/b.md") == "../../../../../note/b.md\n"
    assert sh(mount, f"readlink -f '{ABOUT}/Ann Lee.person.md'") == f"{root}/person/Ann Lee.md\n"
    listed = sh(mount, f"ls -l {ABOUT}").splitlines()
    assert len(listed) == 4 and all(line.startswith("lrwxrwxrwx 1 ") for line in listed[1:])
    assert sorted(os.listdir(mount.root)) == ["note", "person", "task"]
    sh(mount, f"rm {ABOUT}/b.md '{ABOUT}/Ann Lee.person.md'")
    assert sh(mount, f"ls {ABOUT}") == "b.person.md\n"
    sh(mount, f"rm -r {ABOUT}")
    assert sh(mount, "ls .graph/note/a/out; cat .errors") == ""


def test_find_grep_cp_and_tar(mount: Mounted, tmp_path: Path) -> None:
    sh(mount, f"ln -s note/b.md {ABOUT}/; ln -s person/b.md {ABOUT}/b.person.md")
    everything = sh(mount, "find .graph/note/a").splitlines()
    assert sorted(everything) == [
        ".graph/note/a", ".graph/note/a/in", ".graph/note/a/out", ABOUT,
        f"{ABOUT}/b.md", f"{ABOUT}/b.person.md",
    ]  # fmt: skip
    assert len(sh(mount, f"find {ABOUT} -type l").splitlines()) == 2
    assert len(sh(mount, "find -L .graph/note/a -type f -name '*.md'").splitlines()) == 2
    assert mount.sh("grep -r 'I am' .graph").stdout == ""
    assert sh(mount, f"grep -R 'I am' {ABOUT}").count("I am") == 2
    assert sh(mount, "grep -rl 'I am' .").count("graph") == 0
    sh(mount, f"cp -r .graph/note/a {tmp_path}/copy; cp -rL {ABOUT} {tmp_path}/whole")
    assert os.readlink(tmp_path / "copy/out/about/b.md") == "../../../../../note/b.md"
    assert (tmp_path / "whole/b.person.md").read_text().endswith("I am person/b\n")
    assert len(sh(mount, f"tar c {ABOUT} | tar t").splitlines()) == 3
    sh(mount, f"cp -a {ABOUT}/b.md {tmp_path}/link; rm -r {tmp_path}/copy {tmp_path}/whole")


def test_what_is_refused_is_told(mount: Mounted) -> None:
    (mount.root / "note/b.md").write_text("See [[person/b]].\n")
    for script, said, told in (
        (f"ln -s /etc/passwd {ABOUT}/", "Protocol error", "/etc/passwd leads to no engram"),
        (f"ln -s note/a.md {ABOUT}/", "Protocol error", "cannot be linked to itself"),
        ("ln -s note/b.md .graph/note/a/out/part_of/", "Protocol error", "is said of parts only"),
        ("rm .graph/note/b/out/mentions/b.person.md", "Operation not permitted", "take `person/b`"),
        (f"touch {ABOUT}/x", "Operation not permitted", "holds links to engrams only"),
        ("ln -s note/b.md .views/note/tags/", "Operation not permitted", "change the property"),
    ):
        done = mount.sh(script)
        assert done.returncode != 0 and said in done.stderr, done.stderr
        assert told in mount.errors()
    assert sh(mount, "ls .graph/note/a/out .graph/person/b/in/mentions").split() == [
        ".graph/note/a/out:", ".graph/person/b/in/mentions:", "b.note.md",
    ]  # fmt: skip


def test_the_file_of_an_edge_in_shell_and_editor(mount: Mounted) -> None:
    edge = f"{ABOUT}/b.edge"
    sh(mount, f"ln -s note/b.md {ABOUT}/; echo 'note: one' > {edge}; echo 'role: two' >> {edge}")
    text = sh(mount, f"cat {edge}")
    assert "note: one\nrole: two\n" in text
    assert int(sh(mount, f"stat -c %s {edge}")) == len(text)
    edited = text.replace("note: one", "note: edited\nconfidence: 0.5")
    (mount.root / edge).write_text(edited)
    assert "note: edited\nrole: two\nconfidence: 0.5\n" in sh(mount, f"cat {edge}")
    with pytest.raises(OSError, match="Protocol error"):
        (mount.root / edge).write_text("confidence: 2\n")
    assert "the confidence 2 is not in (0, 1]" in mount.errors()
    assert "note: edited" in sh(mount, f"cat {edge}")
    sh(mount, f"cp {edge} /tmp/$$; sed -i s/two/three/ /tmp/$$; cp /tmp/$$ {edge}; rm /tmp/$$")
    assert "role: three\n" in sh(mount, f"cat {edge}")
    mount.remount()
    assert "role: three\n" in sh(mount, f"cat {edge}")


def test_views(mount: Mounted) -> None:
    task(mount, "Two words")
    (mount.root / "note/a.md").write_text("---\ntags: [a/b]\nwho: ['Ann Lee']\n---\nI am a\n")
    assert sh(mount, "ls .views/task/status").split() == ["done", "open"]
    assert sh(mount, "cat '.views/task/status/open/Two words.md'").endswith("body\n")
    assert sh(mount, "cat .views/note/tags/a%2Fb/*").endswith("I am a\n")
    assert sh(mount, "readlink -f '.views/note/who/Ann Lee/a.md'") == f"{mount.root}/note/a.md\n"
    assert sh(mount, "find .views -type l | wc -l").strip() == "3"
    sh(mount, "sed -i s/open/done/ 'task/Two words.md'")
    assert sh(mount, "ls .views/task/status/*").splitlines() == [
        ".views/task/status/done:", "Two words.md", "", ".views/task/status/open:",
    ]  # fmt: skip


def test_roots_walk_into_one_another(tmp_path: Path) -> None:
    kinds = tmp_path / "kinds.yaml"
    kinds.write_text(KINDS)
    roots = {kind: tmp_path / kind for kind in ("person", "note")}
    for root in roots.values():
        root.mkdir()
    store = ("--store", tmp_path / "store")
    options = [word for kind, root in roots.items() for word in ("--root", f"{kind}={root}")]
    engramfs("mount", *options, *store, "--kinds", kinds, "--embed", "off")
    try:
        note, person = roots["note"], roots["person"]
        (note / "a.md").write_text("I am a note\n")
        (note / "b.md").write_text("I am b\n")
        (person / "b.md").write_text("I am a person\n")
        subprocess.run(["ln", "-s", person / "b.md", note / ABOUT], check=True)
        subprocess.run(["ln", "-s", "b.md", ".graph/note/a/out/about/x.md"], cwd=note, check=True)
        assert sorted(os.listdir(note / ABOUT)) == ["b.md", "b.person.md"]
        assert (note / ABOUT / "b.person.md").read_text().endswith("I am a person\n")
        assert (note / ABOUT / "b.md").read_text().endswith("I am b\n")
        assert os.listdir(person / ".graph") == ["person"]
        back = person / ".graph/person/b/in/about/a.note.md"
        assert os.path.realpath(back) == str(note / "a.md")
        back.unlink()
        assert os.listdir(note / ABOUT) == ["b.md"]
    finally:
        engramfs("umount", roots["note"], *store)
