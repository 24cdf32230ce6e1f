"""What a Put costs alone, and while readers ask in a closed loop, over one store."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from engine.engine import Engine
from engine.model import Draft
from scripts.benchmarks.ours import SCOPE

READERS = 4
EACH = 40  # Puts a round
WORDS = 250  # of a document: two kilobytes, as people write


@contextmanager
def readers(engine: Engine, questions: Sequence[str]) -> Iterator[list[int]]:
    """READERS threads that ask for whole pages without a pause; yields the count of answers."""
    ending = threading.Event()
    answered = [0] * READERS
    failed: list[BaseException] = []

    def read(number: int) -> None:
        try:
            for question in itertools.cycle(questions[number:] + questions[:number]):
                if ending.is_set():
                    return
                engine.search(SCOPE, question)
                answered[number] += 1
        except BaseException as error:  # noqa: BLE001 - raised below, in the caller's thread
            failed.append(error)

    threads = [threading.Thread(target=read, args=(number,)) for number in range(READERS)]
    for thread in threads:
        thread.start()
    try:
        yield answered
    finally:
        ending.set()
        for thread in threads:
            thread.join()
    if failed:
        raise failed[0]


def puts(engine: Engine, bodies: Sequence[str], numbers: Iterator[int]) -> list[float]:
    """Seconds of EACH Puts, half of them new engrams and half edits."""
    taken = []
    for number in itertools.islice(numbers, EACH):
        slug = f"p{number}" if number % 2 else f"e{number % 50}"
        body = bodies[number % len(bodies)]
        draft = Draft("plain", slug, f"# Number {number}\n\n{body}\n".encode())
        begin = time.perf_counter()
        engine.put(SCOPE, draft)
        taken.append(time.perf_counter() - begin)
    return taken
