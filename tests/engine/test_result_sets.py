"""Result sets: paging without searching again, what a set forgets and what it never shows."""

from __future__ import annotations

import random
import threading
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from engine.config import SECOND_NS, Config
from engine.errors import Conflict, Invalid, NotFound
from engine.evidence import Evidence
from engine.model import Page, Relation
from engine.namespace import Scope
from engine.paging import next_page, window
from engine.result_sets import ResultSet, ResultSets
from engine.search import search
from tests.engine.desk import HERE, Desk
from tests.engine.library import TREE, Library

BODY = "pump one\n\n## Deep\n\npump pump two\n"


@pytest.fixture
def library() -> Library:
    made = Library()
    for n in range(25):
        made.put(f"note/n{n:02d}", f"pump {'water ' * n}\n", days=n)
    return made


def go_on(
    library: Library,
    page: Page,
    offset: int = 0,
    limit: int | None = None,
    *,
    scope: Scope = TREE,
    shown: bool = True,
) -> Page:
    return next_page(library, scope, page.set_id, window(library.config, limit, offset, shown))


def slugs(page: Page) -> list[str]:
    return [hit.entry.slug for hit in page.hits]


def test_a_page_of_the_set_is_the_page_of_the_search(library: Library) -> None:
    first = search(library, TREE, "pump water")
    assert first.set_id
    assert len(first.hits) == library.config.default_limit
    assert go_on(library, first) == first
    searched = search(library, TREE, "pump water", offset=10, limit=7)
    assert replace(go_on(library, first, 10, 7), set_id="") == replace(searched, set_id="")


def test_all_pages_together_are_the_ranking_and_continuing_is_idempotent(library: Library) -> None:
    whole = slugs(search(library, TREE, "pump", limit=100))
    first = search(library, TREE, "pump", limit=4)
    pages = [go_on(library, first, offset, 4) for offset in range(0, 28, 4)]
    assert [slug for page in pages for slug in slugs(page)] == whole
    assert [go_on(library, first, offset, 4) for offset in range(0, 28, 4)] == pages
    assert {page.total for page in pages} == {25}


def test_what_is_put_after_the_search_is_not_in_its_set(library: Library) -> None:
    first = search(library, TREE, "pump", limit=3)
    library.put("note/zz", "pump\n")
    assert "zz" not in slugs(go_on(library, first, 0, 100))
    assert "zz" in slugs(search(library, TREE, "pump", limit=100))


def test_what_is_deleted_vanishes_and_the_order_stays(library: Library) -> None:
    first = search(library, TREE, "pump", limit=100)
    library.delete(f"note/{slugs(first)[1]}")
    page = go_on(library, first, 0, 3)
    assert slugs(page) == [slugs(first)[0], slugs(first)[2]]
    assert slugs(go_on(library, first, 3, 3)) == slugs(first)[3:6]


def test_an_engram_that_changed_is_shown_as_it_is_without_the_old_evidence() -> None:
    library = Library()
    library.put("note/a", BODY)
    library.put("note/b", BODY)
    first = search(library, TREE, "pump")
    assert all(hit.evidence for hit in first.hits)
    library.put("note/a", "---\nsummary: quite another text\n---\n# Valve\n\nzebra\n\n## B\n\nc\n")
    hits = {hit.entry.slug: hit for hit in go_on(library, first).hits}
    assert hits["a"].summary == "quite another text"
    assert hits["a"].evidence == ()
    assert hits["b"].evidence == first.hits[slugs(first).index("b")].evidence


def test_no_hit_makes_no_set(library: Library) -> None:
    page = search(library, TREE, "zebra")
    assert (page.hits, page.total, page.set_id) == ((), 0, "")
    with pytest.raises(NotFound):
        go_on(library, page)


def test_a_set_is_bound_to_its_scope() -> None:
    library = Library()
    library.put("note/a", "pump\n", namespace=(("team", "a"),))
    narrow = Scope((("team", "a"),), exact=True)
    first = search(library, narrow, "pump")
    assert slugs(go_on(library, first, scope=narrow)) == ["a"]
    for other in (Scope(), TREE, Scope((("team", "a"),)), Scope((("team", "b"),))):
        with pytest.raises(NotFound, match="search again"):
            go_on(library, first, scope=other)


