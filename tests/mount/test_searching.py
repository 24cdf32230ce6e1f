"""The searches through a real mount, and by command beside it."""

from __future__ import annotations

import re
from pathlib import Path

from tests.mounted import engramfs, mounted, run


def paths(text: str) -> list[str]:
    return re.findall("^## (.*)$", text, re.M)


def more(text: str) -> str | None:
    found = re.search("^More: (.*)$", text, re.M)
    return None if found is None else found[1]


def test_searches_and_their_pages(tmp_path: Path) -> None:
    with mounted(tmp_path) as mount:
        for number in range(7):
            (mount.root / "note" / f"pump {number}.md").write_text(f"Kubernetes pump {number}\n")
        # the line More is a command for a shell
        for name in (".search", ".find_exact", ".find_objects", ".text"):
            text = mount.sh(f"cat '{name}?q=pump&limit=3'").stdout
            found = paths(text)
            while (line := more(text)) is not None:
                text = mount.sh(line).stdout
                found += paths(text)
            assert sorted(found) == [f"note/pump {number}.md" for number in range(7)]
        # a misspelling, written and read back
        told = mount.sh("echo 'kuberntes' > .find_exact; cat .find_exact").stdout
        assert len(paths(told)) == 7

        # the same by command, through the server's socket
        store = ("--store", mount.store)
        text = engramfs("search", "--exact", "kuberntes", "--limit", "2", *store)
        assert len(paths(text)) == 2
        line = more(text)
        assert line is not None and line.startswith("engramfs search --continue ")
        assert len(paths(engramfs(*line.split()[1:], *store))) == 2
        assert len(paths(engramfs("search", "--objects", "pump", *store))) == 7
        assert len(paths(engramfs("search", "--text", "pump", "--kinds", "note", *store))) == 7
        both = run("search", "--exact", "--objects", "pump", *store)
        assert both.returncode == 2 and "exclude one another" in both.stderr
        gone = run("search", "--continue", "nothing", *store)
        assert gone.returncode == 1 and "search again" in gone.stderr
        wrong = run("search", "--exact", "pump", "--fusion", "rrf", *store)
        assert wrong.returncode == 2 and "`fusion` is no key of find_exact" in wrong.stderr

        # what is wrong is told where one looks
        told = mount.sh("cat '.continue?set=nothing'; cat '.text?q=a&limit=0'; cat .errors")
        assert "nothing: No such file or directory" in told.stderr.replace("'", "")
        assert "Invalid argument" in told.stderr
        assert "there is no result set nothing" in told.stdout and "1 to 50" in told.stdout
        help_text = mount.sh("cat .help; cat .vector").stdout
        assert ".find_exact?q=" in help_text and "Keys, joined by &: q, kinds, " in help_text
        listed = mount.sh("ls -A").stdout.split()
        assert not any(name.startswith(".") for name in listed)
        assert mount.sh("echo x > .textual; ls .textual").returncode == 0  # a plain file

        # a set that a mount made goes on by command
        found_set = re.search('"set":"([^"]+)"', mount.sh("cat '.text?q=pump&format=json'").stdout)
        assert found_set is not None
        assert len(paths(engramfs("search", "--continue", found_set[1], *store))) == 7
        mount.sh("rm .textual")
