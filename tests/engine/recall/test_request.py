"""Judging a request: defaults, ranges, every problem at once, totality."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.catalogue import Catalogue, Field, Kind
from engine.config import Config
from engine.errors import Invalid
from engine.namespace import Scope
from engine.recall.pairs import KEYS, parse_pairs
from engine.recall.request import RecallRequest, parse_request

CONFIG = Config()
CATALOGUE = Catalogue(
    {
        "deal": Kind("deal", fields={"stage": Field("stage", enum=("open", "won"))}),
        "task": Kind("task", fields={"due": Field("due", "datetime")}),
        "trial": Kind("trial"),
    },
    {"work": ("task", "trial")},
)


def ask(text: str, **options: object) -> RecallRequest:
    return parse_request(parse_pairs(text), CATALOGUE, CONFIG, **options)  # type: ignore[arg-type]


def problems(text: str, **options: object) -> list[str]:
    with pytest.raises(Invalid) as caught:
        ask(text, **options)
    return [f"{problem.key}: {problem}" for problem in caught.value.problems]


def test_defaults() -> None:
    request = ask("q=pumps")
    assert request.question == "pumps"
    assert (request.budget, request.counter, request.limit, request.k) == (4096, "o200k", 200, 24)
    assert request.max_characters == 200_000
    assert request.channels == ("lexical", "vector", "exact", "graph", "temporal")
    assert (request.depth, request.hops, request.reverse, request.seeds) == ("mid", 1, False, 8)
    assert (request.least, request.least_score) == ((), 0.0)
    assert request.source_roles == ("user", "assistant", "system", "tool")
    assert request.surfaces == ("engrams", "passages", "facts", "digests")
    assert (request.altitude, request.tags_match) == ("auto", "any")
    assert (request.max_source_tokens, request.max_chunk_tokens) == (4096, 500)
    assert (request.detail, request.fusion, request.format) == ("auto", "score", "md")
    assert not (request.fresh or request.trace or request.strict or request.browse)


@pytest.mark.parametrize(
    "text",
    [
        "budget=64", "budget=32768", "budget=512&format=json", "max_characters=1", "limit=1",
        "max_characters=200000", "k=1", "channels=exact,lexical", "detail=summary", "fusion=rrf",
        "counter=bytes4", "trace=on", "strict=1", "fresh=true", "trace=off", "weights=vector:2",
        "channels=graph,lexical", "weights=graph:2", "depth=high", "hops=2", "reverse=on",
        "seeds=32", "min_score.graph=0.5", "min_score=100", "min_score.temporal=1", "tags=a,b",
        "tags_match=exact", "source_roles=user,tool", "surfaces=facts", "surfaces=reports",
        "themes=on", "altitude=tenant", "sources=on&max_source_tokens=1", "chunks=on&budget=0",
        "max_chunk_tokens=8192&chunks=on", "now=2026-04-05T10:00:00+09:00", "as_of=2026-01-01",
        "channels=temporal", "weights=temporal:2",
        "prop.stage=open,won", "prop.due_after=2026-01-01", "kind=deal", "title=Acme",
        "created_after=2026-01-01&updated_before=2026-02-01", "scope_ids=deal/acme",
    ],
)  # fmt: skip
def test_what_is_accepted(text: str) -> None:
    assert ask(f"q=x&{text}").question == "x"


@pytest.mark.parametrize(
    ("text", "key", "said"),
    [
        ("budget=63", "budget", "64 to 32768"),
        ("budget=32769", "budget", "64 to 32768"),
        ("budget=0", "budget", "64 to 32768"),
        ("budget=511&format=json", "budget", "512 to 32768"),
        ("budget=many", "budget", "many"),
        ("budget=1e3", "budget", "whole number"),
        ("budget=100&budget=200", "budget", "2 times"),
        ("max_characters=0", "max_characters", "1 to 200000"),
        ("max_characters=-1", "max_characters", "1 to 200000"),
        ("max_characters=200001", "max_characters", "1 to 200000"),
        ("limit=0", "limit", "1 to 200"),
        ("k=0", "k", "1 to 1000"),
        ("counter=gpt", "counter", "o200k, cl100k, bytes4, model"),
        ("channels=", "channels", "lexical, vector, exact"),
        ("channels=lexical,psychic", "channels", "psychic` is not known"),
        ("channels=vector,lexical,vector", "channels", "2 times"),
        ("tags=", "tags", "empty"),
        ("tags_match=some", "tags_match", "any, all, any_strict, all_strict, exact"),
        ("source_roles=", "source_roles", "empty"),
        ("source_roles=user,user", "source_roles", "2 times"),
        ("source_roles=USER", "source_roles", "user, assistant, system, tool"),
        ("surfaces=", "surfaces", "empty"),
        ("surfaces=facts,facts", "surfaces", "2 times"),
        ("surfaces=digests,reports", "surfaces", "2 times"),
        ("surfaces=books", "surfaces", "engrams, passages, facts, digests"),
        ("themes=perhaps", "themes", "on, off"),
        ("altitude=high", "altitude", "auto, entity, scope, tenant"),
        ("sources=2", "sources", "on, off"),
        ("max_source_tokens=0", "max_source_tokens", "1 to 32768"),
        ("max_chunk_tokens=8193", "max_chunk_tokens", "1 to 8192"),
        ("min_score=-1", "min_score", "0 to 100"),
        ("min_score.lexical=2", "min_score.lexical", "0 to 1"),
        ("now=soon", "now", "2026-04-05"),
        ("as_of=1999", "as_of", "2026-04-05"),
        ("now=2026-01-01&now=2026-01-02", "now", "2 times"),
        ("depth=deep", "depth", "low, mid, high"),
        ("hops=far", "hops", "whole number, 1 to 2"),
        ("seeds=0", "seeds", "1 to 32"),
        ("seeds=33", "seeds", "1 to 32"),
        ("reverse=maybe", "reverse", "on, off"),
        ("min_score.graph=1.1", "min_score.graph", "0 to 1"),
        ("min_score.graph=nan", "min_score.graph", "0 to 1"),
        ("min_score.psychic=0.5", "min_score.psychic", "no key"),
        ("weights=trigram:1", "weights", "no channel"),
        ("weights=lexical", "weights", "lexical:2"),
        ("weights=lexical:nan", "weights", "number"),
        ("weights=lexical:1_0", "weights", "number"),
        ("weights=lexical:\u0662", "weights", "number"),
        ("min_score=1_0", "min_score", "a number, 0 to 100"),
        ("detail=some", "detail", "auto, full, parts, summary"),
        ("fusion=max", "fusion", "score, rrf"),
        ("format=xml", "format", "md, json"),
        ("trace=maybe", "trace", "on, off"),
        ("kinds=dael", "kinds", "deal"),
        ("prop.colour=red", "prop.colour", "not declared"),
        ("prop.stage=lost", "prop.stage", "open, won"),
        ("created_after=soon", "created_after", "2026-04-05"),
        ("sort=up", "sort", "no key"),
        ("offset=3", "offset", "no key"),
        ("set=a123b456", "set", "stands alone"),
    ],
)
def test_what_is_refused_and_how(text: str, key: str, said: str) -> None:
    (problem,) = problems(f"q=x&{text}")
    assert problem.startswith(f"{key}: ")
    assert said in problem


def test_all_problems_at_once() -> None:
    found = problems("budget=1&limit=0&detail=x&colour=red&kinds=dael&prop.size=3")
    assert [problem.partition(":")[0] for problem in found] == [
        "colour", "kinds", "prop.size", "budget", "limit", "detail",
    ]  # fmt: skip


def test_browse_needs_kinds() -> None:
    assert problems("q=")[0].startswith("q: the question is empty")
    assert problems("kind=deal")[0].startswith("q: ")
    assert ask("kinds=deal").browse
    assert ask("kinds=deal&q=++").browse


def test_groups_are_expanded_and_order_does_not_matter() -> None:
    assert ask("q=x&kinds=work,deal") == ask("q=x&kinds=deal&kinds=work")
    assert ask("q=x&kinds=work").kinds == ("task", "trial")


def test_limits_are_clamped_with_a_warning() -> None:
    request = ask("q=x&limit=500")
    assert request.limit == 200
    assert "lowered to 200" in request.warnings[0]


def test_depth_says_k_and_hops_unless_they_are_given() -> None:
    found = [ask(f"q=x&depth={depth}") for depth in ("low", "mid", "high")]
    assert [(request.k, request.hops) for request in found] == [(12, 1), (24, 1), (100, 2)]
    given = ask("q=x&depth=high&k=7&hops=1")
    assert (given.k, given.hops) == (7, 1)


def test_hops_are_clamped_with_a_warning() -> None:
    for written, hops in (("999", 2), ("-7", 1), ("0", 1)):
        request = ask(f"q=x&hops={written}")
        assert request.hops == hops
        assert request.warnings == (f"hops {written} was changed to {hops}",)
        assert request.clamped == ("hops",)
    assert ask("q=x&hops=2").warnings == ask("q=x&hops=2").clamped == ()


@pytest.mark.parametrize("name", ["prop.NAME", "namespace.NAME"])
def test_the_name_of_a_family_is_no_key(name: str) -> None:
    (said,) = problems(f"q=x&{name}=y", ceiling=Scope((), exact=True))
    assert name.partition(".")[0] in said


def test_what_is_no_key_is_told_the_families_once() -> None:
    (said,) = problems("q=x&budgt=5")
    assert said.count("prop.NAME") == said.count("namespace.NAME") == 1


def test_weights_that_are_not_positive_mean_one() -> None:
    assert ask("q=x&weights=lexical:0,vector:-3,exact:2").weights == (("exact", 2.0),)


def test_fresh_is_refused_in_a_name_with_the_form_that_takes_it() -> None:
    (problem,) = problems("q=x&fresh=on", form="name")
    assert "write the request to the file" in problem
    assert ask("q=x&fresh=on", form="written").fresh
    assert not ask("q=x&fresh=off", form="name").fresh


def test_a_question_has_8_kib_and_64_when_written() -> None:
    assert ask(f"q={'x' * 8192}").question
    assert "8192" in problems(f"q={'x' * 8193}")[0]
    assert len(ask(f"q={'x' * 20_000}", form="written").question) == 20_000
    assert "65536" in problems(f"q={'x' * 65_537}", form="written")[0]


def test_a_token_is_an_answer_again() -> None:
    assert "no token" in problems("set=nonsense!")[0]
    assert ask("set=a123b456").token == "a123b456"


def test_a_namespace_narrows_where_no_mount_is() -> None:
    assert ask("q=x&namespace.team=a").namespace == (("team", "a"),)
    mount = Scope((("team", "a"),), exact=True)
    assert ask("q=x&namespace.team=a", ceiling=mount).namespace == ()
    assert "team" in problems("q=x&namespace.team=b", ceiling=mount)[0]
    assert "project" in problems("q=x&namespace.project=b", ceiling=mount)[0]


PAIRS = st.lists(
    st.tuples(
        st.sampled_from(sorted(KEYS)) | st.text() | st.just("prop.due_after"),
        st.text() | st.sampled_from(["", "1", "on", "deal", "2026-01-01", "lexical:1", "1" * 30]),
    ),
    max_size=6,
)


@given(PAIRS, st.sampled_from(["name", "written", "api"]), st.booleans())
def test_any_pairs_are_judged(pairs: list[tuple[str, str]], form: str, mounted: bool) -> None:
    ceiling = Scope((("team", "a"),), exact=True) if mounted else None
    for catalogue in (CATALOGUE, Catalogue()):
        try:
            request = parse_request(pairs, catalogue, CONFIG, form=form, ceiling=ceiling)
        except Invalid as error:
            assert error.problems
            assert all(problem.message for problem in error.problems)
            continue
        assert request.token or request.question or request.kinds
        assert 64 <= request.budget <= 32_768
        assert 1 <= request.limit <= 200


@pytest.mark.parametrize("written", ["0.5", ".5", "5e-1", "+0.5", " 0.5 ", "00.50", "0.5E0"])
def test_a_floor_is_written_as_numbers_are(written: str) -> None:
    assert parse_request([("q", "x"), ("min_score", written)], CATALOGUE, CONFIG).least_score == 0.5


def test_of_very_many_problems_the_first_are_told() -> None:
    """And soon: each name was compared with every other."""
    weights = ",".join(f"w{number}" for number in range(20_000))
    with pytest.raises(Invalid) as raised:
        ask(f"q=x&weights={weights}")
    assert len(raised.value.problems) == 51
    assert raised.value.problems[0].key == "weights"
    assert "39950 more problems" in raised.value.problems[-1].message
