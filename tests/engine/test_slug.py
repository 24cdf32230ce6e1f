from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.slug import directory_problem, name_problem, nfc, slugify


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Acme: Größe & Co", "acme-größe-co"),
        ("  Hello_World  ", "hello-world"),
        ("C++ & <b>", "c-b"),
        ("日本語 テスト", "日本語-テスト"),
        ("--", ""),
        ("", ""),
        ("bar's &amp;", "bar-s-amp"),
        ("cafe\u0301", "café"),
    ],
)
def test_slugs_of_titles(title: str, slug: str) -> None:
    assert slugify(title) == slug


@given(st.text())
def test_a_slug_is_a_fixed_point_and_a_valid_name(title: str) -> None:
    slug = slugify(title)
    assert slugify(slug) == slug
    assert slug == slug.strip("-")
    if slug and len(slug.encode()) <= 252:
        assert name_problem(slug) is None


@given(st.text())
def test_names_are_compared_in_the_composed_form(name: str) -> None:
    assert nfc(name) == nfc(unicodedata.normalize("NFD", name))


@pytest.mark.parametrize(
    "name",
    [
        "Site Roadmap",
        "site-roadmap",
        "a%2Fb",
        "trailing ",
        "café",
        "中文",
        "a.b",
        "x" * 252,
        "a\\b",
    ],
)
def test_names_that_work(name: str) -> None:
    assert name_problem(name) is None


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("", "empty"),
        (".", "dot"),
        ("..", "dot"),
        (".hidden", "dot"),
        ("a/b", "/"),
        ("a\nb", "control"),
        ("a\x7f", "control"),
        ("a\x85", "control"),
        ("a\x00", "control"),
        ("a\udcff", "UTF-8"),
        ("x" * 253, "255"),
        ("é" * 127, "255"),
    ],
)
def test_names_that_are_refused_say_why(name: str, word: str) -> None:
    problem = name_problem(name)
    assert problem is not None
    assert word in problem.message
    assert problem.hint


@pytest.mark.parametrize("name", ["", ".git", "a/b", "a..b", " x", "x ", "a\tb", "x" * 256])
def test_directories_that_are_refused(name: str) -> None:
    problem = directory_problem(name)
    assert problem is not None
    assert problem.hint


def test_directories_that_work() -> None:
    assert directory_problem("Sales Order") is None
    assert directory_problem("x" * 255) is None
