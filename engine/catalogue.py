"""The catalogue of kinds: which properties a kind has, of which type, and where it lives.

An empty catalogue is open mode: any front matter is accepted and `mkdir` makes a kind. A kind made
so is `declared = False`; the catalogue stays open beside such kinds.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.model import SOURCE_ROLES, Engram, Entry
from engine.slug import SUFFIX, fold, nfc

TYPES = ("string", "number", "boolean", "datetime")
RESERVED_KEYS = frozenset({"id", "kind", "domain", "slug", "title", "summary"})
RESERVED_KINDS = frozenset({"digest"})  # derived objects, written by the engine itself
BRIEFINGS = ("none", "constraint", "convention", "finding", "task")
DIRECTIONS = ("out", "in", "both")


@dataclass(frozen=True, slots=True)
class Field:
    """A declared property. `many`: a list of `type`. `link`: the relation that its value makes."""

    name: str
    type: str = "string"
    many: bool = False
    description: str = ""
    enum: tuple[str | int | float | bool, ...] = ()
    required: bool = False
    operators: tuple[str, ...] = ("eq", "in")
    link: str | None = None
    to: str | None = None  # the kind that a link leads to, None: any
    skip_index: bool = False
    examples: tuple[str | int | float | bool, ...] = ()

    @property
    def spelled(self) -> str:
        """The type as kinds.yaml spells it."""
        return f"[{self.type}]" if self.many else self.type


@dataclass(frozen=True, slots=True)
class Kind:
    """A host-defined type of engram."""

    name: str
    description: str = ""
    parent: bool = True  # its engrams are files; False: a kind of parts only
    part: bool = False
    embed: bool = True
    lang: str = ""
    briefing: str = "none"
    fields: Mapping[str, Field] = field(default_factory=dict)
    declared: bool = True  # False: made by mkdir in open mode
    consolidated: bool = False  # made from others, which come with it in a recall

    @property
    def directory(self) -> str:
        """Lower case for a declared kind; as given for one that `mkdir` made."""
        return self.name.lower() if self.declared else self.name


@dataclass(frozen=True, slots=True)
class Recipe:
    """A named way to expand from an engram."""

    name: str
    relations: tuple[str, ...] = ()
    hops: int = 1
    direction: str = "both"
    containment: bool = False


WELL_KNOWN: Mapping[str, Field] = {
    known.name: known
    for known in (
        Field("tags", many=True),
        Field("aliases", many=True),
        Field("lang"),
        Field("favourite", "boolean", operators=("eq",)),
        Field("source_role", enum=SOURCE_ROLES),
        Field("derived_from", many=True, link="derived_from"),
        Field("superseded_by", link="superseded_by"),
    )
}


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All kinds, groups of them and recipes. Frozen: a change makes a new one."""

    kinds: Mapping[str, Kind] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    recipes: Mapping[str, Recipe] = field(default_factory=dict)
    whole: Catalogue | None = None  # that of which this has only the kinds that somebody sees
    _directories: dict[str, Kind] = field(init=False, repr=False, compare=False)
    _folded: dict[str, Kind] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        set_once = object.__setattr__
        set_once(self, "_directories", {nfc(k.directory): k for k in self.kinds.values()})
        set_once(self, "_folded", {fold(k.name): k for k in self.kinds.values()})

    @property
    def open(self) -> bool:
        """True as long as no kind is declared."""
        every = self.kinds if self.whole is None else self.whole.kinds
        return not any(kind.declared for kind in every.values())

    @property
    def grows(self) -> bool:
        """May a kind be named that nobody made yet?"""
        return self.open and self.whole is None

    def of_kinds(self, names: Collection[str] | None) -> Catalogue:
        """The catalogue as it is for whoever sees these kinds alone; None: all."""
        if names is None:
            return self
        within = (
            (name, [one for one in group if one in names]) for name, group in self.groups.items()
        )
        return Catalogue(
            {name: kind for name, kind in self.kinds.items() if name in names},
            {name: tuple(group) for name, group in within if group},
            self.recipes,
            whole=self if self.whole is None else self.whole,
        )

    def kind(self, name: str) -> Kind | None:
        """The kind of this name, ignoring case."""
        return self.kinds.get(name) or self._folded.get(fold(name))

    def by_directory(self, name: str) -> Kind | None:
        """The parent kind whose directory is called `name`, in any normal form."""
        kind = self._directories.get(nfc(name))
        return kind if kind is not None and kind.parent else None

    def directory(self, kind: Kind | str) -> str:
        """The name of a kind's directory."""
        if isinstance(kind, str):
            known = self.kind(kind)
            return known.directory if known else kind
        return kind.directory

    def parents(self) -> list[Kind]:
        """The kinds that are directories, in the catalogue's order."""
        return [kind for kind in self.kinds.values() if kind.parent]

    def field(self, kind: str, name: str) -> Field | None:
        """The declared or well-known property `name` of a kind."""
        known = self.kind(kind)
        return (known.fields.get(name) if known else None) or WELL_KNOWN.get(name)

    def expand(self, names: Iterable[str]) -> tuple[list[str], list[str]]:
        """Names of kinds and groups as (kinds in the catalogue's spelling, unknown names)."""
        found: dict[str, None] = {}
        unknown = []
        for name in names:
            known = self.kind(name)
            if known:
                found[known.name] = None
            elif name in self.groups:
                found.update(dict.fromkeys(self.groups[name]))
            else:
                unknown.append(name)
        return list(found), unknown


