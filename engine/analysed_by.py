"""Which text analysis a store's terms were made by, so that a later one makes them anew.

Terms are compared letter by letter: what an earlier release left out of them, or spelled otherwise,
a question of this one does not find.
"""

from __future__ import annotations

from engine.state import State
from engine.store import meta
from engine.text import ANALYSIS

_KEY = "analysis"

OUTDATED = (
    "the words of this store were analysed by an earlier release, so some are not found in every "
    "spelling (engramfs reindex)"
)


def outdated(state: State) -> bool:
    """Were terms of the store made by another analysis? A store without engrams agrees at once."""
    with state.store.cursor() as cursor:
        stored = meta.number(cursor, _KEY, 1)
    if stored == ANALYSIS:
        return False
    if state.entries.all():
        return True
    agree(state)
    return False


def agree(state: State) -> None:
    """All terms were made anew."""
    with state.store.transaction() as cursor:
        meta.put(cursor, _KEY, ANALYSIS)
