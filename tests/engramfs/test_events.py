from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.model import Change
from engramfs.errors import FsError
from engramfs.events import EventLog, line_of, within


def change(event: str = "create", former: tuple[str, str] | None = None, name: str = "a") -> Change:
    return Change(1_700_000_000_123_456_789, event, "id-1", (), "deal", name, name, former)


def path_of(kind: str, name: str) -> str:
    return f"{kind}/{name}.md"


def test_a_commit_is_one_json_line() -> None:
    line = line_of(change(), path_of)
    assert line.endswith(b"}\n") and line.count(b"\n") == 1
    assert json.loads(line) == {
        "time": "2023-11-14T22:13:20.123Z",
        "event": "create",
        "path": "deal/a.md",
        "id": "id-1",
    }
    assert json.loads(line_of(change("rename", ("task", "b")), path_of))["from"] == "task/b.md"


def test_what_comes_from_a_kind_out_of_sight_is_new_and_what_leaves_to_one_is_gone() -> None:
    moved = change("rename", ("task", "b"))
    assert within(moved, None) == within(moved, frozenset({"deal", "task"})) == moved
    assert within(moved, frozenset({"note"})) is None
    assert within(change(), frozenset({"task"})) is None
    came, left = within(moved, frozenset({"deal"})), within(moved, frozenset({"task"}))
    assert came is not None and left is not None
    told = [json.loads(line_of(each, path_of)) for each in (came, left)]
    assert [(each["event"], each["path"], "from" in each) for each in told] == [
        ("create", "deal/a.md", False),
        ("delete", "task/b.md", False),
    ]


@given(st.text())
def test_names_cannot_break_a_line_or_reach_a_terminal(name: str) -> None:
    line = line_of(change(name=name), path_of)
    assert line.count(b"\n") == 1
    assert b"\x1b" not in line and b"\xc2\x9b" not in line


def test_a_follower_reads_on_while_the_log_grows() -> None:
    log = EventLog()
    log.append(b"one\n")
    follower = log.follow()
    assert (follower.size(), follower.read(99, 0)) == (4, b"one\n")
    assert follower.read(99, 4) == b""
    log.append(b"two\n")
    assert (follower.size(), follower.read(99, 4), follower.read(2, 5)) == (8, b"two\n", b"wo")
    assert log.whole() == b"one\ntwo\n"
    with pytest.raises(FsError):
        follower.write(b"x", 0)
    with pytest.raises(FsError):
        follower.truncate(0)


def test_what_is_dropped_disturbs_no_follower() -> None:
    log = EventLog(kept_bytes=20)
    for number in range(3):
        log.append(b"line %d\n" % number)  # 7 bytes each: the first is dropped
    follower = log.follow()
    assert follower.read(99, 0) == b"line 1\nline 2\n"
    for number in range(3, 5):
        log.append(b"line %d\n" % number)
    assert follower.read(99, 14) == b"line 3\nline 4\n"
    assert follower.size() == 28
    slow = log.follow()
    for number in range(5, 9):
        log.append(b"line %d\n" % number)
    assert slow.read(99, 0) == b"line 7\nline 8\n"
    assert slow.read(99, 14) == b""
    log.append(b"line 9\n")
    assert slow.read(99, 14) == b"line 9\n"


@given(st.lists(st.integers(1, 30), max_size=40), st.integers(1, 64))
def test_following_from_the_start_sees_every_line_in_order(sizes: list[int], step: int) -> None:
    log = EventLog(kept_bytes=10_000)
    follower = log.follow()
    seen = b""
    written = b""
    for number, size in enumerate(sizes):
        line = bytes([65 + number % 26]) * size + b"\n"
        written += line
        log.append(line)
        seen += follower.read(step, len(seen))
    while piece := follower.read(step, len(seen)):
        seen += piece
    assert seen == written == log.whole()
