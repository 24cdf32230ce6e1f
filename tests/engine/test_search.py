"""Search over the real index: ranking, operators, filters, scopes, evidence."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from engine.channels import NO_WORD
from engine.config import Config
from engine.errors import EmbedderFailed, Invalid
from engine.filters import parse_filters
from engine.model import Page
from engine.namespace import Scope
from engine.search import search
from tests.engine.desk import HERE, Desk
from tests.engine.library import TREE, BagEmbedder, Library


def find(library: Library, question: str, **options: object) -> list[str]:
    return [f"{hit.entry.kind}/{hit.entry.slug}" for hit in page(library, question, **options).hits]


def page(library: Library, question: str, **options: object) -> Page:
    filters = parse_filters(options.pop("filters", ()), library.catalogue)  # type: ignore[arg-type]
    return search(library, TREE, question, filters, **options)  # type: ignore[arg-type]


@pytest.fixture
def library() -> Library:
    made = Library()
    made.put("asset/pump", "---\nstage: open\n---\n# Pump\n\nThe pump overheats in summer.\n")
    made.put("asset/valve", "# Valve\n\nA valve leaks. The pump is fine.\n")
    made.put("note/summer", "# Summer\n\nHot summer.\n\n## Water\n\nCooling water is low.\n")
    return made


def test_an_empty_question_is_invalid(library: Library) -> None:
    with pytest.raises(Invalid) as caught:
        page(library, "  ")
    assert caught.value.problems[0].key == "q"


def test_the_best_match_is_first_and_others_follow(library: Library) -> None:
    assert find(library, "pump overheats") == ["asset/pump", "asset/valve"]


def test_only_punctuation_finds_nothing(library: Library) -> None:
    library.embedder = BagEmbedder()
    assert find(library, "?!…") == []
    assert library.misses == ["?!…"]


@pytest.mark.parametrize("method", ["search", "find_exact", "find_objects"])
def test_a_question_without_a_word_is_told(method: str) -> None:
    desk = Desk()
    desk.put("pump", "# Pump\n\ntext\n")
    desk.put("signs", "# ???\n\ntext\n")
    ask = getattr(desk.engine, method)
    left_out = () if method == "find_objects" else ("-pump", '-"a pump" -title:x')
    for question in ("?!", '"', *left_out):
        page = ask(HERE, question)
        assert page.hits == ()
        assert page.warnings == (NO_WORD,)
    assert [hit.entry.slug for hit in ask(HERE, "???").hits] == ["signs"]
    for question in ("???", "pump", "zebra", "pump -text"):
        assert ask(HERE, question).warnings == ()


@pytest.mark.parametrize("question", ["\ud800", "x\udfff", "\0", "\0\0"])
def test_a_question_that_is_no_text_is_a_miss_like_another(question: str) -> None:
    desk = Desk()
    assert desk.engine.search(HERE, question).hits == ()
    (kept,) = desk.engine.status(HERE).misses
    assert kept.encode() == question.encode("utf-8", "backslashreplace")


def test_a_number_means_nothing_to_the_vectors() -> None:
    library = Library(embedder=BagEmbedder())
    library.put("note/version", "Released v2026.4.10 today.\n")
    library.put("note/bar", "bar's\n")
    assert find(library, "2026.4.10") == ["note/version"]
    assert find(library, "0") == []
    assert find(library, "bars") == ["note/bar"]
    assert library.embedder is not None
    assert library.embedder.asked == ["bars"]


def test_an_edit_is_found_at_once_and_the_old_text_is_gone(library: Library) -> None:
    library.put("note/animal", "a zebra\n")
    assert find(library, "zebra") == ["note/animal"]
    library.put("note/animal", "a giraffe\n")
    assert find(library, "giraffe") == ["note/animal"]
    assert find(library, "zebra") == []
    library.delete("note/animal")
    assert find(library, "giraffe") == []


def test_operators_are_conditions(library: Library) -> None:
    assert find(library, '"cooling water"') == ["note/summer"]
    assert find(library, '"water is cooling"') == []
    assert find(library, "pump -valve") == ["asset/pump"]
    assert find(library, "summer title:summer") == ["note/summer"]
    assert find(library, "summer -title:summer") == ["asset/pump"]
    assert find(library, "-pump") == []


def test_excluded_words_do_not_reach_the_model() -> None:
    library = Library(embedder=BagEmbedder())
    library.put("asset/pump", "The pump overheats.\n")
    find(library, 'pump -valve -"hot water" title:pump')
    assert library.embedder is not None
    assert library.embedder.asked == ["pump pump"]


@pytest.mark.parametrize(
    ("phrase", "found"),
    [
        ("cooling pump", ["note/border"]),
        ("valve stuck", ["note/border"]),
        ("cooling pump valve", []),  # heading and text
        ("water circuit cooling", []),  # heading and heading
        ("water circuit sludge", []),  # title and alias
        ("sludge alarm", []),  # alias and summary
    ],
)
def test_a_phrase_crosses_no_border(library: Library, phrase: str, found: list[str]) -> None:
    head = "---\naliases: [sludge]\nsummary: alarm\n---\n"
    library.put("note/border", f"{head}# Water circuit\n\n## Cooling pump\n\nvalve stuck\n")
    assert find(library, f'"{phrase}"') == found


def test_a_phrase_stands_in_one_part(library: Library) -> None:
    library.put("note/split", "# One\n\nred\n\n# Two\n\ngreen\n")
    assert find(library, '"red green"') == []


def test_filters_only_remove(library: Library) -> None:
    everything = {hit.entry.no: hit.score for hit in page(library, "summer pump").hits}
    filtered = page(library, "summer pump", filters=[("kind", "asset")])
    assert [hit.entry.kind for hit in filtered.hits] == ["asset", "asset"]
    assert all(everything[hit.entry.no] == hit.score for hit in filtered.hits)
    assert find(library, "summer pump", filters=[("prop.stage", "open")]) == ["asset/pump"]


def test_offset_and_limit_cut_one_ranking(library: Library) -> None:
    whole = find(library, "pump summer valve")
    assert len(whole) == 3
    parts = [find(library, "pump summer valve", offset=n, limit=1) for n in range(4)]
    assert parts == [[path] for path in whole] + [[]]
    assert page(library, "pump summer valve", offset=1, limit=1).total == 3


def test_ties_are_broken_by_age_then_id() -> None:
    library = Library()
    for name, days in (("c", 0), ("a", 0), ("old", 9)):
        library.put(f"note/{name}", "the same text\n", days=days)
    assert find(library, "same text") == ["note/c", "note/a", "note/old"]


def test_recency_never_brings_a_weak_hit_before_a_strong_one() -> None:
    library = Library()
    library.put("note/strong", "pump pump pump\n", days=4_000 / 2)
    library.put("note/weak", "a long text about many things, of which a pump is one of many\n")
    assert find(library, "pump") == ["note/strong", "note/weak"]


def test_a_favourite_is_the_first_among_equals() -> None:
    library = Library()
    library.put("note/a", "pump station\n")
    library.put("note/b", "---\nfavourite: true\n---\npump station\n")
    assert find(library, "pump station")[0] == "note/b"


def test_evidence_is_three_parts_in_document_order(library: Library) -> None:
    text = "".join(f"## H{n}\n\npump {'pump ' * n}\n\n" for n in range(5))
    library.put("note/long", f"# Long\n\n{text}")
    hit = next(h for h in page(library, "pump").hits if h.entry.slug == "long")
    assert len(hit.evidence) == 3
    lines = [passage.span.start_line for passage in hit.evidence]
    assert lines == sorted(lines)
    assert all(passage.heading_path[0] == "Long" for passage in hit.evidence)


def test_a_snippet_has_240_characters_around_the_word(library: Library) -> None:
    library.put("note/far", f"{'lorem ipsum ' * 20} the needle {'dolor sit ' * 20}\n")
    (hit,) = page(library, "needle").hits
    text = hit.evidence[0].text
    assert "needle" in text
    assert len(text.strip("…")) <= 240
    assert text.startswith("…")
    assert text.endswith("…")


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("warmepumpe", "W\u00e4rmepumpe"),
        ("warmepumpe", "Wa\u0308rmepumpe"),
        ("running", "runs"),  # they share a stem
        ("run", "(run)"),  # … rather than the trunk before it
        ("case", "snake_case"),
        ("8007", "0x8007"),
        ("\u5408\u7d04", "\u4e2d\u6587\u5408\u7d04\u8f49\u63db"),
        ("strasse", "Stra\u00dfe"),
    ],
)
def test_a_snippet_shows_the_word_however_it_is_written(question: str, word: str) -> None:
    library = Library()
    before = "a trunk, u\u0301 and " * 20
    library.put("note/far", f"{before}{word} {'and no more ' * 40}\n")
    (hit,) = page(library, question).hits
    assert word in hit.evidence[0].text


def test_spans_are_those_of_the_file_as_shown(library: Library) -> None:
    (hit,) = [h for h in page(library, "cooling water").hits if h.entry.slug == "summer"]
    water = next(p for p in hit.evidence if p.heading_path[-1] == "Water")
    assert water.span.start_line == 5 + 3  # a block of three lines holds the id
    (hit,) = page(library, "cooling water", shown=False).hits
    water = next(p for p in hit.evidence if p.heading_path[-1] == "Water")
    assert water.span.start_line == 5


def test_a_value_in_the_front_matter_only_is_found_and_shown() -> None:
    library = Library()
    library.put("deal/acme", "---\nowner: Zebulon\n---\n# Acme\n\nA renewal.\n")
    (hit,) = page(library, "zebulon").hits
    assert "Zebulon" in hit.evidence[0].text
    assert hit.properties["owner"] == "Zebulon"


def test_superseded_engrams_are_left_out_and_findable_on_request() -> None:
    library = Library()
    library.put("note/old", "---\nsuperseded_by: note/new\n---\npump pump pump\n")
    library.put("note/new", "pump\n")
    assert find(library, "pump") == ["note/new"]
    asked = page(library, "pump", filters=[("prop.superseded_by", "note/new")])
    assert [(hit.entry.slug, hit.status) for hit in asked.hits] == [("old", "superseded")]


def test_other_namespaces_neither_show_nor_count() -> None:
    mine, other = (("team", "a"),), (("team", "b"),)
    alone, both = Library(), Library()
    for library in (alone, both):
        library.put("note/x", "pump station\n", namespace=mine)
        library.put("note/y", "pump\n", namespace=mine)
    for n in range(5):
        both.put(f"note/z{n}", "pump pump pump\n", namespace=other)
    scope = Scope(mine, exact=True)
    one, two = (search(held, scope, "pump station") for held in (alone, both))
    assert [hit.score for hit in one.hits] == [hit.score for hit in two.hits]
    assert [hit.entry.slug for hit in one.hits] == [hit.entry.slug for hit in two.hits]
    assert one.total == two.total == 2
    assert len(search(both, Scope(), "pump").hits) == 7


def test_without_an_embedder_the_answer_says_so(library: Library) -> None:
    (said,) = page(library, "pump").degraded
    assert said.what == "vector"
    assert "switched off" in said.reason
    assert page(library, "pump", channels=("lexical",)).degraded == ()


def test_pending_vectors_are_counted_in_the_scope() -> None:
    library = Library(embedder=BagEmbedder())
    library.put("note/a", "pump\n", embed=False)
    library.put("note/b", "valve\n", embed=False, namespace=(("team", "b"),))
    found = page(library, "pump")
    assert [f"{said.what}: {said.reason}" for said in found.degraded] == [
        "vector: 2 vectors pending"
    ]
    assert [hit.entry.slug for hit in found.hits] == ["a"]


def test_a_failing_model_degrades() -> None:
    class Broken(BagEmbedder):
        def embed_query(self, text: str):  # type: ignore[no-untyped-def]
            raise EmbedderFailed("the model is damaged", "install it again")

    library = Library(embedder=Broken())
    library.put("note/a", "pump\n")
    found = page(library, "pump")
    assert [hit.entry.slug for hit in found.hits] == ["a"]
    assert "the model is damaged" in found.degraded[0].reason


def test_a_model_that_is_slow_is_not_waited_for() -> None:
    gate = threading.Event()

    class Slow(BagEmbedder):
        def embed_query(self, text: str):  # type: ignore[no-untyped-def]
            gate.wait(120)
            return self.embed(text)

    library = Library(embedder=Slow())
    library.put("note/a", "pump\n")
    found = page(library, "pump", seconds=0.01)
    gate.set()
    assert [hit.entry.slug for hit in found.hits] == ["a"]
    assert "did not answer" in found.degraded[0].reason


@pytest.mark.parametrize("fusion", ["score", "rrf"])
def test_words_and_vectors_are_fused(fusion: str) -> None:
    library = Library(embedder=BagEmbedder())
    library.put("note/both", "cooling pump failure\n")
    library.put("note/word", "pump and many other words that nobody asked for at all here\n")
    library.put("note/none", "entirely unrelated\n")
    found = page(library, "cooling pump failure", fusion=fusion)
    assert [hit.entry.slug for hit in found.hits][:2] == ["both", "word"]
    assert found.hits[0].channels["lexical"] == 1
    assert found.hits[0].channels["vector"] == 1


def test_chinese_is_found_by_any_two_characters() -> None:
    library = Library()
    library.put("note/zh", "中文合約轉換體驗課問題\n")
    library.put("note/world", "你好，世界！\n")
    assert find(library, "合約") == ["note/zh"]
    assert find(library, "世界") == ["note/world"]


@pytest.mark.parametrize(
    "question",
    [
        "note/the-who", "/engram/note/the-who.md", "the-who", "The Who", "THE WHO", "the  who",
        "who is [[The Who]]?", "see note/the-who.md.", "[[note/the-who|them]]", "Wholigans",
    ],
)  # fmt: skip
def test_what_is_named_stands_first(question: str) -> None:
    library = Library()
    library.put("note/the-who", "---\ntitle: The Who\naliases: [Wholigans]\n---\nA band.\n")
    for n in range(3):
        library.put(f"note/{n}", "who who who the the wholigans note see them the who who is\n")
    first = page(library, question).hits[0]
    assert first.entry.slug == "the-who"
    assert first.channels["exact"] == 1


def test_an_id_in_the_question_is_found() -> None:
    library = Library()
    entry = library.put("note/a", "nothing in common\n")
    library.put("note/b", "what is this about\n")
    assert find(library, f"what is {entry.id.upper()} about?")[0] == "note/a"
    library.delete("note/a")
    assert find(library, entry.id) == []


@pytest.mark.parametrize(("bonus", "first"), [(0.0, "b"), (0.15, "a")])
def test_a_title_that_the_question_contains_is_lifted(bonus: float, first: str) -> None:
    library = Library()
    library.config = replace(library.config, exact_title_bonus=bonus)
    library.put("note/a", "# Cooling water\n\nIt is in the tank.\n")
    library.put("note/b", "# Tanks\n\nCooling water in the tank is water for cooling the pumps.\n")
    hits = page(library, "how much cooling water is there?").hits
    assert hits[0].entry.slug == first
    channels = {hit.entry.slug: hit.channels for hit in hits}
    assert channels["a"]["exact"] == 1
    assert "exact" not in channels["b"]


def test_a_one_word_title_is_named_by_the_whole_question_only() -> None:
    library = Library()
    library.put("note/hello", "# Hello\n\nA greeting.\n")
    library.put("note/other", "Say hello and hello again and hello.\n")
    assert find(library, "hello")[0] == "note/hello"
    assert "exact" not in page(library, "say hello now").hits[0].channels


@pytest.mark.parametrize(("floor", "found"), [(0.0, ["pump", "valve"]), (2.0, ["pump"])])
def test_a_hit_without_a_common_word_needs_the_floor(floor: float, found: list[str]) -> None:
    library = Library(config=Config(vector_floor=floor), embedder=BagEmbedder())
    library.put("note/pump", "The pump overheats.\n")
    library.put("note/valve", "The valve leaks.\n")
    asked = "the pump"  # a stop word is no common word to the lexical channel, but to the vectors
    assert find(library, asked) == [f"note/{slug}" for slug in found]
    assert find(library, asked, channels=("vector",)) == ["note/pump", "note/valve"]
