"""The digest commands, in the process that has the store open."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from engine.config import Config
from engine.engine import Engine
from engine.errors import Conflict, GuardRefused, NotFound, SummariserFailed
from engine.model import Draft
from engine.namespace import Scope
from engine.ports import Text
from engramfs.commands import Host, perform
from engramfs.wire import Failed, Message

SALES = Scope((("team", "sales"),), exact=True)
KINDS = "kinds: {note: {}, deal: {}}\n"


class Said:
    """A summariser that says what it was given, and fails on a word."""

    fingerprint = "said"

    def __init__(self) -> None:
        self.calls = 0

    def summarise(self, texts: Sequence[Text], tokens: int) -> str:
        self.calls += 1
        if any("broken" in passage for text in texts for passage in text.passages):
            raise SummariserFailed("it cannot read \x1b[2J this", "mend it")
        return f"# of {len(texts)}\n---\n" + "\n".join(text.name for text in texts) + "\x07"

    def stop(self) -> None:
        """Nothing runs."""


def vet(texts: Sequence[Text]) -> None:
    if any("secret" in passage for text in texts for passage in text.passages):
        raise GuardRefused("it holds a secret")


@pytest.fixture
def said() -> Said:
    return Said()


@pytest.fixture
def host(said: Said) -> Iterator[Host]:
    engine = Engine.open(
        ":memory:", kinds=KINDS, embed="off", config=Config(digests=False), summariser=said,
        guard=vet,
    )  # fmt: skip
    for slug in ("a", "b"):
        engine.put(SALES, Draft("note", slug, f"Note {slug}.\n".encode()))
    engine.put(SALES, Draft("deal", "acme", b"Acme buys.\n"))
    engine.put(Scope((), exact=True), Draft("note", "other", b"Of nobody.\n"))
    yield Host(engine, Path("/store"), SALES.attributes, ("/engram",))
    engine.close()


def run(host: Host, ask: str, namespace: object = None, **arguments: object) -> dict[str, Any]:
    request = {"command": "digest", "namespace": namespace, "arguments": {"ask": ask, **arguments}}
    return perform(host, request, lambda _: None)


def outline(host: Host, **pairs: str) -> str:
    return str(run(host, "map", pairs=list(pairs.items()))["text"])


def test_rebuilding_makes_what_is_missing_and_tells_how_far_it_is(host: Host, said: Said) -> None:
    told: list[Message] = []
    request = {"command": "digest", "namespace": None, "arguments": {"ask": "rebuild"}}
    assert perform(host, request, told.append) == {"made": 3, "failed": []}
    assert told[-1] == {"done": 3, "total": 3}
    calls = said.calls
    assert run(host, "rebuild") == {"made": 3, "failed": []}
    assert said.calls == calls  # nothing changed
    assert run(host, "rebuild", name="kind-deal", anew=True) == {"made": 1, "failed": []}
    assert said.calls > calls


def test_only_the_one_named_is_made(host: Host) -> None:
    assert run(host, "rebuild", name="kind-deal") == {"made": 1, "failed": []}
    assert re.findall("not made yet", outline(host)) == ["not made yet"] * 2
    with pytest.raises(NotFound, match="no digest kind-cake"):
        run(host, "rebuild", name="kind-cake")


def test_the_namespace_is_the_one_named_else_the_mounts(host: Host) -> None:
    run(host, "rebuild")
    run(host, "rebuild", namespace=[])
    assert "deal/acme" in run(host, "show", name="kind-deal")["text"]
    with pytest.raises(NotFound):
        run(host, "show", namespace=[["team", "none"]], name="kind-deal")


def test_a_digest_is_shown_quoted_with_what_is_below_it(host: Host) -> None:
    run(host, "rebuild")
    text = run(host, "show", name="kind-note")["text"]
    head, _, rest = text.removeprefix("---\n").partition("---\n")
    assert 'scope: "kind-note"' in head and 'namespace: "team=sales"' in head
    assert rest == (
        "\n> # of 2\n> ---\n> note/a\n> note/b\\x07\n\n# below it\nnote/a.md\nnote/b.md\n"
    )
    tenant = run(host, "show", name="tenant")["text"]
    assert tenant.endswith("# below it\nkind-deal\nkind-note\n")
    shown = json.loads(run(host, "show", name="kind-note", json=True)["text"])
    assert shown["children"] == ["note/a.md", "note/b.md"]
    assert shown["text"] == "# of 2\n---\nnote/a\nnote/b\x07"


def test_a_stale_one_is_not_shown_and_says_what_to_do(host: Host) -> None:
    run(host, "rebuild")
    host.engine.put(SALES, Draft("note", "a", b"Note a, changed.\n"))
    with pytest.raises(Conflict, match="kind-note does not say what its engrams say now") as failed:
        run(host, "show", name="kind-note")
    assert failed.value.hint.endswith("engramfs digest rebuild kind-note")
    with pytest.raises(NotFound, match="no digest nowhere") as missing:
        run(host, "show", name="nowhere")
    assert missing.value.hint == "there are: tenant, kind-deal, kind-note"


def test_what_cannot_be_made_says_why_and_the_others_are(host: Host) -> None:
    host.engine.put(SALES, Draft("note", "c", b"This is broken.\n"))
    host.engine.put(SALES, Draft("deal", "b", b"This is secret.\n"))
    found = run(host, "rebuild")
    why = dict(found["failed"])
    assert found["made"] == 0 and sorted(why) == ["kind-deal", "kind-note", "tenant"]
    assert "it cannot read \\x1b[2J this" in why["kind-note"]
    assert "it holds a secret" in why["kind-deal"]
    told = outline(host)
    assert "kind-note: Kind note, failed: " in told and "\x1b" not in told
    with pytest.raises(Conflict, match=r"failed: .*it holds a secret"):
        run(host, "show", name="kind-deal")
    values = json.loads(outline(host, format="json"))
    by_name = {each["scope"]: each for each in values["digests"]}
    assert by_name["kind-deal"]["stale"] is True
    assert "it holds a secret" in by_name["kind-deal"]["problem"]


def test_what_cannot_be_made_anew_has_failed_though_it_is_not_stale(
    host: Host, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(host, "rebuild")

    def fails(texts: Sequence[Text], tokens: int) -> str:
        raise SummariserFailed("gone")

    monkeypatch.setattr(said, "summarise", fails)
    found = run(host, "rebuild", anew=True)
    assert found["made"] == 0
    assert "failed: gone" in dict(found["failed"]).values()
    monkeypatch.undo()
    assert run(host, "rebuild")["failed"] == []


def test_a_known_map_is_not_told_again(host: Host) -> None:
    run(host, "rebuild")
    known = json.loads(outline(host, format="json"))["map"]
    assert outline(host, known=known.upper()) == "unchanged\n"
    assert json.loads(outline(host, known=known, format="json")) == {
        "map": known, "unchanged": True,
    }  # fmt: skip
    host.engine.put(SALES, Draft("note", "a", b"Note a, changed.\n"))
    assert outline(host, known=known).startswith("map: ")


def test_a_bad_question_is_a_fault_of_usage(host: Host) -> None:
    with pytest.raises(Failed, match="`nown` is no key") as failed:
        outline(host, nown="1")
    assert failed.value.exit_code == 2
    with pytest.raises(Failed, match="no question 'burn' about digests"):
        run(host, "burn")


def test_a_map_says_what_the_tenant_cannot_tell_of(said: Said) -> None:
    crowded = Config(digests=False, digest_edges=0)
    engine = Engine.open(":memory:", embed="off", config=crowded, summariser=said)
    engine.put(SALES, Draft("note", "a", b"See [[b]].\n"))
    engine.put(SALES, Draft("note", "b", b"Note b.\n"))
    host = Host(engine, Path("/store"), SALES.attributes, ())
    run(host, "rebuild")
    assert "bytes, no communities are looked for among more than 0 links\n" in outline(host)
    values = json.loads(outline(host, format="json"))
    assert ["lacks" in each for each in values["digests"]] == [True, False]
    engine.close()
