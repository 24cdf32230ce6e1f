"""`.schema`, `.status`, `.errors` and `.help` of one mountpoint: made anew at each read."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.errors import Invalid, Problem
from engine.recall.pairs import Pairs
from engramfs import render
from engramfs.render_schema import schema_text, schema_values

if TYPE_CHECKING:
    from engine.catalogue import Kind
    from engine.engine import Engine
    from engine.model import Notice
    from engine.namespace import Scope

_KEYS = {".schema": ("kind", "format"), ".status": ("format",), ".errors": ("format",)}
_FORMATS = ("md", "json")


class Reports:
    """Renders reports. `kinds()` are the kinds that the mountpoint shows; None: all."""

    def __init__(
        self,
        engine: Engine,
        scope: Scope,
        kinds: Callable[[], frozenset[str] | None],
        mountpoint: str,
        *,
        roots: bool,
    ) -> None:
        self._engine = engine
        self._scope = scope
        self._kinds = kinds
        self._mountpoint = mountpoint
        self._roots = roots

    def report(self, name: str, pairs: Pairs) -> bytes:
        """The report `name` as `pairs` ask for it. Invalid with every problem."""
        wanted = _keys(name, pairs)
        as_values = wanted.get("format") == "json"
        match name:
            case ".schema":
                catalogue, kinds = self._engine.catalogue, self._schema_kinds(wanted.get("kind"))
                if as_values:
                    return render.as_json(schema_values(catalogue, kinds))
                return schema_text(catalogue, kinds, roots=self._roots)
            case ".status":
                values = self._status_values()
                return render.as_json(values) if as_values else render.status_text(values)
            case ".errors":
                notices = self._notices()
                return render.errors_json(notices) if as_values else render.errors_text(notices)
            case _:
                return render.help_text(self._mountpoint, roots=self._roots)

    def _schema_kinds(self, name: str | None) -> list[Kind]:
        catalogue, shown = self._engine.catalogue, self._kinds()
        visible = {k.name: k for k in catalogue.kinds.values() if shown is None or k.name in shown}
        if name is None:
            return list(visible.values())
        kind = catalogue.kind(name) or catalogue.by_directory(name)
        if kind is None or kind.name not in visible:
            known = ", ".join(sorted(visible)) or "none"
            raise Invalid(
                Problem(f"`{name}` is no kind", key="kind", hint=f"the kinds are: {known}")
            )
        return [kind]

    def _status_values(self) -> dict[str, object]:
        status = self._engine.status(self._scope)
        values = render.status_values(status, {"mountpoint": self._mountpoint, "pid": os.getpid()})
        shown = self._kinds()
        if shown is not None:
            counts = {kind: count for kind, count in status.kinds.items() if kind in shown}
            values["kinds"], values["engrams"] = counts, sum(counts.values())
            values["refusals"] = len(self._notices())
        return values

    def _notices(self) -> list[Notice]:
        shown = self._kinds()
        return [
            notice
            for notice in self._engine.notices(self._scope)
            if shown is None or not notice.kind or notice.kind in shown
        ]


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
