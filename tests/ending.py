"""Closes the engines that a test leaves open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from engine.engine import Engine


@contextmanager
def engines_end() -> Iterator[None]:
    """What is opened inside is closed at the end, unless it was.

    Else its threads go on beside the tests that follow, and do there what is patched there.
    """
    opened: list[Engine] = []
    open_one, close_one = Engine.open.__func__, Engine.close  # type: ignore[attr-defined]

    def opens(cls: type[Engine], *given: Any, **named: Any) -> Engine:
        engine: Engine = open_one(cls, *given, **named)
        opened.append(engine)
        return engine

    def closes(engine: Engine) -> None:
        if engine in opened:
            opened.remove(engine)
        close_one(engine)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Engine, "open", classmethod(opens))
        patch.setattr(Engine, "close", closes)
        yield
        while opened:
            opened[-1].close()
