"""The engrams of a kind by the values of one property, and by what a link field leads to.

One pass over the engrams that have the property; an engram's values come in its own order.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.entries import is_live
from engine.links import field_target
from engine.model import Entry, PropertyValue
from engine.namespace import Scope
from engine.state import State
from engine.walk import seen


def values_of(
    state: State, scope: Scope, kind: str, name: str
) -> Iterator[tuple[Entry, PropertyValue]]:
    """(engram, value); a list comes as its elements, null is no value."""
    for no in sorted(state.properties.having(name)):
        entry = state.entries.get(no)
        if entry is None or entry.kind != kind or not is_live(entry):
            continue
        if scope.sees(entry):
            value = state.properties.of(no).get(name)
            for each in value if isinstance(value, list) else [value]:
                if each is not None:
                    yield entry, each  # type: ignore[misc]  # elements of a list are plain too


def linked_by(state: State, scope: Scope, kind: str, name: str) -> Iterator[tuple[Entry, Entry]]:
    """(engram, engram that a value of its link field leads to), each pair once."""
    field = state.catalogue.field(kind, name)
    if field is None or field.link is None:
        return
    told: set[tuple[int, int]] = set()
    for entry, value in values_of(state, scope, kind, name):
        written = field_target(value) if isinstance(value, str) else None
        if written is None:
            continue
        for row in state.edges.out(entry.no):
            made = (row.origin, row.relation, row.written, row.heading)
            if made != ("field", field.link, *written):
                continue
            target = seen(state, scope, row.target)
            pair = (entry.no, -1 if target is None else target.no)
            if target is not None and target.no != entry.no and pair not in told:
                told.add(pair)
                yield entry, target
