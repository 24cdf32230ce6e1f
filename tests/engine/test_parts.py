from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID, uuid5

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from engine.model import Part
from engine.parts import HeadText, cut, head_lines, head_text
from engine.sections import sections
from engine.text import analyse
from engine.tokens import bundled_tokenizer

ID = "0198f2a4-0000-7000-8000-000000000001"
HEAD = HeadText("A title")
SENTENCE = "The pump in hall {} overheated again on Monday because its valve was stuck. "
LINES = st.sampled_from(
    ["# One", "## Two", "### Three ###", "#no", "text", "more text.", "", "---", "===", "```",
     "~~~~", "````", "- item", "> quote", "    # code", "| a | b |", "|---|---|", "<!-- c", "-->",
     "***", "é 中文", "\tx", "a\rb", "# 中", "One. Two! Three?", "x" * 90]
)  # fmt: skip
BODY = st.lists(LINES, max_size=30).map("\n".join)
ANY = st.one_of(BODY, st.text(alphabet=st.characters(), max_size=200))


def words(text: str) -> int:
    return len(text.split())


def cut_words(body: str, limit: int, head: HeadText = HEAD, **places: object) -> tuple[Part, ...]:
    return cut(body, head, ID, max_tokens=limit, count_tokens=words, **places)  # type: ignore[arg-type]


def texts(parts: Sequence[Part]) -> list[str]:
    return [part.text for part in parts[1:]]


def paths(body: str) -> list[tuple[str, ...]]:
    return [section.path for section in sections(body)]


@settings(deadline=None)
@given(ANY, st.sampled_from([8, 20, 256]))
@example("a\n---\n", 8)
def test_parts_cover_the_body_without_overlap(body: str, limit: int) -> None:
    parts = cut_words(body, limit)
    assert "".join(texts(parts)) == ("" if not body or body.isspace() else body)
    assert [part.position for part in parts] == list(range(len(parts)))
    assert len({part.id for part in parts}) == len(parts)


@settings(deadline=None)
@given(BODY, st.sampled_from(["\n", "\r\n", "mixed"]), st.sampled_from([8, 256]))
def test_spans_are_those_of_the_source(body: str, newline: str, limit: int) -> None:
    front = "\ufeff---\nkind: deal\n---\n"
    ends = ["\n", "\r\n"] * len(body) if newline == "mixed" else [newline] * len(body)
    lines = body.split("\n")
    written = "".join(
        line + end for line, end in zip(lines, [*ends[: len(lines) - 1], ""], strict=False)
    )
    source = (front + written).encode()
    body = written.replace("\r\n", "\n")  # a lone carriage return at a line's end changes sides
    start = len(front.encode())
    given_source = source if newline == "mixed" else None
    parts = cut_words(
        body, limit, body_line=4, body_start=start, newline=newline, source=given_source
    )
    file_lines = source.decode().replace("\r\n", "\n").split("\n")
    for part in parts[1:]:
        span = part.span
        told = source[span.byte_start : span.byte_end].decode().replace("\r\n", "\n")
        assert told == part.text
        first, last = file_lines[span.start_line - 1], file_lines[span.end_line - 1]
        assert first.endswith(part.text.split("\n")[0]) or part.text.split("\n")[0] in first
        assert part.text.removesuffix("\n").split("\n")[-1] in last


@settings(deadline=None)
@given(st.text(alphabet=" ab.\n中", min_size=1, max_size=400), st.integers(4, 40))
def test_no_piece_is_above_its_limit(body: str, limit: int) -> None:
    def per_byte(text: str) -> int:
        return len("".join(text.split()).encode())

    for part in cut(body, HeadText(""), ID, max_tokens=limit, count_tokens=per_byte)[1:]:
        assert per_byte(part.text) <= limit


def test_headings() -> None:
    body = (
        "before\n# One\ntext\n## Two ##\n```\n# code\n```\n### Three\n## Four\n# Five\n"
        "~~~\n```\n# x\n~~~\nSix\n===\n- item\n---\nSeven\nof two lines\n---\n"
        "    # indented\n#hashtag\n<!--\n# hidden\n-->\n"
    )
    assert paths(body) == [
        (), ("One",), ("One", "Two"), ("One", "Two", "Three"), ("One", "Four"), ("Five",),
        ("Six",), ("Six", "Seven of two lines"),
    ]  # fmt: skip


