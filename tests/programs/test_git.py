"""git with the mount as its work tree: checkout, stash, rebase, apply, backup and restore."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mounted import Mounted, mounted

SETUP = "git init -q -b main . && git config user.name t && git config user.email t@t && "


def document(status: str, body: str, identity: str = "") -> str:
    carried = f"id: {identity}\n" if identity else ""
    return f"---\n{carried}status: {status}\n---\n# Title\n\n{body}\n"


IDS = {
    "a": "0190c1de-0000-7000-8000-00000000000a",
    "b": "0190c1de-0000-7000-8000-00000000000b",
}


@pytest.fixture(params=["shown", "never"])
def tree(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Mounted]:
    """A mount with a git repository inside it and two committed engrams."""
    with mounted(tmp_path, flags=("--embed", "off", "--id-in-file", request.param)) as mount:
        task = mount.root / "task"
        for slug, identity in IDS.items():
            shown = identity if request.param == "shown" else ""
            (task / f"{slug}.md").write_text(document("open", f"body of {slug}", shown))
        settled(mount, SETUP + "git add -A && git commit -qm one")
        yield mount


def git(mount: Mounted, script: str) -> str:
    done = mount.sh(f"set -e; {script}")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def settled(mount: Mounted, script: str) -> str:
    """Run the script; afterwards git sees a clean tree and nothing was refused."""
    out = git(mount, script)
    assert git(mount, "git status --porcelain") == ""
    assert mount.errors() == ""
    return out


def identities(mount: Mounted) -> dict[str, str]:
    return {
        path.name: os.getxattr(path, "user.engram.id").decode()
        for path in sorted((mount.root / "task").glob("*.md"))
    }


def test_the_repository_is_not_part_of_the_knowledge(tree: Mounted) -> None:
    assert sorted(os.listdir(tree.root / "task")) == ["a.md", "b.md"]
    assert git(tree, "git ls-files").split() == ["task/a.md", "task/b.md"]


def test_checkout_between_two_commits(tree: Mounted) -> None:
    before = identities(tree)
    first = (tree.root / "task/a.md").read_bytes()
    settled(tree, "sed -i 's/body of a/other body/' task/a.md && git commit -qam two")
    second = (tree.root / "task/a.md").read_bytes()
    settled(tree, "git checkout -q HEAD~1")
    assert (tree.root / "task/a.md").read_bytes() == first
    settled(tree, "git checkout -q main")
    assert (tree.root / "task/a.md").read_bytes() == second
    assert identities(tree) == before


def test_stash_and_pop(tree: Mounted) -> None:
    before = identities(tree)
    git(tree, "sed -i 's/open/done/' task/a.md")
    changed = (tree.root / "task/a.md").read_bytes()
    settled(tree, "git stash -q")
    git(tree, "git stash pop -q")
    assert (tree.root / "task/a.md").read_bytes() == changed
    assert git(tree, "git status --porcelain").split() == ["M", "task/a.md"]
    assert tree.errors() == ""
    assert identities(tree) == before


def test_rebase_and_merge(tree: Mounted) -> None:
    settled(
        tree,
        "git checkout -qb side; sed -i 's/body of a/side body/' task/a.md; git commit -qam side;"
        "git checkout -q main; sed -i 's/body of b/main body/' task/b.md; git commit -qam main2;"
        "git checkout -q side; git rebase -q main; git checkout -q main; git merge -q side",
    )
    assert "side body" in (tree.root / "task/a.md").read_text()
    assert "main body" in (tree.root / "task/b.md").read_text()


def test_apply_valid_and_invalid(tree: Mounted) -> None:
    make = (
        "sed -i 's/open/{new}/' a.md && "
        "diff -u --label a/task/a.md --label b/task/a.md {old} a.md > {patch}; true"
    )
    old = tree.root.parent / "a.old"
    old.write_bytes((tree.root / "task/a.md").read_bytes())
    for new in ("done", "broken"):
        work = tree.root.parent / new
        work.mkdir()
        (work / "a.md").write_bytes(old.read_bytes())
        patch = work / "p"
        done = os.system(
            f"cd {shlex.quote(str(work))} && " + make.format(new=new, old=old, patch=patch)
        )
        assert done == 0
    good, bad = tree.root.parent / "done/p", tree.root.parent / "broken/p"
    git(tree, f"git apply {good}")
    assert "status: done" in (tree.root / "task/a.md").read_text()
    settled(tree, "git checkout -q -- task/a.md")
    refused = tree.sh(f"git apply {bad}")
    assert refused.returncode != 0
    assert "status: open" in (tree.root / "task/a.md").read_text()
    assert "broken" in tree.errors()


def test_a_refused_checkout_shows_as_modified_and_can_be_tried_again(tree: Mounted) -> None:
    """A commit made elsewhere holds a document that the kind refuses."""
    elsewhere = tree.root.parent / "clone"
    git(
        tree,
        f"git clone -q . {elsewhere}; cd {elsewhere}; "
        "git config user.name t; git config user.email t@t;"
        "sed -i 's/open/broken/' task/a.md; git commit -qam bad; cd -; git fetch -q "
        f"{elsewhere} main:bad",
    )
    before = (tree.root / "task/a.md").read_bytes()
    tree.sh("git checkout -q bad")
    assert (tree.root / "task/a.md").read_bytes() == before
    assert git(tree, "git status --porcelain").split() == ["M", "task/a.md"]
    assert tree.errors().count("broken") == 1
    tree.sh("git checkout -q -- task/a.md")
    assert (tree.root / "task/a.md").read_bytes() == before
    git(tree, "git checkout -qf main")
    assert git(tree, "git status --porcelain") == ""


def test_clean_and_restore(tree: Mounted) -> None:
    before = identities(tree)
    (tree.root / "task/new.md").write_text(document("open", "untracked"))
    settled(tree, "git clean -qfd")
    assert identities(tree) == before
    settled(tree, "rm task/a.md && git restore task/a.md")
    assert identities(tree) == before


def test_backup_from_outside_and_restore_into_an_empty_store(tmp_path: Path) -> None:
    away = tmp_path / "backup.git"
    with mounted(tmp_path / "one") as mount:
        (mount.root / "person").mkdir(exist_ok=True)
        (mount.root / "person/ada.md").write_text("# Ada\n")
        (mount.root / "task/a.md").write_text("---\nstatus: open\nowner: ada\n---\nsee [[ada]]\n")
        (mount.root / "task/b.md").write_bytes(
            b"\xef\xbb\xbf---\r\nstatus: done # why\r\ncodes: [x,\r\n  y]\r\n---\r\nbody"
        )
        backup = f"git --git-dir={away} --work-tree=."
        git(mount, f"git init -q --bare {away}; git --git-dir={away} config core.bare false")
        commit = f"{backup} add -A && {backup} -c user.name=t -c user.email=t@t commit -qm one"
        git(mount, commit)
        second = mount.sh(f"{backup} add -A && {backup} status --porcelain")
        assert (second.returncode, second.stdout) == (0, "")
        (mount.root / "task/a.md").write_text(
            (mount.root / "task/a.md").read_text().replace("open", "done")
        )
        assert "+status: done" in git(mount, f"{backup} diff")
        git(mount, commit)
        files = {p: p.read_bytes() for p in sorted(mount.root.glob("*/*.md"))}
        ids = {p.name: os.getxattr(p, "user.engram.id") for p in files}
    with mounted(tmp_path / "two") as mount:
        git(mount, f"git --git-dir={away} --work-tree=. checkout -qf HEAD -- .")
        restored = {p: p.read_bytes() for p in sorted(mount.root.glob("*/*.md"))}
        assert [(p.name, data) for p, data in restored.items()] == [
            (p.name, data) for p, data in files.items()
        ]
        assert {p.name: os.getxattr(p, "user.engram.id") for p in restored} == ids
        assert mount.errors() == ""
