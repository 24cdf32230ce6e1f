"""The words of time expressions are read behind the back of who asks, and nobody waits for long."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np
import pytest

from engine import time_expressions, time_words
from engine.engine import Engine
from engine.errors import TimeExpressionsNotReady
from engine.model import Draft
from engine.namespace import Scope
from engine.time_expressions import ready
from engine.time_warmth import Warmth, expressions
from engine.time_words import Words
from tests.engine.desk import Desk

NOW = datetime(2026, 7, 15, 12, tzinfo=UTC)
RED, BLUE = Scope((("team", "red"),)), Scope((("team", "blue"),))
LOAD = time_words.load


@pytest.fixture(autouse=True)
def nothing_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """And no engine's thread begins to read by itself, or is still at it."""
    for thread in threading.enumerate():
        if thread.name == "engine-times":
            thread.join()
    monkeypatch.setattr(time_expressions, "_loaded", {})
    monkeypatch.setattr("engine.time_warmth._AFTER_SECONDS", 3_600.0)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Words are read when this is set."""
    may = threading.Event()

    def load(lang: str) -> Words | None:
        assert may.wait(120)
        return LOAD(lang)

    monkeypatch.setattr(time_words, "load", load)
    yield may
    may.set()


def test_a_question_waits_no_longer_than_it_may(slow: threading.Event) -> None:
    with pytest.raises(TimeExpressionsNotReady, match="still being read"):
        expressions("yesterday", NOW, ["en"], 0.01)
    slow.set()
    assert len(expressions("yesterday", NOW, ["en"], None)) == 1
    assert ready(["en"])
    assert len(expressions("yesterday", NOW, ["en"], 0.0)) == 1


def test_many_questions_at_once_read_the_words_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(time_words, "load", lambda lang: asked.append(lang) or LOAD(lang))
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda: found.append(len(expressions("hier", NOW, ["fr"], 120.0))))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [1] * 8
    assert sorted(asked) == ["en", "fr"]


def test_words_that_cannot_be_read_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(lang: str) -> Words | None:
        raise ImportError("no module named dateparser")

    monkeypatch.setattr(time_words, "load", broken)
    with pytest.raises(TimeExpressionsNotReady, match="cannot be read: ImportError") as raised:
        expressions("yesterday", NOW, ["en"], 120.0)
    assert "dateparser" in raised.value.hint
    warmth = Warmth(lambda: ["en"], list)
    assert warmth.due()
    warmth.warm()
    assert "cannot be read: ImportError" in warmth.problem
    assert not warmth.due()


def test_the_thread_reads_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.time_warmth._AFTER_SECONDS", 0.0)
    done = threading.Event()
    warmth = Warmth(lambda: ["de"], done.set)
    warmth.start()
    assert done.wait(120)
    warmth.stop()
    assert ready(["de"]) and warmth.problem == ""


def test_who_ends_before_it_began_waits_for_nothing(slow: threading.Event) -> None:
    warmth = Warmth(lambda: ["de"], list)
    warmth.start()
    warmth.stop()
    assert not ready(["de"])


def test_a_new_language_is_read_at_a_quiet_moment() -> None:
    desk = Desk()
    desk.engine._upkeep.background.stop()  # which would do it by itself
    times = desk.engine._upkeep.times
    times.warm()
    assert not times.due()
    desk.put("bonjour", "---\nlang: fr\n---\nune note\n")
    assert times.due()
    times.warm()
    assert not times.due() and ready(["fr"])
    desk.engine.close()


def test_the_languages_are_those_of_the_scope() -> None:
    engine = Engine.open(":memory:", embed="off")
    engine.put(RED, Draft("note", "a", b"---\nlang: fr\n---\nune note\n"))
    engine.put(BLUE, Draft("note", "b", b"---\nlang: de\n---\neine Notiz\n"))
    reading = engine.reading
    for scope, question in ((RED, "hier"), (BLUE, "gestern")):
        covered = reading.columns.now().covered(scope)
        told = {
            word: len(reading.time_expressions(word, NOW, covered, None))
            for word in ("hier", "gestern", "yesterday")
        }
        assert told == {"hier": 0, "gestern": 0, "yesterday": 1} | {question: 1}
    nobody = np.zeros(0, bool)
    assert len(reading.time_expressions("yesterday", NOW, nobody, None)) == 1
    engine.close()


def test_a_failure_stands_in_the_status(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_words, "load", lambda lang: 1 / 0)
    engine = Engine.open(":memory:", embed="off")
    engine._upkeep.times.warm()
    assert any("time expressions" in problem for problem in engine.status(RED).problems)
    engine.close()


def test_to_open_write_and_search_reads_no_words() -> None:
    code = (
        "import sys, engine.time_warmth as w; w._AFTER_SECONDS = 3600\n"
        "from engine import Draft, Engine, Scope\n"
        "store = Engine.open(':memory:', embed='off')\n"
        "store.put(Scope(()), Draft('note', 'a', b'pump'))\n"
        "store.search(Scope(()), 'pump yesterday')\n"
        "store.close()\n"
        "print('dateparser' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
