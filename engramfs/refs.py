"""How people name an engram in a request or a command -> its id.

An id; `kind/slug`, with `.md` or without; a path within a mount; a slug that one engram only has,
in a mountpoint of one kind the file's name. What names nothing is NotFound, whoever asks.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from engine.errors import Invalid, NotFound, Problem, shown
from engine.ids import UUID
from engine.slug import SUFFIX
from engramfs.points import Point

if TYPE_CHECKING:
    from engine.catalogue import Catalogue
    from engine.engine import Engine
    from engine.model import Entry
    from engine.namespace import Scope


def ref_of(
    engine: Engine,
    scope: Scope,
    text: str,
    mounts: Sequence[Point] = (),
    *,
    path: str = "",
) -> str:
    """The id of the engram, or part, that `text` names.

    `path` is the absolute path that it means where it was typed, if it means one.
    NotFound; Invalid for a slug that several have.
    """
    text = text.strip()
    missing = NotFound(
        f"there is no engram {shown(text)}",
        "name it by its id, by its path, or as kind/slug, which is kind%2Fslug in a file's name",
    )
    if UUID.fullmatch(text):
        return text
    for kind, name in places_of(engine.catalogue, text, mounts, path):
        entry = engine.lookup(scope, kind, name)
        if entry is not None and not entry.empty:
            return entry.id
    # `a.md` names a file, and another directory's is another file.
    called = _called(engine, scope, text) if _is_slug(text) else []
    if len(called) > 1:
        some = " or ".join(f"{entry.kind}/{entry.slug}" for entry in called)
        raise Invalid(Problem(f"{shown(text)} could be {some}", hint="name the kind"))
    if not called:
        raise missing
    return called[0].id


def places_of(
    catalogue: Catalogue, text: str, mounts: Sequence[Point] = (), path: str = ""
) -> Iterator[tuple[str, str]]:
    """(kind, file-name stem) of where `text` could stand, the likest first."""
    for kind, steps in _paths(text, mounts, path):
        if kind is None and len(steps) == 2:
            found = catalogue.by_directory(steps[0]) or catalogue.kind(steps[0])
            kind = found.name if found is not None and found.parent else None
        elif len(steps) != 1:
            kind = None
        if kind is not None and steps[-1] not in ("", ".", ".."):
            if steps[-1].endswith(SUFFIX):
                yield kind, steps[-1].removesuffix(SUFFIX)
            yield kind, steps[-1]


def place_for(
    catalogue: Catalogue, text: str, name: str, mounts: Sequence[Point] = (), path: str = ""
) -> tuple[str, str]:
    """(kind, file-name stem) that `text` names as the new place of an engram called `name`, which
    it keeps where a kind's directory is named. Invalid."""
    for place in places_of(catalogue, text, mounts, path):
        return place
    for kind, steps in _paths(text, mounts, path):
        found = None
        if kind is None and len(steps) == 1:
            found = catalogue.by_directory(steps[0]) or catalogue.kind(steps[0])
        elif steps == ["."]:
            found = catalogue.kind(kind or "")
        if found is not None and found.parent:
            return found.name, name
    said = f"{shown(text)} is no place for an engram"
    raise Invalid(Problem(said, hint="write kind/slug, such as note/b, or a kind's directory"))


def _paths(text: str, mounts: Sequence[Point], path: str) -> Iterator[tuple[str | None, list[str]]]:
    """(the kind of the mountpoint it is below, the steps from there)."""
    if not text.startswith("/"):
        steps = posixpath.normpath(text).split("/")
        yield None, steps
        kinds = {mount.kind for mount in mounts}
        if len(kinds) == 1:
            yield kinds.pop(), steps
    for absolute in dict.fromkeys((text, path)):
        for mount in mounts:
            below = f"{mount.path.rstrip('/')}/"
            if f"{absolute}/".startswith(below):
                rest = posixpath.normpath(f"{absolute}/".removeprefix(below) or ".")
                yield mount.kind, rest.split("/")


def _is_slug(text: str) -> bool:
    return "/" not in text and not text.endswith(SUFFIX)


def _called(engine: Engine, scope: Scope, slug: str) -> list[Entry]:
    """The engrams with a slug."""
    found = [engine.lookup(scope, kind.name, slug) for kind in engine.catalogue.parents()]
    return [entry for entry in found if entry is not None and not entry.empty]
