"""The searches as a mount and the command line give them, over a real engine."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.config import SECOND_NS
from engine.engine import Engine
from engine.errors import NotFound
from engine.model import Draft, Page
from engine.namespace import Scope
from engine.recall.searches import SEARCHES, SearchRequest
from engramfs.commands import Host, perform
from engramfs.control import ControlFiles, ControlSettings
from engramfs.errors import FsError
from engramfs.ports import Process
from engramfs.searching import page_text
from engramfs.wire import Failed
from tests.engine.hash_embedder import HashEmbedder

SCOPE = Scope((), exact=True)
CALLER = Process(pid=1, tid=1, uid=0, gid=0, sid=1)
KINDS = "kinds: {deal: {}, note: {}, person: {}}\n"
NAMES = [name for name, search in SEARCHES.items() if not search.continues]


class Clock:
    now = 1_800_000_000 * SECOND_NS

    def __call__(self) -> int:
        self.now += 1_000_000
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def engine(clock: Clock) -> Iterator[Engine]:
    engine = Engine.open(
        ":memory:", kinds=KINDS, embed="inline", embedder=HashEmbedder(), clock=clock
    )
    for number in range(7):
        put(engine, "note", f"pump-{number}", f"# Pump {number}\n\nThe pump overheats.\n" * 2)
    for number in range(5):
        put(engine, "deal", f"d{number}", f"# Deal {number}\n\nKubernetes pump contract.\n")
    put(engine, "person", "ada", "# Ada Berg\n\nError 0x80070005.\n")
    yield engine
    engine.close()


@pytest.fixture
def mount(engine: Engine) -> Iterator[ControlFiles]:
    files = ControlFiles(engine, SCOPE, ControlSettings("/my engrams"))
    yield files
    files.close()


def put(engine: Engine, kind: str, slug: str, text: str) -> None:
    engine.put(SCOPE, Draft(kind, slug, text.encode()))


def cat(files: ControlFiles, name: str) -> str:
    return files.serve(name, CALLER).decode()


def values(files: ControlFiles, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(cat(files, f"{name}&format=json"))
    return found


def paths(text: str) -> list[str]:
    return re.findall("^## (.*)$", text, re.M)


def fails(files: ControlFiles, name: str) -> str:
    with pytest.raises(FsError) as caught:
        files.serve(name, CALLER)
    return caught.value.code


def command(engine: Engine, search: str, namespace: object = None, **pairs: str) -> str:
    host = Host(engine, Path("/store"), (), ("/my engrams",))
    request = {
        "command": "search",
        "namespace": namespace,
        "arguments": {"search": search, "pairs": list(pairs.items())},
    }
    return str(perform(host, request, lambda _: None)["text"])


def more(text: str) -> str | None:
    """The name of the control file that the next page is read from."""
    found = re.search("^More: (.*)$", text, re.M)
    if found is None:
        return None
    program, path = shlex.split(found[1])
    assert program == "cat" and path.startswith("/my engrams/.continue?")
    return path.removeprefix("/my engrams/")


@pytest.mark.parametrize("name", NAMES)
def test_every_search_answers_alike_by_name_in_writing_and_by_command(
    engine: Engine, mount: ControlFiles, name: str
) -> None:
    by_name = cat(mount, f".{name}?q=pump&kinds=note&limit=3")
    assert len(paths(by_name)) == 3 and "hits: 1 to 3 of 7" in by_name
    session = mount.session(f".{name}", CALLER)
    session.write(b"q=pump&kinds=note&limit=3", 0)
    session.flush()
    assert paths(cat(mount, f".{name}")) == paths(by_name)
    assert paths(command(engine, name, q="pump", kinds="note", limit="3")) == paths(by_name)
    page = values(mount, f".{name}?q=pump&kinds=note&limit=3")
    assert [item["path"] for item in page["items"]] == paths(by_name)
    assert page["controls"]["search"] == name and page["controls"]["kinds"] == ["note"]
    assert set(page["controls"]) - {"search"} == set(SEARCHES[name].keys)
    assert page["set"] and page["total"] == 7


@pytest.mark.parametrize("name", NAMES)
def test_the_pages_of_a_search_hold_every_hit_once(mount: ControlFiles, name: str) -> None:
    whole = paths(cat(mount, f".{name}?q=pump&limit=50"))
    text = cat(mount, f".{name}?q=pump&limit=5")
    found = paths(text)
    while (following := more(text)) is not None:
        text = cat(mount, following)
        assert len(paths(text)) <= 5
        found += paths(text)
    assert found == whole and len(found) >= 12


def test_what_is_spelled_otherwise_or_only_in_part_is_found(mount: ControlFiles) -> None:
    assert paths(cat(mount, ".find_exact?q=kuberntes"))[0].startswith("deal/")
    assert paths(cat(mount, ".find_exact?q=0x8007")) == ["person/ada.md"]
    assert paths(cat(mount, ".find_exact?q=ada berg")) == ["person/ada.md"]


def test_objects_have_no_passages(mount: ControlFiles) -> None:
    assert all(not item["passages"] for item in values(mount, ".find_objects?q=pump")["items"])
    assert any(item["passages"] for item in values(mount, ".search?q=pump")["items"])


def test_one_channel_alone_has_its_own_scores(
    engine: Engine, mount: ControlFiles, clock: Clock
) -> None:
    """Neither age nor liking counts: as a ranking of the channel's bare numbers."""
    put(engine, "note", "liked", "---\nfavourite: true\n---\nThe pump overheats.\n")
    asked = (".text?q=pump", ".vector?q=pump", ".search?q=pump")
    young = [values(mount, name)["items"] for name in asked]
    clock.now += 3_000 * 86_400 * SECOND_NS
    engine.delete(SCOPE, engine.put(SCOPE, Draft("deal", "gone", b"x\n")).entry.id)
    words, meaning, fused = (values(mount, name)["items"] for name in asked)
    assert (words, meaning) == (young[0], young[1])  # though they are made anew
    assert fused[0]["score"] < young[2][0]["score"]
    for items, channel in ((words, "lexical"), (meaning, "vector")):
        assert all(set(item["channels"]) == {channel} for item in items)
        scores = [item["score"] for item in items]
        assert scores == sorted(scores, reverse=True)
    assert all(0.0 < item["score"] <= 1.0 for item in meaning)


