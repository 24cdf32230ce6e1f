"""The control files over a real engine: what is committed is found, what is refused is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from engine.embed import Floats
from engine.engine import Engine
from engine.model import Draft
from engine.namespace import Scope
from engramfs.control import ControlFiles, ControlSettings
from engramfs.errors import FsError
from engramfs.ports import Process
from tests.engine.hash_embedder import HashEmbedder
from tests.waiting import until

SCOPE = Scope((), exact=True)
CALLER = Process(pid=1, tid=1, uid=0, gid=0, sid=1)
KINDS = """\
kinds:
  deal:
    fields:
      stage: {type: string, enum: [open, won], required: true}
  note: {}
groups: {all: [deal, note]}
"""


class Held(HashEmbedder):
    """Embeds nothing before it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go = threading.Event()

    def embed_passages(self, texts: Sequence[str]) -> Floats:
        assert self.let_go.wait(120)
        return super().embed_passages(texts)


@pytest.fixture
def engine() -> Iterator[Engine]:
    engine = Engine.open(":memory:", kinds=KINDS, embed="off")
    put(engine, "deal", "acme", "---\nstage: open\n---\n# Acme\n\nThe zebra contract.\n")
    put(engine, "note", "pumps", "Why the pumps overheat: grease.\n")
    yield engine
    engine.close()


@pytest.fixture
def files(engine: Engine) -> Iterator[ControlFiles]:
    files = ControlFiles(engine, SCOPE, ControlSettings("/engram"))
    yield files
    files.close()


def put(engine: Engine, kind: str, slug: str, text: str) -> None:
    engine.put(SCOPE, Draft(kind, slug, text.encode()))


def cat(files: ControlFiles, name: str) -> str:
    return files.serve(name, CALLER).decode()


def test_an_answer_asked_again_follows_kinds_and_digests(
    engine: Engine, files: ControlFiles
) -> None:
    assert "No kind is marked" in cat(files, ".briefing")
    engine.apply_kinds(KINDS.replace("note: {}", "note: {briefing: convention}"))
    assert "No kind is marked" not in cat(files, ".briefing")
    name = ".recall?q=zebra&altitude=tenant"
    assert ".digests/tenant.md" not in cat(files, name)
    engine.rebuild_digests(SCOPE)
    assert "## .digests/tenant.md" in cat(files, name)


def test_an_answer_asked_again_follows_vectors(tmp_path: Path) -> None:
    embedder = Held()
    engine = Engine.open(tmp_path, embed="background", embedder=embedder, kinds=KINDS)
    files = ControlFiles(engine, SCOPE, ControlSettings("/engram"))
    try:
        put(engine, "note", "pumps", "Why the pumps overheat: grease.\n")
        assert "pending" in cat(files, ".recall?q=grease")
        embedder.let_go.set()
        until(lambda: not engine.status(SCOPE).pending_vectors)
        assert "pending" not in cat(files, ".recall?q=grease")
    finally:
        embedder.let_go.set()
        files.close()
        engine.close()


def test_recall_follows_every_commit_at_once(engine: Engine, files: ControlFiles) -> None:
    assert "## deal/acme.md" in cat(files, ".recall?q=zebra")
    put(engine, "deal", "acme", "---\nstage: open\n---\n# Acme\n\nThe giraffe contract.\n")
    assert "## deal/acme.md" not in cat(files, ".recall?q=zebra")
    assert "## deal/acme.md" in cat(files, ".recall?q=giraffe")
    entry = engine.lookup(SCOPE, "deal", "acme")
    assert entry is not None
    engine.rename(SCOPE, entry.id, "deal", "acme corp", name="acme corp")
    assert "## deal/acme corp.md" in cat(files, ".recall?q=giraffe")
    engine.delete(SCOPE, entry.id)
    assert "acme" not in cat(files, ".recall?q=giraffe").partition("---\n\n")[2]


def test_recall_in_json_and_by_token(files: ControlFiles) -> None:
    answer = cat(files, ".recall?q=why+do+pumps+overheat&format=json&budget=600")
    pack = json.loads(answer)
    assert pack["items"][0]["path"] == "note/pumps.md"
    assert cat(files, f".recall?set={pack['token']}") == answer


def test_search_with_operators(files: ControlFiles) -> None:
    page = json.loads(cat(files, '.search?q="zebra contract"&format=json'))
    assert [item["path"] for item in page["items"]] == ["deal/acme.md"]
    assert page["items"][0]["properties"] == {"stage": "open"}
    assert json.loads(cat(files, ".search?q=contract -zebra&format=json"))["items"] == []
    assert "## note/pumps.md" in cat(files, ".search?q=grease&kinds=all")


def test_what_is_wrong_is_told_with_the_valid_range(files: ControlFiles) -> None:
    with pytest.raises(FsError) as caught:
        files.serve(".recall?q=a&budget=7&kinds=dael", CALLER)
    assert caught.value.code == "EINVAL"
    told = cat(files, ".errors")
    assert told.startswith(".recall?q=a&budget=7&kinds=dael  ")
    assert "64 to 32768" in told and "dael" in told and "deal, note" in told
    assert json.loads(cat(files, ".errors?format=json"))[0]["event"] == "request"


@pytest.mark.parametrize("name", [".schema?kind=deal&kind=note", ".errors?format=md&format=json"])
def test_a_report_takes_each_key_once(files: ControlFiles, name: str) -> None:
    with pytest.raises(FsError) as caught:
        files.serve(name, CALLER)
    assert caught.value.code == "EINVAL"
    assert "is given 2 times (give it once)" in cat(files, ".errors")


def test_a_miss_is_told_by_status(files: ControlFiles) -> None:
    assert "## " not in cat(files, ".recall?q=xylophone")
    cat(files, ".recall?q=" + "marimba" * 90)
    status = json.loads(cat(files, ".status?format=json"))
    assert [len(question) for question in status["misses"]] == [200, len("xylophone")]
    assert status["misses"][1] == "xylophone"
    assert (status["engrams"], status["kinds"]) == (2, {"deal": 1, "note": 1})


def test_a_root_never_answers_for_another_kind(engine: Engine) -> None:
    files = ControlFiles(engine, SCOPE, ControlSettings("/deal", root_kind="deal"))
    assert "## " not in cat(files, ".recall?q=pumps")
    assert "## acme.md" in cat(files, ".recall?q=contract")
    assert "## acme.md" in cat(files, ".search?q=contract")
    assert "at\n<slug>.md. Edit" in cat(files, ".help")
    files.close()


def test_events_tell_each_commit_after_the_mount(engine: Engine, files: ControlFiles) -> None:
    put(engine, "note", "new", "text\n")
    entry = engine.lookup(SCOPE, "note", "new")
    assert entry is not None
    engine.rename(SCOPE, entry.id, "note", "newer", name="newer")
    engine.delete(SCOPE, entry.id)
    lines = [json.loads(line) for line in cat(files, ".events").splitlines()]
    assert [(line["event"], line["path"]) for line in lines] == [
        ("create", "note/new.md"),
        ("rename", "note/newer.md"),
        ("delete", "note/newer.md"),
    ]
    assert {line["id"] for line in lines} == {entry.id}


def test_the_schema_of_a_store(files: ControlFiles) -> None:
    assert "- stage: string; required; one of open, won; filter prop.stage" in cat(files, ".schema")
    assert json.loads(cat(files, ".schema?kind=note&format=json"))["kinds"][0]["name"] == "note"
