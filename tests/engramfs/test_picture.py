"""A picture in each of its forms: whatever the texts, they are texts in it and nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import igraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import engramfs
from engramfs.picture import Picture, colours, degrees, from_message, xml_text
from engramfs.picture_page import page, script_json
from engramfs.picture_svg import svg
from engramfs.picture_text import dot, graphml
from tests.engramfs.browser import Document

VENDOR = Path(engramfs.__file__).parent / "vendor"
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!-- <script> -->",
    "]]></style><img src=x onerror=alert(1)>",
    '"\' onload=alert(1) x="',
    "\u2028\u2029 \\ \\u003c \\",
    "{{script}} {{drawing}}",
    "${alert(1)} &lt; &#60;",
    "\x00\x07\x1b[31m\ufffe",
)
texts = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
    st.lists(st.sampled_from([*"<>&\"'\\/!-{}\n\r\u2028;#", "script", "style"])).map("".join),
)


def picture(*said: str, about: str = "The graph", relation: str = "about") -> Picture:
    """Engrams in a ring, each text in turn as kind, path, title and summary."""
    given = said or ("",)
    turned = [given[at:] + given[:at] for at in range(len(given))]
    nodes = [
        [f"id-{at}", *(texts[field % len(texts)] for field in range(4))]
        for at, texts in enumerate(turned)
    ]
    ties = [[at, (at + 1) % len(nodes), relation, said[at]] for at in range(len(said))]
    return from_message({"nodes": nodes, "ties": ties, "whole": len(nodes)}, about)


PLAIN = picture("a", "b", "c")


def test_counts_in_a_sentence() -> None:
    assert PLAIN.counts == "3 engrams, 3 edges"
    one = from_message({"nodes": [["i", "note", "", "T", ""]], "ties": [], "whole": 1}, "x")
    assert one.counts == "1 engram, 0 edges"
    cut = from_message({"nodes": [["i", "note", "", "T", ""]], "ties": [], "whole": 54_321}, "x")
    assert cut.counts == "1 engram, 0 edges: the best linked of 54,321 engrams"


def test_a_colour_a_kind_the_most_frequent_first() -> None:
    nodes = [[str(at), f"k{min(at, 14)}", "", "", ""] for at in range(20)]
    made = from_message({"nodes": nodes, "ties": [[0, 1, "r", ""]], "whole": 20}, "x")
    given = colours(made.nodes)
    assert next(iter(given)) == "k14"
    assert given["k14"][1] == 6
    assert len({colour for colour, _ in given.values()}) == 11  # ten, and one for the others
    assert degrees(made)[:3] == [1, 1, 0]


@given(texts)
def test_no_text_leaves_a_script(text: str) -> None:
    written = script_json([text])
    assert json.loads(written) == [text]
    assert not re.search("[<>&\u2028\u2029]", written)


@settings(deadline=None)
@given(st.lists(texts, min_size=3, max_size=3), texts)
def test_no_text_is_markup_in_a_page(said: list[str], about: str) -> None:
    made = picture(*said, about=about, relation=said[0])
    there = Document(page(made))
    plain = Document(page(PLAIN))
    hidden = ["content", "nonce"]  # the policy, which names hashes
    shape = [
        [(tag, {k: v for k, v in given.items() if k not in hidden}) for tag, given in d.elements]
        for d in (there, plain)
    ]
    assert shape[0] == shape[1]
    assert [text for _, text in there.of("script")[1:]] == [
        text for _, text in plain.of("script")[1:]
    ]
    drawing = json.loads(there.text("drawing"))
    assert [node[3] for node in drawing["nodes"]] == [node.title for node in made.nodes]
    assert len(drawing["ties"]) == len(made.ties)


def test_the_page_lets_just_its_own_scripts_run_and_loads_nothing() -> None:
    there = Document(page(PLAIN))
    (policy,) = (
        given["content"] or ""
        for given, _ in there.of("meta")
        if given.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; ")
    scripts = [text for given, text in there.of("script") if "type" not in given]
    wanted = {hashed(text) for text in scripts} | {hashed(t) for _, t in there.of("style")}
    assert set(re.findall(r"'sha256-[^']+'", policy)) == wanted
    assert len(wanted) == 3
    assert "unsafe" not in policy
    assert not any({"src", "href"} & given.keys() for _, given in there.elements)
    assert "sourceMappingURL" not in page(PLAIN)


def hashed(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_the_libraries_are_as_they_came_and_bring_their_licences() -> None:
    told = dict(re.findall(r"^\| `([\w.-]+)` .*`([0-9a-f]{64})` \|$", readme(), re.MULTILINE))
    scripts = {path.name: path.read_bytes() for path in VENDOR.glob("*.js")}
    assert told == {name: hashlib.sha256(data).hexdigest() for name, data in scripts.items()}
    assert len(told) == 2
    text = page(PLAIN)
    for licence in VENDOR.glob("*.LICENSE.txt"):
        assert licence.read_text("utf-8").strip() in text
    for data in scripts.values():
        assert not re.search(rb"</script|<!--", data, re.IGNORECASE)


def readme() -> str:
    return (VENDOR / "README.md").read_text("utf-8")


def as_read(text: str) -> str:
    """What a reader of XML makes of a text that was written into it."""
    return xml_text(text)


@settings(deadline=None)
@given(st.lists(texts, min_size=1, max_size=4), texts)
def test_no_text_is_markup_in_an_svg(said: list[str], about: str) -> None:
    made = picture(*said, about=about)
    root = ElementTree.fromstring(svg(made))
    found = [circle for circle in root.iter(f"{SVG}circle") if circle.get("class") == "node"]
    assert len(found) == len(made.nodes)
    for circle, node in zip(found, made.nodes, strict=True):
        title = circle.findtext(f"{SVG}title") or ""
        assert as_read(node.label.strip()) in title
    assert (root.findtext(f"{SVG}title") or "") == as_read(about)
    assert len(list(root.iter(f"{SVG}line"))) == len(made.ties)
    known = {
        *("svg", "title", "style", "defs", "marker"),
        *("path", "rect", "g", "line", "circle", "text"),
    }
    assert {element.tag for element in root.iter()} <= {f"{SVG}{tag}" for tag in known}


def test_no_name_lies_on_another_in_an_svg() -> None:
    nodes = [[f"id-{at}", "note", "", f"A name of some length {at}", ""] for at in range(300)]
    ties = [[at, (at * 7 + 1) % 300, "about", ""] for at in range(300)]
    root = ElementTree.fromstring(
        svg(from_message({"nodes": nodes, "ties": ties, "whole": 300}, "x"))
    )
    labels = [text for text in root.iter(f"{SVG}text") if text.get("class") == "label"]
    assert 10 < len(labels) <= 120
    boxes = [(float(text.get("x", "")), float(text.get("y", ""))) for text in labels]
    for at, (x, y) in enumerate(boxes):
        assert all(abs(x - x2) > 100 or abs(y - y2) > 12 for x2, y2 in boxes[:at])


def test_an_svg_of_nothing_says_so() -> None:
    empty = from_message({"nodes": [], "ties": [], "whole": 0}, "The graph")
    root = ElementTree.fromstring(svg(empty))
    assert "0 engrams, 0 edges" in [text.text for text in root.iter(f"{SVG}text")]
    assert Document(page(empty)).text("counts") == "0 engrams, 0 edges"


@settings(deadline=None)
@given(st.lists(texts, min_size=1, max_size=4))
def test_graphml_gives_every_text_back(
    tmp_path_factory: pytest.TempPathFactory, said: list[str]
) -> None:
    made = picture(*said, relation=said[0])
    file = tmp_path_factory.mktemp("picture") / "graph.graphml"
    file.write_text(graphml(made), "utf-8")
    read = igraph.Graph.Read_GraphML(str(file))
    assert read.is_directed()
    assert read.vs["id"] == [node.id for node in made.nodes]
    assert read.vs["title"] == [as_read(node.title) for node in made.nodes]
    assert read.vs["kind"] == [as_read(node.kind) for node in made.nodes]
    assert read.vs["x"] == [x for x, _ in made.places]
    assert read.es["relation"] == [as_read(tie.relation) for tie in made.ties]
    assert read.get_edgelist() == [(tie.source, tie.target) for tie in made.ties]


# A line of our DOT: names and values are quoted, in which a backslash quotes what follows it.
QUOTED = r'"(?:[^"\\]|\\.)*"'
ATTRIBUTES = rf"\[\w+={QUOTED}(?:, \w+={QUOTED})*\]"
DOT_LINE = re.compile(
    rf"  {QUOTED}(?: -> {QUOTED})? {ATTRIBUTES};|  label={QUOTED};|  (?:node|edge) \[[^\]\"]*"
    rf'(?:"#[0-9a-f]{{6}}"[^\]"]*)+\];'
)


@given(st.lists(texts, min_size=1, max_size=4), texts)
def test_no_text_leaves_its_quotes_in_dot(said: list[str], about: str) -> None:
    made = picture(*said, about=about, relation=said[0])
    first, *lines, last, end = dot(made).split("\n")
    assert (first, last, end) == ("digraph engrams {", "}", "")
    assert all(DOT_LINE.fullmatch(line) for line in lines), lines
    assert sum(" -> " in re.sub(QUOTED, "", line) for line in lines) == len(made.ties)
    labels = [re.search(rf"label=({QUOTED})", line) for line in lines if "fillcolor" in line]
    shown = [label.group(1)[1:-1] for label in labels if label is not None]
    assert [re.sub(r"\\(.)", r"\1", one).replace("&amp;", "&") for one in shown] == [
        " ".join(as_read(node.label).split()) for node in made.nodes
    ]
