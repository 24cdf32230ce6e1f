"""What `.schema` says: the kinds, their properties and how to filter by each."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from engine.catalogue import WELL_KNOWN, Catalogue, Field, Kind, Recipe
from engramfs.render import one_line

_SUFFIXES = {"datetime": ("_after", "_before"), "number": ("_min", "_max")}

_FILTERS = {
    "kinds": "kinds or groups of kinds, any of them",
    "kind": "kinds, any of them",
    "title": "exactly",
    "scope_ids": "ids or kind/slug: only these",
    **dict.fromkeys(("created_after", "updated_after"), "that instant or later"),
    **dict.fromkeys(("created_before", "updated_before"), "before that instant"),
}


def schema_values(catalogue: Catalogue, kinds: Iterable[Kind]) -> dict[str, object]:
    """`.schema` as JSON holds it."""
    shown = list(kinds)
    return {
        "open": catalogue.open,
        "kinds": [_kind_values(kind) for kind in shown],
        "filters": list(_FILTERS),
        "well_known": [_field_values(field, WELL_KNOWN) for field in WELL_KNOWN.values()],
        "groups": {
            name: [kind.name for kind in shown if kind.name in members]
            for name, members in catalogue.groups.items()
        },
        "recipes": {
            name: {
                "relations": list(recipe.relations),
                "hops": recipe.hops,
                "direction": recipe.direction,
                "containment": recipe.containment,
            }
            for name, recipe in catalogue.recipes.items()
        },
    }


def schema_text(catalogue: Catalogue, kinds: Iterable[Kind], *, roots: bool = False) -> bytes:
    """The same as Markdown; `roots`: the one kind's files stand at the mountpoint's root."""
    shown = list(kinds)
    sections = [_kind_text(kind, roots=roots) for kind in shown]
    if catalogue.open:
        sections.insert(
            0,
            "No kind is declared, so any front matter is accepted, and mkdir makes a kind.\n"
            "A kinds.yaml declares kinds: engramfs kinds apply FILE.\n",
        )
    well_known = "".join(_field_line(field, WELL_KNOWN) for field in WELL_KNOWN.values())
    sections.append(f"# Properties that every kind has\n\n{well_known}")
    filters = "".join(f"- {key}: {what}\n" for key, what in _FILTERS.items())
    sections.append(f"# Filters besides those of properties\n\n{filters}")
    names = {kind.name for kind in shown}
    groups = "".join(
        f"- {name}: {', '.join(member for member in members if member in names)}\n"
        for name, members in catalogue.groups.items()
        if names & set(members)
    )
    if groups:
        sections.append(f"# Groups, for kinds=\n\n{groups}")
    recipes = "".join(_recipe_line(recipe) for recipe in catalogue.recipes.values())
    if recipes:
        sections.append(f"# Recipes, for .expand\n\n{recipes}")
    return "\n".join(sections).encode("utf-8", "backslashreplace")


def filters_of(field: Field, siblings: Collection[str]) -> list[str]:
    """The keys that filter by a property; a suffix counts only where no property has that name."""
    suffixes = _SUFFIXES.get(field.type, ())
    ranges = [f"{field.name}{suffix}" for suffix in suffixes]
    return [f"prop.{field.name}", *(f"prop.{name}" for name in ranges if name not in siblings)]


def _kind_values(kind: Kind) -> dict[str, object]:
    return {
        "name": kind.name,
        "directory": kind.directory if kind.parent else None,
        "description": kind.description,
        "lang": kind.lang,
        "embed": kind.embed,
        "declared": kind.declared,
        "fields": [_field_values(field, kind.fields) for field in kind.fields.values()],
    }


def _field_values(field: Field, siblings: Collection[str]) -> dict[str, object]:
    return {
        "name": field.name,
        "type": field.spelled,
        "description": field.description,
        "required": field.required,
        "enum": list(field.enum),
        "link": field.link,
        "to": field.to,
        "examples": list(field.examples),
        "operators": list(field.operators),
        "filters": filters_of(field, siblings),
    }


def _kind_text(kind: Kind, *, roots: bool) -> str:
    place = "<slug>.md" if roots else f"{kind.directory}/<slug>.md"
    lines = [f"# {one_line(kind.name)}\n\n"]
    if kind.description:
        lines.append(f"{one_line(kind.description)}\n\n")
    lines.append(f"Files: {one_line(place)}\n" if kind.parent else "Parts only; it has no files.\n")
    if kind.fields:
        lines.append("\n")
        lines.extend(_field_line(field, kind.fields) for field in kind.fields.values())
    return "".join(lines)


def _recipe_line(recipe: Recipe) -> str:
    relations = ", ".join(recipe.relations) or "any relation"
    said = f"{relations}; hops {recipe.hops}; direction {recipe.direction}"
    parts = "; with parts" if recipe.containment else ""
    return one_line(f"- {recipe.name}: {said}{parts}") + "\n"


def _field_line(field: Field, siblings: Collection[str]) -> str:
    rules = [field.spelled]
    if field.required:
        rules.append("required")
    if field.enum:
        rules.append(f"one of {', '.join(map(str, field.enum))}")
    if field.link:
        rules.append(f"link to {field.to or 'any engram'} ({field.link})")
    if field.examples:
        rules.append(f"such as {', '.join(map(str, field.examples))}")
    if field.description:
        rules.append(field.description)
    rules.append(f"filter {' '.join(filters_of(field, siblings))}")
    return one_line(f"- {field.name}: {'; '.join(rules)}") + "\n"
