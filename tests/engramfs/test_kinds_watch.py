"""A kinds file that changes: what is wrong with it is told until it is right."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.errors import Problem
from engine.namespace import Scope
from engramfs.kinds_watch import _Reloader, watching
from engramfs.settings import load
from tests.waiting import until

SCOPE = Scope((), exact=True)
KINDS = "kinds:\n  deal: {}\n"


@pytest.fixture
def engine() -> Iterator[Engine]:
    engine = Engine.open(":memory:", kinds=KINDS, embed="off")
    yield engine
    engine.close()


def test_only_what_is_wrong_with_the_file_as_it_is_now_is_told(
    engine: Engine, tmp_path: Path
) -> None:
    file = tmp_path / "kinds.yaml"
    file.write_text(KINDS)
    problems = [Problem("the question is empty")]
    engine.refuse(
        SCOPE, kind="", slug="", path=".recall?", event="request", problems=problems, source=None
    )

    def told() -> list[str]:
        notices = [notice for notice in engine.notices(SCOPE) if notice.event == "kinds"]
        return [problem.message for notice in notices for problem in notice.problems]

    with watching(load(tmp_path, {"kinds": str(file)}), engine, SCOPE, KINDS):
        file.write_text("deals: {}\n")
        until(lambda: any("`deals`" in message for message in told()))
        file.write_text("notes: {}\n")
        until(lambda: any("`notes`" in message for message in told()))
        assert len(told()) == 1
        file.write_text(KINDS)  # what was applied all the time
        until(lambda: not told())
        file.write_text("notes: {}\n")
        until(lambda: bool(told()))
        file.write_text(KINDS + "  note: {}\n")
        until(lambda: "note" in engine.catalogue.kinds)
        until(lambda: not told())
    assert [notice.event for notice in engine.notices(SCOPE)] == ["request"]


def test_a_text_that_takes_long_is_not_applied_after_a_later_one(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, apply, applied = tmp_path / "kinds.yaml", engine.apply_kinds, list[str]()
    began, may = threading.Event(), threading.Event()

    def slowly(text: str) -> tuple[str, ...]:
        if not began.is_set():
            began.set()
            assert may.wait(120)
        applied.append(text)
        return apply(text)

    monkeypatch.setattr(engine, "apply_kinds", slowly)
    reloader = _Reloader(load(tmp_path, {"kinds": str(file)}), engine, SCOPE, KINDS)
    texts = [f"{KINDS}  {name}: {{}}\n" for name in ("first", "second")]
    with ThreadPoolExecutor(2) as pool:
        file.write_text(texts[0])
        first = pool.submit(reloader._reload)
        assert began.wait(120)
        file.write_text(texts[1])
        second = pool.submit(reloader._reload)
        until(second.running)
        may.set()
        first.result()
        second.result()
    reloader.stop()
    assert applied == texts
    assert "second" in engine.catalogue.kinds and "first" not in engine.catalogue.kinds
