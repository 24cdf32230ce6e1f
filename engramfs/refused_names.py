"""Names that were refused, told in `.errors`: a program shows only the text of an errno."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

from engine.errors import Problem, StoreFull
from engramfs.address import KindDirectory, Plain, Special, Walk
from engramfs.errors import FsError
from engramfs.ground import Ground

log = logging.getLogger("engramfs.names")

P = ParamSpec("P")
R = TypeVar("R")

# What a name is refused with, besides what POSIX tells plainly (EEXIST, ENOENT, EXDEV, …).
_CODES = frozenset(("EPERM", "EINVAL", "EACCES"))


class RefusedNames:
    """Records each refused name once, until the notice is too old."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    def tell(self, parent: int, name: str, error: FsError) -> None:
        """A line of `.errors` for a name that nothing can have."""
        if error.code not in _CODES or self._ground.settings.read_only:
            return
        kind, path = self._place(parent, name)
        self.record(kind, path, "name", (Problem(_text(error.message), hint=error.hint),))

    def record(self, kind: str, path: str, event: str, problems: Sequence[Problem]) -> None:
        """Tell in `.errors` what was refused at a path that is no engram's."""
        place = f"/{path}"  # no engram's slug begins so
        engine, scope = self._ground.engine, self._ground.scope
        try:
            engine.clear_notices(scope, kind, place)
            engine.refuse(
                scope,
                kind=kind,
                slug=place,
                path=path,
                event=event,
                problems=problems,
                source=None,
            )
        except StoreFull as full:  # it is refused all the same
            log.warning("not told in .errors: %s", full)

    def settle(self, kind: str, path: str) -> None:
        """What was refused at the path is done."""
        self._ground.engine.clear_notices(self._ground.scope, kind, f"/{path}")

    def _place(self, parent: int, name: str) -> tuple[str, str]:
        """(the kind or "", the path as the mount shows it)."""
        name = _text(name)
        root = self._ground.layout.root
        match self._ground.inodes.node(parent):
            case KindDirectory(kind, directory, top):
                return kind, name if top else f"{directory}/{name}"
            case Plain(parts):
                kind = root.kind if root else self._ground.kind_of(parts[0]) or ""
                return kind, "/".join((*map(_text, parts[1 if root else 0 :]), name))
            case Special(rest=rest):
                return "", "/".join((".rejected", *rest, name))
            case Walk(top, steps):
                return "", "/".join((top, *map(_text, steps), name))
            case _:
                return "", name


def _text(name: str) -> str:
    """A name as the store can hold it: bytes that are not UTF-8 as escapes."""
    return name.encode("utf-8", "backslashreplace").decode()


Operation = Callable[Concatenate[Any, P], R]  # a method of a tree with `names: RefusedNames`


def tells(at: int) -> Callable[[Operation[P, R]], Operation[P, R]]:
    """For what makes a name: its parent directory and it are the arguments `at` and `at` + 1.

    Not for hard links: programs try one before they rename (perl -i.orig), and that is no refusal.
    """

    def decorate(call: Operation[P, R]) -> Operation[P, R]:
        @functools.wraps(call)
        def operation(tree: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return call(tree, *args, **kwargs)
            except FsError as error:
                parent, name = args[at], args[at + 1]
                if isinstance(parent, int) and isinstance(name, str):
                    tree.names.tell(parent, name, error)
                raise

        return operation

    return decorate
