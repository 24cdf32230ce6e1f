"""What a link, a well-known property, the place and the bytes give a document."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.catalogue import OPEN
from engine.document import parse
from engine.errors import Invalid
from engine.kinds import with_open_kind
from engine.validation import first_heading, parse_engram, read_head
from tests.engine.deals import DEAL, head, problems

ID = "0190aaaa-bbbb-7ccc-8ddd-eeeeffff0000"


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("[[Bill Gates]]", "[[Bill Gates]]"),
        ("'[[Bill Gates]]'", "[[Bill Gates]]"),
        ("Bill Gates", "Bill Gates"),
        ("person/bill-gates", "person/bill-gates"),
        (ID, ID),
        ("[[Gates, Bill]]", "[[Gates, Bill]]"),
        ("[[bill|Bill]]", "[[bill|Bill]]"),
    ],
)
def test_one_link(written: str, value: str) -> None:
    assert head(f"person: {written}").properties == {"person": value}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("[[A]]", ["[[A]]"]),
        ("[A, B]", ["A", "B"]),
        ('["[[A]]", "[[B]]"]', ["[[A]]", "[[B]]"]),
        ("[[[A]], [[B]], C]", ["[[A]]", "[[B]]", "C"]),
        ("\n- [[A]]\n- '[[B]]'\n-", ["[[A]]", "[[B]]"]),
        ("[]", []),
    ],
)
def test_several_links(written: str, value: list[str]) -> None:
    assert head(f"who: {written}").properties == {"who": value}


@pytest.mark.parametrize(
    "block",
    ["person: [A]", "person: {a: b}", "who: [[[A], [B]]]", "who: [{a: b}]", "who: [[a: b]]"],
)
def test_what_is_no_link(block: str) -> None:
    (problem,) = problems(block)
    assert problem.hint


def test_two_links_without_a_list_show_the_spelling_that_works() -> None:
    (problem,) = problems("who: [[A]], [[B]]")
    assert problem.key == "who"
    assert problem.line == 2
    assert problem.hint == 'write who: ["[[A]]", "[[B]]"]'


@pytest.mark.parametrize("written", ['"[[A]], [[B]]"', "\n- '[[A]] and [[B]]'"])
def test_two_links_in_one_text_are_no_link(written: str) -> None:
    (problem,) = problems(f"who: {written}")
    assert "holds 2 links" in problem.message
    assert problem.hint == 'write who: ["[[A]]", "[[B]]"]'
    assert problem.line == (2 if written[0] == '"' else 3)


def test_two_links_in_a_field_for_one() -> None:
    (problem,) = problems("person: '[[A]], [[B]]'")
    assert problem.hint == 'write one, such as "[[A]]"; several need a field of type [string]'
    (problem,) = problems("derived_from: '[[A]], [[B]]'")
    assert problem.hint == 'write derived_from: ["[[A]]", "[[B]]"]'


def test_a_link_in_a_plain_string_needs_quotes() -> None:
    (problem,) = problems("ver: [[A]]")
    assert "quotes" in problem.hint


def test_well_known_properties_are_valid_on_every_kind() -> None:
    block = (
        "tags: [a]\naliases: [The Deal]\nlang: fr\nfavourite: true\nsource_role: tool\n"
        "derived_from: [[A]]\nsuperseded_by: '[[B]]'"
    )
    for catalogue, kind in ((DEAL, "Deal"), (DEAL, "person"), (OPEN, "anything")):
        found = head(block, catalogue, kind)
        assert found.lang == "fr"
        assert found.aliases == ("The Deal",)
        assert found.properties["derived_from"] == ["[[A]]"]
        assert found.properties["superseded_by"] == "[[B]]"


@pytest.mark.parametrize(
    "block",
    [
        "favourite: maybe",
        "source_role: admin",
        "lang: '!'",
        "tags: {a: b}",
        "superseded_by: [a, b]",
    ],
)
def test_well_known_properties_have_types(block: str) -> None:
    for catalogue in (DEAL, OPEN):
        (problem,) = problems(block, catalogue=catalogue)
        assert problem.key == block.partition(":")[0]


def test_a_single_tag_is_a_list_of_one() -> None:
    assert head("tags: one\naliases: 'x, y'", OPEN).properties == {
        "tags": ["one"],
        "aliases": ["x, y"],
    }


def test_what_the_place_gives() -> None:
    found = head("")
    assert (found.id, found.kind, found.slug, found.title, found.summary) == (
        None,
        "Deal",
        "acme",
        "acme",
        "",
    )
    assert (found.lang, found.embed) == ("de", False)


def test_what_the_bytes_give() -> None:
    found = head(
        f"id: {ID.upper()}\nkind: deal\ndomain: DEAL\nslug: acme\ntitle: 2024\nsummary:  s "
    )
    assert (found.id, found.title, found.summary) == (ID, "2024", "s")


@pytest.mark.parametrize(
    ("body", "title"),
    [
        ("# Hello\n", "Hello"),
        ("text\n\n  # Hello `x` ##\n", "Hello `x`"),
        ("## Second\n# First\n", "First"),
        ("```\n# not\n```\n# Yes", "Yes"),
        ("~~~~\n```\n# not\n~~~\n~~~~\n# Yes", "Yes"),
        ("<!-- \n# not\n -->\n# Yes", "Yes"),
        ("    # code\n# Yes", "Yes"),
        ("#tag\n# \n#\n# Yes", "Yes"),
        ("# #\n# C# and F#\n", "C# and F#"),
        ("```\n# never closed", ""),
        ("no heading", ""),
    ],
)
def test_the_title_is_the_first_heading(body: str, title: str) -> None:
    assert first_heading(body) == title
    assert head("title: ''", body=body).title == (title or "acme")


@pytest.mark.parametrize(
    ("block", "key"),
    [
        ("kind: person", "kind"),
        ("domain: person", "domain"),
        ("kind: [Deal]", "kind"),
        ("slug: other", "slug"),
        ("slug: {a: b}", "slug"),
        ("id: 12", "id"),
        ("title: [a]", "title"),
        ("summary: {a: b}", "summary"),
    ],
)
def test_reserved_keys_that_do_not_fit(block: str, key: str) -> None:
    (problem,) = problems(block)
    assert (problem.key, problem.line) == (key, 2)
    assert problem.hint


def test_slugs_are_compared_composed() -> None:
    found = read_head(
        parse("---\nslug: cafe\u0301\n---\n".encode()), OPEN, "n", "café", "cafe\u0301"
    )
    assert found.slug == "café"
    assert head("slug: 'acme '", slug="acme ").slug == "acme "


def test_kinds_that_are_not_there() -> None:
    for kind, word in (("nope", "no kind"), ("chunk", "parts")):
        (problem,) = problems("", kind=kind)
        assert word in problem.message
        assert "Deal, person, strict" in problem.hint
    assert head("x: 1", OPEN, "whatever").kind == "whatever"
    assert head("x: 1", with_open_kind(OPEN, "Notes"), "Notes").properties == {"x": 1}


def test_every_problem_of_a_document_is_named() -> None:
    found = problems(
        "on: yes\n2024: x\ncontent: hi\nself: me\nhandler: x\n? [a, b] : c\nstage: x\nstage: y\n"
        "amount: ten\nkind: person\nid: 5\nstagee: z"
    )
    assert [(problem.line, problem.key) for problem in found] == [
        (2, "on"),
        (3, "2024"),
        (4, "content"),
        (5, "self"),
        (6, "handler"),
        (7, "[a, b]"),
        (8, "stage"),
        (9, "stage"),
        (10, "amount"),
        (11, "kind"),
        (12, "id"),
        (13, "stagee"),
    ]
    assert "did you mean `stage`" in found[-1].hint
    assert all(problem.hint for problem in found)


def test_odd_keys_are_ordinary_in_open_mode() -> None:
    block = "on: yes\ncontent: hi\nself: me\nhandler: x\nmetadata: {a: [1, ~, 1.10], b: c}"
    assert head(block, OPEN).properties == {
        "on": "yes",
        "content": "hi",
        "self": "me",
        "handler": "x",
        "metadata": {"a": [1, None, "1.10"], "b": "c"},
    }


def test_dates_are_plain_json() -> None:
    found = head("created: 2026-04-05\nmany: [2026-04-05]", OPEN)
    assert json.loads(json.dumps(found.properties)) == {
        "created": "2026-04-05",
        "many": ["2026-04-05"],
    }


def test_problems_are_bounded() -> None:
    assert len(problems("\n".join(f"k{n}: v" for n in range(3000)))) == 100


@given(st.text(max_size=80))
def test_properties_survive_json(text: str) -> None:
    for block in (text, f"a: {text}", f'a: "{text}"', f"a:\n  b: |\n    {text}"):
        try:
            found = head(block, OPEN).properties
        except Invalid:
            continue
        assert json.loads(json.dumps(found, ensure_ascii=False)) == found
        json.dumps(found, ensure_ascii=False).encode()


def test_parse_engram_takes_the_place_from_the_bytes() -> None:
    found, body = parse_engram(b"---\nkind: note\nslug: x\n---\r\n\r\nhi\r\nyou")
    assert (found.kind, found.slug, found.title, body) == ("note", "x", "x", "hi\nyou")
    with pytest.raises(Invalid):
        parse_engram(b"---\nstage: bad\n---\n", "Deal", "acme", catalogue=DEAL)
