"""Summarisers for tests: one that counts its calls, and ways for it to go wrong."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from engine.ports import Text


class Counting:
    """Says which texts it was given; `fail` is what it raises, or runs, instead."""

    def __init__(self, fingerprint: str = "counting") -> None:
        self.fingerprint = fingerprint
        self.calls: list[tuple[str, ...]] = []  # names of the texts of each call
        self.given: list[tuple[Text, ...]] = []
        self.fail: Callable[[Sequence[Text]], None] | None = None
        self.stopped = 0

    def summarise(self, texts: Sequence[Text], tokens: int) -> str:
        if self.fail is not None:
            self.fail(texts)
        self.calls.append(tuple(text.name for text in texts))
        self.given.append(tuple(texts))
        said = (f"{text.title}: {' '.join(text.passages)[:40]}" for text in texts)
        return "\n".join(said)[: tokens * 4] or "nothing"

    def stop(self) -> None:
        self.stopped += 1

    def take(self) -> list[tuple[str, ...]]:
        """The calls since the last time this was asked."""
        taken, self.calls = self.calls, []
        return taken


class Hanging(Counting):
    """Does not answer until it is let go; `begun` says that it was asked."""

    def __init__(self) -> None:
        super().__init__("hanging")
        self.begun = threading.Event()
        self.let_go = threading.Event()

    def summarise(self, texts: Sequence[Text], tokens: int) -> str:
        self.begun.set()
        self.let_go.wait(60)
        return super().summarise(texts, tokens)
