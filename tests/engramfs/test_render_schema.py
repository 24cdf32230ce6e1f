from __future__ import annotations

import json

from engine.catalogue import OPEN, Catalogue, Field, Kind, Recipe
from engine.filters import CORE_KEYS
from engramfs.render import as_json
from engramfs.render_schema import filters_of, schema_text, schema_values

DEAL = Kind(
    "Deal",
    "A sale in progress",
    fields={
        "stage": Field("stage", enum=("open", "won"), required=True),
        "due": Field("due", "datetime", description="Expected close"),
        "due_before": Field("due_before", "datetime"),
        "amount": Field("amount", "number"),
        "owner": Field("owner", link="owned_by", to="person"),
        "codes": Field("codes", many=True, examples=("A1",)),
    },
)
PART = Kind("line", parent=False, part=True)
CATALOGUE = Catalogue({"Deal": DEAL, "line": PART}, {"work": ("Deal", "line"), "none": ("x",)})


def test_a_person_reads_what_to_write_and_how_to_filter() -> None:
    text = schema_text(CATALOGUE, CATALOGUE.kinds.values()).decode()
    assert text.startswith(
        "# Deal\n\nA sale in progress\n\nFiles: deal/<slug>.md\n\n"
        "- stage: string; required; one of open, won; filter prop.stage\n"
        "- due: datetime; Expected close; filter prop.due prop.due_after\n"
    )
    assert "- owner: string; link to person (owned_by); filter prop.owner\n" in text
    assert "- codes: [string]; such as A1; filter prop.codes\n" in text
    assert "Parts only" in text
    assert "# Groups, for kinds=\n\n- work: Deal, line\n" in text
    assert "- tags: [string]" in text
    assert b"Files: <slug>.md\n" in schema_text(CATALOGUE, [DEAL], roots=True)


def test_one_kind_alone() -> None:
    values = json.loads(as_json(schema_values(CATALOGUE, [DEAL])))
    assert [kind["name"] for kind in values["kinds"]] == ["Deal"]
    assert values["groups"]["work"] == ["Deal"]
    assert values["open"] is False
    amount = next(field for field in values["kinds"][0]["fields"] if field["name"] == "amount")
    assert amount["filters"] == ["prop.amount", "prop.amount_min", "prop.amount_max"]


def test_recipes_are_told() -> None:
    around = Recipe("around", ("about", "owned_by"), 2, "out")
    parts = Recipe("parts", containment=True)
    catalogue = Catalogue({"Deal": DEAL}, recipes={"around": around, "parts": parts})
    assert schema_values(catalogue, [DEAL])["recipes"] == {
        "around": {
            "relations": ["about", "owned_by"], "hops": 2, "direction": "out", "containment": False,
        },
        "parts": {"relations": [], "hops": 1, "direction": "both", "containment": True},
    }  # fmt: skip
    assert (
        schema_text(catalogue, [DEAL])
        .decode()
        .endswith(
            "# Recipes, for .expand\n\n- around: about, owned_by; hops 2; direction out\n"
            "- parts: any relation; hops 1; direction both; with parts\n"
        )
    )
    assert b"Recipes" not in schema_text(CATALOGUE, [DEAL])


def test_a_property_named_like_a_suffix_wins() -> None:
    assert filters_of(DEAL.fields["due"], DEAL.fields) == ["prop.due", "prop.due_after"]


def test_open_mode_says_so() -> None:
    assert schema_text(OPEN, []).startswith(b"No kind is declared")


def test_stored_text_cannot_command_a_terminal() -> None:
    kind = Kind("a\x1b[2J", "b\nc\x9b", fields={"d": Field("d", description="\x1b]0;x\x07")})
    text = schema_text(Catalogue({kind.name: kind}), [kind]).decode()
    assert not set("\x1b\x9b\x07") & set(text)


def test_every_filter_that_is_no_propertys_is_told() -> None:
    told = schema_values(OPEN, ())["filters"]
    assert isinstance(told, list) and set(told) == CORE_KEYS
    text = schema_text(OPEN, ()).decode()
    assert all(f"- {key}: " in text for key in CORE_KEYS)
