"""`check` names what is damaged, `reindex` makes the derived things anew, nothing else suffers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.errors import StoreCorrupt
from engine.model import HostPart
from engine.store.extensions import Cursor
from tests.engine.desk import HERE, Desk
from tests.engine.hash_embedder import HashEmbedder

DOCUMENT = "# Title\n\nabout pumps [[b]]\n\n## More\n\nand valves\n"


def spoil(desk: Desk, statement: str) -> None:
    """Change the store behind the engine's back."""
    with desk.engine._state.store.transaction() as cursor:
        cursor.execute(statement)


def harm(desk: Desk, statement: str) -> None:
    """The same, and open it again."""
    spoil(desk, statement)
    desk.reopen()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    desk.put("a", DOCUMENT)
    desk.put("b", "# B\n\nkept\n")
    return desk


def test_a_sound_store_has_no_findings(desk: Desk) -> None:
    desk.sound()
    desk.mv("b", "c")
    desk.rm("a")
    desk.reopen()
    desk.sound()
    desk.engine.close()


def test_damaged_bytes_are_an_error_of_that_engram_alone(desk: Desk) -> None:
    harm(desk, "UPDATE version SET source = 'nonsense'::BLOB WHERE engram = 0")
    (problem,) = [one for one in desk.engine.check() if one.key == "bytes"]
    assert "note/a" in problem.message and desk.entry("a").id in problem.message
    with pytest.raises(StoreCorrupt):
        desk.shown("a")
    with pytest.raises(StoreCorrupt):
        desk.mv("a", "c")
    assert desk.written("b") == b"# B\n\nkept\n"
    assert desk.slugs() == ["a", "b"]
    assert [hit.entry.slug for hit in desk.engine.search(HERE, "kept").hits] == ["b"]
    assert desk.engine.search(HERE, "pumps").hits == ()  # never shown by bytes that are not its own
    desk.put("a", "written again\n")
    desk.sound()
    desk.engine.close()


def test_a_damaged_engram_can_be_removed(desk: Desk) -> None:
    harm(desk, "UPDATE version SET source = NULL, parts = NULL, terms = NULL WHERE engram = 0")
    assert any(one.key == "bytes" for one in desk.engine.check())
    desk.rm("a")
    assert desk.slugs() == ["b"]
    desk.engine.close()


def test_a_row_that_cannot_be_read_does_not_stop_the_store(desk: Desk) -> None:
    harm(desk, "UPDATE version SET state = '{\"broken' WHERE engram = 0")
    assert desk.slugs() == ["b"]
    assert any("0" in one.message for one in desk.engine.check())
    desk.put("a", "a new one\n")
    desk.reopen()
    assert desk.slugs() == ["a", "b"]
    desk.engine.close()


DERIVED = {
    "parts": "UPDATE version SET parts = replace(parts, 'More', 'Less') WHERE engram = 0",
    "terms": "UPDATE version SET terms = replace(terms, 'pump', 'lamp') WHERE engram = 0",
}


@pytest.mark.parametrize("what", DERIVED)
def test_derived_things_are_made_anew(desk: Desk, what: str) -> None:
    before = desk.entry("a")
    spoil(desk, DERIVED[what])
    assert any(one.key == "parts" for one in desk.engine.check())
    assert desk.engine.check(repair=True) == ()
    desk.sound()
    after = desk.entry("a")
    for name in ("id", "mtime_ns", "ctime_ns", "updated_ns", "source_seq"):
        assert getattr(after, name) == getattr(before, name)
    assert [hit.entry.slug for hit in desk.engine.search(HERE, "pumps").hits] == ["a"]
    desk.reopen()
    desk.sound()
    desk.engine.close()


def test_edges_are_made_anew(desk: Desk) -> None:
    harm(desk, "DELETE FROM edge")
    assert any(one.key == "edges" for one in desk.engine.check())
    desk.engine.reindex()
    assert desk.targets("a") == ["b"]
    harm(desk, "UPDATE edge SET target = 77")
    assert any(one.key == "edges" for one in desk.engine.check())
    desk.engine.reindex()
    assert desk.targets("a") == ["b"]
    desk.sound()
    desk.engine.close()


def test_two_live_engrams_of_one_path_are_found(desk: Desk) -> None:
    harm(
        desk,
        'UPDATE version SET state = replace(state, \'"slug":"b"\', \'"slug":"a"\') '
        "WHERE engram = 1",
    )
    assert any(one.key == "path" for one in desk.engine.check())
    desk.engine.close()


