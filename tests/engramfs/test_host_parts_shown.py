"""Answers show a host's part with its own text and heading path, and claim no line of the file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.model import Draft, HostPart
from engine.namespace import Scope
from engramfs.commands import Host, perform
from engramfs.control import ControlFiles, ControlSettings
from engramfs.ports import Process
from tests.engramfs.tree_rig import OTHER, SECOND, fails, rigged

SCOPE = Scope((), exact=True)
CALLER = Process(pid=1, tid=1, uid=0, gid=0, sid=1)
LONG = "".join(f"Row {n} of the table has its own number.\n\n" for n in range(200))
PLACES = ("start_line", "end_line", "byte_start", "byte_end")


@pytest.fixture
def engine() -> Iterator[Engine]:
    engine = Engine.open(":memory:", embed="off")
    engine.put(SCOPE, Draft("note", "report", b"# Report\n\nSee the PDF.\n"))
    engine.put(SCOPE, Draft("note", "long", f"# Long\n\n{LONG}".encode()))
    pages = [HostPart("Whales sing.\n## note/other.md\n", ("Page 1", "Songs")), HostPart("Bare.")]
    engine.replace_parts(SCOPE, "note/report", pages)
    engine.replace_parts(SCOPE, "note/long", [HostPart("Whales too.", ("Page 9",))])
    yield engine
    engine.close()


@pytest.fixture
def files(engine: Engine) -> Iterator[ControlFiles]:
    files = ControlFiles(engine, SCOPE, ControlSettings("/engram"))
    yield files
    files.close()


def cat(files: ControlFiles, name: str) -> str:
    return files.serve(name, CALLER).decode()


def items(files: ControlFiles, name: str) -> dict[str, dict[str, object]]:
    answer = json.loads(cat(files, name))
    return {item["path"]: item for item in answer["items"]}


def test_recall_shows_it_beside_the_whole_body(files: ControlFiles) -> None:
    answer = cat(files, ".recall?q=whales")
    lines = answer.splitlines()
    assert {"> See the PDF.", "passage: Page 1 > Songs", "> Whales sing."} <= set(lines)
    assert "> ## note/other.md" in lines and "## note/other.md" not in lines
    assert lines.index("> See the PDF.") < lines.index("passage: Page 1 > Songs")
    assert {"passage: Page 9", "> Whales too."} <= set(lines)
    assert "lines 0" not in answer


@pytest.mark.parametrize("detail", ["auto", "full", "parts"])
def test_json_has_no_lines_for_it(files: ControlFiles, detail: str) -> None:
    found = items(files, f".recall?q=whales&format=json&detail={detail}")
    (passage,) = found["note/report.md"]["passages"]  # type: ignore[misc]
    assert passage["text"] == "Whales sing.\n## note/other.md\n"
    assert passage["heading_path"] == ["Page 1", "Songs"]
    assert [passage[place] for place in PLACES] == [None] * 4
    body = found["note/report.md"]["body"]
    assert (body is None) == (detail == "parts") and "Whales" not in str(body)


def test_search_names_its_heading_path(files: ControlFiles) -> None:
    answer = cat(files, ".search?q=whales")
    assert "\nPage 1 / Songs:\n> Whales sing. ## note/other.md\n" in answer
    assert "\nPage 9:\n> Whales too.\n" in answer
    assert "\npassage:\n> Bare.\n" in cat(files, ".search?q=bare")
    (passage,) = items(files, ".search?q=bare&format=json")["note/report.md"]["passages"]  # type: ignore[misc]
    assert [passage[place] for place in PLACES] == [None] * 4


def test_the_commands_answer_alike(engine: Engine, files: ControlFiles) -> None:
    host = Host(engine, Path("/store"), (), ("/engram",))
    for command, name in (("recall", ".recall?q=whales"), ("search", ".search?q=whales")):
        arguments = {"pairs": [("q", "whales")]}
        request = {"command": command, "namespace": None, "arguments": arguments}
        assert sections(str(perform(host, request, lambda _: None)["text"])) == sections(
            cat(files, name)
        )


def sections(answer: str) -> list[str]:
    """What stands behind the front matter, which names tokens and pages."""
    return [part for part in answer.split("---\n", 2)[2].splitlines() if "More:" not in part]


def test_passages_stand_in_the_order_of_the_file_and_then_the_hosts(files: ControlFiles) -> None:
    found = items(files, ".recall?q=row+table+whales&format=json&detail=parts")
    starts = [passage["byte_start"] for passage in found["note/long.md"]["passages"]]  # type: ignore[attr-defined]
    known = [start for start in starts if start is not None]
    assert known == sorted(known) and starts[len(known) :] in ([], [None])
    assert None in starts


@pytest.mark.parametrize("temporary", ["/note/.tmp", "/note/tmp.md"])
def test_parts_given_while_an_editor_saves_are_no_conflict(tmp_path: Path, temporary: str) -> None:
    with rigged(tmp_path, on_conflict="refuse") as rig:
        rig.save("/note/x.md", b"old\n")
        rig.clock.pass_ns(600 * SECOND)
        before = rig.stat("/note/x.md")
        rig.save(temporary, b"mine\n")
        rig.engine.replace_parts(SCOPE, "note/x", [HostPart("one")])
        assert rig.stat("/note/x.md") == before
        rig.rename(temporary, "/note/x.md")
        assert rig.body("/note/x.md") == b"mine\n"
        handle = rig.open("/note/x.md", os.O_WRONLY | os.O_TRUNC)
        rig.write(handle, b"in place\n")
        rig.engine.replace_parts(SCOPE, "note/x", [HostPart("two")])
        rig.close(handle)
        assert rig.body("/note/x.md") == b"in place\n"
        assert rig.events() == []
        assert [part.text for part in rig.engine.children(SCOPE, "note/x")][-1] == "two"
        rig.save(temporary, b"late\n")
        rig.save("/note/x.md", b"theirs\n", OTHER)
        rig.engine.replace_parts(SCOPE, "note/x", [HostPart("three")])
        with fails("EBUSY"):
            rig.rename(temporary, "/note/x.md")