def test_fences_nest_by_length() -> None:
    assert paths("````\n```\n# a\n```\n# b\n````\n# c\n") == [(), ("c",)]
    assert paths("```\n~~~\n# a\n") == [()]
    assert paths("``` not `code`\n# a\n") == [(), ("a",)]


BLOCKS = st.sampled_from(
    ["# One", "## Two ##", "####### no", "#", "text\nmore", "Under\n---", "Under\n===",
     "```\n# x\n```", "~~~ py\n# x\n~~~", "    # code", "- item\n\n  # in item", "> # quoted",
     "***", "---", "<!-- # x\n# y -->", "<pre>\n# z\n</pre>", "| a | b |\n|---|---|\n| c | d |",
     "- item\n---", "| a | b |\n|---|---|\n---", "#\ttab", " ## indented"]
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(BLOCKS, max_size=8).map("\n\n".join))
def test_headings_are_those_of_commonmark(body: str) -> None:
    found = MarkdownIt("commonmark").enable("table").parse(body)
    starts = [t.map[0] for t in found if t.type == "heading_open" and t.level == 0 and t.map]
    ours = [body.count("\n", 0, s.start) for s in sections(body) if s.path]
    assert ours[1:] == starts[1:] and len(ours) == len(starts)
    assert ours[:1] in ([], [0], starts[:1])  # blank lines before a first heading belong to it


def test_ids() -> None:
    parts = cut_words("start\n# A\n## B\n# A\n## B\n", 50)
    names = ["", "\x1f0", "A\x1f0", "A\x1fB\x1f0", "A\x1f1", "A\x1fB\x1f1"]
    assert [part.id for part in parts] == [str(uuid5(UUID(ID), name)) for name in names]


def test_pieces_add_their_number() -> None:
    parts = cut_words("# A\n" + SENTENCE.format(1) * 9, 40)
    assert len(parts) > 3
    names = ["A\x1f0"] + [f"A\x1f0#{k}" for k in range(1, len(parts) - 1)]
    assert [part.id for part in parts[1:]] == [str(uuid5(UUID(ID), name)) for name in names]
    assert {part.heading_path for part in parts[1:]} == {("A",)}


def test_a_heading_cannot_take_the_id_of_another() -> None:
    parts = cut_words("# A\n# A\x1f0\n# A\n# A\n## 0\n# A\x1f0\n", 50)
    assert len({part.id for part in parts}) == len(parts)


def test_an_edit_keeps_the_pieces_elsewhere() -> None:
    paragraphs = ["".join(SENTENCE.format(f"{n}.{k}") for k in range(4)) for n in range(40)]
    before = cut_words("\n\n".join(paragraphs), 256)
    paragraphs[3] = "Something shorter."
    after = cut_words("\n\n".join(paragraphs), 256)
    assert len(before) > 8
    kept = {part.embed_text for part in before} & {part.embed_text for part in after}
    assert len(kept) >= len(before) - 3
    same = {(p.id, p.text) for p in before} & {(p.id, p.text) for p in after}
    assert len(same) >= len(before) // 2


def test_code_and_tables_stay_whole_when_they_fit() -> None:
    code = "```\n" + "line of code. Next one\n\n" * 20 + "```\n"
    table = "| a | b |\n|---|---|\n" + "| cell. One | cell. Two |\n" * 12
    prose = SENTENCE.format(1) * 8
    parts = texts(cut_words(f"{prose}\n\n{code}\n{prose}\n\n{table}\n{prose}\n", 128))
    assert sum(code in text for text in parts) == 1
    assert sum(table in text for text in parts) == 1
    assert len(parts) > 3


def test_a_table_that_does_not_fit_is_cut_between_rows() -> None:
    table = "| a | b |\n|---|---|\n" + "| cell. One | cell. Two |\n" * 60
    parts = texts(cut_words(table, 64))
    assert len(parts) > 4 and all(text.endswith("|\n") for text in parts)


def test_a_paragraph_is_cut_at_sentences() -> None:
    parts = texts(cut_words("".join(SENTENCE.format(n) for n in range(60)), 64))
    assert len(parts) > 8 and all(text.endswith("stuck. ") for text in parts)


