"""Recall from a question to the bytes of its answer, over the real index."""

from __future__ import annotations

import json
import threading
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.catalogue import Catalogue, Kind
from engine.config import Config
from engine.document import with_id
from engine.errors import EmbedderFailed, Invalid, NotFound, StrictRecallFailed
from engine.namespace import Scope
from engine.recall.recall import recall
from engine.recall.request import RecallRequest, parse_request
from engine.tokens import counter
from tests.engine.library import BagEmbedder, Library, path_of

O200K = counter("o200k")


def test_a_pack_says_what_it_holds(library: Library) -> None:
    packed = library.ask("q=pump overheats&budget=500")
    text = packed.rendered.decode()
    assert packed.tokens == O200K(packed.rendered) <= 500
    assert f"tokens: {packed.tokens}\n" in text
    assert f"token: {packed.token}\n" in text
    assert "controls: budget=500\n" in text
    assert text.index("## asset/pump.md") < text.index("## asset/valve.md")
    assert "> The pump overheats in summer." in text
    assert packed.controls["detail"] == "auto"
    assert library.misses == []


def test_json_says_the_same(library: Library) -> None:
    packed = library.ask("q=pump overheats&format=json")
    answer = json.loads(packed.rendered)
    assert [one["path"] for one in answer["items"]] == [one.path for one in packed.items]
    assert answer["tokens"] == packed.tokens == O200K(packed.rendered)
    assert answer["items"][0]["channels"] == {"lexical": 1, "vector": 1}
    assert answer["controls"]["q"] == "pump overheats"
    assert answer["controls"]["channels"][-1] == "temporal"
    assert answer["items"][0]["body"] == "# Pump\n\nThe pump overheats in summer.\n"


def test_the_same_question_has_the_same_bytes(library: Library) -> None:
    assert library.ask("q=pump").rendered == library.ask("q=pump").rendered
    assert library.ask("q=pump").token != library.ask("q=pump&budget=900").token


def test_an_edit_is_seen_at_once(library: Library) -> None:
    library.put("note/animal", "zebra\n")
    assert library.paths("q=zebra")[0] == "note/animal.md"
    library.put("note/animal", "giraffe\n", embed=False)
    assert library.paths("q=giraffe")[0] == "note/animal.md"
    assert "note/animal.md" not in library.paths("q=zebra")
    library.delete("note/animal")
    assert "note/animal.md" not in library.paths("q=giraffe")


def test_no_result_is_a_pack_that_says_so_and_a_miss(library: Library) -> None:
    packed = library.ask("q=qwrtz&format=json&kinds=note,asset")
    answer = json.loads(packed.rendered)
    assert answer["items"] == []
    assert answer["omitted"] == {"count": 0, "paths": []}
    assert not answer["truncated"]
    assert answer["controls"]["kinds"] == ["asset", "note"]
    assert library.misses == ["qwrtz"]


def test_browsing_is_newest_first_and_no_demand(library: Library) -> None:
    assert library.paths("kinds=asset,incident,note") == [
        "asset/pump.md", "asset/valve.md", "note/other.md", "incident/may.md",
    ]  # fmt: skip
    assert library.ask("kinds=empty").items == ()
    assert library.misses == []


def test_kinds_are_one_ranking_whatever_their_order(library: Library) -> None:
    one = library.ask("q=pump overheats&kinds=incident,asset")
    two = library.ask("q=pump overheats&kinds=asset&kinds=incident")
    assert one.rendered == two.rendered
    assert {item.entry.kind for item in one.items} == {"asset", "incident"}


def test_filters_only_remove(library: Library) -> None:
    everything = library.ask("q=pump overheats")
    for text in ("kind=asset", "prop.stage=open", "title=Pump", "updated_after=1975-06-20"):
        some = library.ask(f"q=pump overheats&{text}")
        kept = {item.entry.no: item.score for item in some.items}
        assert 0 < len(kept) < len(everything.items), text
        assert [(i.entry.no, i.score) for i in everything.items if i.entry.no in kept] == [
            (i.entry.no, i.score) for i in some.items
        ]


