"""How people name an engram in a request or a command -> its id.

An id; `kind/slug`, with `.md` or without; a path within a mount; in a mountpoint of one kind the
file's name. What names nothing is NotFound, whoever asks.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from engine.errors import NotFound, shown
from engine.ids import UUID
from engine.slug import SUFFIX
from engramfs.points import Point

if TYPE_CHECKING:
    from engine.catalogue import Catalogue
    from engine.engine import Engine
    from engine.namespace import Scope


def ref_of(
    engine: Engine,
    scope: Scope,
    text: str,
    mounts: Sequence[Point] = (),
    *,
    path: str = "",
    kinds: frozenset[str] | None = None,
) -> str:
    """The id of the engram, or part, that `text` names.

    `path` is the absolute path that it means where it was typed, if it means one. `kinds` are
    those that are shown; None: all. NotFound.
    """
    text = text.strip()
    missing = NotFound(
        f"there is no engram {shown(text)}", "name it by its id, as kind/slug, or by its path"
    )
    if UUID.fullmatch(text):
        if kinds is not None and _kind_of(engine, scope, text) not in kinds:
            raise missing
        return text
    for kind, name in places_of(engine.catalogue, text, mounts, path):
        entry = engine.lookup(scope, kind, name)
        if entry is not None and not entry.empty and (kinds is None or entry.kind in kinds):
            return entry.id
    raise missing


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


def _paths(text: str, mounts: Sequence[Point], path: str) -> Iterator[tuple[str | None, list[str]]]:
    """(the kind of the mountpoint it is below, the steps from there)."""
    if not text.startswith("/"):
        steps = posixpath.normpath(text).split("/")
        yield None, steps
        if len(mounts) == 1:
            yield mounts[0].kind, steps
    for absolute in dict.fromkeys((text, path)):
        for mount in mounts:
            below = f"{mount.path.rstrip('/')}/"
            if absolute.startswith(below):
                yield mount.kind, posixpath.normpath(absolute.removeprefix(below)).split("/")


def _kind_of(engine: Engine, scope: Scope, id: str) -> str | None:
    """The kind of the engram with an id, or with a part of that id."""
    entry = engine.by_id(scope, id)
    if entry is not None:
        return entry.kind
    try:
        return engine.part(scope, id)[0].kind
    except NotFound:
        return None
