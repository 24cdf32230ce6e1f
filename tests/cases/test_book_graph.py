"""A whole book as a graph: its links are edges, a move breaks none, and recall goes along them.

The book is the Rust book where ENGRAMFS_DATA names a directory that holds `rust-book/src`; without
it the project's own documentation stands in.
"""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.model import Draft, Entry
from engine.namespace import Scope
from engine.recall.request import parse_request
from tests.mounted import engramfs

HERE = Scope((), exact=True)
KIND = "book"

Pairs = set[tuple[str, str]]

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?^ {0,3}\1[`~]* *$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_CODE = re.compile(r"(`+)(?!`)(.*?)(?<!`)\1(?!`)", re.DOTALL)
_DEFINITION = re.compile(r"^ {0,3}\[([^\[\]]+)\]:\s*(\S+)", re.MULTILINE)
_INLINE = re.compile(r"(?<!!)\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(\s*([^()\s]+)[^()]*\)")
_REFERENCE = re.compile(r"(?<!!)\[([^\[\]]+)\](?:\[([^\[\]]*)\])?(?!\()")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    data = os.environ.get("ENGRAMFS_DATA")
    if data:
        return tuple(sorted((Path(data) / "rust-book" / "src").glob("*.md")))
    copied = tmp_path_factory.mktemp("docs")
    for file in (Path(__file__).parents[2] / "docs").glob("*.md"):
        shutil.copy(file, copied)
    return tuple(sorted(copied.glob("*.md")))


@pytest.fixture(scope="module")
def imported(files: tuple[Path, ...], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the book in it."""
    store = tmp_path_factory.mktemp("book") / "store"
    engramfs("import", files[0].parent, "--kind", KIND, "--store", store)
    return store


@pytest.fixture
def engine(imported: Path, tmp_path: Path) -> Iterator[Engine]:
    """A copy of that store, opened."""
    shutil.copytree(imported, tmp_path / "store")
    opened = Engine.open(tmp_path / "store", embed="off")
    yield opened
    opened.close()


def relative_links(files: tuple[Path, ...]) -> Pairs:
    """(file, file that one of its links leads to), read from the Markdown by this test alone."""
    stems = {file.stem for file in files}
    found: Pairs = set()
    for file in files:
        text = _COMMENT.sub("", _FENCE.sub("", file.read_text()))
        text = _CODE.sub(lambda code: code[0].translate({91: "(", 93: ")"}), text)
        urls: dict[str, str] = {}
        for label, url in _DEFINITION.findall(text):
            urls.setdefault(_folded(label), url)
        text = _DEFINITION.sub("", text)
        used = [_folded(label or shown) for shown, label in _REFERENCE.findall(text)]
        for url in [*_INLINE.findall(text), *(urls[label] for label in used if label in urls)]:
            path = url.partition("#")[0].partition("?")[0]
            name, dot, ending = path.rpartition(".")
            if dot and ending in ("md", "html") and name in stems and name != file.stem:
                found.add((file.stem, name))
    return found


def _folded(label: str) -> str:
    return " ".join(label.split()).casefold()


def edges_of(engine: Engine) -> Pairs:
    slugs = {entry.id: entry.slug for entry in engine.entries(HERE, KIND)}
    return {
        (entry.slug, slugs[edge.target])
        for entry in engine.entries(HERE, KIND)
        for edge in engine.edges(HERE, entry.id)
        if edge.source == entry.id and edge.target
    }


def most_linked(pairs: Pairs) -> str:
    counted = Counter(target for _, target in pairs)
    return max(sorted(counted), key=lambda slug: counted[slug])


def chapter(engine: Engine, slug: str) -> Entry:
    found = engine.lookup(HERE, KIND, slug)
    assert found is not None
    return found


def test_every_relative_link_is_an_edge(engine: Engine, files: tuple[Path, ...]) -> None:
    expected = relative_links(files)
    assert len(expected) > (100 if len(files) > 100 else 3)
    assert edges_of(engine) == expected


@pytest.mark.parametrize("rewrite", [False, True])
def test_a_moved_chapter_keeps_all_its_links(engine: Engine, rewrite: bool) -> None:
    before = edges_of(engine)
    slug = most_linked(before)
    moved = chapter(engine, slug)
    linkers = sorted({source for source, target in before if target == slug})
    done = engine.rename(HERE, moved.id, KIND, "another name", rewrite=rewrite)
    assert {entry.slug for entry in done.rewritten} == (set(linkers) if rewrite else set())
    after = {tuple("another name" if end == slug else end for end in pair) for pair in before}
    assert edges_of(engine) == after
    for name in linkers:  # an author who knows of nothing saves the file again
        entry = chapter(engine, name)
        source = engine.source(entry)
        named = re.search(rf"(?:\(|\]: *){slug}\.(?:md|html)", source.decode())
        assert (named is None) is rewrite, name
        engine.put(HERE, Draft(KIND, name, source + b"\nAnother line.\n"))
    assert edges_of(engine) == after
    assert engine.check() == ()


def test_recall_finds_what_only_its_linker_names(engine: Engine) -> None:
    """A word that stands in one chapter only brings the chapter that it links to, too."""
    words = {
        entry.slug: set(re.findall(r"[a-z]{6,}", engine.source(entry).decode().lower()))
        for entry in engine.entries(HERE, KIND)
    }
    shown = 0
    for source, target in sorted(edges_of(engine)):
        others = set().union(*(held for slug, held in words.items() if slug != source))
        for word in sorted(words[source] - others):
            if recalled(engine, word, "lexical,exact") == [source]:
                assert target in recalled(engine, word, "lexical,exact,graph"), (word, source)
                shown += 1
                break
    assert shown > (20 if len(words) > 100 else 1)


def recalled(engine: Engine, question: str, channels: str) -> list[str]:
    asked = [("q", question), ("channels", channels), ("budget", "32768"), ("detail", "summary")]
    request = parse_request(asked, engine.catalogue, engine.config)
    packed = engine.recall(HERE, request, path_of=lambda entry: f"{entry.kind}/{entry.name}.md")
    return [item.entry.slug for item in packed.items]
