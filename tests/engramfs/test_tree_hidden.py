"""libfuse's hidden files: invisible, readable, never stored, and no target is lost by a hide."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engramfs import aliases, opener
from tests.engramfs.tree_rig import BAD, GOOD, ME, OTHER, SCOPE, Rig, fails, rigged
from tests.waiting import until

HIDDEN = ".fuse_hidden0000000300000001"


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    """On a busy machine a hide may be decided later than others wait for it, or open a file."""
    monkeypatch.setattr(aliases, "_PATIENCE_SECONDS", 120.0)
    monkeypatch.setattr(opener, "_FRESH_SECONDS", 3_600.0)
    with rigged(tmp_path) as made:
        yield made


@pytest.fixture
def undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    """… and the next call come later than a hide waits for it."""
    monkeypatch.setattr(aliases, "_DELAY_SECONDS", 3_600.0)


def in_another_thread(work: Callable[[], object]) -> object:
    """What `work` returns or raises when another libfuse thread calls it."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def test_an_unlinked_open_file_reads_on_and_is_nowhere(rig: Rig) -> None:
    rig.save("/note/a.md", b"words\n")
    handle = rig.open("/note/a.md")
    before = rig.stat("/note/a.md")
    text = rig.tree.read(handle, 99, 0)
    rig.rename("/note/a.md", f"/note/{HIDDEN}")
    assert in_another_thread(lambda: rig.ls("/note")) == []
    with fails("ENOENT"):
        in_another_thread(lambda: rig.stat("/note/a.md"))
    assert rig.tree.read(handle, 99, 0) == text
    gone = rig.stat(f"/note/{HIDDEN}")
    assert gone == before._replace(nlink=0)
    again = rig.open(f"/note/{HIDDEN}")
    assert rig.tree.read(again, 99, 0) == text
    rig.close(again)
    with fails("ESTALE"):
        rig.open(f"/note/{HIDDEN}", os.O_WRONLY)
    rig.close(handle)
    rig.unlink(f"/note/{HIDDEN}")
    assert rig.stat(f"/note/{HIDDEN}") == gone  # the last dropped ones still answer
    assert rig.ls("/note") == []


