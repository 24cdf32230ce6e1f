"""The text that says what a fact says: verbatim, with its place in the file as it is shown."""

from __future__ import annotations

from typing import Any

import pytest

from engine.model import NOWHERE, EdgeMeta, HostPart
from engine.namespace import Scope
from engine.recall.facts import Fact
from engine.recall.quotes import QUOTE_CHARACTERS, quoted
from tests.engine.desk import HERE, Desk

KINDS = """\
kinds:
  note:
    fields:
      owner: {type: string, link: owned_by}
      parts: {type: [string], link: has}
"""


@pytest.fixture
def desk() -> Desk:
    made = Desk(kinds=KINDS)
    for slug in ("acme", "bolt"):
        made.put(slug, f"# {slug.title()}\n\nNothing.\n")
    return made


def fact(desk: Desk, slug: str, relation: str, target: str) -> Fact:
    """The fact of an edge out of an engram."""
    source, end = desk.entry(slug), desk.entry(target)
    [row] = [
        row
        for row in desk.engine.reading.edges.out(source.no)
        if (row.relation, row.target) == (relation, end.no)
    ]
    return Fact(
        source, end, relation, 0.5, row.note, evidence_id=row.evidence_id, origin=row.origin,
        written=row.written, heading=row.heading,
    )  # fmt: skip


def quote(desk: Desk, of: Fact, *, shown: bool = True, scope: Scope = HERE) -> str | None:
    """The quote's text, after its place is proved."""
    [found] = quoted(desk.engine.reading, scope, [of], shown=shown)
    if found.quote is None:
        assert found.quote_of is None
        return None
    assert found.quote_of is not None
    file = desk.engine.source(found.quote_of, shown)
    place = found.quote.span
    if place != NOWHERE:
        cut = file[place.byte_start : place.byte_end].decode().replace("\r\n", "\n")
        assert cut.rstrip("\r") == found.quote.text
        assert file[: place.byte_start].count(b"\n") + 1 == place.start_line
        lines = found.quote.text.count("\n") + (not found.quote.text.endswith("\n"))
        assert place.start_line + lines - 1 == place.end_line
    return found.quote.text


