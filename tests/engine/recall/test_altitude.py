"""From how high a recall looks: which digests are given, and what they cover."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from engine.columns import ColumnCache
from engine.entries import Entries
from engine.model import Degraded, Digest
from engine.ranking import Ranking
from engine.recall.altitude import covering, lifted, passed_over, uncovered, within
from tests.engine.library import Library


def digest(
    name: str, members: Sequence[int], level: str = "scope", text: str = "In short."
) -> Digest:
    return Digest(name, level, name, text, (), np.array(members, np.int64), "00", 0, False)


def ranking(scores: Sequence[float]) -> Ranking:
    numbers = np.arange(len(scores), dtype=np.int64)
    columns = ColumnCache(Entries()).now()
    return Ranking(
        columns, numbers, np.array(scores, float), np.zeros(len(scores), bool), len(scores)
    )


A, B, C = digest("kind-a", [0, 1]), digest("kind-b", [2, 3]), digest("kind-c", [4])
ROOT = digest("tenant", [0, 1, 2, 3, 4], "tenant")
EVERY = (A, B, C, ROOT)


def no() -> bool:
    return False


def always(some: Sequence[Digest]) -> bool:
    return True


def test_the_scopes_that_cover_most_of_the_mass_come_first_and_stop_at_half() -> None:
    assert covering((A, B, C), ranking([0.1, 0.1, 0.9, 0.8, 0.3])) == (B,)
    assert covering((A, B, C), ranking([0.5, 0.4, 0.5, 0.5, 0.9])) == (B, A)
    assert covering((A, B, C), ranking([9.0, 0.0, 0.9, 0.8])) == (B,)  # a named one counts 1
    assert covering((A,), ranking([0.1, 0.1, 0.9])) == (A,)  # the rest is in no scope
    assert covering((C,), ranking([0.1])) == ()


def test_without_a_hit_the_largest_scopes_come_first() -> None:
    assert covering((C, B, A), ranking([])) == (A, B, C)


def test_no_digest_beside_those_that_cover_all_that_it_covers() -> None:
    small, across, whole = digest("community-s", [0, 1]), digest("kind-x", [1, 4]), A
    for members in itertools.permutations((small, whole, across, B, C)):
        chosen = covering(members, ranking([]))
        seen: set[int] = set()
        for one in chosen:
            assert not set(one.members.tolist()) <= seen
            seen |= set(one.members.tolist())
        assert seen == {0, 1, 2, 3, 4}
    assert [one.name for one in covering((small, whole, across), ranking([]))] == [
        "community-s", "kind-x",
    ]  # fmt: skip


def test_a_digest_that_is_not_given_is_told_why() -> None:
    same = digest("kind-same", [0, 1])
    assert passed_over((A, B, same, ROOT), (A,)) == {
        "kind-b": "others cover most of what was found",
        "kind-same": "the digests given cover all that it covers",
        "tenant": "digests of scopes are enough",
    }
    assert passed_over((A, ROOT), (ROOT,)) == {
        "kind-a": "the digests given cover all that it covers"
    }
    assert passed_over((A, B), ()) == {}


def test_the_trace_tells_of_digests_that_others_cover(library: Library) -> None:
    again = digest("community-n", [0, 1, 2], text="Some notes tell of pumps.")
    library.shelf = (*library.shelf, again)
    packed = library.ask("q=zebra&surfaces=digests&trace=on&format=json")
    assert [item.name for item in packed.items] == [
        ".digests/kind-note.md", ".digests/kind-task.md",
    ]  # fmt: skip
    assert packed.trace is not None
    why = "the digests given cover all that it covers"
    assert {"path": ".digests/community-n.md", "why": why} in packed.trace["dropped"]


@pytest.mark.parametrize(
    ("altitude", "engrams_fit", "fit", "given"),
    [
        ("entity", False, EVERY, ()),
        ("auto", True, EVERY, ()),
        ("auto", False, EVERY, (B,)),
        ("auto", False, (ROOT,), (ROOT,)),
        ("auto", False, (), ()),
        ("scope", True, (), (B,)),
        ("tenant", True, (), (ROOT,)),
    ],
)  # fmt: skip
def test_the_budget_decides_how_high(
    altitude: str, engrams_fit: bool, fit: tuple[Digest, ...], given: tuple[Digest, ...]
) -> None:
    ranked = ranking([0.1, 0.1, 0.9, 0.8, 0.3])
    assert (
        lifted(altitude, EVERY, ranked, lambda: engrams_fit, lambda some: set(some) <= set(fit))
        == given
    )


def test_without_digests_there_are_engrams() -> None:
    assert lifted("tenant", (), ranking([1.0]), no, always) == ()
    assert lifted("auto", (ROOT,), ranking([1.0]), no, lambda some: False) == ()


def test_what_a_digest_covers_is_told() -> None:
    assert uncovered((A, C), [0, 2, 4, 5]).tolist() == [False, True, False, True]


@pytest.fixture
def library() -> Library:
    made = Library()
    for at in range(4):
        made.put(f"note/n{at}", f"# Pump {at}\n\n" + f"pump number {at} stands. " * 60)
    made.put("task/fix", "# Fix\n\nthe pump wants a seal\n")
    made.shelf = (
        digest("kind-note", [0, 1, 2, 3], text="Notes tell of pumps."),
        digest("kind-task", [4], text="Tasks mend them."),
        digest("tenant", [0, 1, 2, 3, 4], "tenant", "All is about pumps."),
    )
    return made


def test_a_digest_and_what_it_covers_are_never_both_there(library: Library) -> None:
    assert library.paths("q=pump&altitude=scope") == [".digests/kind-note.md", "task/fix.md"]
    assert library.paths("q=pump&altitude=tenant") == [".digests/tenant.md"]
    assert ".digests" not in " ".join(library.paths("q=pump&altitude=entity"))


def test_auto_stays_with_engrams_where_three_fit(library: Library) -> None:
    assert library.paths("q=pump")[0] == "note/n0.md"
    low = library.ask("q=pump&budget=200&format=md")
    assert [item.name for item in low.items] == [".digests/kind-note.md", "task/fix.md"]
    assert "> Notes tell of pumps." in low.rendered.decode()
    assert "why: it covers 4 engrams\n" in low.rendered.decode()
    tasks = library.ask("q=pump&surfaces=digests&kinds=task&format=md").rendered.decode()
    assert "why: it covers 1 engram\n" in tasks
    at_64 = library.ask("q=pump&budget=80")
    assert [item.name for item in at_64.items][:1] in (
        [".digests/kind-note.md"],
        [".digests/tenant.md"],
    )


def test_what_the_question_names_is_given_itself_unless_themes_are_asked_for(
    library: Library,
) -> None:
    named = "q=pump note/n1.md&budget=600"
    assert library.paths(named)[:1] == ["note/n1.md"]
    assert ".digests" not in " ".join(library.paths(named))
    assert library.paths(f"{named}&themes=on")[0].startswith(".digests/")


def test_a_question_without_a_hit_is_answered_by_nothing(library: Library) -> None:
    assert library.paths("q=zebra") == []
    assert library.paths("q=zebra&themes=on") == []
    assert library.paths("q=zebra&surfaces=digests")[0] == ".digests/kind-note.md"


@pytest.mark.parametrize(
    "asked", ["surfaces=digests", "altitude=tenant", "altitude=scope", "budget=120"]
)
def test_a_digest_tells_of_nothing_that_a_filter_leaves_out(library: Library, asked: str) -> None:
    digests = [path for path in library.paths(f"q=pump&{asked}&kinds=task") if "digest" in path]
    assert digests in ([], [".digests/kind-task.md"])
    assert ".digests" not in " ".join(library.paths(f"q=pump&{asked}&scope_ids=note/n1"))
    then = library.paths(f"q=pump&{asked}&as_of=1970-01-01T00:00:00.000001Z")
    assert ".digests" not in " ".join(then)


def test_digests_that_tell_of_more_than_was_asked_for_are_said_to(library: Library) -> None:
    packed = library.ask("q=pump&altitude=tenant&kinds=task&format=json")
    assert Degraded("digests", "each tells of more than was asked for") in packed.degraded


def test_digests_made_since_then_are_not_of_then() -> None:
    made = [replace(A, built_ns=5), replace(B, built_ns=6)]
    everybody = np.ones(9, bool)
    assert within(made, everybody, None) == tuple(made)
    assert within(made, everybody, 5) == (made[0],)
    assert within(EVERY, np.array([1, 1, 1, 0, 1], bool), None) == (A, C)
    assert within(EVERY, np.ones(4, bool), None) == (A, B)


def test_missing_digests_are_told_where_they_were_turned_to(library: Library) -> None:
    why = Degraded("digests", "kind-rule is missing: it was too dull")
    library.missing = (why,)
    assert why not in library.ask("q=pump").degraded
    assert why in library.ask("q=pump&budget=200").degraded
    assert why in library.ask("q=pump&themes=on").degraded


def test_surfaces_without_digests_have_none(library: Library) -> None:
    assert ".digests" not in " ".join(library.paths("q=pump&budget=200&surfaces=engrams,passages"))
    assert library.paths("q=pump&surfaces=digests") == [".digests/kind-note.md"]


def test_an_asked_surface_that_is_not_there_is_named(library: Library) -> None:
    library.shelf = ()
    for request in ("q=pump&surfaces=digests", "q=pump&altitude=tenant", "q=pump&themes=on"):
        packed = library.ask(f"{request}&format=json")
        assert {"what": "digests", "reason": "there are none here"} in json.loads(packed.rendered)[
            "degraded"
        ]
    assert all(one.what != "digests" for one in library.ask("q=pump").degraded)
