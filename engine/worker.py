"""What an engine does behind its readers' and writers' backs, in one thread.

It embeds the texts that have no vector, the newest first, and at quiet moments runs the jobs that
were registered (fold, prune, settle). A failure is retried with growing pauses and reported for as
long as it stands; nothing that fails here loses anything: a missing vector is itself the queue.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.config import Config
from engine.errors import EngineError

Vector = NDArray[np.float32]
Vectors = NDArray[np.float32]

log = logging.getLogger(__name__)

EMBED = "embed"


def always() -> bool:
    """A job that is due whenever its time has come."""
    return True


@dataclass(frozen=True, slots=True)
class Embedding:
    """What the worker needs of the engine to embed."""

    pending: Callable[[int], Sequence[bytes]]  # hashes without a vector, newest first, at most n
    texts: Callable[[Sequence[bytes]], Mapping[bytes, str]]  # the texts that are still live
    embed: Callable[[str], Vector]  # float32[dimension]; raises EmbedderFailed
    store: Callable[[Sequence[bytes], Vectors], None]  # commit, then the index
    release: Callable[[], None]  # drop the model's session


@dataclass(slots=True)
class _Job:
    name: str
    run: Callable[[], object]
    due: Callable[[], bool]
    every_seconds: float
    not_before: float
    quiet: bool
    failures: int = 0


class Background:
    """Use `start` and `stop`, or call `step` without a thread."""

    def __init__(
        self,
        config: Config,
        embedding: Embedding | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config = config
        self._embedding = embedding
        self._clock = clock
        self._jobs: list[_Job] = []
        self._problems: dict[str, str] = {}
        self._changed = threading.Condition()
        self._readers = 0
        self._waiting = 0  # of the readers, for the work itself
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._last_commit = clock()
        self._model_used: float | None = None  # when; None: no session is loaded
        self._embed_at = 0.0  # not before
        self._embed_failures = 0
        self._failed: dict[bytes, None] = {}  # texts to try again after all others, in turn

    # -- what the engine tells ----------------------------------------------------------
    def register(
        self,
        name: str,
        run: Callable[[], object],
        *,
        due: Callable[[], bool] = always,
        every_seconds: float = 0.0,
        quiet: bool = True,
    ) -> None:
        """Run a job at quiet moments when `due()`, at most every so many seconds (or quiet times);
        one that is not `quiet` runs while commits are made, too.

        A job that returns False could not do it yet and is tried again a little later.
        """
        first = self._clock() + every_seconds
        self._jobs.append(_Job(name, run, due, every_seconds, first, quiet))

    def committed(self) -> None:
        """A commit was made: it is not quiet, and there may be something to embed.

        Without embedding nobody is woken: that would cost each commit a switch of threads (0.3 ms).
        """
        self._last_commit = self._clock()
        if self._embedding is not None:
            with self._changed:
                self._changed.notify_all()

    def embed_now(self) -> None:
        """Try again at once what failed, and what may have been mended is no problem until then."""
        self._embed_failures, self._embed_at = 0, 0.0
        self._failed = {}
        self._problems.pop(EMBED, None)
        with self._changed:
            self._changed.notify_all()

    def model_used(self) -> None:
        """A question was embedded: the model is not idle."""
        self._model_used = self._clock()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """While a reader runs, background work waits a moment before its next piece."""
        with self._changed:
            self._readers += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers -= 1
                self._changed.notify_all()

    # -- what the engine asks ------------------------------------------------------------
    def problems(self) -> tuple[str, ...]:
        """The failures that still stand, a sentence each."""
        return tuple(dict(self._problems).values())

    def embeds(self) -> bool:
        """Texts wait for their vectors, and nothing keeps them from getting them."""
        work = self._embedding
        return work is not None and EMBED not in self._problems and bool(work.pending(1))

    def wait_embedded(self, seconds: float) -> bool:
        """Wait until no text is pending; False when time is up or embedding fails.

        A reader that waits for this is not one to be let go first.
        """
        if self._embedding is None:
            return False
        pending = self._embedding.pending
        with self._changed:
            self._waiting += 1
            self._changed.notify_all()
            try:
                self._changed.wait_for(
                    lambda: not pending(1) or EMBED in self._problems or self._stopping, seconds
                )
            finally:
                self._waiting -= 1
        return not pending(1)

    # -- the thread ------------------------------------------------------------------------
    def start(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._run, name="engine-background", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End after the piece of work at hand, and wait for that."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while not self._stopping:
            self.let_readers_go_first()
            if not self._stopping and not self.step():
                with self._changed:
                    if not self._stopping:
                        self._changed.wait(self._pause())

    def let_readers_go_first(self) -> None:
        """Wait while somebody reads, a moment at most."""
        with self._changed:
            self._changed.wait_for(
                lambda: not self._readers or self._waiting or self._stopping,
                self._config.reader_patience_seconds,
            )

    def _pause(self) -> float:
        """Seconds until something may be due."""
        wait = self._config.quiet_seconds
        if self._embed_failures:
            wait = min(wait, max(0.0, self._embed_at - self._clock()))
        return max(wait, 0.01)

    # -- one piece of work --------------------------------------------------------------------
    def step(self) -> bool:
        """Do one piece of work; False when there is nothing to do now."""
        return self._job() or self._embed() or self._release()

    def _job(self) -> bool:
        now = self._clock()
        quiet = now - self._last_commit >= self._config.quiet_seconds
        for job in self._jobs:
            if now < job.not_before or (job.quiet and not quiet):
                continue
            try:
                if not job.due():  # done otherwise, or not needed any more
                    self._well(job)
                    continue
                done = job.run()
            except Exception as error:
                log.exception("the job %s failed", job.name)
                job.failures += 1
                job.not_before = now + self._backoff(job.failures)
                self._report(job.name, error)
                return True
            self._well(job)
            pause = 0.0 if done is False else job.every_seconds
            job.not_before = self._clock() + max(pause, self._config.quiet_seconds)
            return True
        return False

    def _well(self, job: _Job) -> None:
        """Its last failure does not stand any more."""
        job.failures = 0
        self._problems.pop(job.name, None)

    def _embed(self) -> bool:
        work = self._embedding
        if work is None or self._clock() < self._embed_at:
            return False
        batch = self._next_batch(work)
        if not batch:
            return False
        try:
            texts = work.texts(batch)
            made, failed = self._made(work, texts)
            if made:
                work.store(list(made), np.stack(list(made.values())))
        except Exception as error:
            log.exception("embedding failed")
            self._postpone(batch, error)
            return True
        for hash in made:
            self._failed.pop(hash, None)
        if failed is not None:
            self._postpone(*failed)
            return True
        lost = [hash for hash in batch if hash not in texts]
        if lost and lost[0] in self._failed and lost[0] in work.pending(len(self._failed)):
            self._postpone(lost, LookupError("the text of a part is not in the store any more"))
            return True
        for hash in lost:  # most likely superseded while we looked
            self._failed.pop(hash, None)
            self._failed[hash] = None
        self._embed_failures = 0
        self._problems.pop(EMBED, None)
        with self._changed:
            self._changed.notify_all()
        return True

    def _made(
        self, work: Embedding, texts: Mapping[bytes, str]
    ) -> tuple[dict[bytes, Vector], tuple[list[bytes], Exception] | None]:
        """(vectors, what failed and why). Readers go first at each text, and so does the end."""
        made: dict[bytes, Vector] = {}
        for hash, text in texts.items():
            self.let_readers_go_first()
            if self._stopping:
                break
            self.model_used()
            try:
                made[hash] = work.embed(text)
            except Exception as error:
                log.exception("embedding failed")
                return made, ([hash], error)
        return made, None

    def _postpone(self, batch: Sequence[bytes], error: Exception) -> None:
        for hash in batch:
            self._failed.pop(hash, None)
            self._failed[hash] = None
        self._embed_failures += 1
        self._embed_at = self._clock() + self._backoff(self._embed_failures)
        self._report(EMBED, error)

    def _next_batch(self, work: Embedding) -> list[bytes]:
        """The newest texts that have not failed; those that have one by one, after all others."""
        size = self._config.embed_batch if not self._embed_failures else 1
        newest = work.pending(size + len(self._failed))
        fresh = [hash for hash in newest if hash not in self._failed][:size]
        if not fresh:
            waiting = set(newest)
            self._failed = {hash: None for hash in self._failed if hash in waiting}
            fresh = list(self._failed)[:1]
        return fresh

    def _release(self) -> bool:
        used = self._model_used
        if self._embedding is None or used is None:
            return False
        if self._clock() - used < self._config.model_idle_seconds or self._embedding.pending(1):
            return False
        self._embedding.release()
        self._model_used = None
        return True

    def _backoff(self, failures: int) -> float:
        config = self._config
        wait = config.embed_retry_seconds * 2.0 ** min(failures - 1, 30)
        return float(min(wait, config.embed_retry_max_seconds))

    def _report(self, name: str, error: Exception) -> None:
        sentence = str(error) if isinstance(error, EngineError) else f"{name} failed: {error!r}"
        self._problems[name] = sentence
        with self._changed:
            self._changed.notify_all()
