"""The graph's commands, in the process that has the store open: whom words name, what is done."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.engine import Engine
from engine.errors import NotFound
from engine.model import Draft
from engine.namespace import Scope
from engramfs.commands import Host, perform
from engramfs.points import Point
from engramfs.wire import Failed

MOUNT = "/my engrams"
TREE = Scope((), exact=True)
KINDS = "kinds: {note: {}, person: {}}\nrecipes: {out: {relations: [about], direction: out}}\n"


@pytest.fixture
def host() -> Iterator[Host]:
    engine = Engine.open(":memory:", kinds=KINDS, embed="off")
    for slug in ("a", "b", "c"):
        engine.put(TREE, Draft("note", slug, f"# Note {slug}\n".encode()))
    engine.put(TREE, Draft("note", "linker", b"see [[a]] and [b](../note/b.md)\n"))
    yield Host(engine, Path("/store"), (), (MOUNT,), points=(Point(MOUNT), Point("/real")))
    engine.close()


def run(host: Host, command: str, namespace: object = None, **arguments: object) -> dict[str, Any]:
    request = {"command": command, "namespace": namespace, "arguments": arguments}
    return perform(host, request, lambda _: None)


def asked(host: Host, ask: str, paths: dict[str, str] | None = None, **pairs: str) -> str:
    given = [(key.rstrip("_"), value) for key, value in pairs.items()]
    command = ask if ask in ("link", "unlink") else "graph"
    return str(run(host, command, ask=ask, pairs=given, paths=paths or {})["text"])


def heads(text: str) -> list[str]:
    return re.findall("^## (.*)$", text, re.M)


def test_edges_are_made_walked_and_removed(host: Host) -> None:
    text = asked(host, "link", from_="note/a", relation="about", to="note/b.md", note="why")
    assert heads(text) == ["note/a.md about note/b.md"] and "> why" in text
    assert heads(asked(host, "expand", of="note/a", recipe="out")) == ["note/b.md"]
    assert heads(asked(host, "find_links", q="why")) == ["note/a.md about note/b.md"]
    way = json.loads(asked(host, "path", from_="note/linker", to="note/a", format="json"))
    assert [edge["relation"] for edge in way["edges"]] == ["mentions"]
    assert heads(asked(host, "orphans")) == ["note/c.md"]
    assert "unlinked" in asked(host, "unlink", from_="note/a", relation="about", to="note/b")


def test_words_are_paths_where_they_were_typed(host: Host) -> None:
    here = "/my engrams/note"
    text = asked(
        host, "link", {"a.md": f"{here}/a.md", "../note/b.md": f"{here}/b.md"},
        from_="a.md", relation="x", to="../note/b.md",
    )  # fmt: skip
    assert heads(text) == ["note/a.md x note/b.md"]
    assert heads(asked(host, "neighbours", of=f"{here}/a.md", direction="out"))
    with pytest.raises(NotFound, match=r"no engram a.md .*by its path"):
        asked(host, "expand", {"a.md": "/elsewhere/note/a.md"}, of="a.md")
    roots = Host(host.engine, host.store, points=(Point("/n", "note"), Point("/p", "person")))
    assert heads(asked(host, "neighbours", of="/real/note/a"))
    assert heads(asked(roots, "expand", {"a.md": "/n/a.md"}, of="a.md"))


def test_what_is_wrong_is_a_fault_of_usage(host: Host) -> None:
    for ask, pairs, said in (
        ("expand", {"of": "note/a", "hops": "9"}, "1 to 4"),
        ("link", {"from_": "note/a", "relation": "x", "to": "note/a"}, "to itself"),
        ("link", {"from_": "note/a", "relation": "x", "to": "note/b", "confidence": "2"}, "up to"),
    ):
        with pytest.raises(Failed, match=said) as failed:
            asked(host, ask, **pairs)  # type: ignore[arg-type]
        assert failed.value.exit_code == 2
    with pytest.raises(Failed, match="no question"):
        asked(host, "everything")


def test_a_set_is_named_only_where_it_lives_on(host: Host) -> None:
    for number in range(25):
        host.engine.put(TREE, Draft("note", f"n{number}", b"see [[c]]\n"))
    text = asked(host, "expand", of="note/c")
    more = re.search(r"^More: engramfs search --continue (\S+) --offset 20 --limit 20$", text, re.M)
    assert more is not None
    page = run(
        host, "search", search="continue", pairs=[("set", more[1]), ("offset", "20")]
    )["text"]  # fmt: skip
    assert len(heads(page)) == 5 and "mentions of note/c.md, hop 1" in page
    alone = Host(host.engine, host.store)
    assert "\nMore: --offset 20\n" in asked(alone, "expand", of="note/c")


def mv(host: Host, a: str, b: str, **arguments: object) -> dict[str, Any]:
    return run(host, "mv", a=a, b=b, **arguments)


def body(host: Host, slug: str) -> str:
    return host.engine.get(TREE, f"note/{slug}").body


def test_mv_renames_and_rewrites(host: Host) -> None:
    assert mv(host, "note/a", "note/x.md") == {
        "from": "note/a.md", "to": "note/x.md", "rewritten": [],
    }  # fmt: skip
    assert "[[a]]" in body(host, "linker")
    done = mv(host, "note/b.md", "person/Bea B", rewrite=True)
    assert done == {
        "from": "note/b.md", "to": "person/Bea B.md", "rewritten": ["note/linker.md"],
    }  # fmt: skip
    assert "[b](../person/Bea%20B.md)" in body(host, "linker")
    assert mv(host, "note/x", "person/")["to"] == "person/x.md"
    here = {"c.md": "/my engrams/note/c.md", "d.md": "/my engrams/note/d.md"}
    assert mv(host, "c.md", "d.md", paths=here)["to"] == "note/d.md"
    assert mv(host, "note/d", "..", paths={"..": "/my engrams/person"})["to"] == "person/d.md"


def test_mv_replaces_only_when_told(host: Host) -> None:
    with pytest.raises(Failed, match="note/b is there already"):
        mv(host, "note/a", "note/b")
    assert mv(host, "note/a", "note/b", replace=True)["to"] == "note/b.md"
    assert body(host, "b") == "# Note a\n"


@pytest.mark.parametrize(
    ("b", "said"),
    [("x", "no place"), ("zzz/x", "no place"), ("note/.x", "dot"), ("a/b/c", "no place")],
)
def test_mv_to_where_no_engram_can_be(host: Host, b: str, said: str) -> None:
    with pytest.raises(Exception, match=said):
        mv(host, "note/a", b)
    assert body(host, "a") == "# Note a\n"


def test_a_namespace_limits_what_is_there(host: Host) -> None:
    with pytest.raises(NotFound):
        run(
            host, "graph", [["team", "sales"]], ask="expand", pairs=[("of", "note/a")]
        )  # fmt: skip
