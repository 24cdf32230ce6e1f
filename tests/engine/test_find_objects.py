"""Engrams as wholes: their BM25 against a plain one, the mean of their vectors, scopes, filters."""

from __future__ import annotations

import math
import random
from collections import Counter

import numpy as np
import pytest

from engine.config import Config
from engine.errors import EmbedderFailed, Invalid
from engine.filters import parse_filters
from engine.find_objects import find_objects
from engine.model import Namespace, Page
from engine.namespace import Scope
from engine.paging import next_page, window
from engine.search import search
from tests.engine.desk import HERE, Desk
from tests.engine.hash_embedder import HashEmbedder
from tests.engine.library import TREE, BagEmbedder, Library

PLAIN = Config(recency_floor=1.0, exact_title_bonus=0.0)  # the score is the fusion's alone
WORDS = [f"zq{a}{b}" for a in "abdf" for b in "kmnoptruvz"]  # no stems, no stop words
TEAM: Namespace = (("team", "a"),)
OTHER: Namespace = (("team", "b"),)


def page(library: Library, question: str, scope: Scope = TREE, **options: object) -> Page:
    filters = parse_filters(options.pop("filters", ()), library.catalogue)  # type: ignore[arg-type]
    return find_objects(library, scope, question, filters, **options)  # type: ignore[arg-type]


def find(library: Library, question: str, **options: object) -> list[str]:
    return [f"{hit.entry.kind}/{hit.entry.slug}" for hit in page(library, question, **options).hits]


def random_text(rng: random.Random) -> str:
    sections = [
        " ".join(rng.choices(WORDS, k=rng.randint(1, 30))) for _ in range(rng.randint(1, 5))
    ]
    return "\n\n".join(f"## {rng.choice(WORDS)}\n\n{text}" for text in sections) + "\n"


def whole_bm25(library: Library, scope: Scope, question: str) -> dict[int, float]:
    """BM25 the slow way, over the joined terms of all parts of each engram in scope."""
    live = [e for e in library.entries.live() if scope.covers(e.namespace)]
    texts = {e.no: " ".join(library.rows[e.seq].terms).split() for e in live}
    counts = {no: Counter(terms) for no, terms in texts.items()}
    average = sum(map(len, texts.values())) / max(len(texts), 1)
    scores = dict.fromkeys(texts, 0.0)
    for word in dict.fromkeys(question.split()):
        having = sum(word in held for held in counts.values())
        idf = math.log10((len(texts) - having + 0.5) / (having + 0.5) + 1)
        for no, held in counts.items():
            if word in held:
                norm = 1.2 * (0.25 + 0.75 * len(texts[no]) / average)
                scores[no] += idf * held[word] * 2.2 / (held[word] + norm)
    return {no: score for no, score in scores.items() if score}


@pytest.mark.parametrize("seed", range(6))
def test_scores_are_those_of_bm25_over_whole_engrams(seed: int) -> None:
    rng = random.Random(seed)
    library = Library(config=PLAIN)
    for n in range(30):
        library.put(f"note/n{n}", random_text(rng), namespace=rng.choice([(), TEAM, OTHER]))
    for n in rng.sample(range(30), 12):  # edits; the old text counts nowhere
        library.put(f"note/n{n}", random_text(rng))
    for entry in rng.sample([e for e in library.entries.live() if not e.namespace], 3):
        library.delete(f"note/{entry.slug}")
    for scope in (TREE, Scope(), Scope(TEAM), Scope(OTHER, exact=True)):
        question = " ".join(rng.choices(WORDS, k=4))
        wanted = whole_bm25(library, scope, question)
        found = page(library, question, scope, limit=100)
        assert {hit.entry.no for hit in found.hits} == set(wanted)
        assert found.total == len(wanted)
        best = max(wanted.values(), default=1.0)
        for hit in found.hits:
            assert hit.score == pytest.approx(wanted[hit.entry.no] / best, abs=2e-9)


