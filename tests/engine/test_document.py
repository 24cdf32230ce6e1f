"""Bytes survive; front matter is read by the YAML 1.2 core schema; bombs are refused fast."""

from __future__ import annotations

import tracemalloc
import unicodedata
from datetime import date

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import yaml_core
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
from engine.errors import Invalid, Problem
from engine.validation import parse_engram
from engine.yaml_nodes import Written, core_value

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


def problems_of(source: bytes) -> tuple[Problem, ...]:
    try:
        return parse(source).problems
    except Invalid as error:
        return error.problems


def values(source: bytes) -> object:
    return plain(parse(source).values)  # type: ignore[arg-type]


def text_of(document: Document, key: str) -> str:
    node = document.values[key]
    assert isinstance(node, Written)
    return node.text


# -- splitting ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "has_block", "body", "line"),
    [
        (b"", False, "", 1),
        (b"just text", False, "just text", 1),
        (b"----\nnot: a fence\n----\n", False, "----\nnot: a fence\n----\n", 1),
        (b"--- \na: 1\n---\n", False, "--- \na: 1\n---\n", 1),
        (b" ---\na: 1\n---\n", False, " ---\na: 1\n---\n", 1),
        (b"---\n---", True, "", 3),
        (b"---\n---\n", True, "", 3),
        (b"---\n---\n\nx", True, "x", 4),
        (b"---\na: 1\n---\n\n\nx\n", True, "\nx\n", 5),
        (b"---\na: 1\n---\n---\nb: 2\n---\n", True, "---\nb: 2\n---\n", 4),
        (b"---\na: 1\n----\nb: 2\n---\nx", False, "", 0),
        (BOM + b"---\r\na: 1\r\n---\r\nx\r\ny", True, "x\ny", 4),
        (b"---\r\n---", True, "", 3),
        (BOM, False, "", 1),
    ],
)
def test_where_the_block_ends(source: bytes, has_block: bool, body: str, line: int) -> None:
    if line == 0:
        assert problems_of(source)
        return
    document = parse(source)
    assert document.has_block is has_block
    assert document.body == body
    assert document.body_line == line
    assert document.source is source
    assert source[document.body_start :].decode().replace("\r\n", "\n") == body


@pytest.mark.parametrize(
    "source", [b"---\na: 1\n", b"---\n", b"---\na: 1\n--- \nx", b"---\na\n...\nx"]
)
def test_a_block_that_is_not_closed(source: bytes) -> None:
    (problem,) = problems_of(source)
    assert problem.line == 1
    assert "not closed" in problem.message
    assert "`---`" in problem.hint


def test_a_lone_fence_without_line_end_is_not_closed() -> None:
    assert problems_of(b"---")


def test_bytes_that_are_not_utf8_are_named_by_line() -> None:
    (problem,) = problems_of(b"---\na: 1\n---\nok\nbad \xff\n")
    assert problem.line == 5
    assert "0xFF" in problem.message


# -- the core schema ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"), ("on", "on"), ("y", "y"), ("yes", "yes"), ("10:00", "10:00"), ("1.10", 1.1),
        ("00123", 123), ("0x1F", 31), ("0o17", 15), ("017", 17), ("1_000", "1_000"), ("true", True),
        ("True", True), ("FALSE", False), ("null", None), ("~", None), ("", None), ("+5", 5),
        ("1e3", 1000.0), (".5", 0.5), ("5.", 5.0), ("-.inf", float("-inf")), ("-", "-"),
        ("2026-03-16", "2026-03-16"), ("2012-10-11T23:39:45-04:00", "2012-10-11T23:39:45-04:00"),
        ("v1.2", "v1.2"),
        ("1.2.3", "1.2.3"), ("١٢", "١٢"), ("nullable", "nullable"), ("9" * 5000, "9" * 5000),
    ],
)  # fmt: skip
def test_plain_scalars(text: str, value: object) -> None:
    assert core_value(text) == value
    assert type(core_value(text)) is type(value)


def test_a_scalar_keeps_what_was_written() -> None:
    source = b"---\nsleep: 10:00\nver: 1.10\nzip: 00123\ndate: 2012-10-11T23:39:45-04:00\n---\n"
    document = parse(source)
    assert text_of(document, "sleep") == "10:00"
    assert text_of(document, "ver") == "1.10"
    assert text_of(document, "zip") == "00123"
    assert text_of(document, "date") == "2012-10-11T23:39:45-04:00"
    assert document.lines == {"sleep": 2, "ver": 3, "zip": 4, "date": 5}


def test_comments_quotes_and_folded_values() -> None:
    document = parse(
        b"---\nzeta: 1\nalpha: x # why\n# a comment\nq: 'it''s'\nfold: >\n  one\n  two\n\n  three\n"
        b"lit: |-\n  a\n   b\n---\n"
    )
    assert text_of(document, "alpha") == "x"
    assert text_of(document, "q") == "it's"
    assert text_of(document, "fold") == "one two\nthree\n"
    assert text_of(document, "lit") == "a\n b"
    assert document.lines["lit"] == 11


def test_line_ends_of_yaml_1_1_are_ordinary_characters() -> None:
    for character in "\x85\u2028\u2029\ufeff":
        document = parse(f"---\na: x{character}y\nb: z\n---\n".encode())
        assert text_of(document, "a") == f"x{character}y"
        assert document.lines["b"] == 3


