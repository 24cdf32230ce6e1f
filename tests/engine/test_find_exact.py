"""find_exact: ids, titles, spellings; in scope, at once, and whatever is asked."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from engine.errors import Invalid
from engine.filters import parse_filters
from engine.find_exact import find_exact
from engine.model import Draft, Page
from engine.namespace import Scope
from engine.spellings import MOST_SPELLINGS
from tests.engine.desk import HERE, Desk
from tests.engine.library import TREE, BagEmbedder, Library


def page(library: Library, text: str, scope: Scope = TREE, **options: object) -> Page:
    filters = parse_filters(options.pop("filters", ()), library.catalogue)  # type: ignore[arg-type]
    return find_exact(library, scope, text, filters, **options)  # type: ignore[arg-type]


def find(library: Library, text: str, **options: object) -> list[str]:
    return [hit.entry.slug for hit in page(library, text, **options).hits]


def slugs(desk: Desk, text: str, **options: object) -> list[str]:
    return [hit.entry.slug for hit in desk.engine.find_exact(HERE, text, **options).hits]  # type: ignore[arg-type]


@pytest.fixture
def library() -> Library:
    made = Library()
    made.put("note/cluster", "The kubernetes cluster runs on 12 machines.\n")
    made.put("note/access", "It failed with 0x80070005 and stopped.\n")
    made.put("asset/warm", "---\naliases: [Heat source]\n---\n# Heatpump\n\nIt warms the house.\n")
    made.put("note/shoes", "# Running shoes\n\nFor the marathon.\n")
    return made


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("kuberntes", "cluster"),  # a letter is missing
        ("kubbernetes", "cluster"),  # one too many
        ("kubernetse", "cluster"),  # two are exchanged
        ("kubernatas", "cluster"),  # two are others
        ("uberne", "cluster"),
        ("KUBERNTES", "cluster"),
        ("0x8007", "access"),
        ("70005", "access"),
        ("pump", "warm"),
        ("hosue", "warm"),
        ("unning", "shoes"),  # of a title, as it is written: the term is "run"
        ("ning sho", "shoes"),
        ("machnies kuberntes", "cluster"),
    ],
)
def test_a_piece_and_a_misspelling_are_found(library: Library, text: str, slug: str) -> None:
    (hit,) = page(library, text).hits
    assert hit.entry.slug == slug
    assert hit.channels == {"trigram": 1}
    assert find(library, f'"{text}"') == []  # in quotes it means what it says


@pytest.mark.parametrize("text", ["kubrntse", "0x80070006", "13", "pu", "x", "oarding"])
def test_what_is_too_far_is_not_found(library: Library, text: str) -> None:
    assert find(library, text) == []


def test_the_title_is_first_then_other_names_then_the_best_match() -> None:
    library = Library()
    library.put("note/best", "pump pump pump\n")
    library.put("note/titled", "---\nfavourite: false\n---\n# PÜMP\n\nx\n", days=4_000)
    library.put("note/called", "---\naliases: [pump]\nfavourite: true\n---\npump\n")
    library.put("pump/pump", "# Other\n\nnothing of it\n")
    library.put("note/spelled", "heatpump\n")
    hits = page(library, "  Pump ").hits
    order = [hit.entry.slug for hit in hits]
    assert order[0] == "titled"
    assert set(order[1:3]) == {"called", "pump"}
    assert order[3:] == ["best", "spelled"]
    assert [hit.channels.get("exact") for hit in hits] == [1, 2, 2, None, None]


def test_the_word_itself_comes_before_any_other_spelling() -> None:
    library = Library()
    library.put(
        "note/weak", f"{'many other words ' * 60} form {'and more of them ' * 60}\n", days=900
    )
    library.put("note/strong", "---\nfavourite: true\n---\n# Platform\n\nplatform platform farm\n")
    assert find(library, "form") == ["weak", "strong"]


def test_more_of_the_words_come_before_fewer() -> None:
    library = Library()
    for n in range(8):
        library.put(f"note/red{n}", "red\n")
    library.put("note/both", "a red thing among many others on the kubernetes cluster\n")
    library.put("note/one", "kubernetes\n")
    assert find(library, "red kuberntes")[:2] == ["both", "one"]


def test_operators_work_as_in_search(library: Library) -> None:
    library.put("note/other", "# Other\n\nThe kubernetes documents.\n")
    assert sorted(find(library, "kuberntes")) == ["cluster", "other"]
    assert find(library, "kuberntes -machines") == ["other"]
    assert find(library, "kuberntes title:other") == ["other"]
    assert find(library, 'kuberntes "cluster runs"') == ["cluster"]
    assert find(library, "-kubernetes") == []


def test_stop_words_are_no_spelling() -> None:
    library = Library()
    library.put("note/a", "for the form\n")
    library.put("note/b", "for the others\n")
    assert find(library, "form") == ["a"]


def test_no_vector_is_asked_for_and_none_is_missed(library: Library) -> None:
    library.embedder = BagEmbedder()
    found = page(library, "kubernetes")
    assert library.embedder.asked == []
    assert found.degraded == ()


def test_evidence_stands_around_what_matched(library: Library) -> None:
    library.put("note/long", f"# Long\n\n{'lorem ipsum ' * 40}the grafana board{' dolor' * 60}\n")
    (hit,) = page(library, "grafna").hits
    assert "grafana" in hit.evidence[0].text
    assert hit.evidence[0].heading_path == ("Long",)
    assert hit.evidence[0].span.start_line > 1


def test_ties_are_broken_by_age_then_id() -> None:
    library = Library()
    for slug, days in (("c", 0), ("a", 0), ("old", 9)):
        library.put(f"note/{slug}", "kubernetes\n", days=days)
    assert find(library, "kuberntes") == ["c", "a", "old"]


def test_filters_and_scope_ids_act_before_the_best_are_taken(library: Library) -> None:
    for n in range(30):
        library.put(f"asset/{n}", "kubernetes kubernetes\n")
    everything = {hit.entry.slug: hit.score for hit in page(library, "kuberntes", limit=40).hits}
    for options in (
        {"filters": [("kind", "note")]},
        {"scope_ids": [library.entries.at(((), "note", "cluster")).id]},  # type: ignore[union-attr]
    ):
        found = page(library, "kuberntes", limit=1, **options)
        assert [hit.entry.slug for hit in found.hits] == ["cluster"]
        assert found.total == 1
        assert found.hits[0].score == everything["cluster"]


def test_pages_are_of_one_ranking_and_go_on() -> None:
    desk = Desk()
    for n in range(5):
        desk.put(f"n{n}", "kubernetes\n")
    whole = slugs(desk, "kuberntes")
    assert len(whole) == 5
    assert [slugs(desk, "kuberntes", offset=n, limit=1) for n in range(6)] == [
        *([slug] for slug in whole), []
    ]  # fmt: skip
    first = desk.engine.find_exact(HERE, "kuberntes", limit=2)
    rest = desk.engine.continue_(HERE, first.set_id, 2)
    assert [hit.entry.slug for hit in (*first.hits, *rest.hits)] == whole


def test_a_word_like_very_many_says_so() -> None:
    library = Library()
    for n in range(MOST_SPELLINGS + 1):
        library.put(f"note/{n:03}", f"heatpump{n:03}\n")
    found = page(library, "pump", limit=100)
    assert found.total == MOST_SPELLINGS
    assert "more than 24 words are like pump: " in found.warnings[0]
    library.delete("note/000")
    assert page(library, "pump", limit=100).warnings == ()


def test_other_namespaces_neither_show_nor_count() -> None:
    mine, other = (("team", "a"),), (("team", "b"),)
    alone, both = Library(), Library()
    rng = random.Random(4)
    for n in range(400):  # nearer ones, older than those in scope, more than are looked at
        both.put(f"note/o{n}", f"# xpump{n}\n\npump{n} kubernets pump\n", namespace=other)
    for library in (alone, both):
        for n in range(MOST_SPELLINGS + 3):
            text = "kubernetes " * rng.randrange(3) if library is alone else ""
            library.put(f"note/{n}", f"# Heat {n}\n\nthewaterpump{n:05} {text}\n", namespace=mine)
        rng = random.Random(4)
    for n in range(MOST_SPELLINGS + 3):
        text = "kubernetes " * rng.randrange(3)
        both.put(f"note/{n}", f"# Heat {n}\n\nthewaterpump{n:05} {text}\n", namespace=mine)
    scope = Scope(mine, exact=True)
    for text in ("pump", "kuberntes", "pump kuberntes", "xpump", "heat 1", "pump1"):
        one, two = page(alone, text, scope, limit=99), page(both, text, scope, limit=99)
        assert [(hit.entry.slug, hit.score, hit.channels) for hit in one.hits] == [
            (hit.entry.slug, hit.score, hit.channels) for hit in two.hits
        ]
        assert (one.total, one.warnings) == (two.total, two.warnings)
    assert page(alone, "pump", scope).total == MOST_SPELLINGS
    assert page(both, "xpump1", Scope(), limit=99).total > 100


def test_what_was_put_is_found_at_once_and_what_went_is_not(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    rng = random.Random(9)
    words: dict[str, str] = {}
    for step in range(120):
        slug = f"n{rng.randrange(12)}"
        if slug in words and rng.random() < 0.3:
            desk.rm(slug)
            del words[slug]
        else:
            words[slug] = f"grafana{rng.randrange(900) + 100}"
            desk.put(slug, f"# {words[slug]}x\n\nit is {words[slug]} here\n")
        if step % 25 == 24:
            assert desk.engine._upkeep.fulltext.fold(desk.engine._state.index)
        if step == 60:
            desk.reopen()
        expected = sorted(words)
        assert sorted(slugs(desk, "rafana", limit=50)) == expected
        for name, word in words.items():
            assert slugs(desk, f"{word}x")[0] in {n for n, held in words.items() if held == word}
            assert name in slugs(desk, word[1:])


# -- ids ----------------------------------------------------------------------------
TEXT = "intro\n\n# One\n\nfirst text\n\n# Two\n\nsecond text\n"


def test_an_id_gives_its_engram_and_nothing_else() -> None:
    desk = Desk()
    entry = desk.put("a", TEXT).entry
    desk.put("b", f"It names {entry.id} in full.\n")
    for text in (entry.id, entry.id.upper(), f"  {entry.id}\n"):
        (hit,) = desk.engine.find_exact(HERE, text).hits
        assert hit.entry.id == entry.id
        assert hit.channels == {"exact": 1}
        assert hit.evidence == ()
    assert slugs(desk, entry.id, offset=1) == []
    assert slugs(desk, "01a22993-8c53-76c8-bcae-f82a0cbb4174") == []
    assert desk.engine.status(HERE).misses[0].startswith("01a22993")


def test_the_id_of_a_part_gives_its_engram_with_that_part() -> None:
    desk = Desk()
    desk.put("a", TEXT)
    for part in desk.engine.children(HERE, "note/a")[1:]:
        (hit,) = desk.engine.find_exact(HERE, part.id).hits
        assert hit.entry.slug == "a"
        (passage,) = hit.evidence
        assert passage.heading_path == part.heading_path
        assert passage.text == " ".join(part.text.split())
    part = desk.engine.children(HERE, "note/a")[-1]
    desk.put("a", "intro\n\n# One\n\nfirst text\n")
    assert slugs(desk, part.id) == []


def test_an_id_out_of_scope_deleted_or_filtered_is_no_hit() -> None:
    desk = Desk()
    entry = desk.put("a", TEXT).entry
    other = desk.put("b", "x\n").entry
    part = desk.engine.children(HERE, "note/a")[1].id
    there = Scope((("team", "x"),))
    for id in (entry.id, part):
        assert desk.engine.find_exact(there, id).hits == ()
        kinds = parse_filters([("kind", "other")], desk.engine.catalogue)
        assert slugs(desk, id, filters=kinds) == []
        assert slugs(desk, id, scope_ids=[other.id]) == []
        assert slugs(desk, id, scope_ids=[entry.id]) == ["a"]
    desk.rm("a")
    desk.clock.pass_seconds(1)
    for id in (entry.id, part):
        assert slugs(desk, id) == []


def test_a_superseded_engram_is_found_by_its_id_only() -> None:
    desk = Desk()
    entry = desk.put("old", "---\nsuperseded_by: note/new\n---\n# Old\n\nkubernetes\n").entry
    desk.put("new", "kubernetes\n")
    assert slugs(desk, "kuberntes") == ["new"]
    assert slugs(desk, "Old") == []
    (hit,) = desk.engine.find_exact(HERE, entry.id).hits
    assert hit.status == "superseded"


def test_in_a_wider_scope_every_namespace_is_looked_in() -> None:
    desk = Desk()
    there = Scope((("team", "x"),))
    id = desk.engine.put(there, Draft("note", "a", b"# Kubernetes\n\nx\n")).entry.id
    everywhere = Scope(())
    for text in (id, "kuberntes", "Kubernetes"):
        assert [hit.entry.id for hit in desk.engine.find_exact(everywhere, text).hits] == [id]
        assert slugs(desk, text) == []


# -- whatever is asked ------------------------------------------------------------
@pytest.mark.parametrize("text", ["", " ", "\t\n"])
def test_an_empty_text_is_invalid(library: Library, text: str) -> None:
    with pytest.raises(Invalid) as caught:
        page(library, text)
    assert caught.value.problems[0].key == "q"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("?!…", []),
        ('"', []),
        ('kuberntes "', ["a"]),
        ('"kubernetes', ["a"]),
        ("\0", []),
        ("kuberntes\0", ["a"]),
        ("\ud800", []),
        ("kuberntes \udfff", ["a"]),
        ("नमस्त", ["b"]),
        ("合約", ["b"]),
        ("合約轉", ["b"]),
        ("\u0301\u0301", []),
        ("-", []),
        ("title:", []),
        ("kuberntes " * 2_000, ["a"]),
        ("x" * 20_000, []),
        (" ".join(f"{n:x}ab{n}" for n in range(2_000)), []),
        ("((((" * 5_000, []),
        ("\U0001f600" * 20_000, []),
    ],
)  # fmt: skip
def test_every_text_has_an_answer(text: str, found: list[str]) -> None:
    desk = Desk()
    desk.put("a", "kubernetes\n")
    desk.put("b", "नमस्ते दुनिया 合約轉換\n")
    assert slugs(desk, text) == found


def test_an_empty_store_has_no_hit() -> None:
    assert slugs(Desk(), "kuberntes") == []
