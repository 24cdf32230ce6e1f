"""The user's own summariser and guard: what they are given, and every way in which they fail."""

from __future__ import annotations

import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.config import Config
from engine.digests.command import Command, CommandGuard, as_markdown
from engine.engine import Engine
from engine.errors import EngineError, GuardRefused, SummariserFailed
from engine.model import Draft
from engine.namespace import Scope
from engine.ports import Text
from tests.waiting import gone, until

TEXTS = (
    Text(7, "note/acme", "Acme", ("# Acme\n\nAcme makes pumps.\n", "## Sites\n\nOne.\n")),
    Text(-1, "", "the rest", ("# note/evil: not a heading of ours",)),
)
ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


def command(*words: str, seconds: float = 300.0) -> Command:
    return Command(words, seconds=seconds, environment=ENVIRONMENT, count=lambda t: len(t.split()))


def shell(script: str, seconds: float = 300.0) -> Command:
    return command("sh", "-c", script, seconds=seconds)


def guard(*words: str, seconds: float = 300.0) -> CommandGuard:
    return CommandGuard(words, seconds=seconds, environment=ENVIRONMENT)


def pid_in(file: Path) -> int:
    """The number that a program writes into a file, when it is there."""
    until(lambda: file.exists() and file.read_text().endswith("\n"))
    return int(file.read_text())


def test_it_is_given_markdown_in_which_no_text_can_pose_as_a_heading() -> None:
    assert as_markdown(TEXTS).decode() == (
        "# note/acme: Acme\n> # Acme\n>\n> Acme makes pumps.\n> ## Sites\n>\n> One.\n\n"
        "# the rest\n> # note/evil: not a heading of ours\n"
    )


def test_what_some_take_for_the_end_of_a_line_is_an_escape() -> None:
    passage = "plain\r# note/evil: Evil\u2028# a\x85# b\x1b[2J"
    text = as_markdown([Text(1, "note/two", "", (passage,))]).decode()
    assert len(text.splitlines()) == 2
    assert text == ("# note/two\n> plain\\r# note/evil: Evil\\u2028# a\\x85# b\\x1b[2J\n")


def test_what_it_writes_is_the_digest() -> None:
    assert shell("cat").summarise(TEXTS, 100) == as_markdown(TEXTS).decode().strip()


def test_line_ends_and_blank_space_around_it_go() -> None:
    assert shell(r"printf '\n a\r\nb \n\n'").summarise(TEXTS, 9) == "a\nb"


def test_it_is_told_how_many_tokens_and_knows_no_more_than_it_must() -> None:
    told = shell("env | sort").summarise(TEXTS, 12).split("\n")
    assert "ENGRAMFS_TOKENS=12" in told
    assert {line.split("=")[0] for line in told} <= {"ENGRAMFS_TOKENS", "PATH", "PWD", "_", "SHLVL"}
    assert shell("pwd").summarise(TEXTS, 12) == "/"


def test_there_is_no_shell_unless_it_is_named(tmp_path: Path) -> None:
    made = tmp_path / "made"
    assert command("echo", f"a; touch {made}", "$HOME").summarise(TEXTS, 9).endswith("$HOME")
    assert not made.exists()


def test_one_that_does_not_read_is_no_failure() -> None:
    many = (Text(1, "note/a", "A", ("long " * 100_000,)),)
    assert shell("echo done").summarise(many, 9) == "done"


def test_a_text_larger_than_its_pipes_passes_through() -> None:
    many = (Text(1, "note/a", "A", ("word " * 100_000,)),)
    assert shell("wc -w").summarise(many, 9) == "100004"