def test_limit_and_k(library: Library) -> None:
    assert len(library.ask("q=pump&limit=1").items) == 1
    library.put("note/a", "alpha beta gamma delta pum\n")
    by_vector = library.ask("q=entirely unrelated words stand here&channels=vector&k=1")
    assert len(by_vector.items) == 1


def test_channels_can_be_chosen_and_weighed(library: Library) -> None:
    packed = library.ask("q=pump&channels=lexical")
    assert library.embedder is not None
    assert library.embedder.asked == []
    assert {name for item in packed.items for name in item.channels} == {"lexical"}
    assert packed.degraded == ()
    named = library.ask("q=the may incident/may.md&channels=exact")
    assert [item.path for item in named.items] == ["incident/may.md"]
    heavy = library.ask("q=pump&weights=lexical:3,vector:1&format=json")
    assert json.loads(heavy.rendered)["controls"]["weights"]["lexical"] == 3.0


def test_details(library: Library) -> None:
    sections = "\n".join(f"## Part {n}\n\nword {'pump ' * 60}\n" for n in range(12))
    library.put("note/long", f"---\nsummary: All of it\n---\n# Long\n\n{sections}")
    ask = "q=word pump&kinds=note&budget=8000&detail="
    whole = library.ask(f"{ask}full").items[0]
    assert whole.body is not None
    assert whole.body.startswith("# Long\n\n## Part 0")
    assert whole.body.endswith("pump \n")
    for detail in ("auto", "parts"):
        parts = library.ask(ask + detail).items[0]
        assert parts.body is None
        assert len(parts.passages) == 3
        assert sum(O200K(passage.text) for passage in parts.passages) <= 600
        lines = [passage.span.start_line for passage in parts.passages]
        assert lines == sorted(lines)
    short = library.ask(f"{ask}summary").items[0]
    assert (short.body, short.passages, short.summary) == (None, (), "All of it")
    assert "All of it" in library.ask(f"{ask}summary").rendered.decode()


def test_passages_are_the_bytes_of_the_file_as_shown() -> None:
    library = Library()
    filler = "\n\n".join(f"Filler {n} {'text ' * 40}" for n in range(20))
    body = f"# A\n\n{filler}\n\n## Needle\n\nThe needle.\n"
    for name, text in (
        ("none", body),
        ("block", f"---\nstage: x\n---\n{body}"),
        ("flow", f"---\n{{stage: x}}\n---\n{body}"),
        ("crlf", f"---\nstage: x\n---\n{body}".replace("\n", "\r\n")),
        ("carried", f"---\nid: 00000000-0000-7000-8000-000000000004\n---\n{body}"),
    ):
        entry = library.put(f"note/{name}", text)
        for shown in (True, False):
            packed = library.ask("q=needle&detail=parts&limit=9", shown=shown)
            passage = next(i for i in packed.items if i.entry.slug == name).passages[-1]
            source = text.encode()
            source = with_id(source, entry.id) if shown else source
            piece = source[passage.span.byte_start : passage.span.byte_end]
            assert piece.decode().replace("\r\n", "\n") == passage.text
            lines = source[: passage.span.byte_start].count(b"\n") + 1
            assert passage.span.start_line == lines


def test_one_hit_of_10000_characters_at_200_tokens() -> None:
    for text in ("pump failure in the old station. " * 300, "中文合約轉換體驗課問題。" * 900):
        library = Library()
        library.put("note/long", f"# Long\n\n{text}\n")
        question = "pump" if "pump" in text else "合約"
        for name in ("o200k", "cl100k", "bytes4", "model"):
            packed = library.ask(f"q={question}&budget=200&counter={name}")
            said = packed.rendered.decode()
            assert packed.tokens == counter(name)(packed.rendered) <= 200
            assert packed.truncated
            assert "truncated: true" in said
            if not packed.items:
                assert "omitted: 1" in said
            for item in packed.items:
                assert all(passage.text in f"# Long\n\n{text}\n" for passage in item.passages)


