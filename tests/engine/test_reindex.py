"""Reindexing, killed in the middle: what was done stays, and a second run completes it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from engine.config import Config
from engine.engine import Engine
from engine.errors import EmbedderFailed, Unsupported
from tests.engine.desk import HERE, Desk
from tests.engine.hash_embedder import HashEmbedder

ENGRAMS = 12
PARTS = 2 * ENGRAMS  # each has a head and a section
ROOT = Path(__file__).resolve().parents[2]
CONFIG = Config(embed_batch=4)

_EMBEDDING = """
import json, sys, threading
from engine.config import Config
from engine.engine import Engine
from tests.engine.hash_embedder import HashEmbedder

class Stuck(HashEmbedder):
    def embed_passages(self, texts):
        if len(self.texts) == 13:
            print(json.dumps(self.texts), flush=True)
            threading.Event().wait()
        return super().embed_passages(texts)

engine = Engine.open(sys.argv[1], embedder=Stuck(), config=Config(embed_batch=4))
engine.reindex(embed=True)
threading.Event().wait()
"""

_CUTTING = """
import sys, threading
from engine.config import Config
from engine.engine import Engine

def stuck(done, total):
    print(done, total, flush=True)
    threading.Event().wait()

engine = Engine.open(sys.argv[1], embed="off", config=Config(part_tokens=32))
engine.reindex(progress=stuck)
"""


def killed(program: str, store: Path) -> str:
    """Run a program until it has said a line, kill it, and return the line."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(store)],
        stdout=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    assert process.stdout is not None
    line = process.stdout.readline()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    return line


def filled(where: Path | str, **options: Any) -> Desk:
    desk = Desk(where, embed="background", config=CONFIG, **options)
    for number in range(ENGRAMS):
        desk.put(f"n{number}", f"# Note {number}\n\nabout pump {number}\n")
    assert drained(desk) == 0
    return desk


def drained(desk: Desk) -> int:
    """How many vectors are pending when the background is done."""
    desk.engine.reading.wait_for_vectors(120)
    return desk.engine.status(HERE).pending_vectors


def test_a_killed_reindex_embed_goes_on_where_it_was(tmp_path: Path) -> None:
    desk = filled(tmp_path, embedder=HashEmbedder())
    desk.engine.close()
    before = json.loads(killed(_EMBEDDING, tmp_path))
    kept = before[:12]  # three batches of four; the thirteenth text was not stored yet
    for again in (False, True):  # by itself, and when it is asked for again
        embedder = HashEmbedder()
        desk = Desk(tmp_path, embed="background", embedder=embedder, config=CONFIG)
        if again:
            desk.engine.reindex(embed=True)
        assert drained(desk) == 0
        desk.sound()
        desk.engine.close()
        assert len(embedder.texts) == len(set(embedder.texts))
        if not again:
            assert not set(embedder.texts) & set(kept)
            assert len(embedder.texts) == PARTS - len(kept)
        else:  # the first had come to its end, so this one is a new one
            assert len(embedder.texts) == PARTS


class Stops(HashEmbedder):
    """Fails at a text, as if the process had ended there."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.after = after

    def embed_passages(self, texts: Any) -> Any:
        if len(self.texts) >= self.after:
            raise EmbedderFailed("stopped", "go on")
        return super().embed_passages(texts)


class Waits(HashEmbedder):
    """Makes no vector of a passage until it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may = threading.Event()

    def embed_passages(self, texts: Any) -> Any:
        assert self.may.wait(120)
        return super().embed_passages(texts)


def test_asking_again_for_what_is_not_done_forgets_nothing(tmp_path: Path) -> None:
    desk = filled(tmp_path, embedder=HashEmbedder())
    first = Stops(after=9)
    desk.reopen(embedder=first)
    desk.engine.reindex(embed=True)
    assert drained(desk) == PARTS - 9
    second = Waits()
    desk.reopen(embedder=second)
    desk.engine.reindex(embed=True)
    second.may.set()  # else it could be done by itself before it is asked, and begin anew
    assert drained(desk) == 0
    assert len({*first.texts, *second.texts}) == PARTS
    assert len(second.texts) <= PARTS - 9 + 1  # what was asked to prove that the model works
    desk.sound()
    desk.engine.close()


def test_a_model_that_fails_costs_no_vector(tmp_path: Path) -> None:
    desk = filled(tmp_path, embedder=HashEmbedder())

    class Broken(HashEmbedder):
        def embed_query(self, text: str) -> Any:
            raise EmbedderFailed("broken", "mend it")

    desk.reopen(embedder=Broken())
    with pytest.raises(EmbedderFailed, match="broken"):
        desk.engine.reindex(embed=True)
    assert desk.engine.status(HERE).pending_vectors == 0
    desk.engine.close()
    other = Broken(16, "other")
    with pytest.raises(EmbedderFailed, match="broken"):
        Engine.open(tmp_path, embedder=other, embed="inline", re_embed=True)
    desk = Desk(tmp_path, embed="background", embedder=HashEmbedder())
    assert desk.engine.status(HERE).pending_vectors == 0
    desk.engine.close()


def test_without_a_model_nothing_is_forgotten(tmp_path: Path) -> None:
    desk = filled(tmp_path, embedder=HashEmbedder())
    desk.reopen(embed="off")
    with pytest.raises(Unsupported, match="embedding is off"):
        desk.engine.reindex(embed=True)
    desk.reopen(embed="background")
    assert desk.engine.status(HERE).pending_vectors == 0
    desk.engine.close()


def test_a_killed_reindex_leaves_a_sound_store_and_a_second_completes(tmp_path: Path) -> None:
    """Parts are cut elsewhere since a setting changed, and the process ends after one batch."""
    desk = Desk(tmp_path, config=Config(part_tokens=32))
    long = "".join(f"the {number}th sentence is about pump {number}. " for number in range(40))
    for number in range(250):
        desk.put(f"n{number}", f"# Note {number}\n\n{long if number % 50 == 0 else 'pump'}\n")
    small = desk.engine.status(HERE).parts
    desk.reopen(config=Config(part_tokens=200))
    desk.engine.reindex()
    large = desk.engine.status(HERE).parts
    assert large < small
    versions = [desk.entry(f"n{number}").updated_ns for number in range(250)]
    desk.engine.close()
    assert killed(_CUTTING, tmp_path) == "200 250\n"
    desk = Desk(tmp_path, config=Config(part_tokens=32))
    between = desk.engine.status(HERE).parts
    assert large < between < small
    found = desk.engine.search(HERE, "the 39th sentence").hits
    assert {hit.entry.slug for hit in found} >= {f"n{number}" for number in range(0, 250, 50)}
    told: list[tuple[int, int]] = []
    counts = desk.engine.reindex(progress=lambda done, total: told.append((done, total)))
    assert (counts["engrams"], counts["changed"], counts["damaged"]) == (250, 1, 0)
    assert told == [(200, 250), (250, 250)]
    assert desk.engine.status(HERE).parts == small
    assert [desk.entry(f"n{number}").updated_ns for number in range(250)] == versions
    desk.sound()
    desk.engine.close()