def test_one_that_closes_its_output_first_is_waited_for(tmp_path: Path) -> None:
    late = shell(f"echo early; exec >&- 2>&-; sleep 0.2; touch {shlex.quote(str(tmp_path / 'a'))}")
    assert late.summarise(TEXTS, 9) == "early"
    assert (tmp_path / "a").exists()


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 3", "ended with exit code 3"),
        ("echo no such model >&2; exit 1", "ended with exit code 1: no such model"),
        (r"printf 'a\033[31mred' >&2; exit 1", r"ended with exit code 1: a\x1b[31mred"),
        ("kill -TERM $$", "was ended by the signal SIGTERM"),
        ("true", "wrote nothing"),
        ("echo; echo ' '", "wrote nothing"),
        (r"printf 'a\377b'", "wrote no UTF-8"),
        ("yes", "wrote more than 160 bytes"),
        ("echo a b c d e f g h i j k l m", "wrote 13 tokens where 5 were asked for"),
    ],
)
def test_what_is_no_digest_is_a_failure_that_says_why(script: str, reason: str) -> None:
    with pytest.raises(SummariserFailed) as failed:
        shell(script).summarise(TEXTS, 5)
    assert f"the summariser sh {reason}" in failed.value.message
    assert "summarizer_command" in failed.value.hint


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SummariserFailed, match="cannot be started: No such file"):
        command(str(tmp_path / "none")).summarise(TEXTS, 5)
    with pytest.raises(SummariserFailed, match="cannot be started: Permission denied"):
        command(str(tmp_path)).summarise(TEXTS, 5)
    with pytest.raises(SummariserFailed, match="nothing cannot be started"):
        command().summarise(TEXTS, 5)


@pytest.mark.parametrize(
    "hangs",
    [
        "sleep 1000",
        "while true; do echo . >&2; sleep 0.01; done",
        "cat >/dev/null; cat /dev/zero >&2",
    ],
)
def test_one_that_takes_too_long_ends_with_its_children(tmp_path: Path, hangs: str) -> None:
    child = tmp_path / "child"
    script = f"sh -c 'echo $$ > {child}; exec sleep 1000' & {hangs}"
    for seconds in (0.5, 5.0, 50.0):
        with pytest.raises(SummariserFailed, match=f"did not end within {seconds:g} seconds"):
            shell(script, seconds=seconds).summarise(TEXTS, 5)
        if child.exists() and child.read_text():  # a busy machine needs longer to start a child
            break
    pid = pid_in(child)
    until(lambda: gone(pid))


def test_children_left_behind_end_with_it(tmp_path: Path) -> None:
    child = tmp_path / "child"
    waits = f"until [ -s {child} ]; do sleep 0.01; done"
    leaves = shell(f"sh -c 'echo $$ > {child}; exec sleep 1000' & {waits}; echo done")
    assert leaves.summarise(TEXTS, 5) == "done"
    pid = pid_in(child)
    until(lambda: gone(pid))


def test_stopping_ends_it_with_its_children_and_starts_no_more(tmp_path: Path) -> None:
    child = tmp_path / "child"
    one = shell(f"sh -c 'echo $$ > {child}; exec sleep 1000' & wait", seconds=1000.0)
    said: list[str] = []

    def run() -> None:
        with pytest.raises(SummariserFailed) as failed:
            one.summarise(TEXTS, 5)
        said.append(failed.value.message)

    thread = threading.Thread(target=run)
    thread.start()
    pid = pid_in(child)
    one.stop()
    one.stop()
    thread.join(120)
    assert said == ["the summariser sh was ended, as the store is being closed"]
    until(lambda: gone(pid))
    with pytest.raises(SummariserFailed, match="is not started"):
        one.summarise(TEXTS, 5)


_COUNTS = """
import os
from tests.engine.test_summariser_command import TEXTS, shell

one, counts = shell("cat >/dev/null; echo a"), []
for _ in range(6):
    one.summarise(TEXTS, 5)
    counts.append(len(os.listdir("/proc/self/fd")))
print(len(set(counts)))
"""


