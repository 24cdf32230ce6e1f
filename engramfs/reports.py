"""`.schema`, `.status`, `.errors` and `.help` of one mountpoint: made anew at each read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from engine.errors import Invalid, Problem
from engine.recall.pairs import Pairs
from engramfs import render
from engramfs.render_schema import schema_text, schema_values

if TYPE_CHECKING:
    from engine.catalogue import Catalogue, Kind
    from engine.engine import Engine
    from engine.namespace import Scope

_KEYS = {".schema": ("kind", "format"), ".status": ("format",), ".errors": ("format",)}
_FORMATS = ("md", "json")


class Reports:
    """Renders reports. `scope` is what the mountpoint shows."""

    def __init__(
        self,
        engine: Engine,
        scope: Scope,
        mountpoint: str,
        *,
        roots: bool,
    ) -> None:
        self._engine = engine
        self._scope = scope
        self._mountpoint = mountpoint
        self._roots = roots

    def report(self, name: str, pairs: Pairs) -> bytes:
        """The report `name` as `pairs` ask for it. Invalid with every problem."""
        wanted = _keys(name, pairs)
        as_values = wanted.get("format") == "json"
        match name:
            case ".schema":
                catalogue = self._engine.catalogue.of_kinds(self._scope.kinds)
                kinds = _kinds(catalogue, wanted.get("kind"))
                if as_values:
                    return render.as_json(schema_values(catalogue, kinds))
                return schema_text(catalogue, kinds, roots=self._roots)
            case ".status":
                values = self._status_values()
                return render.as_json(values) if as_values else render.status_text(values)
            case ".errors":
                notices = self._engine.notices(self._scope)
                return render.errors_json(notices) if as_values else render.errors_text(notices)
            case _:
                return render.help_text(self._mountpoint, roots=self._roots)

    def _status_values(self) -> dict[str, object]:
        status = self._engine.status(self._scope)
        return render.status_values(status, {"mountpoint": self._mountpoint, "pid": os.getpid()})


def _kinds(catalogue: Catalogue, name: str | None) -> list[Kind]:
    """The kinds that are asked for; Invalid for one that is none."""
    if name is None:
        return list(catalogue.kinds.values())
    kind = catalogue.kind(name) or catalogue.by_directory(name)
    if kind is None:
        known = ", ".join(sorted(catalogue.kinds)) or "none"
        message = f"`{name}` is no kind"
        raise Invalid(Problem(message, key="kind", hint=f"the kinds are: {known}"))
    return [kind]


def _keys(name: str, pairs: Pairs) -> dict[str, str]:
    """The keys of a report's request; Invalid with every problem."""
    keys = _KEYS.get(name, ())
    hint = f"keys are {', '.join(keys)}" if keys else "it takes none"
    problems = [
        Problem(f"`{key}` is no key of {name}", key=key, hint=hint)
        for key, _ in pairs
        if key not in keys
    ]
    wanted = {key: value.strip() for key, value in pairs}
    for key in wanted:
        times = sum(name == key for name, _ in pairs)
        if times > 1:
            problems.append(Problem(f"{key} is given {times} times", key=key, hint="give it once"))
    if "format" in wanted:
        wanted["format"] = wanted["format"].lower()
    if "format" in keys and wanted.get("format", "md") not in _FORMATS:
        message = f"format: `{wanted['format']}` is not known"
        problems.append(Problem(message, key="format", hint=f"one of {', '.join(_FORMATS)}"))
    if problems:
        raise Invalid(*problems)
    return wanted
