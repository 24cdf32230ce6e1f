"""The index under load: right while folds run and readers read, and wherever a fold is killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.model import Draft
from tests.engine.churn import ALL, BUSY, OTHER, Churn


def test_scores_are_right_while_folds_run_and_readers_read(tmp_path: Path) -> None:
    engine = Engine.open(tmp_path, embed="off")
    churn = Churn(engine, random.Random(3))
    churn.run(320)
    assert churn.wrong == []
    assert churn.changes > 1_000  # 1,750 or so: more steps are made where folds are slow
    assert engine.check() == ()
    engine.close()
    engine = Engine.open(tmp_path, embed="off")
    again = Churn(engine, random.Random(4))
    again.agree()
    assert again.wrong == []
    assert len(again.scores(OTHER, ["moss"])) == churn.grown
    engine.close()


_FOLDER = """
import sys, time
from engine.engine import Engine
from engine.model import Draft
from engine.namespace import Scope
from engine.store import fulltext, meta
from engine.store.connection import Store

where, store = sys.argv[1:]
busy = Scope((("team", "busy"),), exact=True)
engine = Engine.open(store, embed="off")
engine._upkeep.background.stop()

def texts(word, first):
    numbers = range(first, first + 40)
    return [Draft("note", f"{word}{at}", f"moss {word} n{at}".encode()) for at in numbers]

engine.put_many(busy, texts("old", 0))
engine._upkeep.fulltext.fold(engine._state.index)
engine.put_many(busy, texts("new", 0))

def here(*_):
    if where in ("filling", "filled"):  # else the fold's own transaction is open
        for draft in texts("late", 0):
            engine.put(busy, draft)
    print("here", flush=True)
    time.sleep(600)

def after(function):
    def wrapped(*arguments, **more):
        function(*arguments, **more)
        here()
    return wrapped

if where == "filling":
    fulltext._add_terms = after(fulltext._add_terms)
elif where == "filled":
    engine._state.store.fit_memory = lambda parts: None
    fill = engine._upkeep.fulltext._fill_from_tails
    engine._upkeep.fulltext._fill_from_tails = lambda *a: (fill(*a), here())[0]
elif where == "switching":
    meta.put = after(meta.put)
elif where == "switched":
    engine._state.index.set_base = here
engine._upkeep.fulltext.fold(engine._state.index)
"""


@pytest.mark.parametrize("where", ["filling", "filled", "switching", "switched"])
def test_a_fold_that_is_killed_leaves_a_right_store(tmp_path: Path, where: str) -> None:
    folder = subprocess.Popen(
        [sys.executable, "-c", _FOLDER, where, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert folder.stdout is not None
    assert folder.stdout.readline() == "here\n"
    os.kill(folder.pid, signal.SIGKILL)
    folder.wait()
    folder.stdout.close()
    engine = Engine.open(tmp_path, embed="off")
    churn = Churn(engine, random.Random(1))
    found = {word: len(churn.scores(BUSY, [word])) for word in ("old", "new", "late", "moss")}
    late = 40 if where in ("filling", "filled") else 0
    assert found == {"old": 40, "new": 40, "late": late, "moss": 80 + late}
    churn.agree()
    assert engine.check() == ()
    engine.put(BUSY, Draft("note", "after", b"a zebra after the kill"))
    assert engine._upkeep.fulltext.fold(engine._state.index)
    churn.agree()
    assert churn.wrong == []
    assert engine.check() == ()
    assert len(churn.scores(ALL, ["zebra"])) == 1
    engine.close()
