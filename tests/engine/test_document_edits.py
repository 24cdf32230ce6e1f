"""What is put into bytes that somebody wrote: the id line, a new place, and nothing else."""

from __future__ import annotations

import unicodedata
from datetime import date

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.catalogue import RESERVED_KEYS, WELL_KNOWN
from engine.config import Config
from engine.document import (
    Document,
    carried_id,
    format_engram,
    parse,
    plain,
    with_id,
    with_place,
)
from engine.errors import Invalid
from engine.validation import parse_engram
from engine.yaml_nodes import Written

ID = "0190aaaa-bbbb-7ccc-8ddd-eeeeffff0000"


OTHER = "0190aaaa-bbbb-7ccc-8ddd-eeeeffff0001"


BOM = b"\xef\xbb\xbf"


# Pieces that documents are made of, so that random ones are often nearly right.
PIECES = st.sampled_from(
    [
        b"---\n", b"---\r\n", b"---", b"----\n", b"--- \n", b"...\n", b"\n", b"\r\n", b"\r", BOM,
        b"title: x\n", b"title: 'x'\r\n", b"  a: 1\n", b"a: [1, 2]\n", b"a: {b: c}\n", b"a:\n",
        b"- x\n", b"# heading\n", b"# comment\n", b"{a: 1}\n", b"{", b"}\n", b"[", b"]", b"? ",
        b"&a ", b"*a\n", b"<<: *a\n", b"!!str ", b"!x ", b"|\n", b">-\n", b"%YAML 1.2\n", b"\t",
        b"\xff", b"\x00", b"\xc2\x85", b"\xe2\x80\xa8", b"\xee\x80\x80", b"'", b'"', b"id: 5\n",
        b"id: " + ID.encode() + b"\n", b'id: "' + OTHER.upper().encode() + b'" # mine\r\n',
        b"kind: deal\n", b"slug: x\n", b"domain: deal\n", b"body text", b"2024: x\n", b"~\n", b": ",
    ]
)  # fmt: skip


SOURCES = st.one_of(st.binary(max_size=60), st.lists(PIECES, max_size=12).map(b"".join))


BLOCKS = st.lists(PIECES, max_size=8).map(lambda found: b"---\n" + b"".join(found) + b"\n---\nbody")


def text_of(document: Document, key: str) -> str:
    node = document.values[key]
    assert isinstance(node, Written)
    return node.text


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        (b"", b""),
        (b"text", b"---\nid: %s\n---\ntext"),
        (b"a\r\nb", b"---\r\nid: %s\r\n---\r\na\r\nb"),
        (BOM + b"text", BOM + b"---\nid: %s\n---\ntext"),
        (b"---\n---\n", b"---\nid: %s\n---\n"),
        (b"---\ntitle: x\n---", b"---\nid: %s\ntitle: x\n---"),
        (b"---\n# why\ntitle: x\n---\n", b"---\nid: %s\n# why\ntitle: x\n---\n"),
        (BOM + b"---\r\na: 1\r\n---\r\n", BOM + b"---\r\nid: %s\r\na: 1\r\n---\r\n"),
        (b"---\n  a: 1\n  b: 2\n---\n", b"---\n  id: %s\n  a: 1\n  b: 2\n---\n"),
        (b"---\n{a: 1}\n---\n", b"---\n{id: %s, a: 1}\n---\n"),
        (b"---\n{}\n---\n", b"---\n{id: %s}\n---\n"),
        (b"---\n!!map\na: 1\n---\n", b"---\n!!map\nid: %s\na: 1\n---\n"),
        (
            b"---\n&a # c\n # d\n\n  ?\n   a\n  : 1\n---\n",
            b"---\n&a # c\n # d\n\n  id: %s\n  ?\n   a\n  : 1\n---\n",
        ),
        (b"---\n? (\n---\n", b"---\nid: %s\n? (\n---\n"),
        (b"----\nx\n----\n", b"---\nid: %s\n---\n----\nx\n----\n"),
        (b"---\na: 1\n---\n---\nb: 2\n---\n", b"---\nid: %s\na: 1\n---\n---\nb: 2\n---\n"),
    ],
)
def test_the_id_line_is_added_first(source: bytes, shown: bytes) -> None:
    expected = shown.replace(b"%s", ID.encode())
    assert with_id(source, ID) == expected
    assert with_id(expected, ID) == expected


