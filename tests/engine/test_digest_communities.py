"""Digests of linked engrams: which communities there are, and when they are looked for again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from engine.config import Config
from engine.digests.request import Request
from engine.errors import SummariserFailed
from engine.graph import Web
from engine.model import Digest, Namespace
from engine.namespace import Scope
from engine.store import digests as stored
from engine.store.digests import DigestRow
from engine.store.places import pack_namespace
from tests.engine.desk import HERE, Desk
from tests.engine.summaries import Counting

OFF = Config(digests=False)


def rings(desk: Desk, *names: str, size: int = 4) -> None:
    """Engrams a0, a1 … each of which links to the others of its letter."""
    for name in names:
        for at in range(size):
            links = " ".join(f"[[{name}{other}]]" for other in range(size) if other != at)
            desk.put(f"{name}{at}", f"about {name} {links}\n")


def communities(desk: Desk) -> list[Digest]:
    return [each for each in desk.engine.digests(HERE) if each.name.startswith("community-")]


def slugs(desk: Desk, digest: Digest) -> list[str]:
    entries = (desk.engine._state.entries.get(no) for no in digest.members.tolist())
    return [entry.slug for entry in entries if entry is not None]


def test_linked_engrams_have_a_digest_of_their_own() -> None:
    made = Counting()
    desk = Desk(config=OFF, summariser=made)
    rings(desk, "a", "b")
    desk.put("alone", "nobody\n")
    desk.put("p", "[[q]]\n")
    desk.put("q", "two are no community\n")
    desk.engine.rebuild_digests(HERE)
    one, two = communities(desk)
    id = desk.at("a0").id  # type: ignore[union-attr]
    assert one.name == f"community-a0-{id[-8:]}"
    assert slugs(desk, one) == ["a0", "a1", "a2", "a3"]
    assert slugs(desk, two) == ["b0", "b1", "b2", "b3"]
    assert one.title == "a0 · a1 · a2"
    assert not one.stale
    assert made.calls[-1] == ("community-" + one.name[10:], two.name, "kind-note")


def test_a_change_in_one_touches_no_other() -> None:
    made = Counting()
    desk = Desk(config=OFF, summariser=made)
    rings(desk, "a", "b")
    desk.engine.rebuild_digests(HERE)
    made.take()
    desk.put("a1", "other words [[a0]] [[a2]] [[a3]]\n")
    assert [each.stale for each in communities(desk)] == [True, False]
    desk.engine.rebuild_digests(HERE)
    calls = made.take()
    assert [each.stale for each in communities(desk)] == [False, False]
    assert ("note/a0", "note/a1", "note/a2", "note/a3") in calls
    assert ("note/b0", "note/b1", "note/b2", "note/b3") not in calls
    assert len(calls) == 3


def test_a_member_that_goes_leaves_the_others_under_the_same_name() -> None:
    desk = Desk(config=OFF, summariser=Counting())
    rings(desk, "a")
    desk.engine.rebuild_digests(HERE)
    [before] = communities(desk)
    desk.engine.delete(HERE, desk.at("a3").id)  # type: ignore[union-attr]
    assert [each.stale for each in communities(desk)] == [True]
    desk.engine.rebuild_digests(HERE)
    [after] = communities(desk)
    assert after.name == before.name
    assert slugs(desk, after) == ["a0", "a1", "a2"]
    for slug in ("a1", "a2"):
        desk.engine.delete(HERE, desk.at(slug).id)  # type: ignore[union-attr]
    desk.engine.rebuild_digests(HERE)
    assert communities(desk) == []


def test_those_that_nothing_links_any_more_are_no_community() -> None:
    """They were one before, and nothing is gained by driving apart what has no edges."""
    everybody, source, target = np.arange(6), np.array([0, 1]), np.array([1, 2])
    web = Web(everybody.astype(np.int32), source.astype(np.int32), target.astype(np.int32))
    assert web.communities([[3, 4, 5], [0, 1, 2]]) == [[0, 1, 2], [3], [4], [5]]


def test_a_link_by_hand_makes_no_digest_stale_but_another_community() -> None:
    """A digest says what its members say; who belongs together is looked at again soon."""
    desk = Desk(config=OFF, summariser=Counting())
    for slug in "abc":
        desk.put(slug, f"text of {slug}\n")
    desk.engine.rebuild_digests(HERE)
    for one, other in ("ab", "bc", "ca"):
        desk.engine.link(HERE, f"note/{one}", "about", f"note/{other}")
    fresh, missing = desk.engine.reading.digests(HERE)
    assert ([each.name for each in fresh], missing) == (["kind-note", "tenant"], ())
    desk.engine.rebuild_digests(HERE)
    [community] = communities(desk)
    assert slugs(desk, community) == ["a", "b", "c"]


def test_communities_stand_after_a_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Counting()
    desk = Desk(tmp_path, config=OFF, summariser=made)
    rings(desk, "a", "b")
    desk.engine.rebuild_digests(HERE)
    before = desk.engine.digests(HERE)
    made.take()
    desk.reopen()
    looked: list[object] = []
    real = Web.communities
    monkeypatch.setattr(
        Web, "communities", lambda self, *given: looked.append(1) or real(self, *given)
    )
    assert desk.engine.rebuild_digests(HERE) == before
    assert (looked, made.take()) == ([], [])
    desk.put("a0", "about a [[a1]] [[a2]] [[a3]] [[b0]]\n")
    desk.engine.rebuild_digests(HERE)
    assert looked == [1]


def test_they_are_not_looked_for_too_often() -> None:
    desk = Desk(config=OFF, summariser=Counting())
    rings(desk, "a")
    worker = desk.engine._upkeep.digests._worker
    worker._pass.namespace(())
    assert len(communities(desk)) == 1
    rings(desk, "b")
    worker._pass.namespace(())
    assert len(communities(desk)) == 1
    assert not communities(desk)[0].stale
    assert worker._pass.next_look() < float("inf")
    worker._pass._looked.clear()
    worker._pass.namespace(())
    assert len(communities(desk)) == 2
    assert worker._pass.next_look() == float("inf")


def test_edges_that_are_as_they_were_need_no_second_look() -> None:
    desk = Desk(config=OFF, summariser=Counting())
    rings(desk, "a")
    worker = desk.engine._upkeep.digests._worker
    worker._pass.namespace(())
    desk.put("a0", "about a\n")
    worker._pass.namespace(())
    assert worker._pass.next_look() < float("inf")
    desk.put("a0", "about a [[a1]] [[a2]] [[a3]]\n")
    worker._pass.namespace(())
    assert worker._pass.next_look() == float("inf")


def test_a_look_at_one_namespace_puts_off_no_other() -> None:
    desk = Desk(config=OFF, summariser=Counting())
    rings(desk, "a")
    worker = desk.engine._upkeep.digests._worker
    worker._pass.namespace(())
    rings(desk, "b")
    worker._pass.namespace(())
    awaited = worker._pass.next_look()
    assert awaited < float("inf")
    worker._pass.namespace((("team", "other"),), Request((("team", "other"),), None, anew=False))
    assert worker._pass.next_look() == awaited


def test_many_are_dropped_in_as_few_statements_as_one() -> None:
    """Their writer lock keeps every commit waiting."""
    store = Desk().engine._state.store
    other = ((("team", 'a "b"'),), "community-0")
    places = [((), f"community-{no}") for no in range(50)] + [((), 'kind-it\'s "ü"'), other]
    with store.transaction() as cursor:
        for namespace, name in places:
            row = DigestRow(namespace, name, "", name, "", np.zeros(0, int), 0, 0, "", 0, name)
            stored.keep(cursor, row)
            stored.keep_text(cursor, namespace, name, name, name)

    def dropped(some: list[tuple[Namespace, str]]) -> int:
        asked: list[str] = []
        with store.transaction() as cursor:
            real = cursor.execute
            counted = SimpleNamespace(
                execute=lambda sql, given: asked.append(sql) or real(sql, given)
            )
            at = [(pack_namespace(namespace), name) for namespace, name in some]
            stored.drop(counted, at, now_ns=5)  # type: ignore[arg-type]
        return len(asked)

    assert dropped(places[:1]) == dropped(places[1:-1]) == 2
    assert dropped([]) == 2
    with store.cursor() as cursor:
        rows, broken = stored.load(cursor)
        left = cursor.execute("SELECT name, left_ns FROM digest_text").fetchall()
    assert [(row.namespace, row.name) for row in rows] == [other]
    assert not broken
    assert sorted(left, key=str) == sorted(
        [*((name, 5) for _, name in places[:-1]), (other[1], None)], key=str
    )


def test_status_names_no_digest_that_could_not_be_made() -> None:
    """It tells of the whole store, and a community's name holds the slug of an engram."""
    made = Counting()
    desk = Desk(config=OFF, summariser=made)
    rings(desk, "a")

    def fail(texts: object) -> None:
        raise SummariserFailed("out of paper")

    made.fail = fail
    desk.engine.rebuild_digests(HERE)
    [problem] = desk.engine.status(Scope((("team", "other"),), exact=True)).problems
    assert problem == "2 digests could not be made: out of paper"


