"""Recall through edges: what it brings in, what it says of it, and that it harms nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.config import Config
from engine.errors import GraphFailed, StrictRecallFailed
from engine.namespace import Scope
from engine.walk import Neighbour
from tests.engine.library import TREE, BagEmbedder, Library

WORDS = ("pump", "valve", "leak", "summer", "zebra")


@pytest.fixture
def library() -> Library:
    """The pump's note leads to the manual, that to the maker; neither shares a word with it."""
    made = Library()
    made.put("asset/pump", "# Pump\n\nIt overheats in summer.\n")
    made.put("doc/manual", "# Handbook\n\nTurn the wheel.\n")
    made.put("firm/maker", "# Acme\n\nLives in Rome.\n")
    made.put("note/other", "# Other\n\nA summer evening.\n")
    made.link("asset/pump", "described_by", "doc/manual")
    made.link("doc/manual", "made_by", "firm/maker", 0.5)
    return made


class Broken(Library):
    """Its edges cannot be walked."""

    def neighbours(self, scope: Scope, no: int, direction: str) -> Sequence[Neighbour]:
        raise RuntimeError("no igraph here")


def test_an_edge_brings_in_what_no_word_finds(library: Library) -> None:
    assert "doc/manual.md" in library.paths("q=overheats")
    assert "doc/manual.md" not in library.paths("q=overheats&channels=lexical,vector,exact")
    packed = library.ask("q=overheats&format=json")
    items = {one["path"]: one for one in json.loads(packed.rendered)["items"]}
    pump = library.entries.at(((), "asset", "pump"))
    assert pump is not None
    assert items["doc/manual.md"]["relation"] == {
        "label": "described_by", "direction": "out", "source": pump.id, "hop": 1,
    }  # fmt: skip
    assert items["doc/manual.md"]["channels"] == {"graph": 1}
    assert items["doc/manual.md"]["body"] == "# Handbook\n\nTurn the wheel.\n"
    assert items["asset/pump.md"]["relation"] is None


def test_markdown_says_why_an_item_is_there(library: Library) -> None:
    text = library.ask("q=overheats").rendered.decode()
    assert "## doc/manual.md\nwhy: graph 1 (described_by from asset/pump.md)\n" in text
    back = library.ask("q=wheel&reverse=on").rendered.decode()
    assert "## asset/pump.md\nwhy: graph 1 (described_by to doc/manual.md)\n" in back
    both = library.ask("q=overheats wheel").rendered.decode()
    assert "why: lexical 1, graph 1 (described_by from" in both.split("## doc/manual.md")[1]


def test_hops_reverse_seeds_and_floor(library: Library) -> None:
    assert "firm/maker.md" not in library.paths("q=overheats")
    assert "firm/maker.md" in library.paths("q=overheats&hops=2")
    assert "firm/maker.md" in library.paths("q=overheats&depth=high")
    assert library.paths("q=rome") == ["firm/maker.md"]
    assert library.paths("q=rome&reverse=on&hops=2")[1:] == ["doc/manual.md", "asset/pump.md"]
    assert "doc/manual.md" not in library.paths("q=overheats&min_score.graph=0.51")
    assert "doc/manual.md" in library.paths("q=overheats&min_score.graph=0.5")
    library.walked.clear()
    library.ask("q=summer&seeds=1")
    assert len(library.walked) == 1


def test_the_trace_names_its_ranking(library: Library) -> None:
    packed = library.ask("q=overheats&hops=2&trace=on&format=json")
    assert packed.trace is not None
    channels: Any = packed.trace["channels"]
    assert channels["graph"] == [
        {"rank": 1, "path": "doc/manual.md", "score": 0.5},
        {"rank": 2, "path": "firm/maker.md", "score": 0.125},
    ]
    controls = json.loads(packed.rendered)["controls"]
    assert (controls["hops"], controls["reverse"], controls["seeds"]) == (2, False, 8)
    assert (controls["depth"], controls["min_score.graph"]) == ("mid", 0.0)


def test_ranks_are_fused_too(library: Library) -> None:
    assert "doc/manual.md" in library.paths("q=overheats&fusion=rrf")


def test_a_named_engram_is_a_seed(library: Library) -> None:
    assert library.paths("q=asset/pump.md&channels=exact,graph") == [
        "asset/pump.md", "doc/manual.md",
    ]  # fmt: skip


def test_a_hit_of_its_own_comes_before_what_it_leads_to(library: Library) -> None:
    assert library.paths("q=overheats")[0] == "asset/pump.md"
    assert library.paths("q=overheats&weights=graph:4")[0] == "asset/pump.md"


def test_without_a_hit_there_is_nothing_to_go_on_from(library: Library) -> None:
    assert library.paths("q=xyzzy") == []
    assert library.misses == ["xyzzy"]
    alone = library.ask("q=overheats&channels=graph")
    assert alone.items == ()
    assert any("graph" in warning for warning in alone.warnings)


def test_filters_change_no_score_and_keep_no_hit_from_being_a_seed(library: Library) -> None:
    everything = library.ask("q=overheats&hops=2")
    for kind in ("doc", "firm", "asset"):
        some = library.ask(f"q=overheats&hops=2&kinds={kind}")
        assert {item.entry.kind for item in some.items} == {kind}
        kept = [(one.entry.no, one.score) for one in everything.items if one.entry.kind == kind]
        assert [(item.entry.no, item.score) for item in some.items] == kept


def test_who_is_out_of_scope_is_neither_reached_nor_walked_through(library: Library) -> None:
    library.put("doc/secret", "# Hidden\n", namespace=(("team", "a"),))
    library.link("asset/pump", "about", "doc/secret")
    library.link("doc/secret", "about", "note/other")
    found = library.ask("q=overheats&hops=2", TREE)
    assert {item.path for item in found.items} == {
        "asset/pump.md", "doc/manual.md", "firm/maker.md",
    }  # fmt: skip
    wide = library.ask("q=overheats&hops=2", Scope(()))
    assert {"secret", "other"} <= {item.entry.slug for item in wide.items}


def test_a_failed_graph_hides_nothing() -> None:
    broken = Broken()
    broken.put("asset/pump", "It overheats.\n")
    packed = broken.ask("q=overheats&format=json")
    assert [item.path for item in packed.items] == ["asset/pump.md"]
    assert json.loads(packed.rendered)["degraded"] == [
        {"what": "vector", "reason": "embedding is switched off"},
        {"what": "graph", "reason": "the edges cannot be read: RuntimeError: no igraph here"},
    ]
    with pytest.raises(StrictRecallFailed, match="graph did not run"):
        broken.ask("q=overheats&strict=on&channels=lexical,graph")
    strict = Broken(config=Config(fail_on_graph_error=True))
    strict.put("asset/pump", "It overheats.\n")
    with pytest.raises(GraphFailed, match="cannot be read"):
        strict.ask("q=overheats")
    assert strict.ask("q=overheats&channels=lexical").items


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6), min_size=1, max_size=6),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3),
    st.sampled_from(["score", "rrf"]),
    st.integers(1, 2),
)
def test_without_edges_every_score_is_the_same(
    texts: list[list[str]], question: list[str], fusion: str, hops: int
) -> None:
    library = Library(embedder=BagEmbedder())
    for at, text in enumerate(texts):
        library.put(f"note/n{at}", " ".join(text), days=at)
    asked = f"q={' '.join(question)}&fusion={fusion}"
    plain = library.ask(f"{asked}&channels=lexical,vector,exact")
    through = library.ask(f"{asked}&hops={hops}&reverse=on")
    assert through.items == plain.items
