"""Packing: never over the budget, whatever counts and whatever is packed; always a prefix."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.model import Degraded, Entry, Passage, Span
from engine.recall.answer import Form, settle, token_of
from engine.recall.items import Item
from engine.recall.json_form import JsonForm
from engine.recall.markdown import FRONT_TOKENS, MarkdownForm
from engine.recall.pack import Account, Limits, Pack, pack
from engine.recall.tail import Tail
from engine.tokens import bytes4, counter

FORMS: list[Form] = [MarkdownForm(), JsonForm()]
Count = Callable[[str], int]
SANE: dict[str, Count] = {
    "o200k": counter("o200k"),
    "cl100k": counter("cl100k"),
    "bytes4": bytes4,
    "characters": len,
    "words": lambda text: len(text.split()),
}
ODD: dict[str, Count] = {
    "digest": lambda text: len(text) // 3 + hashlib.blake2b(text.encode()).digest()[0] % 50,
    "distinct": lambda text: len(set(text)),
    "shrinking": lambda text: max(0, 500 - len(text)),
    "constant": lambda text: 40 if text else 0,
    "huge": lambda text: 10**9 if text else 0,
    "never what it says": lambda text: 70 + ("tokens: 7" in text or '"tokens":7' in text),
}

TEXT = st.text(max_size=300) | st.sampled_from(
    [
        "中文合約轉換體驗課問題。" * 20, "word " * 200, "---\ntokens: 0\n---\n## deal/evil.md\n",
        "\x1b[31m\x9b5m\u2028## x", "🙂" * 50, "a" * 500, "```\n````\n> > #\n", "\r\n\r\r",
    ]
)  # fmt: skip


def entry(no: int) -> Entry:
    return Entry(
        no=no, id=f"00000000-0000-7000-8000-{no:012d}", namespace=(), kind="note", slug=f"n{no}",
        name=f"n{no}", inode=no, mode=0o644, mtime_ns=0, ctime_ns=0, created_ns=0, updated_ns=0,
        size=1, shown_size=1, seq=no, source_seq=no,
    )  # fmt: skip


def item(no: int, body: str | None, passages: Sequence[str] = (), title: str = "") -> Item:
    evidence = tuple(
        Passage(text, ("Heading", f"H{at}"), Span(at, at, at * 10, at * 10 + 9), 1.0 - at / 10)
        for at, text in enumerate(passages)
    )
    return Item(
        id=entry(no).id, kind="note", entry=entry(no), path=f"note/n{no}.md",
        title=title or f"n{no}", summary="",
        status="live", source_role="user", score=1.0, channels={"lexical": no + 1},
        properties={"stage": "open"}, body=body, passages=() if body is not None else evidence,
        spare=evidence,
    )  # fmt: skip


ITEMS = st.lists(
    st.tuples(st.none() | TEXT, st.lists(TEXT, max_size=3), st.text(max_size=30)), max_size=8
).map(lambda drawn: [item(no, *one) for no, one in enumerate(drawn)])


def run(
    items: Sequence[Item],
    form: Form,
    count: Count,
    budget: int,
    *,
    most: int = 200_000,
    degraded: tuple[Degraded, ...] = (),
    changed: str = "",
    controls: dict[str, object] | None = None,
) -> Pack:
    account = Account(
        total=len(items),
        paths=[one.name for one in items],
        counter="x",
        controls=controls or {"q": "pumps", "budget": budget},
        changed=changed,
        degraded=degraded,
    )
    return pack(iter(items), form, account, Limits(budget, most), count)


@pytest.mark.parametrize("form", FORMS, ids=["md", "json"])
@pytest.mark.parametrize("name", [*SANE, *ODD])
@settings(max_examples=25, deadline=None)
@given(items=ITEMS, budget=st.integers(64, 1500), most=st.integers(1, 3000))
def test_an_answer_is_never_over_its_budget(
    form: Form, name: str, items: list[Item], budget: int, most: int
) -> None:
    count = (SANE | ODD)[name]
    packed = run(items, form, count, budget, most=most)
    text = packed.rendered.decode()
    assert count(text) <= max(budget, count(""))
    assert packed.tokens == count(text)
    assert packed.characters <= most
    assert [one.entry.no for one in packed.items] == list(range(len(packed.items)))
    assert packed.omitted.count == len(items) - len(packed.items)
    if name in SANE and text and "tokens" in text:
        assert f"tokens: {packed.tokens}" in text or f'"tokens":{packed.tokens}' in text


@pytest.mark.parametrize("form", FORMS, ids=["md", "json"])
@pytest.mark.parametrize("name", list(SANE))
@settings(max_examples=25, deadline=None)
@given(items=ITEMS, budgets=st.tuples(st.integers(64, 1500), st.integers(64, 1500)))
def test_items_are_a_prefix_of_those_at_a_larger_budget(
    form: Form, name: str, items: list[Item], budgets: tuple[int, int]
) -> None:
    small, large = (run(items, form, SANE[name], budget) for budget in sorted(budgets))
    texts = [(one.body, one.passages) for one in small.items]
    if small.items and texts[0] != (items[0].body, items[0].passages):
        assert len(small.items) == 1  # the first item, reduced to its passages
        return
    assert texts == [(one.body, one.passages) for one in large.items][: len(texts)]


@pytest.mark.parametrize("budget", [64, 100, 200, 333, 512, 1000, 1001, 4096])
def test_items_fill_the_budget_as_far_as_they_go(budget: int) -> None:
    items = [item(no, "word " * (20 + no)) for no in range(120)]
    packed = run(items, MarkdownForm(), SANE["o200k"], budget)
    following = items[len(packed.items)]
    room = budget - packed.tokens
    assert room < SANE["o200k"](MarkdownForm().section(following)) + 24
    assert packed.truncated


def test_a_first_item_that_does_not_fit_is_reduced_to_its_best_passages() -> None:
    passages = ["one " * 30, "two " * 30, "three " * 30]
    items = [item(0, "long " * 3000, passages), item(1, "short")]
    at_200 = run(items, MarkdownForm(), SANE["o200k"], 200)
    assert [passage.text for passage in at_200.items[0].passages] == passages
    at_130 = run(items, MarkdownForm(), SANE["o200k"], 130)
    assert [passage.text for passage in at_130.items[0].passages] == passages[:2]
    at_64 = run(items, MarkdownForm(), SANE["o200k"], 64)
    assert at_64.items == ()
    for packed in (at_200, at_130, at_64):
        assert packed.truncated
        assert packed.omitted.count == 2 - len(packed.items)


def test_a_passage_that_fits_stands_in_for_a_better_one_that_does_not() -> None:
    packed = run([item(0, None, ["big " * 500, "small"])], MarkdownForm(), SANE["o200k"], 100)
    assert [passage.text for passage in packed.items[0].passages] == ["small"]


def test_one_character_gives_no_items_and_says_so() -> None:
    for form in FORMS:
        packed = run([item(0, "x")], form, SANE["o200k"], 1000, most=1)
        assert packed.items == ()
        assert packed.truncated
        assert packed.characters == 0


def test_characters_are_code_points() -> None:
    packed = run([item(0, "中文🙂")], MarkdownForm(), SANE["o200k"], 1000)
    assert packed.characters == len("note/n0.md") + len("n0") + 3


def test_rows_that_are_gone_are_passed_over() -> None:
    items = [None, item(1, "one"), None]
    account = Account(3, ["a", "note/n1.md", "b"], "x", {}, "")
    packed = pack(iter(items), MarkdownForm(), account, Limits(1000, 1000), len)
    assert [one.entry.no for one in packed.items] == [1]
    assert (packed.omitted.count, packed.truncated) == (0, False)


@given(
    st.lists(st.text(min_size=1, max_size=40), max_size=6),
    st.text(alphabet="abc&=", max_size=200),
    st.lists(st.text(max_size=300), max_size=4),
)
@settings(max_examples=50, deadline=None)
def test_the_front_matter_has_48_tokens(paths: list[str], changed: str, reasons: list[str]) -> None:
    count = SANE["o200k"]
    account = Account(
        len(paths), paths, "o200k", {}, changed, tuple(Degraded("vector", r) for r in reasons)
    )
    packed = pack(
        iter([item(no, "x " * 9000) for no in range(len(paths))]),
        MarkdownForm(), account, Limits(4096, 200_000), count,
    )  # fmt: skip
    text = packed.rendered.decode()
    front = text[: text.index("\n---\n", 4) + 5]
    assert count(front) <= FRONT_TOKENS
    assert f"omitted: {len(paths)}" in front
    assert (f"degraded: {len(reasons)}" in front) == bool(reasons)


@pytest.mark.parametrize("name", ["o200k", "cl100k", "bytes4"])
def test_the_front_matter_has_48_tokens_whatever_follows_the_items(name: str) -> None:
    """The count that it says is a longer number then, and the token is another."""
    count = SANE[name]
    tail = Tail(chunks=("x " * 700 + "\n",))
    for length in range(120):
        account = Account(1, ["a"], name, {}, ("k=971&" * 30)[:length])
        packed = pack(
            iter([item(0, "body")]), MarkdownForm(), account, Limits(800, 200_000, 900), count,
            lambda *_: tail,
        )  # fmt: skip
        text = packed.rendered.decode()
        assert count(text[: text.index("\n---\n", 4) + 5]) <= FRONT_TOKENS


@pytest.mark.parametrize(
    ("changed", "reason", "told"),
    [
        ("kinds=deal", "", {"paths", "controls"}),
        ("kinds=deal&prop.stage=open&budget=200&k=9", "", {"controls"}),
        ("", "off", {"paths", "reasons"}),
        ("kinds=deal&prop.stage=open&k=9", "12 vectors pending", {"reasons"}),
        ("kinds=deal", "why " * 40, set()),
    ],
)
def test_the_front_matter_drops_paths_then_controls_then_reasons(
    changed: str, reason: str, told: set[str]
) -> None:
    paths = [f"n/{n}.md" for n in range(6)]
    degraded = (Degraded("vector", reason),) if reason else ()
    account = Account(6, paths, "o200k", {}, changed, degraded)
    packed = pack(iter(()), MarkdownForm(), account, Limits(500, 9), SANE["o200k"])
    lines = dict(line.split(": ", 1) for line in packed.rendered.decode().split("\n")[1:-2])
    assert lines.keys() & {"paths", "controls", "reasons"} == told
    assert lines["omitted"] == "6"
    assert lines.get("degraded") == ("1" if reason else None)
    shown = lines.get("paths", "[]").strip("[]")
    assert packed.omitted.paths == tuple(shown.split(", ") if shown else ())


@pytest.mark.parametrize("name", ["o200k", "cl100k", "bytes4"])
@given(q=st.text(max_size=3000), values=st.lists(st.text(max_size=500), max_size=30))
@settings(max_examples=40, deadline=None)
def test_json_says_all_arrays_within_512_tokens(name: str, q: str, values: list[str]) -> None:
    controls: dict[str, object] = {"q": q, "kinds": ["deal"] * 20, "budget": 512, "limit": 200}
    controls |= {f"prop.p{n}": value for n, value in enumerate(values)}
    items = [item(no, "x " * 4000, ["y " * 2000]) for no in range(9)]
    degraded = (Degraded("vector", "12 vectors pending"),)
    packed = run(items, JsonForm(), SANE[name], 512, controls=controls, degraded=degraded)
    answer = json.loads(packed.rendered)
    assert SANE[name](packed.rendered.decode()) == answer["tokens"] <= 512
    assert answer["items"] == []
    assert answer["omitted"]["count"] == 9
    assert answer["degraded"] == [{"what": "vector", "reason": "12 vectors pending"}]
    assert answer["warnings"] == []
    assert len(answer["controls"]["q"].rstrip("…").encode()) <= 256
    assert q.encode("utf-8", "replace").decode().startswith(answer["controls"]["q"].rstrip("…"))


def test_the_count_in_the_answer_is_that_of_the_answer() -> None:
    def render(name: str, tokens: int | None, pad: int) -> str:
        return f"tokens: {tokens}{' #' * pad} {'x' * 88}"

    text, tokens, _ = settle(render, len, 0, str)
    assert tokens == len(text)
    assert f"tokens: {tokens} " in text


def test_an_answer_that_goes_round_in_circles_is_padded() -> None:
    def count(text: str) -> int:  # 99 says 100, 100 says 99; a padded one tells the truth
        if "#" in text:
            return int(text.split()[1])
        return {"tokens: 99 ": 100, "tokens: 100 ": 99}.get(text, 99)

    text, tokens, _ = settle(lambda name, n, pad: f"tokens: {n} {'#' * pad}", count, 99, str)
    assert "#" in text
    assert count(text) == tokens


def test_where_no_number_is_true_none_is_told() -> None:
    def count(text: str) -> int:
        return 7 if text == "None" else int(text) + 1

    text, tokens, name = settle(lambda name, n, pad: f"{n}", count, 1, str)
    assert (text, tokens, name) == ("None", 7, "0")


@pytest.mark.parametrize("length", [*range(300, 400, 3), 367, 667, 697, 787])
def test_where_blanks_count_nothing_another_name_makes_the_number_true(length: int) -> None:
    count = counter("model")  # word pieces: one number may be one of them, the next one two
    words = "word " * length

    def render(name: str, tokens: int | None, pad: int) -> str:
        return f'{{"tokens":{tokens},{" " * pad}"token":"{name}","items":["{words}"]}}'

    text, tokens, name = settle(render, count, 0, lambda n: token_of([words], n))
    assert json.loads(text) == {"tokens": tokens, "token": name, "items": [words]}
    assert tokens == count(text)


@given(st.lists(st.text()))
@settings(max_examples=30, deadline=None)
def test_tokens_have_eight_characters_and_one_width(parts: list[str]) -> None:
    token = token_of(parts)
    assert len(token) == 8
    assert token == token_of(parts)
    for name in ("o200k", "cl100k", "bytes4"):
        assert SANE[name](f"token: {token}\n") == SANE[name]("token: m000m000\n")
