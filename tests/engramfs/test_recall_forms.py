"""The forms of a recall: written as JSON, counted by a host's own counter, explained by command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.config import Config
from engine.engine import Engine
from engine.model import Draft
from engine.namespace import Scope
from engramfs import cli_ask  # noqa: F401  (it adds the command)
from engramfs.cli import run
from engramfs.commands import Host, perform
from engramfs.control import ControlFiles, ControlSettings
from engramfs.errors import FsError
from engramfs.ports import Process
from engramfs.wire import Failed

TREE = Scope((), exact=True)
CALLER = Process(pid=1, tid=1, uid=0, gid=0, sid=1)
KINDS = """
kinds:
  note: {fields: {stage: {type: string, enum: [open, won, lost]}}}
  task: {}
  rule: {}
"""
DOCUMENTS = {
    "note/pump": "---\ntags: [hot, cold]\nstage: open\n---\nThe pump overheats without grease.\n",
    "note/valve": "---\ntags: [cold]\nstage: lost\nsource_role: tool\n---\nA valve of the pump.\n",
    "task/mend": "Mend the pump.\n",
    "rule/oil": "No oil in a pump.\n",
}


def words(text: str) -> int:
    return len(text.split())


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    config = Config(demand=False, digests=False)
    engine = Engine.open(
        ":memory:", embed="off", kinds=KINDS, counters={"words": words}, config=config
    )
    for path, text in DOCUMENTS.items():
        kind, _, slug = path.partition("/")
        engine.put(TREE, Draft(kind, slug, text.encode()))
    yield engine
    engine.close()


@pytest.fixture
def files(engine: Engine) -> Iterator[ControlFiles]:
    files = ControlFiles(engine, TREE, ControlSettings("/engram"))
    yield files
    files.close()


def written(files: ControlFiles, request: object) -> dict[str, Any]:
    """The answer on the handle that the request was written to, in JSON."""
    handle = files.session(".recall", CALLER)
    data = json.dumps(request).encode()
    handle.write(data, 0)
    answer: dict[str, Any] = json.loads(handle.read(1 << 20, len(data)))
    return answer


@pytest.mark.parametrize(
    ("asked", "controls"),
    [
        ({"kinds": ["task", "note"]}, {"kinds": ["note", "task"]}),
        ({"tags": ["hot", "cold"], "tags_match": "all"}, {"tags": ["cold", "hot"]}),
        ({"min_score": 0.25}, {"min_score": 0.25, "min_score.lexical": 0}),
        (
            {"min_score": {"lexical": 0.2, "graph": 0.5}},
            {"min_score": 0, "min_score.lexical": 0.2, "min_score.graph": 0.5},
        ),
        ({"weights": {"lexical": 2, "vector": 0.5}}, {"weights": {
            "lexical": 2, "vector": 0.5, "exact": 1, "graph": 1, "temporal": 1}}),
        ({"channels": ["exact", "lexical"]}, {"channels": ["lexical", "exact"]}),
        ({"source_roles": ["tool"]}, {"source_roles": ["tool"]}),
        ({"surfaces": ["facts", "reports"]}, {"surfaces": ["facts", "digests"]}),
        ({"prop": {"stage": ["open", "won"]}}, {"prop.stage": "open,won"}),
        ({"scope_ids": ["note/pump", "rule/oil"]}, {"scope_ids": "note/pump,rule/oil"}),
        ({"sources": True, "chunks": 1}, {"sources": True, "chunks": True}),
        ({"max_source_tokens": 9, "max_chunk_tokens": 8, "sources": "on", "chunks": "on"},
         {"max_source_tokens": 9, "max_chunk_tokens": 8}),
        ({"themes": True, "altitude": "entity"}, {"themes": True, "altitude": "entity"}),
        ({"now": "2026-04-05", "as_of": "2100-01-01T00:00:00Z"},
         {"now": "2026-04-05T00:00:00+00:00", "as_of": "2100-01-01T00:00:00+00:00"}),
        ({"depth": "high", "hops": 7, "reverse": True, "seeds": 32},
         {"k": 100, "hops": 2, "reverse": True, "seeds": 32}),
        ({"max_characters": 500, "limit": 500}, {"max_characters": 500, "limit": 200}),
    ],
    ids=lambda value: ",".join(value),
)  # fmt: skip
def test_every_form_of_a_key_can_be_written_as_json(
    files: ControlFiles, asked: dict[str, object], controls: dict[str, object]
) -> None:
    answer = written(files, {"q": "pump", "format": "json", **asked})
    assert answer["controls"] | controls == answer["controls"]


def test_what_is_written_decides_what_is_found(files: ControlFiles) -> None:
    def found(**asked: object) -> set[str]:
        answer = written(files, {"q": "pump", "format": "json", "surfaces": ["engrams"], **asked})
        return {item["path"] for item in answer["items"]}

    assert len(found()) == 4
    assert found(kinds=["task", "rule"]) == {"task/mend.md", "rule/oil.md"}
    assert found(tags=["hot", "new"], tags_match="any_strict") == {"note/pump.md"}
    assert found(prop={"stage": ["lost", "won"]}) == {"note/valve.md"}
    assert found(source_roles=["tool", "system"]) == {"note/valve.md"}
    assert found(scope_ids=["rule/oil", "note/pump"]) == {"rule/oil.md", "note/pump.md"}
    assert found(min_score={"lexical": 1}) < found(min_score={"lexical": 0.01})


@pytest.mark.parametrize(
    ("asked", "key"),
    [
        ({"min_score": {"exact": 0.1}}, "min_score.exact"),
        ({"min_score": {"lexical": {"least": 1}}}, "min_score.lexical"),
        ({"min_score": [0.1, 0.2]}, "min_score"),
        ({"weights": {"lexical": "much"}}, "weights"),
        ({"weights": {"lexical": None}}, "weights"),
        ({"weights": {}}, "weights"),
        ({"weights": "lexical:1,lexical:2"}, "weights"),
        ({"tags": []}, "tags"),
        ({"kinds": []}, "kinds"),
        ({"surfaces": []}, "surfaces"),
        ({"source_roles": []}, "source_roles"),
        ({"channels": []}, "channels"),
        ({"prop": {"stage": []}}, "prop.stage"),
        ({"scope_ids": []}, "scope_ids"),
        ({"title": []}, "title"),
        ({"min_score": {}}, "min_score"),
        ({"prop": {}}, "prop"),
        ({"surfaces": ["facts", "facts"]}, "surfaces"),
        ({"budget": {"most": 100}}, "budget"),
        ({"as_of": None}, "as_of"),
    ],
)
def test_what_is_no_value_in_json_is_refused_by_its_key(
    files: ControlFiles, asked: dict[str, object], key: str
) -> None:
    with pytest.raises(FsError) as refused:
        written(files, {"q": "pump", "format": "json", **asked})
    assert refused.value.code == "EINVAL"
    assert key in str(refused.value)


@pytest.mark.parametrize("format", ["md", "json"])
def test_a_counter_of_the_host_counts_the_very_answer(files: ControlFiles, format: str) -> None:
    for budget in (64, 100, 512, 4096):
        if format == "json" and budget < 512:
            continue
        name = f".recall?q=pump&counter=words&format={format}&budget={budget}"
        text = files.serve(name, CALLER).decode()
        if format == "json":
            said = json.loads(text)["tokens"]
            assert json.loads(text)["counter"] == "words"
        else:
            said = int(text.split("tokens: ")[1].split()[0])
        assert said == words(text) <= budget


def test_refusals_name_the_counters_of_the_host(engine: Engine, files: ControlFiles) -> None:
    with pytest.raises(FsError, match=r"o200k, cl100k, bytes4, model, words"):
        files.serve(".recall?q=pump&counter=letters", CALLER)
    pairs = [["q", "pump"], ["counter", "letters"]]
    request = {"command": "recall", "arguments": {"pairs": pairs}}
    with pytest.raises(Failed, match="o200k, cl100k, bytes4, model, words"):
        perform(Host(engine, Path("/store")), request, lambda _: None)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    engine = Engine.open(tmp_path / "store", embed="off", kinds=KINDS)
    for path, text in DOCUMENTS.items():
        kind, _, slug = path.partition("/")
        engine.put(TREE, Draft(kind, slug, text.encode()))
    engine.close()
    monkeypatch.setenv("ENGRAMFS_EMBED", "off")
    return tmp_path / "store"


def test_a_command_explains_in_both_formats(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["recall", "--store", str(store), "--kinds", "note", "--min-score.lexical", "0.99"]
    assert run([*asked, "--explain", "pump", "grease"]) == 0
    told = capsys.readouterr().out
    answer, _, trace = told.partition("\n# trace\n")
    assert "## note/pump.md" in answer
    assert all(line.startswith(">") for line in trace.splitlines())
    assert "note/valve.md: it is below a min_score" in trace
    assert "task/mend.md: a filter takes it out" in trace
    assert run([*asked, "--explain", "--format=json", "pump", "grease"]) == 0
    trace = json.loads(capsys.readouterr().out)["trace"]
    assert {one["path"]: one["why"] for one in trace["dropped"]}["note/valve.md"] == (
        "it is below a min_score"
    )
    assert run([*asked, "pump", "grease"]) == 0
    assert "# trace" not in capsys.readouterr().out
