from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import body_links as room
from engine.body_links import body_links
from engine.catalogue import Field, Kind
from engine.document import parse
from engine.links import find_links, resolve
from engine.model import Entry, Link, Namespace
from engine.validation import Head

DEAL = Kind(
    "Deal",
    fields={
        "owner": Field("owner", link="owned_by", to="person"),
        "others": Field("others", many=True, link="about"),
        "stage": Field("stage"),
    },
)


def targets(body: str) -> list[str]:
    return [link.target for link in body_links(body)]


@pytest.mark.parametrize(
    ("body", "target", "heading"),
    [
        ("see [[acme]].", "acme", ""),
        ("[[deal/acme]]", "deal/acme", ""),
        ("[[acme#Pricing|the deal]]", "acme", "Pricing"),
        ("[[ Bill Gates | Bill ]]", "Bill Gates", ""),
        ("| [[a\\|b]] |", "a", ""),
        ("[[_draft_]]", "_draft_", ""),
        ("[[Project: Apollo]]", "Project: Apollo", ""),
        ("[[Who are we?]]", "Who are we?", ""),
        ("[text](../person/bob.md)", "../person/bob.md", ""),
        ("[text](bob%20smith.md?raw=1#at%20home 'title')", "bob smith.md", "at home"),
        ("[text](<bob smith.md>)", "bob smith.md", ""),
        ("[text](/deal/caf%C3%A9.md)", "/deal/café.md", ""),
        ("[text][ref]\n\n[ref]: ../deal/a.md", "../deal/a.md", ""),
        ("[ref]\n\n[ref]: ../deal/a.md", "../deal/a.md", ""),
        ("> - **[[quoted]]**", "quoted", ""),
        ("![[note]]", "note", ""),
        ("- [ ] task [[item]]", "item", ""),
    ],
)
def test_links_in_a_body(body: str, target: str, heading: str) -> None:
    assert [(link.target, link.heading) for link in body_links(body)] == [(target, heading)]


@pytest.mark.parametrize(
    "body",
    [
        "![image](x.png)",
        "![[x.png]]",
        "[web](https://a.example/b.md)",
        "[web](//a.example/b.md)",
        "[[https://a.example]]",
        "<https://a.example>",
        "[mail](mailto:a@b.example)",
        "[own](#heading)",
        "`[[code]]` and ``[x](y.md)``",
        "```\n[[fenced]]\n```",
        "    [[indented]]",
        "<!-- [[comment]] -->",
        "text <!-- [x](y.md) --> text",
        "text[^1]\n\n[^1]: single",
        "[[1]](https://a.example)",
        "\\[[escaped]]",
        "[[]] [[ ]] [[|x]]",
        "[[two\nlines]]",
        "[ ] task",
    ],
)
def test_what_is_no_link(body: str) -> None:
    assert body_links(body) == []


def test_lines_and_repeats() -> None:
    body = "one\ntwo [[a]]\n\n- x\n- [[b]] [[a]]\n[[a#h]]"
    found = [(link.target, link.heading, link.line) for link in body_links(body)]
    assert found == [("a", "", 1), ("b", "", 4), ("a", "h", 5)]


@settings(deadline=None)
@given(st.text(alphabet="[]()!|#`\\\n a.<>-:^", max_size=60))
def test_finding_links_is_total(body: str) -> None:
    for link in body_links(body):
        assert link.target.strip() == link.target != ""
        assert "\n" not in link.target


def test_very_long_bodies_are_scanned(monkeypatch: pytest.MonkeyPatch) -> None:
    body = (
        "a [[x]]\n```\n[[code]]\n```\n[b](../deal/y.md#h)\n![i](i.png) <!-- [[c]]\n -->\n[[z|text]]"
    )
    parsed = body_links(body)
    monkeypatch.setattr(room, "LONGEST_PARSED", 10)
    assert body_links(body) == parsed
    assert [link.line for link in parsed] == [0, 4, 7]


def links_of(source: str, kind: Kind = DEAL, **properties: object) -> list[tuple[object, ...]]:
    document = parse(source.encode())
    head = Head(None, kind.name, "x", "X", "", properties)  # type: ignore[arg-type]
    found = find_links(head, kind, document)
    return [(link.relation, link.target, link.heading, link.origin, link.line) for link in found]


def test_links_of_fields_and_body() -> None:
    source = "---\nowner: '[[Bill Gates]]'\nstage: '[[won]]'\n---\n\n# X\n[[a]] [b](b.md)\n"
    assert links_of(source, owner="[[Bill Gates]]", stage="[[won]]") == [
        ("owned_by", "Bill Gates", "", "field", 2),
        ("mentions", "a", "", "body", 7),
        ("mentions", "b.md", "", "body", 7),
    ]


def test_well_known_links() -> None:
    source = "---\nderived_from: [note/call]\nsuperseded_by: b\n---\n"
    assert links_of(source, derived_from=["note/call", "[[c#h]]"], superseded_by="b") == [
        ("derived_from", "note/call", "", "field", 2),
        ("derived_from", "c", "h", "field", 2),
        ("superseded_by", "b", "", "field", 3),
    ]


@pytest.mark.parametrize(
    ("written", "target"),
    [
        ("[Bob](../person/bob.md)", "../person/bob.md"),
        ("../person/bob%20b.md#top", "../person/bob b.md"),
        ("C# basics", "C# basics"),
        ("TCP/IP | notes", "TCP/IP | notes"),
        ("https://a.example", None),
        ("  ", None),
        ("", None),
    ],
)
def test_spellings_of_a_link_field(written: str, target: str | None) -> None:
    assert [link[1] for link in links_of("", others=[written])] == ([target] if target else [])


