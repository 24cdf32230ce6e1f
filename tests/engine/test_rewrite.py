"""A rename that takes the text of its linkers along."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.desk import HERE, Desk

KINDS = """\
kinds:
  note:
    fields:
      about: {type: string, link: about}
      more: {type: [string], link: see}
      word: {type: string}
  person: {}
"""

TEXT = "# old name\r\n\nold name\n\n%s\n\nold name\n"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path, kinds=KINDS)
    desk.put("old name", "---\ntitle: The title\naliases: [Nick]\n---\n# Part\n")
    yield desk
    assert desk.engine.check() == ()
    desk.engine.close()


def move(desk: Desk, new: str = "new", kind: str = "note") -> list[str]:
    id = desk.entry("old name").id
    commit = desk.engine.rename(HERE, id, kind, new, rewrite=True)
    return [entry.slug for entry in commit.rewritten]


@pytest.mark.parametrize(
    ("written", "same_kind", "other_kind"),
    [
        ("[[old name]]", "[[new]]", "[[new]]"),
        ("[[old name#Part|read]]", "[[new#Part|read]]", "[[new#Part|read]]"),
        ("[[note/old name]]", "[[note/new]]", "[[person/new]]"),
        ("[[old name.md]]", "[[new.md]]", "[[../person/new.md]]"),
        ("[x](old%20name.md#part)", "[x](new.md#part)", "[x](../person/new.md#part)"),
        ("[x](<old name.md>)", "[x](<new.md>)", "[x](<../person/new.md>)"),
        ("[x](../note/old%20name.md)", "[x](../note/new.md)", "[x](../person/new.md)"),
        ('[x](./old%20name.md "tip")', '[x](./new.md "tip")', '[x](../person/new.md "tip")'),
        ("[r]\n\n[r]: old%20name.md", "[r]\n\n[r]: new.md", "[r]\n\n[r]: ../person/new.md"),
        ("[[The title]] [[Nick]]", "[[The title]] [[Nick]]", "[[The title]] [[Nick]]"),
        ("`[[old name]]` [[old name]]", "`[[old name]]` [[new]]", "`[[old name]]` [[new]]"),
        ("x <!-- [[old name]] -->[[old name]]", "x <!-- [[old name]] -->[[new]]", None),
        ("```\n[[old name]]\n```\n[[old name]]", "```\n[[old name]]\n```\n[[new]]", None),
        ("[[old name]] [[old name]]", "[[new]] [[new]]", None),
    ],
)  # fmt: skip
def test_links_of_a_body(desk: Desk, written: str, same_kind: str, other_kind: str | None) -> None:
    for kind, wanted in (("note", same_kind), ("person", other_kind)):
        if wanted is None:
            continue
        desk.put("linker", TEXT % written)
        linked = [edge.target for edge in desk.engine.edges(HERE, "note/linker")]
        moved = move(desk, kind=kind)
        assert desk.written("linker").decode() == TEXT % wanted
        assert moved == (["linker"] if wanted != written else [])
        assert [edge.target for edge in desk.engine.edges(HERE, "note/linker")] == linked
        desk.mv("new", "old name", kind=kind)


def test_links_of_a_front_matter(desk: Desk) -> None:
    text = (
        "---\n# old name\nabout: %s  # why\nmore:\n- '[[%s]]'\n- other\nword: old name\n---\nbody\n"
    )
    desk.put("linker", text % ("old name", "old name"))
    assert move(desk) == ["linker"]
    assert desk.written("linker").decode() == text % ("new", "new")


def test_a_name_that_would_break_the_text_is_left_out(desk: Desk) -> None:
    desk.put("linker", "See [[old name]] and [x](old%20name.md).\n")
    assert move(desk, "a ] b | c") == ["linker"]
    assert desk.written("linker") == b"See [[old name]] and [x](a%20]%20b%20|%20c.md).\n"
    ends = {edge.target for edge in desk.engine.edges(HERE, "note/linker")}
    assert ends == {desk.entry("a ] b | c").id}


def test_without_rewriting_and_without_linkers_nothing_else_changes(desk: Desk) -> None:
    desk.put("linker", "[[old name]]\n")
    desk.mv("old name", "new")
    assert desk.written("linker") == b"[[old name]]\n"
    desk.mv("new", "old name")
    desk.rm("linker")
    assert move(desk) == []


def test_linkers_are_versions_of_their_own_in_one_transaction(desk: Desk) -> None:
    for slug in ("p", "q"):
        desk.put(slug, "[[old name]]\n")
    before = desk.entry("p")
    desk.heard.clear()
    assert move(desk) == ["p", "q"]
    assert sorted(change.event for change in desk.heard) == ["rename", "update", "update"]
    assert desk.entry("p").id == before.id and desk.entry("p").updated_ns > before.updated_ns
    desk.reopen()
    assert desk.written("q") == b"[[new]]\n"


def test_one_that_is_replaced_is_not_rewritten_and_stays_gone(desk: Desk) -> None:
    """It linked to what took its place."""
    replaced = desk.put("new", "[[old name]]\n").entry
    other = desk.put("other", "[[old name]]\n").entry
    assert move(desk) == ["other"]
    assert desk.entry("new").id != replaced.id
    assert desk.engine.by_id(HERE, replaced.id) is None
    assert desk.targets("other") == ["new"]
    assert desk.entry("other").id == other.id