def test_a_set_goes_on_where_all_is_shown_that_it_was_made_of(
    engine: Engine, mount: ControlFiles
) -> None:
    set_id = values(mount, ".text?q=pump&limit=2")["set"]
    root = ControlFiles(engine, SCOPE, ControlSettings("/deal", root_kind="deal"))
    assert fails(root, f".continue?set={set_id}") == "ENOENT"
    assert len(paths(command(engine, "continue", set=set_id, offset="2"))) == 10
    of_deals = values(root, ".text?q=pump&limit=2")["set"]
    for told in (
        cat(root, f".continue?set={of_deals}&limit=50"),
        cat(mount, f".continue?set={of_deals}&limit=50"),
        command(engine, "continue", set=of_deals, limit="50"),
    ):
        assert len(paths(told)) == 5
        assert all(path.removeprefix("deal/").startswith("d") for path in paths(told))
    root.close()


def test_a_set_of_another_scope_is_not_there(engine: Engine, mount: ControlFiles) -> None:
    other = ControlFiles(engine, Scope((("team", "a"),), exact=True), ControlSettings("/team"))
    set_id = values(mount, ".search?q=pump")["set"]
    assert fails(other, f".continue?set={set_id}") == "ENOENT"
    other.close()
    with pytest.raises(NotFound, match="search again"):
        command(engine, "continue", [["team", "a"]], set=set_id)


