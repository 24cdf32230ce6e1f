"""Result sets: what a search found, kept for some minutes so that it can be read on in pages.

A set holds numbers and scores, never text: a hit is read from the store when its page is, so that
what was deleted meanwhile is gone and the order of the others stays. A hit takes 80 bytes, twice
that with its relation; all sets of a store together 40 MB at most.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from engine.config import SECOND_NS, Config
from engine.errors import Conflict, NotFound, shown
from engine.evidence import Evidence
from engine.fusion import Floats, Longs
from engine.ids import maker
from engine.model import Degraded, Relation
from engine.namespace import Scope


@dataclass(frozen=True, slots=True)
class ResultSet:
    """The hits of one search, best first; one element of each array a hit. Never changed.

    `numbers` are engrams, `seqs` the commits that made the states in which they were found: the
    positions in `evidence` are of that state. `ranks` are those in each channel, from 1; 0: not in
    it. `total` counts the hits that were cut off too.
    """

    scope: Scope
    total: int
    numbers: Longs
    seqs: Longs
    scores: Floats
    ranks: Mapping[str, Longs]
    evidence: Evidence
    relations: tuple[Relation | None, ...] = ()  # one a hit where an expansion reached them
    words: tuple[str, ...] = ()  # folded, of the question: snippets stand around them
    degraded: tuple[Degraded, ...] = ()
    warnings: tuple[str, ...] = ()
    id: str = ""  # "" until it is kept
    made_ns: int = field(default=0, compare=False)

    def __len__(self) -> int:
        return len(self.numbers)

    def taken(self, rows: Longs) -> ResultSet:
        """The hits in these rows, in this order."""
        return replace(
            self,
            numbers=self.numbers[rows],
            seqs=self.seqs[rows],
            scores=self.scores[rows],
            ranks={name: ranks[rows] for name, ranks in self.ranks.items()},
            evidence=Evidence(self.evidence.positions[rows], self.evidence.scores[rows]),
            relations=tuple(self.relations[row] for row in rows.tolist() if self.relations),
        )


class ResultSets:
    """The sets of one open store, in memory only; the oldest goes where one is too many."""

    def __init__(self, config: Config, clock: Callable[[], int]) -> None:
        self._most = config.result_sets
        self._hits = config.result_set_hits
        self._life_ns = int(config.result_set_seconds * SECOND_NS)
        self._clock = clock
        self._new_id = maker(clock)
        self._lock = threading.Lock()
        self._sets: dict[str, ResultSet] = {}  # oldest first

    def keep(self, found: ResultSet) -> str:
        """Keep the first hits of a set under a new id, which is returned."""
        kept = found.taken(np.arange(min(len(found), self._hits)))
        kept = replace(kept, id=self._new_id(), made_ns=self._clock())
        with self._lock:
            self._add(kept)
        return kept.id

    def restore(self, found: ResultSet) -> None:
        """Keep a set that was kept once under its own id, as young as a new one.

        One that is here still goes on. Conflict where the id is of another scope's set.
        """
        kept = replace(found, made_ns=self._clock())
        with self._lock:
            here = self._sets.pop(found.id, kept)
            if here.scope != found.scope:
                self._sets[found.id] = here
                raise Conflict(f"the result set {found.id} is another one here", "search again")
            self._add(replace(here, made_ns=kept.made_ns))

    def _add(self, kept: ResultSet) -> None:
        self._drop_old(kept.made_ns)
        self._sets[kept.id] = kept
        while len(self._sets) > self._most:
            del self._sets[next(iter(self._sets))]

    def get(self, scope: Scope, id: str) -> ResultSet:
        """A set that was made in this very scope, or for some of its kinds; NotFound."""
        with self._lock:
            self._drop_old(self._clock())
            found = self._sets.get(id)
        if found is None or not _told(found.scope, scope):
            raise NotFound(
                f"there is no result set {shown(id)}",
                f"a set lasts {self._life_ns / (60 * SECOND_NS):.3g} minutes; search again",
            )
        return found

    def _drop_old(self, now_ns: int) -> None:
        for id, found in list(self._sets.items()):
            if now_ns - found.made_ns < self._life_ns:
                break
            del self._sets[id]


def _told(made: Scope, asking: Scope) -> bool:
    return made.of_any_kind == asking.of_any_kind and asking.includes(made.kinds)
