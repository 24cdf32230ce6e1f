"""Bytes survive; front matter is read by the YAML 1.2 core schema; bombs are refused fast."""

from __future__ import annotations

import tracemalloc

import pytest
import yaml

from engine import yaml_core
from engine.document import (
    Document,
    parse,
    plain,
    with_id,
)
from engine.errors import Invalid, Problem
from engine.yaml_nodes import Written, core_value

ID = "0190aaaa-bbbb-7ccc-8ddd-eeeeffff0000"


OTHER = "0190aaaa-bbbb-7ccc-8ddd-eeeeffff0001"


BOM = b"\xef\xbb\xbf"


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