@pytest.mark.parametrize(
    "filler", ["lorem ipsum ", "x", "中文合約", "- a\n===\n", "```\n", "---\n", " "]
)
def test_case_36(filler: str) -> None:
    count = bundled_tokenizer().count
    body = (filler * 200_000)[:200_000] + " uniqueword"
    parts = cut(body, HEAD, ID, count_tokens=count)
    assert "".join(texts(parts)) == body
    assert sum("uniqueword" in part.terms for part in parts) == 1
    assert max(count(part.embed_text) for part in parts) <= 256
    assert max(len(part.text) for part in parts) <= 4096


def test_a_pair_of_characters_across_a_border_is_found() -> None:
    text = "".join(chr(0x4E00 + n) for n in range(900))
    parts = cut(text, HEAD, ID, count_tokens=bundled_tokenizer().count)
    assert len(parts) > 3
    found = {term for part in parts for term in part.terms}
    assert all(text[i : i + 2] in found for i in range(len(text) - 1))


def test_terms_are_heading_path_and_text() -> None:
    parts = cut_words("# Pumps\n\nhot\n## Valves\nstuck bars", 50)
    assert parts[1].terms == ("pump", "hot")
    assert parts[2].terms == ("pump", "valv", "stuck", "bar")


def test_embedded_text() -> None:
    body = "# A title\n\n## Pumps\n\n hot \n\n### Deep\ncold\n## Empty\n# Parent\n## Child\nx\n"
    embedded = [part.embed_text for part in cut_words(body, 99)]
    assert embedded == [
        "A title",
        "",  # what has only sections below it is in theirs
        "A title\nPumps\nhot",
        "A title\nPumps > Deep\ncold",
        "A title\nEmpty",
        "",
        "A title\nParent > Child\nx",
    ]
    silent = HeadText("A title", embed=False)
    assert {part.embed_text for part in cut_words(body, 99, silent)} == {""}


def test_long_titles_leave_half_for_content() -> None:
    count = bundled_tokenizer().count
    head = HeadText("오버히팅 " * 300)
    parts = cut("# " + "深" * 190 + "\n" + SENTENCE.format(1) * 60, head, ID, count_tokens=count)
    assert all(count(part.embed_text) <= 256 for part in parts[1:])
    assert all("pump" in part.embed_text for part in parts[1:])


def test_a_very_long_heading_is_content_too() -> None:
    parts = cut_words("# " + "word " * 500 + "uniqueword\ntext", 64)
    assert sum("uniqueword" in part.terms for part in parts) == 1
    assert all(len(part.heading_path[0]) <= 200 for part in parts[1:])


def test_the_head() -> None:
    head = head_text(
        "Acme renewal",
        slug="acme-2026",
        summary="The big one",
        aliases=["ACME Corp"],
        properties={
            "stage": "won", "value": 12.5, "open": True, "codes": ["A1", "B2"], "owner": None,
            "nested": {"x": ["deep"]}, "secret": "hidden", "lang": "en", "aliases": ["ACME Corp"],
            "derived_from": ["note/call"],
        },
        skip={"secret"},
    )  # fmt: skip
    part = cut("", head, ID, body_line=9, body_start=120)[0]
    assert part.text == head_lines(head)
    assert part.text.split("\n") == [
        "Acme renewal", "aliases: ACME Corp", "The big one", "slug: acme-2026", "stage: won",
        "value: 12.5", "open: true", "codes: A1, B2", "nested: deep", "derived_from: note/call",
    ]  # fmt: skip
    assert part.embed_text == "Acme renewal\nThe big one\nstage: won\nvalue: 12.5\nopen: true"
    assert {"acme-2026", "corp", "big", "12.5", "a1", "deep", "call"} <= set(part.terms)
    assert "hidden" not in part.terms and "en" not in part.terms
    assert (part.position, part.heading_path) == (0, ())
    assert (part.span.start_line, part.span.end_line) == (1, 8)
    assert (part.span.byte_start, part.span.byte_end) == (0, 120)


def test_a_slug_that_repeats_the_title_is_not_counted_twice() -> None:
    head = HeadText("Acme renewal", slug="acme-renewal")
    assert cut("", head, ID)[0].terms == tuple(analyse("Acme renewal"))


def test_a_language_is_that_of_the_head() -> None:
    parts = cut_words("# Häuser\nlaufen", 9, HeadText("Äpfel", lang="de"))
    assert [part.terms for part in parts] == [("apfel",), ("haus", "lauf")]
