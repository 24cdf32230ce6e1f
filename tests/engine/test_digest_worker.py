"""The digest worker: when it works, and what it does with a summariser that goes wrong."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from engine.config import Config
from engine.errors import EngineError, GuardRefused, SummariserFailed
from engine.ports import Text
from tests.engine.desk import HERE, Desk
from tests.engine.hash_embedder import HashEmbedder
from tests.engine.summaries import Counting, Hanging
from tests.waiting import until

OFF = Config(digests=False)
SOON = Config(digest_debounce_seconds=0.01, embed_retry_seconds=0.01)


def names(desk: Desk) -> set[str]:
    return {digest.name for digest in desk.engine.reading.digests(HERE)[0]}


def reasons(desk: Desk) -> list[str]:
    return [each.reason for each in desk.engine.reading.digests(HERE)[1]]


def fail(error: BaseException) -> Callable[[Sequence[Text]], None]:
    def raised(texts: Sequence[Text]) -> None:
        raise error

    return raised


def test_digests_come_by_themselves(tmp_path: Path) -> None:
    made = Counting()
    desk = Desk(tmp_path, config=SOON, summariser=made)
    desk.put("a", "text\n")
    until(lambda: names(desk) == {"kind-note", "tenant"})
    desk.put("a", "other\n")
    until(lambda: names(desk) == {"kind-note", "tenant"})
    assert "other" in desk.engine.digest(HERE, "kind-note").text
    made.take()
    desk.reopen()
    desk.put("b", "text\n", kind="task")
    until(lambda: names(desk) == {"kind-note", "kind-task", "tenant"})
    assert ("note/a",) not in made.take(), "nothing is made again after a restart"


def test_they_are_not_made_where_they_are_off() -> None:
    made = Counting()
    desk = Desk(config=OFF, summariser=made)
    desk.put("a", "text\n")
    assert desk.engine._upkeep.digests._worker._thread is None
    assert reasons(desk) == [
        "2 of 2 are not up to date, and are made only by `engramfs digest rebuild`"
    ]


def test_many_commits_are_waited_for_but_not_for_ever() -> None:
    """The wait ends so long after the first change, however often others follow."""
    desk = Desk(config=OFF)
    worker = desk.engine._upkeep.digests._worker
    assert worker._due() == math.inf
    worker._first, worker._last = 100.0, 103.0
    assert worker._due() == 104.0, "a second of quiet"
    worker._last = 109.5
    assert worker._due() == 110.0, "ten after the first"
    worker._look_at = 102.0
    assert worker._due() == 102.0


def test_they_wait_for_vectors_unless_those_do_not_come() -> None:
    class Slow(HashEmbedder):
        let_go = threading.Event()
        broken = False

        def embed_passages(self, texts: Sequence[str]):  # type: ignore[no-untyped-def]
            if self.broken:
                raise RuntimeError("no model")
            assert self.let_go.wait(120)
            return super().embed_passages(texts)

    embedder, made = Slow(), Counting()
    soon = replace(SOON, digest_debounce_seconds=0.5)  # the look of the start is behind the put
    desk = Desk(config=soon, summariser=made, embed="background", embedder=embedder)
    desk.put("a", "text\n")
    until(lambda: any("wait for pending vectors" in reason for reason in reasons(desk)))
    assert made.calls == []
    embedder.let_go.set()
    until(lambda: names(desk) == {"kind-note", "tenant"})
    assert made.given[0][0].vectors is not None
    embedder.broken = True
    desk.put("b", "other\n")
    until(lambda: names(desk) == {"kind-note", "tenant"})
    desk.engine.close()


@pytest.mark.parametrize("error", [SummariserFailed("no room"), ValueError("oh")])
def test_a_failure_leaves_it_stale_and_is_told(error: Exception) -> None:
    made = Counting()
    desk = Desk(config=OFF, summariser=made)
    desk.put("a", "text\n")
    made.fail = fail(error)
    digests = desk.engine.rebuild_digests(HERE)
    said = "no room" if isinstance(error, SummariserFailed) else "the summariser failed: ValueErr"
    assert all(digest.stale and not digest.text for digest in digests)
    assert said in digests[0].problem
    assert reasons(desk)[0].startswith(f"kind-note is missing: {said}")
    assert "it rests on kind-note" in reasons(desk)[1]
    assert any(said in problem for problem in desk.engine.status(HERE).problems)
    made.fail = None
    desk.engine.rebuild_digests(HERE)
    assert names(desk) == {"kind-note", "tenant"}
    assert reasons(desk) == []
    assert desk.engine.status(HERE).problems == ()


def test_one_that_fails_does_not_keep_others_from_being_made() -> None:
    made = Counting()
    desk = Desk(config=OFF, summariser=made)
    desk.put("a", "bad\n")
    desk.put("b", "good\n", kind="task")

    def picky(texts: Sequence[Text]) -> None:
        if any("bad" in passage for text in texts for passage in text.passages):
            raise SummariserFailed("bad")

    made.fail = picky
    desk.engine.rebuild_digests(HERE)
    assert names(desk) == {"kind-task"}


def test_a_failure_is_tried_again_by_itself() -> None:
    made = Counting()
    made.fail = fail(SummariserFailed("not yet"))
    desk = Desk(config=SOON, summariser=made)
    desk.put("a", "text\n")
    until(lambda: bool(desk.engine._upkeep.digests._worker.troubles._all))
    made.fail = None
    until(lambda: names(desk) == {"kind-note", "tenant"})


@pytest.mark.parametrize("text", ["", " \n", None, 7])
def test_no_text_is_a_failure(text: object) -> None:
    class Silent(Counting):
        def summarise(self, texts: Sequence[Text], tokens: int) -> str:
            return text  # type: ignore[return-value]

    desk = Desk(config=OFF, summariser=Silent())
    desk.put("a", "text\n")
    assert desk.engine.rebuild_digests(HERE)[0].problem == "the summariser gave no text"


def test_the_guard_sees_all_texts_and_keeps_them_from_the_summariser() -> None:
    made = Counting()
    seen: list[str] = []

    def guard(texts: Sequence[Text]) -> None:
        seen.extend(passage for text in texts for passage in text.passages)
        if any("secret" in passage for text in texts for passage in text.passages):
            raise GuardRefused("a secret")

    desk = Desk(config=OFF, summariser=made, guard=guard)
    desk.put("a", "secret\n")
    desk.put("b", "plain\n", kind="task")
    digests = desk.engine.rebuild_digests(HERE)
    assert digests[0].problem == "a secret"
    assert made.take() == [("task/b",)]
    assert {"secret\n", "plain\n"} <= set(seen)


@pytest.mark.parametrize("error", [ZeroDivisionError(), SystemExit(0)])
def test_a_guard_that_fails_lets_nothing_through(error: BaseException) -> None:
    made = Counting()

    def guard(texts: Sequence[Text]) -> None:
        raise error

    desk = Desk(config=OFF, summariser=made, guard=guard)
    desk.put("a", "text\n")
    for _ in range(2):  # the thread that makes them lives on
        problem = desk.engine.rebuild_digests(HERE)[0].problem
        assert f"the guard failed: {type(error).__name__}" in problem
    assert made.calls == []


def test_a_summariser_that_exits_fails_and_is_asked_again() -> None:
    made = Counting()
    made.fail = fail(SystemExit(3))
    desk = Desk(config=OFF, summariser=made)
    desk.put("a", "text\n")
    assert "the summariser failed: SystemExit" in desk.engine.rebuild_digests(HERE)[0].problem
    made.fail = None
    desk.engine.rebuild_digests(HERE)
    assert names(desk) == {"kind-note", "tenant"}


def test_one_that_hangs_is_told_and_holds_up_nobody(tmp_path: Path) -> None:
    hanging = Hanging()
    desk = Desk(
        tmp_path, config=Config(digests=False, digest_silence_seconds=0.0), summariser=hanging
    )
    desk.put("a", "text\n")
    with pytest.raises(SummariserFailed, match="has not answered for"):
        desk.engine.rebuild_digests(HERE)
    assert "has not answered for" in reasons(desk)[0]
    assert any("has not answered" in problem for problem in desk.engine.status(HERE).problems)
    desk.put("b", "writes go on\n")
    assert [hit.entry.slug for hit in desk.engine.search(HERE, "writes").hits] == ["b"]
    asked = threading.Thread(target=hanging.let_go.set)
    asked.start()
    until(lambda: bool(desk.engine.digest(HERE, "kind-note").hash))
    assert desk.engine.digest(HERE, "kind-note").stale, "b came while it hung"


def test_closing_does_not_wait_for_it(tmp_path: Path) -> None:
    hanging = Hanging()
    desk = Desk(tmp_path, config=SOON, summariser=hanging)
    desk.put("a", "text\n")
    assert hanging.begun.wait(120)
    worker = desk.engine._upkeep.digests._worker
    desk.engine.close()
    assert hanging.stopped
    hanging.let_go.set()
    assert worker._thread is not None
    worker._thread.join(120)
    assert not worker._thread.is_alive()
    again = Desk(tmp_path, config=OFF)
    assert again.engine.digest(HERE, "kind-note").hash == "", "what came too late is not kept"


def test_a_wait_ends_with_the_engine(tmp_path: Path) -> None:
    hanging = Hanging()
    desk = Desk(tmp_path, config=OFF, summariser=hanging)
    desk.put("a", "text\n")
    caught: list[Exception] = []

    def ask() -> None:
        try:
            desk.engine.rebuild_digests(HERE)
        except EngineError as error:
            caught.append(error)

    waiting = threading.Thread(target=ask)
    waiting.start()
    assert hanging.begun.wait(120)
    desk.engine.close()
    waiting.join(120)
    assert "was closed" in str(caught[0])
    hanging.let_go.set()


def test_what_changes_while_it_is_made_is_stale() -> None:
    made = Counting()
    desk = Desk(config=OFF, summariser=made)
    desk.put("a", "first\n")
    changed = iter([lambda: desk.put("a", "second\n")])

    def meanwhile(texts: Sequence[Text]) -> None:
        next(changed, lambda: None)()

    made.fail = meanwhile
    desk.engine.rebuild_digests(HERE)
    assert desk.engine.digest(HERE, "kind-note").stale
    desk.engine.rebuild_digests(HERE)
    assert "second" in desk.engine.digest(HERE, "kind-note").text


def test_a_full_disk_leaves_it_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    from engine.digests.shelf import Shelf
    from engine.errors import StoreFull

    desk = Desk(config=OFF, summariser=Counting())
    desk.put("a", "text\n")

    def full(*given: object) -> None:
        raise StoreFull("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(Shelf, "keep", full)
        assert desk.engine.rebuild_digests(HERE)[0].problem == "the disk is full"
    desk.engine.rebuild_digests(HERE)
    assert names(desk) == {"kind-note", "tenant"}