OPEN = Catalogue()


def kind_to_json(kind: Kind) -> str:
    """A kind as stored: its part of kinds.yaml as JSON, `{}` for one that `mkdir` made."""
    if not kind.declared:
        return "{}"
    spec: dict[str, object] = {"fields": {n: _field_spec(f) for n, f in kind.fields.items()}}
    for name in ("description", "parent", "part", "embed", "lang", "briefing", "consolidated"):
        spec[name] = getattr(kind, name)
    return json.dumps(spec, ensure_ascii=False)


def engram_path(engram: Entry | Engram, catalogue: Catalogue = OPEN) -> str:
    """The path of an engram's file below the mountpoint: `deal/acme.md`.

    The catalogue knows how the directory of a declared kind is spelt.
    """
    return f"{catalogue.directory(engram.kind)}/{engram.name}{SUFFIX}"


def catalogue_to_rows(catalogue: Catalogue) -> list[tuple[str, str]]:
    """(name, spec) of every kind, in order; the row named "" holds groups and recipes."""
    rows = [(kind.name, kind_to_json(kind)) for kind in catalogue.kinds.values()]
    recipes = {
        r.name: {
            "relations": list(r.relations),
            "hops": r.hops,
            "direction": r.direction,
            "containment": r.containment,
        }
        for r in catalogue.recipes.values()
    }
    rest = {"groups": {n: list(g) for n, g in catalogue.groups.items()}, "recipes": recipes}
    return [("", json.dumps(rest, ensure_ascii=False)), *rows]


def catalogue_from_rows(rows: Iterable[tuple[str, str]]) -> Catalogue:
    """The inverse of `catalogue_to_rows`."""
    kinds: dict[str, Kind] = {}
    rest: dict[str, Any] = {}
    for name, spec in rows:
        if name:
            kinds[name] = kind_from_spec(name, json.loads(spec))
        else:
            rest = json.loads(spec)
    return Catalogue(
        kinds,
        {name: tuple(group) for name, group in rest.get("groups", {}).items()},
        {name: recipe_from_spec(name, spec) for name, spec in rest.get("recipes", {}).items()},
    )


def kind_from_spec(name: str, spec: Mapping[str, Any]) -> Kind:
    """A kind from its checked part of kinds.yaml; an empty `spec` is a kind of open mode."""
    if not spec:
        return Kind(name, declared=False)
    part = spec.get("part", False)
    return Kind(
        name,
        spec.get("description", ""),
        spec.get("parent", not part),
        part,
        spec.get("embed", True),
        spec.get("lang", ""),
        spec.get("briefing", "none"),
        {n: _field_from_spec(n, f) for n, f in spec.get("fields", {}).items()},
        consolidated=spec.get("consolidated", False),
    )


def recipe_from_spec(name: str, spec: Mapping[str, Any]) -> Recipe:
    """A recipe from its checked part of kinds.yaml."""
    return Recipe(
        name,
        tuple(spec.get("relations", ())),
        spec.get("hops", 1),
        spec.get("direction", "both"),
        spec.get("containment", False),
    )


def _field_spec(declared: Field) -> dict[str, object]:
    spec: dict[str, object] = {"type": [declared.type] if declared.many else declared.type}
    for name in ("description", "required", "link", "to", "skip_index"):
        if getattr(declared, name):
            spec[name] = getattr(declared, name)
    for name in ("enum", "examples", "operators"):
        if getattr(declared, name):
            spec[name] = list(getattr(declared, name))
    return spec


def _field_from_spec(name: str, spec: Mapping[str, Any]) -> Field:
    many = isinstance(spec["type"], list)
    type_ = spec["type"][0] if many else spec["type"]
    default = ("eq",) if type_ == "boolean" else ("eq", "in")
    return Field(
        name,
        type_,
        many,
        spec.get("description", ""),
        tuple(spec.get("enum", ())),
        spec.get("required", False),
        tuple(spec.get("operators", default)),
        spec.get("link"),
        spec.get("to"),
        spec.get("skip_index", False),
        tuple(spec.get("examples", ())),
    )
