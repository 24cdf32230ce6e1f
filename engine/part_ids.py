"""A part by its id: the engram that has it, and its place among that engram's parts.

The id is a digest, so nothing in it tells the engram. The rows are scanned for it: 15 to 45 ms at
100,000 parts, which a map in memory (200 bytes a part) would not be worth for a question so rare.
"""

from __future__ import annotations

from engine.entries import is_live
from engine.ids import UUID
from engine.model import Entry
from engine.namespace import Scope
from engine.objects import row_of
from engine.state import State
from engine.store import versions


def find_part(state: State, scope: Scope, id: str) -> tuple[Entry, int] | None:
    """The live engram in scope that has a part now, and the part's position (0 is the head).

    None where no part has the id: it never was, its text was changed or deleted, or it is out of
    scope. Raises StoreCorrupt when the parts of the engram cannot be read.
    """
    id = id.lower()
    if not UUID.fullmatch(id):
        return None
    with state.store.cursor() as cursor:
        holders = versions.holders_of_part(cursor, id)
    for no in holders:
        entry = state.entries.get(no)
        if entry is None or not is_live(entry) or not scope.sees(entry):
            continue
        for position, part in enumerate(row_of(state, entry).parts or ()):
            if part.id == id:
                return entry, position
    return None