def test_a_hide_becomes_a_removal_by_itself(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    delete, may = rig.engine.delete, threading.Event()

    def waits(*arguments: object, **named: object) -> object:
        assert may.wait(120)
        return delete(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(rig.engine, "delete", waits)
    rig.save("/note/a.md", b"words\n")
    rig.open("/note/a.md")
    rig.rename("/note/a.md", f"/note/{HIDDEN}")
    assert rig.engine.lookup(SCOPE, "note", "a") is not None  # kill -9 now loses nothing
    may.set()
    until(lambda: rig.engine.lookup(SCOPE, "note", "a") is None)


@pytest.mark.parametrize("data", [GOOD, BAD, b""])
def test_what_is_written_to_a_file_just_unlinked_is_late(rig: Rig, data: bytes) -> None:
    rig.save("/task/a.md", GOOD + b"more\n")
    handle = rig.open("/task/a.md", os.O_RDWR)
    in_another_thread(lambda: rig.rename("/task/a.md", f"/task/{HIDDEN}"))
    rig.tree.truncate(rig.inode(f"/task/{HIDDEN}"), 0, ME, handle)
    if data:
        rig.write(handle, data)
    rig.close(handle)  # no refusal: there is no such file any more
    assert not rig.exists("/task/a.md")
    assert rig.events() == (["late-write"] if data else [])
    assert rig.rejected() == ({"task/a.md": data} if data else {})


def test_who_is_too_late_twice_writes_what_the_path_leads_to(rig: Rig) -> None:
    rig.save("/note/a.md", b"old\n")
    reader = rig.open("/note/a.md", caller=OTHER)
    rig.save("/note/tmp1.md", b"new\n")

    def replaced() -> None:
        rig.rename("/note/a.md", f"/note/{HIDDEN}", caller=OTHER)
        rig.rename("/note/tmp1.md", "/note/a.md", caller=OTHER)

    in_another_thread(replaced)
    for caller in (ME, OTHER):
        with fails("ESTALE"):
            rig.open(f"/note/{HIDDEN}", os.O_RDWR, caller)
    handle = rig.open(f"/note/{HIDDEN}", os.O_RDWR)
    rig.write(handle, b"mine", rig.stat("/note/a.md").size)
    rig.close(handle)
    assert rig.body("/note/a.md") == b"new\nmine"
    assert b"old" in rig.tree.read(reader, 99, 0)
    assert rig.events() == []
    rig.close(reader, OTHER)


def test_a_hide_becomes_a_removal_at_the_threads_next_call(rig: Rig) -> None:
    rig.save("/note/a.md", b"words\n")
    rig.open("/note/a.md")
    rig.rename("/note/a.md", f"/note/{HIDDEN}")
    assert rig.ls("/note") == []
    assert rig.engine.lookup(SCOPE, "note", "a") is None


@pytest.mark.usefixtures("undecided")
def test_a_replaced_open_file_is_one_operation(rig: Rig) -> None:
    rig.save("/note/a.md", b"old\n")
    id, inode = rig.id("/note/a.md"), rig.stat("/note/a.md").inode
    handle = rig.open("/note/a.md")
    old = rig.tree.read(handle, 99, 0)
    rig.save("/note/.tmp", b"new\n", OTHER)
    rig.rename("/note/a.md", f"/note/{HIDDEN}", caller=OTHER)
    rig.rename("/note/.tmp", "/note/a.md", caller=OTHER)
    assert (rig.id("/note/a.md"), rig.stat("/note/a.md", OTHER).inode) == (id, inode)
    assert rig.body("/note/a.md") == b"new\n"
    assert rig.tree.read(handle, 99, 0) == old
    assert rig.stat(f"/note/{HIDDEN}").size == len(old)
    rig.close(handle)
    rig.unlink(f"/note/{HIDDEN}")
    assert rig.body("/note/a.md") == b"new\n"


@pytest.mark.usefixtures("undecided")
def test_a_refused_replacement_leaves_the_target(rig: Rig) -> None:
    rig.save("/task/a.md", GOOD)
    old, id = rig.read("/task/a.md"), rig.id("/task/a.md")
    handle = rig.open("/task/a.md", os.O_RDWR)
    rig.save("/task/XXx12345", BAD)
    rig.rename("/task/a.md", f"/task/{HIDDEN}")
    with fails("EPROTO"):
        rig.rename("/task/XXx12345", "/task/a.md")
    assert rig.read("/task/a.md") == old
    assert rig.id("/task/a.md") == id
    assert rig.stat(f"/task/{HIDDEN}").size == len(old)
    rig.write(handle, GOOD + b"still mine\n")  # perl -i: the target is still open
    rig.tree.truncate(rig.inode(f"/task/{HIDDEN}"), len(GOOD) + 11, ME, handle)
    rig.close(handle)
    rig.unlink(f"/task/{HIDDEN}")
    assert rig.body("/task/a.md") == GOOD + b"still mine\n"


@pytest.mark.usefixtures("undecided")
def test_nobody_misses_a_file_while_it_is_replaced(rig: Rig) -> None:
    rig.save("/note/a.md", b"version 0\n")
    stop, looked = threading.Event(), [threading.Event() for _ in range(2)]

    def look(once: threading.Event) -> None:
        while not stop.is_set():
            rig.stat("/note/a.md", OTHER)
            assert rig.body("/note/a.md", OTHER).startswith(b"version")
            once.set()

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(look, once) for once in looked]
        try:
            assert all(once.wait(120) for once in looked)
            for number in range(25):
                rig.save("/note/.tmp", b"version %d\n" % number)
                rig.rename("/note/a.md", f"/note/.fuse_hidden{number:016}")
                rig.rename("/note/.tmp", "/note/a.md")
        finally:
            stop.set()
        for reader in readers:
            reader.result()


def test_a_written_file_that_is_hidden_is_late(rig: Rig) -> None:
    handle = rig.create("/note/new.md")
    rig.write(handle, b"words\n")
    assert rig.stat("/note/new.md").size == 6
    rig.rename("/note/new.md", f"/note/{HIDDEN}")
    assert rig.stat(f"/note/{HIDDEN}").size == 6
    assert rig.ls("/note") == []
    rig.close(handle)
    rig.unlink(f"/note/{HIDDEN}")
    assert rig.rejected() == {"note/new.md": b"words\n"}


def test_plain_files_are_hidden_too(rig: Rig) -> None:
    handle = rig.create("/note/.a.swp", os.O_RDWR | os.O_CREAT)
    rig.write(handle, b"swap")
    rig.rename("/note/.a.swp", f"/note/{HIDDEN}")
    assert rig.ls("/note") == []
    rig.write(handle, b"more", 4)
    assert rig.stat(f"/note/{HIDDEN}").size == 8
    again = rig.open(f"/note/{HIDDEN}")
    assert rig.tree.read(again, 99, 0) == b"swapmore"
    rig.close(again)
    rig.close(handle)
    rig.unlink(f"/note/{HIDDEN}")
    assert rig.overlay.entries(("note",)) == []
    first, second = rig.create("/note/p"), rig.create("/note/q")
    rig.write(second, b"q")
    rig.rename("/note/p", f"/note/{HIDDEN}2")
    rig.rename("/note/q", "/note/p")
    assert rig.read("/note/p") == b"q"
    rig.close(first)
    rig.close(second)


def test_something_new_at_the_path_at_once(rig: Rig) -> None:
    rig.save("/note/a.md", b"old\n")
    id = rig.id("/note/a.md")
    rig.open("/note/a.md")
    rig.rename("/note/a.md", f"/note/{HIDDEN}")
    in_another_thread(lambda: rig.save("/note/a.md", b"new\n"))
    assert rig.body("/note/a.md") == b"new\n"
    assert rig.id("/note/a.md") == id


def test_what_is_hidden_is_not_found_any_more(rig: Rig) -> None:
    rig.save("/note/a.md", b"overheating pumps\n")
    rig.open("/note/a.md")
    rig.rename("/note/a.md", f"/note/{HIDDEN}")
    answer = in_another_thread(lambda: rig.read("/.search?q=overheating", OTHER))
    assert isinstance(answer, bytes) and b"a.md" not in answer


def test_hidden_names_cannot_be_made_and_are_not_there(rig: Rig) -> None:
    with fails("EPERM"):
        rig.create(f"/note/{HIDDEN}")
    with fails("ENOENT"):
        rig.stat(f"/note/{HIDDEN}")
    with fails("ENOENT"):
        rig.unlink(f"/note/{HIDDEN}")


def test_rejected_bytes_that_are_open_can_be_removed(rig: Rig) -> None:
    with fails("EPROTO"):
        rig.save("/task/x.md", BAD)
    handle = rig.open("/.rejected/task/x.md")
    rig.rename("/.rejected/task/x.md", f"/.rejected/task/{HIDDEN}")
    assert rig.ls("/.rejected") == []
    assert rig.stat(f"/.rejected/task/{HIDDEN}").size == len(BAD)
    assert rig.tree.read(handle, 99, 0) == BAD
    rig.close(handle)
    rig.unlink(f"/.rejected/task/{HIDDEN}")
