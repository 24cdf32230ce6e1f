"""Where symlinks to engrams lead, and which engram a symlink's text means."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from engine.model import Entry
from engine.slug import SUFFIX
from engramfs.address import EngramFile, KindDirectory, Walk
from engramfs.alive import working_directory
from engramfs.ground import Ground
from engramfs.ports import Caller

Through = Callable[[Walk], Entry | None]  # the engram that a generated link leads to


class Targets:
    """Texts of symlinks below `.graph` and `.views`."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        mine = ground.settings.root_kind
        where = ground.settings.mountpoints
        self._mountpoint = next((path for kind, path in where if kind == mine), where[0][1])

    def reached(self, kind: str) -> bool:
        """Has an engram of this kind a path: in this mount, or in another root of the process?"""
        return self._ground.shown(kind) or self._root_of(kind) is not None

    def path(self, entry: Entry, depth: int) -> str:
        """The text of a symlink to an engram; the link's directory lies `depth` below the root.

        Relative, so that it is right wherever the mount is looked at from; to another root
        absolute.
        """
        name = f"{entry.name}{SUFFIX}"
        up = "../" * depth
        if self._ground.layout.root is None:
            return f"{up}{self._ground.engine.catalogue.directory(entry.kind)}/{name}"
        if self._ground.shown(entry.kind):
            return f"{up}{name}"
        return f"{self._root_of(entry.kind)}/{name}"

    def find(
        self,
        text: str,
        at: Walk,
        own: str,
        caller: Caller,
        through: Through,
    ) -> Entry | None:
        """The engram that `ln -s TEXT` in the directory `at` means; None for no engram.

        A program passes on what was typed. An absolute path counts as it stands; others from the
        link's directory, as the kernel follows it; from where the caller stands; from the root of
        the mount; and a mere name among the engrams of the kind whose directory is `own`. `.md` may
        be left out. `through` follows a path that leads over another generated link.
        """
        for path in self._paths(text, at, own, caller):
            for kind, mountpoint in self._ground.settings.mountpoints:
                inside = path.removeprefix(mountpoint.rstrip("/") + "/")
                if inside == path:
                    continue
                entry = self._at(kind, inside, through if "/" in text else None)
                if entry is not None:
                    return entry
        return None

    def _paths(self, text: str, at: Walk, own: str, caller: Caller) -> Iterator[str]:
        if text.startswith("/"):
            yield os.path.normpath(text)
            return
        top = self._mountpoint
        for start in ("/".join((top, at.top, *at.steps)), working_directory(caller.pid)):
            if start is not None:
                yield os.path.normpath(f"{start.rstrip('/')}/{text}")
        inside = os.path.normpath(f"/{text}")  # as at any root, `..` leads nowhere from there
        yield f"{top}{inside}"
        if "/" not in text and self._ground.layout.root is None:
            yield f"{top}/{own}{inside}"

    def _at(self, kind: str | None, inside: str, through: Through | None) -> Entry | None:
        """What a path below a mountpoint leads to; `kind` is the root's, None in prefix mode."""
        layout, names = self._ground.layout, (inside, f"{inside}{SUFFIX}")
        if kind == self._ground.settings.root_kind or kind is None:
            found = [layout.parse(name) for name in names]
        else:
            root = KindDirectory(kind, self._ground.engine.catalogue.directory(kind))
            found = [layout.child(root, name) for name in names]
        for address in found:
            if isinstance(address, Walk) and through is not None:
                return through(address)
            if isinstance(address, EngramFile):
                entry = self._ground.entry((address.kind, address.slug))
                if entry is not None and not entry.empty:
                    return entry
        return None

    def _root_of(self, kind: str) -> str | None:
        return next(
            (path for known, path in self._ground.settings.mountpoints if known == kind), None
        )
