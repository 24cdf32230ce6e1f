"""Digests through the engine: what there is, what goes stale, what is summarised again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.config import Config
from engine.digests.scopes import Ground
from engine.engine import Engine
from engine.errors import Invalid, NotFound
from engine.model import Draft
from engine.namespace import Scope
from tests.engine.desk import HERE, Desk
from tests.engine.summaries import Counting

OFF = Config(digests=False)


@pytest.fixture
def made() -> Counting:
    return Counting()


@pytest.fixture
def desk(made: Counting) -> Desk:
    return Desk(config=OFF, summariser=made)


def fresh(desk: Desk, scope: Scope = HERE) -> dict[str, str]:
    return {digest.name: digest.text for digest in desk.engine.reading.digests(scope)[0]}


def reasons(desk: Desk) -> list[str]:
    return [each.reason for each in desk.engine.reading.digests(HERE)[1]]


def three_kinds(desk: Desk) -> None:
    desk.put("a", "first")
    desk.put("b", "second")
    desk.put("t", "to do", kind="task")


def test_each_kind_has_a_digest_and_the_tenant_one_of_those(desk: Desk, made: Counting) -> None:
    three_kinds(desk)
    assert fresh(desk) == {}
    assert reasons(desk)[0].startswith("3 of 3 are ")
    digests = desk.engine.rebuild_digests(HERE)
    assert [each.name for each in digests] == ["kind-note", "kind-task", "tenant"]
    assert [each.level for each in digests] == ["scope", "scope", "tenant"]
    assert made.take() == [("note/a", "note/b"), ("task/t",), ("kind-note", "kind-task")]
    numbers = [desk.at("a").no, desk.at("b").no, desk.at("t", "task").no]  # type: ignore[union-attr]
    assert [each.members.tolist() for each in digests] == [numbers[:2], numbers[2:], numbers]
    assert fresh(desk)["kind-note"] == "a: first\nb: second"
    assert reasons(desk) == []
    assert desk.engine.check() == ()


def test_only_what_a_change_touches_is_summarised_again(desk: Desk, made: Counting) -> None:
    three_kinds(desk)
    desk.engine.rebuild_digests(HERE)
    made.take()
    desk.engine.rebuild_digests(HERE)
    assert made.take() == []
    desk.put("a", "another")
    assert set(fresh(desk)) == {"kind-task"}
    desk.engine.rebuild_digests(HERE)
    assert made.take() == [("note/a", "note/b"), ("kind-note", "kind-task")]
    assert fresh(desk)["kind-note"] == "a: another\nb: second"


def test_what_comes_back_is_not_summarised_again(desk: Desk, made: Counting) -> None:
    three_kinds(desk)
    desk.engine.rebuild_digests(HERE)
    before = fresh(desk)
    desk.put("a", "another")
    desk.engine.rebuild_digests(HERE)
    made.take()
    desk.put("a", "first")
    assert "kind-note" not in fresh(desk)
    desk.engine.rebuild_digests(HERE)
    assert fresh(desk) == before
    assert made.take() == []


def test_text_that_was_left_is_forgotten_after_some_days(made: Counting) -> None:
    desk = Desk(config=Config(digests=False, digest_text_ns=10**9), summariser=made)
    desk.put("a", "first\n")
    desk.engine.rebuild_digests(HERE)
    desk.put("a", "second\n")
    desk.engine.rebuild_digests(HERE)
    desk.clock.pass_seconds(10)
    desk.engine._upkeep.prune()
    made.take()
    desk.put("a", "first\n")
    desk.engine.rebuild_digests(HERE)
    assert made.take() == [("note/a",)]


@pytest.mark.parametrize("what", ["delete", "rename", "move", "edit", "title", "revive", "replace"])
def test_no_change_leaves_a_digest_above_it_fresh(desk: Desk, what: str) -> None:
    three_kinds(desk)
    gone = desk.put("z", "# Z\n").entry
    desk.engine.delete(HERE, gone.id)
    desk.engine.rebuild_digests(HERE)
    assert set(fresh(desk)) == {"kind-note", "kind-task", "tenant"}
    id = desk.at("a").id  # type: ignore[union-attr]
    stale = {"kind-note", "tenant"}
    if what == "delete":
        desk.engine.delete(HERE, id)
    elif what == "rename":
        desk.engine.rename(HERE, id, "note", "other")
    elif what == "move":
        desk.engine.rename(HERE, id, "task", "a")
        stale |= {"kind-task"}
    elif what == "edit":
        desk.put("a", "# A\n\nother\n")
    elif what == "title":
        desk.put("a", "---\ntitle: Other\n---\nfirst\n")
    elif what == "revive":
        desk.engine.revive(HERE, gone.id)
    else:
        desk.engine.rename(HERE, id, "note", "b")
    assert set(fresh(desk)) == {"kind-note", "kind-task", "tenant"} - stale
    told = {digest.name for digest in desk.engine.digests(HERE) if digest.stale}
    assert told == stale
    assert all(not each.text for each in desk.engine.digests(HERE) if each.stale)


def test_it_is_stale_after_a_restart_too(tmp_path: Path, made: Counting) -> None:
    desk = Desk(tmp_path, config=OFF, summariser=made)
    three_kinds(desk)
    desk.engine.rebuild_digests(HERE)
    held = desk.engine.digests(HERE)
    made.take()
    desk.reopen()
    assert desk.engine.digests(HERE) == held
    desk.engine.rebuild_digests(HERE)
    assert made.take() == []
    desk.engine.delete(HERE, desk.at("a").id)  # type: ignore[union-attr]
    desk.reopen()
    assert set(fresh(desk)) == {"kind-task"}
    desk.engine.rebuild_digests(HERE)
    assert made.take() == [("note/b",), ("kind-note", "kind-task")]


def test_a_namespace_has_digests_of_its_own_engrams_only(desk: Desk, made: Counting) -> None:
    sales = Scope((("team", "sales"),), exact=True)
    desk.put("a", "ours\n")
    desk.engine.put(sales, Draft("note", "b", b"theirs\n"))
    desk.engine.rebuild_digests(HERE)
    assert made.take() == [("note/a",)]
    assert set(fresh(desk)) == {"kind-note", "tenant"}
    assert fresh(desk, sales) == {}
    desk.engine.rebuild_digests(sales)
    assert made.take() == [("note/b",)]
    before = fresh(desk)
    desk.engine.put(sales, Draft("note", "b", b"theirs again\n"))
    assert fresh(desk) == before
    assert fresh(desk, sales) == {}
    [tenant] = [each for each in desk.engine.digests(sales) if each.level == "tenant"]
    assert tenant.namespace == (("team", "sales"),)
    assert tenant.title == "Everything of team=sales"


def test_superseded_engrams_are_not_told_of(desk: Desk, made: Counting) -> None:
    desk.put("new", "now\n")
    desk.put("old", "---\nsuperseded_by: new\n---\nthen\n")
    desk.put("gone", "---\nsuperseded_by: note/new\n---\nbefore\n", kind="task")
    digests = desk.engine.rebuild_digests(HERE)
    assert made.take() == [("note/new",)]
    assert [each.name for each in digests] == ["kind-note", "tenant"]
    assert digests[0].members.tolist() == [desk.at("new").no]  # type: ignore[union-attr]
    assert reasons(desk) == []
    desk.put("old", "then\n")
    desk.engine.rebuild_digests(HERE)
    assert made.take() == [("note/new", "note/old")]


def test_a_host_s_parts_are_told_of(desk: Desk, made: Counting) -> None:
    from engine.model import HostPart

    desk.put("a", "body\n")
    desk.engine.rebuild_digests(HERE)
    desk.engine.replace_parts(HERE, "note/a", [HostPart("a page of a book")])
    assert fresh(desk) == {}
    desk.engine.rebuild_digests(HERE)
    assert "a page of a book" in fresh(desk)["kind-note"]


def test_no_piece_of_a_sentence_is_told(made: Counting) -> None:
    desk = Desk(config=Config(digests=False, digest_characters=40), summariser=made)
    desk.put("a", "# One\n\nA first sentence.\n\n# Two\n\nIt would be cut here. And here.\n")
    desk.put("b", "a sentence that no end comes to within forty characters\n")
    desk.put("c", "---\nsummary: In short, all is well.\n---\nA first one. A second sentence.\n")
    desk.engine.rebuild_digests(HERE)
    assert [text.passages for text in made.given[0]] == [
        ("A first sentence.", "And here."),
        ("a sentence that no end comes to within f",),
        ("In short, all is well.", "A first one."),
    ]


def test_what_stands_late_in_a_long_engram_is_told_and_makes_its_digest_stale(
    made: Counting,
) -> None:
    desk = Desk(config=OFF, summariser=made)
    beside = [f"Aside {n}: nothing to see at stop {n}, {'x' * n}." for n in range(80)]
    late = "The pump, the valve and the seal are what all of this is about."
    about = ["The pump leaks.", "The valve sticks.", "The seal is worn.", late]
    desk.put("a", "\n\n".join([*beside, *about]) + "\n")
    desk.engine.rebuild_digests(HERE)
    [text] = made.given[0]
    assert late in "\n".join(text.passages)
    assert sum(map(len, text.passages)) <= OFF.digest_characters
    desk.put("a", "\n\n".join([*beside, *about, "No."]) + "\n")
    assert "kind-note" not in fresh(desk)
    made.take()
    desk.engine.rebuild_digests(HERE)
    assert made.take() == [("note/a",)], "its hash is of all that stands in it"


def test_an_engram_without_text_is_told_by_its_values(desk: Desk, made: Counting) -> None:
    desk.put("a", "---\nstage: won\n---\n")
    desk.engine.rebuild_digests(HERE)
    assert made.given[0][0].passages == ("stage: won",)


def test_it_is_no_engram(desk: Desk) -> None:
    desk.put("a", "pump\n")
    desk.put("b", "valve\n")
    desk.engine.rebuild_digests(HERE)
    before = desk.engine.search(HERE, "pump")
    assert [hit.entry.slug for hit in before.hits] == ["a"]
    assert desk.engine.status(HERE).engrams == 2
    with pytest.raises(Invalid):
        desk.put("x", "text\n", kind="digest")
    with pytest.raises(NotFound):
        desk.engine.link(HERE, "note/a", "about", "kind-note")
    with pytest.raises(NotFound):
        desk.engine.get(HERE, "digest/kind-note")


def test_a_name_that_is_none_is_not_found(desk: Desk) -> None:
    desk.put("a", "text\n")
    with pytest.raises(NotFound, match="there is no digest kind-x"):
        desk.engine.digest(HERE, "kind-x")
    with pytest.raises(NotFound):
        desk.engine.rebuild_digests(HERE, "kind-x")
    assert desk.engine.digest(HERE, "kind-note").stale


def test_one_is_made_alone(desk: Desk, made: Counting) -> None:
    three_kinds(desk)
    told: list[tuple[int, int]] = []
    desk.engine.rebuild_digests(HERE, "kind-task", lambda *at: told.append(at))
    assert made.take() == [("task/t",)]
    assert told[-1] == (1, 1)
    assert set(fresh(desk)) == {"kind-task"}
    assert desk.engine.status(HERE).digests.fresh == 1
    assert desk.engine.status(HERE).digests.stale == 2


def test_anew_summarises_what_is_unchanged(desk: Desk, made: Counting) -> None:
    three_kinds(desk)
    desk.engine.rebuild_digests(HERE)
    made.take()
    desk.engine.rebuild_digests(HERE, anew=True)
    assert len(made.take()) == 3


def test_another_summariser_makes_them_anew(tmp_path: Path, made: Counting) -> None:
    desk = Desk(tmp_path, config=OFF, summariser=made)
    three_kinds(desk)
    desk.engine.rebuild_digests(HERE)
    other = Counting("another")
    desk.reopen(summariser=other)
    assert "kind-note" in fresh(desk), "it still says what its engrams say"
    desk.engine.rebuild_digests(HERE)
    assert len(other.take()) == 3


def test_vectors_and_weights_come_with_the_text(tmp_path: Path, made: Counting) -> None:
    from tests.engine.hash_embedder import HashEmbedder

    desk = Desk(embed="inline", embedder=HashEmbedder(), config=OFF, summariser=made)
    desk.put("hub", "---\nsummary: in short\n---\nmiddle\n")
    for slug in "ab":
        desk.put(slug, "see [[hub]]\n")
    desk.engine.rebuild_digests(HERE, "kind-note")
    [texts] = made.given
    assert texts[0].passages == ("in short", "middle\n")
    assert texts[0].vectors is not None
    assert np.allclose(np.linalg.norm(texts[0].vectors, axis=1), 1)
    weights = [text.weight for text in texts]
    assert weights[0] > weights[1] == weights[2]
    assert np.isclose(np.mean(weights), 1)


def test_reindexing_looks_at_all_and_summarises_nothing(desk: Desk, made: Counting) -> None:
    three_kinds(desk)
    desk.engine.rebuild_digests(HERE)
    before = fresh(desk)
    made.take()
    desk.engine.reindex()
    assert fresh(desk) == {}
    desk.engine.rebuild_digests(HERE)
    assert (fresh(desk), made.take()) == (before, [])


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE digest_text SET text = 'never said'",
        "DELETE FROM digest_text",
        "UPDATE digest SET members = '\\x01'::BLOB",
        "UPDATE digest SET members = '\\xFF\\xFF\\xFF\\xFF\\xFF\\xFF\\xFF\\x7F'::BLOB",
        "UPDATE digest SET members = '\\xFF\\xFF\\xFF\\xFF\\xFF\\xFF\\xFF\\xFF'::BLOB",
        "UPDATE digest SET namespace = 'x'",
        "UPDATE digest SET namespace = 'null'",
        "UPDATE digest SET namespace = '[[1,2]]'",
        "UPDATE digest SET hash = 'x' WHERE name = 'kind-note'",
    ],
)
def test_damaged_digests_are_named_and_made_anew(
    tmp_path: Path, made: Counting, damage: str
) -> None:
    desk = Desk(tmp_path, config=OFF, summariser=made)
    three_kinds(desk)
    desk.engine.rebuild_digests(HERE)
    before = fresh(desk)
    with desk.engine._state.store.transaction() as cursor:
        cursor.execute(damage)
    assert {problem.key for problem in desk.engine.check()} == {"digests"}
    desk.reopen()
    assert "never said" not in "".join(fresh(desk).values())
    assert "kind-note" not in fresh(desk)
    desk.engine.check(repair=True)
    desk.engine.rebuild_digests(HERE)
    assert fresh(desk) == before
    assert desk.engine.check() == ()


def test_a_digest_of_other_engrams_is_found_out(desk: Desk, made: Counting) -> None:
    three_kinds(desk)
    desk.engine.rebuild_digests(HERE)
    with desk.engine._state.store.transaction() as cursor:
        cursor.execute(
            "UPDATE digest SET members = (SELECT members FROM digest WHERE name = 'kind-task') "
            "WHERE name = 'kind-note'"
        )
    desk.engine._upkeep.digests._shelf.forget()
    assert any("was not made of" in problem.message for problem in desk.engine.check())


def test_the_last_engram_takes_the_digests_along(desk: Desk, made: Counting) -> None:
    id = desk.put("a", "text\n").entry.id
    desk.engine.rebuild_digests(HERE)
    desk.engine.delete(HERE, id)
    assert fresh(desk) == {}
    assert desk.engine.rebuild_digests(HERE) == ()
    assert Ground(desk.engine._upkeep.columns.now(), ()).expected() == []


def test_the_built_in_summariser_is_the_default() -> None:
    engine = Engine.open(":memory:", embed="off", config=OFF)
    engine.put(HERE, Draft("note", "a", b"# Pump\n\nThe pump in the cellar overheats in summer.\n"))
    engine.rebuild_digests(HERE)
    assert "overheats in summer" in engine.digest(HERE, "kind-note").text
    engine.close()
