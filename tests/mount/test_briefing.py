"""A briefing and matches through a real mount, and by command beside it."""

from __future__ import annotations

from pathlib import Path

from tests.mounted import engramfs, mounted, run

KINDS = """\
kinds:
  rule: {briefing: constraint}
  task: {briefing: task, fields: {done: {type: boolean}}}
  note: {}
"""


def test_briefing_and_match(tmp_path: Path) -> None:
    with mounted(tmp_path, kinds=KINDS) as mount:
        (mount.root / "rule" / "friday.md").write_text("Never deploy on a Friday.\n")
        (mount.root / "task" / "filter.md").write_text("---\ndone: true\n---\nx\n")
        (mount.root / "task" / "pump.md").write_text("---\nsummary: Look at it.\n---\nx\n")
        for number in range(20):
            (mount.root / "note" / f"filler-{number}.md").write_text("x\n")
        (mount.root / "note" / "pump overheating.md").write_text("The coolant is low.\n")

        told = mount.sh("cat .briefing; stat -c %s .briefing; cat .briefing | wc -c").stdout
        assert "## rule/friday.md\n> Never deploy on a Friday.\n" in told
        assert "# Tasks\n\n> - task/pump.md: Look at it.\n" in told
        assert "> - task/filter.md\n" in told
        size, read = told.split("\n")[-3:-1]
        assert size == read
        assert "budget=64" in mount.sh("echo 'budget=64' > .briefing; cat .briefing").stdout
        assert "budget=64" not in mount.sh("cat '.briefing?'").stdout

        matched = mount.sh("cat '.match?prompt=is the pump overheating?'").stdout
        assert "## note/pump overheating.md\nshared words: pump, overheating\n" in matched
        assert mount.sh("echo 'is the pump overheating?' > .match; cat .match").stdout == matched
        none = mount.sh("cat '.match?prompt=good morning'")
        assert (none.returncode, none.stdout, none.stderr) == (0, "", "")
        listed = mount.sh("touch '.match?prompt=x' '.briefing?budget=64'; ls -A").stdout
        assert "match" not in listed and "briefing" not in listed

        store = ("--store", mount.store)
        assert "# Tasks" in engramfs("briefing", *store)
        assert engramfs("match", "is the pump overheating?", *store) == matched
        assert engramfs("match", "good morning", *store) == ""
        bad = run("match", "pump", "--limit", "9", *store)
        assert bad.returncode == 2 and "1 to 3" in bad.stderr
        bad = run("briefing", "please", *store)
        assert bad.returncode == 2 and "no key of briefing" in bad.stderr