def test_a_long_note_is_found_by_the_word_at_its_end() -> None:
    library = Library()
    library.put("note/long", f"# Long\n\n{'lorem ipsum dolor. ' * 10_500}\n\nxylophone\n")
    packed = library.ask("q=xylophone")
    assert [item.path for item in packed.items] == ["note/long.md"]
    assert "xylophone" in packed.rendered.decode()


def test_a_question_of_20000_characters_is_cut_for_the_vectors_only(library: Library) -> None:
    question = "word " * 3_990 + "leaks"
    request = parse_request(
        [("q", question), ("format", "json")], library.catalogue, library.config, form="written"
    )
    packed = recall(library, Scope((), exact=True), request, path_of=path_of)
    assert packed.items[0].path == "asset/valve.md"
    assert library.embedder is not None
    (asked,) = library.embedder.asked
    assert len(asked.split()) == 254
    answer = json.loads(packed.rendered)
    assert "cut" in answer["degraded"][0]["reason"]
    assert "cut" in answer["warnings"][0]
    assert len(packed.rendered) < 16_384


def test_what_is_pending_is_said(library: Library) -> None:
    library.put("note/new", "a new pump\n", embed=False)
    packed = library.ask("q=pump")
    assert "reasons: [vector - 2 vectors pending]" in packed.rendered.decode()


def test_without_embedding_every_answer_says_so() -> None:
    library = Library()
    library.put("note/a", "pump\n")
    packed = library.ask("q=pump")
    assert packed.items[0].path == "note/a.md"
    assert "vector - embedding is switched off" in packed.rendered.decode()


def test_strict_fails_where_a_channel_did_not_run(library: Library) -> None:
    assert library.ask("q=pump&strict=on").items
    library.put("note/new", "a new pump\n", embed=False)
    assert library.ask("q=pump&strict=on").degraded  # pending vectors are no failure
    library.embedder = None
    with pytest.raises(StrictRecallFailed) as caught:
        library.ask("q=pump&strict=on")
    assert "channels=lexical,exact" in caught.value.hint
    assert library.ask("q=pump&strict=on&channels=lexical,exact").items


def test_strict_fails_with_the_model(library: Library) -> None:
    class Broken(BagEmbedder):
        def embed_query(self, text: str):  # type: ignore[no-untyped-def]
            raise EmbedderFailed("the model is damaged")

    library.embedder = Broken()
    assert library.ask("q=pump").degraded[0].reason == "the model is damaged"
    with pytest.raises(StrictRecallFailed):
        library.ask("q=pump&strict=on")


def test_a_slow_model_is_not_waited_for(library: Library) -> None:
    gate = threading.Event()

    class Slow(BagEmbedder):
        def embed_query(self, text: str):  # type: ignore[no-untyped-def]
            gate.wait(120)
            return self.embed(text)

    library.embedder = Slow()
    packed = library.ask("q=pump", seconds=0.01)
    gate.set()
    assert packed.items
    assert "did not answer within 0.01 s" in packed.degraded[0].reason


def test_fresh_waits_for_vectors_first(library: Library) -> None:
    library.ask("q=pump&fresh=on")
    library.ask("q=pump")
    assert library.waited == [5.0]


def test_a_damaged_row_is_passed_over(library: Library) -> None:
    entry = library.entries.at(((), "asset", "pump"))
    assert entry is not None
    del library.rows[entry.seq]
    packed = library.ask("q=pump overheats")
    assert "asset/pump.md" not in [item.path for item in packed.items]
    assert packed.items
    assert not packed.truncated