def test_merge_keys_and_aliases_within_the_limit() -> None:
    assert values(b"---\na: &a {x: 1}\nb: {<<: *a, y: 2}\nc: *a\n'<<': z\n---\n") == {
        "a": {"x": ("1", 1)},
        "b": {"y": ("2", 2), "x": ("1", 1)},
        "c": {"x": ("1", 1)},
        "<<": ("z", "z"),
    }


def test_explicit_core_tags() -> None:
    document = parse(b"---\na: !!str 12\nb: !!int 12\nc: ! 12\nd: !!float 1\n---\n")
    assert plain(document.values["a"]) == ("12", "12")
    assert plain(document.values["b"]) == ("12", 12)
    assert plain(document.values["c"]) == ("12", "12")
    assert plain(document.values["d"]) == ("1", 1.0)


# -- problems ----------------------------------------------------------------------------------


def test_keys_that_are_no_strings_are_all_named() -> None:
    found = problems_of(
        b"---\non: yes\n2024: x\ncontent: hi\n? [a, b] : c\ntrue: 1\n~: 2\n'': 3\n---\n"
    )
    assert [(problem.line, problem.key) for problem in found] == [
        (3, "2024"),
        (5, "[a, b]"),
        (6, "true"),
        (7, "~"),
        (8, ""),
    ]
    assert all(problem.hint for problem in found)


def test_a_key_given_twice_names_both_lines() -> None:
    (problem,) = problems_of(b"---\nstatus: draft\nx: 1\nstatus: final\n---\n")
    assert problem.key == "status"
    assert problem.line == 4
    assert "lines 2 and 4" in problem.message


def test_nested_keys_given_twice() -> None:
    (problem,) = problems_of(b"---\na:\n  b: 1\n  b: 2\n---\n")
    assert (problem.line, problem.key) == (4, "b")


@pytest.mark.parametrize(
    ("row", "key", "hint"),
    [
        ("who: [[A]], [[B]]", "who", 'who: ["[[A]]", "[[B]]"]'),
        ("who: [[A]] and more", "who", '"[[A]]"'),
        ("title: a: b", "title", 'title: "a: b"'),
        ("x: @home", "x", 'x: "@home"'),
        ("x: [a, b", "x", "bracket"),
        ('x: "open', "x", "close the quotes"),
        (r'x: "C:\Users"', "x", "single quotes"),
        (r'x: "C:\dir"', "x", "single quotes"),
        (r'x: "\ud83d\ude00"', "x", "the character itself"),
        ("x:\n\ty: 1", "y", "tabs"),
    ],
)
def test_syntax_errors_show_the_spelling_that_works(row: str, key: str, hint: str) -> None:
    found = problems_of(f"---\nok: 1\n{row}\nlast: 2\n---\n".encode())
    assert found[-1].key == key
    assert hint in found[-1].hint
    assert found[-1].line in (3, 4)


@pytest.mark.parametrize(
    "block",
    [
        "- a\n- b", "just text", "~", "a: *nowhere", "a: &a [*a]", "a: !python/name:os.system x",
        "a: !!set {x}", "a: !!int x", "a: \x07", "a: \x85\x80", 'a: "\\ud800"', "a: b\n...\nc: d",
        "a: b\n--- c", "%TAG ! x", "<<: 5\nb: [", "a: b: c", "<<: [1]",
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_a_problem_with_a_line(block: str) -> None:
    found = problems_of(f"---\n{block}\n---\n".encode())
    assert found
    assert all(problem.line and problem.line >= 2 for problem in found)


def bomb(n: int) -> str:
    rows = ["a0: &a0 {x: 1}"]
    rows += [f"a{i}: &a{i} {{<<: [*a{i - 1}, *a{i - 1}], k{i}: *a{i - 1}}}" for i in range(1, n)]
    return "\n".join(rows)


@pytest.mark.parametrize(
    "block",
    [
        bomb(18),
        "a0: &a0 x\n" + "\n".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 19)),
        "a: " + "[" * 10_000,
        "a: " + "[ " * 10_000,
        "{a: " * 10_000,
        "[a," * 10_000,
        "? " * 10_000,
        "- " * 10_000,
        "a: " + "x" * 20_000_000,
        "\n".join(f"k{n}: v" for n in range(60_000)),
    ],
    ids=["merge", "aliases", "[", "[ ", "{", "[a,", "?", "-", "20MB", "keys"],
)
def test_bombs_are_refused_with_memory_flat(block: str) -> None:
    source = f"---\n{block}\n---\n".encode()
    tracemalloc.start()
    try:
        found = problems_of(source)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found
    assert found[0].line
    assert found[0].hint
    assert peak < 3 * len(source) + 40_000_000


def test_problems_of_one_document_are_bounded() -> None:
    found = problems_of(b"---\n" + b"k: v\n" * 5000 + b"---\n")
    assert len(found) == yaml_core.MAX_PROBLEMS


def test_the_pure_parser_reads_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    source = (
        "---\na: 10:00 # é\nb: [x, 1.10]\nc: {d: ~}\nid: '" + ID + "'\ne: |\n  x\n  y\n---\nbody"
    ).encode()
    fast = parse(source)
    edited = with_id(source, OTHER)
    monkeypatch.setattr(yaml_core, "_Loader", yaml.SafeLoader)
    slow = parse(source)
    assert plain(slow.values) == plain(fast.values)  # type: ignore[arg-type]
    assert slow.lines == fast.lines
    assert with_id(source, OTHER) == edited


# -- the id line -------------------------------------------------------------------------------


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


# -- the place ---------------------------------------------------------------------------------


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


# -- rendering ---------------------------------------------------------------------------------

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
