"""What holds for every recall, whatever is stored and asked."""

from __future__ import annotations

import itertools
import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.model import Draft, EdgeMeta
from engine.namespace import Scope
from engine.recall.keys import FLOORS
from engine.recall.pack import Pack
from tests.ending import engines_end
from tests.engine.recall import worlds
from tests.engine.recall.worlds import HOSTILE, ODD, TAGS, WORDS, Opened, made

SEEDS = st.integers(0, 3)
QUESTIONS = st.lists(
    st.sampled_from((*WORDS, "n3", "note/n1", *HOSTILE[:3])), min_size=1, max_size=4
)
BUDGETS = st.sampled_from((64, 65, 90, 128, 200, 333, 512, 700, 1024, 2000, 4096, 20_000))
KINDS = ("note", "deal", "task")
Request = dict[str, Any]

CONTROLS = st.fixed_dictionaries(
    {},
    optional={
        "detail": st.sampled_from(("auto", "full", "parts", "summary")),
        "fusion": st.sampled_from(("score", "rrf")),
        "surfaces": st.sampled_from(
            ("engrams", "passages", "facts", "engrams,facts", "engrams,passages", "facts,digests")
        ),
        "channels": st.sampled_from(("lexical", "vector", "lexical,graph", "lexical,exact,vector")),
        "reverse": st.sampled_from(("on", "off")),
        "hops": st.sampled_from((1, 2)),
        "k": st.sampled_from((1, 5, 100)),
        "limit": st.sampled_from((1, 3, 200)),
    },
)  # fmt: skip
EXTRAS = st.fixed_dictionaries(
    {},
    optional={
        "sources": st.just("on"),
        "chunks": st.just("on"),
        "max_source_tokens": st.sampled_from((1, 40, 300, 4096)),
        "max_chunk_tokens": st.sampled_from((1, 40, 300)),
        "altitude": st.sampled_from(("auto", "entity", "scope", "tenant")),
        "themes": st.just("on"),
        "tags": st.sampled_from(("red", "red,blue")),
        "max_characters": st.sampled_from((1, 200, 5000)),
        "trace": st.just("on"),
        "format": st.just("json"),
    },
)


@pytest.fixture(autouse=True, scope="module")
def _engines_end_with_their_test() -> Iterator[None]:
    """The worlds are shared by all tests here."""
    with engines_end():
        yield
    made.cache_clear()


def question(words: list[str]) -> str:
    return " ".join(words).replace("\n", " ")


def ceiling(request: Mapping[str, Any]) -> int:
    """Tokens of the whole answer."""
    sources = int(request.get("max_source_tokens", 4096)) if "sources" in request else 0
    chunks = int(request.get("max_chunk_tokens", 500)) if "chunks" in request else 0
    return int(request.get("budget", 4096)) + sources + chunks


def without_trace(packed: Pack, request: Mapping[str, Any]) -> str:
    text = packed.rendered.decode()
    if "trace" not in request or not text:
        return text
    if request.get("format") == "json":
        return text[: text.rindex(',"trace":')] + "}\n"
    return text[: text.rindex("\n# trace\n")]


# -- budget ----------------------------------------------------------------------------
@settings(max_examples=60)
@given(
    seed=SEEDS, words=QUESTIONS, budget=BUDGETS, controls=CONTROLS, extras=EXTRAS,
    counter=st.sampled_from(("o200k", "cl100k", "bytes4", "model", *ODD)),
)  # fmt: skip
def test_no_answer_is_over_its_budget(
    seed: int, words: list[str], budget: int, controls: Request, extras: Request, counter: str
) -> None:
    opened = made(seed, digests=True)
    if extras.get("format") == "json":
        budget = max(budget, 512)
    request = {"q": question(words), "budget": budget, "counter": counter, **controls, **extras}
    packed = opened.ask(request)
    text = without_trace(packed, request)
    count = opened.engine.reading.counter(counter)
    assert packed.tokens == count(text) <= ceiling(request) or (not text and not packed.items)
    if request.get("format") == "json" and text:
        values = json.loads(text)
        assert values["tokens"] in (None, packed.tokens)
        assert len(values["items"]) == len(packed.items)
        assert packed.truncated or values["omitted"]["count"] == 0
    elif said := re.match(r"---\ntokens: (\d+)", text):
        assert int(said[1]) == packed.tokens
    assert sum(item.characters for item in packed.items) <= int(
        request.get("max_characters", 200_000)
    )