def test_what_left_the_scope_is_not_shown() -> None:
    library = Library()
    mine = (("team", "a"),)
    entry = library.put("note/a", "pump\n", namespace=mine)
    library.put("note/b", "pump\n", namespace=mine)
    scope = Scope(mine)
    first = search(library, scope, "pump")
    library.entries.swap([replace(entry, namespace=(("team", "b"),))])
    assert slugs(go_on(library, first, scope=scope)) == ["b"]


def test_a_set_lasts_a_quarter_of_an_hour(library: Library) -> None:
    first = search(library, TREE, "pump")
    library.now += 900 * SECOND_NS - 1
    assert go_on(library, first).hits
    library.now += 1
    with pytest.raises(NotFound, match="lasts 15 minutes; search again"):
        go_on(library, first)


def test_a_set_holds_the_first_thousand_and_says_so() -> None:
    library = Library(config=Config(result_set_hits=10))
    for n in range(14):
        library.put(f"note/n{n}", "pump\n", days=n)
    first = search(library, TREE, "pump", limit=4)
    assert first.total == 14
    assert first.warnings == ()
    assert go_on(library, first, 0, 10).warnings == ()
    last = go_on(library, first, 8, 4)
    assert slugs(last) == ["n8", "n9"]
    (said,) = last.warnings
    assert "first 10 of 14" in said
    assert slugs(search(library, TREE, "pump", offset=12, limit=4)) == ["n12", "n13"]


def test_limits_are_lowered_and_nonsense_is_refused(library: Library) -> None:
    page = search(library, TREE, "pump", limit=500)
    assert page.warnings == ("limit 500 was lowered to 100",)
    assert len(page.hits) == 25
    assert go_on(library, page, 0, 500).warnings == ("limit 500 was lowered to 100",)
    with pytest.raises(Invalid) as caught:
        search(library, TREE, "pump", limit=0, offset=-1)
    assert [problem.key for problem in caught.value.problems] == ["limit", "offset"]
    with pytest.raises(Invalid):
        go_on(library, page, -1)


def test_the_oldest_set_goes_where_one_is_too_many() -> None:
    now = [0]
    sets = ResultSets(Config(result_sets=3), lambda: now[0])
    ids = []
    for _ in range(5):
        now[0] += SECOND_NS
        ids.append(sets.keep(some_set(2)))
    assert len(set(ids)) == 5
    for id in ids[:2]:
        with pytest.raises(NotFound):
            sets.get(TREE, id)
    assert [sets.get(TREE, id).id for id in ids[2:]] == ids[2:]


def test_a_set_that_is_restored_is_the_same_one_and_young_again() -> None:
    now = [0]
    sets = ResultSets(Config(result_sets=2), lambda: now[0])
    first, second = sets.keep(some_set(1)), sets.keep(some_set(1))
    now[0] = 600 * SECOND_NS
    sets.restore(sets.get(TREE, first))
    with pytest.raises(Conflict):
        sets.restore(replace(sets.get(TREE, first), scope=Scope((("team", "a"),))))
    sets.keep(some_set(1))
    with pytest.raises(NotFound):
        sets.get(TREE, second)  # the oldest now
    now[0] = 1_499 * SECOND_NS
    assert sets.get(TREE, first).id == first


def test_relations_are_kept_across_pages_and_deletions() -> None:
    library = Library()
    entries = [library.put(f"note/n{n}", "text\n") for n in range(4)]
    steps = tuple(Relation("about", n % 2 == 0, entries[0].id, n + 1) for n in range(4))
    found = replace(
        some_set(4),
        numbers=np.array([entry.no for entry in entries]),
        relations=(*steps[:3], None),
    )
    page = Page((), 4, 0, set_id=library.results.keep(found))
    library.delete("note/n1")
    assert [hit.relation for hit in go_on(library, page, 1).hits] == [steps[2], None]
    assert found.taken(np.array([2, 0])).relations == (steps[2], steps[0])


