"""Extended attributes: `user.engram.*` tell about an engram; plain files have their own."""

from __future__ import annotations

from datetime import UTC, datetime

from engine.model import Entry
from engramfs.address import EngramFile, Misnamed, Plain
from engramfs.aliases import Alias, Aliases
from engramfs.errors import FsError
from engramfs.files import place_of
from engramfs.ground import Ground, not_there
from engramfs.inodes import Node
from engramfs.looking import missing

_PREFIX = "user.engram."
_IGNORED = (_PREFIX, "system.posix_acl_")


class Xattrs:
    """getxattr, setxattr, listxattr, removexattr."""

    def __init__(self, ground: Ground, aliases: Aliases) -> None:
        self._ground = ground
        self._aliases = aliases

    def get(self, node: Node, name: str) -> bytes:
        """ENODATA where there is none."""
        if isinstance(node, Plain):
            self._require_shown(node)
            return self._ground.overlay.getxattr(node.parts, name)
        value = self._values(node).get(name) if name.startswith(_PREFIX) else None
        if value is None:
            raise FsError("ENODATA", f"there is no attribute {name}")
        return value.encode("utf-8", "surrogateescape")

    def list(self, node: Node) -> list[str]:
        """The names that have a value."""
        if isinstance(node, Plain):
            self._require_shown(node)
            return self._ground.overlay.listxattr(node.parts)
        return list(self._values(node))

    def set(self, node: Node, name: str, value: bytes, flags: int) -> None:
        """Copies of engrams' attributes and of ACLs are ignored; others cannot be kept."""
        self._ground.require_writable()
        if isinstance(node, Plain):
            self._require_shown(node)
            self._ground.overlay.setxattr(node.parts, name, value, flags)
            return
        self._refuse(node, name)

    def remove(self, node: Node, name: str) -> None:
        """Like `set`."""
        self._ground.require_writable()
        if isinstance(node, Plain):
            self._require_shown(node)
            self._ground.overlay.removexattr(node.parts, name)
            return
        self._refuse(node, name)

    def _refuse(self, node: Node, name: str) -> None:
        if isinstance(node, Misnamed):
            missing(node)
        if not name.startswith(_IGNORED):
            raise FsError("EOPNOTSUPP", f"the attribute {name} cannot be kept here")

    def _require_shown(self, node: Plain) -> None:
        if self._ground.outside(node.parts):
            raise not_there()

    def _values(self, node: Node) -> dict[str, str]:
        """The attributes of an engram file; nothing else has any."""
        if isinstance(node, Misnamed):
            missing(node)
        if isinstance(node, Alias):
            return {} if node.entry is None else _of_entry(node.entry)
        if not isinstance(node, EngramFile):
            return {}
        if self._aliases.hides and self._aliases.hidden(node):
            raise not_there()
        place = place_of(node)
        entry = self._ground.entry(place)
        file = self._ground.files.get(place)
        if entry is None and (file is None or not file.pending):
            raise not_there()
        values = {} if entry is None else _of_entry(entry)
        error = self._error(node)
        if error:
            values[f"{_PREFIX}error"] = error
        return values

    def _error(self, address: EngramFile) -> str:
        """Why the newest write to the path was refused, "" when nothing stands against it."""
        for notice in self._ground.engine.notices(self._ground.scope):
            if (notice.kind, notice.slug) == place_of(address):
                return "\n".join(str(problem) for problem in notice.problems)
        return ""


def _of_entry(entry: Entry) -> dict[str, str]:
    if entry.empty:
        return {f"{_PREFIX}kind": entry.kind}
    return {
        f"{_PREFIX}id": entry.id,
        f"{_PREFIX}kind": entry.kind,
        f"{_PREFIX}created": _time(entry.created_ns),
        f"{_PREFIX}updated": _time(entry.updated_ns),
        f"{_PREFIX}parts": str(entry.parts),
    }


def _time(at_ns: int) -> str:
    """UTC, ISO 8601, to the microsecond."""
    second, rest = divmod(at_ns, 1_000_000_000)
    moment = datetime.fromtimestamp(second, UTC).replace(microsecond=rest // 1000)
    return moment.isoformat().replace("+00:00", "Z")