def test_reindex_tells_its_progress_and_embeds_anew(tmp_path: Path) -> None:
    embedder = HashEmbedder()
    desk = Desk(tmp_path, embed="background", embedder=embedder)
    desk.put("a", DOCUMENT)
    desk.engine.reading.wait_for_vectors(120)
    embedder.texts.clear()
    told: list[tuple[int, int]] = []
    desk.engine.reindex(embed=True, progress=lambda done, total: told.append((done, total)))
    desk.engine.reading.wait_for_vectors(120)
    assert told[-1] == (1, 1) and len(embedder.texts) == 3
    desk.sound()
    embedder.texts.clear()
    desk.reopen()
    desk.reopen()
    desk.engine.reading.wait_for_vectors(1)
    assert embedder.texts == []
    desk.engine.close()


def _breaks_postings(cursor: Cursor) -> None:
    cursor.execute("UPDATE posting_a SET tf = tf + 1")
    cursor.execute("UPDATE posting_b SET tf = tf + 1")


def _breaks_vectors(cursor: Cursor) -> None:
    cursor.execute("UPDATE vector SET embedding = embedding || embedding")


@pytest.mark.parametrize("breaks", [_breaks_postings, _breaks_vectors])
def test_index_and_vectors_are_proved(tmp_path: Path, breaks: Callable[[Cursor], None]) -> None:
    desk = Desk(tmp_path, embed="inline", embedder=HashEmbedder())
    desk.put("a", DOCUMENT)
    desk.engine.reindex()
    desk.sound()
    with desk.engine._state.store.transaction() as cursor:
        breaks(cursor)
    assert {one.key for one in desk.engine.check()} & {"index", "vectors"}
    desk.engine.close()


HOST = (HostPart("Whales sing, at night.", ("Page 1",)), HostPart("Dolphins answer.", ("Page 2",)))


def test_terms_of_a_hosts_parts_are_made_anew_from_their_text(desk: Desk) -> None:
    desk.engine.replace_parts(HERE, "note/a", HOST)
    before = desk.entry("a")
    spoil(desk, "UPDATE version SET terms = replace(terms, 'whale', 'lamp') WHERE engram = 0")
    assert [one.key for one in desk.engine.check()] == ["parts", "index"]
    assert desk.engine.check(repair=True) == ()
    after = desk.entry("a")
    for name in ("mtime_ns", "ctime_ns", "updated_ns", "source_seq", "host_sha256"):
        assert getattr(after, name) == getattr(before, name)
    assert [hit.entry.slug for hit in desk.engine.search(HERE, "whales").hits] == ["a"]
    assert desk.engine.children(HERE, "note/a")[-1].text == HOST[1].text


DAMAGE = {
    "a text": "replace(parts, 'sing, at', 'sing; at')",  # the same terms, but not what was given
    "a heading": "replace(parts, 'Page 2', 'Page 3')",
    "an origin": "replace(parts, '\"host\"', '\"cut\"')",
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_to_a_hosts_parts_is_never_taken_for_sound(desk: Desk, what: str) -> None:
    desk.engine.replace_parts(HERE, "note/a", HOST)
    harm(desk, f"UPDATE version SET parts = {DAMAGE[what]} WHERE engram = 0")

    def told() -> bool:
        problems = [one for one in desk.engine.check() if "the host's parts of" in one.message]
        return any("note/a" in one.message and "replace_parts" in one.hint for one in problems)

    assert told()
    desk.engine.check(repair=True)
    assert told()
    desk.put("a", DOCUMENT + "edited\n")  # the file is sound, and can be edited
    assert told()
    assert desk.engine.replace_parts(HERE, "note/a", HOST).changed
    desk.sound()


def test_lost_parts_of_a_host_are_not_dropped_by_a_save(desk: Desk) -> None:
    desk.engine.replace_parts(HERE, "note/a", HOST)
    harm(desk, "UPDATE version SET parts = '[[' WHERE engram = 0")
    assert any("note/a" in one.message for one in desk.engine.check(repair=True))
    with pytest.raises(StoreCorrupt, match="host's parts of note/a"):
        desk.put("a", "edited\n")
    assert desk.written("a") == DOCUMENT.encode()
    desk.engine.replace_parts(HERE, "note/a", HOST)
    desk.put("a", "edited\n")
    desk.sound()
    assert [part.text for part in desk.engine.children(HERE, "note/a")[-2:]] == [
        part.text for part in HOST
    ]
