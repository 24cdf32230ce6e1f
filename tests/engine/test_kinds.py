"""kinds.yaml is read exactly, refused with lines, and applied additively."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.catalogue import (
    OPEN,
    Catalogue,
    Kind,
    catalogue_from_rows,
    catalogue_to_rows,
    kind_to_json,
)
from engine.errors import Invalid, Problem
from engine.kinds import apply, changes, with_open_kind, without_kind
from engine.kinds_file import parse_kinds
from engine.model import PropertyValue

EXAMPLE = """\
kinds:
  deal:
    description: A sale in progress
    parent: true            # default; part: true makes a kind of parts only
    embed: true             # false = keyword only, never a vector
    lang: en
    briefing: none          # constraint | convention | finding | task | none
    fields:
      stage: {type: string, enum: [open, won, lost], required: true, operators: [eq, in]}
      due:   {type: datetime, description: Expected close}
      owner: {type: string, link: owned_by, to: person}   # its value names an engram
      codes: {type: [string], skip_index: true, examples: [A1]}
      amount: {type: number, enum: [1, 2.5]}
      done: {type: boolean}
  Person: {}
  task:
  session: {embed: false}
  chunk: {part: true}
groups: {work: [task, session]}
recipes:
  around: {relations: [about, owned_by], hops: 2, direction: both, containment: false}
