"""The engine as a whole: kinds, refusals, edges, scopes, restarts, kill -9."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.errors import (
    Conflict,
    Invalid,
    NotFound,
    Problem,
)
from engine.model import Draft
from engine.namespace import Scope
from tests.engine.desk import HERE, Desk
from tests.engine.hash_embedder import HashEmbedder

KINDS = """\
kinds:
  deal:
    fields:
      stage: {type: string, enum: [open, won], required: true}
      owner: {type: string, link: owned_by, to: person}
  person: {}
"""


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    desk.sound()
    desk.engine.close()


# -- kinds ------------------------------------------------------------------------
def test_declared_kinds_judge_documents() -> None:
    desk = Desk(kinds=KINDS)
    with pytest.raises(Invalid) as refusal:
        desk.put("acme", "---\nstage: lost\nhue: red\n---\n", kind="deal")
    assert len(refusal.value.problems) == 2
    with pytest.raises(Invalid):
        desk.put("x", "text\n", kind="nothing")
    desk.put("ann", "# Ann\n", kind="person")
    desk.put("acme", "---\nstage: open\nowner: ann\n---\n", kind="deal")
    (edge,) = desk.edges("acme", "deal")
    assert (edge.relation, edge.target) == ("owned_by", desk.entry("ann", "person").id)
    desk.sound()


def test_a_catalogue_that_live_engrams_do_not_fit_is_refused_whole() -> None:
    desk = Desk(kinds=KINDS)
    for number in range(7):
        desk.put(f"d{number}", "---\nstage: won\n---\n", kind="deal")
    before = desk.engine.catalogue
    with pytest.raises(Invalid) as refusal:
        desk.engine.apply_kinds(KINDS.replace("open, won", "open") + "  task: {}\n")
    assert str(refusal.value).count("deal/d") == 5
    assert desk.engine.catalogue is before
    assert desk.engine.apply_kinds(KINDS) == ()
    assert desk.engine.apply_kinds(KINDS + "  task: {}\n") == ("added the kind task",)


def test_a_rename_to_another_kind_is_judged_by_it_first() -> None:
    desk = Desk(kinds=KINDS)
    person = desk.put("ann", "# Ann\n", kind="person").entry
    with pytest.raises(Invalid):
        desk.engine.rename(HERE, person.id, "deal", "ann")
    assert desk.at("ann", "person") == person and desk.at("ann", "deal") is None
    old = desk.put("acme", "---\nstage: open\n---\n", kind="deal").entry
    desk.engine.apply_kinds(
        KINDS.replace("stage:", "due: {type: datetime, required: true}\n      stage:")
    )
    assert desk.engine.rename(HERE, old.id, "deal", "acme2").entry.id == old.id
    with pytest.raises(Invalid):
        desk.put("acme2", "---\nstage: won\n---\n", kind="deal")
    desk.sound()


def test_changed_kinds_are_indexed_and_linked_anew() -> None:
    desk = Desk(kinds="kinds: {task: {fields: {owner: {type: string}, code: {type: string}}}}")
    desk.put("ann", "# Ann\n", kind="task")
    desk.put("x", "---\nowner: ann\ncode: zebra\n---\n", kind="task")
    assert desk.edges("x", "task") == []
    before = desk.entry("x", "task")
    desk.engine.apply_kinds(
        "kinds: {task: {fields: {owner: {type: string, link: owned_by}, "
        "code: {type: string, skip_index: true}}}}"
    )
    (edge,) = desk.edges("x", "task")
    assert edge.target == desk.entry("ann", "task").id
    assert desk.engine.search(HERE, "zebra").hits == ()
    after = desk.entry("x", "task")
    assert (after.updated_ns, after.ctime_ns) == (before.updated_ns, before.ctime_ns)
    desk.sound()


def test_open_mode_makes_and_removes_kinds(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.engine.make_kind("Ideas")
    inode = desk.engine.directory(HERE, "Ideas")[0]
    desk.reopen()
    assert desk.engine.catalogue.by_directory("Ideas") is not None
    assert desk.engine.directory(HERE, "Ideas")[0] == inode
    desk.put("x", "text\n", kind="Ideas")
    with pytest.raises(Conflict):
        desk.engine.remove_kind("Ideas")
    desk.rm("x", kind="Ideas")
    desk.engine.remove_kind("Ideas")
    assert desk.engine.catalogue.by_directory("Ideas") is None
    with pytest.raises(Invalid):
        desk.engine.make_kind("a/b")
    desk.engine.close()


# -- edges ------------------------------------------------------------------------------
def test_links_dangle_until_their_target_appears(desk: Desk) -> None:
    desk.put("c", "[[later]] [[Some Title]] [[nick]]\n")
    assert desk.targets("c") == ["", "", ""]
    desk.put("later", "x\n")
    desk.put("t", "# Some Title\n")
    desk.put("u", "---\naliases: [nick]\n---\n")
    assert desk.targets("c") == ["later", "t", "u"]
    desk.rm("later")
    assert [edge.target for edge in desk.edges("c")] == [desk.entry("t").id, desk.entry("u").id]
    desk.put("later", "again\n")
    assert desk.targets("c") == ["later", "t", "u"]


def test_an_edge_goes_with_its_link_and_never_leads_home(desk: Desk) -> None:
    desk.put("a", "# A\n")
    desk.put("c", "[[a]] [[c]]\n")
    assert desk.targets("c") == ["a"]
    kept = desk.edges("c")[0]
    desk.put("c", "[[a]] more\n")
    assert desk.edges("c") == [kept]
    desk.put("c", "no link\n")
    assert desk.edges("c") == []


def test_a_link_home_finds_another_that_takes_the_name(desk: Desk) -> None:
    desk.put("a", "[[a]]\n")
    desk.mv("a", "d")
    assert desk.edges("d") == []
    desk.put("a", "another\n")
    assert desk.targets("d") == ["a"]
    desk.rm("a")
    assert desk.edges("d") == []


def test_a_backup_dance_does_not_lead_links_astray(desk: Desk) -> None:
    desk.put("acme", "# deal\n")
    desk.put("c", "[[acme]]\n")
    desk.put("acme", "# person\n", kind="person")
    desk.rm("acme", why="overlay")
    assert desk.edges("c") == []
    desk.put("acme", "# deal, edited\n")
    (edge,) = desk.edges("c")
    assert edge.target == desk.entry("acme").id


def test_edges_beyond_the_scope_do_not_exist(desk: Desk) -> None:
    wide, narrow = Scope((("team", "a"),)), Scope((("team", "a"), ("project", "x")))
    here = desk.engine.put(wide, Draft("note", "a", b"[[b]]\n")).entry
    desk.engine.put(narrow, Draft("note", "b", b"[[a]]\n"))
    assert desk.engine.get(wide, here.id).slug == "a"
    with pytest.raises(NotFound):
        desk.engine.get(narrow, here.id)
    with pytest.raises(NotFound):
        desk.engine.get(HERE, here.id)
    assert [edge.target for edge in desk.engine.edges(wide, here.id)] == [""]


# -- refusals ------------------------------------------------------------------------------
def test_refusals_are_kept_told_once_and_cleared_by_a_change(tmp_path: Path) -> None:
    desk = Desk(tmp_path)

    def refuse(source: bytes | None, message: str = "wrong", event: str = "refused") -> None:
        desk.engine.refuse(
            HERE,
            kind="note",
            slug="x",
            path="note/x.md",
            event=event,
            problems=[Problem(message, 3, "key", "hint")],
            source=source,
        )

    refuse(b"bad 1")
    refuse(b"bad 1")
    assert len(desk.engine.notices(HERE)) == 1
    refuse(b"bad 2")
    refuse(b"bad 1")
    desk.reopen()
    assert [notice.problems[0] for notice in desk.engine.notices(HERE)] == [
        Problem("wrong", 3, "key", "hint")
    ] * 3
    rejected = desk.engine.rejected(HERE)
    assert [(one.name, one.rank, desk.engine.rejected_source(one)) for one in rejected] == [
        ("x", 0, b"bad 1"),
        ("x", 1, b"bad 2"),
    ]
    for number in range(12):
        refuse(b"many %d" % number)
    assert len(desk.engine.rejected(HERE)) == 10
    desk.engine.discard_rejected(HERE, "note", "x", 0)
    assert desk.engine.rejected_source(desk.engine.rejected(HERE)[0]) == b"many 10"
    assert desk.engine.notices(Scope((("team", "b"),), exact=True)) == []
    desk.put("x", "good\n")
    assert desk.engine.notices(HERE) == [] and desk.engine.rejected(HERE) == ()
    refuse(None, event="conflict")
    desk.rm("x")
    desk.reopen()
    assert desk.engine.notices(HERE) == []
    refuse(b"late", event="late-write")
    desk.clock.pass_seconds(7 * 86_400 + 1)
    assert desk.engine.notices(HERE) == [] and len(desk.engine.rejected(HERE)) == 1
    with pytest.raises(NotFound):
        desk.engine.rejected_source(rejected[0])
    desk.engine.close()


def test_a_status_counts_nothing_outside_its_scope() -> None:
    engine = Engine.open(":memory:", embedder=HashEmbedder(), embed="inline")
    red, blue = (Scope((("team", team),), exact=True) for team in ("red", "blue"))
    engine.put(red, Draft("note", "a", b"one text\n"))
    before = engine.status(red)
    engine.put(blue, Draft("note", "b", b"another text\n"))
    assert engine.status(red) == before
    assert engine.status(Scope()).engrams == 2
    engine.close()
