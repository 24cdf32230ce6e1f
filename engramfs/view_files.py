"""`.views`: engrams by the values of their properties, as directories of symlinks.

    .views/<kind>/<property>/<value>/<slug>.md

Properties are those declared as an enum, a boolean or a link, the well-known ones among them, and
`tags`. Nothing can be changed here: a property is what the file says.
"""

from __future__ import annotations

import stat
import time
from collections.abc import Mapping

from engine.catalogue import WELL_KNOWN, Catalogue, Field, Kind
from engine.model import Entry
from engine.slug import SUFFIX, nfc
from engramfs import attributes as shape
from engramfs.address import Walk
from engramfs.answers import Kept
from engramfs.changes import Changes
from engramfs.errors import FsError
from engramfs.ground import Ground, not_there
from engramfs.inodes import walked
from engramfs.link_names import stem_of
from engramfs.ports import Attributes, Listed
from engramfs.targets import Targets
from engramfs.value_names import value_name, value_text

DEPTH = 4  # of a link's directory below the root of the mount
_KEPT = 16
_KEPT_SECONDS = 60.0

Group = dict[str, Entry]  # by slug


class ViewFiles:
    """Looks and lists."""

    def __init__(self, ground: Ground, targets: Targets, changes: Changes) -> None:
        self._ground = ground
        self._targets = targets
        self._changes = changes
        self._kept: Kept[tuple[str, str], tuple[int, Catalogue, Mapping[str, Group]]] = Kept(
            _KEPT, _KEPT_SECONDS, time.monotonic
        )

    def look(self, address: Walk) -> Attributes:
        """ENOENT, ENOTDIR."""
        settings = self._ground.settings
        entry = self.engram_at(address)
        if entry is not None:
            kind, name, value, _ = address.steps
            size = len(self._targets.path(entry, DEPTH).encode())
            inode = walked(*self._key(kind, name, value), entry.id)
            return shape.of_symlink(inode, size, entry.updated_ns, settings.uid, settings.gid)
        self._require(address)
        return shape.of_directory(
            walked(*self._key(*address.steps)), 0o755 & ~settings.umask, self._changes.at_ns,
            settings.uid, settings.gid,
        )  # fmt: skip

    def readlink(self, address: Walk) -> str:
        """EINVAL for what is no link."""
        entry = self.engram_at(address)
        if entry is None:
            self._require(address)
            raise FsError("EINVAL", "it is no symlink")
        return self._targets.path(entry, DEPTH)

    def engram_at(self, address: Walk) -> Entry | None:
        """The engram that a link leads to; None for what is no link."""
        if len(address.steps) != 4 or not address.steps[3].endswith(SUFFIX):
            return None
        kind, name, value, link = address.steps
        group = self._values(kind, name).get(nfc(value), {})
        return group.get(nfc(link.removesuffix(SUFFIX)))

    def listing(self, address: Walk) -> list[Listed]:
        """Entries of a directory. ENOENT, ENOTDIR."""
        if self.engram_at(address) is not None:
            raise FsError("ENOTDIR", "it is a symlink")
        self._require(address)
        key = self._key(*address.steps)
        match address.steps:
            case (kind, name, value):
                group = self._values(kind, name)[nfc(value)]
                return [
                    Listed(f"{entry.name}{SUFFIX}", walked(*key, entry.id), stat.S_IFLNK)
                    for entry in group.values()
                ]
            case (kind, name):
                names = list(self._values(kind, name))
            case (kind,):
                names = self._properties(kind)
            case _:
                parents = self._ground.engine.catalogue.parents()
                names = [each.directory for each in parents if self._ground.shown(each.name)]
        return [
            Listed(name, walked(*self._key(*address.steps, name)), stat.S_IFDIR) for name in names
        ]

    # -- what is there -----------------------------------------------------
    def _require(self, address: Walk) -> None:
        """ENOENT unless there is such a directory."""
        match address.steps:
            case ():
                return
            case (kind,):
                self._kind(kind)
            case (kind, name):
                self._field(kind, name)
            case (kind, name, value):
                if nfc(value) not in self._values(kind, name):
                    raise not_there(value)
            case _:
                if self.engram_at(Walk(address.top, address.steps[:4])) is not None:
                    raise FsError("ENOTDIR", "it is a symlink")
                raise not_there(address.steps[-1])

    def _kind(self, directory: str) -> Kind:
        name = self._ground.kind_of(nfc(directory))
        kind = None if name is None else self._ground.engine.catalogue.kind(name)
        if kind is None:
            raise not_there(directory)
        return kind

    def _field(self, directory: str, name: str) -> Field:
        kind = self._kind(directory)
        field = kind.fields.get(name) or WELL_KNOWN.get(name)
        if field is None or not _sorts(field):
            raise not_there(name)
        return field

    def _properties(self, directory: str) -> list[str]:
        """Declared ones and `tags`; of the other well-known ones those that somebody has."""
        fields = self._kind(directory).fields.values()
        names = [*(field.name for field in fields if _sorts(field)), "tags"]
        known = (field.name for field in WELL_KNOWN.values() if _sorts(field))
        return [*names, *(name for name in known if name != "tags" and self._used(directory, name))]

    def _used(self, directory: str, name: str) -> bool:
        return any(self._values(directory, name).values())

    def _values(self, directory: str, name: str) -> Mapping[str, Group]:
        """The engrams of a kind by the name of the value's directory, made anew after a commit."""
        kind, field = self._kind(directory), self._field(directory, name)
        count, catalogue = self._changes.count, self._ground.engine.catalogue
        known = self._kept.get((kind.name, name))
        if known is not None and known[0] == count and known[1] is catalogue:
            return known[2]
        groups: dict[str, Group] = {value_name(text): {} for text in _declared(field)}
        if field.link is not None:
            self._by_target(kind, field, groups)
        else:
            engine, scope = self._ground.engine, self._ground.scope
            for entry, value in engine.values_of(scope, kind.name, name):
                text = value_text(value, field.type == "number")
                groups.setdefault(value_name(text), {})[entry.slug] = entry
        self._kept.put((kind.name, name), (count, catalogue, groups))
        return groups

    def _by_target(self, kind: Kind, field: Field, groups: dict[str, Group]) -> None:
        engine, scope = self._ground.engine, self._ground.scope
        catalogue = engine.catalogue
        own = catalogue.directory(field.to or kind)
        for entry, target in engine.linked_by(scope, kind.name, field.name):
            if self._targets.reached(target.kind):
                stem = stem_of(target.name, catalogue.directory(target.kind), own, target.id)
                groups.setdefault(nfc(stem), {})[entry.slug] = entry

    def _key(self, *steps: str) -> tuple[str, ...]:
        return (".views", *map(nfc, steps))


def _sorts(field: Field) -> bool:
    listed = field.enum or field.link is not None or field.type == "boolean"
    return bool(listed) or field.name == "tags"


def _declared(field: Field) -> list[str]:
    """Values that can be there, in the order in which they are declared."""
    if field.type == "boolean" and not field.enum:
        return ["true", "false"]
    return [value_text(value, field.type == "number") for value in field.enum]