def test_memory_of_a_set_is_bounded() -> None:
    sets = ResultSets(Config(), lambda: 0)
    kept = sets.get(TREE, sets.keep(some_set(5_000)))
    assert len(kept) == 1_000
    arrays = [kept.numbers, kept.seqs, kept.scores, *kept.ranks.values()]
    arrays += [kept.evidence.positions, kept.evidence.scores]
    assert all(array.base is None for array in arrays)  # no view that holds a larger array
    assert sum(array.nbytes for array in arrays) <= 100 * 1_000


def test_the_engine_continues_and_an_edit_is_seen() -> None:
    desk = Desk()
    for n in range(12):
        desk.put(f"n{n:02d}", f"# Pump {n}\n\npump text\n")
    first = desk.engine.search(HERE, "pump text", limit=5)
    rest = desk.engine.continue_(HERE, first.set_id, 5, 10)
    assert len({hit.entry.id for hit in (*first.hits, *rest.hits)}) == 12
    gone, moved = rest.hits[0].entry, rest.hits[1].entry
    desk.rm(gone.slug)
    desk.mv(moved.slug, "elsewhere")
    again = desk.engine.continue_(HERE, first.set_id, 5, 10)
    assert [hit.entry.id for hit in again.hits] == [hit.entry.id for hit in rest.hits[1:]]
    assert again.hits[0].entry.slug == "elsewhere"
    desk.clock.pass_seconds(900)
    with pytest.raises(NotFound):
        desk.engine.continue_(HERE, first.set_id)
    with pytest.raises(NotFound):
        desk.engine.continue_(HERE, "nonsense\x00")


@pytest.mark.parametrize("seed", range(4))
def test_pages_between_random_commits_agree_with_a_plain_model(seed: int) -> None:
    """What is alive of the first ranking, at its place, as it is now."""
    rng = random.Random(seed)
    desk = Desk()
    for n in range(20):
        desk.put(f"n{n}", f"# Pump {n}\n\npump {'water ' * n}\n")
    first = desk.engine.search(HERE, "pump water", limit=100)
    order = [hit.entry.id for hit in first.hits]
    scores = {hit.entry.id: hit.score for hit in first.hits}
    touched: set[str] = set()
    for step in range(60):
        id = rng.choice(order)
        entry = desk.engine.by_id(HERE, id)
        touched.add(id)
        match rng.choice(("edit", "delete", "rename", "new")):
            case "edit" if entry is not None:
                desk.put(entry.slug, f"# Edited {step}\n\nno word in common\n")
            case "rename" if entry is not None:
                desk.mv(entry.slug, f"moved{step}")
            case "delete" if entry is not None:
                desk.rm(entry.slug)
            case "delete":
                desk.engine.revive(HERE, id)
            case "new":
                desk.put(f"new{step}", "pump water\n")
        offset, limit = rng.randrange(22), rng.randint(1, 8)
        page = desk.engine.continue_(HERE, first.set_id, offset, limit)
        here = [desk.engine.by_id(HERE, id) for id in order[offset : offset + limit]]
        assert [hit.entry for hit in page.hits] == [entry for entry in here if entry is not None]
        assert all(hit.score == scores[hit.entry.id] for hit in page.hits)
        assert all(hit.evidence for hit in page.hits if hit.entry.id not in touched)
        for hit in page.hits:
            assert all("common" not in passage.text for passage in hit.evidence)
    assert page.total == 20


def test_threads_share_the_sets() -> None:
    sets = ResultSets(Config(result_sets=8), lambda: 0)
    wrong: list[str] = []
    ended: list[int] = []

    def work(number: int) -> None:
        for n in range(200):
            id = sets.keep(some_set(n % 7))
            with suppress(NotFound):  # the others may have pushed it out
                if len(sets.get(TREE, id)) != n % 7:
                    wrong.append(id)
        ended.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (sorted(ended), wrong) == ([0, 1, 2, 3], [])
    last = [sets.keep(some_set(1)) for _ in range(8)]
    assert [sets.get(TREE, id).id for id in last] == last


def some_set(hits: int) -> ResultSet:
    return ResultSet(
        TREE,
        hits,
        np.arange(hits),
        np.arange(hits),
        np.zeros(hits),
        {"lexical": np.arange(hits), "exact": np.zeros(hits, np.int64)},
        Evidence(np.zeros((hits, 3), np.int32), np.zeros((hits, 3))),
    )