def test_a_set_that_is_gone_says_to_search_again(mount: ControlFiles, clock: Clock) -> None:
    set_id = values(mount, ".search?q=pump")["set"]
    clock.now += 3_600 * SECOND_NS
    assert fails(mount, f".continue?set={set_id}") == "ENOENT"
    told = cat(mount, ".errors")
    assert told.startswith(f".continue?set={set_id}  ") and "search again" in told


def test_what_was_deleted_leaves_a_gap_that_is_told(engine: Engine, mount: ControlFiles) -> None:
    set_id = values(mount, ".text?q=pump&limit=1")["set"]
    entry = engine.lookup(SCOPE, "note", "pump-3")
    assert entry is not None
    engine.delete(SCOPE, entry.id)
    text = cat(mount, f".continue?set={set_id}&limit=50")
    assert "hits: 1 to 12 of 12, 1 not shown" in text and len(paths(text)) == 11


@pytest.mark.parametrize("name", NAMES)
def test_a_mountpoint_answers_for_its_kinds_only(engine: Engine, name: str) -> None:
    few = ControlFiles(engine, SCOPE, ControlSettings("/few", only_kinds=frozenset({"deal"})))
    assert {path.partition("/")[0] for path in paths(cat(few, f".{name}?q=pump"))} == {"deal"}
    assert fails(few, f".{name}?q=pump&kinds=note") == "EINVAL"
    assert "`note` is no kind or group (deal)" in cat(few, ".errors")
    few.close()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            ".find_exact?q=a&fusion=rrf",
            "scope_ids, title, updated_after, updated_before, prop.NAME",
        ),
        (".find_objects?q=a&limit=0", "a whole number, 1 to 50"),
        (".text?q=a&format=xml", "`xml` is not known (one of md, json)"),
        (".vector?q=", "the question is empty"),
        (".vector?q=a&fresh=on", "write the request to the file"),
        (".continue?offset=3", "is no result set"),
        (".continue?set=a&q=b", "keys are format, limit, offset, set"),
        (".continue?set=a&offset=1001", "a whole number, 0 to 1000"),
    ],
)
def test_a_bad_request_names_key_value_and_range(mount: ControlFiles, name: str, said: str) -> None:
    assert fails(mount, name) == "EINVAL"
    assert said in cat(mount, ".errors")


def test_fresh_waits_for_vectors(engine: Engine, mount: ControlFiles) -> None:
    session = mount.session(".vector", CALLER)
    session.write(b"q=pump&fresh=on", 0)
    assert b"## note/" in session.read(100_000, len(b"q=pump&fresh=on"))


def test_a_command_names_the_command_for_more(engine: Engine) -> None:
    text = command(engine, "search", q="pump", limit="2")
    set_id = re.search("^More: engramfs search --continue (\\S+) --offset 2 --limit 2$", text, re.M)
    assert set_id is not None
    assert len(paths(command(engine, "continue", set=set_id[1], offset="2", limit="2"))) == 2
    alone = Host(engine, Path("/store"), ())
    request = {"command": "search", "arguments": {"pairs": [["q", "pump"], ["limit", "2"]]}}
    text = perform(alone, request, lambda _: None)["text"]
    assert "\nMore: --offset 2\n" in text  # no process keeps the set
    with pytest.raises(Failed, match="knows no search 'guess'"):
        command(engine, "guess", q="pump")


def test_pages_end_at_the_thousandth_hit() -> None:
    request = SearchRequest(question="a", offset=990)
    text = page_text(request, Page((), 5_000, 990, set_id="s"), lambda _: None, lambda *_: "next")
    assert "More: narrow the question; only its first 1000 hits are given in pages" in text.decode()
    request = SearchRequest(question="a", offset=980)
    text = page_text(request, Page((), 5_000, 980, set_id="s"), lambda _: None, lambda *_: "next")
    assert "More: next\n" in text.decode()
