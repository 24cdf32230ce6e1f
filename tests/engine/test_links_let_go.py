"""Links to an engram that was deleted, once its grace time is over."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine import upkeep
from engine.errors import StoreFull
from tests.engine.desk import HERE, Desk

GRACE = 301.0


def lost(tmp_path: Path) -> Desk:
    """`linker` names t2, which was renamed and deleted; another t2 stands there since."""
    desk = Desk(tmp_path)
    desk.put("t2", "# T2\n")
    desk.put("linker", "[[t2]]\n")
    desk.mv("t2", "t2b")
    desk.rm("t2b")
    desk.put("t2", "# Another\n")
    return desk


def ends(desk: Desk) -> list[str]:
    names = {entry.id: entry.slug for entry in desk.engine.entries(HERE)}
    return [names.get(edge.target, "") for edge in desk.engine.edges(HERE, "note/linker")]


def test_they_find_another_of_that_name(tmp_path: Path) -> None:
    desk = lost(tmp_path)
    desk.engine.settle()
    assert ends(desk) != ["t2"]  # an editor may be on its way back
    desk.clock.pass_seconds(GRACE)
    desk.engine.settle()
    assert ends(desk) == ["t2"]
    desk.engine.reindex()
    assert ends(desk) == ["t2"]
    assert desk.engine.check() == ()
    desk.engine.close()


def test_they_do_when_the_time_ended_while_the_store_was_closed(tmp_path: Path) -> None:
    desk = lost(tmp_path)
    desk.clock.pass_seconds(GRACE)
    desk.reopen()
    desk.engine.settle()
    assert ends(desk) == ["t2"]
    desk.engine.close()


def test_an_alias_counts_too(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.put("a", "# A\n")
    desk.put("linker", "[[a]]\n")
    desk.rm("a")
    desk.put("b", "---\naliases: [a]\n---\n")
    desk.clock.pass_seconds(GRACE)
    desk.engine.settle()
    assert ends(desk) == ["b"]
    desk.engine.close()


def test_what_could_not_be_stored_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = lost(tmp_path)
    desk.clock.pass_seconds(GRACE)

    def full(*_: object) -> None:
        raise StoreFull("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(upkeep, "run", full)
        with pytest.raises(StoreFull):
            desk.engine.settle()
    assert ends(desk) != ["t2"]
    desk.engine.settle()
    assert ends(desk) == ["t2"]
    desk.engine.close()


def test_many_are_let_go_some_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "_LET_GO", 1)
    desk = lost(tmp_path)
    for slug in ("x", "y"):
        desk.put(slug, "# Gone\n")
        desk.rm(slug)
    desk.clock.pass_seconds(GRACE)
    for _ in range(3):
        desk.engine.settle()
    assert ends(desk) == ["t2"]
    desk.engine.close()


def test_those_to_an_engram_that_came_back_stay(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.put("a", "# A\n")
    desk.put("linker", "[[a]]\n")
    gone = desk.rm("a")
    desk.engine.revive(HERE, gone.id)
    desk.clock.pass_seconds(GRACE)
    desk.engine.settle()
    assert ends(desk) == ["a"]
    desk.engine.close()