BODIES = {
    "plain": ("One.\n\nIt needs [[acme]] badly.\nMore.\n", "It needs [[acme]] badly."),
    "in a list": ("- one\n- see [A](acme.md#x) 2\n- three\n", "- see [A](acme.md#x) 2"),
    "not code": ("`[[acme]]` no.\n\n    [[acme]]\n\nYes [[acme]].\n", "Yes [[acme]]."),
    "over two lines": ("Say [the\nmaker](acme) here.\nNo.\n", "Say [the\nmaker](acme) here."),
    "reference": ("See [it][1].\n\n[1]: acme.md\n", "See [it][1]."),
    "crlf": ("One.\r\nIt is [[acme]].\r\nTwo.\r\n", "It is [[acme]]."),
    "percent": ("Von [dort](%61cme.md) aus ö.\n", "Von [dort](%61cme.md) aus ö."),
    "no newline at the end": ("[[acme]]", "[[acme]]"),
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("front", ["", "---\ntags: [x]\n---\n", "---\n{tags: [x]}\n---\n\n"])
@pytest.mark.parametrize("shown", [True, False])
def test_a_body_link_is_quoted_by_its_lines(desk: Desk, name: str, front: str, shown: bool) -> None:
    body, expected = BODIES[name]
    desk.put("a", front + body)
    of = fact(desk, "a", "mentions", "acme")
    assert quote(desk, of, shown=shown) == expected


def test_the_part_that_holds_the_link_is_told(desk: Desk) -> None:
    desk.put("a", "# A\n\nTop.\n\n## Makers\n\nIt is [[acme]].\n")
    [found] = quoted(desk.engine.reading, HERE, [fact(desk, "a", "mentions", "acme")])
    assert found.quote is not None
    assert (found.quote.heading_path, found.quote.position) == (("A", "Makers"), 2)


FIELDS = {
    "scalar": ("owner: acme\nparts: [bolt]\n", "owned_by", "acme", "owner: acme"),
    "brackets": ('owner: "[[acme]]" # !\n', "owned_by", "acme", 'owner: "[[acme]]" # !'),
    "flow list": ("parts: [acme, bolt]\n", "has", "bolt", "parts: [acme, bolt]"),
    "block list": ("parts:\n- acme\n- bolt\ntags: [z]\n", "has", "bolt", "parts:\n- acme\n- bolt"),
    "derived": ("derived_from: [note/acme]\n", "derived_from", "acme", "derived_from: [note/acme]"),
}  # fmt: skip


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("shown", [True, False])
def test_a_field_link_is_quoted_with_its_name(desk: Desk, name: str, shown: bool) -> None:
    front, relation, target, expected = FIELDS[name]
    desk.put("a", f"---\n{front}---\n\nBody.\n")
    assert quote(desk, fact(desk, "a", relation, target), shown=shown) == expected


def test_of_a_long_field_only_the_line(desk: Desk) -> None:
    lines = "".join(f"  - gone{at}\n" for at in range(20))
    desk.put("a", f"---\nparts:\n{lines}  - bolt\n---\n")
    assert quote(desk, fact(desk, "a", "has", "bolt")) == "  - bolt"


def test_a_long_line_is_cut_around_the_link_between_words(desk: Desk) -> None:
    words = "wört " * 400
    desk.put("a", f"{words}[[acme]] {words}\n")
    text = quote(desk, fact(desk, "a", "mentions", "acme"))
    assert text is not None
    assert "[[acme]]" in text
    assert len(text) <= QUOTE_CHARACTERS
    assert set(text.split()) == {"wört", "[[acme]]"}
    desk.put("b", f"{'ö' * 2000}[[acme]]{'ö' * 2000}\n")
    text = quote(desk, fact(desk, "b", "mentions", "acme"))
    assert text is not None
    assert "\ufffd" not in text
    assert "[[acme]]" in text


# -- evidence ---------------------------------------------------------------------------
def by_hand(desk: Desk, evidence: str, scope: Scope = HERE) -> Fact:
    meta = EdgeMeta(note="why", evidence_id=evidence)
    desk.engine.link(HERE, "note/acme", "near", "note/bolt", meta)
    return fact(desk, "acme", "near", "bolt")


def test_evidence_is_an_engram_or_a_part(desk: Desk) -> None:
    desk.put("proof", "# Proof\n\nFirst.\n\n## Second\n\nThat is so.\n")
    parts = desk.engine.children(HERE, "note/proof")
    assert quote(desk, by_hand(desk, desk.entry("proof").id)) == parts[1].text
    assert quote(desk, by_hand(desk, parts[2].id)) == "## Second\n\nThat is so.\n"
    assert quote(desk, by_hand(desk, parts[2].id.upper())) == "## Second\n\nThat is so.\n"
    assert quote(desk, by_hand(desk, "page 12 of the minutes")) is None
    assert quote(desk, by_hand(desk, "")) is None


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_long_evidence_is_its_beginning(desk: Desk, newline: str) -> None:
    line = "Wört and more of it, on and on." + newline
    desk.put("proof", line * 60)
    text = quote(desk, by_hand(desk, desk.entry("proof").id))
    assert text is not None
    assert 500 < len(text) <= QUOTE_CHARACTERS
    assert set(text.split("\n")) == {line.strip()}
    desk.put("proof", "word " * 1000)
    text = quote(desk, by_hand(desk, desk.entry("proof").id))
    assert text is not None
    assert set(text.split()) == {"word"}


def test_evidence_in_a_hosts_part_stands_nowhere(desk: Desk) -> None:
    desk.engine.replace_parts(HERE, "note/bolt", [HostPart("Said in the talk.", ("Page 2",))])
    part = desk.engine.children(HERE, "note/bolt")[-1]
    [found] = quoted(desk.engine.reading, HERE, [by_hand(desk, part.id)])
    assert found.quote is not None
    assert (found.quote.text, found.quote.span) == ("Said in the talk.", NOWHERE)


def test_evidence_out_of_scope_does_not_exist(desk: Desk) -> None:
    from engine.model import Draft

    far = desk.engine.put(Scope((("team", "x"),)), Draft("note", "far", b"Secret.\n")).entry
    part: Any = desk.engine.children(Scope(()), far.id)[1]
    for id in (far.id, part.id):
        assert quote(desk, by_hand(desk, id)) is None
        assert quote(desk, by_hand(desk, id), scope=Scope(())) == "Secret.\n"
    desk.rm("bolt")
