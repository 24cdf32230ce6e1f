"""Search and recall with an approximate vector index: equal to exact search, or close to it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.config import Config
from engine.filters import parse_filters
from engine.matrix import Near, Numbers, Vectors
from engine.model import Draft, Page
from engine.namespace import Scope
from engine.recall.pairs import parse_pairs
from engine.recall.request import parse_request
from tests.engine.desk import Desk
from tests.engine.hash_embedder import HashEmbedder
from tests.waiting import until

ALL = Scope(())
WORDS = [f"{a}{b}" for a in ("pum", "val", "wat", "hea", "mot") for b in ("ra", "ro", "ri", "ru")]
CONFIG = Config(
    hnsw_vectors=100,
    hnsw_candidates=96,
    hnsw_effort=128,
    hnsw_newer=20,
    quiet_seconds=0.01,
    recency_decay=0.0,
)
KINDS = "kinds: {note: {fields: {stage: {type: string}}}, task: {}}"


class Counted:
    """The index, and how often it was asked; it can be told not to answer."""

    def __init__(self, near: Near) -> None:
        self.near, self.asked, self.answers = near, 0, True

    @property
    def rows(self) -> int:
        return self.near.rows

    def nearest(self, query: Vectors, most: int) -> Numbers | None:
        self.asked += self.answers
        return self.near.nearest(query, most) if self.answers else None


def filled(where: Path | str, engrams: int = 200) -> Desk:
    """Notes and tasks of two teams, each with a head and two sections of words."""
    desk = Desk(where, embed="inline", embedder=HashEmbedder(), config=CONFIG, kinds=KINDS)
    random = np.random.default_rng(4)
    for team in ("a", "b"):
        drafts = []
        for at in range(engrams // 2):
            words = [" ".join(random.choice(WORDS, 12)) for _ in range(2)]
            kind = "task" if at % 3 == 0 else "note"
            head = f"---\nstage: s{at % 2}\n---\n" if kind == "note" else ""
            body = (
                f"{head}# {' '.join(random.choice(WORDS, 2))}\n\n{words[0]}\n\n## S\n\n{words[1]}\n"
            )
            drafts.append(Draft(kind, f"{team}{at}", body.encode()))
        desk.engine.put_many(Scope((("team", team),), exact=True), drafts)
    return desk


def indexed(desk: Desk) -> bool:
    at = desk.engine.status(ALL).vector_index
    return at.search == "hnsw" and at.vectors - at.held <= CONFIG.hnsw_newer


@pytest.fixture(scope="module")
def desk() -> Iterator[Desk]:
    made = filled(":memory:")
    until(lambda: indexed(made))
    yield made
    made.sound()
    made.engine.close()


def both(desk: Desk, ask: Callable[[], Page]) -> tuple[Page, Page, int]:
    """The page with the index, the one without, and how often the index was asked."""
    index = desk.engine.reading.index
    near = index.matrix.near
    assert near is not None
    counted = Counted(near)
    index.set_near(index.matrix, counted)
    try:
        with_it = ask()
        counted.answers = False
        return with_it, ask(), counted.asked
    finally:
        index.set_near(index.matrix, near)


def shown(page: Page) -> list[tuple[str, float]]:
    return [(hit.entry.id, hit.score) for hit in page.hits]


QUESTIONS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
RESTRICTED = st.sampled_from(
    [
        {"scope": Scope((("team", "a"),))},
        {"scope": Scope((("team", "b"),), exact=True)},
        {"filters": (("kind", "task"),)},
        {"filters": (("prop.stage", "s1"),)},
        {"scope_ids": 30},
        {"fusion": "rrf"},
        {"channels": ("vector",)},
        {"excluded": "-zebra -pumra"},
        {"limit": 97},
    ]
)


@settings(deadline=None, max_examples=60)
@given(question=QUESTIONS, how=RESTRICTED)
def test_whatever_restricts_the_answer_makes_it_exact(
    desk: Desk, question: str, how: dict[str, object]
) -> None:
    options = dict(how)
    scope = options.pop("scope", ALL)
    filters = parse_filters(options.pop("filters", ()), desk.engine.catalogue)
    asked = f"{question} {options.pop('excluded', '')}"
    if "scope_ids" in options:
        entries = desk.engine.reading.entries.all()
        options["scope_ids"] = [entry.id for entry in entries[:: options["scope_ids"]]]
    with_it, without, times = both(
        desk,
        lambda: desk.engine.search(scope, asked, filters, **options),  # type: ignore[arg-type]
    )
    assert times == 0
    assert shown(with_it) == shown(without) and with_it.total == without.total


def test_the_first_hits_of_a_whole_search_are_the_same_but_for_a_few(desk: Desk) -> None:
    random = np.random.default_rng(6)
    shared = []
    for _ in range(40):
        question = " ".join(random.choice(WORDS, int(random.integers(1, 6))))
        with_it, without, times = both(desk, lambda q=question: desk.engine.search(ALL, q))
        assert times == 1 and len(with_it.hits) == 10
        exact = {hit.entry.id: hit for hit in without.hits}
        both_have = [hit for hit in with_it.hits if hit.entry.id in exact]
        shared.append(len(both_have) / 10)
        for hit in both_have:  # what is found has its exact score, for the same reasons
            other = exact[hit.entry.id]
            assert hit.score == pytest.approx(other.score, abs=1e-6)
            assert [one.text for one in hit.evidence] == [one.text for one in other.evidence]
    assert np.mean(shared) >= 0.97


def test_a_recall_asks_the_index_too(desk: Desk) -> None:
    request = parse_request(
        parse_pairs("q=pumra valro&format=json"), desk.engine.catalogue, desk.engine.config
    )
    packs = []

    def ask() -> Page:
        packs.append(desk.engine.recall(ALL, request, path_of=lambda entry: entry.slug))
        return Page((), 0, 0)

    assert both(desk, ask)[2] == 1
    with_it, without = ({item.entry.id for item in pack.items[:10]} for pack in packs)
    assert len(with_it & without) >= 9


def test_superseded_engrams_do_not_switch_it_off(desk: Desk) -> None:
    scope = Scope((("team", "a"),), exact=True)
    old = desk.engine.put(scope, Draft("task", "old", b"---\nsuperseded_by: task/a0\n---\npumra\n"))
    with_it, without, times = both(desk, lambda: desk.engine.search(ALL, "pumra"))
    assert times == 1 and shown(with_it) == shown(without)
    assert old.entry.id not in dict(shown(with_it))
    desk.engine.delete(scope, old.entry.id)


# -- as the store changes ------------------------------------------------------------------
def test_puts_edits_and_deletes_after_the_build_count_at_once() -> None:
    desk = filled(":memory:", 60)
    until(lambda: indexed(desk))
    scope = Scope((("team", "a"),), exact=True)
    fresh = desk.engine.put(scope, Draft("note", "fresh", b"# Zebra\n\nzebra zebra\n")).entry
    with_it, without, times = both(desk, lambda: desk.engine.search(ALL, "zebra"))
    assert times == 1 and shown(with_it) == shown(without)
    assert with_it.hits[0].entry.id == fresh.id and "vector" in with_it.hits[0].channels
    desk.engine.put(scope, Draft("note", "fresh", b"# Gnu\n\ngnu gnu\n"))
    for question in ("zebra", "gnu"):
        with_it, without, times = both(desk, lambda q=question: desk.engine.search(ALL, q))
        assert times == 1 and shown(with_it) == shown(without)
        assert (with_it.hits[0].entry.id == fresh.id) == (question == "gnu")
    desk.engine.delete(scope, fresh.id)
    with_it, without, _ = both(desk, lambda: desk.engine.search(ALL, "gnu"))
    assert shown(with_it) == shown(without) and fresh.id not in dict(shown(with_it))
    desk.sound()
    desk.engine.close()


def test_a_restart_builds_it_again_and_the_file_never_holds_it(tmp_path: Path) -> None:
    desk = filled(tmp_path, 60)
    until(lambda: indexed(desk))
    before = shown(desk.engine.search(ALL, "pumra valro"))
    with desk.engine._state.store.cursor() as cursor:
        assert cursor.execute("SELECT count(*) FROM duckdb_indexes()").fetchall() == [(0,)]
        loaded = "SELECT loaded FROM duckdb_extensions() WHERE extension_name = 'vss'"
        assert cursor.execute(loaded).fetchall() in ([], [(False,)])
    desk.reopen()
    until(lambda: indexed(desk))
    assert shown(desk.engine.search(ALL, "pumra valro")) == before
    desk.engine.close()


def test_closing_in_the_middle_of_a_build(tmp_path: Path) -> None:
    desk = filled(tmp_path, 400)
    until(lambda: desk.engine.status(ALL).vector_index.search != "exact")
    desk.engine.close()
    assert not [one for one in threading.enumerate() if one.name == "engine-hnsw"]
    desk.options.pop("kinds")
    desk.engine = desk._open()
    desk.sound()
    desk.engine.close()


def test_a_failure_is_told_and_everything_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise OSError("no such file")

    monkeypatch.setattr("engine.store.extensions.extension_path", missing)
    desk = filled(":memory:", 60)
    until(lambda: any("vector index failed" in one for one in desk.engine.status(ALL).problems))
    status = desk.engine.status(ALL)
    assert status.vector_index.search == "exact" and status.vector_index.vectors > 100
    assert desk.engine.search(ALL, "pumra").hits
    desk.engine.close()
