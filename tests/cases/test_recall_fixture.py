"""One fixture of requests and answers, asked of the engine and through every surface alike."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import yaml

from engine.config import Config
from engine.engine import Engine
from engine.errors import Invalid
from engine.filters import CORE_KEYS
from engine.model import Draft, EdgeMeta, Entry
from engine.namespace import Scope
from engine.recall.keys import keys_of
from engine.recall.request import parse_request
from engramfs import cli_ask  # noqa: F401  (it adds the command)
from engramfs.cli import run
from engramfs.cli_options import ask
from engramfs.wire import Failed
from tests.mounted import Mounted, engramfs, mounted

FIXTURE: Mapping[str, Any] = yaml.safe_load((Path(__file__).parent / "recall.yaml").read_text())
CASES: Mapping[str, Mapping[str, Any]] = FIXTURE["cases"]
SCOPE = Scope((), exact=True)

Ask = Callable[[Mapping[str, str]], dict[str, Any]]


class Refused(Exception):
    """A surface refused the request: what it said, wherever it says it."""


def pairs_of(case: Mapping[str, Any]) -> dict[str, str]:
    """The case's request. YAML reads on and off as booleans."""
    words = {True: "on", False: "off"}
    asked = {key: words.get(value, value) if isinstance(value, bool) else value
             for key, value in case["ask"].items()}  # fmt: skip
    asked.setdefault("format", "json")
    if "set" in asked:
        del asked["format"]
    return {key: str(value) for key, value in asked.items()}


def by_engine(engine: Engine) -> Ask:
    def path_of(entry: Entry) -> str:
        return f"{entry.kind}/{entry.name}.md"

    def asked(pairs: Mapping[str, str]) -> dict[str, Any]:
        try:
            request = parse_request(pairs.items(), engine.catalogue, engine.config)
        except Invalid as error:
            raise Refused("\n".join(f"{one.key}: {one}" for one in error.problems)) from error
        packed = engine.recall(SCOPE, request, path_of=path_of)
        answer: dict[str, Any] = json.loads(packed.rendered)
        return answer

    return asked


def refusals(mount: Mounted) -> str:
    """All that was refused: the same refusal again is told once, in its place."""
    return "\n".join(
        f"{problem['key']}: {problem['message']} ({problem['hint']})"
        for notice in json.loads((mount.root / ".errors?format=json").read_text())
        for problem in notice["problems"]
    )


def by_name(mount: Mounted) -> Ask:
    def asked(pairs: Mapping[str, str]) -> dict[str, Any]:
        try:
            text = (mount.root / f".recall?{urlencode(pairs)}").read_bytes()
        except OSError as error:
            assert error.errno == 22
            raise Refused(refusals(mount)) from error
        answer: dict[str, Any] = json.loads(text)
        return answer

    return asked


def by_writing(mount: Mounted) -> Ask:
    def asked(pairs: Mapping[str, str]) -> dict[str, Any]:
        handle = os.open(mount.root / ".recall", os.O_RDWR)
        try:
            os.write(handle, json.dumps(dict(pairs)).encode())
            text = b""
            while more := os.read(handle, 1 << 20):
                text += more
        except OSError as error:
            assert error.errno == 22
            raise Refused(refusals(mount)) from error
        finally:
            os.close(handle)
        answer: dict[str, Any] = json.loads(text)
        return answer

    return asked


def by_socket(mount: Mounted) -> Ask:
    def asked(pairs: Mapping[str, str]) -> dict[str, Any]:
        try:
            said = ask("recall", mount.store, (), {"pairs": [list(pair) for pair in pairs.items()]})
        except Failed as error:
            assert error.exit_code == 2
            raise Refused(str(error)) from error
        answer: dict[str, Any] = json.loads(said["text"])
        return answer

    return asked


def by_command(mount: Mounted, capsys: pytest.CaptureFixture[str]) -> Ask:
    def asked(pairs: Mapping[str, str]) -> dict[str, Any]:
        words = [f"--{key}={value}" for key, value in pairs.items() if key != "q"]
        question = ["--", pairs["q"]] if "q" in pairs else []
        capsys.readouterr()
        code = run(["recall", "--store", str(mount.store), *words, *question])
        said = capsys.readouterr()
        if code:
            assert code == 2
            raise Refused(said.err)
        answer: dict[str, Any] = json.loads(said.out)
        return answer

    return asked


@dataclass(frozen=True)
class Surfaces:
    mount: Mounted
    engine: Engine


@pytest.fixture(scope="module")
def surfaces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surfaces]:
    place = tmp_path_factory.mktemp("recall")
    config = Config(digests=False, demand=False)  # what would change while they are asked
    engine = Engine.open(":memory:", kinds=FIXTURE["kinds"], embed="inline", config=config)
    (place / "store").mkdir()
    (place / "store" / "config.toml").write_text("digests = false\ndemand = false\n")
    with mounted(place, ("--embed", "inline"), FIXTURE["kinds"]) as mount:
        for path, text in FIXTURE["documents"].items():
            kind, _, slug = path.partition("/")
            engine.put(SCOPE, Draft(kind, slug, text.encode()))
            (mount.root / f"{path}.md").write_text(text)
        for link in FIXTURE["links"]:
            meta = EdgeMeta(link["note"], role=link["role"], confidence=link["confidence"])
            engine.link(SCOPE, link["from"], link["relation"], link["to"], meta)
            words = [f"--{key}={link[key]}" for key in ("note", "role", "confidence")]
            engramfs("link", link["from"], link["relation"], link["to"], *words,
                     "--store", mount.store)  # fmt: skip
        yield Surfaces(mount, engine)
    engine.close()


