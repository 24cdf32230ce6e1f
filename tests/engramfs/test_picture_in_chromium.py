"""The page in headless Chromium: it draws, answers a search, and runs nothing that was stored."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from engine.model import EdgeMeta
from engramfs.picture import Picture, from_message, to_message
from engramfs.picture_page import page
from tests.engine.desk import HERE, Desk
from tests.engramfs.browser import Document, visit

BREAKOUT = "</script><script>document.documentElement.dataset.broken='yes'</script>"
IMAGE = "<img src=x onerror=\"document.documentElement.dataset.broken='yes'\">"
TITLES = {
    "script": BREAKOUT,
    "image": IMAGE,
    "comment": "<!-- <script>",
    "quotes": '"It\'s" \u2028 & <b>bold</b> {{script}}',
    "acme": "Acme pumps",
}


def written(picture: Picture, place: Path) -> Path:
    file = place / "graph.html"
    file.write_text(page(picture), "utf-8")
    return file


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """The page of a store whose every text tries to be a script; all link to the acme."""
    desk = Desk(tmp_path / "store")
    for slug, title in TITLES.items():
        quoted = title.replace("'", "''")
        desk.put(slug, f"---\ntitle: '{quoted}'\nsummary: '{quoted}'\n---\ntext\n")
    for slug, title in TITLES.items():
        if slug != "acme":
            note = EdgeMeta(note=title.replace("\u2028", ""))
            desk.engine.link(HERE, f"note/{slug}", "about", "note/acme", note)
    message = to_message(desk.engine.excerpt(HERE), lambda entry: f"{entry.kind}/{entry.name}.md")
    desk.engine.close()
    return written(from_message(message, BREAKOUT), tmp_path)


def drew(document: Document) -> bool:
    """The page says that it has drawn, and nothing stored has run."""
    (given,) = (given for given, _ in document.of("html"))
    assert "data-broken" not in given
    assert [given for given, _ in document.of("img")] == []
    return given.get("data-drawn") == "yes"


def test_a_search_shows_the_engram_and_its_edges(hostile: Path, tmp_path: Path) -> None:
    document, console = visit(hostile, "search=acme", tmp_path / "profile")
    assert console == []
    assert drew(document)
    assert document.of("canvas")
    assert document.text("counts") == "5 engrams, 4 edges"
    assert document.of("h1")[0][1] == BREAKOUT
    assert document.text("found") == "1 found"
    assert document.of("h2")[0][1] == "Acme pumps"
    shown = document.text("engram")
    assert "note/acme.md" in shown
    assert "Linked from (4)" in shown
    for title in TITLES.values():
        assert title in shown
    assert document.classed("relation") == ["← about"] * 4
    assert "note5" in document.text("kinds")


def test_at_first_all_is_shown_and_nothing_chosen(hostile: Path, tmp_path: Path) -> None:
    document, console = visit(hostile, "", tmp_path / "profile")
    assert console == []
    assert drew(document)
    assert document.text("found") == ""
    assert document.text("engram") == ""
    assert document.text("trouble") == ""


@pytest.mark.parametrize("slug", ["script", "quotes"])
def test_what_was_stored_is_only_text(hostile: Path, tmp_path: Path, slug: str) -> None:
    document, console = visit(hostile, f"search={slug}.md", tmp_path / "profile")
    assert console == []
    assert drew(document)
    assert document.of("h2")[0][1] == TITLES[slug]
    assert document.classed("summary") == [TITLES[slug]]


def test_what_nobody_has_is_said_to_be_found_nowhere(hostile: Path, tmp_path: Path) -> None:
    document, console = visit(hostile, f"search={BREAKOUT} nowhere", tmp_path / "profile")
    assert console == []
    assert drew(document)
    assert document.text("found") == "0 found"
    assert document.text("engram") == ""


def test_ten_thousand_engrams_are_drawn_and_searched(tmp_path: Path) -> None:
    dice = random.Random(0)
    nodes = [
        [f"id-{at}", f"kind{at % 7}", f"note/n{at}.md", f"Engram {at}", "what it says"]
        for at in range(10_000)
    ]
    ties = [[dice.randrange(10_000), dice.randrange(10_000), "about", ""] for _ in range(50_000)]
    ties += [[7_777, 1, "because", "of that"]]
    picture = from_message({"nodes": nodes, "ties": ties, "whole": 10_000}, "Many")
    file = written(picture, tmp_path)
    document, console = visit(file, "search=engram 7777", tmp_path / "profile")
    assert console == []
    assert drew(document)
    assert document.text("counts") == "10,000 engrams, 50,001 edges"
    assert document.text("found") == "1 found"
    assert document.of("h2")[0][1] == "Engram 7777"
    assert "of that" in document.classed("note")
