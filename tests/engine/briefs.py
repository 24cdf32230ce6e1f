"""A store for briefings, as tests fill it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from engine.briefing.briefing import briefing
from engine.briefing.pack import Briefing
from engine.briefing.request import parse_briefing
from engine.catalogue import Catalogue
from engine.config import Config
from engine.fusion import Floats
from engine.kinds_file import parse_kinds
from engine.model import Entry
from engine.namespace import Scope
from engine.recall.pairs import parse_pairs
from tests.engine.library import TREE, Library, path_of

KINDS = parse_kinds("""
kinds:
  rule: {briefing: constraint, fields: {severity: {type: string}}}
  way: {briefing: convention}
  finding: {briefing: finding}
  task: {briefing: task, fields: {status: {type: string}, done: {type: boolean}}}
  note: {}
groups: {orders: [rule, way]}
""")


class Store(Library):
    """A library that is told how much engrams are used, and remembers what was noted."""

    def __init__(self, catalogue: Catalogue = KINDS, config: Config | None = None) -> None:
        super().__init__(catalogue, config)
        self.used: dict[str, float] = {}
        self.events = 0
        self.noted: list[tuple[str, list[str], str]] = []
        self.count: Callable[[str], int] | None = None

    def counter(self, name: str) -> Callable[[str], int]:
        return self.count or super().counter(name)

    def utility(self, scope: Scope, engrams: int) -> Floats:
        found = np.zeros(engrams)
        for path, value in self.used.items():
            found[self._no(path)] = value
        return found

    def counted(self, scope: Scope) -> int:
        return self.events

    def note(self, scope: Scope, event: str, entries: Iterable[Entry], session: str) -> None:
        self.noted.append((event, [entry.slug for entry in entries], session))

    def brief(self, request: str = "", scope: Scope = TREE) -> Briefing:
        asked = parse_briefing(parse_pairs(request), self.catalogue, self.config)
        return briefing(self, scope, asked, path_of=path_of, session="1:2")

    def sections(self, request: str = "") -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for note in self.brief(request).notes:
            found.setdefault(note.section, []).append(note.entry.slug)
        return found

    def many(self, kind: str, most: int, extra: str = "") -> None:
        for n in range(most):
            text = f"---\nsummary: Summary of {kind} {n}.\n{extra}---\nBody of {kind} {n}.\n"
            self.put(f"{kind}/{kind}-{n}", text, days=n + 1)


def left(found: Briefing) -> str:
    """What is said of the constraints that have no room."""
    one = "constraint does" if found.constraints_left == 1 else "constraints do"
    return f"{found.constraints_left} more {one} not fit: a larger budget shows more."
