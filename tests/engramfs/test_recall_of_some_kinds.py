"""A mountpoint that shows some kinds recalls nothing of others, nor names them anywhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing

import pytest

from engine.config import Config
from engine.engine import Engine
from engine.errors import SummariserFailed
from engine.model import Draft, EdgeMeta
from engine.namespace import Scope
from engramfs.control import ControlFiles, ControlSettings
from engramfs.errors import FsError
from engramfs.ports import Process
from tests.engine.summaries import Counting

TREE = Scope((), exact=True)
CALLER = Process(pid=1, tid=1, uid=0, gid=0, sid=1)
DOCUMENTS = {
    "secret/vault": "---\ntitle: Hidden vault\n---\nThe pump has a hidden combination: xyzzy.\n",
    "note/pump": "The pump of the cellar.\n",
    "note/cellar": "A cellar without light.\n",
}


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    engine = Engine.open(":memory:", embed="off", config=Config(digests=False, demand=False))
    for path, text in DOCUMENTS.items():
        kind, _, slug = path.partition("/")
        if engine.catalogue.kind(kind) is None:
            engine.make_kind(kind)
        engine.put(TREE, Draft(kind, slug, text.encode()))
    for source, target in (("note/pump", "secret/vault"), ("secret/vault", "note/cellar")):
        engine.link(TREE, source, "opens", target, EdgeMeta(f"xyzzy pump, {target}"))
    engine.link(TREE, "note/pump", "derived_from", "secret/vault", EdgeMeta())
    engine.rebuild_digests(TREE)
    yield engine
    engine.close()


def answer(engine: Engine, request: str, kinds: frozenset[str] | None) -> str:
    files = ControlFiles(engine, TREE, ControlSettings("/some", only_kinds=kinds))
    try:
        return files.serve(request, CALLER).decode()
    finally:
        files.close()


REQUESTS = [
    f".recall?q=pump+xyzzy&{keys}&format={format}"
    for keys in (
        "limit=200", "surfaces=facts", "sources=on", "chunks=on", "trace=on", "hops=2&reverse=on",
        "altitude=tenant", "altitude=scope", "surfaces=digests", "themes=on&budget=512",
        "budget=0&sources=on", "trace=on&sources=on&chunks=on&fusion=rrf",
    )
    for format in ("md", "json")
]  # fmt: skip


@pytest.mark.parametrize(
    "request_",
    [*REQUESTS, ".briefing", ".match?prompt=hidden vault", ".digests?ask=map"],
)
def test_nothing_of_another_kind_is_told(engine: Engine, request_: str) -> None:
    hidden = engine.lookup(TREE, "secret", "vault")
    assert hidden is not None
    told = answer(engine, request_, frozenset({"note"}))
    for word in ("secret", "vault", "Hidden", "combination", hidden.id):
        assert word not in told
    everything = answer(engine, request_, None)
    assert "vault" in everything or "secret" in everything


@pytest.mark.parametrize(
    "request_",
    [".recall?q=pump+xyzzy", ".recall?", ".search?q=pump", ".find_objects?q=vault", ".briefing?",
     ".match?prompt=hidden vault"],
)  # fmt: skip
@pytest.mark.parametrize("kinds", ["secret", "secret,nosuch", "Secret,nosuch", "nosuch"])
def test_no_name_among_the_kinds_opens_another(engine: Engine, request_: str, kinds: str) -> None:
    """One that is not shown is refused like one that there is not."""
    for asked in (f"{request_}&kinds={kinds}", f"{request_}&kinds={kinds},note"):
        with pytest.raises(FsError, match=f"`{kinds.split(',')[0]}` is no kind or group .note."):
            answer(engine, asked, frozenset({"note"}))


def test_what_the_kinds_hold_is_told(engine: Engine) -> None:
    """Not the cellar, which only an engram of another kind leads to."""
    told = json.loads(answer(engine, ".recall?q=pump&format=json", frozenset({"note"})))
    assert {item["path"] for item in told["items"]} == {"note/pump.md"}
    everything = json.loads(answer(engine, ".recall?q=pump&format=json", None))
    assert "note/cellar.md" in {item["path"] for item in everything["items"]}
    assert all(item["relation"] is None and item["source_ids"] == [] for item in told["items"])


def test_no_digest_of_another_kind_is_said_to_be_missing() -> None:
    """Its name holds that of its kind, or the slug of an engram."""
    made = Counting()
    config = Config(digests=False)
    with closing(Engine.open(":memory:", embed="off", config=config, summariser=made)) as engine:
        engine.make_kind("secret")
        ring = "[[vault0]] [[vault1]] [[vault2]]\n"
        for slug in ("vault0", "vault1", "vault2"):
            engine.put(TREE, Draft("secret", slug, ring.encode()))
        engine.put(TREE, Draft("note", "pump", b"The pump of the cellar.\n"))
        engine.rebuild_digests(TREE)
        engine.put(TREE, Draft("secret", "vault0", f"more {ring}".encode()))
        engine.put(TREE, Draft("note", "pump", b"The pump of the garden.\n"))

        def fail(texts: object) -> None:
            raise SummariserFailed("it is out of paper")

        made.fail = fail
        engine.rebuild_digests(TREE)
        for altitude in ("scope", "tenant"):
            request = f".recall?q=pump&altitude={altitude}&budget=2000&format=json"
            everything = answer(engine, request, None)
            assert "community-vault0" in everything
            assert "kind-secret" in everything
            told = answer(engine, request, frozenset({"note"}))
            assert "vault" not in told
            assert "secret" not in told
            missing = [
                one["reason"] for one in json.loads(told)["degraded"] if one["what"] == "digests"
            ]
            assert missing == ["kind-note is missing: it is out of paper"]