def test_a_link_field_names_its_kind() -> None:
    head = Head(None, "Deal", "x", "X", "", {"owner": "bob"})
    (link,) = find_links(head, DEAL, parse(b""))
    assert link.to_kind == "person"


def entry(no: int, kind: str, slug: str, title: str = "") -> Entry:
    id = f"00000000-0000-7000-8000-{no:012d}"
    return Entry(no, id, (), kind, slug, slug, no, 0o644, 0, 0, 0, 0, 0, 0, 0, 0, title=title)


class Shelf:
    """A lookup in a few engrams."""

    def __init__(self, *entries: Entry, former: dict[tuple[str, str], Entry] | None = None) -> None:
        self.entries = entries
        self.former = former or {}
        self.aliases: dict[int, str] = {}

    def by_id(self, namespace: Namespace, id: str) -> Entry | None:
        return next((e for e in self.entries if e.id == id), None)

    def at(self, namespace: Namespace, kind: str, slug: str) -> Entry | None:
        here = (e for e in self.entries if e.kind.lower() == kind.lower() and e.slug == slug)
        return next(here, None) or self.former.get((kind, slug))

    def by_slug(self, namespace: Namespace, slug: str) -> Sequence[Entry]:
        return self._called(slug, {e.no: e.slug for e in self.entries})

    def by_alias(self, namespace: Namespace, alias: str) -> Sequence[Entry]:
        return self._called(alias, self.aliases)

    def by_title(self, namespace: Namespace, title: str) -> Sequence[Entry]:
        return self._called(title, {e.no: e.title for e in self.entries})

    def _called(self, name: str, names: dict[int, str]) -> Sequence[Entry]:
        exact = [e for e in self.entries if names.get(e.no) == name]
        return exact or [e for e in self.entries if names.get(e.no, "").lower() == name.lower()]


SOURCE = entry(0, "deal", "source")


def found(target: str, shelf: Shelf, heading: str = "", to: str | None = None) -> int | None:
    return resolve(Link("mentions", target, heading, to_kind=to), SOURCE, shelf)


def test_an_id_comes_first() -> None:
    a = entry(1, "deal", "a")
    shelf = Shelf(a, entry(2, "deal", a.id))
    assert found(a.id, shelf) == found(a.id.upper(), shelf) == 1


@pytest.mark.parametrize(
    "target",
    ["bob", "bob.md", "./bob", "../deal/bob.md", "deal/bob", "/deal/bob.md", "Deal/bob", "bob.html",
     "../person/../deal/bob", "Bob", "../deal/bob/"],
)  # fmt: skip
def test_paths(target: str) -> None:
    assert found(target, Shelf(entry(1, "person", "bob"), entry(2, "deal", "bob"))) == 2


@pytest.mark.parametrize("target", ["../bob", "../../deal/bob", "deal/x/bob", "..", ".", "/", "a/"])
def test_paths_that_lead_nowhere(target: str) -> None:
    assert found(target, Shelf(entry(2, "deal", "bob"))) is None


def test_an_html_file_of_that_name_comes_first() -> None:
    assert found("a.html", Shelf(entry(1, "deal", "a"), entry(2, "deal", "a.html"))) == 2
    assert found("a.html", Shelf(entry(1, "deal", "a"))) == 1


def test_names_in_any_kind() -> None:
    shelf = Shelf(entry(1, "person", "bob", "Robert"), entry(2, "note", "x", "bob"))
    shelf.aliases = {2: "Bobby"}
    assert found("bob", shelf) == 1  # slug before title
    assert found("Bobby", shelf) == 2
    assert found("robert", shelf) == 1  # ignoring case
    assert found("nobody", shelf) is None


def test_an_alias_comes_before_a_title() -> None:
    shelf = Shelf(entry(1, "person", "a", "Boss"), entry(2, "person", "b"))
    shelf.aliases = {2: "Boss"}
    assert found("Boss", shelf) == 2


def test_exact_case_comes_first() -> None:
    shelf = Shelf(entry(1, "deal", "acme"), entry(2, "person", "Acme"))
    assert found("Acme", shelf) == 2
    assert found("ACME", shelf) == 1  # the own kind


def test_what_is_not_unique_dangles() -> None:
    shelf = Shelf(entry(1, "person", "bob"), entry(2, "note", "bob"), entry(3, "note", "c", "bob"))
    assert found("bob", shelf) is None


def test_a_former_place_is_an_alias() -> None:
    moved = entry(1, "deal", "new")
    shelf = Shelf(moved, former={("deal", "old"): moved})
    assert found("old", shelf) == found("../deal/old.md", shelf) == 1


def test_a_field_leads_to_its_kind_only() -> None:
    shelf = Shelf(entry(1, "deal", "bob"), entry(2, "person", "bob"), entry(3, "note", "ann"))
    assert found("bob", shelf, to="person") == 2
    assert found("Bob", shelf, to="Person") == 2
    assert found("deal/bob", shelf, to="person") is None
    assert found("ann", shelf, to="person") is None
    assert found(shelf.entries[0].id, shelf, to="person") is None


def test_a_title_with_a_hash() -> None:
    shelf = Shelf(entry(1, "note", "c-sharp", "C# basics"))
    (link,) = body_links("[[C# basics]]")
    assert found(link.target, shelf, link.heading) == 1
