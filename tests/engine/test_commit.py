"""Commits through the engine: bytes, identity, inodes, times, renames, successions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.errors import Conflict, Invalid
from engine.model import Draft, Identity
from engine.namespace import Scope
from tests.engine.desk import HERE, Desk, id_shown, with_id

UNKNOWN = "0190a0b0-0000-7000-8000-000000000001"
GRACE = 300


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    desk.sound()
    desk.engine.close()


# -- bytes ---------------------------------------------------------------------
@pytest.mark.parametrize(
    "source",
    [
        b"",
        b"# Title\n\ntext\n",
        b"no final line end",
        b"---\nzeta: 1\nalpha: 2 # why\n---\nbody\n",
        b"---\r\ntitle: x\r\n---\r\nbody\r\n",
        b"\xef\xbb\xbf---\ntitle: x\n---\nbody\n",
        b"---\n---\n---\nsecond\n---\n",
    ],
)
def test_bytes_are_kept_and_shown_with_one_id_line(desk: Desk, source: bytes) -> None:
    entry = desk.put("x", source).entry
    assert desk.written("x") == source
    assert (entry.size, entry.shown_size) == (len(source), len(desk.shown("x")))
    if source:
        assert id_shown(desk.shown("x")) == entry.id
        newline = b"\r\n" if b"\r\n" in source else b"\n"
        id_line = b"id: " + entry.id.encode() + newline
        shown = desk.shown("x").replace(id_line, b"", 1)
        assert source in (shown, shown.replace(b"---\n---\n", b"", 1))
    else:
        assert desk.shown("x") == b""


def test_the_same_bytes_again_are_no_new_version(desk: Desk) -> None:
    first = desk.put("x", "text\n").entry
    for again in (desk.written("x"), desk.shown("x")):
        commit = desk.put("x", again)
        assert not commit.changed and commit.replaced is None
        assert commit.entry.updated_ns == first.updated_ns
        assert commit.entry.source_seq == first.source_seq
        assert commit.entry.mtime_ns > first.mtime_ns
        assert commit.entry.ctime_ns > first.ctime_ns
    assert desk.written("x") == b"text\n"
    assert [change.event for change in desk.heard] == ["create"]


def test_times_given_by_the_writer(desk: Desk) -> None:
    entry = desk.put("x", "a\n", mtime_ns=5, mode=0o600).entry
    assert (entry.mtime_ns, entry.mode) == (5, 0o600)
    later = desk.put("x", "b\n").entry
    assert later.mtime_ns > 5 and later.mode == 0o600
    assert (later.created_ns, later.inode) == (entry.created_ns, entry.inode)
    touched = desk.engine.set_attributes(HERE, later, mtime_ns=7)
    assert (touched.mtime_ns, touched.updated_ns) == (7, later.updated_ns)
    assert touched.ctime_ns > later.ctime_ns


def test_a_refused_document_changes_nothing(desk: Desk) -> None:
    before = desk.put("x", "text\n").entry
    with pytest.raises(Invalid):
        desk.put("x", "---\nid: nonsense\n---\n")
    with pytest.raises(Invalid):
        desk.put("bad/name", "text\n")
    assert desk.at("x") == before and desk.slugs() == ["x"]


def test_expect_tells_of_a_younger_version(desk: Desk) -> None:
    first = desk.put("x", "one\n").entry
    assert desk.engine.put(HERE, Draft("note", "x", b"two\n"), expect=first.seq).changed
    with pytest.raises(Conflict):
        desk.engine.put(HERE, Draft("note", "x", b"three\n"), expect=first.seq)
    with pytest.raises(Conflict):
        desk.engine.put(HERE, Draft("note", "x", b"three\n"), expect=0)
    now = desk.engine.set_attributes(HERE, desk.entry("x"), mode=0o600)
    assert desk.engine.put(HERE, Draft("note", "x", b"three\n"), expect=now.source_seq).changed
    assert desk.engine.put(HERE, Draft("note", "y", b"new\n"), expect=0).changed


def test_an_engram_made_by_the_api_is_rendered(desk: Desk) -> None:
    commit = desk.engine.put(
        HERE,
        Draft("note", "x", None, title="T", summary="S", properties={"b": 1, "a": "no"}, body="B"),
    )
    assert desk.shown("x") == (
        f"---\nid: {commit.entry.id}\ndomain: note\nslug: x\ntitle: T\nsummary: S\n".encode()
        + b'a: "no"\nb: 1\n---\n\nB\n'
    )
    again = desk.engine.put(
        HERE,
        Draft("note", "x", None, title="T", summary="S", properties={"a": "no", "b": 1}, body="B"),
    )
    assert not again.changed


# -- copies ------------------------------------------------------------------------
def test_a_copy_gets_an_id_of_its_own_in_its_line(desk: Desk) -> None:
    original = desk.put("a", "text\n").entry
    commit = desk.put("b", desk.shown("a"))
    assert commit.identity is Identity.COPY and commit.entry.id != original.id
    assert desk.written("b") == desk.shown("a").replace(
        original.id.encode(), commit.entry.id.encode()
    )
    for body in ("more\n", "even more\n"):
        assert desk.put("b", with_id(original.id, body)).entry.id == commit.entry.id
        assert id_shown(desk.shown("b")) == commit.entry.id
    assert desk.entry("a").id == original.id
    assert not desk.put("b", with_id(original.id, "even more\n")).changed


def test_an_unknown_id_is_taken_only_at_a_free_place(desk: Desk) -> None:
    assert desk.put("x", with_id(UNKNOWN)).entry.id == UNKNOWN
    desk.put("y", "text\n")
    with pytest.raises(Invalid, match="rm it first"):
        desk.put("y", with_id(UNKNOWN.replace("1", "2")))


def test_ids_of_another_namespace_count_as_none(desk: Desk) -> None:
    other = Scope((("team", "b"),), exact=True)
    theirs = desk.engine.put(other, Draft("note", "x", b"text\n")).entry
    own = desk.put("x", with_id(theirs.id))
    assert own.identity is Identity.NEW and own.entry.id != theirs.id
    assert id_shown(desk.shown("x")) == own.entry.id
    desk.engine.delete(other, theirs.id)
    assert desk.put("z", with_id(theirs.id)).identity is Identity.NEW
    assert desk.engine.by_id(HERE, theirs.id) is None


# -- the grace time ------------------------------------------------------------------
@pytest.mark.parametrize("why", ["unlink", "overlay"])
def test_created_anew_within_the_grace_time_it_is_the_same_engram(desk: Desk, why: str) -> None:
    first = desk.put("x", "one\n").entry
    desk.put("linker", "[[x]]\n")
    desk.rm("x", why=why)
    assert desk.at("x") is None and desk.edges("linker") == []
    lost = desk.engine.lost(HERE, "note", "x")
    assert lost is not None and desk.engine.source(lost, False) == b"one\n"
    desk.clock.pass_seconds(GRACE - 10)
    commit = desk.put("x", "two\n", inode=desk.engine.new_inode())
    assert commit.identity is Identity.RECLAIMED
    assert (commit.entry.id, commit.entry.created_ns) == (first.id, first.created_ns)
    assert commit.entry.inode != first.inode
    assert desk.targets("linker") == ["x"]
    assert desk.engine.lost(HERE, "note", "x") is None


def test_after_the_grace_time_it_is_another_engram(desk: Desk) -> None:
    first = desk.put("x", "one\n").entry
    desk.put("linker", "[[x]]\n")
    desk.rm("x")
    desk.clock.pass_seconds(GRACE + 1)
    assert desk.engine.lost(HERE, "note", "x") is None
    commit = desk.put("x", "two\n")
    assert commit.identity is Identity.NEW and commit.entry.id != first.id
    assert desk.targets("linker") == ["x"]


def test_the_same_bytes_put_back_keep_refusals_and_updated(desk: Desk) -> None:
    first = desk.put("x", "one\n").entry
    desk.rm("x", why="overlay")
    desk.engine.refuse(
        HERE, kind="note", slug="x", path="note/x.md", event="refused", problems=[], source=b"bad"
    )
    commit = desk.put("x", "one\n", renamed_onto=True)
    assert commit.entry.id == first.id and commit.entry.updated_ns == first.updated_ns
    assert len(desk.engine.notices(HERE)) == 1 and len(desk.engine.rejected(HERE)) == 1
    desk.put("x", "two\n")
    assert desk.engine.notices(HERE) == [] and desk.engine.rejected(HERE) == ()


def test_the_grace_time_survives_a_restart(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    first = desk.put("x", "one\n").entry
    desk.rm("x", why="overlay")
    desk.reopen()
    with pytest.raises(Invalid):
        desk.put("x", with_id(UNKNOWN))
    assert desk.put("x", "two\n").entry.id == first.id
    desk.sound()
    desk.engine.close()


# -- rename ----------------------------------------------------------------------------
def test_a_rename_keeps_everything_but_the_place(desk: Desk) -> None:
    first = desk.put("a", "---\nslug: a # here\nkind: note\n---\n# T\n").entry
    desk.put("c", "[t](a.md)\n")
    commit = desk.mv("a", "b", to="task")
    after = commit.entry
    for name in ("id", "no", "inode", "created_ns", "updated_ns", "mtime_ns", "mode"):
        assert getattr(after, name) == getattr(first, name)
    assert after.ctime_ns > first.ctime_ns
    assert desk.written("b", "task") == b"---\nslug: b # here\nkind: task\n---\n# T\n"
    assert desk.at("a") is None and desk.targets("c") == ["b"]
    assert desk.heard[-1].former == ("note", "a")


def test_an_edge_stays_while_its_text_names_the_old_place(desk: Desk) -> None:
    desk.put("a", "# A\n")
    desk.put("c", "[[a]]\n")
    desk.mv("a", "b")
    desk.put("a", "# another\n")
    desk.put("c", "[[a]] again\n")
    assert desk.targets("c") == ["b"]
    desk.put("d", "[[a]]\n")
    assert desk.targets("d") == ["a"]


def test_a_former_place_is_an_alias_until_it_is_taken(desk: Desk) -> None:
    desk.put("a", "# A\n")
    desk.mv("a", "b")
    desk.put("c", "[[a]]\n")
    assert desk.targets("c") == ["b"]


def test_a_temporary_renamed_over_an_engram_gives_only_its_bytes(desk: Desk) -> None:
    first = desk.put("x", "one\n").entry
    desk.put("linker", "[[x]]\n")
    desk.clock.pass_seconds(GRACE + 1)
    temporary = desk.put("tmpab12", "two\n", mtime_ns=9).entry
    commit = desk.mv("tmpab12", "x")
    assert commit.entry.id == first.id and commit.entry.inode == first.inode
    assert commit.entry.created_ns == first.created_ns and commit.entry.mtime_ns == 9
    assert commit.replaced == first.seq and commit.removed[0].id == temporary.id
    assert desk.written("x") == b"two\n" and desk.slugs() == ["linker", "x"]
    assert desk.targets("linker") == ["x"]
    still = with_id(temporary.id, "written through a handle that saw the temporary's line\n")
    assert desk.put("x", still).entry.id == first.id


def test_a_linked_or_old_engram_wins_over_the_one_at_the_target(desk: Desk) -> None:
    for arriving, link, wait in (("a", True, 0), ("b", False, GRACE + 1)):
        desk.put("x", "old\n")
        moved = desk.put(arriving, f"new {arriving}\n").entry
        if link:
            desk.put("linker", f"[[{arriving}]]\n")
        target = desk.entry("x")
        desk.clock.pass_seconds(wait)
        commit = desk.mv(arriving, "x")
        assert commit.entry.id == moved.id and commit.entry.inode == moved.inode
        assert [gone.id for gone in commit.removed] == [target.id]
        assert desk.engine.by_id(HERE, target.id) is None


def test_another_spelling_of_the_name_is_a_rename(desk: Desk) -> None:
    entry = desk.put("café", "x\n", name="café").entry
    commit = desk.engine.rename(HERE, entry.id, "note", "cafe\u0301", name="cafe\u0301")
    assert commit.entry.name == "cafe\u0301" and commit.entry.slug == "café"
    assert desk.slugs() == ["café"]


def test_exchange_swaps_places_and_nothing_else(desk: Desk) -> None:
    a, b = desk.put("a", "A\n").entry, desk.put("b", "B\n").entry
    desk.engine.exchange(HERE, a.id, b.id)
    assert (desk.entry("a").id, desk.entry("b").id) == (b.id, a.id)
    assert (desk.entry("a").inode, desk.entry("b").inode) == (b.inode, a.inode)
    assert desk.written("a") == b"B\n"
