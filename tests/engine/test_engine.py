"""The engine as a whole: kinds, refusals, edges, scopes, restarts, kill -9."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from engine.config import SECOND_NS, Config
from engine.embed import Floats
from engine.engine import Engine
from engine.errors import (
    Conflict,
    EmbedderFailed,
    Invalid,
    NotFound,
    Problem,
    StoreHeld,
    Unsupported,
)
from engine.model import Draft
from engine.namespace import Scope
from tests.engine.desk import HERE, Desk, with_id
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


# -- restarts ------------------------------------------------------------------------------
def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.put("a", "# A\n\npumps\n", mode=0o600)
    desk.put("c", "[[a]] [[nowhere]]\n")
    desk.put("gone", "x\n")
    desk.rm("gone")
    desk.mv("a", "b")
    desk.engine.keep_blank(HERE, "note", "new", "New", desk.engine.new_inode(), 0o644, 5)
    before = sorted(desk.engine.entries(HERE), key=lambda entry: entry.slug)
    directory = desk.engine.directory(HERE, "note")
    edges, inode = desk.edges("c"), desk.engine.new_inode()
    desk.reopen()
    assert sorted(desk.engine.entries(HERE), key=lambda entry: entry.slug) == before
    assert desk.engine.directory(HERE, "note") == directory
    assert desk.edges("c") == edges
    assert desk.engine.new_inode() > inode
    assert [hit.entry.slug for hit in desk.engine.search(HERE, "pumps").hits] == ["b"]
    desk.put("d", "[[a]]\n")
    assert desk.targets("d") == ["b"]
    desk.sound()
    desk.engine.close()


def test_a_directory_moves_its_time_with_its_entries_only(desk: Desk) -> None:
    desk.put("a", "x\n")
    first = desk.engine.directory(HERE, "note")
    desk.put("a", "y\n")
    desk.engine.set_attributes(HERE, desk.entry("a"), mtime_ns=3)
    assert desk.engine.directory(HERE, "note") == first
    for step in (lambda: desk.put("b", "x\n"), lambda: desk.mv("b", "c"), lambda: desk.rm("c")):
        before = desk.engine.directory(HERE, "note")[2]
        step()
        assert desk.engine.directory(HERE, "note")[2] > before
    assert desk.engine.set_directory(HERE, "note", mode=0o700, mtime_ns=9)[1:] == (0o700, 9)


def test_only_one_process_holds_a_store(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    with pytest.raises(StoreHeld):
        Engine.open(tmp_path, embed="off")
    desk.engine.close()


def test_another_model_is_refused_and_nothing_mixed(tmp_path: Path) -> None:
    desk = Desk(tmp_path, embed="inline", embedder=HashEmbedder())
    desk.put("x", "text\n")
    desk.engine.close()
    with pytest.raises(Unsupported, match="reindex --embed"):
        Desk(tmp_path, embed="inline", embedder=HashEmbedder(16, "other"))
    desk = Desk(tmp_path, embed="background", embedder=HashEmbedder(16, "other"), re_embed=True)
    desk.engine.reading.wait_for_vectors(10)
    assert desk.engine.status(HERE).pending_vectors == 0
    desk.sound()
    desk.engine.close()


def test_the_background_embeds_what_is_missing() -> None:
    embedder = HashEmbedder()
    desk = Desk(embed="background", embedder=embedder)
    desk.put("x", "# Title\n\nabout pumps\n")
    desk.engine.reading.wait_for_vectors(10)
    assert desk.engine.status(HERE).pending_vectors == 0
    assert any("about pumps" in text for text in embedder.texts)
    desk.mv("x", "y")
    desk.engine.reading.wait_for_vectors(10)
    texts = embedder.texts
    assert len([text for text in texts if "about pumps" in text]) == 1
    desk.sound()
    desk.engine.close()


def test_a_failing_listener_stops_neither_commits_nor_others(desk: Desk) -> None:
    def fail(change: object) -> None:
        raise RuntimeError("listener")

    end = desk.engine.subscribe(fail)
    desk.put("x", "text\n")
    end()
    end()
    assert [change.event for change in desk.heard] == ["create"]


def test_opening_ten_thousand_engrams_is_quick(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    drafts = [
        Draft("note", f"n{at}", b"# Note %d\n\nsome text here\n" % at) for at in range(10_000)
    ]
    desk.engine.put_many(HERE, drafts)
    started = time.perf_counter()
    desk.reopen()
    took = time.perf_counter() - started
    assert len(desk.engine.entries(HERE)) == 10_000
    assert took < 15, "a bound that only a mistake in the order of growth breaks"
    desk.engine.close()


_WRITER = """
import sys
from engine.engine import Engine
from engine.model import Draft
from engine.namespace import Scope

