"""Random commits while folds run and readers read; every document's score against a fresh index.

    python -m tests.engine.churn [STEPS [SEED]]

runs it for longer than the test does. Readers check what is true in every committed state:

- the engrams of the namespace `still` never change, so neither does a score in it;
- twins are put together, so both have the same number of parts with `twin`;
- `moss` is put once a commit and never taken away, so no fold may lose one.
"""

from __future__ import annotations

import random
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from engine.engine import Engine
from engine.entries import is_live
from engine.filters import Filters
from engine.masks import masks
from engine.model import Draft, Namespace
from engine.namespace import Scope
from engine.store import versions
from tests.engine.oracle import Oracle

WORDS = [a + b for a in ("ka", "mo", "ri", "tu", "ze", "lu") for b in ("bor", "dan", "fil", "gup")]
STILL, BUSY, OTHER = (Scope(((("team", name)),), exact=True) for name in ("still", "busy", "other"))
ALL = Scope(())
SLUGS = [f"s{number}" for number in range(40)]
KINDS = ("note", "memo")
TWINS = 6


@dataclass
class Churn:
    """One engine under load. `wrong` collects what a reader saw that no commit ever said."""

    engine: Engine
    random: random.Random
    oracle: Oracle = field(default_factory=Oracle)
    stop: threading.Event = field(default_factory=threading.Event)
    wrong: list[str] = field(default_factory=list)
    changes: int = 0
    reads: int = 0
    folds: int = 0
    grown: int = 0  # commits with `moss` that returned …
    growing: int = 0  # … or were begun
    expected: dict[str, dict[int, float]] = field(default_factory=dict)  # in STILL, by word

    # -- writing ------------------------------------------------------------------
    def prepare(self) -> None:
        """What never changes, and the first twins."""
        drafts = [Draft("note", f"still{at}", self.text(at % 3 + 1)) for at in range(60)]
        self.engine.put_many(STILL, drafts)
        documents = self.documents(STILL.attributes)
        for word in WORDS:
            self.expected[word] = self.oracle.scores(documents, [word])
        for number in range(TWINS):
            self.twins(number, 1)

    def text(self, sections: int, *more: str) -> bytes:
        """A document of so many sections, each with the words `more`."""
        bodies = [
            " ".join([*self.random.choices(WORDS, k=self.random.randint(1, 9)), *more])
            for _ in range(sections)
        ]
        return "\n\n".join(f"# Part\n\n{body}" for body in bodies).encode()

    def twins(self, number: int, sections: int) -> None:
        drafts = [
            Draft("note", f"twin{number}{side}", self.text(sections, "twin")) for side in "ab"
        ]
        self.engine.put_many(BUSY, drafts)
        self.changes += 2

    def step(self) -> None:
        """One commit of some sort, in one of two namespaces."""
        scope, rng = self.random.choice([BUSY, OTHER]), self.random
        own = [entry for entry in self.engine.entries(scope) if entry.slug in SLUGS]
        chance = rng.random()
        self.changes += 1
        if chance < 0.35 or not own:
            drafts = [
                Draft(rng.choice(KINDS), slug, self.text(rng.randint(1, 3)))
                for slug in rng.sample(SLUGS, k=rng.randint(1, 24))
            ]
            self.engine.put_many(scope, drafts)
            self.changes += len(drafts) - 1
        elif chance < 0.55:
            entry = rng.choice(own)
            self.engine.put(scope, Draft(entry.kind, entry.slug, self.text(2)))
        elif chance < 0.65:
            entry = self.engine.delete(scope, rng.choice(own).id)
            if rng.random() < 0.5 and self.engine.lookup(scope, entry.kind, entry.slug) is None:
                self.engine.revive(scope, entry.id)
        elif chance < 0.8:
            moved, kind, slug = rng.choice(own), rng.choice(KINDS), rng.choice(SLUGS)
            if (moved.kind, moved.slug) != (kind, slug):
                self.engine.rename(scope, moved.id, kind, slug)
        elif chance < 0.9:
            self.twins(rng.randrange(TWINS), rng.randint(1, 3))
        else:
            self.growing += 1
            self.engine.put(OTHER, Draft("note", f"g{self.growing}", b"moss\n"))
            self.grown += 1

    # -- at rest ---------------------------------------------------------------------
    def documents(self, namespace: Namespace) -> dict[int, list[str]]:
        """The stored terms of every live part in a namespace (() is: in all), by document."""
        with self.engine._state.store.cursor() as cursor:
            live = [
                row
                for row in versions.load_current(cursor)
                if row.deleted_ns is None and namespace in ((), row.namespace)
            ]
            terms = versions.terms_of(cursor, [row.parts_seq for row in live])
        return {
            row.first_doc + at: part
            for row in live
            for at, part in enumerate(versions.split_terms(terms[row.parts_seq]))
        }

    def scores(self, scope: Scope, question: Sequence[str]) -> dict[int, float]:
        """By document what the engine gives it now, over what the scope covers."""
        reader = self.engine.reading
        mask = masks(reader.columns.now(), reader.properties, scope, Filters())
        snapshot = reader.index.snapshot()
        found = snapshot.lexical([(word,) for word in question], snapshot.visible(mask.covered))
        rows = np.flatnonzero(found)
        return dict(zip(snapshot.doc_number[rows].tolist(), found[rows].tolist(), strict=True))

    def agree(self) -> None:
        """Every document's score under every scope is that of a fresh index; nobody writes."""
        for scope in (STILL, BUSY, OTHER, ALL):
            question = [*self.random.sample(WORDS, k=3), "twin", "moss"]
            fresh = self.oracle.scores(self.documents(scope.attributes), question)
            if not _same(self.scores(scope, question), fresh):
                self.wrong.append(f"{scope} {question}: not the scores of a fresh index")

    # -- reading, in threads ------------------------------------------------------------
    def read(self, seed: int) -> None:
        rng = random.Random(seed)
        try:
            while not self.stop.is_set():
                self.look(rng.choice(WORDS))
                self.reads += 1
        except BaseException as error:  # noqa: BLE001 - a reader's failure is the test's
            self.wrong.append(repr(error))

    def look(self, word: str) -> None:
        if not _same(self.scores(STILL, [word]), self.expected[word]):
            self.wrong.append(f"the scores of {word} changed where nothing changes")
        least = self.grown
        seen = len(self.scores(OTHER, ["moss"]))
        if not least <= seen <= self.growing:
            self.wrong.append(f"{seen} of {least} to {self.growing} documents that grow")
        snapshot = self.engine.reading.index.snapshot()
        everybody = np.ones(int(snapshot.doc_engram.max(initial=0)) + 1, np.bool_)
        rows = np.flatnonzero(snapshot.lexical([("twin",)], snapshot.visible(everybody)))
        parts = Counter(snapshot.doc_engram[rows].tolist())
        for number in range(TWINS):
            both = [self.engine.lookup(BUSY, "note", f"twin{number}{side}") for side in "ab"]
            counts = {parts[entry.no] for entry in both if entry is not None and is_live(entry)}
            if len(counts) > 1:
                self.wrong.append(f"twins {number} have {counts} parts")
        total = self.engine.search(BUSY, "twin").total
        if total != 2 * TWINS:
            self.wrong.append(f"{total} of {2 * TWINS} twins are found")

    def fold(self) -> None:
        fulltext, index = self.engine._upkeep.fulltext, self.engine._state.index
        try:
            while not self.stop.is_set():
                build = fulltext.bulk if self.folds % 8 == 7 else fulltext.fold
                self.folds += build(index)
                self.stop.wait(0.002)
        except BaseException as error:  # noqa: BLE001 - a fold's failure is the test's
            self.wrong.append(repr(error))

    def run(self, steps: int, readers: int = 2) -> None:
        """Make `steps` commits under load, in four stretches with a comparison after each."""
        self.prepare()
        for _ in range(4):
            self.stop.clear()
            threads = [threading.Thread(target=self.fold)]
            threads += [threading.Thread(target=self.read, args=(n,)) for n in range(readers)]
            for thread in threads:
                thread.start()
            folds, reads, made = self.folds, self.reads, 0
            while made < steps // 4 or min(self.folds - folds, self.reads - reads) < 2:
                self.step()
                made += 1
                if self.wrong:
                    break
            self.stop.set()
            for thread in threads:
                thread.join()
            self.agree()


def _same(one: dict[int, float], other: dict[int, float]) -> bool:
    return one.keys() == other.keys() and all(
        abs(score - other[doc]) < 1e-9 for doc, score in one.items()
    )


def main(arguments: list[str]) -> int:
    steps, seed = [*map(int, arguments), *(20_000, 1)[len(arguments) :]]
    with tempfile.TemporaryDirectory() as place:
        engine = Engine.open(Path(place), embed="off")
        churn = Churn(engine, random.Random(seed))
        churn.run(steps)
        problems = engine.check()
        engine.close()
    print(f"{churn.changes} changes, {churn.folds} folds, {churn.reads} readings: ", end="")
    print(*(churn.wrong or ["all right"]), *problems, sep="\n")
    return 1 if churn.wrong or problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
