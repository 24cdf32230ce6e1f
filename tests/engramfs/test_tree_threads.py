"""Many at once: readers see whole committed documents, and no write is lost in silence."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from engramfs.ports import Process
from tests.engramfs.tree_rig import ME, Rig, rigged

ROUNDS = 40

Work = Callable[[Process], None]


def process(number: int) -> Process:
    return Process(pid=number, tid=number, uid=1000, gid=1000, sid=number)


def document(writer: str, number: int) -> bytes:
    """Its last line says how long it is."""
    text = f"# {writer} {number}\n" + "x" * (number * 37 % 400) + "\n"
    return f"{text}{len(text)}\n".encode()


def whole(data: bytes) -> bool:
    text, _, last = data.rstrip(b"\n").rpartition(b"\n")
    start = text.find(b"# ")
    return len(text[start:]) + 1 == int(last)


def test_readers_see_whole_documents(tmp_path: Path) -> None:
    with rigged(tmp_path, show_id=False) as rig:
        rig.save("/note/a.md", document("start", 0))

        def in_place(caller: Process) -> None:
            for number in range(ROUNDS):
                rig.save("/note/a.md", document("place", number), caller)

        def by_rename(caller: Process) -> None:
            for number in range(ROUNDS):
                rig.save("/note/.tmp", document("rename", number), caller)
                rig.rename("/note/.tmp", "/note/a.md", caller=caller)

        def look(caller: Process) -> None:
            handle = rig.open("/note/a.md", caller=caller)
            size = rig.tree.getattr(0, caller, handle).size
            data = rig.tree.read(handle, 1 << 20, 0)
            rig.close(handle, caller)
            assert whole(data) and size == len(data)
            assert rig.ls("/note", caller).count("a.md") == 1

        together([in_place, by_rename], [look, look])


def test_appends_of_many_all_arrive(tmp_path: Path) -> None:
    with rigged(tmp_path, show_id=False) as rig:
        rig.save("/note/log.md", b"start\n")
        flags = os.O_WRONLY | os.O_APPEND

        def append(caller: Process) -> None:
            for number in range(ROUNDS):
                handle = rig.open("/note/log.md", flags, caller)
                rig.write(handle, b"%d-%d\n" % (caller.pid, number), 0, flags, caller)
                rig.close(handle, caller)

        together([append] * 3, [])
        lines = rig.read("/note/log.md").split()
        expected = {b"%d-%d" % (pid, n) for pid in (500, 501, 502) for n in range(ROUNDS)}
        assert len(lines) == 1 + 3 * ROUNDS
        assert set(lines) == expected | {b"start"}


def test_renames_in_circles_do_not_wait_for_each_other(tmp_path: Path) -> None:
    with rigged(tmp_path) as rig:
        for name in "abc":
            rig.save(f"/note/{name}.md", name.encode())

        def turn(one: str, other: str) -> Work:
            def work(caller: Process) -> None:
                for _ in range(ROUNDS):
                    rig.rename(f"/note/{one}.md", f"/note/{other}.md", 2, caller)

            return work

        together([turn("a", "b"), turn("b", "c"), turn("c", "a")], [])
        assert rig.ls("/note") == ["a.md", "b.md", "c.md"]
        assert {rig.body(f"/note/{name}.md") for name in "abc"} == {b"a", b"b", b"c"}


def together(writers: list[Work], readers: list[Work]) -> None:
    """Run all at once, each as a process of its own; the readers, before the writers begin and
    again and again until they are done."""
    stop, looked = threading.Event(), [threading.Event() for _ in readers]

    def keep_looking(look: Work, caller: Process, once: threading.Event) -> None:
        while not stop.is_set():
            look(caller)
            once.set()

    with ThreadPoolExecutor(len(writers) + len(readers)) as pool:
        reading = [
            pool.submit(keep_looking, look, process(600 + n), looked[n])
            for n, look in enumerate(readers)
        ]
        try:
            assert all(once.wait(120) for once in looked)
            writing = [pool.submit(work, process(500 + n)) for n, work in enumerate(writers)]
            for work in writing:
                work.result(timeout=120)
        finally:
            stop.set()
        for look in reading:
            look.result(timeout=120)


def test_a_slow_commit_holds_up_nobody_else(tmp_path: Path) -> None:
    with rigged(tmp_path) as rig:
        rig.save("/note/slow.md", b"old\n")
        started, go_on = threading.Event(), threading.Event()
        put = rig.engine.put

        def slow(*arguments: object, **named: object) -> object:
            if not started.is_set():
                started.set()
                assert go_on.wait(120)
            return put(*arguments, **named)  # type: ignore[arg-type]

        rig.engine.put = slow  # type: ignore[method-assign, assignment]
        with ThreadPoolExecutor(1) as pool:
            saving = pool.submit(rig.save, "/note/slow.md", b"new\n", process(500))
            assert started.wait(120)
            _others_work(rig)
            assert not saving.done()
            go_on.set()
            saving.result(timeout=120)
        assert rig.body("/note/slow.md") == b"new\n"


def _others_work(rig: Rig) -> None:
    assert rig.body("/note/slow.md") == b"old\n"
    assert rig.ls("/note") == ["slow.md"]
    rig.save("/note/other.md", b"words\n", ME)
    rig.rename("/note/other.md", "/note/third.md")
    rig.unlink("/note/third.md")
