"""find_exact beside writers and folds: what was there when it was asked is in every answer."""

from __future__ import annotations

import threading
from pathlib import Path

from engine.model import Draft
from engine.namespace import Scope
from tests.engine.desk import HERE, Desk

MANY = 150


def test_readers_beside_a_writer_miss_nothing_and_see_nothing_too_early(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    engine = desk.engine
    there = Scope((("team", "x"),))
    begun = done = 0
    wrong: list[str] = []
    answered: list[int] = []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            least = done
            found = engine.find_exact(HERE, "rafana", limit=1)
            most = begun
            # The words differ from engram to engram, and only so many spellings are looked for.
            if not min(least, 24) <= found.total <= most:
                wrong.append(f"{found.total} of {least} to {most}")
            if least:
                last = engine.find_exact(HERE, f"grafna-{least - 1:04}", limit=1).hits
                if [hit.entry.slug for hit in last] != [f"n{least - 1}"]:
                    wrong.append(f"{least - 1}: {last}")
                answered.append(least)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    n = 0
    while n < MANY or (len(answered) < 4 and any(reader.is_alive() for reader in readers)):
        engine.put(there, Draft("note", f"x{n}", f"grafana{n:04}x grafna{n}\n".encode()))
        begun = n + 1
        engine.put(HERE, Draft("note", f"n{n}", f"the grafana{n:04} and {n:04}\n".encode()))
        done = n + 1
        if n % 40 == 39:
            engine._upkeep.fulltext.fold(engine._state.index)
        n += 1
    stop.set()
    for reader in readers:
        reader.join()
    assert wrong == [] and len(answered) >= 4
    engine.close()
