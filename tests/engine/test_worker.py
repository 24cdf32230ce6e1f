"""The background thread's work, a piece at a time, by a clock that the test moves."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from engine.config import Config
from engine.errors import EmbedderFailed
from engine.worker import Background, Embedding
from tests.waiting import until

CONFIG = Config(
    embed_batch=2, embed_retry_seconds=5, embed_retry_max_seconds=40, quiet_seconds=2,
    model_idle_seconds=60, reader_patience_seconds=0.05,
)  # fmt: skip


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Fake:
    """The engine's side: texts that wait, and an embedder that can fail."""

    def __init__(self, *texts: str) -> None:
        self.waiting = {text.encode(): text for text in texts}  # oldest first
        self.poison: set[str] = set()
        self.broken = False
        self.lost: set[bytes] = set()
        self.tried: list[str] = []
        self.batches: list[list[str]] = []  # as they were stored
        self.released = 0
        self.embedding = Embedding(self.pending, self.texts, self.embed, self.store, self.release)

    def pending(self, limit: int) -> Sequence[bytes]:
        return list(reversed(self.waiting))[:limit]

    def texts(self, hashes: Sequence[bytes]) -> Mapping[bytes, str]:
        return {hash: self.waiting[hash] for hash in hashes if hash not in self.lost}

    def embed(self, text: str) -> np.ndarray:
        self.tried.append(text)
        if self.broken or text in self.poison:
            raise EmbedderFailed("no model", "install one")
        return np.ones(3, np.float32)

    def store(self, hashes: Sequence[bytes], vectors: np.ndarray) -> None:
        assert vectors.shape == (len(hashes), 3)
        self.batches.append([self.waiting[hash] for hash in hashes])
        for hash in hashes:
            self.waiting.pop(hash, None)

    def release(self) -> None:
        self.released += 1


def drain(worker: Background, limit: int = 100) -> int:
    steps = 0
    while worker.step():
        steps += 1
        assert steps < limit
    return steps


def test_the_newest_texts_first_in_small_batches() -> None:
    fake, clock = Fake("a", "b", "c", "d", "e"), Clock()
    worker = Background(CONFIG, fake.embedding, clock=clock)
    drain(worker)
    assert fake.batches == [["e", "d"], ["c", "b"], ["a"]]
    assert worker.problems() == ()
    assert not worker.step()


def test_nothing_to_embed_with() -> None:
    worker = Background(CONFIG, clock=Clock())
    assert not worker.step()
    assert not worker.wait_embedded(0)


def test_a_failure_is_reported_and_tried_again_with_growing_pauses() -> None:
    fake, clock = Fake("a"), Clock()
    fake.broken = True
    worker = Background(CONFIG, fake.embedding, clock=clock)
    for pause in (5, 10, 20, 40, 40):
        assert worker.step()
        assert worker.problems() == ("no model (install one)",)
        assert not worker.wait_embedded(60)  # a failure ends the wait at once
        clock.now += pause - 0.1
        tried = len(fake.tried)
        assert not worker.step()
        clock.now += 0.2
        assert len(fake.tried) == tried
    fake.broken = False
    assert worker.step()
    assert worker.problems() == ()
    assert fake.waiting == {}


def test_one_text_that_fails_does_not_hold_up_the_others() -> None:
    fake, clock = Fake("a", "b", "bad", "c"), Clock()
    fake.poison = {"bad"}
    worker = Background(CONFIG, fake.embedding, clock=clock)
    for _ in range(12):
        drain(worker)
        clock.now += 41
    assert list(fake.waiting.values()) == ["bad"]
    assert worker.problems()
    fake.waiting[b"new"] = "new"
    clock.now += 41
    drain(worker)
    assert list(fake.waiting.values()) == ["bad"]
    fake.poison = set()
    clock.now += 41
    drain(worker)
    assert fake.waiting == {}
    assert worker.problems() == ()


def test_what_was_made_before_a_failure_is_kept() -> None:
    fake, clock = Fake("bad", "a"), Clock()
    fake.poison = {"bad"}
    worker = Background(CONFIG, fake.embedding, clock=clock)
    assert worker.step()
    assert fake.tried == ["a", "bad"]
    assert fake.batches == [["a"]]
    assert worker.problems() == ("no model (install one)",)


def test_what_is_asked_for_is_tried_at_once() -> None:
    fake = Fake("a")
    fake.broken = True
    worker = Background(CONFIG, fake.embedding, clock=Clock())
    worker.step()
    assert worker.problems() and not worker.step()
    fake.broken = False
    worker.embed_now()
    assert worker.problems() == ()
    assert worker.step()
    assert fake.waiting == {}


def test_a_text_superseded_meanwhile_is_no_failure() -> None:
    fake, clock = Fake("a", "b", "c"), Clock()
    fake.lost = {b"b"}
    worker = Background(CONFIG, fake.embedding, clock=clock)
    assert worker.step()
    del fake.waiting[b"b"]
    drain(worker)
    assert fake.waiting == {}
    assert worker.problems() == ()


def test_a_text_that_cannot_be_found_is_reported() -> None:
    fake, clock = Fake("a", "b"), Clock()
    fake.lost = {b"b"}
    worker = Background(CONFIG, fake.embedding, clock=clock)
    drain(worker)
    assert list(fake.waiting) == [b"b"]
    assert "not in the store" in worker.problems()[0]


