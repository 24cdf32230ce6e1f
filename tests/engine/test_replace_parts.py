"""A host's parts stay with their engram until they are replaced, and its file does not notice."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.config import DAY_NS, Config
from engine.errors import EmbedderFailed, Invalid, NotFound
from engine.model import NOWHERE, Draft, HostPart, Identity
from engine.namespace import Scope
from engine.put import make_ready, once, still_right
from engine.store.migrate import packaged
from tests.engine.desk import HERE, Desk, with_id
from tests.engine.hash_embedder import HashEmbedder

BODY = "# Pump\n\nabout pumps [[b]]\n"
PAGES = (
    HostPart("Whales sing at night.", ("Page 1",)),
    HostPart("Dolphins answer\nin the morning.", ("Page 2", "Morning")),
)
FILE = ("size", "shown_size", "mtime_ns", "ctime_ns", "inode", "mode", "source_seq", "created_ns")


def given(desk: Desk, slug: str = "a") -> list[tuple[tuple[str, ...], str]]:
    """The host's parts of an engram, as (heading path, text)."""
    parts = desk.engine.children(HERE, desk.entry(slug).id)
    assert [part.position for part in parts] == list(range(len(parts)))
    return [(part.heading_path, part.text) for part in parts if part.origin == "host"]


def found(desk: Desk, question: str) -> list[str]:
    return [hit.entry.slug for hit in desk.engine.search(HERE, question).hits]


ALL = [(part.heading_path, part.text) for part in PAGES]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    desk.put("a", BODY)
    desk.put("b", "# B\n\nkept\n")
    desk.engine.replace_parts(HERE, "note/a", PAGES)
    return desk


def test_they_are_found_with_their_text_and_heading_path(desk: Desk) -> None:
    (hit,) = desk.engine.search(HERE, "dolphins morning").hits
    assert hit.entry.slug == "a"
    (passage,) = hit.evidence
    assert passage.text == "Dolphins answer in the morning."
    assert (passage.heading_path, passage.span) == (("Page 2", "Morning"), NOWHERE)
    assert found(desk, "page 2") == ["a"]
    assert found(desk, '"sing at night"') == ["a"]
    assert given(desk) == ALL
    desk.sound()