@pytest.mark.parametrize(
    "line",
    [
        "id: %s", "id: '%s'", 'id: "%s"', "id: %s # mine", "id:    %s   ", "a: 1\nid: %s\nb: é",
        "id: !!str %s", "id: &i %s", "id: >-\n  %s", "{id: %s, a: 1}", "{a: 1, 'id': '%s'}",
        "'id': %s", "? id\n: %s",
    ],
)  # fmt: skip
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_an_id_is_edited_in_its_36_characters(line: str, newline: str) -> None:
    def document(id_: str) -> bytes:
        return f"---\n{line.replace('%s', id_)}\n---\nbody {OTHER}\n".replace(
            "\n", newline
        ).encode()

    assert carried_id(parse(document(OTHER))) == OTHER
    assert with_id(document(OTHER), ID) == document(ID)
    assert with_id(document(ID), ID) == document(ID)
    assert with_id(document(ID.upper()), ID) == document(ID.upper())


@pytest.mark.parametrize("value", ["12", "", "~", "x", "[a]", "0190aaaabbbb7ccc8dddeeeeffff0000"])
def test_an_id_that_is_no_uuid_is_refused(value: str) -> None:
    with pytest.raises(Invalid) as caught:
        with_id(f"---\na: 1\nid: {value}\n---\n".encode(), ID)
    assert caught.value.problems[0].line == 3
    assert caught.value.problems[0].key == "id"


@settings(max_examples=400)
@given(st.one_of(SOURCES, BLOCKS))
def test_any_bytes_parse_or_are_invalid(source: bytes) -> None:
    try:
        document = parse(source)
        carried = carried_id(document)
        shown = with_id(source, ID)
    except Invalid as error:
        assert error.problems
        return
    assert document.source == source
    assert with_id(shown, ID) == shown
    if not source:
        assert shown == b""
        return
    again = parse(shown)
    assert carried_id(again) == ID
    assert again.body == document.body
    rest = {key: plain(node) for key, node in again.values.items() if key != "id"}
    assert rest == {key: plain(node) for key, node in document.values.items() if key != "id"}
    if carried is None:
        added = len(shown) - len(source)
        start = next(n for n in range(len(shown)) if shown[:n] + shown[n + added :] == source)
        assert ID.encode() in shown[start : start + added]
    else:
        assert len(shown) == len(source)
        assert with_id(shown, carried).lower() == source.lower()


@settings(max_examples=300)
@given(
    st.one_of(SOURCES, BLOCKS), st.text(min_size=1, max_size=8).filter(lambda s: s.isprintable())
)
def test_a_new_place_is_edited_in_or_invalid(source: bytes, slug: str) -> None:
    try:
        edited = with_place(source, id=ID, kind="person", slug=slug)
    except Invalid as error:
        assert error.problems
        return
    before, after = parse(source), parse(edited)
    assert after.body == before.body
    for key, value in (("kind", "person"), ("domain", "person"), ("slug", slug)):
        node = before.values.get(key)
        if isinstance(node, Written) and node.value is not None:
            assert text_of(after, key) == value
        else:
            assert plain(after.values.get(key)) == plain(node)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("slug: acme", "slug: new one"),
        ("slug: acme # c", "slug: new one # c"),
        ("slug: 'acme'", "slug: 'new one'"),
        ('slug: "acme"', 'slug: "new one"'),
        ("slug: >-\n  acme\na: 1", "slug: new one\na: 1"),
        ("slug: !!str acme", "slug: !!str new one"),
        ("slug:\nkind: DEAL", "slug:\nkind: person"),
        ("domain: deal\nkind: 'deal'", "domain: person\nkind: 'person'"),
        ("{slug: acme, kind: deal}", "{slug: new one, kind: person}"),
        ("title: acme", "title: acme"),
    ],
)
def test_reserved_keys_follow_a_rename(before: str, after: str) -> None:
    source = f"---\n{before}\n---\nslug: acme\n".encode()
    expected = f"---\n{after}\n---\nslug: acme\n".encode()
    assert with_place(source, kind="person", slug="new one") == expected


def test_equal_places_are_left_alone() -> None:
    source = "---\nkind: Deal\nslug: cafe\u0301\n---\n".encode()
    assert with_place(source, kind="deal", slug="café") == source
    assert with_place(source, id=ID) == source
    assert with_place(b"", kind="deal") == b""