@settings(max_examples=40)
@given(
    seed=SEEDS, words=QUESTIONS, controls=CONTROLS,
    extras=EXTRAS, altitude=st.sampled_from(("entity", "scope", "tenant")),
    few=BUDGETS, more=BUDGETS, counter=st.sampled_from(("o200k", "bytes4", "cl100k", "lines")),
)  # fmt: skip
def test_the_items_at_a_budget_begin_those_at_a_larger_one(
    seed: int, words: list[str], controls: Request, extras: Request, altitude: str, few: int,
    more: int, counter: str,
) -> None:  # fmt: skip
    few, more = sorted((few, more))
    opened = made(seed, digests=True)
    least = 512 if extras.get("format") == "json" else 64
    request = {"q": question(words), "detail": "auto", "counter": counter, **controls, **extras}
    request["altitude"] = altitude
    small = opened.ask({**request, "budget": max(few, least)})
    large = opened.ask({**request, "budget": max(more, least)})
    begun = [*map(worlds.texts, small.items)]
    whole = [*map(worlds.texts, large.items)]
    if len(begun) == 1 and begun != whole[:1]:  # a first item that is too long, reduced
        [first], best = begun, whole[0]
        assert small.truncated and worlds.identity(first) == worlds.identity(best)
        assert {one.text for one in first.passages} <= {
            one.text for one in (*best.passages, *large.items[0].spare)
        } or first.body is None
    else:
        assert begun == whole[: len(begun)]
    assert small.omitted.count >= large.omitted.count
    assert small.truncated or not large.truncated


# -- the same again --------------------------------------------------------------------
@settings(max_examples=25)
@given(seed=SEEDS, words=QUESTIONS, budget=BUDGETS, controls=CONTROLS, extras=EXTRAS)
def test_the_same_request_has_the_same_bytes(
    seed: int, words: list[str], budget: int, controls: Request, extras: Request
) -> None:
    opened = made(seed, digests=True)
    extras.pop("trace", None)  # it tells the time it took
    least = 512 if extras.get("format") == "json" else 64
    request = {"q": question(words), **controls, **extras, "budget": max(budget, least)}
    assert opened.ask(request).rendered == opened.ask(request).rendered


@settings(max_examples=6)
@given(seed=SEEDS, words=QUESTIONS, controls=CONTROLS)
def test_the_order_of_kinds_changes_nothing(seed: int, words: list[str], controls: Request) -> None:
    opened = made(seed)
    for number in (2, 3):
        answers = [
            opened.ask({"q": question(words), "kinds": ",".join(kinds), **controls})
            for kinds in itertools.permutations(KINDS[:number])
        ]
        assert len({tuple(map(repr, map(worlds.texts, one.items))) for one in answers}) == 1
        browsed = [
            opened.ask({"kinds": ",".join(kinds)}) for kinds in itertools.permutations(KINDS[:2])
        ]
        assert len({tuple(map(repr, map(worlds.texts, one.items))) for one in browsed}) == 1


# -- filters ---------------------------------------------------------------------------
FILTERS = st.sampled_from(
    (
        {"kinds": "note"}, {"kinds": "deal,task"}, {"kind": "note"}, {"tags": "red"},
        {"tags": "red,blue", "tags_match": "all_strict"}, {"tags_match": "exact"},
        {"tags": "old", "tags_match": "any_strict"}, {"source_roles": "user"},
        {"source_roles": "assistant,tool"}, {"prop.favourite": "true"},
        {"created_after": "2027-01-01"}, {"updated_before": "2026-12-01"},
        {"created_after": "2026-11-20", "created_before": "2026-12-20"},
    )
)  # fmt: skip


@settings(max_examples=40)
@given(seed=SEEDS, words=QUESTIONS, controls=CONTROLS, filters=FILTERS)
def test_filters_only_remove_and_change_no_score(
    seed: int, words: list[str], controls: Request, filters: Request
) -> None:
    """With room for every engram: what a channel brings in at most is chosen behind the filters."""
    opened = made(seed)
    request = {"q": question(words), **controls, "k": 1000, "limit": 200, "budget": 32_768}
    request |= {"altitude": "entity", "detail": "summary", "surfaces": "engrams"}
    every, some = opened.ask(request), opened.ask({**request, **filters})
    assert not every.truncated
    before, after = worlds.scores(every.items), worlds.scores(some.items)
    tagged = [item for item in some.items if item.tagged or "tags" not in filters]
    assert [one.id for one in tagged] == [
        one.id for one in every.items if one.id in {item.id for item in tagged}
    ]
    assert after.items() <= before.items()


@settings(max_examples=30)
@given(
    seed=SEEDS, words=QUESTIONS, controls=CONTROLS,
    floor=st.sampled_from(["min_score", *(f"min_score.{one}" for one in FLOORS)]),
    least=st.sampled_from((0.1, 0.5, 0.9, 1.0)),
)  # fmt: skip
def test_floors_only_remove_and_fill_nothing_up(
    seed: int, words: list[str], controls: Request, floor: str, least: float
) -> None:
    opened = made(seed)
    request = {"q": question(words), **controls, "budget": 32_768, "surfaces": "engrams"}
    every, some = opened.ask(request), opened.ask({**request, floor: least})
    kept = {worlds.identity(item) for item in some.items}
    assert [*map(worlds.texts, some.items)] == [
        worlds.texts(item) for item in every.items if worlds.identity(item) in kept
    ]
    if floor == "min_score":
        named = {worlds.identity(item) for item in every.items if item.named}
        above = {worlds.identity(item) for item in every.items if item.score >= least}
        assert above <= kept <= above | named


