"""Changing the catalogue: additive by contract, so that no live engram becomes invalid by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from engine.catalogue import WELL_KNOWN, Catalogue, Field, Kind
from engine.errors import Invalid, Problem
from engine.kinds_file import kind_name_problem
from engine.model import PropertyValue
from engine.values import fits

NAMED = 5  # engrams named by a refusal

Breaks = Callable[[Mapping[str, PropertyValue]], bool]

# Names ("deal/acme") of live engrams of a kind whose properties satisfy the test, in any namespace;
# more than `NAMED` need not be found.
LiveUse = Callable[[str, Breaks], Sequence[str]]


def apply(old: Catalogue, new: Catalogue, live_use: LiveUse) -> Catalogue:
    """The catalogue after kinds.yaml said `new`, all or nothing.

    Raises Invalid, naming five engrams each, when live engrams use what would go: a kind, a field,
    a field's type, a value of an enum.
    """
    problems: list[Problem] = []

    def refuse_if_used(kind: str, what: str, key: str, breaks: Breaks) -> None:
        used = list(live_use(kind, breaks))
        if used:
            problems.append(
                Problem(
                    f"{what}, but live engrams use it: {', '.join(used[:NAMED])}"
                    + (" …" if len(used) > NAMED else ""),
                    key=key,
                    hint="change or remove those engrams first",
                )
            )

    for kind in old.kinds.values():
        after = new.kinds.get(kind.name)
        if after is None or (kind.parent and not after.parent):
            if after is not None:
                what = f"the kind {kind.name} would become one of parts"
            else:
                what = f"the kind {kind.name} would be removed"
            refuse_if_used(kind.name, what, kind.name, lambda _: True)
        elif kind.declared:
            for declared in kind.fields.values():
                _check_field(kind, declared, after, refuse_if_used)
        else:
            _check_first_declaration(after, refuse_if_used)
    if problems:
        raise Invalid(*problems)
    return new


def changes(old: Catalogue, new: Catalogue) -> tuple[str, ...]:
    """What differs between two catalogues, a line each; empty if nothing does."""
    lines = [f"removed the kind {name}" for name in old.kinds if name not in new.kinds]
    for name, kind in new.kinds.items():
        before = old.kinds.get(name)
        if before is None:
            lines.append(f"added the kind {name}")
        elif before != kind:
            lines += _field_changes(before, kind)
    for what in ("groups", "recipes"):
        if getattr(old, what) != getattr(new, what):
            lines.append(f"changed the {what}")
    return tuple(lines)


def with_open_kind(catalogue: Catalogue, name: str) -> Catalogue:
    """The catalogue with a kind made by mkdir, named as given. Invalid if that cannot be."""
    problem = kind_name_problem(name)
    if problem is None and not catalogue.open:
        problem = Problem(
            "kinds are declared in kinds.yaml here", key=name, hint="ask who administers the store"
        )
    known = catalogue.kind(name)
    if problem is None and known is not None:
        problem = Problem(
            f"the kind {known.name} exists",
            key=name,
            hint="names of kinds differ by more than case",
        )
    if problem:
        raise Invalid(problem)
    return Catalogue(
        {**catalogue.kinds, name: Kind(name, declared=False)}, catalogue.groups, catalogue.recipes
    )


def without_kind(catalogue: Catalogue, name: str) -> Catalogue:
    """The catalogue without a kind that mkdir made. Invalid for a declared one."""
    kind = catalogue.kind(name)
    if kind is None or kind.declared:
        raise Invalid(Problem(f"{name} is not a kind made by mkdir", key=name))
    kinds = {key: value for key, value in catalogue.kinds.items() if key != kind.name}
    return Catalogue(kinds, catalogue.groups, catalogue.recipes)


Refuse = Callable[[str, str, str, Breaks], None]


def _check_field(kind: Kind, old: Field, after: Kind, refuse_if_used: Refuse) -> None:
    name = old.name
    key = f"{kind.name}.{name}"
    new = after.fields.get(name)
    if new is None:
        what = f"the field {key} would be removed"
        refuse_if_used(kind.name, what, key, lambda values: values.get(name) is not None)
    elif (new.type, new.many) != (old.type, old.many):
        what = f"the type of {key} would change from {old.spelled} to {new.spelled}"
        refuse_if_used(kind.name, what, key, lambda values: values.get(name) is not None)
    elif new.enum and set(old.enum or (None,)) - set(new.enum):
        what = f"the enum of {key} would be narrowed"
        refuse_if_used(kind.name, what, key, lambda values: not fits(values.get(name), new))


def _check_first_declaration(after: Kind, refuse_if_used: Refuse) -> None:
    """A kind of open mode is declared: what its engrams hold must stay valid."""
    allowed = {**WELL_KNOWN, **after.fields}

    def breaks(values: Mapping[str, PropertyValue]) -> bool:
        return any(
            value is not None and (name not in allowed or not fits(value, allowed[name]))
            for name, value in values.items()
        )

    what = f"the kind {after.name} would be declared without properties that stand in it"
    refuse_if_used(after.name, what, after.name, breaks)


def _field_changes(before: Kind, after: Kind) -> list[str]:
    lines = []
    for name in {**before.fields, **after.fields}:
        old, new = before.fields.get(name), after.fields.get(name)
        if old != new:
            verb = "added" if old is None else "removed" if new is None else "changed"
            lines.append(f"{verb} the field {after.name}.{name}")
    return lines or [f"changed the kind {after.name}"]