@pytest.mark.parametrize(
    "slug", ["no", "1.10", "a: b", "x #y", "é: 'q'", "- x", "~", "{a}", "\u2028"]
)
def test_slugs_that_need_quotes_get_them(slug: str) -> None:
    for old in ("acme", "'acme'", '"acme"'):
        edited = with_place(f"---\nslug: {old}\n---\n".encode(), slug=slug)
        assert text_of(parse(edited), "slug") == slug


def test_a_value_shared_by_an_anchor_is_not_edited() -> None:
    with pytest.raises(Invalid) as caught:
        with_place(b"---\nslug: &s acme\ncode: *s\n---\n", slug="b")
    assert "cannot be edited" in caught.value.problems[0].message


TEXTS = st.text(max_size=20)


JSON = st.recursive(
    st.one_of(TEXTS, st.booleans(), st.integers(-(2**53), 2**53)),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXTS.filter(bool), inner, max_size=3)
    ),
    max_leaves=6,
)


NAMES = st.text(min_size=1, max_size=8).filter(
    lambda name: name not in RESERVED_KEYS and name not in WELL_KNOWN
)


@settings(max_examples=300)
@given(
    st.text(min_size=1, max_size=10).filter(lambda s: s == s.strip()),
    st.text(min_size=1, max_size=20).filter(lambda s: s == s.strip()),
    TEXTS.map(str.strip),
    st.dictionaries(NAMES, JSON, max_size=4),
    st.text(max_size=40),
)
def test_a_rendered_engram_reads_back(
    slug: str, title: str, summary: str, properties: dict[str, object], body: str
) -> None:
    source = format_engram(ID, "deal", slug, title, summary, properties, body)
    head, read = parse_engram(source, "deal")
    assert head.id == ID
    assert head.slug == unicodedata.normalize("NFC", slug)
    assert (head.title, head.summary) == (title, summary)
    assert head.properties == properties
    body = body.replace("\r\n", "\n").replace("\r", "\n")
    assert read == (body if not body or body.endswith("\n") else body + "\n")
    assert with_id(source, ID) == source
    assert format_engram(ID, "deal", slug, title, summary, properties, read) == source


def test_the_layout_of_a_rendered_engram() -> None:
    properties = {"tags": ["a", "no"], "amount": "1.10", "due": "2026-04-05", "x": None, "b": 2.5}
    source = format_engram(
        ID, "deal", "acme", "Acme: a deal", "", properties, "Hello", numbers={"amount"}
    )
    assert source.decode() == (
        f'---\nid: {ID}\ndomain: deal\nslug: acme\ntitle: "Acme: a deal"\namount: 1.10\nb: 2.5\n'
        'due: 2026-04-05\ntags:\n  - a\n  - "no"\n---\n\nHello\n'
    )
    assert format_engram(ID, "deal", "acme", "A", "", {}, "").endswith(b"title: A\n---\n")


def test_other_readers_see_the_same_strings() -> None:
    strings = [
        "no",
        "on",
        "10:00",
        "1.10",
        "00123",
        "1_0",
        "0b1",
        "~",
        "=",
        "<<",
        "y",
        "null",
        "é",
        "a b",
    ]
    source = format_engram(ID, "deal", "acme", "A", "", {"s": strings}, "")
    assert yaml.safe_load(source.decode().split("---\n")[1])["s"] == strings


def test_reserved_names_are_no_properties() -> None:
    with pytest.raises(Invalid) as caught:
        format_engram(ID, "deal", "acme", "A", "", {"slug": "x", "kind": "y", "": 1}, "")
    assert [problem.key for problem in caught.value.problems] == ["", "kind", "slug"]


def test_a_document_over_the_limit_is_refused() -> None:
    with pytest.raises(Invalid):
        parse(b"x" * 11, Config(document_bytes=10))


def test_written_numbers_alone_go_without_quotes() -> None:
    properties = {"a": ["1.10", "x: y", 5], "b": "a: b", "c": float("-inf"), "d": date(2026, 4, 5)}
    source = format_engram(ID, "k", "s", "T", "", properties, "", numbers={"a", "b", "c"})
    assert source.decode().endswith(
        'a:\n  - 1.10\n  - "x: y"\n  - 5\nb: "a: b"\nc: -.inf\nd: 2026-04-05\n---\n'
    )


def test_half_a_character_is_refused() -> None:
    with pytest.raises(Invalid):
        format_engram(ID, "k", "s", "T", "", {"a": "\ud800"}, "")