MATCHES: dict[str, Callable[[set[str], set[str]], bool]] = {
    "any": lambda tags, wanted: not tags or bool(tags & wanted),
    "all": lambda tags, wanted: not tags or wanted <= tags,
    "any_strict": lambda tags, wanted: bool(tags & wanted),
    "all_strict": lambda tags, wanted: bool(tags) and wanted <= tags,
    "exact": lambda tags, wanted: tags == wanted,
}
SUBSETS = [wanted for size in range(4) for wanted in itertools.combinations(TAGS, size)]


@pytest.mark.parametrize(
    ("match", "wanted"),
    [(match, wanted) for match in MATCHES for wanted in SUBSETS if wanted or match == "exact"],
)
def test_modes_of_tags_are_their_truth_table(match: str, wanted: tuple[str, ...]) -> None:
    for seed in range(3):
        opened = made(seed)
        request = {"kinds": ",".join(KINDS), "tags_match": match, "budget": 32_768}
        request |= {"detail": "summary"} | ({"tags": ",".join(wanted)} if wanted else {})
        found = {item.id for item in opened.ask(request).items}
        pages = worlds.some_world(seed).pages
        assert found == {page.id for page in pages if MATCHES[match](set(page.tags), set(wanted))}


# -- the wrapper -----------------------------------------------------------------------
OWN = re.compile(
    r"|# (sources|chunks)|(status|why|fact|role|sources|same text as|quoted in): .*"
    r"|(lines \d+-\d+|passage)(: .*)?|> .*|>"
)


def headings(opened: Opened) -> set[str]:
    """What a heading of an answer may be: paths and ids of engrams, and files of digests."""
    entries = opened.engine._state.entries.live()
    digests = opened.engine.digests(worlds.INSIDE)
    return {
        *(f"## {worlds.path_of(one)}" for one in entries), *(f"## {one.id}" for one in entries),
        *(f"## .digests/{one.name}.md" for one in digests),
    }  # fmt: skip


def speaks(opened: Opened, packed: Pack, text: str) -> None:
    """Every line of an answer is one of its own kinds, or quoted."""
    for character in text:
        assert character in "\n\t" or not re.match(
            "[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", character
        )
        assert unicodedata.category(character) != "Cs"
    begin, front, answer = text.split("---\n", 2)
    assert begin == "" and all(re.match(r"[a-z]+: ", line) for line in front.splitlines())
    lines = answer.splitlines()
    known = headings(opened)
    assert all(line in known or OWN.fullmatch(line) for line in lines)
    assert lines.count("# sources") <= 1 and lines.count("# chunks") <= 1
    items, *_ = re.split(r"^# (?:sources|chunks)$", answer, flags=re.M)
    assert len(re.findall("^## ", items, re.M)) == len(packed.items)


@settings(max_examples=40)
@given(seed=SEEDS, words=QUESTIONS, controls=CONTROLS, extras=EXTRAS)
def test_no_stored_text_stands_where_the_answer_speaks(
    seed: int, words: list[str], controls: Request, extras: Request
) -> None:
    opened = made(seed, digests=True)
    request = {"q": question(words), "budget": 20_000, **controls, **extras, "format": "md"}
    packed = opened.ask(request)
    text = without_trace(packed, request)
    speaks(opened, packed, text)


class Asked:
    """One engine in which one engram is written again and again."""

    opened: Opened | None = None


LINES = st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | st.sampled_from(HOSTILE)


@settings(max_examples=60)
@given(
    title=LINES, body=st.lists(LINES, max_size=6).map("\n".join), tag=LINES, note=LINES,
    said=LINES, role=LINES, detail=st.sampled_from(("full", "parts", "auto")),
)  # fmt: skip
def test_no_text_at_all_can_pose_as_the_answer(
    title: str, body: str, tag: str, note: str, said: str, role: str, detail: str
) -> None:
    if Asked.opened is None:
        Asked.opened = worlds.opened(worlds.World(()))
    engine = Asked.opened.engine
    pages = [
        worlds.Page("note", "one", f"pump {title}", f"pump\n{body}\n", (f"t{tag}",), note=note),
        worlds.Page("note", "two", f"valve {title}", f"# {body}\n\n[[one]] valve {said}\n"),
    ]
    for page in pages:
        scope = Scope(page.namespace, exact=True)
        engine.put(scope, Draft(page.kind, page.slug, page.source))
    meta = EdgeMeta(f"pump {said}".replace("\0", ""), role=role.replace("\0", ""))
    engine.link(worlds.INSIDE, pages[0].id, "causes", pages[1].id, meta)
    request = {"q": "pump valve", "detail": detail, "chunks": "on", "budget": 20_000}
    packed = Asked.opened.ask(request)
    speaks(Asked.opened, packed, packed.rendered.decode())
    values = json.loads(Asked.opened.ask({**request, "format": "json"}).rendered)
    assert len(values["items"]) == len(packed.items) and values["truncated"] == packed.truncated
    assert values["items"][0].keys() == values["items"][-1].keys()
