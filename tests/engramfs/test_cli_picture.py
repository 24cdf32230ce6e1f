"""`engramfs graph show` on a real store: the four forms, where they are written, and refusals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from engine.engine import Engine
from engine.model import Draft
from engine.namespace import Scope
from engramfs.commands import Host, perform
from tests.engramfs.browser import Document

HERE = Scope((), exact=True)
SALES = Scope((("team", "sales"),), exact=True)


def fill(engine: Engine) -> None:
    """a links b, b links c, d is alone; one more stands in another namespace, one is gone."""
    engine.make_kind("note")
    for slug, body in (("a", "[[b]]"), ("b", "[[c]]"), ("c", ""), ("d", ""), ("gone", "[[a]]")):
        source = f"---\nsummary: about {slug}\n---\n# The {slug}\n\n{body}\n"
        engine.put(HERE, Draft("note", slug, source.encode()))
    gone = engine.lookup(HERE, "note", "gone")
    assert gone is not None
    engine.delete(HERE, gone.id)
    engine.put(SALES, Draft("note", "theirs", b"# Theirs\n"))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    place = tmp_path / "store"
    place.mkdir()
    engine = Engine.open(place, embed="off")
    fill(engine)
    engine.close()
    return place


def show(store: Path, *arguments: str, code: int = 0) -> tuple[str, str]:
    """What `graph show` says; it runs in the directory beside the store."""
    done = subprocess.run(
        [sys.executable, "-m", "engramfs", "graph", "show", *arguments],
        cwd=store.parent,
        env={**os.environ, "ENGRAMFS_STORE": str(store), "ENGRAMFS_EMBED": "off"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout, done.stderr


def drawn(file: Path) -> dict[str, tuple[str, str]]:
    """Title -> (path, summary) of the engrams in a page."""
    drawing = json.loads(Document(file.read_text("utf-8")).text("drawing"))
    return {title: (path, summary) for _, _, path, title, summary, _, _ in drawing["nodes"]}


def test_the_page_is_written_here_and_said_to_be(store: Path) -> None:
    said, _ = show(store, "--namespace", "team=sales")
    assert said == "graph.html: 1 engram, 0 edges\n"
    said, _ = show(store)
    assert said == "graph.html: 5 engrams, 2 edges\n"
    found = drawn(store.parent / "graph.html")
    assert found["The a"] == ("note/a.md", "about a")
    assert set(found) == {"The a", "The b", "The c", "The d", "Theirs"}


def test_around_an_engram(store: Path) -> None:
    said, _ = show(store, "--around", "note/a", "--hops", "1", "-o", "near.html")
    assert said == "near.html: 2 engrams, 1 edge\n"
    page = store.parent / "near.html"
    assert set(drawn(page)) == {"The a", "The b"}
    assert Document(page.read_text("utf-8")).of("h1")[0][1] == "Around note/a, 1 hop"
    show(store, "--around", "note/a", "-o", "two.html")
    assert set(drawn(store.parent / "two.html")) == {"The a", "The b", "The c"}


def test_the_ending_says_what_is_written(store: Path) -> None:
    for name in ("g.SVG", "g.dot", "g.graphml"):
        show(store, "-o", name)
    here = store.parent
    assert ElementTree.fromstring((here / "g.SVG").read_text("utf-8")).tag.endswith("svg")
    assert (here / "g.dot").read_text("utf-8").startswith("digraph engrams {")
    assert ElementTree.parse(here / "g.graphml").getroot().tag.endswith("graphml")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["-o", "g.png"], 2, "(.html, .svg, .dot, .graphml)"),
        (["-o", "graph"], 2, "graph is no name for a picture"),
        (["-o", ""], 2, "no name for a picture"),
        (["-o", "none/g.svg"], 1, "none/g.svg cannot be written: No such file or directory"),
        (["-o", "taken.svg"], 1, "taken.svg is there and no file"),
        (["--around", "note/none"], 1, "there is no engram note/none"),
        (["--around", "note/a", "--hops", "9"], 1, "hops 9 is not from 1 to 4"),
        (["--hops", "many"], 2, "--hops"),
        (["--around", "note/gone"], 1, "there is no engram note/gone"),
        (["--around", "note/a", "--namespace", "team=sales"], 1, "there is no engram note/a"),
    ],
)
def test_a_mistake_is_a_sentence(store: Path, arguments: list[str], code: int, said: str) -> None:
    (store.parent / "taken.svg").mkdir()
    before = sorted(os.listdir(store.parent))
    out, err = show(store, *arguments, code=code)
    assert said in err
    assert out == ""
    assert sorted(os.listdir(store.parent)) == before


def test_a_file_is_replaced_whole_and_keeps_its_permissions(store: Path) -> None:
    here = store.parent
    (here / "real.svg").write_text("old")
    (here / "real.svg").chmod(0o640)
    (here / "g.svg").symlink_to("real.svg")
    with (here / "real.svg").open() as reader:
        show(store, "-o", "g.svg")
        assert reader.read() == "old"
    assert (here / "g.svg").is_symlink()
    assert (here / "real.svg").read_text("utf-8").startswith("<svg")
    assert (here / "real.svg").stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(here)) == ["g.svg", "real.svg", "store"]


@pytest.fixture
def host() -> Iterator[Host]:
    engine = Engine.open(":memory:", embed="off")
    fill(engine)
    yield Host(engine, Path("/store"))
    engine.close()


def test_the_answer_of_a_server_is_json(host: Host) -> None:
    request = {
        "command": "graph show",
        "namespace": None,
        "arguments": {"around": None, "hops": 2, "paths": {}},
    }
    answer = json.loads(json.dumps(perform(host, request, lambda _: None)))
    assert [node[2] for node in answer["nodes"]][:3] == ["note/b.md", "note/a.md", "note/c.md"]
    assert [tie[:3] for tie in answer["ties"]] == [[1, 0, "mentions"], [0, 2, "mentions"]]
    assert answer["whole"] == 5
