"""Edges made by hand: `link` and `unlink`. Those of a text are made and taken by the text alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from unicodedata import category

from engine.errors import Invalid, NotFound, Problem, shown
from engine.model import NO_META, Change, Edge, EdgeMeta, Entry
from engine.namespace import Scope
from engine.objects import edge
from engine.part_ids import find_part
from engine.state import State
from engine.store import edges as stored_edges
from engine.store.edges import EdgeRow
from engine.walk import arcs, numbers

BY_HAND = "link"  # the origin of such an edge
CONTAINMENT = frozenset({"contains", "part_of"})  # what a part is to its engram is no edge

_RELATION_BYTES = 200  # a relation is a directory's name in the mount
_META_BYTES = 4_096  # of one value: a note, not a document


def link(
    state: State, scope: Scope, a: str, relation: str, b: str, meta: EdgeMeta = NO_META
) -> Edge:
    """Make an edge from `a` to `b` (each an id or kind/slug), or give it other metadata.

    Linking again replaces the metadata and keeps `created`. Raises NotFound; Invalid with every
    problem: a relation that is none, an engram to itself, a part, a confidence outside (0, 1].
    """
    problems = [*_of_relation(relation), *_of_meta(meta)]
    ends = _ends(state, scope, a, b, problems)
    if problems or ends is None:
        raise Invalid(*problems)
    with state.store.lock:
        source, target = (state.find(scope, entry.id) for entry in ends)
        own = state.edges.out(source.no)
        before = _made(state, own, relation, target)
        now_ns = state.clock()
        row = EdgeRow(
            source.no, relation, target.no, target.id, "", BY_HAND, meta.note, meta.status,
            meta.role, meta.confidence, meta.evidence_id,
            created_ns=min((each.created_ns for each in before), default=now_ns), updated_ns=now_ns,
        )  # fmt: skip
        with state.store.transaction(one_statement=not before) as cursor:
            for each in before:
                stored_edges.unlink(cursor, each)
            stored_edges.add(cursor, [row])
        # As it is stored: behind those that are there.
        state.edges.set(source.no, (*(each for each in own if each not in before), row))
    state.tell([_change("link", now_ns, source)])
    return edge(row, source, target)


def unlink(state: State, scope: Scope, a: str, relation: str, b: str) -> bool:
    """Remove the edge that `link` made; False when there is none.

    Raises NotFound for an end that is not there, Invalid for an edge that the text of `a` makes.
    """
    problems: list[Problem] = []
    ends = _ends(state, scope, a, b, problems)
    if ends is None:
        raise Invalid(*problems)
    with state.store.lock:
        source, target = (state.find(scope, entry.id) for entry in ends)
        own = state.edges.out(source.no)
        made = _made(state, own, relation, target)
        if not made:
            _refuse_written(state, scope, source, relation, target)
            return False
        with state.store.transaction(one_statement=len(made) == 1) as cursor:
            for row in made:
                stored_edges.unlink(cursor, row)
        state.edges.set(source.no, tuple(row for row in own if row not in made))
        now_ns = state.clock()
    state.tell([_change("unlink", now_ns, source)])
    return True


def _made(
    state: State, own: Sequence[EdgeRow], relation: str, target: Entry
) -> tuple[EdgeRow, ...]:
    """Those of some edges that `link` made to an engram, or to one that it is to succeed."""
    ends = numbers(state, target.no)
    return tuple(
        row
        for row in own
        if (row.origin, row.relation) == (BY_HAND, relation) and row.target in ends
    )


def _change(event: str, now_ns: int, entry: Entry) -> Change:
    return Change(now_ns, event, entry.id, entry.namespace, entry.kind, entry.slug, entry.name)


def _ends(
    state: State, scope: Scope, a: str, b: str, problems: list[Problem]
) -> tuple[Entry, Entry] | None:
    """Both ends; adds what is wrong with them. Raises NotFound."""
    found = [_end(state, scope, ref, problems) for ref in (a, b)]
    source, target = found
    if source is None or target is None:
        return None
    if source.no == target.no:
        problems.append(
            Problem(
                f"{_path(source)} cannot be linked to itself", key="to",
                hint="an edge leads from one engram to another",
            )
        )  # fmt: skip
        return None
    return source, target


def _end(state: State, scope: Scope, ref: str, problems: list[Problem]) -> Entry | None:
    try:
        return state.find(scope, ref)
    except NotFound:
        part = find_part(state, scope, ref)
        if part is None:
            raise NotFound(
                f"there is no engram {shown(ref)}", "name it by its id or as kind/slug"
            ) from None
        problems.append(
            Problem(
                f"{shown(ref)} is a part, and parts have no edges",
                hint=f"link the engram it belongs to: {_path(part[0])}",
            )
        )
        return None


def _of_relation(relation: str) -> list[Problem]:
    hint = "a relation is a word such as about, or owned_by"
    said = ""
    if not relation.strip() or relation != relation.strip():
        said = "is empty or has blanks around it"
    elif relation in (".", "..") or "/" in relation:
        said = "cannot be a directory's name"
    elif any(category(character) in ("Cc", "Cs") for character in relation):
        said = "has a control character or half a character"
    elif len(relation.encode()) > _RELATION_BYTES:
        said = f"is longer than {_RELATION_BYTES} bytes"
    elif relation in CONTAINMENT:
        said = "is said of parts only"
        hint = f"try another word: belongs_to instead of {relation}"
    if not said:
        return []
    return [Problem(f"the relation `{shown(relation)}` {said}", key="relation", hint=hint)]


def _of_meta(meta: EdgeMeta) -> list[Problem]:
    problems = []
    confidence = meta.confidence
    if confidence is not None and not (math.isfinite(confidence) and 0 < confidence <= 1):
        problems.append(
            Problem(
                f"the confidence {confidence:g} is not in (0, 1]", key="confidence",
                hint="write a number above 0 and up to 1, or leave it out",
            )
        )  # fmt: skip
    texts: Sequence[str] = ("note", "status", "role", "evidence_id")
    for key in texts:
        value = getattr(meta, key)
        if any(character == "\0" or category(character) == "Cs" for character in value):
            said = f"{key} holds a NUL or half a character"
            problems.append(Problem(said, key=key, hint="write it in plain UTF-8"))
        elif len(value.encode()) > _META_BYTES:
            said = f"{key} is longer than {_META_BYTES} bytes"
            problems.append(Problem(said, key=key, hint="an engram of its own can say more"))
    return problems


def _refuse_written(
    state: State, scope: Scope, source: Entry, relation: str, target: Entry
) -> None:
    for arc in arcs(state, scope, source.no, "out", (relation,), limit=None):
        if arc.other.no == target.no:
            said = f"the edge {relation} to {_path(target)} is made by the text of {_path(source)}"
            hint = f"take `{shown(arc.row.written)}` out of the file"
            raise Invalid(Problem(said, key="relation", hint=hint))


def _path(entry: Entry) -> str:
    return f"{entry.kind}/{entry.slug}"
