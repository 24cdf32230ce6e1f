"""A host's reranker: it may reorder, never add, and its failure is told and changes nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import cast

import pytest

from engine.config import Config
from engine.model import Hit, Page
from engine.paging import next_page, window
from engine.search import search
from tests.engine.desk import HERE, Desk
from tests.engine.library import TREE, Library

Score = Callable[[str, Sequence[Hit]], Sequence[float]]


class Host:
    """A reranker of one function; it remembers what it was given."""

    def __init__(self, score: Score) -> None:
        self.score = score
        self.given: list[tuple[str, tuple[Hit, ...]]] = []

    def rerank(self, question: str, candidates: Sequence[Hit]) -> Sequence[float]:
        self.given.append((question, tuple(candidates)))
        return self.score(question, candidates)


def backwards(question: str, candidates: Sequence[Hit]) -> list[float]:
    return list(range(len(candidates)))


def library(score: Score | None, config: Config | None = None) -> Library:
    made = Library(config=config)
    for n in range(8):
        made.put(f"note/n{n}", f"# N{n}\n\npump text\n\n## Long\n\n{'word ' * 100}\n", days=n)
    made.reranker = Host(score) if score is not None else None
    return made


def slugs(page: Page) -> list[str]:
    return [hit.entry.slug for hit in page.hits]


FUSED = [f"n{n}" for n in range(8)]


def test_it_reorders_before_the_cut() -> None:
    assert slugs(search(library(None), TREE, "pump")) == FUSED
    made = library(backwards)
    page = search(made, TREE, "pump", limit=3)
    assert slugs(page) == FUSED[::-1][:3]
    assert [hit.channels["reranker"] for hit in page.hits] == [1, 2, 3]
    assert page.degraded == search(library(None), TREE, "pump").degraded
    rest = next_page(made, TREE, page.set_id, window(made.config, 10, 3, True))
    assert slugs(rest) == FUSED[::-1][3:]
    assert isinstance(made.reranker, Host)
    assert len(made.reranker.given) == 1


def test_scores_stay_those_of_the_fusion() -> None:
    plain = {hit.entry.slug: hit.score for hit in search(library(None), TREE, "pump").hits}
    again = {hit.entry.slug: hit.score for hit in search(library(backwards), TREE, "pump").hits}
    assert plain == again


def test_ties_keep_their_order() -> None:
    def some(question: str, candidates: Sequence[Hit]) -> list[float]:
        return [1.0 if hit.entry.slug in ("n5", "n2") else 0.0 for hit in candidates]

    first = ["n2", "n5"]
    rest = [slug for slug in FUSED if slug not in first]
    assert slugs(search(library(some), TREE, "pump")) == first + rest


def test_it_is_given_the_question_without_operators_and_whole_passages() -> None:
    made = library(backwards)
    search(made, TREE, "pump word -zebra")
    assert isinstance(made.reranker, Host)
    ((question, hits),) = made.reranker.given
    assert question == "pump word"
    assert len(hits) == 8
    assert max(len(passage.text) for passage in hits[0].evidence) > 480


def test_only_the_best_candidates_are_given_and_the_others_stay_behind() -> None:
    made = library(backwards, Config(rerank_candidates=3))
    assert slugs(search(made, TREE, "pump")) == ["n2", "n1", "n0", *FUSED[3:]]
    page = search(made, TREE, "pump", offset=4, limit=2)
    assert slugs(page) == ["n4", "n5"]
    assert "reranker" not in page.hits[0].channels


def fails(question: str, candidates: Sequence[Hit]) -> list[float]:
    raise RuntimeError("no licence")


@pytest.mark.parametrize(
    ("score", "reason"),
    [
        (fails, "it failed: RuntimeError: no licence"),
        (lambda _, hits: [1.0] * (len(hits) - 1), "7 scores for 8 candidates"),
        (lambda _, hits: [1.0] * (len(hits) + 1), "9 scores for 8 candidates"),
        (lambda _, hits: [float("nan")] * len(hits), "nan as a score"),
        (lambda _, hits: ["first"] * len(hits), "could not convert string to float"),
        (lambda _, hits: None, "'NoneType' object is not iterable"),
    ],
)
def test_a_failure_leaves_the_order_and_is_told(score: Score, reason: str) -> None:
    page = search(library(score), TREE, "pump")
    assert slugs(page) == FUSED
    (said,) = [said for said in page.degraded if said.what == "reranker"]
    assert reason in said.reason
    assert "reranker" not in page.hits[0].channels


def test_one_that_is_slow_is_not_waited_for() -> None:
    gate = threading.Event()

    def waits(question: str, candidates: Sequence[Hit]) -> list[float]:
        gate.wait(120)
        return backwards(question, candidates)

    page = search(library(waits), TREE, "pump", seconds=0.01)
    gate.set()
    assert slugs(page) == FUSED
    assert any("did not answer within 0.01 s" in said.reason for said in page.degraded)


def test_scores_that_come_one_by_one_are_not_waited_for_either() -> None:
    gate = threading.Event()

    def waits(question: str, candidates: Sequence[Hit]) -> Iterator[float]:
        gate.wait(120)
        yield from backwards(question, candidates)

    page = search(library(cast(Score, waits)), TREE, "pump", seconds=0.01)
    gate.set()
    assert slugs(page) == FUSED
    assert any("did not answer within 0.01 s" in said.reason for said in page.degraded)


def test_the_scores_of_one_channel_are_not_reordered() -> None:
    made = library(backwards)
    page = search(made, TREE, "pump", channels=("lexical",), fusion="raw")
    assert sorted(page.hits, key=lambda hit: -hit.score) == list(page.hits)
    assert isinstance(made.reranker, Host)
    assert made.reranker.given == []


def test_recall_is_reranked_before_its_limit() -> None:
    made = library(backwards)
    pack = made.ask("q=pump&limit=2&detail=summary")
    assert [item.entry.slug for item in pack.items] == ["n7", "n6"]
    assert pack.items[0].channels["reranker"] == 1
    plain = library(None).ask("q=pump&limit=2&detail=summary")
    assert [item.entry.slug for item in plain.items] == ["n0", "n1"]
    failed = library(fails).ask("q=pump&limit=2&detail=summary")
    assert [item.entry.slug for item in failed.items] == ["n0", "n1"]
    assert any(said.what == "reranker" for said in failed.degraded)


def test_a_browse_is_not_reranked() -> None:
    made = library(backwards)
    assert [item.entry.slug for item in made.ask("kinds=note&detail=summary").items] == FUSED
    assert isinstance(made.reranker, Host)
    assert made.reranker.given == []


def test_the_engine_takes_a_host_reranker() -> None:
    host = Host(backwards)
    desk = Desk(reranker=host)
    for n in range(3):
        desk.put(f"n{n}", "pump text\n")
    assert slugs(desk.engine.search(HERE, "pump")) == ["n0", "n1", "n2"]  # else the newer first
    assert len(host.given) == 1