def test_a_namespace_narrows_and_a_wider_scope_has_no_paths(library: Library) -> None:
    library.put("note/theirs", "the pump of team a\n", namespace=(("team", "a"),))
    assert "note/theirs" not in library.ask("q=pump").rendered.decode()
    wide = library.ask("q=pump team&format=json", Scope())
    theirs = next(i for i in json.loads(wide.rendered)["items"] if i["title"] == "theirs")
    assert theirs["path"] is None
    assert theirs["id"]
    narrow = library.ask("q=pump&namespace.team=a", Scope())
    assert [item.entry.slug for item in narrow.items] == ["theirs"]
    with pytest.raises(Invalid):
        library.ask("q=pump&namespace.team=b", Scope((("team", "a"),)))


def test_a_host_may_rank_with_its_own_numbers(library: Library) -> None:
    library.config = replace(Config(), recency_floor=0.0, recency_decay=10.0)
    packed = library.ask("q=may the pump overheats again")
    scores = {item.path: item.score for item in packed.items}
    assert scores["incident/may.md"] < scores["asset/pump.md"]


WORDS = st.sampled_from(["pump", "valve", "leaks", "合約", "世界", "##", "---", ">", "the"])
BODIES = st.lists(WORDS, max_size=60).map(lambda words: f"text {' '.join(words)}")


@settings(max_examples=25, deadline=None)
@given(
    bodies=st.lists(BODIES, min_size=1, max_size=8),
    question=st.lists(WORDS, min_size=1, max_size=4).map(" ".join),
    budgets=st.lists(st.integers(64, 900), min_size=2, max_size=4, unique=True).map(sorted),
    detail=st.sampled_from(["auto", "full", "parts", "summary"]),
    counting=st.sampled_from(["o200k", "bytes4"]),
)
def test_laws_over_any_library(
    bodies: list[str], question: str, budgets: list[int], detail: str, counting: str
) -> None:
    library = Library(Catalogue({"a": Kind("a"), "b": Kind("b")}), embedder=BagEmbedder())
    for n, body in enumerate(bodies):
        library.put(f"{'ab'[n % 2]}/n{n}", body, days=n)
    request = RecallRequest(question, detail=detail, counter=counting)
    before: list[tuple[object, ...]] = []
    for budget in budgets:
        packed = recall(
            library, Scope((), exact=True), replace(request, budget=budget), path_of=path_of
        )
        assert counter(counting)(packed.rendered) == packed.tokens <= budget
        texts = [(i.entry.no, i.score, i.body, i.passages) for i in packed.items]
        if len(before) != 1:  # a single item may have been reduced
            assert texts[: len(before)] == before
        before = texts
    orders = [
        library.ask(f"q={question.replace('#', '%23')}&kinds={kinds}").rendered
        for kinds in ("a,b", "b,a", "b&kinds=a")
    ]
    assert len(set(orders)) == 1


def test_a_token_is_nothing_to_recall(library: Library) -> None:
    with pytest.raises(NotFound, match="a000a000 is kept by who asked"):
        library.ask("set=a000a000")


def test_a_floor_of_a_channel_that_did_not_run_is_named(library: Library) -> None:
    packed = library.ask("q=pump&min_score.temporal=0.5&min_score.lexical=0.1")
    assert packed.items
    assert packed.warnings == ("min_score.temporal counts for nothing: the channel did not run",)


def test_floors_are_inclusive_and_move_nothing_up(library: Library) -> None:
    every = library.ask("q=pump overheats")
    scores = [item.score for item in every.items]
    kept = library.ask(f"q=pump overheats&min_score={scores[1]}")
    assert [item.score for item in kept.items] == scores[:2]
    two = library.ask(f"q=pump overheats&limit=2&min_score={scores[0]}")
    assert [item.score for item in two.items] == scores[:1]


def test_many_tags_leave_room_for_the_answer() -> None:
    library = Library()
    library.put("note/a", "---\ntags: [red]\n---\nThe pump.\n")
    tags = "&".join(f"tags=some-tag-{number}" for number in range(2_000))
    answer = json.loads(library.ask(f"q=pump&format=json&budget=512&tags=red&{tags}").rendered)
    assert [item["path"] for item in answer["items"]] == ["note/a.md"]
    assert answer["controls"]["tags"][-1] == "…"
    assert answer["controls"]["tags"][0] == "red"