def test_a_namespace_of_too_many_edges_has_none() -> None:
    desk = Desk(config=Config(digests=False, digest_edges=10), summariser=Counting())
    rings(desk, "a", size=3)
    desk.engine.rebuild_digests(HERE)
    assert len(communities(desk)) == 1
    rings(desk, "b", size=3)
    desk.engine.rebuild_digests(HERE)
    assert communities(desk) == []
    assert not any(each.stale for each in desk.engine.digests(HERE))
    lacks = "no communities are looked for among more than 10 links"
    assert desk.engine.digest(HERE, "tenant").lacks == lacks
    fresh, missing = desk.engine.reading.digests(HERE)
    assert [each.name for each in fresh] == ["kind-note", "tenant"]
    assert [(each.what, each.reason) for each in missing] == [("digests", lacks)]
    desk.put("b0", "about b\n")
    desk.engine.rebuild_digests(HERE)
    assert len(communities(desk)) == 2
    assert desk.engine.reading.digests(HERE)[1] == ()


def test_more_links_that_are_allowed_are_looked_at_after_a_restart(tmp_path: Path) -> None:
    desk = Desk(tmp_path, config=Config(digests=False, digest_edges=1), summariser=Counting())
    rings(desk, "a", size=3)
    desk.engine.rebuild_digests(HERE)
    assert communities(desk) == []
    desk.reopen()
    assert desk.engine.digest(HERE, "tenant").lacks
    desk.reopen(config=OFF)
    desk.engine.rebuild_digests(HERE)
    assert len(communities(desk)) == 1
    assert not desk.engine.digest(HERE, "tenant").lacks


