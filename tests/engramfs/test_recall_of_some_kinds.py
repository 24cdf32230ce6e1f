"""A mountpoint that shows some kinds recalls nothing of others, nor names them anywhere."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from engine.config import Config
from engine.engine import Engine
from engine.model import Draft, EdgeMeta
from engine.namespace import Scope
from engramfs.control import ControlFiles, ControlSettings
from engramfs.ports import Process

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


def test_what_the_kinds_hold_is_told(engine: Engine) -> None:
    told = json.loads(answer(engine, ".recall?q=pump&format=json", frozenset({"note"})))
    assert {item["path"] for item in told["items"]} == {"note/pump.md", "note/cellar.md"}
    assert all(item["relation"] is None and item["source_ids"] == [] for item in told["items"])
