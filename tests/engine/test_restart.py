"""Restarts: everything is there again; another model, a missing one, a killed process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from engine.config import SECOND_NS, Config
from engine.embed import Floats
from engine.engine import Engine
from engine.errors import EmbedderFailed, Problem, StoreHeld, Unsupported
from engine.model import Draft
from tests.engine.desk import HERE, Desk, with_id
from tests.engine.hash_embedder import HashEmbedder
from tests.waiting import until


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    desk.sound()
    desk.engine.close()


# -- restarts ------------------------------------------------------------------------------
def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.put("a", "# A\n\npumps\n", mode=0o600)
    desk.put("c", "[[a]] [[nowhere]]\n")
    desk.put("gone", "x\n")
    desk.rm("gone")
    desk.mv("a", "b")
    desk.engine.keep_blank(HERE, "note", "new", "New", desk.engine.new_inode(), 0o644, 5)
    before = sorted(desk.engine.entries(HERE), key=lambda entry: entry.slug)
    directory = desk.engine.directory(HERE, "note")
    edges, inode = desk.edges("c"), desk.engine.new_inode()
    desk.reopen()
    assert sorted(desk.engine.entries(HERE), key=lambda entry: entry.slug) == before
    assert desk.engine.directory(HERE, "note") == directory
    assert desk.edges("c") == edges
    assert desk.engine.new_inode() > inode
    assert [hit.entry.slug for hit in desk.engine.search(HERE, "pumps").hits] == ["b"]
    desk.put("d", "[[a]]\n")
    assert desk.targets("d") == ["b"]
    desk.sound()
    desk.engine.close()


def test_a_directory_moves_its_time_with_its_entries_only(desk: Desk) -> None:
    desk.put("a", "x\n")
    first = desk.engine.directory(HERE, "note")
    desk.put("a", "y\n")
    desk.engine.set_attributes(HERE, desk.entry("a"), mtime_ns=3)
    assert desk.engine.directory(HERE, "note") == first
    for step in (lambda: desk.put("b", "x\n"), lambda: desk.mv("b", "c"), lambda: desk.rm("c")):
        before = desk.engine.directory(HERE, "note")[2]
        step()
        assert desk.engine.directory(HERE, "note")[2] > before
    assert desk.engine.set_directory(HERE, "note", mode=0o700, mtime_ns=9)[1:] == (0o700, 9)


def test_only_one_process_holds_a_store(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    with pytest.raises(StoreHeld):
        Engine.open(tmp_path, embed="off")
    desk.engine.close()


def test_another_model_is_refused_and_nothing_mixed(tmp_path: Path) -> None:
    desk = Desk(tmp_path, embed="inline", embedder=HashEmbedder())
    desk.put("x", "text\n")
    desk.engine.close()
    with pytest.raises(Unsupported, match="reindex --embed"):
        Desk(tmp_path, embed="inline", embedder=HashEmbedder(16, "other"))
    desk = Desk(tmp_path, embed="background", embedder=HashEmbedder(16, "other"), re_embed=True)
    desk.engine.reading.wait_for_vectors(120)
    assert desk.engine.status(HERE).pending_vectors == 0
    desk.sound()
    desk.engine.close()


def test_the_background_embeds_what_is_missing() -> None:
    embedder = HashEmbedder()
    desk = Desk(embed="background", embedder=embedder)
    desk.put("x", "# Title\n\nabout pumps\n")
    desk.engine.reading.wait_for_vectors(120)
    assert desk.engine.status(HERE).pending_vectors == 0
    assert any("about pumps" in text for text in embedder.texts)
    desk.mv("x", "y")
    desk.engine.reading.wait_for_vectors(120)
    texts = embedder.texts
    assert len([text for text in texts if "about pumps" in text]) == 1
    desk.sound()
    desk.engine.close()


def test_a_failing_listener_stops_neither_commits_nor_others(desk: Desk) -> None:
    def fail(change: object) -> None:
        raise RuntimeError("listener")

    end = desk.engine.subscribe(fail)
    desk.put("x", "text\n")
    end()
    end()
    assert [change.event for change in desk.heard] == ["create"]


def test_thousands_of_engrams_are_there_after_a_restart(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    drafts = [Draft("note", f"n{at}", b"# Note %d\n\nsome text here\n" % at) for at in range(4_000)]
    desk.engine.put_many(HERE, drafts)
    before = desk.engine.entries(HERE)
    desk.reopen()
    assert desk.engine.entries(HERE) == before and len(before) == 4_000
    assert desk.engine.search(HERE, "text").total == 4_000
    desk.engine.close()


_WRITER = """
import sys
from engine.engine import Engine
from engine.model import Draft
from engine.namespace import Scope

