"""Bad questions at every search: a right answer or a clear sentence, never silence.

Names and writes of control files, the socket's commands, the command line's words and the API.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.config import Config
from engine.engine import Engine
from engine.errors import Invalid
from engine.model import Draft, Page
from engine.namespace import Scope
from engine.recall.searches import SEARCHES
from engramfs.commands import Host, perform
from engramfs.control import ControlFiles, ControlSettings
from engramfs.errors import FsError
from engramfs.ports import Process
from engramfs.wire import Failed
from tests.engine.hash_embedder import HashEmbedder

SCOPE = Scope((), exact=True)
NOW_NS = 1_800_000_000 * 10**9
CALLER = Process(pid=1, tid=1, uid=0, gid=0, sid=1)
NAMES = [name for name, search in SEARCHES.items() if not search.continues]
LONG = "pump overheating " * 1_177  # 20,009 characters
LINE = "word " * 20_000 + "needle " + "x" * 100_000  # 200 KB on one line

# (question, does it find the note about the pump by its words?)
ANSWERED = [
    ('pump "', True),
    ('"pump', True),
    ('"the pump" "', True),
    ('""', False),
    ('"', False),
    ("?!", False),
    ("-", False),
    ("-pump", False),
    ("title:", False),
    ('title:"', False),
    ('-"', False),
    ('-title:"pump', True),
    ("pump\x00overheats", True),
    ("\x00", False),
    ("pump \ud800", True),
    ("\udfff", False),
    ("\x1b[2J pump", True),
    ("pump\u202e", True),
    ("pump' OR 1=1; DROP TABLE version --", True),
    ("%s %d {0} $1 \\ pump", True),
    ("* ? [a-z] pump", True),
    ("(" * 3_000 + "pump", True),
    ('"' * 3_000 + "pump", True),
    ("-" * 3_000 + " pump", True),
    ("title:" * 1_000 + " pump", False),
    ("needle", True),
]


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    # What one question is given would count for the next; and scores fall as time passes.
    config = Config(demand=False, recall_seconds=120.0, fresh_wait_seconds=120.0)
    engine = Engine.open(
        ":memory:", embed="inline", embedder=HashEmbedder(), config=config, clock=lambda: NOW_NS
    )
    engine.make_kind("note")
    engine.put(SCOPE, Draft("note", "pump", f"# Pump\n\nThe pump overheats.\n\n{LINE}\n".encode()))
    yield engine
    engine.close()


@pytest.fixture
def files(engine: Engine) -> Iterator[ControlFiles]:
    files = ControlFiles(engine, SCOPE, ControlSettings("/engram"))
    yield files
    files.close()


def asked(engine: Engine, name: str, question: str) -> Page:
    """The API."""
    if name == "find_exact":
        return engine.find_exact(SCOPE, question)
    if name == "find_objects":
        return engine.find_objects(SCOPE, question)
    return engine.search(SCOPE, question, channels=SEARCHES[name].channels)


def commanded(engine: Engine, name: str, question: str) -> str:
    arguments = {"search": name, "pairs": [["q", question], ["format", "json"]]}
    # as the socket carries it
    request = json.loads(json.dumps({"command": "search", "arguments": arguments}))
    return str(perform(Host(engine, Path("/store")), request, lambda _: None)["text"])


def written(files: ControlFiles, name: str, request: bytes) -> str:
    session = files.session(f".{name}", CALLER)
    session.write(request, 0)
    return session.read(10_000_000, len(request)).decode()


def in_a_name(text: str) -> str:
    """As the kernel hands it over: percent-encoded bytes."""
    return "".join(f"%{byte:02x}" for byte in text.encode("utf-8", "replace"))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("question", "found"), ANSWERED)
def test_odd_questions_are_answered_everywhere(
    engine: Engine, files: ControlFiles, name: str, question: str, found: bool
) -> None:
    page = asked(engine, name, question)
    by_command = json.loads(commanded(engine, name, question))
    clean = question.encode("utf-8", "replace")
    by_writing = json.loads(
        written(files, name, json.dumps({"q": question, "format": "json"}).encode())
    )
    answers = [bool(page.hits), bool(by_command["items"]), bool(by_writing["items"])]
    if len(clean) < 300:
        by_name = json.loads(files.serve(f".{name}?q={in_a_name(question)}&format=json", CALLER))
        answers.append(bool(by_name["items"]))
    assert answers == [answers[0]] * len(answers)
    if name in ("text", "find_exact"):  # the others find what is near, too
        assert answers[0] == found


@pytest.mark.parametrize("question", [question for question, _ in ANSWERED])
def test_odd_questions_are_recalled(engine: Engine, files: ControlFiles, question: str) -> None:
    request = json.dumps({"q": question, "format": "json"})
    pack = json.loads(written(files, "recall", request.encode()))
    arguments = {"pairs": [["q", question], ["format", "json"]]}
    command = json.loads(json.dumps({"command": "recall", "arguments": arguments}))
    told = perform(Host(engine, Path("/store")), command, lambda _: None)["text"]
    assert pack["items"] == json.loads(told)["items"]
    assert pack["items"] or not pack["truncated"]


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_question_is_refused_everywhere(
    engine: Engine, files: ControlFiles, name: str
) -> None:
    for question in ("", " ", "\t\n"):
        with pytest.raises(Invalid, match="the question is empty"):
            asked(engine, name, question)
        with pytest.raises(Failed, match="the question is empty"):
            commanded(engine, name, question)
        with pytest.raises(FsError, match="the question is empty"):
            written(files, name, f"q={question}".encode())
        with pytest.raises(FsError, match="the question is empty"):
            files.serve(f".{name}?q={in_a_name(question)}", CALLER)


@pytest.mark.parametrize("name", NAMES)
def test_a_question_of_20000_characters(engine: Engine, files: ControlFiles, name: str) -> None:
    assert asked(engine, name, LONG).hits
    assert "## note/pump.md" in written(files, name, LONG.encode())
    with pytest.raises(Failed, match=r"q has 20008 bytes.*at most 8192"):
        commanded(engine, name, LONG)
    with pytest.raises(FsError, match=r"q has 20008 bytes.*at most 8192"):
        files.serve(f".{name}?q={LONG.replace(' ', '+')}", CALLER)
    with pytest.raises(FsError, match="at most 65536"):
        written(files, name, b"q=" + b"x" * 65_537)


@pytest.mark.parametrize("name", NAMES)
def test_bytes_that_are_no_text_are_refused(files: ControlFiles, name: str) -> None:
    with pytest.raises(FsError, match="not UTF-8"):
        written(files, name, b"caf\xe9")
    with pytest.raises(FsError, match="not UTF-8"):
        files.serve(f".{name}?q={os.fsdecode(b'caf' + bytes([0xE9]))}", CALLER)
    with pytest.raises(FsError, match="not UTF-8"):
        files.serve(f".{name}?q=caf%e9", CALLER)


def test_half_a_character_in_a_document_is_refused(engine: Engine) -> None:
    with pytest.raises(Invalid, match="is not UTF-8"):
        engine.put(SCOPE, Draft("note", "half", "\ud800".encode("utf-8", "surrogatepass")))
    with pytest.raises(Invalid, match="surrogate"):
        engine.put(SCOPE, Draft("note", "half", None, body="a \ud800 b"))


def test_a_document_with_nul_is_found_by_the_words_around_it(engine: Engine) -> None:
    engine.put(SCOPE, Draft("note", "nul", b"left\x00right heron\n"))
    for question in ("heron", "left", "right", "left\x00right"):
        assert [hit.entry.slug for hit in engine.find_exact(SCOPE, question).hits] == ["nul"]