def test_no_descriptor_is_left_open() -> None:
    """In a process of its own: here other threads open and close theirs."""
    done = subprocess.run(
        [sys.executable, "-c", _COUNTS], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr


def test_another_command_has_another_fingerprint() -> None:
    assert command("a", "b c").fingerprint == command("a", "b c", seconds=1).fingerprint
    assert command("a", "b c").fingerprint != command("a", "b", "c").fingerprint


def test_the_guard_lets_through_by_its_exit_code_alone() -> None:
    guard("true")(TEXTS)
    guard("sh", "-c", "echo no >&2; ! grep -q secret")(TEXTS)
    with pytest.raises(GuardRefused, match="ended with exit code 1: found pumps"):
        guard("sh", "-c", "grep -q pumps && echo found pumps >&2 && exit 1")(TEXTS)


@pytest.mark.parametrize(
    ("words", "seconds", "reason"),
    [
        (("false",), 300.0, "exit code 1"),
        (("/none",), 300.0, "cannot be started"),
        (("sleep", "1000"), 0.5, "did not end within"),
        (("yes",), 300.0, "wrote more than"),
        (("sh", "-c", "kill -9 $$"), 300.0, "SIGKILL"),
    ],
)
def test_a_guard_that_does_not_say_yes_refuses(
    words: tuple[str, ...], seconds: float, reason: str
) -> None:
    with pytest.raises(GuardRefused, match=f"the guard {words[0]} .*{reason}") as refused:
        guard(*words, seconds=seconds)(TEXTS)
    assert "summarizer_guard" in refused.value.hint


def test_python_is_a_program_as_any_other() -> None:
    upper = "import sys; sys.stdout.write(sys.stdin.read(8).upper())"
    assert command(sys.executable, "-c", upper).summarise(TEXTS, 9) == "# NOTE/A"


# -- in an engine --------------------------------------------------------------------------

SCOPE = Scope((), exact=True)


@contextmanager
def opened(**plugged: object) -> Iterator[Engine]:
    engine = Engine.open(":memory:", embed="off", config=Config(digests=False), **plugged)  # type: ignore[arg-type]
    try:
        engine.put(SCOPE, Draft("note", "a", b"Acme makes pumps.\n"))
        yield engine
    finally:
        engine.close()


def test_digests_are_what_the_command_says() -> None:
    with opened(summariser=shell("grep -c '^# '")) as engine:
        assert [each.text for each in engine.rebuild_digests(SCOPE)] == ["1", "1"]


@pytest.mark.parametrize(
    ("plugged", "reason"),
    [
        ({"summariser": shell("exit 7")}, "ended with exit code 7"),
        ({"summariser": shell("sleep 1000", seconds=0.2)}, "did not end within"),
        ({"guard": guard("false")}, "the guard false ended with exit code 1"),
        ({"guard": guard("sleep", "1000", seconds=0.2)}, "the guard sleep did not end"),
        ({"guard": lambda texts: False}, "the guard said no"),
        ({"guard": lambda texts: 1 / 0}, "the guard failed: ZeroDivisionError"),
    ],
)
def test_what_cannot_be_made_is_not_shown_and_says_why(
    plugged: dict[str, object], reason: str
) -> None:
    with opened(**plugged) as engine:
        kind, tenant = engine.rebuild_digests(SCOPE)
        assert kind.stale and tenant.stale and kind.text == tenant.text == ""
        assert reason in kind.problem and "kind-note" in tenant.problem
        shown, degraded = engine.reading.digests(SCOPE)
        assert shown == () and reason in " ".join(each.reason for each in degraded)


def test_a_guard_may_say_yes_in_words() -> None:
    with opened(guard=lambda texts: True) as engine:
        assert not any(digest.stale for digest in engine.rebuild_digests(SCOPE))


@pytest.mark.parametrize("role", ["summariser", "guard"])
def test_closing_ends_what_runs_with_its_children(tmp_path: Path, role: str) -> None:
    child = tmp_path / "child"
    script = f"sh -c 'echo $$ > {child}; exec sleep 1000' & wait"
    one = shell(script) if role == "summariser" else guard("sh", "-c", script)

    def rebuild(engine: Engine) -> None:
        with pytest.raises(EngineError, match="closed"):
            engine.rebuild_digests(SCOPE)

    with opened(**{role: one}) as engine:
        asker = threading.Thread(target=rebuild, args=(engine,))
        asker.start()
        pid = pid_in(child)
    asker.join(120)
    assert not asker.is_alive()
    until(lambda: gone(pid))
