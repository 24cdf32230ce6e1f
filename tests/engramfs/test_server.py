"""The socket server and the lock file, with commands that need no engine."""

from __future__ import annotations

import fcntl
import os
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen
from typing import cast

import pytest

from engine.engine import Engine
from engine.errors import Invalid, Problem, SchemaTooNew, StoreCorrupt, StoreHeld
from engine.model import Draft
from engine.namespace import Scope
from engramfs import client, lock, server, wire
from engramfs.commands import Host, Progress
from engramfs.errors import FsError
from engramfs.opening import DATABASE
from engramfs.settings import load
from tests.waiting import until

GATE = threading.Event()


def perform(host: Host, request: wire.Message, progress: Progress) -> wire.Message:
    """Commands for the tests, by name."""
    match request["command"]:
        case "echo":
            progress({"done": 1})
            progress({"done": 2})
            return {"echo": request["arguments"]}
        case "wait":
            assert GATE.wait(120)
            return {"waited": True}
        case "invalid":
            raise Invalid(Problem("one is wrong", 3), Problem("two is wrong", hint="mend it"))
        case "corrupt":
            raise StoreCorrupt("damaged")
        case "usage":
            raise wire.Failed("no such key", 2)
    raise ZeroDivisionError


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory whose socket has a path that the kernel does not take."""
    place = tmp_path / ("long" * 30)
    place.mkdir()
    return place


@pytest.fixture
def running(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(server, "perform", perform)
    GATE.clear()
    path = place / lock.SOCKET
    path.write_text("left by a server that was killed")
    listening = server.Server(cast("Host", None), path)
    listening.start()
    yield path
    GATE.set()
    listening.stop()
    assert not path.exists()


def ask(stream: wire.Stream, command: str, arguments: wire.Message | None = None) -> list[object]:
    wire.send(stream, {"command": command, "arguments": arguments or {}})
    answers: list[object] = []
    while (message := wire.receive(stream)) is not None:
        answers.append(message)
        if "progress" not in message:
            break
    return answers


@contextmanager
def stream_to(path: Path) -> Iterator[wire.Stream]:
    with wire.connect(path) as client, client.makefile("rwb") as stream:
        yield stream


def test_a_command_its_progress_and_the_next_one(running: Path) -> None:
    with stream_to(running) as stream:
        for text in ("ünï\ncode", "again"):
            assert ask(stream, "echo", {"text": text}) == [
                {"progress": {"done": 1}},
                {"progress": {"done": 2}},
                {"result": {"echo": {"text": text}}},
            ]


def test_only_the_owner_may_connect(running: Path) -> None:
    assert running.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("command", "message", "code"),
    [
        ("invalid", "line 3: one is wrong\ntwo is wrong (mend it)", 1),
        ("corrupt", "damaged", 3),
        ("usage", "no such key", 2),
        ("bug", "the server failed; its log says how", 1),
    ],
)
def test_errors_arrive_with_their_exit_code(
    running: Path, command: str, message: str, code: int
) -> None:
    with stream_to(running) as stream:
        assert ask(stream, command) == [{"error": {"message": message, "exit": code}}]


def test_nonsense_ends_the_connection_and_nothing_else(running: Path) -> None:
    with stream_to(running) as stream:
        stream.write(b"nonsense\n")
        stream.flush()
        assert stream.readline() == b""
    with stream_to(running) as stream:
        assert len(ask(stream, "echo")) == 3


def test_stopping_waits_for_commands_that_run(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "perform", perform)
    GATE.clear()
    path = place / lock.SOCKET
    listening = server.Server(cast("Host", None), path)
    listening.start()
    with ThreadPoolExecutor(2) as pool, stream_to(path) as idle, stream_to(path) as stream:
        assert len(ask(stream, "echo")) == 3  # both connections are accepted
        until(lambda: listening._running == 0)  # it counts for a moment after its answer
        answer = pool.submit(ask, stream, "wait")
        until(lambda: listening._running == 1)
        stopped = pool.submit(listening.stop)
        until(lambda: not path.exists())
        with pytest.raises(OSError):
            wire.connect(path)
        assert not stopped.done()
        GATE.set()
        assert answer.result(120) == [{"result": {"waited": True}}]
        stopped.result(120)
        assert idle.readline() == b""


def test_the_lock_names_its_holder(place: Path) -> None:
    assert lock.holder(place) is None
    descriptor = os.open(place / lock.LOCK, os.O_RDWR | os.O_CREAT)
    assert lock.holder(place) is None
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    assert lock.holder(place) == lock.Holder(0)
    assert str(lock.Holder(0)) == "process unknown"
    os.write(descriptor, b"123")  # as the engine does
    assert lock.holder(place) == lock.Holder(123)
    lock.announce(place, ["/a b", "/c"], True)
    who = lock.holder(place)
    assert who == lock.Holder(os.getpid(), ("/a b", "/c"), True)
    assert os.pread(descriptor, 32, 0).decode().strip() == str(os.getpid())
    error = lock.held_by(place, who)
    assert isinstance(error, StoreHeld)
    assert f"process {os.getpid()}, mounted at /a b and /c" in str(error)
    assert "engramfs umount '/a b'" in str(error)
    os.close(descriptor)
    assert lock.holder(place) is None


def test_a_database_that_another_program_has_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Engine.open(tmp_path, embed="off").close()
    monkeypatch.setattr(client, "_FOREIGN_SECONDS", 0.1)
    program = (
        "import duckdb, sys; held = duckdb.connect(sys.argv[1]); print('open', flush=True)\n"
        "sys.stdin.read()"
    )
    words = [sys.executable, "-c", program, str(tmp_path / DATABASE)]
    with Popen(words, stdin=PIPE, stdout=PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with (
            pytest.raises(wire.Failed, match=f"held by process {other.pid}") as failed,
            client.connection(load(tmp_path, {}), None),
        ):
            pass
        assert failed.value.exit_code == 4
        other.communicate()


def test_without_a_server_the_engrams_of_the_namespace_asked_have_paths(tmp_path: Path) -> None:
    sales = (("team", "sales"),)
    engine = Engine.open(tmp_path, embed="off")
    engine.make_kind("note")
    engine.put(Scope(sales, exact=True), Draft("note", "a", b"theirs\n"))
    engine.close()
    settings = load(tmp_path, {"namespace": ("team=sales",), "embed": "off"})
    with client.connection(settings, [list(pair) for pair in sales]) as call:
        said = call("graph", {"ask": "orphans", "pairs": []})["text"]
    assert "## note/a.md\n" in said


def test_exit_codes() -> None:
    assert wire.failure(StoreHeld("held")).exit_code == 4
    assert wire.failure(StoreCorrupt("damaged")).exit_code == 3
    assert wire.failure(SchemaTooNew("new")).exit_code == 3
    assert wire.failure(FsError("EPERM", "no")).exit_code == 1
    assert str(wire.failure(FsError("EPERM", "no", "try"))) == "no (try)"