def test_a_stale_one_does_not_tell_how_its_engrams_were() -> None:
    """Neither the titles that a community is called by nor the slug in its name."""
    desk = Desk(config=OFF, summariser=Counting())
    rings(desk, "a", "b")
    desk.put("a1", "---\ntitle: Secret\n---\n[[a0]] [[a2]] [[a3]]\n")
    desk.engine.rebuild_digests(HERE)
    assert any("Secret" in each.title for each in communities(desk))
    desk.put("a1", "---\ntitle: Open\n---\n[[a0]] [[a2]] [[a3]]\n")
    assert [each.title for each in communities(desk)] == ["Linked engrams", "b0 · b1 · b2"]
    desk.engine.rename(HERE, desk.at("a0").id, "note", "other")  # type: ignore[union-attr]
    assert [each.title for each in communities(desk)] == ["b0 · b1 · b2"]
    desk.engine.delete(HERE, desk.at("b0").id)  # type: ignore[union-attr]
    assert communities(desk) == []


def test_a_large_kind_is_summarised_in_groups() -> None:
    made = Counting()
    desk = Desk(config=OFF, summariser=made)
    for no in range(200):
        desk.put(f"n{no}", f"text {no}\n")
    desk.engine.rebuild_digests(HERE)
    calls = made.take()
    [groups] = [call for call in calls if set(call) == {"kind-note"} and len(call) > 1]
    leaves = [call for call in calls if call[0].startswith("note/")]
    assert len(leaves) == len(groups)
    assert sorted(name for call in leaves for name in call) == sorted(
        f"note/n{no}" for no in range(200)
    )
    assert all(len(call) <= 32 for call in calls)
    desk.put("n100", "other\n")
    desk.engine.rebuild_digests(HERE)
    [group, above] = made.take()
    assert "note/n100" in group
    assert above == groups
    assert desk.engine.check() == ()


def test_a_large_community_of_another_name_keeps_the_texts_of_its_groups() -> None:
    """They were made under its former name, whose texts are forgotten after some days."""
    made = Counting()
    desk = Desk(config=Config(digests=False, digest_text_ns=10**9), summariser=made)
    for no in range(100):
        desk.put(f"n{no}", f"text {no} [[n0]]\n", kind=f"kind{no % 2}")
    desk.engine.rebuild_digests(HERE)
    [before] = communities(desk)
    id = desk.at("n0", "kind0").id  # type: ignore[union-attr]
    desk.engine.rename(HERE, id, "kind0", "other")
    desk.engine.rebuild_digests(HERE)
    [after] = communities(desk)
    assert (after.name == before.name, len(after.members)) == (False, 100)
    desk.clock.pass_seconds(10)
    desk.engine._upkeep.prune()
    made.take()
    desk.put("n99", "other text [[n0]]\n", kind="kind1")
    desk.engine.rebuild_digests(HERE)
    both = [call for call in made.take() if {name[:5] for name in call} == {"kind0", "kind1"}]
    assert len(both) == 1, "the one group of the community that n99 is in"
    assert "kind1/n99" in both[0]


_KILLED = """
import os, sys
from engine.config import Config
from engine.digests.request import Request
from engine.engine import Engine
from engine.model import Draft
from engine.namespace import Scope
from engine.store import digests as stored
from engine.store.digests import DigestRow
from engine.store.places import pack_namespace

here = Scope((), exact=True)
engine = Engine.open(sys.argv[1], embed="off", config=Config(digests=False))
for slug in "abc":
    engine.put(here, Draft("note", slug, f"The pump {slug} in the cellar overheats.\\n".encode()))
    engine.put(here, Draft("task", slug, f"Mend the pump {slug} in the cellar.\\n".encode()))
assert not any(each.stale for each in engine.rebuild_digests(here))
engine.put(here, Draft("note", "a", b"The fan in the attic is quiet now.\\n"))
os._exit(9)
"""


def test_what_was_committed_before_a_kill_makes_it_stale(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _KILLED, str(tmp_path)], check=False)
    assert done.returncode == 9
    desk = Desk(tmp_path, config=OFF)
    fresh, missing = desk.engine.reading.digests(HERE)
    assert [each.name for each in fresh] == ["kind-task"]
    assert missing
    desk.engine.rebuild_digests(HERE)
    assert "attic" in desk.engine.digest(HERE, "kind-note").text
