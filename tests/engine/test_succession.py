"""Delete, revive, succession, empty entries, many drafts, inline embedding, writers at once."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from engine.errors import Conflict, EmbedderFailed, Invalid, NotFound
from engine.model import Draft, Identity
from tests.engine.desk import HERE, Desk, id_shown, with_id
from tests.engine.hash_embedder import HashEmbedder

UNKNOWN = "0190a0b0-0000-7000-8000-000000000001"
GRACE = 300


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    desk.sound()
    desk.engine.close()


# -- delete and revive -------------------------------------------------------------------
def test_a_deleted_id_is_revived_where_it_is_written(desk: Desk) -> None:
    first = desk.put("a", "A\n").entry
    desk.put("linker", f"[a](../note/a.md) {first.id}\n")
    desk.rm("a")
    desk.clock.pass_seconds(GRACE + 1)
    inode = desk.engine.new_inode()
    commit = desk.put("b", with_id(first.id), inode=inode)
    assert commit.identity is Identity.REVIVED and commit.entry.inode == inode
    assert commit.entry.created_ns == first.created_ns
    assert desk.targets("linker") == ["b"]


def test_revived_over_a_live_engram_that_one_goes(desk: Desk) -> None:
    first = desk.put("a", "A\n").entry
    desk.rm("a")
    other = desk.put("b", "B\n").entry
    commit = desk.put("b", with_id(first.id))
    assert commit.entry.id == first.id and commit.entry.inode == other.inode
    assert [gone.id for gone in commit.removed] == [other.id]
    assert desk.engine.by_id(HERE, other.id) is None


def test_revive_by_id(desk: Desk) -> None:
    first = desk.put("a", "A\n").entry
    desk.rm("a")
    desk.put("a", with_id(UNKNOWN))
    with pytest.raises(Conflict):
        desk.engine.revive(HERE, first.id)
    commit = desk.engine.revive(HERE, first.id, slug="back")
    assert commit.entry.id == first.id and desk.written("back") == b"A\n"
    with pytest.raises(Conflict):
        desk.engine.revive(HERE, first.id)
    with pytest.raises(NotFound):
        desk.engine.revive(HERE, UNKNOWN.replace("1", "3"))


# -- succession ----------------------------------------------------------------------------
def test_the_process_that_copied_and_unlinks_has_moved_it(desk: Desk) -> None:
    first = desk.put("a", "A\n").entry
    desk.put("linker", "[[a]]\n")
    copy = desk.put("b", desk.shown("a"), by="pid:7").entry
    desk.rm("a", by="pid:7")
    moved = desk.entry("b")
    assert (moved.id, moved.created_ns, moved.inode) == (first.id, first.created_ns, copy.inode)
    assert moved.updated_ns == first.updated_ns
    assert id_shown(desk.shown("b")) == first.id and desk.targets("linker") == ["b"]
    assert desk.put("b", with_id(copy.id, "edited\n")).entry.id == first.id
    assert desk.engine.get(HERE, copy.id).id == first.id


def test_another_process_moves_it_when_the_grace_time_ends(desk: Desk) -> None:
    first = desk.put("a", "A\n").entry
    desk.put("linker", "[[a]]\n")
    copy = desk.put("b", desk.shown("a"), by="pid:7").entry
    desk.rm("a", by="pid:8")
    assert desk.entry("b").id == copy.id
    assert desk.engine.get(HERE, first.id).id == copy.id
    assert desk.targets("linker") == ["b"]
    desk.engine.settle()
    assert desk.entry("b").id == copy.id
    desk.clock.pass_seconds(GRACE + 1)
    desk.engine.settle()
    assert desk.entry("b").id == first.id and desk.targets("linker") == ["b"]


def test_links_written_meanwhile_mean_the_original(desk: Desk) -> None:
    first = desk.put("a", "A\n").entry
    copy = desk.put("b", desk.shown("a")).entry
    desk.rm("a")
    desk.put("linker", "[[a]]\n")
    assert desk.targets("linker") == ["b"]
    desk.rm("b", why="overlay")
    desk.put("other", f"[[{first.id}]]\n")
    assert desk.edges("linker") == [] and desk.targets("other") == [""]
    assert desk.put("b", "[[a]]\n").entry.id == copy.id
    assert desk.targets("linker") == ["b"] and desk.targets("other") == ["b"]
    assert desk.edges("b") == []
    desk.put("a", "A again\n")
    assert desk.targets("linker") == ["a"] and desk.targets("b") == ["a"]


def test_the_copy_moved_to_the_lost_path_is_the_original(desk: Desk) -> None:
    first = desk.put("a", "A\n").entry
    copy = desk.put("b", desk.shown("a")).entry
    desk.rm("a")
    moved = desk.mv("b", "a").entry
    assert (moved.id, moved.inode, moved.created_ns) == (first.id, copy.inode, first.created_ns)
    assert desk.slugs() == ["a"] and id_shown(desk.shown("a")) == first.id


def test_a_succession_survives_a_restart(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    first = desk.put("a", "A\n").entry
    copy = desk.put("b", desk.shown("a")).entry
    desk.rm("a")
    desk.reopen()
    desk.clock.pass_seconds(GRACE + 1)
    desk.engine.settle()
    assert desk.entry("b").id == first.id
    desk.reopen()
    assert desk.engine.get(HERE, copy.id).id == first.id
    desk.sound()
    desk.engine.close()


def test_created_again_there_is_no_succession(desk: Desk) -> None:
    first = desk.put("a", "A\n").entry
    copy = desk.put("b", desk.shown("a")).entry
    desk.rm("a")
    assert desk.put("a", "A again\n").entry.id == first.id
    desk.clock.pass_seconds(GRACE + 1)
    desk.engine.settle()
    assert (desk.entry("a").id, desk.entry("b").id) == (first.id, copy.id)


def test_taken_by_another_engram_the_lost_path_waits_no_longer(desk: Desk) -> None:
    first = desk.put("a", "A\n").entry
    desk.put("b", desk.shown("a"))
    desk.rm("a")
    assert desk.put("a", with_id(UNKNOWN)).entry.id == UNKNOWN
    assert desk.entry("b").id == first.id


@pytest.mark.parametrize("case", ["two copies", "overlay", "an old copy", "no copy left"])
def test_no_succession(desk: Desk, case: str) -> None:
    first = desk.put("a", "A\n").entry
    copy = desk.put("b", desk.shown("a"), by="pid:7").entry
    if case == "two copies":
        desk.put("c", desk.shown("a"))
    if case == "an old copy":
        desk.clock.pass_seconds(GRACE + 1)
    if case == "no copy left":
        desk.rm("b")
    desk.rm("a", why="overlay" if case == "overlay" else "unlink", by="pid:7")
    desk.clock.pass_seconds(GRACE + 1)
    desk.engine.settle()
    assert desk.engine.by_id(HERE, first.id) is None
    if case != "no copy left":
        assert desk.entry("b").id == copy.id


# -- the rest ----------------------------------------------------------------------------------
def test_a_blank_passes_its_inode_on(desk: Desk) -> None:
    blank = desk.engine.keep_blank(HERE, "note", "new", "New", 77, 0o600, 5)
    assert desk.at("new") == blank and blank.empty and desk.engine.source(blank) == b""
    touched = desk.engine.set_attributes(HERE, blank, mtime_ns=6)
    assert touched.mtime_ns == 6
    entry = desk.put("new", "text\n", inode=99).entry
    assert (entry.inode, entry.mode, entry.name) == (77, 0o600, "New")
    with pytest.raises(Conflict):
        desk.engine.keep_blank(HERE, "note", "new", "New", 78, 0o600, 5)
    desk.engine.keep_blank(HERE, "note", "gone", "gone", 79, 0o600, 5)
    desk.engine.drop_blank(HERE, "note", "gone")
    assert desk.at("gone") is None


def test_put_many_reports_each_draft(desk: Desk) -> None:
    drafts = [
        Draft("note", "a", b"[[c]]\n"),
        Draft("note", "bad", b"---\nid: nonsense\n---\n"),
        Draft("note", "c", b"C\n"),
        Draft("note", "a", b"[[c]] twice\n"),
        Draft("note", "d", with_id(UNKNOWN).encode()),
        Draft("note", "e", with_id(UNKNOWN).encode()),
    ]
    results = desk.engine.put_many(HERE, drafts)
    assert isinstance(results[1], Invalid)
    assert desk.slugs() == ["a", "c", "d", "e"] and desk.targets("a") == ["c"]
    assert desk.written("a") == b"[[c]] twice\n"
    assert desk.entry("d").id == UNKNOWN and desk.entry("e").id != UNKNOWN


def test_inline_embedding_fails_the_put_with_nothing_stored() -> None:
    class Broken(HashEmbedder):
        broken = True

        def embed_passages(self, texts):  # type: ignore[no-untyped-def]
            if self.broken:
                raise EmbedderFailed("the model is gone")
            return super().embed_passages(texts)

    embedder = Broken()
    desk = Desk(embed="inline", embedder=embedder)
    with pytest.raises(EmbedderFailed):
        desk.put("x", "text\n")
    assert desk.at("x") is None
    embedder.broken = False
    desk.put("x", "text\n")
    assert desk.engine.status(HERE).pending_vectors == 0
    embedder.texts.clear()
    desk.put("y", "text\n")
    assert "text" not in embedder.texts
    desk.sound()
    desk.engine.close()


def test_writers_at_once_leave_one_engram_a_path(desk: Desk) -> None:
    def write(number: int) -> None:
        for step in range(8):
            slug = f"s{step % 3}"
            desk.put(slug, f"text {number} {step} [[s{(step + 1) % 3}]]\n")
            entry = desk.at(slug)
            if step % 4 == 3 and entry is not None:
                with suppress(NotFound):  # somebody else was quicker
                    desk.engine.delete(HERE, entry.id)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))


def test_a_rename_embeds_first_too_where_embedding_is_inline() -> None:
    embedder = HashEmbedder()
    desk = Desk(embed="inline", embedder=embedder)
    desk.put("x", "text\n")
    desk.mv("x", "y")
    assert desk.engine.status(HERE).pending_vectors == 0
    assert "y\ntext" in embedder.texts
    desk.rm("y")
    desk.clock.pass_seconds(GRACE + 1)
    desk.engine.revive(HERE, desk.heard[0].id, slug="z")
    assert desk.engine.status(HERE).pending_vectors == 0
    desk.sound()
    desk.engine.close()


def test_a_damaged_copy_holds_up_nobody(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.put("a", "A\n")
    copy = desk.put("b", desk.shown("a")).entry
    desk.rm("a")
    with desk.engine._state.store.transaction() as cursor:
        cursor.execute(f"UPDATE version SET source = 'x'::BLOB WHERE seq = {copy.seq}")
    desk.reopen()
    desk.clock.pass_seconds(GRACE + 1)
    desk.put("c", "C\n")
    assert desk.entry("b").id == copy.id
    desk.engine.close()


def test_many_drafts_are_found_at_once(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    drafts = [
        Draft("note", f"n{at}", f"# N {at}\n\npumps [[n{at - 1}]]\n".encode()) for at in range(600)
    ]
    assert len(desk.engine.put_many(HERE, drafts)) == 600
    assert desk.engine.search(HERE, "pumps").total == 600
    assert desk.targets("n7") == ["n6"]
    desk.put("n7", "# N 7\n\nvalves\n")
    assert desk.engine.search(HERE, "pumps").total == 599
    assert desk.engine.search(HERE, "valves").total == 1
    desk.sound()
    desk.reopen()
    desk.sound()
    assert desk.engine.search(HERE, "pumps").total == 599
    desk.engine.close()
