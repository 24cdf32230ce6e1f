"""Sessions: one active set, read on page by page, and carried across a process as JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.errors import Conflict, Invalid, NotFound
from engine.exported import from_json
from engine.model import Draft, Namespace, Page, Relation
from engine.namespace import Scope
from engine.session import Session
from tests.engine.desk import HERE, Desk

ALL = Scope()
TEAM: Namespace = (("team", "a"),)


def filled(where: Path | str = ":memory:") -> Desk:
    desk = Desk(where)
    for n in range(9):
        text = f"# Pump {n}\n\npump {'water ' * n}\n\n## More\n\npump\n".encode()
        desk.engine.put(Scope(TEAM), Draft("note", f"n{n}", text))
    desk.put("outside", "pump\n")
    return desk


def slugs(page: Page) -> list[str]:
    return [hit.entry.slug for hit in page.hits]


def carried(session: Session) -> Any:
    """The export, as another process reads it."""
    return json.loads(json.dumps(session.export()))


def test_it_reads_on_from_page_to_page() -> None:
    desk = filled()
    session = Session(desk.engine, ALL, TEAM)
    whole = slugs(desk.engine.search(Scope(TEAM), "pump water", limit=100))
    assert slugs(session.ask(desk.engine.search, "pump water", limit=4)) == whole[:4]
    assert slugs(session.continue_(3)) == whole[4:7]
    assert slugs(session.continue_()) == whole[7:]
    assert session.continue_().hits == ()
    assert len(whole) == 9


@pytest.mark.parametrize("method", ["search", "find_objects", "find_exact"])
def test_what_is_deleted_between_two_pages_shifts_none_of_them(method: str) -> None:
    desk = filled()
    session = Session(desk.engine, ALL, TEAM)
    first = session.ask(getattr(desk.engine, method), "pump", limit=3)
    whole = slugs(desk.engine.continue_(Scope(TEAM), first.set_id, 0, 100))
    for slug in (whole[0], whole[4]):
        gone = desk.engine.lookup(Scope(TEAM), "note", slug)
        assert gone is not None
        desk.engine.delete(Scope(TEAM), gone.id)
    assert slugs(session.continue_(3)) == [whole[3], whole[5]]
    assert slugs(session.continue_(3)) == whole[6:]


def test_another_question_replaces_the_set_and_one_without_a_hit_ends_it() -> None:
    desk = filled()
    session = Session(desk.engine, ALL)
    session.ask(desk.engine.search, "pump", limit=2)
    first = session.set_id
    session.ask(desk.engine.find_objects, "water", limit=2)
    assert session.set_id not in ("", first)
    assert session.offset == 2
    session.ask(desk.engine.search, "zebra")
    with pytest.raises(NotFound, match="search first"):
        session.continue_()


def test_an_offset_is_where_it_goes_on() -> None:
    desk = filled()
    session = Session(desk.engine, ALL, TEAM)
    whole = slugs(session.ask(desk.engine.search, "pump", limit=100))
    session.ask(desk.engine.search, "pump", offset=5, limit=2)
    assert slugs(session.continue_(1)) == [whole[7]]


def test_it_goes_on_in_another_process(tmp_path: Path) -> None:
    desk = filled(tmp_path)
    session = Session(desk.engine, ALL, TEAM)
    session.ask(desk.engine.search, "pump water", limit=4)
    expected = desk.engine.continue_(session.scope, session.set_id, 4, 10)
    assert any(hit.evidence for hit in expected.hits)
    kept = carried(session)
    desk.reopen()
    with pytest.raises(NotFound):
        desk.engine.continue_(Scope(TEAM), kept["set"]["id"])
    later = Session(desk.engine, ALL)
    later.restore(kept)
    assert (later.scope, later.offset) == (Scope(TEAM), 4)
    assert later.continue_(10) == expected
    assert carried(later) == {**kept, "offset": 14}
    desk.engine.close()


def test_relations_are_carried() -> None:
    desk = filled()
    sets = desk.engine.reading.results
    session = Session(desk.engine, ALL)
    session.ask(desk.engine.search, "pump", limit=2)
    found = sets.get(ALL, session.set_id)
    step = Relation("about", False, desk.entry("outside").id, 2)
    session.set_id = sets.keep(replace(found, relations=(None, *[step] * 9)))
    kept = carried(session)
    again = from_json(kept["set"], ALL, desk.engine.reading.entries, 1_000)
    assert again is not None
    assert again.relations == (None, *[step] * 9)


def test_restoring_beside_the_set_that_goes_on_is_the_same_set() -> None:
    desk = filled()
    session, twin = Session(desk.engine, ALL), Session(desk.engine, ALL)
    session.ask(desk.engine.search, "pump", limit=2)
    twin.restore(carried(session))
    desk.clock.pass_seconds(600)
    twin.restore(carried(session))
    desk.clock.pass_seconds(600)  # young again
    assert twin.continue_(3) == session.continue_(3)


def test_an_empty_session_exports_nothing_and_clear_empties_one() -> None:
    desk = filled()
    session = Session(desk.engine, ALL)
    assert session.export() is None
    session.ask(desk.engine.search, "pump")
    assert session.export() is not None
    session.clear()
    assert session.export() is None
    narrow = Session(desk.engine, ALL, TEAM)
    assert carried(narrow) == {"namespace": [["team", "a"]], "offset": 0, "set": None}
    session.restore(carried(narrow))
    assert session.scope == Scope(TEAM)
    session.restore(None)
    assert (session.scope, session.set_id, session.offset) == (ALL, "", 0)


def test_a_set_whose_time_is_over_is_not_exported() -> None:
    desk = filled()
    session = Session(desk.engine, ALL, TEAM)
    session.ask(desk.engine.search, "pump")
    desk.clock.pass_seconds(900)
    assert carried(session)["set"] is None
    with pytest.raises(NotFound):
        session.continue_()


def test_a_session_never_leaves_its_ceiling() -> None:
    desk = filled()
    wide, narrow = Session(desk.engine, ALL), Session(desk.engine, Scope(TEAM))
    wide.ask(desk.engine.search, "pump", limit=2)
    with pytest.raises(Invalid, match="wider"):
        narrow.restore(carried(wide))
    with pytest.raises(Invalid):
        narrow.restore({"namespace": [["team", "b"]], "offset": 0, "set": None})
    with pytest.raises(Invalid):
        narrow.enter((("team", "b"),))
    assert narrow.scope == Scope(TEAM)
    forged = {**carried(wide), "namespace": [["team", "a"]]}
    forged["set"]["id"] = "00000000-0000-7000-8000-000000000001"
    narrow.restore({**forged, "offset": 0})
    assert "outside" not in slugs(narrow.continue_(100))  # read under the narrow scope


def test_a_set_of_another_scope_is_not_taken_over() -> None:
    desk = filled()
    wide, narrow = Session(desk.engine, ALL), Session(desk.engine, ALL, TEAM)
    wide.ask(desk.engine.search, "pump", limit=2)
    narrow.ask(desk.engine.search, "pump", limit=2)
    forged = carried(narrow)
    forged["set"]["id"] = wide.set_id
    with pytest.raises(Conflict):
        narrow.restore(forged)
    assert len(wide.continue_().hits) == 8


def test_entering_another_namespace_lets_the_set_go() -> None:
    desk = filled()
    session = Session(desk.engine, ALL)
    assert session.ask(desk.engine.search, "pump").total == 10
    session.enter(TEAM)
    assert session.set_id == ""
    assert session.ask(desk.engine.search, "pump").total == 9


@pytest.mark.parametrize(
    "broken",
    [
        "text", [], {"offset": 0}, {"namespace": [["team"]], "offset": 0},
        {"namespace": [], "offset": -1}, {"namespace": [], "offset": True},
        {"namespace": "team", "offset": 0}, {"namespace": [["te.am", ""]], "offset": 0},
    ],
)  # fmt: skip
def test_a_malformed_export_is_refused_and_changes_nothing(broken: Any) -> None:
    desk = filled()
    session = Session(desk.engine, ALL)
    session.ask(desk.engine.search, "pump", limit=2)
    before = carried(session)
    with pytest.raises(Invalid):
        session.restore(broken)
    assert carried(session) == before


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("id", 7), ("id", "not an id"), ("ids", "x"), ("ids", [3]), ("total", "9"), ("total", -2),
        ("scores", [1.0]), ("scores", [float("nan")] * 10), ("scores", [10**400] * 10),
        ("seqs", [2**60] * 10),
        ("ranks", []), ("ranks", {"lexical": [1]}), ("positions", [[0], [0, 1]] * 5),
        ("positions", [[2**40, 0, 0]] * 10), ("part_scores", [[1.0]] * 10), ("words", [1]),
        ("relations", [None]), ("relations", [["about", 1, "x", 1]] * 10), ("relations", None),
        ("degraded", [["vector"]]), ("warnings", {}), ("positions", None),
    ],
)  # fmt: skip
def test_a_malformed_set_is_refused(key: str, value: object) -> None:
    desk = filled()
    session = Session(desk.engine, ALL)
    session.ask(desk.engine.search, "pump", limit=2)
    broken = carried(session)
    broken["set"][key] = value
    with pytest.raises(Invalid, match="restore what `export` gave"):
        session.restore(broken)
    assert session.offset == 2


def test_a_set_without_an_id_is_dropped_and_strange_engrams_are_left_out() -> None:
    desk = filled()
    session = Session(desk.engine, ALL)
    session.ask(desk.engine.search, "pump", limit=2)
    kept = carried(session)
    session.restore({**kept, "set": {**kept["set"], "id": None}})
    assert (session.set_id, session.offset) == ("", 0)
    other = Desk()
    other.engine.put(HERE, Draft("note", "x", b"pump\n"))
    there = Session(other.engine, ALL)
    there.restore({**kept, "offset": 0})
    assert there.continue_().hits == ()
