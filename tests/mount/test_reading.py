"""Demand through a real mount: who reads counts, who goes through everything does not."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

from tests.mounted import Mounted, engramfs, mounted, run
from tests.waiting import gone, until

# However busy the machine is, `grep` is done within the time that counts as going through.
SLOWLY = {"ENGRAMFS_BULK_SECONDS": "3600"}


def events(mount: Mounted) -> dict[str, int]:
    found = json.loads(engramfs("status", "--json", "--store", mount.store))["events"]
    assert isinstance(found, dict)
    return found


def test_cat_counts_and_grep_does_not(tmp_path: Path) -> None:
    with mounted(tmp_path) as mount:
        for number in range(30):
            (mount.root / "note" / f"n{number}.md").write_text(f"words {number}\n")
        mount.remount(**SLOWLY)
        mount.sh("grep -r words note; cat note/n*.md >/dev/null; ls -l note; wc -c note/n*.md")
        mount.sh("cat note/n1.md; cat note/n1.md; head -1 note/n2.md; cat .status")
        mount.sh("cat '.recall?q=words&limit=3'; cat '.search?q=zebra'")
        assert events(mount) == {"read": 0, "recall": 3, "prompt": 0, "shown": 0}
        assert "zebra" in mount.sh("cat .status").stdout
        mount.remount(**SLOWLY)  # nobody can open more: what was opened counts
        assert events(mount) == {"read": 2, "recall": 3, "prompt": 0, "shown": 0}
        assert "zebra" in mount.sh("cat .status").stdout


def test_a_killed_server_has_lost_events_at_most(tmp_path: Path) -> None:
    with mounted(tmp_path) as mount:
        (mount.root / "note" / "a.md").write_text("words\n")
        mount.remount(ENGRAMFS_DEMAND_FLUSH_SECONDS="0")
        mount.sh("cat '.recall?q=words'; cat note/a.md")
        pid = mount.pid_from_lock()
        os.kill(pid, signal.SIGKILL)
        until(lambda: gone(pid))
        run("umount", mount.root, "--store", mount.store)
        mount.start()
        assert events(mount)["recall"] in (0, 1) and events(mount)["read"] == 0
        mount.sh("cat '.recall?q=words'")
        mount.remount()
        assert events(mount)["recall"] >= 1


def test_demand_is_a_setting(tmp_path: Path) -> None:
    with mounted(tmp_path) as mount:
        (mount.root / "note" / "a.md").write_text("words\n")
        mount.remount(ENGRAMFS_DEMAND="off")
        mount.sh("cat note/a.md; cat '.recall?q=words'; cat '.recall?q=zebra'")
        assert events(mount) == {}
        told = mount.sh("cat .status").stdout
        assert "events: none\n" in told and "misses: none\n" in told
        mount.remount()
        assert events(mount)["read"] == 0
