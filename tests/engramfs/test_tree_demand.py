"""Reading a file is an event; going through all of them is none, nor is writing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.config import Config
from engramfs.ports import Process
from tests.engramfs.tree_rig import ME, OTHER, SCOPE, SECOND, Rig, fails, rigged

WRITER = Process(pid=900, tid=900, uid=1000, gid=1000, sid=900)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with rigged(tmp_path) as rig:
        for number in range(30):
            rig.save(f"/note/n{number}.md", b"words\n", WRITER)
        yield rig


def reads(rig: Rig) -> int:
    """Those that count once a minute is over and the background has looked."""
    rig.clock.pass_ns(61 * SECOND)
    rig.engine._upkeep.state.demand.flush()
    return rig.engine.status(SCOPE).events["read"]


def process(pid: int, sid: int = 100) -> Process:
    return Process(pid=pid, tid=pid, uid=1000, gid=1000, sid=sid)


def test_cat_counts_once_a_session_and_day(rig: Rig) -> None:
    for pid in range(300, 305):  # a shell starts a process for each
        rig.read("/note/n1.md", process(pid))
    assert reads(rig) == 1
    rig.read("/note/n1.md", process(400, sid=2))
    rig.read("/note/n2.md", process(401))
    assert reads(rig) == 3
    rig.clock.pass_ns(86_400 * SECOND)
    rig.read("/note/n1.md", process(402))
    assert reads(rig) == 4


def test_grep_through_everything_counts_nothing(rig: Rig) -> None:
    for number in range(30):
        rig.read(f"/note/n{number}.md", process(300))
    assert reads(rig) == 0


def test_grep_takes_back_what_the_process_opened_just_before(rig: Rig) -> None:
    rig.read("/note/n1.md", process(300))
    rig.clock.pass_ns(30 * SECOND)
    for number in range(2, 30):
        rig.read(f"/note/n{number}.md", process(300))
    assert reads(rig) == 0


def test_threads_of_one_process_count_together(rig: Rig) -> None:
    for number in range(30):
        thread = Process(pid=300, tid=3_000 + number, uid=1000, gid=1000, sid=100)
        rig.read(f"/note/n{number}.md", thread)
    assert reads(rig) == 0


def test_looking_and_listing_read_nothing(rig: Rig) -> None:
    rig.ls("/note")
    rig.stat("/note/n1.md")
    rig.xattr("/note/n1.md", "id")
    assert reads(rig) == 0


def test_an_editor_reads_what_it_opens_and_not_what_it_saves(rig: Rig) -> None:
    editor = process(300)
    rig.read("/note/n1.md", editor)
    rig.save("/note/n1.md", b"other words\n", editor)
    rig.read("/note/n1.md", editor)  # looks whether it was stored
    assert reads(rig) == 1
    rig.save("/note/new.md", b"words\n", editor)
    rig.read("/note/new.md", editor)
    rig.append("/note/n2.md", b"more\n", editor)
    assert reads(rig) == 1


def test_a_save_by_rename_is_no_read(rig: Rig) -> None:
    editor = process(300)
    rig.save("/note/.n1.swp", b"other words\n", editor)
    rig.rename("/note/.n1.swp", "/note/n1.md", caller=editor)
    rig.read("/note/n1.md", editor)
    assert reads(rig) == 0
    rig.read("/note/n1.md", OTHER)
    assert reads(rig) == 1


def test_opened_for_reading_and_made_where_it_is_missing(rig: Rig) -> None:
    rig.close(rig.create("/note/n1.md", os.O_RDONLY | os.O_CREAT))
    assert reads(rig) == 1


def test_control_files_and_plain_files_are_no_engrams(rig: Rig) -> None:
    rig.save("/plain.txt", b"x")
    rig.read("/plain.txt", OTHER)
    rig.read("/.status", OTHER)
    rig.read("/.schema", OTHER)
    assert reads(rig) == 0


def test_what_cannot_be_opened_is_not_read(rig: Rig) -> None:
    with fails("ENOENT"):
        rig.read("/note/missing.md")
    assert reads(rig) == 0


def test_the_server_reads_for_nobody(rig: Rig) -> None:
    rig.read("/note/n1.md", process(os.getpid()))
    assert reads(rig) == 0


def test_status_tells_how_often(rig: Rig) -> None:
    rig.read("/note/n1.md", ME)
    assert reads(rig) == 1
    assert b"events: read 1, recall 0, prompt 0, shown 0\n" in rig.read("/.status")


@pytest.mark.parametrize("setting", [True, False])
def test_who_reads_is_not_even_looked_up_where_demand_is_off(tmp_path: Path, setting: bool) -> None:
    class Watched:
        """A caller that tells whether anybody asked for its process."""

        tid = uid = gid = sid = 77
        asked = 0

        @property
        def pid(self) -> int:
            self.asked += 1
            return 77

    with rigged(tmp_path, config=Config(demand=setting)) as rig:
        rig.save("/note/a.md", b"words\n")
        caller = Watched()
        rig.read("/note/a.md", caller)  # type: ignore[arg-type]
        assert (caller.asked > 0) is setting


def test_a_read_only_mount_counts_like_another(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with rigged(tmp_path, store=store) as rig:
        rig.save("/note/a.md", b"words\n", WRITER)
    with rigged(tmp_path, store=store, kinds=None, read_only=True) as rig:
        rig.read("/note/a.md")
        assert reads(rig) == 1
