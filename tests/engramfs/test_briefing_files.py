"""`.briefing` and `.match` as a mount and the command line give them, over a real engine."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.model import Draft
from engine.namespace import Scope
from engramfs.cli_ask import pairs_of
from engramfs.commands import Host, perform
from engramfs.control import ControlFiles, ControlSettings
from engramfs.errors import FsError
from engramfs.ports import Process
from engramfs.wire import Failed

SCOPE = Scope((), exact=True)
CALLER = Process(pid=1, tid=1, uid=0, gid=0, sid=1)
OTHER = Process(pid=2, tid=2, uid=0, gid=0, sid=2)
KINDS = "kinds: {rule: {briefing: constraint}, way: {briefing: convention}, note: {}}\n"


@pytest.fixture
def engine() -> Iterator[Engine]:
    engine = Engine.open(":memory:", kinds=KINDS, embed="off")
    put(engine, "rule", "friday", "---\nsummary: No deploys on Friday.\n---\nNever on a Friday.\n")
    put(engine, "way", "tabs", "---\nsummary: Four blanks.\n---\nx\n")
    put(engine, "note", "pump-overheating", "---\nsummary: The coolant was low.\n---\nx\n")
    for number in range(20):
        put(engine, "note", f"filler-{number}", "x\n")
    yield engine
    engine.close()


@pytest.fixture
def mount(engine: Engine) -> Iterator[ControlFiles]:
    files = ControlFiles(engine, SCOPE, ControlSettings("/my engrams"))
    yield files
    files.close()


def put(engine: Engine, kind: str, slug: str, text: str) -> None:
    engine.put(SCOPE, Draft(kind, slug, text.encode()))


def cat(files: ControlFiles, name: str, caller: Process = CALLER) -> str:
    return files.serve(name, caller).decode()


def write(files: ControlFiles, name: str, request: str, caller: Process = CALLER) -> str:
    """What is read on the handle that the request was written to."""
    session = files.session(name, caller)
    session.write(request.encode(), 0)
    told = session.read(1 << 20, len(request.encode()))
    session.close()
    return told.decode()


def command(engine: Engine, name: str, *words: str, namespace: object = None) -> str:
    host = Host(engine, Path("/store"), (), ("/my engrams",))
    pairs = pairs_of(words, "prompt" if name == "match" else "q")
    request = {"command": name, "namespace": namespace, "arguments": {"pairs": pairs}}
    return str(perform(host, request, lambda _: None)["text"])


def test_a_bare_briefing_is_one_with_the_defaults(engine: Engine, mount: ControlFiles) -> None:
    text = cat(mount, ".briefing")
    assert "# Constraints\n\n## rule/friday.md\n> No deploys on Friday.\n>\n> Never" in text
    assert "# Conventions\n\n> - way/tabs.md: Four blanks.\n" in text
    assert "> - note/pump-overheating.md\n" in text
    assert text == cat(mount, ".briefing?") == command(engine, "briefing")


def test_a_briefing_answers_alike_however_it_is_asked(engine: Engine, mount: ControlFiles) -> None:
    by_name = cat(mount, ".briefing?budget=70&kinds=rule,note")
    assert "controls: budget=70&kinds=note,rule\n" in by_name and "truncated: true" in by_name
    assert cat(mount, ".briefing:budget=70&kinds=note&kinds=rule") == by_name
    assert write(mount, ".briefing", "budget=70&kinds=rule,note") == by_name
    assert write(mount, ".briefing", '{"budget": 70, "kinds": ["rule", "note"]}') == by_name
    assert command(engine, "briefing", "--budget", "70", "--kinds=rule,note") == by_name


def test_what_was_written_is_this_sessions_and_a_name_changes_no_bare_one(
    mount: ControlFiles,
) -> None:
    usual = cat(mount, ".briefing")
    cat(mount, ".briefing?kinds=way")
    assert cat(mount, ".briefing") == usual
    write(mount, ".briefing", "kinds=rule")
    assert "controls: kinds=rule" in cat(mount, ".briefing")
    assert cat(mount, ".briefing", OTHER) == usual
    write(mount, ".briefing", "")
    write(mount, ".briefing", "{}")
    assert cat(mount, ".briefing") == usual


def test_a_briefing_can_be_read_again_by_its_token(engine: Engine, mount: ControlFiles) -> None:
    text = cat(mount, ".briefing")
    found = re.search("^token: (.*)$", text, re.M)
    assert found is not None
    put(engine, "rule", "monday", "Never on a Monday.\n")
    assert cat(mount, f".recall?set={found[1]}") == text != cat(mount, ".briefing")


def test_a_match_answers_alike_however_it_is_asked(engine: Engine, mount: ControlFiles) -> None:
    by_name = cat(mount, ".match?prompt=why+is+the+pump+overheating")
    assert by_name == (
        "---\nmatches: 1 of 1\n---\n\n## note/pump-overheating.md\n"
        "shared words: pump, overheating\n> The coolant was low.\n"
    )
    assert write(mount, ".match", "why is the pump overheating") == by_name
    assert cat(mount, ".match") == by_name
    assert write(mount, ".match", "prompt=why is the pump overheating&limit=1") == by_name
    assert write(mount, ".match", '{"prompt": "why is the pump overheating"}') == by_name
    assert command(engine, "match", "why", "is", "the", "pump", "overheating") == by_name
    held = json.loads(cat(mount, ".match?prompt=pump+overheating&format=json"))
    assert [item["path"] for item in held["items"]] == ["note/pump-overheating.md"]


def test_no_match_is_an_empty_answer_and_no_miss(engine: Engine, mount: ControlFiles) -> None:
    assert cat(mount, ".match?prompt=good+morning") == ""
    assert write(mount, ".match", "good morning") == ""
    assert command(engine, "match", "good morning") == ""
    assert json.loads(command(engine, "match", "hello", "--format", "json"))["items"] == []
    assert engine.status(SCOPE).misses == ()


def test_a_bare_match_tells_how_to_ask(mount: ControlFiles) -> None:
    text = cat(mount, ".match")
    assert "Nothing was asked" in text and "/my engrams/.match?prompt=" in text
    assert ".match?prompt=" in cat(mount, ".help") and ".briefing?budget=" in cat(mount, ".help")


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (".briefing?budget=10", "64 to 32768"),
        (".briefing?q=pump", "`q` is no key of briefing"),
        (".briefing?namespace.team=b", "team"),
        (".match?prompt=", "the prompt is empty"),
        (".match?q=pump", "`q` is no key of match"),
        (".match?prompt=a&limit=9", "1 to 3"),
        (".match?prompt=a&prop.no=1", "`no` is not declared"),
    ],
)
def test_a_bad_request_is_told(mount: ControlFiles, request_: str, said: str) -> None:
    with pytest.raises(FsError) as caught:
        mount.serve(request_, CALLER)
    assert caught.value.code == "EINVAL" and said in cat(mount, ".errors")
    name, _, pairs = request_.partition("?")
    with pytest.raises(FsError):
        write(mount, name, pairs or "x")


def test_a_bad_command_is_told(engine: Engine) -> None:
    for name, words in (("briefing", ("please",)), ("match", ()), ("match", ("a", "--limit", "9"))):
        with pytest.raises(Failed) as caught:
            command(engine, name, *words)
        assert caught.value.exit_code == 2


def test_a_mount_of_some_kinds_tells_of_no_others(engine: Engine) -> None:
    limited = ControlFiles(
        engine, SCOPE, ControlSettings("/m", only_kinds=frozenset({"note", "way"}))
    )
    text = cat(limited, ".briefing")
    assert "rule/friday" not in text and "way/tabs.md" in text
    with pytest.raises(FsError):
        cat(limited, ".briefing?kinds=rule")
    put(engine, "rule", "turbine-gasket", "x\n")
    assert cat(limited, ".match?prompt=the+turbine+gasket") == ""
    assert "rule/turbine-gasket.md" in command(engine, "match", "the turbine gasket")
    limited.close()


def test_a_command_narrows_the_scope(engine: Engine) -> None:
    team = Scope((("team", "b"),), exact=True)
    engine.put(team, Draft("rule", "quiet", b"Be quiet.\n"))
    text = command(engine, "briefing", namespace=[["team", "b"]])
    assert "Be quiet." in text and "Friday" not in text
    assert "Be quiet." in command(engine, "briefing", "--namespace.team", "b")
    assert "Be quiet." not in command(engine, "briefing", "--namespace.team", "c")


def test_events_of_matches_are_counted_and_those_of_briefings_are_not(
    engine: Engine, mount: ControlFiles
) -> None:
    cat(mount, ".briefing")
    assert engine.reading.counted(SCOPE) == 0
    cat(mount, ".match?prompt=the+pump+overheating")
    assert engine.reading.counted(SCOPE) == 1


def test_a_counter_of_the_host() -> None:
    engine = Engine.open(
        ":memory:", embed="off", counters={"words": lambda text: len(text.split())}
    )
    put(engine, "note", "a", "x\n")
    files = ControlFiles(engine, SCOPE, ControlSettings("/m"))
    text = cat(files, ".briefing?counter=words")
    assert f"tokens: {len(text.split())}\n" in text and "counter=words" in text
    assert "counter=words" in command(engine, "briefing", "--counter", "words")
    with pytest.raises(FsError):
        cat(files, ".briefing?counter=letters")
    files.close()
    engine.close()
