from __future__ import annotations

from pathlib import Path

import pytest

from engine import embedding
from engine.model import Entry
from engine.texts_ahead import TextsAhead
from tests.engine.desk import HERE, Desk
from tests.engine.hash_embedder import HashEmbedder

LONG = "".join(f"## Section {number}\n\nabout pump {number}\n\n" for number in range(100))


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The engrams that were prepared again for their texts."""
    slugs: list[str] = []
    again = embedding.prepared_again

    def count(state: object, entry: Entry) -> object:
        slugs.append(entry.slug)
        return again(state, entry)

    monkeypatch.setattr(embedding, "prepared_again", count)
    return slugs


def test_the_oldest_go_when_it_is_too_much() -> None:
    texts = TextsAhead(most=10)
    texts.add([(b"a", "aaaa"), (b"b", "bbbb")])
    texts.add([(b"a", "aaaaa"), (b"c", "c")])
    assert (texts.take(b"b"), texts.take(b"a"), texts.take(b"c")) == ("bbbb", "aaaaa", "c")
    assert texts.take(b"a") is None
    texts.add([(b"a", "aaaa"), (b"b", "bbbb"), (b"c", "ccccc")])
    assert (texts.take(b"a"), texts.take(b"b"), texts.take(b"c")) == (None, "bbbb", "ccccc")
    texts.add([(b"a", "a" * 11)])
    assert texts.take(b"a") is None
    texts.add([(b"a", "a" * 10)])
    assert texts.take(b"a") == "a" * 10


def test_what_a_commit_has_cut_is_not_cut_again(prepared: list[str]) -> None:
    desk = Desk(embed="background", embedder=HashEmbedder())
    desk.put("long", LONG)
    desk.engine.reading.wait_for_vectors(120)
    assert desk.engine.status(HERE).pending_vectors == 0
    assert prepared == []
    desk.sound()
    desk.engine.close()


def test_after_a_restart_an_engram_is_cut_once(tmp_path: Path, prepared: list[str]) -> None:
    embedder = HashEmbedder()
    desk = Desk(tmp_path)
    desk.put("long", LONG)
    desk.put("other", "text\n")
    desk.reopen(embed="background", embedder=embedder)
    desk.engine.reading.wait_for_vectors(120)
    assert desk.engine.status(HERE).pending_vectors == 0
    assert sorted(prepared) == ["long", "other"]
    assert len(embedder.texts) == len(set(embedder.texts)) >= 100
    desk.sound()
    desk.engine.close()


def test_what_was_superseded_is_not_embedded() -> None:
    embedder = HashEmbedder()
    desk = Desk(embed="background", embedder=embedder)
    desk.engine._upkeep.background.stop()
    for text in ("old", "new"):
        desk.put("x", f"the {text} text\n")
    desk.engine._upkeep.background._stopping = False
    while desk.engine._upkeep.background.step():
        pass
    assert any("new" in text for text in embedder.texts)
    assert not any("old" in text for text in embedder.texts)
    desk.sound()
    desk.engine.close()
