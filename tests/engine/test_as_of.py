"""What engrams were at a time: which version, what is told of those that have none, and where the
passages of now stood then."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.as_of import found_again, ranking_at
from engine.channels import retrieve
from engine.config import DAY_NS, SECOND_NS, Config
from engine.filters import Filters
from engine.masks import masks
from engine.model import EdgeMeta, HostPart
from engine.query import query_terms
from engine.ranking import Ranking, Rules, rank
from engine.reader import Changed, Then
from engine.recall.chunks import chunks
from engine.recall.facts import Fact, facts
from engine.recall.quotes import quoted
from engine.recall.sources import sources_of
from tests.engine.desk import HERE, Desk

HOUR = 3_600


def at(desk: Desk, at_ns: int, *slugs: str) -> Then:
    return desk.engine.reading.hydrate_at(HERE, [desk.entry(slug) for slug in slugs], at_ns)


def body(desk: Desk, at_ns: int, slug: str) -> str:
    """The file of then, or what is told instead."""
    no = desk.entry(slug).no
    then = at(desk, at_ns, slug)
    told = [name for name in ("absent", "gone", "damaged") if no in getattr(then, name)] + (
        ["row"] if no in then.rows else []
    )
    assert len(told) == 1
    if told != ["row"]:
        assert not then.entries
        return told[0]
    source = then.rows[no].source
    assert source is not None
    assert len(source) == then.entries[no].size
    return source.decode()


def moments(desk: Desk, slug: str, *texts: str, seconds: float = HOUR) -> list[int]:
    """Save texts one after another; a time after each."""
    found = []
    for text in texts:
        desk.put(slug, text, by="me")
        desk.clock.pass_seconds(seconds / 2)
        found.append(desk.clock.now)
        desk.clock.pass_seconds(seconds / 2)
    return found


def test_each_version_at_its_time_whether_pruned_or_not() -> None:
    desk = Desk()
    desk.put("other", "Not asked for.\n")
    start = desk.clock.now
    desk.clock.pass_seconds(HOUR)
    times = moments(desk, "a", "one\n", "two\n", "three\n")
    for _ in range(2):
        assert body(desk, start, "a") == "absent"
        assert [body(desk, time, "a") for time in times] == ["one\n", "two\n", "three\n"]
        assert body(desk, desk.clock.now, "a") == "three\n"
        desk.engine._upkeep.prune()
        desk.engine._state.sources.clear()


def test_title_properties_kind_and_place_are_those_of_then() -> None:
    desk = Desk()
    [time] = moments(desk, "a", "---\ntitle: Old\ntags: [x]\nsummary: S.\n---\nBody.\n")
    desk.mv("a", "b", to="paper")
    desk.clock.pass_seconds(HOUR)
    moved = desk.clock.now
    desk.engine.put(HERE, draft("b", "---\ntitle: New\n---\nBody.\n", "paper"))
    entry = desk.entry("b", "paper")
    then = desk.engine.reading.hydrate_at(HERE, [entry], time)
    row, was = then.rows[entry.no], then.entries[entry.no]
    assert (row.title, row.summary, row.properties["tags"]) == ("Old", "S.", ["x"])
    assert (was.kind, was.name, was.title, was.id) == ("note", "a", "Old", entry.id)
    assert was.shown_size > was.size
    later = desk.engine.reading.hydrate_at(HERE, [entry], moved).entries[entry.no]
    assert (later.kind, later.name, later.title) == ("paper", "b", "Old")


def test_who_sees_some_kinds_is_not_shown_what_was_of_another() -> None:
    desk = Desk()
    [time] = moments(desk, "a", "Confided.\n")
    desk.mv("a", "b", to="paper")
    desk.clock.pass_seconds(HOUR)
    entry, papers = desk.entry("b", "paper"), replace(HERE, kinds=frozenset({"paper"}))
    then = desk.engine.reading.hydrate_at(papers, [entry], time)
    assert then == Then({}, {}, absent=frozenset({entry.no}))
    later = desk.engine.reading.hydrate_at(papers, [entry], desk.clock.now)
    assert later.entries[entry.no].name == "b"


def draft(slug: str, text: str, kind: str = "note") -> object:
    from engine.model import Draft

    return Draft(kind, slug, text.encode())


def test_saves_of_one_run_are_one_version_before_it_is_pruned_and_after() -> None:
    desk = Desk()
    [before] = moments(desk, "a", "old\n")
    run = moments(desk, "a", "half\n", "most\n", "all\n", seconds=10)
    desk.clock.pass_seconds(HOUR)
    desk.put("a", "later\n", by="you")
    desk.clock.pass_seconds(HOUR)
    for _ in range(2):
        assert body(desk, before, "a") == "old\n"
        assert [body(desk, time, "a") for time in run] == ["old\n", "old\n", "all\n"]
        desk.engine._upkeep.prune()


def test_what_is_no_longer_kept_is_gone_and_what_is_younger_absent() -> None:
    desk = Desk(config=Config(history_versions=2))
    born = desk.clock.now
    times = moments(desk, "a", "one\n", "two\n", "three\n", "four\n")
    for _ in range(2):
        assert [body(desk, time, "a") for time in times] == ["gone", "two\n", "three\n", "four\n"]
        assert body(desk, born - DAY_NS, "a") == "absent"
        desk.engine._upkeep.prune()
    desk.clock.pass_seconds(91 * DAY_NS / SECOND_NS)
    assert [body(desk, time, "a") for time in times] == ["gone", "gone", "three\n", "four\n"]


def test_who_was_deleted_at_the_time_is_absent() -> None:
    desk = Desk()
    [first] = moments(desk, "a", "one\n")
    id = desk.rm("a").id
    desk.clock.pass_seconds(HOUR)
    dead = desk.clock.now
    desk.clock.pass_seconds(HOUR)
    desk.engine.revive(HERE, id)
    desk.clock.pass_seconds(HOUR)
    assert body(desk, first, "a") == "one\n"
    assert body(desk, dead, "a") == "absent"
    assert body(desk, desk.clock.now, "a") == "one\n"
    desk.engine._upkeep.prune()  # drops the row that says when it died
    assert body(desk, dead, "a") == "gone"
    assert body(desk, desk.clock.now, "a") == "one\n"


def test_other_attributes_and_a_hosts_parts_are_no_version() -> None:
    desk = Desk()
    [time] = moments(desk, "a", "one\n")
    desk.engine.set_attributes(HERE, desk.entry("a"), mode=0o600)
    desk.engine.replace_parts(HERE, "note/a", [HostPart("Spoken.")])
    desk.clock.pass_seconds(HOUR)
    for _ in range(2):
        assert body(desk, time, "a") == "one\n"
        entry = desk.entry("a")
        parts = at(desk, desk.clock.now, "a").rows[entry.no].parts
        assert parts is not None
        assert [part.text for part in parts] == [None, None, "Spoken."]
        desk.engine._upkeep.prune()


def test_a_batch_has_each_engram_once() -> None:
    desk = Desk()
    for number in range(40):
        desk.put(f"n{number}", "old\n")
    desk.clock.pass_seconds(HOUR)
    time = desk.clock.now
    desk.clock.pass_seconds(HOUR)
    for number in range(0, 40, 2):
        desk.put(f"n{number}", "new\n")
    desk.put("young", "new\n")
    entries = [desk.entry(f"n{number}") for number in range(40)] + [desk.entry("young")]
    then = desk.engine.reading.hydrate_at(HERE, entries, time)
    assert {row.source for row in then.rows.values()} == {b"old\n"}
    assert then.absent == {desk.entry("young").no}
    assert len(then.rows) == 40
    assert then.changed.keys() == {desk.entry(f"n{number}").no for number in range(0, 40, 2)}
    assert then.of(entries[:2]).keys() == {entry.no for entry in entries[:2]}
    assert desk.engine.reading.hydrate_at(HERE, [], time) == Then({}, {})


def test_damaged_bytes_of_then_are_told() -> None:
    desk = Desk()
    [time] = moments(desk, "a", "one\n")
    desk.put("a", "two\n")
    state = desk.engine._state
    with state.store.transaction() as cursor:
        cursor.execute("UPDATE version SET source = 'x'::BLOB WHERE source = 'one\n'::BLOB")
    state.sources.clear()
    assert body(desk, time, "a") == "damaged"


# -- passages of then ---------------------------------------------------------------
THEN = Changed(
    ids_now=["head", "top", "new", "same"],
    ids_then=["head", "same", "old", "more", "top"],
    terms_then=[["pump"], ["oil"], ["pump"], ["pump", "leak"], ["oil"]],
)
ASKED = (("pump",), ("leak", "drip"))


@pytest.mark.parametrize(
    ("parts", "most", "expected"),
    [
        (((3, 0.9), (1, 0.5)), 2, ((1, 0.9), (4, 0.5))),
        (((2, 0.8),), 3, ((3, 0.8), (2, 0.4))),
        (((2, 0.8), (3, 0.6)), 2, ((3, 0.8), (1, 0.6))),
        (((9, 0.8),), 1, ((3, 0.8),)),
        ((), 3, ()),
        (((0, 0.8),), 1, ((0, 0.8),)),
    ],
)
def test_passages_are_found_again_by_their_id_or_by_words(
    parts: tuple[tuple[int, float], ...], most: int, expected: tuple[tuple[int, float], ...]
) -> None:
    assert found_again(parts, THEN, ASKED, most) == expected


def test_without_words_only_ids_count() -> None:
    assert found_again(((2, 0.8), (3, 0.6)), THEN, (), 3) == ((1, 0.6),)


# -- a ranking of then ----------------------------------------------------------------
def ranked(desk: Desk, question: str) -> tuple[Ranking, tuple[tuple[str, ...], ...]]:
    reader = desk.engine.reading
    columns = reader.columns.now()
    mask = masks(columns, reader.properties, HERE, Filters())
    found = retrieve(reader, columns, mask.covered, mask.hidden, question, ("lexical",))
    rules = Rules(reader.config, now_ns=desk.clock.now)
    groups = query_terms(question, reader.languages(mask.covered))
    return rank(columns, found, mask.allowed, (), rules, 200), groups


def test_a_ranking_shows_what_was_there_then() -> None:
    desk = Desk()
    desk.put("a", "# A\n\n## Oil\n\nOil pump.\n\n## Leak\n\nThe pump leaks.\n")
    desk.put("b", "# B\n\nA pump.\n")
    desk.clock.pass_seconds(HOUR)
    time = desk.clock.now
    desk.clock.pass_seconds(HOUR)
    desk.put("a", "# A\n\nNew, the pump leaks.\n\n## Oil\n\nOil.\n")
    desk.mv("b", "c")
    desk.put("young", "# Y\n\nA pump leaks.\n")
    reader = desk.engine.reading
    now, groups = ranked(desk, "pump leaks")
    entries = [one.entry for one in now.ranked]
    then = reader.hydrate_at(HERE, entries, time)
    past = ranking_at(now, then, groups)
    assert [one.entry.name for one in past.ranked] == [
        {"a": "a", "c": "b"}[entry.name] for entry in entries if entry.slug != "young"
    ]
    assert past.total == now.total - 1
    kept = [one for one in now.ranked if one.entry.slug != "young"]
    assert [one.score for one in past.ranked] == [one.score for one in kept]
    texts = {
        (chunk.path, chunk.passage.text)
        for chunk in chunks(past, lambda entry: f"{entry.kind}/{entry.name}.md", then.of)
    }
    assert ("note/a.md", "## Leak\n\nThe pump leaks.\n") in texts
    assert ("note/b.md", "# B\n\nA pump.\n") in texts
    assert not any("New" in text for _, text in texts)
    for chunk in chunks(past, lambda _: "", then.of, shown=False):
        source = then.rows[chunk.entry.no].source
        assert source is not None
        place = chunk.passage.span
        assert source[place.byte_start : place.byte_end].decode() == chunk.passage.text


def test_evidence_is_asked_for_in_any_order() -> None:
    desk = Desk()
    desk.put("a", "# A\n\nThe pump.\n")
    desk.put("b", "# B\n\nThe pump.\n")
    now, groups = ranked(desk, "pump")
    then = desk.engine.reading.hydrate_at(HERE, [one.entry for one in now.ranked], desk.clock.now)
    past = ranking_at(now, then, groups)
    numbers = past.numbers[::-1]
    assert np.array_equal(past.evidence_of(numbers).positions, now.evidence_of(numbers).positions)


# -- facts and sources of then ----------------------------------------------------------
def test_facts_and_sources_of_then() -> None:
    desk = Desk()
    desk.put("s", "Source one.\n")
    desk.put("b", "B.\n")
    desk.put("a", "---\nderived_from: [s]\n---\nThe pump, see [[b]] first.\n")
    desk.engine.link(HERE, "note/a", "near", "note/b", EdgeMeta(note="old"))
    desk.clock.pass_seconds(HOUR)
    time = desk.clock.now
    desk.clock.pass_seconds(HOUR)
    desk.put("s", "Source two.\n")
    desk.put("young", "Y.\n")
    desk.put("a", "---\nderived_from: [s, young]\n---\nThe pump, now [[b]], [[young]].\n")
    desk.engine.link(HERE, "note/b", "near", "note/a", EdgeMeta(note="pump"))
    reader = desk.engine.reading
    now, _ = ranked(desk, "pump")
    mask = masks(now.columns, reader.properties, HERE, Filters())

    def told(at_ns: int | None) -> dict[str, Fact]:
        found = facts(reader, mask, "pump", now, 9, bare=True, at_ns=at_ns)
        found = quoted(reader, HERE, found, at_ns=at_ns)
        return {f"{one.source.slug} {one.relation} {one.target.slug}": one for one in found}

    then = told(time)
    assert then.keys() == {"a mentions b", "a near b", "a derived_from s"}
    assert told(None).keys() == then.keys() | {
        "a mentions young", "a derived_from young", "b near a",
    }  # fmt: skip
    quote = then["a mentions b"].quote
    assert quote is not None
    assert quote.text == "The pump, see [[b]] first."
    entries = [desk.entry("a")]
    _, [source] = sources_of(reader, HERE, entries, lambda _: None, at_ns=time)
    assert source.text == "Source one.\n"
    _, sources = sources_of(reader, HERE, entries, lambda _: None)
    assert [one.text for one in sources] == ["Source two.\n", "Y.\n"]