def test_nothing_outside_the_scope_changes_a_score_or_a_count() -> None:
    alone, both = (Library(embedder=BagEmbedder()) for _ in range(2))
    rng = random.Random(3)
    texts = [random_text(rng) for _ in range(12)]
    for library in (alone, both):
        for n, text in enumerate(texts):
            library.put(f"note/n{n}", text, namespace=TEAM)
    for n in range(20):
        both.put(f"note/o{n}", random_text(rng), namespace=OTHER, embed=n % 2 == 0)
    scope = Scope(TEAM)
    for question in (f"{WORDS[0]} {WORDS[1]}", " ".join(WORDS[5:9])):
        one, two = page(alone, question, scope), page(both, question, scope)
        assert [(h.entry.slug, h.score, h.channels) for h in one.hits] == [
            (h.entry.slug, h.score, h.channels) for h in two.hits
        ]
        assert (one.total, one.degraded) == (two.total, two.degraded)
        assert one.hits


def test_all_parts_together_beat_one_good_part() -> None:
    library = Library()
    library.put("note/spread", "## A\n\nred\n\n## B\n\ngreen\n\n## C\n\nblue\n")
    library.put("note/dense", f"## A\n\nred green\n\n## B\n\n{'other words here ' * 4}\n")
    assert find(library, "red green blue")[0] == "note/spread"
    assert search(library, TREE, "red green blue").hits[0].entry.slug == "dense"


def test_hits_have_no_evidence_and_a_set_goes_on() -> None:
    library = Library()
    for n in range(5):
        library.put(f"note/n{n}", "---\nsummary: about pumps\n---\npump\n", days=n)
    first = page(library, "pump", limit=2)
    assert [hit.evidence for hit in first.hits] == [(), ()]
    assert first.hits[0].summary == "about pumps"
    rest = next_page(library, TREE, first.set_id, window(library.config, 10, 2, True))
    assert [hit.entry.slug for hit in rest.hits] == ["n2", "n3", "n4"]
    assert all(hit.evidence == () for hit in rest.hits)


def mean_cosines(library: Library, question: str) -> dict[str, float]:
    assert library.embedder is not None
    asked = library.embedder.embed(question)
    index, found = library.index.snapshot(), {}
    for entry in library.entries.live():
        rows = np.flatnonzero(index.live & (index.doc_engram == entry.no) & (index.doc_vector >= 0))
        if len(rows):
            mean = index.vectors[index.doc_vector[rows]].astype(np.float64).mean(axis=0)
            found[entry.slug] = float(mean @ asked / np.linalg.norm(mean))
    return found


def test_the_vector_of_an_engram_is_the_normalised_mean_of_its_parts() -> None:
    library = Library(embedder=BagEmbedder(), config=PLAIN)
    rng = random.Random(1)
    for n in range(12):
        library.put(f"note/n{n}", random_text(rng))

    def agrees(question: str) -> None:
        wanted = mean_cosines(library, question)
        cosines = {hit.entry.slug: hit for hit in page(library, question, limit=100).hits}
        best = max(wanted.values())
        lexical = whole_bm25(library, TREE, question)
        top = max(lexical.values(), default=1.0)
        for slug, hit in cosines.items():
            fused = 0.55 * max(wanted.get(slug, 0.0), 0) / best
            fused += 0.45 * lexical.get(hit.entry.no, 0.0) / top
            assert hit.score == pytest.approx(fused, abs=1e-5)

    agrees(f"{WORDS[0]} {WORDS[3]}")
    for n in (2, 7):
        library.put(f"note/n{n}", random_text(rng))  # other parts
    library.put("note/n4", random_text(rng), embed=False)  # its vectors are pending
    library.delete("note/n5")
    agrees(f"{WORDS[0]} {WORDS[3]}")
    library.index.drop_vectors()
    for n in range(12):
        if n != 5:
            library.put(f"note/n{n}", random_text(rng))
    agrees(f"{WORDS[0]} {WORDS[3]}")


def test_vectors_that_arrive_later_count() -> None:
    library = Library(embedder=BagEmbedder())
    entry = library.put("note/a", "## One\n\nred\n\n## Two\n\ngreen\n", embed=False)
    library.put("note/b", "blue\n")
    asked = page(library, "red")
    assert [said.reason for said in asked.degraded] == ["3 vectors pending"]
    assert "vector" not in asked.hits[0].channels
    index = library.index.snapshot()
    rows = np.flatnonzero(index.live & (index.doc_engram == entry.no))
    assert library.embedder is not None
    for text, hash in zip(("a", "red", "green"), library.index.pending()[::-1], strict=True):
        library.index.add_vectors([hash], library.embedder.embed(text)[None])
        now = page(library, "red")
        assert now.hits[0].entry.slug == "a"
        wanted = mean_cosines(library, "red")["a"]
        found = library.engram_vectors.cosines(
            library.index.snapshot(), library.embedder.embed("red"),
            np.ones(len(index.live), bool), 2,
        )  # fmt: skip
        assert found[0] == pytest.approx(wanted, abs=1e-6)
    assert len(rows) == 3
    assert page(library, "red").degraded == ()


