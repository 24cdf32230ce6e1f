"""Facts: which edges answer a question, how they score, and what they never show."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.channels import retrieve
from engine.config import Config
from engine.errors import GraphFailed
from engine.filters import Filters
from engine.masks import Masks, masks
from engine.model import EdgeMeta
from engine.namespace import Scope
from engine.query import query_terms
from engine.ranking import Ranking, Rules, browse, rank
from engine.reader import Reader
from engine.recall.facts import OF_AN_END, Fact, facts
from engine.text import analyse
from tests.engine.desk import HERE, Desk
from tests.engine.library import TREE, Library

WORDS = ("pump", "valve", "leak", "summer", "zebra")
NO_FILTERS = Filters()


def found(
    reader: Reader, question: str, *, scope: Scope = TREE, filters: Filters = NO_FILTERS
) -> tuple[Masks, Ranking]:
    """What the word channels find."""
    columns = reader.columns.now()
    mask = masks(columns, reader.properties, scope, filters)
    ran = retrieve(reader, columns, mask.covered, mask.hidden, question, ("lexical", "exact"))
    return mask, rank(columns, ran, mask.allowed, (), Rules(reader.config, now_ns=0), 200)


def facts_of(
    reader: Any,
    question: str,
    most: int = 200,
    *,
    bare: bool = False,
    scope: Scope = TREE,
    filters: Filters = NO_FILTERS,
) -> tuple[Fact, ...]:
    mask, ranking = found(reader, question, scope=scope, filters=filters)
    return facts(reader, mask, question, ranking, most, bare=bare)


def told(found: tuple[Fact, ...]) -> list[str]:
    return [f"{one.source.slug} {one.relation} {one.target.slug}" for one in found]


@pytest.fixture
def library() -> Library:
    made = Library()
    made.put("asset/pump", "It overheats in summer.\n")
    made.put("doc/manual", "Turn the wheel.\n")
    made.put("firm/maker", "Lives in Rome.\n")
    made.link("asset/pump", "described_by", "doc/manual", note="chapter nine", confidence=0.5)
    made.link("doc/manual", "made_by", "firm/maker", note="printed in Naples, in winter")
    made.link("asset/pump", "sold_by", "firm/maker")
    return made


def test_of_equal_facts_the_one_that_says_more_comes_first_however_few_are_asked() -> None:
    library = Library()
    for slug, body in (("a", ""), ("b", "pump"), ("c", "pump valve")):
        library.put(f"note/{slug}", f"# Plain\n\n{body}\n")
    library.link("note/a", "about", "note/b", note="valve")
    library.link("note/a", "near", "note/b", note="pump")
    library.link("note/a", "about", "note/c", note="pump zebra")
    every = told(facts_of(library, "pump zebra"))
    assert every[:2] == ["a near b", "a about b"]
    assert [told(facts_of(library, "pump zebra", most)) for most in (1, 2, 3)] == [
        every[:most] for most in (1, 2, 3)
    ]


def test_an_edge_hangs_on_the_better_of_its_ends(library: Library) -> None:
    [fact] = facts_of(library, "overheats")
    assert told((fact,)) == ["pump described_by manual"]
    _, ranking = found(library, "overheats")
    assert fact.score == pytest.approx(OF_AN_END * min(1.0, ranking.scores[0]) * 0.5)
    assert (fact.note, fact.confidence, fact.origin) == ("chapter nine", 0.5, "link")
    assert told(facts_of(library, "overheats", bare=True)) == [
        "pump sold_by maker", "pump described_by manual",
    ]  # fmt: skip


def test_a_note_is_found_by_its_words(library: Library) -> None:
    library.put("note/winter", "Winter winter winter.\n")
    [fact] = facts_of(library, "naples printing winters ghost")
    assert told((fact,)) == ["manual made_by maker"]
    _, ranking = found(library, "naples printing winters ghost")
    assert fact.share == 0.75
    assert fact.score == pytest.approx(0.75 * min(1.0, ranking.scores[0]))
    assert facts_of(library, "naples printing", bare=False)[:0] == ()


def test_a_note_alone_scores_its_share_where_no_engram_is_found(library: Library) -> None:
    [fact] = facts_of(library, "naples")
    assert (told((fact,)), fact.score) == (["manual made_by maker"], 1.0)


def test_what_is_named_counts_one(library: Library) -> None:
    mask, ranking = found(library, "asset/pump.md")
    assert ranking.scores[0] > 1.0
    got = facts(library, mask, "asset/pump.md", ranking, 9, bare=True)
    assert got[0].score == OF_AN_END
    assert all(fact.score < ranking.scores[0] for fact in got)


def test_among_the_facts_of_one_engram_the_note_decides(library: Library) -> None:
    for at in range(100):
        library.put(f"doc/page{at}", "Nothing.\n")
        library.link("asset/pump", "about", f"doc/page{at}", note=f"nought {at}")
    library.put("doc/last", "Nothing.\n")
    library.link("asset/pump", "zoo", "doc/last", note="because of overheating bearings")
    assert told(facts_of(library, "overheats bearings", 1)) == ["pump zoo last"]


def test_two_edges_of_a_relation_are_one_fact_with_the_note() -> None:
    desk = Desk()
    desk.put("a", "It overheats, see [[b]] and [[b#top]].\n")
    desk.put("b", "Nothing.\n")
    desk.engine.link(HERE, "note/a", "mentions", "note/b", EdgeMeta(note="by hand"))
    [fact] = facts_of(desk.engine.reading, "overheats", bare=True, scope=HERE)
    assert (fact.relation, fact.note) == ("mentions", "by hand")


def test_edges_that_cannot_be_read_are_told(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no numpy here")

    mask, ranking = found(library, "overheats")
    monkeypatch.setattr(library.notes, "saying", broken)
    with pytest.raises(GraphFailed, match="no numpy here"):
        facts(library, mask, "overheats", ranking, 9, bare=False)


@pytest.mark.parametrize("fails", [False, True])
def test_edges_that_cannot_be_read_fail_a_recall_where_the_host_says_so(
    fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no numpy here")

    library = Library(config=Config(fail_on_graph_error=fails))
    library.put("asset/pump", "It overheats in summer.\n")
    monkeypatch.setattr(library.notes, "saying", broken)
    asked = "q=overheats&channels=lexical"  # facts need no graph channel
    if fails:
        with pytest.raises(GraphFailed, match="no numpy here"):
            library.ask(asked)
    else:
        packed = library.ask(asked)
        assert [item.path for item in packed.items] == ["asset/pump.md"]
        assert "facts" in [degraded.what for degraded in packed.degraded]
    assert library.ask(f"{asked}&surfaces=engrams").items


def test_a_browse_has_no_facts(library: Library) -> None:
    columns = library.columns.now()
    mask = masks(columns, library.properties, TREE, NO_FILTERS)
    assert facts(library, mask, "", browse(columns, mask.allowed, 9), 9, bare=True) == ()
    assert facts_of(library, "overheats", 0, bare=True) == ()
    assert facts_of(library, "?!", bare=True) == ()


def test_filters_need_one_end(library: Library) -> None:
    def only(kind: str) -> list[str]:
        return told(facts_of(library, "naples", filters=Filters(kinds=frozenset({kind}))))

    assert only("doc") == only("firm") == ["manual made_by maker"]
    assert only("asset") == []


def test_nothing_outside_the_scope_or_hidden_is_told() -> None:
    desk = Desk()
    other = Scope((("team", "x"),))
    desk.put("a", "It overheats.\n")
    desk.put("b", "Nothing.\n")
    desk.put("old", "---\nsuperseded_by: b\n---\nNothing.\n")
    desk.engine.put(other, _draft("far", "Nothing.\n"))
    for relation, end in (("to_b", "b"), ("to_old", "old")):
        desk.engine.link(HERE, "note/a", relation, f"note/{end}", EdgeMeta(note="naples"))
    wide = Scope(())
    far = desk.engine.lookup(other, "note", "far")
    assert far is not None
    desk.engine.link(wide, desk.entry("a").id, "to_far", far.id, EdgeMeta(note="naples"))
    reading = desk.engine.reading
    for question in ("overheats", "naples"):
        for bare in (False, True):
            assert told(facts_of(reading, question, bare=bare, scope=HERE)) == ["a to_b b"]
            assert told(facts_of(reading, question, bare=bare, scope=wide)) == [
                "a to_b b", "a to_far far",
            ]  # fmt: skip
    desk.rm("b")
    assert facts_of(reading, "overheats", bare=True, scope=HERE) == ()


def test_edges_to_an_original_belong_to_the_copy_that_will_succeed_it() -> None:
    desk = Desk()
    desk.put("a", "Nothing.\n")
    desk.put("b", "It overheats.\n")
    desk.engine.link(HERE, "note/a", "about", "note/b", EdgeMeta(note="naples"))
    copy = desk.shown("b")
    desk.put("c", copy)
    desk.rm("b")
    for question in ("overheats", "naples"):
        for bare in (False, True):
            got = facts_of(desk.engine.reading, question, bare=bare, scope=HERE)
            assert told(got) == ["a about c"]


def test_a_fold_and_a_reopening_change_nothing(tmp_path: Any) -> None:
    desk = Desk(tmp_path / "store")
    for slug in "abc":
        desk.put(slug, f"{slug} overheats [[b]].\n")
    for a, b in ("ab", "bc", "ca"):
        meta = EdgeMeta(note=f"naples {a}")
        desk.engine.link(HERE, f"note/{a}", "near", f"note/{b}", meta)
    asked = [("overheats", False), ("overheats", True), ("naples", False), ("a", False)]

    def answers() -> list[Any]:
        reading = desk.engine.reading
        return [
            [(told((f,)), f.note) for f in facts_of(reading, q, bare=bare, scope=HERE)]
            for q, bare in asked
        ]

    before = answers()
    desk.engine.reading.edges.fold(contextlib.nullcontext())
    assert answers() == before
    desk.engine.link(HERE, "note/a", "near", "note/b", EdgeMeta(note="rome"))
    assert "a near b" not in told(facts_of(desk.engine.reading, "naples", scope=HERE))[:1]
    desk.engine.link(HERE, "note/a", "near", "note/b", EdgeMeta(note="naples a"))
    assert answers() == before
    desk.reopen()
    assert answers() == before
    desk.engine.unlink(HERE, "note/a", "near", "note/b")
    assert "a near b" not in told(facts_of(desk.engine.reading, "naples", scope=HERE))


def _draft(slug: str, text: str) -> Any:
    from engine.model import Draft

    return Draft("note", slug, text.encode())


# -- against the definition ---------------------------------------------------------
def plainly(library: Library, question: str, most: int, *, bare: bool) -> list[tuple[str, float]]:
    """Facts by their definition: every edge looked at."""
    mask, ranking = found(library, question)
    scores = dict(zip(ranking.numbers.tolist(), ranking.scores.tolist(), strict=True))
    groups = query_terms(question, ("en",))
    best = min(1.0, max(scores.values(), default=1.0))
    shown = mask.covered & ~mask.hidden
    made: dict[tuple[int, str, int], Any] = {}
    for row in library.edges.all():
        if not (shown[row.source] and shown[row.target]) or not (row.note or bare):
            continue
        terms = set(analyse(row.note, "en"))
        share = sum(not terms.isdisjoint(group) for group in groups) / max(len(groups), 1)
        sure = row.confidence or 1.0
        end = max(scores.get(row.source, 0.0), scores.get(row.target, 0.0))
        if end:
            score = OF_AN_END * min(1.0, end) * sure
        elif share:
            score = share * best * sure
        else:
            continue
        source, target = (
            library.columns.now().entry(row.source),
            library.columns.now().entry(row.target),
        )
        made[row.source, row.relation, row.target] = (
            -round(score, 9), -share, row.relation, source.id, target.id,
            f"{source.slug} {row.relation} {target.slug}",
        )  # fmt: skip
    return [(one[5], -one[0]) for one in sorted(made.values())[:most]]


texts = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)
links = st.tuples(
    st.integers(0, 7),
    st.integers(0, 7),
    st.sampled_from(("about", "near")),
    st.one_of(st.none(), st.sampled_from((0.25, 0.5, 1.0))),
    texts,
)


@settings(max_examples=150, deadline=None)
@given(
    bodies=st.lists(texts, min_size=8, max_size=8),
    edges=st.lists(links, max_size=12),
    folds=st.sets(st.integers(0, 12)),
    question=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join),
    most=st.integers(1, 12),
    bare=st.booleans(),
)
def test_facts_are_those_of_the_definition(
    bodies: list[str],
    edges: list[tuple[int, int, str, float | None, str]],
    folds: set[int],
    question: str,
    most: int,
    bare: bool,
) -> None:
    library = Library()
    for at, body in enumerate(bodies):
        library.put(f"note/n{at}", f"# Plain\n\n{body}\n")
    made = set()
    for at, (a, b, relation, sure, note) in enumerate(edges):
        if at in folds:
            library.edges.fold(contextlib.nullcontext())
        if a != b and (a, relation, b) not in made:
            made.add((a, relation, b))
            library.link(f"note/n{a}", relation, f"note/n{b}", sure, note=note)
            facts_of(library, question, most, bare=bare)  # the index grows along
    got = facts_of(library, question, most, bare=bare)
    assert [
        (each, pytest.approx(one.score)) for each, one in zip(told(got), got, strict=True)
    ] == plainly(library, question, most, bare=bare)


def test_a_filter_changes_the_score_of_no_fact() -> None:
    """The better end counts though a filter takes it out, as long as the other passes."""
    library = Library()
    library.put("task/strong", "pump pump pump\n")
    library.put("note/weak", "a long text about very many things, of which one is a pump\n")
    library.link("task/strong", "about", "note/weak", note="why it matters")
    every = [item.score for item in library.ask("q=pump&surfaces=facts").items]
    some = [item.score for item in library.ask("q=pump&surfaces=facts&kinds=note").items]
    assert every == some != []
