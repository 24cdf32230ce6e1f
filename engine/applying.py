"""The catalogue of an open store: kinds.yaml against live engrams, and kinds made by mkdir."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.catalogue import Catalogue, Kind, catalogue_to_rows
from engine.errors import Conflict, Invalid, Problem
from engine.kinds import Breaks, apply, changes, with_open_kind, without_kind
from engine.kinds_file import parse_kinds
from engine.model import PropertyValue
from engine.state import State
from engine.store import catalogue as stored
from engine.store import places

_NAMED = 6  # one more than a refusal names, so that it can say that there are more


def apply_kinds(state: State, text: str) -> tuple[str, ...]:
    """Apply kinds.yaml, all or nothing; returns what changed, a line each.

    Raises Invalid with every problem; engrams that stand in the way are named, five each.
    """
    wanted = parse_kinds(text)
    with state.store.lock:
        before = state.catalogue
        after = apply(before, wanted, lambda kind, breaks: _use(state, kind, breaks))
        told = changes(before, after)
        if told:
            _keep(state, after)
    return told


def changed_kinds(before: Catalogue, after: Catalogue) -> frozenset[str]:
    """Kinds of both catalogues whose engrams are read, indexed or linked otherwise now."""
    return frozenset(
        name
        for name, kind in after.kinds.items()
        if (old := before.kinds.get(name)) is not None and _derivation(old) != _derivation(kind)
    )


def _derivation(kind: Kind) -> tuple[object, ...]:
    fields = {
        name: (field.type, field.many, field.link, field.to, field.skip_index)
        for name, field in kind.fields.items()
    }
    return (kind.declared, kind.lang, kind.embed, fields)


def make_kind(state: State, name: str) -> None:
    """mkdir in open mode. Invalid where kinds are declared, or for a name that is taken or none."""
    with state.store.lock:
        _keep(state, with_open_kind(state.catalogue, name))


def ensure_known(state: State, name: str) -> str:
    """The catalogue's spelling of a kind; open mode learns one that it does not know yet."""
    kind = state.catalogue.kind(name)
    if kind is not None:
        return kind.name
    with state.store.lock:
        kind = state.catalogue.kind(name)
        if kind is None:
            if not state.catalogue.open:
                known = ", ".join(each.name for each in state.catalogue.parents())
                raise Invalid(
                    Problem(f"there is no kind {name}", key="kind", hint=f"the kinds are {known}")
                )
            _keep(state, with_open_kind(state.catalogue, name))
            return name
        return kind.name


def remove_kind(state: State, name: str) -> None:
    """rmdir in open mode: Conflict unless no engram of it lives, in any namespace."""
    with state.store.lock:
        after = without_kind(state.catalogue, name)
        kind = state.catalogue.kind(name)
        known = kind.name if kind is not None else name
        blanks = [blank for blank in state.entries.blanks() if blank.kind == known]
        if blanks or _use(state, known, lambda _: True):
            raise Conflict(f"the kind {known} is not empty", "remove its engrams first")
        _keep(state, after, gone=known)


def _keep(state: State, after: Catalogue, gone: str | None = None) -> None:
    shelves = [shelf for shelf in state.directories if shelf[1] == gone]
    with state.store.transaction() as cursor:
        stored.replace(cursor, catalogue_to_rows(after))
        for namespace, kind in shelves:
            places.drop_directory(cursor, namespace, kind)
    state.catalogue = after
    for shelf in shelves:
        state.directories.pop(shelf, None)
        state.moved_directories.discard(shelf)


def _use(state: State, kind: str, breaks: Breaks) -> Sequence[str]:
    """Names of live engrams of a kind whose properties a change would break."""
    found: list[str] = []
    for entry in state.entries.live():
        properties: Mapping[str, PropertyValue] = state.properties.of(entry.no)
        if entry.kind == kind and breaks(properties):
            found.append(f"{state.catalogue.directory(kind)}/{entry.name}")
            if len(found) == _NAMED:
                break
    return found
