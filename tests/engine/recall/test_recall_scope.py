"""What is outside a scope changes no answer, score or count in it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.model import EdgeMeta, Namespace
from engine.namespace import Scope
from tests.ending import engines_end
from tests.engine.recall import worlds
from tests.engine.recall.test_recall_properties import CONTROLS, EXTRAS, QUESTIONS, question
from tests.engine.recall.worlds import SALES, Opened, Page, World, opened, some_world

OTHERS: tuple[Namespace, ...] = ((), (("team", "hr"),), (("team", "sales2"),))


@pytest.fixture(autouse=True, scope="module")
def _engines_end_with_their_test() -> Iterator[None]:
    """The worlds are shared by all tests here."""
    with engines_end():
        yield
    pair.cache_clear()


def beside(world: World, seed: int) -> World:
    """The same world, and around it one that shares its slugs, titles and words, links into it,
    is linked from it by hand, and is written in other languages."""
    draw = random.Random(seed)
    pages = list(world.pages)
    edges = list(world.edges)
    for at in range(24):
        like = draw.choice(world.pages)
        slug = draw.choice((like.slug, f"n{at}", f"o{at}"))
        to = draw.choice(world.pages)
        namespace = draw.choice(OTHERS)
        page = Page(
            draw.choice((like.kind, "note", "secret")), slug,
            draw.choice((like.title, "pump valve")),
            f"{like.body}\n\npump pump valve [[{to.slug}]] [it]({to.id}) [[{like.title}]]\n",
            ("red", "secret"), "tool", "pump", True, (to.id,), namespace, draw.randrange(90),
            lang=draw.choice(("", "de", "fr", "ru")),
        )  # fmt: skip
        if page.id not in {one.id for one in pages}:
            pages.append(page)
            said = EdgeMeta("pump valve leak", confidence=1.0)
            edges += [(to.id, "causes", page.id, said), (page.id, "causes", to.id, said)]
    draw.shuffle(pages)
    return World(tuple(pages), tuple(edges))


@lru_cache(maxsize=8)
def pair(seed: int, digests: bool) -> tuple[Opened, Opened]:
    world = some_world(seed, slugs=12)
    return opened(world, digests=digests), opened(beside(world, seed), digests=digests)


def blurred(value: Any) -> Any:
    """Without the digits in which matrices of other sizes are summed up differently: a cosine that
    is rounded may fall on either side."""
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {key: blurred(one) for key, one in value.items()}
    return [blurred(one) for one in value] if isinstance(value, list) else value


def asked(within: Opened, request: dict[str, Any], scope: Scope) -> tuple[object, ...]:
    packed = within.ask(request, scope)
    trace = {key: value for key, value in (packed.trace or {}).items() if key != "times_ms"}
    return blurred(trace) or packed.rendered, packed.tokens, packed.controls, packed.degraded


@pytest.mark.parametrize("scope", [Scope(SALES), Scope(SALES, exact=True)], ids=["wide", "exact"])
@settings(max_examples=30)
@given(
    seed=st.integers(0, 1), words=QUESTIONS, controls=CONTROLS, extras=EXTRAS,
    when=st.sampled_from(("", "in the last 60 days", "since December 2026")),
    digests=st.booleans(), budget=st.sampled_from((512, 4096, 32_000)),
)  # fmt: skip
def test_a_recall_is_the_same_whatever_is_outside_its_scope(
    scope: Scope, seed: int, words: list[str], controls: dict[str, Any], extras: dict[str, Any],
    when: str, digests: bool, budget: int,
) -> None:  # fmt: skip
    alone, among = pair(seed, digests)
    request = {"q": question([*words, when]), **controls, **extras, "budget": budget}
    assert asked(alone, request, scope) == asked(among, request, scope)


@settings(max_examples=15)
@given(seed=st.integers(0, 1), words=QUESTIONS)
def test_a_search_is_the_same_whatever_is_outside_its_scope(seed: int, words: list[str]) -> None:
    alone, among = pair(seed, False)
    for scope in (Scope(SALES), Scope(SALES, exact=True)):
        for method in ("search", "find_exact", "find_objects"):
            pages = [
                getattr(one.engine, method)(scope, question(words), limit=50)
                for one in (alone, among)
            ]
            told = [
                (page.total, page.degraded, page.warnings,
                 [(hit.entry.id, hit.score, hit.channels, hit.evidence) for hit in page.hits])
                for page in pages
            ]  # fmt: skip
            assert told[0] == told[1]


def test_there_is_something_outside() -> None:
    """Asked without a scope, the wider store answers otherwise."""
    alone, among = pair(0, False)
    request = {"q": "pump valve", "budget": 32_000}
    assert alone.ask(request).items != ()
    assert asked(alone, request, Scope(())) != asked(among, request, Scope(()))
    names = {worlds.identity(item) for item in among.ask(request, Scope(())).items}
    assert len(names) > len(alone.ask(request, Scope(())).items)