def test_the_file_does_not_change_but_the_engram_does(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    before = desk.put("a", BODY).entry
    shown = desk.shown("a")
    desk.heard.clear()
    commit = desk.engine.replace_parts(HERE, before.id, PAGES)
    after = desk.entry("a")
    assert commit.changed and commit.entry == after and commit.identity is Identity.SAME
    assert [getattr(after, name) for name in FILE] == [getattr(before, name) for name in FILE]
    assert desk.shown("a") == shown and desk.written("a") == BODY.encode()
    assert after.updated_ns > before.updated_ns and after.seq > before.seq
    assert [(change.event, change.id) for change in desk.heard] == [("update", before.id)]
    desk.engine.put(HERE, Draft("note", "a", b"edited\n"), expect=before.seq)  # not "changed"


def test_the_same_again_changes_nothing(desk: Desk) -> None:
    before = desk.entry("a")
    again = desk.engine.replace_parts(HERE, "note/a", iter(PAGES))
    assert not again.changed and again.entry == before == desk.entry("a")
    assert not desk.engine.replace_parts(HERE, "note/b", None).changed
    assert desk.engine.replace_parts(HERE, "note/a", PAGES[::-1]).changed


@pytest.mark.parametrize("nothing", [None, ()])
def test_none_removes_them(desk: Desk, nothing: tuple[HostPart, ...] | None) -> None:
    assert desk.engine.replace_parts(HERE, "note/a", nothing).changed
    assert given(desk) == [] and desk.entry("a").host_sha256 == ""
    assert found(desk, "whales") == [] and found(desk, "pumps") == ["a"]
    desk.sound()


def test_a_refusal_leaves_everything_as_it_was(desk: Desk) -> None:
    before = desk.entry("a")
    with pytest.raises(Invalid) as caught:
        desk.engine.replace_parts(
            HERE, "note/a", [HostPart("fine"), HostPart(""), HostPart("\ud800")]
        )
    assert len(caught.value.problems) == 2
    assert desk.entry("a") == before and given(desk) == ALL
    for scope, ref in ((HERE, "note/none"), (Scope((("team", "x"),)), before.id)):
        with pytest.raises(NotFound):
            desk.engine.replace_parts(scope, ref, PAGES)


def test_they_survive_whatever_happens_to_the_file(desk: Desk) -> None:
    ids = [part.id for part in desk.engine.children(HERE, "note/a") if part.origin == "host"]

    def stays(slug: str) -> None:
        parts = desk.engine.children(HERE, desk.entry(slug).id)
        assert [part.id for part in parts if part.origin == "host"] == ids
        assert given(desk, slug) == ALL
        assert found(desk, "dolphins") == [slug]
        desk.sound()

    desk.put("a", "# Other\n\none\n\n## More\n\ntwo\n")
    stays("a")
    desk.put("a", "")
    stays("a")
    desk.mv("a", "c")
    stays("c")
    desk.mv("c", "c", to="deal")
    desk.mv("c", "d", kind="deal")
    stays("d")
    id = desk.entry("d").id
    desk.engine.exchange(HERE, id, desk.entry("b").id)
    stays("b")
    desk.engine.set_attributes(HERE, desk.entry("b"), mode=0o600, mtime_ns=5)
    stays("b")
    desk.rm("b")
    assert found(desk, "dolphins") == []
    desk.engine.revive(HERE, id, slug="e")
    stays("e")
    desk.rm("e")
    desk.put("e", "reclaimed within the grace time\n")
    assert desk.entry("e").id == id
    stays("e")
    desk.rm("e")
    desk.clock.pass_seconds(1_000)
    desk.put("f", with_id(id))
    stays("f")
    desk.reopen()
    stays("f")
    desk.engine.reindex()
    stays("f")
    desk.engine.apply_kinds("kinds: {note: {lang: de}, deal: {}}")
    stays("f")


def test_a_copy_has_none_until_it_succeeds_the_original(desk: Desk) -> None:
    desk.put("copy", desk.shown("a"))
    assert given(desk, "copy") == [] and found(desk, "dolphins") == ["a"]
    id = desk.entry("a").id
    desk.rm("a")
    assert given(desk, "copy") == []
    desk.clock.pass_seconds(1_000)
    desk.engine.settle()
    assert desk.entry("copy").id == id and given(desk, "copy") == ALL
    desk.sound()


def test_an_engram_that_takes_another_in_takes_the_parts_that_came_with_its_bytes(
    desk: Desk,
) -> None:
    desk.put("copy", desk.shown("a"))
    desk.engine.replace_parts(HERE, "note/copy", [HostPart("Seals.")])
    id = desk.entry("a").id
    desk.rm("a")
    desk.clock.pass_seconds(1_000)
    desk.engine.settle()
    assert desk.entry("copy").id == id and given(desk, "copy") == [((), "Seals.")]
    desk.put("temporary", "bytes of an editor\n")
    desk.mv("temporary", "copy")
    assert desk.entry("copy").id == id and given(desk, "copy") == [((), "Seals.")]
    desk.put("temporary", "with parts\n")
    desk.engine.replace_parts(HERE, "note/temporary", PAGES)
    desk.mv("temporary", "copy")
    assert desk.entry("copy").id == id and given(desk, "copy") == ALL
    desk.sound()


def test_history_has_no_version_of_them_and_pruning_leaves_them(tmp_path: Path) -> None:
    config = Config(history_versions=1, history_ns=DAY_NS)
    desk = Desk(tmp_path, config=config)
    desk.put("a", "one\n")
    desk.engine.replace_parts(HERE, "note/a", PAGES)
    desk.engine.replace_parts(HERE, "note/a", PAGES[:1])
    desk.engine.set_attributes(HERE, desk.entry("a"), mode=0o600)
    state = desk.engine._state
    for body in ("two\n", "three\n"):
        desk.clock.pass_seconds(100)
        desk.put("a", body, by="pid:1")
    desk.engine.replace_parts(HERE, "note/a", PAGES)
    desk.engine.set_attributes(HERE, desk.entry("a"), mode=0o644)
    desk.clock.pass_seconds(2 * 86_400)
    desk.engine._upkeep.prune()
    with state.store.cursor() as cursor:
        rows = cursor.execute("SELECT event FROM state ORDER BY seq").fetchall()
    assert [event for (event,) in rows] == ["update", "update", "parts", "attributes"]
    assert given(desk) == ALL and desk.written("a") == b"three\n"
    desk.reopen()
    assert given(desk) == ALL
    desk.sound()


def test_a_save_that_was_prepared_before_does_not_undo_them(desk: Desk) -> None:
    state, new_id = desk.engine._state, once(desk.engine._state.new_id)
    work = make_ready(state, HERE, Draft("note", "a", b"edited\n"), new_id)
    assert still_right(state, HERE, work, new_id)
    desk.engine.set_attributes(HERE, desk.entry("a"), mode=0o600)
    assert still_right(state, HERE, work, new_id)
    desk.engine.replace_parts(HERE, "note/a", PAGES[:1])
    assert not still_right(state, HERE, work, new_id)


def test_saves_and_replacements_at_once_lose_none_of_either(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.put("a", BODY)
    works: list[Callable[[int], object]] = [
        lambda n: desk.put("a", f"# Body {n}\n\n{n}\n\n" + "## More\n\nx\n\n" * (n % 4)),
        lambda n: desk.engine.replace_parts(HERE, "note/a", [HostPart(f"host {n}")] * (1 + n % 3)),
        lambda n: desk.engine.set_attributes(HERE, desk.entry("a"), mode=0o600 + n),
    ]
    with ThreadPoolExecutor(len(works)) as pool:
        for _ in pool.map(lambda work: [work(n) for n in range(15)], works):
            pass  # raises what a thread raised
    assert given(desk) == [((), "host 14")] * 3
    assert desk.written("a").startswith(b"# Body 14\n")
    desk.sound()
    desk.reopen()
    desk.sound()


def test_a_store_of_the_schema_before_takes_them(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.put("a", BODY)
    with desk.engine._state.store.transaction() as cursor:
        cursor.execute(
            "UPDATE version SET state = json_merge_patch(state, '{\"host_sha256\": null}')"
        )
        cursor.execute("UPDATE meta SET value = '1' WHERE key = 'schema'")
    with desk.engine._state.store.transaction() as cursor:
        for later in ("demand", "digest", "digest_text"):
            cursor.execute(f"DROP TABLE {later}")
    with desk.engine._state.store.cursor() as cursor:
        cursor.execute("ALTER TABLE event DROP COLUMN kinds")
        cursor.execute("DROP VIEW state")
        sql = packaged()[0][1]
        cursor.execute(sql[sql.index("CREATE VIEW state") :].split("\n\n")[0])
    desk.reopen()
    assert desk.written("a") == BODY.encode() and given(desk) == []
    desk.engine.replace_parts(HERE, "note/a", PAGES)
    desk.reopen()
    assert given(desk) == ALL
    with desk.engine._state.store.cursor() as cursor:
        hashes = cursor.execute("SELECT host_sha256 FROM state ORDER BY seq").fetchall()
    assert hashes == [("",), (desk.entry("a").host_sha256,)]
    desk.sound()


def test_they_are_embedded_under_the_title_unless_the_kind_has_no_vectors(tmp_path: Path) -> None:
    embedder = HashEmbedder()
    kinds = "kinds: {note: {}, log: {embed: false}}"
    desk = Desk(tmp_path, embed="inline", embedder=embedder, kinds=kinds)
    desk.put("a", BODY)
    desk.put("l", "plain\n", kind="log")
    embedder.texts.clear()
    desk.engine.replace_parts(HERE, "note/a", PAGES)
    assert embedder.texts == [
        "Pump\nPage 1\nWhales sing at night.",
        "Pump\nPage 2 > Morning\nDolphins answer\nin the morning.",
    ]
    desk.engine.replace_parts(HERE, "log/l", PAGES)
    desk.put("a", f"{BODY}\nmore\n")
    assert len(embedder.texts) == 3  # the section that was edited
    ranks = desk.engine.search(HERE, "dolphins answer").hits
    assert {hit.entry.slug: "vector" in hit.channels for hit in ranks} == {"a": True, "l": False}
    desk.sound()


def test_the_queue_embeds_them_behind_the_commit(tmp_path: Path) -> None:
    embedder = HashEmbedder()
    desk = Desk(tmp_path, embed="background", embedder=embedder)
    desk.put("a", BODY)
    desk.engine.replace_parts(HERE, "note/a", PAGES)
    desk.engine.reading.wait_for_vectors(120)
    assert desk.engine.status(HERE).pending_vectors == 0
    assert "Pump\nPage 1\nWhales sing at night." in embedder.texts
    desk.engine.close()


def test_a_model_that_fails_stores_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = HashEmbedder()
    desk = Desk(tmp_path, embed="inline", embedder=embedder)
    before = desk.put("a", BODY).entry

    def fail(texts: object) -> None:
        raise EmbedderFailed("the model is gone", "get another")

    monkeypatch.setattr(embedder, "embed_passages", fail)
    with pytest.raises(EmbedderFailed):
        desk.engine.replace_parts(HERE, "note/a", PAGES)
    assert desk.entry("a") == before and given(desk) == []


def test_a_part_leads_to_its_engram(desk: Desk) -> None:
    for part in desk.engine.children(HERE, "note/a"):
        entry, same = desk.engine.part(HERE, part.id)
        assert (entry.slug, same) == ("a", part)
    with pytest.raises(NotFound):
        desk.engine.part(Scope((("team", "x"),)), part.id)