WAYS = ("engine", "name", "written", "socket", "command")


@pytest.fixture(params=WAYS)
def way(
    request: pytest.FixtureRequest, surfaces: Surfaces, capsys: pytest.CaptureFixture[str]
) -> Ask:
    mount = surfaces.mount
    return {
        "engine": lambda: by_engine(surfaces.engine),
        "name": lambda: by_name(mount),
        "written": lambda: by_writing(mount),
        "socket": lambda: by_socket(mount),
        "command": lambda: by_command(mount, capsys),
    }[str(request.param)]()


def name_of(item: Mapping[str, Any]) -> str:
    fact = item["fact"]
    if fact is not None:
        return f"{fact['source']} {fact['relation']} {fact['target']}"
    return str(item["path"])


@pytest.mark.parametrize("name", [name for name in CASES if "refused" in CASES[name]])
def test_a_wrong_request_is_refused_alike(way: Ask, name: str) -> None:
    _, said = CASES[name]["refused"]
    with pytest.raises(Refused) as caught:
        way(pairs_of(CASES[name]))
    assert any(str(said) in line for line in str(caught.value).splitlines()), str(caught.value)


@pytest.mark.parametrize("name", [name for name in CASES if "refused" not in CASES[name]])
def test_a_request_has_its_answer(way: Ask, name: str) -> None:
    case = CASES[name]
    answer = way(pairs_of(case))
    items = answer["items"]
    names = [name_of(item) for item in items]
    assert answer["tokens"] > 0
    if "items" in case:
        assert names == case["items"]
    if "names" in case:
        assert sorted(names) == sorted(case["names"])
    if "first" in case:
        assert names[0] == case["first"]
    if "count" in case:
        assert len(names) == case["count"]
    assert not set(case.get("without", ())) & set(names)
    for key, value in case.get("controls", {}).items():
        assert answer["controls"][key] == value
    for key in ("truncated", "untagged", "counter"):
        if key in case:
            assert answer[key] == case[key]
    if "warns" in case:
        assert any(case["warns"] in warning for warning in answer["warnings"])
    if "degraded" in case:
        assert case["degraded"] in [one["what"] for one in answer["degraded"]]
    else:
        assert answer["degraded"] == []
    if "holds" in case:
        body, passages = case["holds"]
        assert (items[0]["body"] is None) == (body is None)
        assert body is None or items[0]["body"].startswith(body)
        assert len(items[0]["passages"]) == passages
    if "repeats" in case:
        assert [item["same_as"] for item in items].count(None) == len(items) - case["repeats"]
    if "sources" in case:
        named = {f"{path.partition('.')[0]}": id for id, path in (
            (id, one["path"]) for id, one in answer["sources"].items())}  # fmt: skip
        assert list(named) == case["sources"]
        silent = case["ask"].get("sources") is False
        assert len(items[0]["source_ids"]) == (0 if silent else 2)
    if "chunks" in case:
        assert [chunk["path"] for chunk in answer["chunks"]] == case["chunks"]
    assert ("trace" in answer) == case.get("traced", False)


def test_every_surface_gives_the_same_answer(
    surfaces: Surfaces, capsys: pytest.CaptureFixture[str]
) -> None:
    ways = {
        "engine": by_engine(surfaces.engine),
        "name": by_name(surfaces.mount),
        "written": by_writing(surfaces.mount),
        "socket": by_socket(surfaces.mount),
        "command": by_command(surfaces.mount, capsys),
    }
    for name, case in CASES.items():
        if "refused" in case or case.get("traced"):
            continue
        answers = {way: comparable(asked(pairs_of(case))) for way, asked in ways.items()}
        for way, answer in answers.items():
            assert list(answer) == list(answers["engine"])
            for key, value in answers["engine"].items():
                assert answer[key] == value, (name, way, key)


def comparable(answer: dict[str, Any]) -> dict[str, Any]:
    """Without what the clock has a part in: scores, and the counts of their digits."""
    items = [{**item, "score": 0, "tokens": 0} for item in answer["items"]]
    chunks = [{**chunk, "score": 0} for chunk in answer["chunks"]]
    return {**answer, "items": items, "chunks": chunks, "tokens": 0, "token": ""}


def test_every_key_is_accepted_and_refused_somewhere(surfaces: Surfaces) -> None:
    keys = {key for key in keys_of(surfaces.engine.config) if not key.endswith(".NAME")}
    accepted = {key for case in CASES.values() if "refused" not in case for key in case["ask"]}
    refused = {case["refused"][0] for case in CASES.values() if "refused" in case}
    # A filter is refused as any other is; a format is asked for everywhere; fresh waits.
    alike = (CORE_KEYS - {"kinds"}) | {"format", "fresh", "set", "namespace.NAME"}
    assert keys - accepted - alike == set()
    floors = {"min_score.vector", "min_score.graph", "min_score.temporal"}
    assert keys - refused - alike - floors == set()