def test_the_idle_model_is_released_once() -> None:
    fake, clock = Fake("a"), Clock()
    worker = Background(CONFIG, fake.embedding, clock=clock)
    drain(worker)
    clock.now += 59
    assert not worker.step()
    worker.model_used()
    clock.now += 59
    assert not worker.step()
    clock.now += 2
    assert worker.step()
    clock.now += 100
    assert not worker.step()
    assert fake.released == 1


# -- jobs at quiet moments -----------------------------------------------------------------
def test_jobs_wait_for_a_quiet_moment() -> None:
    clock, ran = Clock(), []
    worker = Background(CONFIG, clock=clock)
    worker.register("fold", lambda: ran.append("fold"))
    worker.committed()
    clock.now += 1.9
    assert not worker.step()
    worker.committed()
    clock.now += 1.9
    assert not worker.step()
    clock.now += 0.2
    assert worker.step()
    assert ran == ["fold"]
    assert not worker.step()


def test_jobs_run_when_due_and_not_too_often() -> None:
    clock, ran, due = Clock(), [], [False]
    worker = Background(CONFIG, clock=clock)
    worker.register("hourly", lambda: ran.append("hourly"), every_seconds=3_600)
    worker.register("fold", lambda: ran.append("fold"), due=lambda: due[0])
    clock.now += 10
    assert not worker.step()
    due[0] = True
    drain(worker)
    assert ran == ["fold"]
    due[0] = False
    clock.now += 3_600
    drain(worker)
    clock.now += 3_599
    drain(worker)
    assert ran == ["fold", "hourly"]


def test_a_job_that_must_wait_or_fails_is_tried_again() -> None:
    clock, answers = Clock(), [False, ZeroDivisionError("oh"), True]
    worker = Background(CONFIG, clock=clock)

    def job() -> object:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    worker.register("prune", job, every_seconds=0, due=lambda: bool(answers))
    clock.now += 2
    assert worker.step()
    assert worker.problems() == ()
    clock.now += 2
    assert worker.step()
    assert worker.problems() == ("prune failed: ZeroDivisionError('oh')",)
    clock.now += 4.9
    assert not worker.step()
    clock.now += 0.2
    assert worker.step()
    assert worker.problems() == ()


def test_a_failure_does_not_stand_once_there_is_nothing_to_do() -> None:
    clock, due = Clock(), [True]
    worker = Background(CONFIG, clock=clock)

    def fails() -> None:
        raise ZeroDivisionError("oh")

    worker.register("fold", fails, due=lambda: bool(due))
    clock.now += 2
    assert worker.step()
    assert worker.problems() == ("fold failed: ZeroDivisionError('oh')",)
    due.clear()  # an import did the work
    clock.now += 5.1
    assert not worker.step()
    assert worker.problems() == ()


# -- the thread ------------------------------------------------------------------------------
def test_the_thread_embeds_what_commits_bring_and_ends() -> None:
    fake = Fake("a", "b", "c")
    worker = Background(CONFIG, fake.embedding)
    worker.start()
    assert worker.wait_embedded(120)
    fake.waiting[b"d"] = "d"
    worker.committed()
    assert worker.wait_embedded(120)
    worker.stop()
    worker.stop()
    assert fake.waiting == {}


def test_readers_go_first_but_not_for_ever() -> None:
    fake = Fake("a")
    worker = Background(CONFIG, fake.embedding)
    with worker.reading():
        worker.start()
        until(lambda: not fake.waiting)
    worker.stop()


def test_a_reader_is_let_go_first_between_two_texts_of_a_batch() -> None:
    """The reader comes while the first text is embedded and stays; the second waits for its end."""
    fake = Fake("second", "first")
    began, came = threading.Event(), threading.Event()
    embed = fake.embed

    def slow(text: str) -> np.ndarray:
        began.set()
        came.wait(120)
        return embed(text)

    fake.embedding = replace(fake.embedding, embed=slow)
    worker = Background(replace(CONFIG, reader_patience_seconds=60.0), fake.embedding)
    worker.start()
    assert began.wait(120)
    with worker.reading():
        came.set()
        until(lambda: fake.tried == ["first"])
        assert "second" in fake.waiting.values()
    until(lambda: not fake.waiting)
    assert fake.batches == [["first", "second"]]
    worker.stop()


def test_the_end_comes_between_two_texts_of_a_batch() -> None:
    """What was made until then is stored."""
    fake = Fake("second", "first")
    began, came = threading.Event(), threading.Event()
    embed = fake.embed

    def slow(text: str) -> np.ndarray:
        began.set()
        came.wait(120)
        return embed(text)

    fake.embedding = replace(fake.embedding, embed=slow)
    worker = Background(CONFIG, fake.embedding)
    worker.start()
    assert began.wait(120)
    end = threading.Thread(target=worker.stop)
    end.start()
    until(lambda: worker._stopping)
    came.set()
    end.join()
    assert fake.batches == [["first"]]


def test_a_reader_that_waits_for_vectors_holds_nothing_up() -> None:
    worker = Background(replace(CONFIG, reader_patience_seconds=60.0), Fake("a").embedding)
    with worker.reading():
        worker.start()
        assert worker.wait_embedded(120)
    worker.stop()


def test_the_thread_survives_what_fails(caplog: pytest.LogCaptureFixture) -> None:
    fake = Fake("a")
    fake.broken = True
    config = Config(embed_retry_seconds=0.01, embed_retry_max_seconds=0.01, quiet_seconds=0.01)
    worker = Background(config, fake.embedding)
    worker.start()
    until(lambda: len(fake.tried) > 3)
    fake.broken = False
    until(lambda: not fake.waiting)
    worker.stop()
    assert worker.problems() == ()
    assert "embedding failed" in caplog.text
