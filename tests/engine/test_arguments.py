"""A host that gives what is of another type is told so, in a sentence with a hint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from engine.arguments import explained
from engine.briefing.request import parse_briefing
from engine.engine import Engine
from engine.errors import Invalid
from engine.filters import Filters, parse_filters
from engine.match_request import parse_match
from engine.model import Draft, EdgeMeta
from engine.namespace import Scope, parse_namespace
from engine.recall.request import RecallRequest, parse_request
from engine.recall.searches import parse_search
from tests.engine.desk import HERE


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with closing(Engine.open(":memory:", embed="off")) as engine:
        engine.make_kind("note")
        engine.put(HERE, Draft("note", "a", b"# a\n"))
        engine.put(HERE, Draft("note", "b", b"# b\n"))
        yield engine


def path_of(entry: object) -> str:
    return "path"


def parsed(parse: Callable[..., object], pairs: Any, *before: str) -> Callable[[Any], object]:
    return lambda engine: parse(*before, pairs, engine.catalogue, engine.config)


CASES: list[tuple[Callable[[Any], object], str, str]] = [
    (parsed(parse_request, {"q": "a"}), "pairs[0] is of the type str", "tuple[str, str]"),
    (parsed(parse_request, [("q", "a"), ("k", 3)]), "pairs[1][1] is of the type int", "str"),
    (parsed(parse_request, [("q", None)]), "pairs[0][1] is of the type NoneType", "str"),
    (parsed(parse_request, None), "pairs is of the type NoneType", "Iterable[tuple[str, str]]"),
    (parsed(parse_request, [("q", "a", "b")]), "pairs[0] is of the type tuple", "tuple[str, str]"),
    (parsed(parse_search, [("q", 3)], "search"), "pairs[0][1] is of the type int", "str"),
    (parsed(parse_briefing, [("budget", 3)]), "pairs[0][1] is of the type int", "str"),
    (parsed(parse_match, [("prompt", 3)]), "pairs[0][1] is of the type int", "str"),
    (parsed(parse_search, [], "nope"), "there is no search `nope`", "one of search, "),
    (lambda e: parse_filters([("prop.x", 3)], e.catalogue), "pairs[0][1] is of the", "str"),
    (lambda e: e.recall(HERE, {"q": "a"}, path_of=path_of), "request is of the type dict",
     "RecallRequest"),
    (lambda e: e.recall("x", RecallRequest(), path_of=path_of), "scope is of the type str",
     "Scope"),
    (lambda e: e.recall(HERE, RecallRequest(question=5), path_of=path_of),
     "request.question is of the type int", "str"),
    (lambda e: e.search(HERE, 5), "question is of the type int", "str"),
    (lambda e: e.search(HERE, "a", {"kind": "note"}), "filters is of the type dict",
     "Filters | None"),
    (lambda e: e.search(HERE, "a", limit="3"), "limit is of the type str", "int | None"),
    (lambda e: e.search(None, "a"), "scope is of the type NoneType", "Scope"),
    (lambda e: e.get(HERE, 5), "ref is of the type int", "str"),
    (lambda e: e.put(HERE, Draft("note", "x", "# x")), "draft.source is of the type str",
     "bytes | None"),
    (lambda e: e.put(HERE, {"kind": "note"}), "draft is of the type dict", "Draft"),
    (lambda e: e.put_many(HERE, [Draft("note", 5, b"x")]), "drafts[0].slug is of the type int",
     "str"),
    (lambda e: e.link(HERE, "note/a", "x", "note/b", {}), "meta is of the type dict", "EdgeMeta"),
    (lambda e: e.link(HERE, "note/a", "x", "note/b", EdgeMeta(confidence="1")),
     "meta.confidence is of the type str", "float | None"),
    (lambda e: e.expand(HERE, [5]), "refs[0] is of the type int", "str"),
    (lambda e: e.rename(HERE, e.get(HERE, "note/a").id, "note", 5), "slug is of the type int",
     "str"),
    (lambda e: e.neighbours(HERE, "note/a", direction="up"), "the direction up is none", "in, "),
    (lambda e: e.links_of(HERE, "note/a", direction=5), "the direction 5 is none", "out, "),
    (lambda e: Engine.open(5, embed="off"), "store is of the type int", "Path | str"),
    (lambda e: Engine.open(":memory:", embed="off", kinds={}), "kinds is of the type dict",
     "str | None"),
    (lambda e: Scope({"team": "a"}), "the attributes of a scope are {'team': 'a'}", "pairs"),
    (lambda e: Scope(("team=a",)), "the attributes of a scope are ('team=a',)", "pairs"),
    (lambda e: Scope((), kinds="note"), "the kinds of a scope are 'note'", "frozenset"),
    (lambda e: parse_namespace([5]), "attributes[0] is of the type int", "str"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "said", "hint"), CASES)
def test_another_type_is_a_sentence(
    engine: Engine, call: Callable[[Any], object], said: str, hint: str
) -> None:
    with pytest.raises(Invalid) as caught:
        call(engine)
    first = caught.value.problems[0]
    assert said in first.message
    assert hint in first.hint


def test_what_a_call_may_take_is_no_mistake_of_the_host() -> None:
    """An error of our own stays what it is, with its traceback."""

    @explained
    def broken(
        a: int | None, b: list[tuple[str, int]], *, c: Filters | None = None, d: object = None
    ) -> None:
        raise AttributeError("our own")

    with pytest.raises(AttributeError, match="our own"):
        broken(None, [("x", 1)], c=Filters(), d=object())
    with pytest.raises(TypeError, match="missing"):
        broken(None)  # type: ignore[call-arg]
    with pytest.raises(Invalid, match="a is of the type str"):
        broken("1", [])  # type: ignore[arg-type]


def test_nothing_is_stored_of_a_call_that_was_refused(engine: Engine) -> None:
    before = engine.status(HERE)
    for source in ("text", 5):
        with pytest.raises(Invalid):
            engine.put_many(HERE, [Draft("note", "c", b"x\n"), Draft("note", "d", source)])  # type: ignore[arg-type]
    assert engine.status(HERE) == before
