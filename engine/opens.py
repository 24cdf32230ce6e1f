"""Opened files that wait until their process has shown that it reads, rather than goes through all.

Pure: times come with each call. `grep -r`, `git add`, a backup open everything there is; none of
that says that an engram was wanted. So an open counts only if in no stretch of `within_ns` that
holds it its process opened more than `most` engrams; which is known `within_ns` later.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.config import DAY_NS
from engine.store.events import Event

_Read = tuple[int, int, str, object]  # day, engram, session, namespace: it counts once


@dataclass(slots=True)
class _Process:
    recent: dict[int, int] = field(default_factory=dict)  # engram -> its last open; latest last
    waiting: dict[_Read, Event] = field(default_factory=dict)


class Opens:
    """What waits, by process. Not safe to share between threads."""

    def __init__(self, most: int, within_ns: int, held: int) -> None:
        """`held` bounds what waits: opens beyond it are not looked at."""
        self._most = most
        self._within_ns = within_ns
        self._held = held
        self._processes: dict[str, _Process] = {}
        self._waiting = 0

    def __len__(self) -> int:
        return self._waiting

    def add(self, event: Event, process: str) -> None:
        """A process opened an engram; if that makes too many, none of them counts."""
        if self._waiting >= self._held:
            return
        held = self._processes.get(process)
        if held is None:
            held = self._processes[process] = _Process()
        held.recent.pop(event.engram, None)
        held.recent[event.engram] = event.at_ns
        if len(held.recent) > self._most + 1:
            del held.recent[next(iter(held.recent))]
        before = len(held.waiting)
        read = (event.at_ns // DAY_NS, event.engram, event.session, event.namespace)
        held.waiting.setdefault(read, event)
        if len(held.recent) > self._most:
            first = next(iter(held.recent.values()))
            if self._within(first, event.at_ns):
                held.waiting = {
                    read: one
                    for read, one in held.waiting.items()
                    if not self._within(one.at_ns, event.at_ns)
                }
        self._waiting += len(held.waiting) - before

    def take(self, now_ns: int | None) -> list[Event]:
        """Those that count, each once; they wait no longer. None: nothing can be opened any more,
        so what was not too many so far will never be."""
        found: list[Event] = []
        for process, held in list(self._processes.items()):
            for read, event in list(held.waiting.items()):
                if now_ns is None or not self._within(event.at_ns, now_ns):
                    found.append(event)
                    del held.waiting[read]
            last = next(reversed(held.recent.values()))
            if now_ns is None or not self._within(last, now_ns):
                del self._processes[process]
        self._waiting -= len(found)
        return found

    def _within(self, at_ns: int, now_ns: int) -> bool:
        """Both lie in one stretch; a clock that was set back ends it."""
        return 0 <= now_ns - at_ns <= self._within_ns