scope = Scope((), exact=True)
engine = Engine.open(sys.argv[1], embed="off")
for number in range(100_000):
    commit = engine.put(scope, Draft("note", f"n{number % 20}", b"text %d\\n" % number, by="w"))
    print(number, commit.entry.id, flush=True)
"""


def test_a_kill_loses_no_acknowledged_write_and_leaves_no_half(tmp_path: Path) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    lines = [writer.stdout.readline() for _ in range(60)]
    os.kill(writer.pid, signal.SIGKILL)
    lines += writer.stdout.readlines()
    writer.wait()
    acknowledged = [line.split() for line in lines if line.endswith("\n")]
    desk = Desk(tmp_path)
    last = {int(number) % 20: (int(number), id) for number, id in acknowledged}
    for slot, (number, id) in last.items():
        entry = desk.entry(f"n{slot}")
        assert entry.id == id
        written = int(desk.written(f"n{slot}").split()[1])
        assert written in (number, number + 20)
    desk.sound()
    desk.engine.close()


def test_notices_of_the_store_outlive_their_numbers(desk: Desk) -> None:
    for number in range(1_005):
        desk.engine.refuse(
            HERE,
            kind="note",
            slug=f"x{number}",
            path=f"note/x{number}.md",
            event="refused",
            problems=[Problem("wrong")],
            source=None,
        )
    notices = desk.engine.notices(HERE)
    assert len(notices) == 1_000 and notices[0].slug == "x1004"
    assert notices[0].at_ns > notices[-1].at_ns >= desk.clock.now - 3600 * SECOND_NS


def test_the_store_tells_questions_without_a_hit(desk: Desk) -> None:
    desk.put("x", with_id("0190a0b0-0000-7000-8000-000000000001"))
    assert desk.engine.search(HERE, "zebra").hits == ()
    status = desk.engine.status(HERE)
    assert status.misses == ("zebra",) and status.engrams == 1 and status.kinds == {"note": 1}


class _Absent(HashEmbedder):
    """A model whose files are missing until they are put there."""

    there = False

    @property
    def fingerprint(self) -> str:
        if not self.there:
            raise EmbedderFailed("the model is not there")
        return "absent"

    @fingerprint.setter
    def fingerprint(self, value: str) -> None:
        """Made by the class; ours is fixed."""

    def embed_passages(self, texts: Sequence[str]) -> Floats:
        if not self.there:
            raise EmbedderFailed("the model is not there")
        return super().embed_passages(texts)


def test_without_its_model_a_store_opens_and_says_so(tmp_path: Path) -> None:
    model = _Absent()
    desk = Desk(
        tmp_path, embed="background", embedder=model, config=Config(embed_retry_seconds=0.05)
    )
    desk.put("x", "about pumps\n")
    until(lambda: bool(desk.engine.status(HERE).problems))
    assert "the model is not there" in desk.engine.status(HERE).problems[0]
    assert desk.engine.status(HERE).pending_vectors == 2
    model.there = True
    until(lambda: not desk.engine.status(HERE).pending_vectors)
    until(lambda: not desk.engine.status(HERE).problems)
    status = desk.engine.status(HERE)
    assert (status.pending_vectors, status.model, status.problems) == (0, "absent", ())
    desk.engine.close()
    with pytest.raises(EmbedderFailed):
        Desk(tmp_path, embed="inline", embedder=_Absent())
