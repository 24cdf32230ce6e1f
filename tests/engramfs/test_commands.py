"""Commands on a store: what a request means to whoever has it open."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from engine.config import Config
from engine.embed import Floats
from engine.engine import Engine
from engine.errors import EmbedderFailed, NotFound
from engine.model import Draft
from engine.namespace import Scope
from engramfs.answers import Packs
from engramfs.commands import Host, perform
from engramfs.control import ControlFiles, ControlSettings
from engramfs.ports import Process
from engramfs.wire import Failed
from tests.engine.hash_embedder import HashEmbedder

TREE = Scope((), exact=True)
CALLER = Process(pid=1, tid=1, uid=0, gid=0, sid=1)


@pytest.fixture
def host() -> Iterator[Host]:
    engine = Engine.open(":memory:", embed="off")
    engine.make_kind("note")
    engine.put(TREE, Draft("note", "pumps", b"Why the pumps overheat: grease.\n"))
    yield Host(engine, Path("/store"), (), ("/engram",))
    engine.close()


def recall(host: Host, namespace: object = None, **pairs: str) -> str:
    arguments = {"pairs": list(pairs.items())}
    request = {"command": "recall", "namespace": namespace, "arguments": arguments}
    return str(perform(host, request, lambda _: None)["text"])


def test_an_answer_is_had_again_by_its_token(host: Host) -> None:
    answer = recall(host, q="pumps", format="json")
    assert recall(host, set=json.loads(answer)["token"]) == answer


def test_a_token_that_nobody_was_given_is_no_empty_answer(host: Host) -> None:
    with pytest.raises(NotFound, match="no answer has the token a000a000"):
        recall(host, set="a000a000")


def test_a_command_reads_what_a_mount_was_told_and_no_scope_another_one(host: Host) -> None:
    files = ControlFiles(host.engine, TREE, ControlSettings("/engram"), packs=host.packs)
    answer = files.serve(".recall?q=pumps&format=json", CALLER).decode()
    token = json.loads(answer)["token"]
    assert recall(host, set=token) == answer
    for namespace in ([["team", "sales"]],):
        with pytest.raises(NotFound):
            recall(host, namespace, set=token)
    files.close()


def test_packs_belong_to_their_owner() -> None:
    packs = Packs(lambda: 0.0)
    packs.put("/deal", "a000a000", b"one")
    assert packs.again("a000a000", "/person", "/deal") == b"one"
    with pytest.raises(NotFound):
        packs.again("a000a000", "/person")


def test_a_bad_key_is_a_fault_of_usage(host: Host) -> None:
    with pytest.raises(Failed) as failed:
        recall(host, q="pumps", budget="63")
    assert failed.value.exit_code == 2


class TiredModel(HashEmbedder):
    """Answers the probe of its first text, then fails."""

    def embed_passages(self, texts: Sequence[str]) -> Floats:
        if self.texts:
            raise EmbedderFailed("the model ran out of memory", "use a smaller one")
        return super().embed_passages(texts)


@pytest.mark.parametrize("model", [HashEmbedder, TiredModel])
def test_reindexing_with_vectors_ends_with_all_of_them_or_says_why_not(
    model: type[HashEmbedder],
) -> None:
    engine = Engine.open(":memory:", embedder=model(), config=Config(embed_batch=1))
    engine.make_kind("note")
    for number in range(3):
        engine.put(TREE, Draft("note", f"n{number}", f"words of number {number}\n".encode()))
    request = {"command": "reindex", "namespace": None, "arguments": {"embed": True}}
    if model is HashEmbedder:
        assert perform(Host(engine, Path("/store")), request, lambda _: None)["pending"] == 0
        assert engine.status(TREE).pending_vectors == 0
    else:
        with pytest.raises((Failed, EmbedderFailed), match="the model ran out of memory"):
            perform(Host(engine, Path("/store")), request, lambda _: None)
    engine.close()
