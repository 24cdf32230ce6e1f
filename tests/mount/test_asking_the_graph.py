"""The graph through a real mount: edges written, asked for by name and command, links rewritten."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.mounted import engramfs, mounted, run


def heads(text: str) -> list[str]:
    return re.findall("^## (.*)$", text, re.M)


def test_edges_by_file_and_by_command(tmp_path: Path) -> None:
    with mounted(tmp_path) as mount:
        for name in ("a", "b", "the c"):
            (mount.root / "note" / f"{name}.md").write_text(f"# {name}\n")
        # written by a shell, read back by another process of its session
        told = mount.sh("echo 'from=note/a&relation=about&to=note/b&note=why' > .link; cat .link")
        assert told.stderr == "" and heads(told.stdout) == ["note/a.md about note/b.md"]
        assert heads(mount.sh("cat '.expand?of=note%2Fa'").stdout) == ["note/b.md"]
        assert heads(mount.sh("cat '.neighbours?of=b'").stdout) == ["note/a.md about note/b.md"]
        assert heads(mount.sh("cat '.find_links?q=why'").stdout) == ["note/a.md about note/b.md"]
        assert heads(mount.sh("cat '.graph?ask=orphans'").stdout) == ["note/the c.md"]
        # no look-up changes anything, whatever is looked up
        looked = mount.sh("ls -A; cat '.link?from=a&relation=x&to=the c'; stat .unlink*")
        assert "No such file" in looked.stderr and ".link" not in looked.stdout
        assert "note/the c.md" in mount.sh("cat '.graph?ask=orphans'").stdout
        # what is wrong is told at close
        order = "echo 'from=note/a&relation=a/b&to=note/a'"
        wrong = mount.sh(f"{order} | dd of=.link; {order} > .link; cat .link; cat .errors")
        assert wrong.stderr.count("Invalid argument") == 2  # bash does not look at its close
        assert "a relation is a word such as about" in wrong.stdout
        assert "cannot be linked to itself" in wrong.stdout
        assert mount.sh("touch '.link?x'").returncode == 1

        # by command, through the server's socket, from within the mount
        def here(*arguments: str) -> str:
            done = subprocess.run(
                [sys.executable, "-m", "engramfs", *arguments, "--store", str(mount.store)],
                cwd=mount.root / "note", capture_output=True, text=True, timeout=300,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            return done.stdout

        assert heads(here("link", "b.md", "about", "the c.md", "--confidence", "0.5")) == [
            "note/b.md about note/the c.md"
        ]
        assert heads(here("expand", "a.md", "--hops", "2", "--direction", "out")) == [
            "note/b.md", "note/the c.md",
        ]  # fmt: skip
        assert "path: 2 hops" in here("path", "a.md", "../note/the c.md")
        store = ("--store", mount.store)
        assert len(heads(engramfs("links", "--relation", "about", *store))) == 2
        assert heads(engramfs("links", "--of", mount.root / "note" / "b.md", *store))
        assert '"items"' in engramfs("graph", "rank", "note/a", "--json", *store)
        for name in ("communities", "orphans", "dangling", "most-linked"):
            assert engramfs("graph", name, *store).startswith("---\n")
        assert "unlinked" in here("unlink", "b.md", "about", "the c.md")
        bad = run("link", "note/a", "about", "note/b", "--confidence", "7", *store)
        assert bad.returncode == 2 and "above 0 and up to 1" in bad.stderr
        gone = run("expand", "note/zzz", *store)
        assert gone.returncode == 1 and "no engram note/zzz" in gone.stderr
        mount.check()


def test_renames_rewrite_links_when_told(tmp_path: Path) -> None:
    with mounted(tmp_path) as mount:
        note = mount.root / "note"
        (note / "a.md").write_text("target\n")
        (note / "b.md").write_text("see [[a]] and [it](a.md)\n")
        before = note.joinpath("b.md").stat()
        (note / "a.md").rename(note / "x.md")
        assert "[[a]]" in (note / "b.md").read_text()
        store = ("--store", mount.store)
        told = engramfs("mv", "--rewrite", note / "x.md", "note/longer name", *store)
        assert told == "note/x.md -> note/longer name.md\n"  # `a` is an alias that nobody took
        told = engramfs("mv", "--rewrite", "note/longer name", "note/a", *store)
        told = engramfs("mv", "--rewrite", "note/a", "note/longer name", *store)
        assert told.endswith("rewrote note/b.md\n")
        # the kernel shows the new bytes and their size at once
        text = (note / "b.md").read_text()
        assert text.endswith("see [[longer name]] and [it](longer%20name.md)\n")
        after = note.joinpath("b.md").stat()
        assert after.st_size == len(text) and after.st_ino == before.st_ino
        assert sorted(path.name for path in note.iterdir()) == ["b.md", "longer name.md"]
        taken = run("mv", "note/b", "note/longer name", *store)
        assert taken.returncode == 1 and "--replace" in taken.stderr

        mount.remount(ENGRAMFS_REWRITE_LINKS="on")
        with (note / "b.md").open() as reading:
            (note / "longer name.md").rename(note / "c.md")
            assert "[[longer name]]" in reading.read()
        assert (note / "b.md").read_text().endswith("see [[c]] and [it](c.md)\n")
        assert mount.errors() == ""
        mount.check()
