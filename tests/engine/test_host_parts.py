"""Host's parts as values: refused with every problem, cut for the index, put together again."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.config import Config
from engine.errors import Invalid
from engine.host_parts import Hosted, accepted, cut_host, digest, joined, seal
from engine.model import NOWHERE, HostPart, Part, Span
from engine.parts import HeadText, cut
from engine.pieces import utf8
from engine.store.versions import stored

ID = "0190aaaa-bbbb-7ccc-8ddd-eeeeffff0000"
LIMITS = Config()
HEAD = HeadText("The report")
LONG = "".join(f"Sentence number {n} says this.\n" for n in range(200))
WORDS = st.lists(st.sampled_from(["pumps ", "heat\n", "\n\n", "öl. ", "漢字", "x"]), min_size=1)
TEXTS = WORDS.map("".join).filter(lambda text: bool(text.strip()))
PATHS = st.lists(st.sampled_from(["Page 1", "Page 2", "host", "0", "a\x1f0"]), max_size=2)
SPANS = st.none() | st.builds(
    lambda line, byte: Span(line, line + 9, byte, byte + 99), st.integers(1, 5), st.integers(0, 9)
)
PARTS = st.lists(st.builds(HostPart, TEXTS, PATHS.map(tuple), SPANS), max_size=5).map(tuple)


def cuts(parts: tuple[HostPart, ...], max_tokens: int = 256, id: str = ID) -> tuple[Part, ...]:
    return cut_host(parts, HEAD, id, first=3, max_tokens=max_tokens, count_tokens=None)


def refused(*parts: object, limits: Config = LIMITS) -> list[str]:
    with pytest.raises(Invalid) as caught:
        accepted(parts, limits)  # type: ignore[arg-type]
    assert all(problem.hint for problem in caught.value.problems)
    return [problem.message for problem in caught.value.problems]


def test_every_problem_is_told_at_once() -> None:
    said = refused(
        HostPart("fine"),
        HostPart(" \n"),
        HostPart(b"bytes"),  # type: ignore[arg-type]
        HostPart("half \ud800"),
        HostPart("x", "Page"),  # type: ignore[arg-type]
        HostPart("x", ("", "two\nlines", "ok", "half \udfff")),
        HostPart("x", (), Span(0, 0, 0, 0)),
        HostPart("x", (), Span(2, 1, 0, 1)),
        HostPart("x", (), Span(1, 1, 5, 4)),
        {"text": "x"},
    )
    for at in range(1, 10):
        assert any(f"parts[{at}]" in message for message in said), at
    assert not any("parts[0]" in message for message in said)
    assert len(said) == 11


def test_limits_are_told_with_what_was_given() -> None:
    limits = Config(host_parts=2, host_parts_bytes=10, host_heading_bytes=4)
    assert "3 parts; the limit is 2" in refused(*[HostPart("x")] * 3, limits=limits)[0]
    bytes_, heading = refused(HostPart("öööö", ("abcde",)), limits=limits)
    assert "13 bytes; the limit is 10" in bytes_ and "5 bytes; the limit is 4" in heading
    assert accepted([HostPart("öööö", ("ab",))], limits)


@pytest.mark.parametrize("parts", ["text", HostPart("text")])
def test_one_value_is_not_several(parts: object) -> None:
    with pytest.raises(Invalid):
        accepted(parts, LIMITS)  # type: ignore[arg-type]


def test_line_ends_become_line_feeds_and_nul_stays_as_in_documents() -> None:
    assert accepted(iter([HostPart("a\r\nb\x00c\rd")]), LIMITS) == (HostPart("a\nb\x00c\rd"),)


@given(PARTS, st.integers(4, 40))
def test_cutting_and_joining_gives_what_was_given(parts: tuple[HostPart, ...], most: int) -> None:
    made = cuts(parts, most)
    assert joined([stored(part) for part in made], ID) == parts
    assert [part.position for part in made] == list(range(3, 3 + len(made)))
    assert len({part.id for part in made}) == len(made)
    assert all(part.origin == "host" for part in made)


def test_a_long_part_is_cut_as_a_long_section_is() -> None:
    (part,) = parts = (HostPart(LONG, ("Page 1",), Span(10, 209, 1_000, 1_000 + len(LONG))),)
    made = cuts(parts)
    as_section = cut(LONG, HEAD, ID)[1:]
    assert len(made) > 3
    assert [piece.text.strip() for piece in made] == [piece.text.strip() for piece in as_section]
    lines = LONG.splitlines()
    for piece in made:
        first, last = piece.span.start_line - 10, piece.span.end_line - 10
        assert piece.text.splitlines() == lines[first : last + 1]
        start, end = piece.span.byte_start - 1_000, piece.span.byte_end - 1_000
        assert utf8(LONG)[start:end].decode() == piece.text
        assert piece.embed_text.startswith("The report\nPage 1\n")
        assert {"page", "1"} <= set(piece.terms)
    assert part.text == "".join(piece.text for piece in made)


def test_ids_stay_with_path_and_number_and_are_no_cut_parts() -> None:
    one, two = HostPart("one", ("P",)), HostPart("two", ("P",))
    ids = [part.id for part in cuts((one, two))]
    assert [part.id for part in cuts((replace(one, text="other"), two))] == ids
    assert cuts((HostPart("new", ("Q",)), one))[1].id == ids[0]
    assert ids != [part.id for part in cuts((one, two), id=str(uuid4()))]
    for body in ("# P\n\none\n\n# P\n\ntwo\n", "# P\n\n## 0\n\n### host\n\nx\n"):
        assert not {part.id for part in cut(body, HEAD, ID)} & set(ids)


def test_a_part_without_span_stands_nowhere_and_a_kind_may_have_no_vectors() -> None:
    (part,) = cut_host(
        (HostPart("text"),),
        replace(HEAD, embed=False),
        ID,
        first=1,
        max_tokens=9,
        count_tokens=None,
    )
    assert part.span == NOWHERE and part.embed_text == "" and part.terms == ("text",)


@given(PARTS, PARTS)
def test_the_seal_tells_parts_apart(one: tuple[HostPart, ...], other: tuple[HostPart, ...]) -> None:
    assert (seal(one).sha256 == seal(other).sha256) == (one == other)
    assert seal(one).sound and Hosted(one, digest(other)).sound == (one == other)
    assert bool(digest(one)) == bool(one)
