"""The files of edges: what is said of one, read and written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.model import Edge, EdgeMeta
from tests.engramfs.test_tree_graph import ABOUT, link, said
from tests.engramfs.tree_rig import ME, OTHER, SCOPE, Rig, fails, rigged

EDGE = f"{ABOUT}/b.edge"


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with rigged(tmp_path) as made:
        for path in ("note/a", "note/b"):
            made.save(f"/{path}.md", b"# x\n")
        link(made, "note/a", "about", "note/b", note="because: so", confidence=0.5)
        yield made


def edge(rig: Rig) -> Edge:
    (found,) = rig.engine.edges_between(SCOPE, "note/a", "about", "note/b")
    return found


def meta(rig: Rig) -> EdgeMeta:
    found = edge(rig)
    return EdgeMeta(found.note, found.status, found.role, found.confidence, found.evidence_id)


def test_what_the_file_says(rig: Rig) -> None:
    text = rig.read(EDGE).decode()
    assert text.startswith(
        "relation: about\nsource: note/a.md\ntarget: note/b.md\norigin: link\n"
        'note: "because: so"\nconfidence: 0.5\ncreated: 2023-11-14T'
    )
    assert text.endswith("# note, status, role, confidence, evidence_id can be written here\n")
    found = rig.stat(EDGE)
    assert (found.size, found.mode & 0o777) == (len(text), 0o644)
    assert found.mtime_ns == edge(rig).updated_ns
    assert rig.read("/.graph/note/b/in/about/a.edge").decode() == text
    assert rig.read(f"{ABOUT}/b.md.edge").decode() == text
    assert rig.ls(ABOUT) == ["b.md"]


def test_saved_as_it_stands_changes_nothing(rig: Rig) -> None:
    before = edge(rig)
    rig.save(EDGE, rig.read(EDGE))
    assert edge(rig) == before


def test_what_is_written_is_said_and_the_rest_taken_away(rig: Rig) -> None:
    before = edge(rig)
    rig.save(EDGE, b"status: draft\nrole: 007\nevidence_id: yes\n")
    assert meta(rig) == EdgeMeta("", "draft", "007", None, "yes")
    assert edge(rig).created_ns == before.created_ns
    rig.append(EDGE, b"note: more\nconfidence: 1\n")
    assert meta(rig) == EdgeMeta("more", "draft", "007", 1.0, "yes")
    handle = rig.open(EDGE, os.O_RDWR)
    rig.write(handle, rig.read(EDGE).replace(b"more", b"less"))
    rig.close(handle)
    assert edge(rig).note == "less"
    rig.save(EDGE, b"")
    assert meta(rig) == EdgeMeta()


def test_a_shell_that_closes_before_it_writes(rig: Rig) -> None:
    handle = rig.open(EDGE, os.O_WRONLY | os.O_TRUNC)
    rig.tree.flush(handle, ME)
    assert edge(rig).note == "because: so"
    assert rig.stat(EDGE, OTHER).size == len(rig.read(EDGE, OTHER)) > 0
    rig.write(handle, b"note: x\n")
    assert rig.stat(EDGE).size == len(b"note: x\n")
    rig.close(handle)
    assert meta(rig) == EdgeMeta("x")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("note: x\nnote: y\n", "given twice"),
        ("note: [\n", "YAML"),
        ("just words\n", "lines `key: value`"),
        ("note: [a, b]\n", "`note` is not one value"),
        ("nota: x\n", "`nota` is not said of an edge (the keys are note, status,"),
        ("source: note/x.md\n", "`source` of an edge cannot be changed"),
        ("confidence: much\n", "the confidence much is not a number"),
        ("confidence: 1.5\n", "the confidence 1.5 is not in (0, 1]"),
        ("confidence: .nan\n", "is not a number"),
        ("confidence: 0\n", "is not in (0, 1]"),
        ("note: \udcff\n", "not UTF-8"),
        (f"note: {'x' * 5000}\n", "longer than 4096 bytes"),
    ],
)
def test_bad_files_are_refused_and_change_nothing(rig: Rig, text: str, sentence: str) -> None:
    before = edge(rig)
    with fails("EPROTO"):
        rig.save(EDGE, text.encode(errors="surrogateescape"))
    assert sentence in said(rig) and said(rig).startswith(EDGE.removeprefix("/"))
    assert rig.events() == ["edge"]
    assert edge(rig) == before
    rig.save(EDGE, b"note: good\n")
    assert rig.events() == []


def test_a_refusal_is_told_once(rig: Rig) -> None:
    handle = rig.open(EDGE, os.O_WRONLY | os.O_TRUNC)
    rig.write(handle, b"confidence: 2\n")
    with fails("EPROTO"):
        rig.tree.flush(handle, ME)
    (told,) = rig.engine.notices(SCOPE)
    rig.tree.release(handle, ME)
    assert rig.engine.notices(SCOPE) == [told]


def test_an_edge_of_a_text_is_read_only(rig: Rig) -> None:
    rig.save("/note/a.md", b"See [[b#part]] and [[b]].\n")
    path = "/.graph/note/a/out/mentions/b.edge"
    text = rig.read(path).decode()
    assert 'written: "b#part"\n' in text and 'also:\n  - "body: b"\n' in text
    assert text.endswith("# made by the text of note/a.md: change it there\n")
    assert rig.stat(path).mode & 0o777 == 0o444
    with fails("EACCES"):
        rig.save(path, b"note: x\n")
    assert "made by the text of note/a.md (change it in note/a.md)" in said(rig)


def test_one_by_hand_beside_one_of_a_text(rig: Rig) -> None:
    rig.save("/note/a.md", b"See [[b]].\n")
    link(rig, "note/a", "mentions", "note/b", note="by hand")
    top = "/.graph/note/a/out/mentions"
    text = rig.read(f"{top}/b.edge")
    assert b"origin: link\nnote: by hand\n" in text and b"body: b" in text
    rig.save(f"{top}/b.edge", text.replace(b"by hand", b"mine"))
    assert b"note: mine\n" in rig.read(f"{top}/b.edge")
    rig.unlink(f"{top}/b.md")
    assert rig.ls(top) == ["b.md"]  # the text still makes it
    with fails("EPERM"):
        rig.unlink(f"{top}/b.md")


def test_an_edge_that_goes_while_it_is_written(rig: Rig) -> None:
    handle = rig.open(EDGE, os.O_WRONLY)
    rig.write(handle, b"note: late\n")
    rig.tree.truncate(rig.inode(EDGE), 11, ME, handle)
    rig.unlink(f"{ABOUT}/b.md")
    with fails("EPROTO"):
        rig.close(handle)
    assert "the edge was removed meanwhile" in said(rig)
    assert rig.ls(ABOUT) == []
    with fails("EPERM"):
        rig.save(EDGE, b"note: x\n")


def test_how_it_is_opened(rig: Rig) -> None:
    with fails("ELOOP"):
        rig.open(f"{ABOUT}/b.md")
    with fails("EISDIR"):
        rig.open(ABOUT)
    with fails("EINVAL"):
        rig.tree.readlink(rig.inode(EDGE), ME)
    with fails("EACCES"):
        rig.tree.truncate(rig.inode(EDGE), 0, ME)
    handle = rig.open(EDGE, os.O_RDWR | os.O_CREAT)
    with fails("EFBIG"):
        rig.tree.write(handle, b"x", 1 << 20, 0, ME)
    assert rig.tree.read(handle, 14, 0) == b"relation: abou"
    rig.close(handle)