"""


def refused(text: str) -> tuple[Problem, ...]:
    with pytest.raises(Invalid) as caught:
        parse_kinds(text)
    return caught.value.problems


def test_the_example_of_the_contract() -> None:
    catalogue = parse_kinds(EXAMPLE)
    assert list(catalogue.kinds) == ["deal", "Person", "task", "session", "chunk"]
    assert not catalogue.open
    deal = catalogue.kinds["deal"]
    assert (deal.description, deal.lang, deal.embed) == ("A sale in progress", "en", True)
    stage, due, owner, codes, amount, done = deal.fields.values()
    assert (stage.type, stage.enum, stage.required) == ("string", ("open", "won", "lost"), True)
    assert (due.type, due.description) == ("datetime", "Expected close")
    assert (owner.link, owner.to) == ("owned_by", "person")
    assert (codes.many, codes.spelled, codes.skip_index) == (True, "[string]", True)
    assert codes.examples == ("A1",)
    assert amount.enum == (1, 2.5)
    assert (done.operators, stage.operators) == (("eq",), ("eq", "in"))
    assert not catalogue.kinds["session"].embed
    assert catalogue.groups == {"work": ("task", "session")}
    around = catalogue.recipes["around"]
    assert (around.relations, around.hops, around.direction) == (("about", "owned_by"), 2, "both")


def test_kinds_are_found_by_directory_in_lower_case() -> None:
    catalogue = parse_kinds(EXAMPLE)
    person = catalogue.by_directory("person")
    assert person is not None
    assert person.name == "Person"
    assert catalogue.by_directory("Person") is None
    assert catalogue.kind("PERSON") is person
    assert catalogue.directory("Person") == catalogue.directory(person) == "person"
    assert catalogue.by_directory("chunk") is None, "parts have no directory"
    assert [kind.name for kind in catalogue.parents()] == ["deal", "Person", "task", "session"]


def test_directories_are_compared_in_any_normal_form() -> None:
    catalogue = parse_kinds("kinds: {café: {}}")
    assert catalogue.by_directory("cafe\u0301") is catalogue.kinds["café"]


@pytest.mark.parametrize("text", ["", "# nothing\n", "kinds: {}\n", "kinds:\n", "\ufeff"])
def test_no_kinds_is_open_mode(text: str) -> None:
    assert parse_kinds(text) == OPEN
    assert OPEN.open


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("- a", 1, "mapping"),
        ("kinds: [a]", 1, "mapping"),
        ("kind: {}", 1, "section"),
        ("kinds:\n a/b: {}", 2, "/"),
        ("kinds:\n 'a..b': {}", 2, ".."),
        ("kinds:\n .a: {}", 2, "dot"),
        ("kinds:\n ' a': {}", 2, "blanks"),
        ('kinds:\n "a\\tb": {}', 2, "control"),
        ("kinds:\n Deal: {}\n deal: {}", 3, "directory"),
        ("kinds:\n deal: {}\n deal: {}", 3, "twice"),
        ("kinds:\n digest: {}", 2, "reserved"),
        ("kinds:\n 2024: {}", 2, "not a string"),
        ("kinds:\n a: x", 2, "mapping"),
        ("kinds:\n a: {colour: red}", 2, "option"),
        ("kinds:\n a:\n  part: maybe", 3, "boolean"),
        ("kinds:\n a:\n  parent: false", 2, "neither"),
        ("kinds:\n a:\n  lang: '!'", 3, "language"),
        ("kinds:\n a:\n  briefing: often", 3, "choices"),
        ("kinds:\n a:\n  fields: [x]", 3, "mapping"),
        ("kinds:\n a:\n  fields:\n   x: {}", 4, "type"),
        ("kinds:\n a:\n  fields:\n   x: {type: text}", 4, "type"),
        ("kinds:\n a:\n  fields:\n   x: {type: [string, number]}", 4, "type"),
        ("kinds:\n a:\n  fields:\n   x-y: {type: string}", 4, "field name"),
        ("kinds:\n a:\n  fields:\n   tags: {type: [string]}", 4, "already"),
        ("kinds:\n a:\n  fields:\n   title: {type: string}", 4, "reserved"),
        ("kinds:\n a:\n  fields:\n   id: {type: string}", 4, "reserved"),
        ("kinds:\n a:\n  fields:\n   x: {type: number, enum: [1, b]}", 4, "number"),
        ("kinds:\n a:\n  fields:\n   x: {type: datetime, examples: [soon]}", 4, "date"),
        ("kinds:\n a:\n  fields:\n   x: {type: string, enum: a}", 4, "list"),
        ("kinds:\n a:\n  fields:\n   x: {type: string, enum: []}", 4, "list"),
        ("kinds:\n a:\n  fields:\n   x: {type: number, link: about}", 4, "link"),
        ("kinds:\n a:\n  fields:\n   x: {type: string, link: part_of}", 4, "reserved"),
        ("kinds:\n a:\n  fields:\n   x: {type: string, link: 'a b'}", 4, "relation"),
        ("kinds:\n a:\n  fields:\n   x: {type: string, to: a}", 4, "link"),
        ("kinds:\n a:\n  fields:\n   x: {type: string, link: l, to: b}", 4, "not a kind"),
        ("kinds:\n a:\n  fields:\n   x: {type: string, operators: [like]}", 4, "operator"),
        ("kinds:\n a:\n  fields:\n   x: {type: boolean, operators: [eq, in]}", 4, "eq only"),
        ("kinds:\n a:\n  fields:\n   x: {type: string, required: 'true'}", 4, "boolean"),
        ("kinds: {a: {}}\ngroups: {a: [a]}", 2, "name of a kind"),
        ("kinds: {a: {}}\ngroups: {g: [b]}", 2, "not a kind"),
        ("kinds: {a: {}}\ngroups: {g: a}", 2, "list"),
        ("kinds: {a: {}}\nrecipes: {r: {hops: 9}}", 2, "range"),
        ("kinds: {a: {}}\nrecipes: {r: {hops: yes}}", 2, "range"),
        ("kinds: {a: {}}\nrecipes: {r: {direction: up}}", 2, "choices"),
        ("kinds:\n a: {b: c", 2, "cannot be read"),
    ],
)
def test_refusals_name_the_line(text: str, line: int, word: str) -> None:
    problems = refused(text)
    assert any(problem.line == line and word in str(problem) for problem in problems), problems


def test_all_problems_come_at_once_in_order() -> None:
    problems = refused("kinds:\n .a: {x: 1}\n b:\n  fields: {id: {type: q}}\nfoo: 1\n")
    assert [problem.line for problem in problems] == [2, 2, 4, 4, 5]


@given(st.text(max_size=60))
def test_any_text_is_a_catalogue_or_invalid(text: str) -> None:
    for source in (text, "kinds:\n a:\n  fields:\n   " + text):
        try:
            catalogue = parse_kinds(source)
        except Invalid as error:
            assert error.problems
        else:
            assert catalogue_from_rows(catalogue_to_rows(catalogue)) == catalogue


def test_rows_keep_a_catalogue() -> None:
    catalogue = parse_kinds(EXAMPLE)
    assert catalogue_from_rows(catalogue_to_rows(catalogue)) == catalogue
    opened = with_open_kind(OPEN, "My Notes")
    assert catalogue_from_rows(catalogue_to_rows(opened)) == opened
    assert kind_to_json(opened.kinds["My Notes"]) == "{}"
    assert kind_to_json(catalogue.kinds["task"]) != "{}"
    assert catalogue_from_rows([]) == OPEN


# -- open mode ---------------------------------------------------------------------------------


def test_mkdir_makes_a_kind_named_as_given() -> None:
    catalogue = with_open_kind(with_open_kind(OPEN, "My Notes"), "cafe\u0301")
    assert catalogue.open
    assert catalogue.directory("My Notes") == "My Notes"
    kind = catalogue.by_directory("café")
    assert kind is not None
    assert kind.directory == "cafe\u0301"
    assert without_kind(without_kind(catalogue, "My Notes"), "café") == OPEN


@pytest.mark.parametrize("name", ["notes", "NOTES", ".x", "a/b", "digest", "", "x" * 256])
def test_mkdir_is_refused(name: str) -> None:
    with pytest.raises(Invalid) as caught:
        with_open_kind(with_open_kind(OPEN, "Notes"), name)
    assert caught.value.problems[0].hint


def test_declared_kinds_are_neither_made_nor_removed_by_hand() -> None:
    catalogue = parse_kinds(EXAMPLE)
    with pytest.raises(Invalid):
        with_open_kind(catalogue, "new")
    with pytest.raises(Invalid):
        without_kind(catalogue, "deal")
    with pytest.raises(Invalid):
        without_kind(OPEN, "deal")


# -- applying ----------------------------------------------------------------------------------

Breaks = Callable[[Mapping[str, PropertyValue]], bool]
LIVE: Mapping[str, Sequence[Mapping[str, PropertyValue]]] = {
    "deal": [{"stage": "open", "codes": ["a"]}, *[{"stage": "won"}] * 7],
    "Notes": [{"tags": ["x"], "n": 1}],
}


def live_use(kind: str, breaks: Breaks) -> Sequence[str]:
    return [f"{kind}/e{n}" for n, values in enumerate(LIVE.get(kind, [])) if breaks(values)]


def catalogue_with(fields: str) -> Catalogue:
    return parse_kinds(f"kinds:\n deal:\n  fields: {{{fields}}}\n")


OLD = (
    "stage: {type: string, enum: [open, won, lost]}, codes: {type: [string]}, free: {type: number}"
)


@pytest.mark.parametrize(
    "fields",
    [
        OLD,
        OLD + ", more: {type: datetime, required: true}",
        "stage: {type: string, enum: [open, won, lost, new]}, codes: {type: [string]}",
        "stage: {type: string, enum: [open, won]}, codes: {type: [string]}, free: {type: string}",
        "stage: {type: string}, codes: {type: [string], enum: [a, b]}, free: {type: number}",
    ],
)
def test_what_no_live_engram_uses_may_change(fields: str) -> None:
    new = catalogue_with(fields)
    assert apply(catalogue_with(OLD), new, live_use) is new


@pytest.mark.parametrize(
    ("fields", "key", "first"),
    [
        ("codes: {type: [string]}", "deal.stage", "deal/e0"),
        ("stage: {type: string}", "deal.codes", "deal/e0"),
        ("stage: {type: number}, codes: {type: [string]}", "deal.stage", "deal/e0"),
        ("stage: {type: [string]}, codes: {type: [string]}", "deal.stage", "deal/e0"),
        ("stage: {type: string, enum: [open]}, codes: {type: [string]}", "deal.stage", "deal/e1"),
        ("stage: {type: string}, codes: {type: [string], enum: [b]}", "deal.codes", "deal/e0"),
    ],
)
def test_what_live_engrams_use_stays(fields: str, key: str, first: str) -> None:
    with pytest.raises(Invalid) as caught:
        apply(catalogue_with(OLD), catalogue_with(fields), live_use)
    (problem,) = caught.value.problems
    assert problem.key == key
    assert first in problem.message
    assert problem.hint


def test_a_refusal_names_five_engrams() -> None:
    with pytest.raises(Invalid) as caught:
        apply(catalogue_with(OLD), parse_kinds("kinds: {other: {}}"), live_use)
    message = caught.value.problems[0].message
    assert message.count("deal/e") == 5
    assert message.endswith("…")


def test_a_kind_in_use_cannot_become_one_of_parts_or_be_dropped_for_another_case() -> None:
    for text in ("kinds: {deal: {part: true}}", "kinds: {Deal: {}}", ""):
        with pytest.raises(Invalid):
            apply(parse_kinds("kinds: {deal: {}}"), parse_kinds(text), live_use)


def test_a_kind_of_open_mode_can_be_declared_when_its_engrams_fit() -> None:
    old = with_open_kind(OPEN, "Notes")
    new = parse_kinds("kinds: {Notes: {fields: {n: {type: number}}}}")
    assert apply(old, new, live_use) is new
    for fields in ("", "n: {type: string}"):
        with pytest.raises(Invalid):
            apply(old, parse_kinds(f"kinds: {{Notes: {{fields: {{{fields}}}}}}}"), live_use)
    with pytest.raises(Invalid):
        apply(old, parse_kinds("kinds: {other: {}}"), live_use)


def test_changes_are_told() -> None:
    old = parse_kinds("kinds: {a: {fields: {x: {type: string}, z: {type: string}}}, b: {}, c: {}}")
    new = parse_kinds(
        "kinds: {a: {fields: {x: {type: number}, y: {type: string}}}, c: {lang: de}, d: {}}\n"
        "groups: {g: [a]}"
    )
    assert changes(old, new) == (
        "removed the kind b",
        "changed the field a.x",
        "removed the field a.z",
        "added the field a.y",
        "changed the kind c",
        "added the kind d",
        "changed the groups",
    )
    assert changes(new, new) == ()


def test_expanding_names_of_kinds_and_groups() -> None:
    catalogue = parse_kinds(EXAMPLE)
    assert catalogue.expand(["work", "DEAL", "nope"]) == (["task", "session", "deal"], ["nope"])
    assert OPEN.expand(["x"]) == ([], ["x"])


def test_a_part_of_a_catalogue_is_as_open_as_the_whole() -> None:
    declared = parse_kinds(EXAMPLE)
    for part in (declared.of_kinds(()), declared.of_kinds({"deal"}).of_kinds(())):
        assert not part.kinds and not part.open and not part.grows
    made = with_open_kind(OPEN, "note")
    assert made.open and made.grows
    assert made.of_kinds({"note"}).open and not made.of_kinds({"note"}).grows


def test_fields_of_a_kind_and_well_known_ones() -> None:
    catalogue = parse_kinds(EXAMPLE)
    stage = catalogue.field("deal", "stage")
    tags = catalogue.field("task", "tags")
    assert stage is not None
    assert tags is not None
    assert tags.spelled == "[string]"
    assert catalogue.field("task", "stage") is None
    assert Kind("Deal").directory == "deal"