scope = Scope((), exact=True)
engine = Engine.open(sys.argv[1], embed="off")
for number in range(100_000):
    commit = engine.put(scope, Draft("note", f"n{number % 20}", b"text %d\\n" % number, by="w"))
    print(number, commit.entry.id, flush=True)
"""


def test_a_kill_loses_no_acknowledged_write_and_leaves_no_half(tmp_path: Path) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    lines = [writer.stdout.readline() for _ in range(60)]
    os.kill(writer.pid, signal.SIGKILL)
    lines += writer.stdout.readlines()
    writer.wait()
    acknowledged = [line.split() for line in lines if line.endswith("\n")]
    desk = Desk(tmp_path)
    last = {int(number) % 20: (int(number), id) for number, id in acknowledged}
    for slot, (number, id) in last.items():
        entry = desk.entry(f"n{slot}")
        assert entry.id == id
        written = int(desk.written(f"n{slot}").split()[1])
        assert written in (number, number + 20)
    desk.sound()
    desk.engine.close()


def test_notices_of_the_store_outlive_their_numbers(desk: Desk) -> None:
    for number in range(1_005):
        desk.engine.refuse(
            HERE,
            kind="note",
            slug=f"x{number}",
            path=f"note/x{number}.md",
            event="refused",
            problems=[Problem("wrong")],
            source=None,
        )
    notices = desk.engine.notices(HERE)
    assert len(notices) == 1_000 and notices[0].slug == "x1004"
    assert notices[0].at_ns > notices[-1].at_ns >= desk.clock.now - 3600 * SECOND_NS


def test_the_store_tells_questions_without_a_hit(desk: Desk) -> None:
    desk.put("x", with_id("0190a0b0-0000-7000-8000-000000000001"))
    assert desk.engine.search(HERE, "zebra").hits == ()
    status = desk.engine.status(HERE)
    assert status.misses == ("zebra",) and status.engrams == 1 and status.kinds == {"note": 1}


class _Absent(HashEmbedder):
    """A model whose files are missing until they are put there."""

    there = False

    @property
    def fingerprint(self) -> str:
        if not self.there:
            raise EmbedderFailed("the model is not there")
        return "absent"

    @fingerprint.setter
    def fingerprint(self, value: str) -> None:
        """Made by the class; ours is fixed."""

    def embed_passages(self, texts: Sequence[str]) -> Floats:
        if not self.there:
            raise EmbedderFailed("the model is not there")
        return super().embed_passages(texts)


def test_without_its_model_a_store_opens_and_says_so(tmp_path: Path) -> None:
    model = _Absent()
    desk = Desk(
        tmp_path, embed="background", embedder=model, config=Config(embed_retry_seconds=0.05)
    )
    desk.put("x", "about pumps\n")
    deadline = time.monotonic() + 10
    while not desk.engine.status(HERE).problems and time.monotonic() < deadline:
        time.sleep(0.01)
    assert "the model is not there" in desk.engine.status(HERE).problems[0]
    assert desk.engine.status(HERE).pending_vectors == 2
    model.there = True
    desk.engine.reading.wait_for_vectors(10)
    status = desk.engine.status(HERE)
    assert (status.pending_vectors, status.model, status.problems) == (0, "absent", ())
    desk.engine.close()
    with pytest.raises(EmbedderFailed):
        Desk(tmp_path, embed="inline", embedder=_Absent())
