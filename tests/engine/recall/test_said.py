"""What an answer says of itself: who did not run, and which questions were in vain."""

from __future__ import annotations

from typing import Any

import pytest

from engine.errors import GraphFailed, StrictRecallFailed
from engine.filters import parse_filters
from engine.find_exact import find_exact
from engine.find_objects import find_objects
from engine.recall import recall as recalling
from engine.search import search
from tests.engine.library import TREE, Library


@pytest.fixture
def no_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    def failed(*_: Any, **__: Any) -> None:
        raise GraphFailed("the edges cannot be read: no igraph here", "ask again")

    monkeypatch.setattr(recalling, "facts", failed)


@pytest.mark.usefixtures("no_facts")
@pytest.mark.parametrize("asked", ["", "&surfaces=engrams,facts"])
def test_facts_that_cannot_be_read_are_named_and_fail_a_strict_recall(
    library: Library, asked: str
) -> None:
    packed = library.ask(f"q=pump{asked}")
    assert packed.items and [one.what for one in packed.degraded] == ["facts"]
    with pytest.raises(StrictRecallFailed, match="facts did not run: the edges") as caught:
        library.ask(f"q=pump{asked}&strict=on")
    assert caught.value.hint == "leave strict out, or ask with surfaces=engrams,passages,digests"
    assert library.ask("q=pump&strict=on&surfaces=engrams,passages,digests").items
    library.embedder = None
    with pytest.raises(StrictRecallFailed, match="vector did not run") as caught:
        library.ask(f"q=pump{asked}&strict=on")
    without = "channels=lexical,exact,graph,temporal&surfaces=engrams,passages,digests"
    assert caught.value.hint.endswith(without)


def test_a_browse_has_no_facts_and_says_so_where_they_were_asked_for(library: Library) -> None:
    library.link("asset/pump", "near", "asset/valve", note="pump")
    assert library.ask("kinds=asset").degraded == ()
    for surfaces in ("facts", "engrams,facts", "facts,passages"):
        packed = library.ask(f"kinds=asset&surfaces={surfaces}")
        [said] = packed.degraded
        assert (said.what, said.reason) == ("facts", "they answer a question, and there is none")
        assert bool(packed.items) is (surfaces != "facts")
        with pytest.raises(StrictRecallFailed):
            library.ask(f"kinds=asset&surfaces={surfaces}&strict=on")
    for surface in ("engrams", "passages"):
        packed = library.ask(f"kinds=asset&surfaces={surface}")
        assert packed.items and not packed.degraded
    assert library.ask("kinds=asset&chunks=on").warnings


@pytest.mark.parametrize(
    "narrowed",
    [
        "kinds=incident&tags=x&tags_match=all_strict", "scope_ids=note/other", "min_score=99",
        "min_score.lexical=1&min_score.vector=1&kinds=incident", "source_roles=tool",
        "as_of=1970-01-01T00:00:00.000001Z", "prop.stage=lost", "surfaces=digests",
    ],
)  # fmt: skip
def test_what_is_taken_out_was_found_and_is_no_miss(library: Library, narrowed: str) -> None:
    library.embedder = None
    assert not library.ask(f"q=leaks&{narrowed}").items
    assert library.misses == []


def test_what_no_channel_finds_is_a_miss(library: Library) -> None:
    library.embedder = None
    library.put("note/hidden", "Zebras are kept secret.\n", namespace=(("team", "a"),))
    for request in ("q=zebras", "q=zebras&kinds=note", "q=zebras&min_score=1&channels=lexical"):
        assert not library.ask(request).items
    assert library.misses == ["zebras"] * 3


@pytest.mark.parametrize("way", [search, find_objects, find_exact])
def test_searches_tell_misses_by_the_same_rule(library: Library, way: Any) -> None:
    library.embedder = None
    notes = parse_filters([("kinds", "note")], library.catalogue)
    assert not way(library, TREE, "leaks", notes).hits
    assert not way(library, TREE, "leaks", scope_ids=["0198c0de-0000-7000-8000-000000000000"]).hits
    [pump] = [one for one in library.entries.live() if one.slug == "pump"]
    assert not way(library, TREE, pump.id, notes).hits
    assert library.misses == []
    assert not way(library, TREE, "zebras", notes).hits
    assert library.misses == ["zebras"]
