"""An engine with a clock and ids of its own, for tests: short calls over one namespace."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from engine.config import SECOND_NS, Config
from engine.engine import Engine
from engine.model import Change, Commit, Draft, Edge, Entry
from engine.namespace import Scope

HERE = Scope((), exact=True)
START = 1_800_000_000 * SECOND_NS
ID_LINE = re.compile(rb"^id: ([0-9a-f-]{36})\r?$", re.MULTILINE)


class Clock:
    """Nanoseconds; each look is a millisecond later, so that times tell commits apart."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> int:
        self.now += 1_000_000
        return self.now

    def pass_seconds(self, seconds: float) -> None:
        self.now += int(seconds * SECOND_NS)


class Desk:
    """One engine, its clock, and what its subscribers heard."""

    def __init__(self, where: Path | str = ":memory:", **options: Any) -> None:
        self.where = where
        self.clock = options.pop("clock", None) or Clock()
        self.options = {"embed": "off", "config": Config(digests=False), **options}
        self.heard: list[Change] = []
        self.engine = self._open()

    def _open(self) -> Engine:
        engine = Engine.open(self.where, clock=self.clock, **self.options)
        engine.subscribe(self.heard.append)
        return engine

    def reopen(self, **options: Any) -> None:
        self.engine.close()
        self.options.update(options)
        self.options.pop("kinds", None)
        self.engine = self._open()

    def put(self, slug: str, source: bytes | str, *, kind: str = "note", **more: Any) -> Commit:
        data = source.encode() if isinstance(source, str) else source
        return self.engine.put(HERE, Draft(kind, slug, data, **more))

    def at(self, slug: str, kind: str = "note") -> Entry | None:
        return self.engine.lookup(HERE, kind, slug)

    def entry(self, slug: str, kind: str = "note") -> Entry:
        found = self.at(slug, kind)
        assert found is not None, f"there is no {kind}/{slug}"
        return found

    def shown(self, slug: str, kind: str = "note") -> bytes:
        return self.engine.source(self.entry(slug, kind), True)

    def written(self, slug: str, kind: str = "note") -> bytes:
        return self.engine.source(self.entry(slug, kind), False)

    def rm(self, slug: str, *, by: str = "", why: str = "unlink", kind: str = "note") -> Entry:
        return self.engine.delete(HERE, self.entry(slug, kind).id, why=why, by=by)

    def mv(self, old: str, new: str, *, to: str = "note", kind: str = "note") -> Commit:
        return self.engine.rename(HERE, self.entry(old, kind).id, to, new)

    def slugs(self, kind: str = "note") -> list[str]:
        return sorted(entry.slug for entry in self.engine.entries(HERE, kind))

    def edges(self, slug: str, kind: str = "note") -> list[Edge]:
        """Edges out of an engram."""
        own = self.entry(slug, kind).id
        return [edge for edge in self.engine.edges(HERE, own) if edge.source == own]

    def targets(self, slug: str) -> list[str]:
        """The slugs that an engram's edges lead to; "" where one dangles."""
        found = []
        for edge in self.edges(slug):
            entry = self.engine.by_id(HERE, edge.target) if edge.target else None
            found.append(entry.slug if entry is not None else "")
        return found

    def sound(self) -> None:
        assert self.engine.check() == ()


def with_id(id: str, body: str = "text\n", extra: Iterable[str] = ()) -> str:
    return "\n".join(["---", f"id: {id}", *extra, "---", body])


def id_shown(source: bytes) -> str:
    found = ID_LINE.search(source)
    assert found is not None, source
    return found.group(1).decode()