def test_filters_scope_ids_and_order_are_those_of_search() -> None:
    library = Library()
    ids = {}
    for n, kind in enumerate(("asset", "note", "asset", "note")):
        entry = library.put(f"{kind}/n{n}", f"---\nstage: s{n}\n---\nsame text\n", days=n % 2)
        ids[entry.slug] = entry.id
    assert find(library, "same text") == ["asset/n0", "asset/n2", "note/n1", "note/n3"]
    assert find(library, "same text", filters=[("kind", "note")]) == ["note/n1", "note/n3"]
    assert find(library, "same text", filters=[("prop.stage", "s2")]) == ["asset/n2"]
    chosen = [ids["n3"].upper(), ids["n0"], "00000000-0000-7000-8000-00000000dead"]
    assert find(library, "same text", scope_ids=chosen) == ["asset/n0", "note/n3"]
    scores = {hit.entry.no: hit.score for hit in page(library, "same text").hits}
    for hit in page(library, "same text", scope_ids=chosen).hits:
        assert hit.score == scores[hit.entry.no]
    with pytest.raises(Invalid, match="not the id of an engram"):
        find(library, "same text", scope_ids=["asset/n0"])


def test_superseded_engrams_are_left_out_and_findable_on_request() -> None:
    library = Library()
    old = library.put("note/old", "---\nsuperseded_by: note/new\n---\npump pump pump\n")
    library.put("note/new", "pump\n")
    assert find(library, "pump") == ["note/new"]
    assert find(library, "pump", scope_ids=[old.id]) == []
    asked = page(library, "pump", filters=[("prop.superseded_by", "note/new")])
    assert [(hit.entry.slug, hit.status) for hit in asked.hits] == [("old", "superseded")]


def test_what_is_named_stands_first_and_a_title_is_lifted() -> None:
    library = Library()
    library.put("note/the-who", "---\ntitle: The Who\n---\nA band.\n")
    library.put("note/water", "# Cooling water\n\nIt is in the tank.\n")
    library.put("note/tank", f"# Tanks\n\n{'cooling tank water the who ' * 3}\n")
    assert page(library, "the who").hits[0].entry.slug == "the-who"
    lifted = page(library, "how much cooling water is there").hits
    assert lifted[0].entry.slug == "water"
    assert lifted[0].channels["exact"] == 1


def test_operators_are_plain_words() -> None:
    library = Library()
    library.put("note/a", "pump valve\n")
    assert find(library, "pump -valve") == ["note/a"]
    assert find(library, '"valve pump"') == ["note/a"]


def test_bad_questions_and_failing_models() -> None:
    class Broken(BagEmbedder):
        def embed_query(self, text: str):  # type: ignore[no-untyped-def]
            raise EmbedderFailed("the model is damaged", "install it again")

    library = Library(embedder=Broken())
    library.put("note/a", "pump\n")
    for bad in ("", " \n"):
        with pytest.raises(Invalid):
            page(library, bad)
    with pytest.raises(Invalid, match="fusion"):
        page(library, "pump", fusion="best")
    with pytest.raises(Invalid, match="raw"):
        page(library, "pump", fusion="raw")
    found = page(library, "pump")
    assert [hit.entry.slug for hit in found.hits] == ["a"]
    assert "the model is damaged" in found.degraded[0].reason
    assert page(library, "zebra").total == 0
    assert library.misses == ["zebra"]
    assert page(library, "?!").hits == ()
    assert page(Library(), "pump").hits == ()


@pytest.mark.parametrize("fusion", ["score", "rrf"])
def test_the_engine_finds_objects(fusion: str) -> None:
    desk = Desk(embed="inline", embedder=HashEmbedder())
    desk.put("a", "# Pumps\n\n## One\n\npump\n\n## Two\n\npump station\n")
    desk.put("b", "a text about gardens\n")
    found = desk.engine.find_objects(HERE, "pump station", fusion=fusion)
    assert found.hits[0].entry.slug == "a"
    assert found.hits[0].channels == {"lexical": 1, "vector": 1}
    assert desk.engine.continue_(HERE, found.set_id) == found
