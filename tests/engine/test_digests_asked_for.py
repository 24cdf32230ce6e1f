"""Digests that somebody asks for: exactly those are made, at once, and what came of it is said."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence

import pytest

from engine.config import Config
from engine.errors import NotFound, SummariserFailed
from engine.ports import Text
from tests.engine.desk import HERE, Desk
from tests.engine.summaries import Counting, Hanging
from tests.engine.test_digest_communities import communities, rings
from tests.engine.test_digest_worker import SOON, names, until

OFF = Config(digests=False)
LATER = Config(digest_debounce_seconds=1_000.0, digest_wait_seconds=1_000.0)


def three_kinds(desk: Desk) -> None:
    for kind in ("a", "b", "c"):
        desk.put("x", f"text of {kind}", kind=kind)


def test_no_other_is_made_with_one() -> None:
    made = Counting()
    desk = Desk(config=LATER, summariser=made)
    three_kinds(desk)
    worker = desk.engine._upkeep.digests._worker
    desk.engine.rebuild_digests(HERE, "kind-b")
    assert made.take() == [("b/x",)]
    assert names(desk) == {"kind-b"}
    assert not math.isinf(worker._first), "the round that is due is still to come"


def test_one_is_made_while_others_cannot_be() -> None:
    made = Counting()
    desk = Desk(config=LATER, summariser=made)
    three_kinds(desk)
    asked: list[str] = []

    def only_b(texts: Sequence[Text]) -> None:
        asked.extend(text.name for text in texts)
        if texts[0].name != "b/x":
            raise SummariserFailed("it would hang")

    made.fail = only_b
    digests = desk.engine.rebuild_digests(HERE, "kind-b")
    assert asked == ["b/x"]
    assert not any(digest.problem for digest in digests)


def test_whoever_asks_is_served_between_two_digests_of_a_round() -> None:
    made = Counting()
    desk = Desk(config=Config(digests=False), summariser=made)
    three_kinds(desk)
    worker = desk.engine._upkeep.digests._worker
    asking = threading.Thread(target=desk.engine.rebuild_digests, args=(HERE, "kind-c"))

    def meanwhile(texts: Sequence[Text]) -> None:
        if texts[0].name == "a/x":
            asking.start()
            until(lambda: worker._requests)

    made.fail = meanwhile
    worker._config = SOON  # as if they were made by themselves from here on
    worker.changed()
    until(lambda: names(desk) == {"kind-a", "kind-b", "kind-c", "tenant"})
    asking.join(60)
    assert [call[0] for call in made.take()] == ["a/x", "c/x", "b/x", "kind-a"]


def test_the_tenant_is_made_with_what_it_rests_on_and_no_more() -> None:
    made = Counting()
    desk = Desk(config=OFF, summariser=made)
    three_kinds(desk)
    desk.engine.rebuild_digests(HERE, "kind-b")
    made.take()
    desk.engine.rebuild_digests(HERE, "tenant")
    assert made.take() == [("a/x",), ("c/x",), ("kind-a", "kind-b", "kind-c")]
    desk.engine.rebuild_digests(HERE, "tenant", anew=True)
    assert made.take() == [("kind-a", "kind-b", "kind-c")]
    desk.engine.rebuild_digests(HERE, "kind-c", anew=True)
    assert made.take() == [("c/x",)]


def test_one_that_is_none_any_more_is_said_to_be() -> None:
    desk = Desk(config=OFF, summariser=Counting())
    rings(desk, "a", "b")
    desk.engine.rebuild_digests(HERE)
    one, other = communities(desk)
    for slug in ("a0", "a1", "a2", "a3"):
        desk.put(slug, "nobody is linked\n")
    with pytest.raises(NotFound, match=f"there is no digest {one.name} any more"):
        desk.engine.rebuild_digests(HERE, one.name)
    assert [each.name for each in communities(desk)] == [other.name]


def test_communities_that_were_found_for_one_are_all_made_in_the_next_round() -> None:
    desk = Desk(config=SOON, summariser=Counting())
    rings(desk, "a")
    until(lambda: len(communities(desk)) == 1 and not communities(desk)[0].stale)
    rings(desk, "b")
    [one] = communities(desk)
    desk.engine.rebuild_digests(HERE, one.name)
    until(lambda: len(communities(desk)) == 2)
    until(lambda: not any(each.stale for each in desk.engine.digests(HERE)))


def test_what_nobody_waits_for_any_more_is_not_made() -> None:
    hanging = Hanging()
    desk = Desk(config=Config(digests=False, digest_silence_seconds=0.0), summariser=hanging)
    three_kinds(desk)
    with pytest.raises(SummariserFailed):
        desk.engine.rebuild_digests(HERE, "kind-a")
    with pytest.raises(SummariserFailed):
        desk.engine.rebuild_digests(HERE, "kind-b")
    hanging.let_go.set()
    until(lambda: names(desk) == {"kind-a"})
    worker = desk.engine._upkeep.digests._worker
    until(lambda: not worker._requests)
    desk.engine.close()
    assert hanging.take() == [("a/x",)]
