from __future__ import annotations

import json
import re
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.catalogue import Catalogue, Field, Kind
from engine.config import Config
from engine.errors import Problem, StoreCorrupt, StoreFull, StrictRecallFailed
from engine.model import Change, Entry, Hit, Notice, Page, Passage, Span, Status
from engine.namespace import Scope
from engine.recall.request import RecallRequest
from engramfs.control import ControlFiles, ControlSettings
from engramfs.errors import FsError
from engramfs.names import TABLE
from engramfs.ports import Process

KINDS = Catalogue(
    {
        "Deal": Kind("Deal", fields={"stage": Field("stage")}),
        "task": Kind("task", fields={"stage": Field("stage")}),
    },
    {"work": ("Deal", "task")},
)
SCOPE = Scope((), exact=True)
ALICE = Process(pid=10, tid=10, uid=1000, gid=1000, sid=7)
BOB = Process(pid=20, tid=20, uid=1000, gid=1000, sid=8)


@dataclass
class FakePack:
    token: str
    rendered: bytes


@dataclass
class FakeEngine:
    """What the control files need of an engine, in memory; it counts what it is asked."""

    catalogue: Catalogue = KINDS
    config: Config = field(default_factory=Config)
    asked: list[RecallRequest] = field(default_factory=list)
    scopes: list[Scope] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    recorded: list[Notice] = field(default_factory=list)
    listeners: list[Callable[[Change], None]] = field(default_factory=list)
    failure: Exception | None = None
    counters: tuple[str, ...] = ()
    moment: object = 0

    def recall(
        self,
        scope: Scope,
        request: RecallRequest,
        *,
        path_of: object,
        shown: bool,
        seconds: float,
        session: str,
    ) -> FakePack:
        assert re.fullmatch("[0-9]+:[0-9]+", session)
        self.scopes.append(scope)
        self.asked.append(request)
        self.seconds.append(seconds)
        if self.failure is not None:
            raise self.failure
        number = len(self.asked)
        return FakePack(f"token{number:03}", f"answer {number}: {request.question}\n".encode())

    def search(self, scope: Scope, question: str, filters: object, **paging: Any) -> Page:
        entry = an_entry("acme")
        passage = Passage("one\x1b[2J\n## two", ("Cause",), Span(3, 4, 10, 20))
        return Page((Hit(entry, 0.5, {"lexical": 1}, (passage,)),), 9, paging["offset"])

    def status(self, scope: Scope) -> Status:
        return Status(3, 9, 0, len(self.recorded), 5, "off", "", {"Deal": 2, "task": 1})

    def notices(self, scope: Scope) -> Sequence[Notice]:
        return self.recorded[::-1]

    def refuse(self, scope: Scope, *, source: bytes | None, **known: Any) -> Notice:
        assert source is None
        notice = Notice(no=len(self.recorded), at_ns=0, namespace=scope.attributes, **known)
        self.recorded.append(notice)
        return notice

    def subscribe(self, callback: Callable[[Change], None]) -> Callable[[], None]:
        self.listeners.append(callback)
        return lambda: self.listeners.remove(callback)

    def commit(self, kind: str = "Deal", name: str = "acme", **other: Any) -> None:
        change = replace(Change(10**18, "update", "id", (), kind, name, name), **other)
        for listener in self.listeners:
            listener(change)


@dataclass
class Desk:
    """Control files over a fake engine, with a clock that stands still."""

    engine: FakeEngine
    files: ControlFiles
    now: list[float]

    def cat(self, name: str, caller: Process = ALICE) -> str:
        return self.files.serve(name, caller).decode()

    def fails(self, name: str, caller: Process = ALICE) -> str:
        with pytest.raises(FsError) as caught:
            self.files.serve(name, caller)
        return caught.value.code

    def echo(self, text: str, name: str = ".recall", caller: Process = ALICE) -> None:
        handle = self.files.session(name, caller)
        handle.write(text.encode(), 0)
        handle.flush()
        handle.close()


def an_entry(slug: str, kind: str = "Deal") -> Entry:
    return Entry(1, "id-1", (), kind, slug, slug, 9, 0o644, 0, 0, 0, 0, 1, 1, 1, 1, "Acme\x9b")


def desk_of(**settings: Any) -> Desk:
    engine = FakeEngine()
    now = [0.0]
    files = ControlFiles(
        engine,  # type: ignore[arg-type]
        SCOPE,
        ControlSettings(**settings),
        clock=lambda: now[0],
    )
    return Desk(engine, files, now)


@pytest.fixture
def desk() -> Desk:
    return desk_of()


def test_which_names_exist(desk: Desk) -> None:
    for name, row in TABLE.items():
        assert desk.files.reserved(name) and desk.files.reserved(f"{name}?x=1")
        assert (desk.files.mode(name) is not None) == row.exists
        if not row.exists:
            assert desk.fails(name) == "ENOENT"
            with pytest.raises(FsError, match="can only be read"):
                desk.files.session(name, ALICE)
    assert desk.files.mode(".recall") == stat.S_IFREG | 0o644
    assert desk.files.mode(".recall?q=a") == stat.S_IFREG | 0o444
    assert desk.files.mode(".rejected") == stat.S_IFDIR | 0o755
    assert desk.files.mode(".rejected?x") is None
    assert desk.files.mode(".events?x") is None
    assert desk.files.mode(".recallrc") is None and not desk.files.reserved(".recall*")
    for name in (".recall?q=a", ".errors", ".status", ".help"):
        with pytest.raises(FsError) as caught:
            desk.files.session(name, ALICE)
        assert caught.value.code == "EACCES"


def test_an_answer_is_the_same_bytes_until_a_commit_or_five_seconds(desk: Desk) -> None:
    name = ".recall?q=pump+failures&budget=500"
    assert desk.cat(name) == desk.cat(name, BOB) == "answer 1: pump failures\n"
    desk.engine.commit(namespace=(("team", "x"),))
    assert desk.cat(name) == "answer 1: pump failures\n"
    desk.engine.commit()
    assert desk.cat(name) == "answer 2: pump failures\n"
    desk.now[0] = 5.1
    assert desk.cat(name) == "answer 3: pump failures\n"
    assert desk.engine.asked[0].budget == 500


def test_an_answer_is_of_its_moment(desk: Desk) -> None:
    assert desk.cat(".recall?q=a") == desk.cat(".recall?q=a") == "answer 1: a\n"
    desk.engine.moment = "vectors, a digest or other kinds came"
    assert desk.cat(".recall?q=a") == "answer 2: a\n"


def test_a_commit_while_an_answer_is_made_makes_it_old(desk: Desk) -> None:
    made = desk.engine.recall

    def slow(*arguments: Any, **named: Any) -> FakePack:
        desk.engine.commit()
        return made(*arguments, **named)

    desk.engine.recall = slow  # type: ignore[method-assign]
    desk.cat(".recall?q=a")
    assert desk.cat(".recall?q=a") == "answer 2: a\n"


def test_the_bare_name_answers_this_sessions_last_request(desk: Desk) -> None:
    assert "Nothing was asked in this session yet" in desk.cat(".recall")
    desk.echo("why did the pumps overheat?")
    assert desk.cat(".recall") == "answer 1: why did the pumps overheat?\n"
    assert "Nothing was asked" in desk.cat(".recall", BOB)
    desk.cat(".recall:q=other")
    assert desk.cat(".recall").endswith("other\n")
    desk.echo("q=pump&budget=700&format=json", caller=BOB)
    assert desk.cat(".recall", BOB).endswith("pump\n")
    assert desk.engine.asked[-1].budget == 700
    desk.now[0] = 601.0
    assert "Nothing was asked" in desk.cat(".recall")


def test_a_hundred_sessions_are_remembered(desk: Desk) -> None:
    for sid in range(101):
        desk.echo("a", caller=replace(ALICE, sid=sid))
    assert "Nothing was asked" in desk.cat(".recall", replace(ALICE, sid=0))
    assert "answer" in desk.cat(".recall", replace(ALICE, sid=100))


def test_a_token_reads_an_answer_again_whoever_asks(desk: Desk) -> None:
    desk.cat(".recall?q=first")
    desk.engine.commit()
    assert desk.cat(".recall?set=token001", BOB) == "answer 1: first\n"
    assert len(desk.engine.asked) == 1
    assert desk.fails(".recall?set=unknown1") == "ENOENT"
    assert desk.fails(".recall?set=token001&q=x") == "EINVAL"


@pytest.mark.parametrize(
    "name",
    [
        ".recall?bogus=1",
        ".recall?q=",
        ".recall?",
        ".recall?q=a&budget=no",
        ".recall?q=a&fresh=on",
        ".recall?q=a&themes=maybe",
        ".recall?q=a&prop.nobody=1",
        ".recall?plain",
        ".recall?q=\udcff",
        ".search?q=a&budget=1",
        ".search?limit=3",
        ".schema?kind=nothing",
        ".schema?bogus=1",
        ".status?format=xml",
        ".help?x=1",
    ],
)
def test_a_bad_request_is_einval_and_told_once(desk: Desk, name: str) -> None:
    assert [desk.fails(name) for _ in range(3)] == ["EINVAL"] * 3
    (notice,) = desk.engine.recorded
    assert notice.event == "request" and notice.kind == ""
    assert notice.path.startswith(name.partition("?")[0])
    assert notice.problems and all(problem.message for problem in notice.problems)
    assert notice.path.encode()
    desk.now[0] = 6.0
    desk.fails(name)
    assert len(desk.engine.recorded) == 2


def test_a_bad_request_is_einval_on_a_full_disk_too(desk: Desk) -> None:
    def full(*arguments: Any, **named: Any) -> Notice:
        raise StoreFull("no space left")

    desk.engine.refuse = full  # type: ignore[method-assign]
    assert desk.fails(".recall?bogus=1") == "EINVAL"


def test_a_bad_written_request_fails_the_close_and_the_read(desk: Desk) -> None:
    with pytest.raises(FsError) as caught:
        desk.echo("q=a&budget=huge")
    assert caught.value.code == "EINVAL"
    assert desk.fails(".recall") == "EINVAL"
    assert len(desk.engine.recorded) == 1
    assert desk.engine.recorded[0].path == ".recall?q=a&budget=huge"
    desk.echo("good")
    assert desk.cat(".recall") == "answer 1: good\n"


def test_write_then_read_on_one_handle(desk: Desk) -> None:
    handle = desk.files.session(".recall", ALICE)
    question = b'{"q": "pumps", "budget": 600, "fresh": true}'
    handle.write(question, 0)
    assert handle.read(100, len(question)) == b"answer 1: pumps\n"
    assert desk.engine.asked[0].fresh
    handle.flush()
    assert desk.cat(".recall") == "answer 1: pumps\n"
    desk.engine.commit()
    assert desk.cat(".recall") == "answer 2: pumps\n"
    assert not desk.engine.asked[1].fresh  # the reader's lookup must not wait
    desk.cat(".recall?q=pumps")
    assert desk.engine.seconds == [5.0, 1.0, 1.0]


def test_a_request_that_waits_runs_at_the_close(desk: Desk) -> None:
    desk.echo("q=pumps&fresh=on")
    assert [request.fresh for request in desk.engine.asked] == [True]
    assert desk.cat(".recall") == "answer 1: pumps\n"


def test_strict_is_ecanceled_and_a_damaged_store_goes_on_as_it_is(desk: Desk) -> None:
    desk.engine.failure = StrictRecallFailed("the vector channel did not run", "leave out strict")
    assert desk.fails(".recall?q=a&strict=on") == "ECANCELED"
    assert desk.engine.recorded[0].problems == (
        Problem("the vector channel did not run", hint="leave out strict"),
    )
    desk.engine.failure = StoreCorrupt("damaged")
    with pytest.raises(StoreCorrupt):
        desk.files.serve(".recall?q=b", ALICE)


def test_search_in_both_formats(desk: Desk) -> None:
    text = desk.cat(".search?q=a&offset=2&limit=1")
    assert "hits: 3 to 3 of 9" in text
    assert "## deal/acme.md" in text
    assert "> one\\x1b[2J\n> ## two\n" in text
    assert "More: offset=3" in text
    page = json.loads(desk.cat(".search?q=a&format=json&limit=1&kinds=work"))
    assert set(page["items"][0]) == {
        *("path", "id", "kind", "title", "summary", "status", "source_role", "score"),
        *("channels", "tokens", "relation", "body", "passages", "properties", "properties_cut"),
        *("surface", "fact", "source_ids", "same_as"),
    }
    assert page["items"][0]["passages"][0]["start_line"] == 3
    assert page["controls"]["kinds"] == ["Deal", "task"]
    assert not {"\x1b", "\x9b"} & set(desk.cat(".search?q=a&format=json") + text)
    assert "Nothing was asked" in desk.cat(".search", BOB)
    desk.echo("pump", ".search")
    assert "## deal/acme.md" in desk.cat(".search")


def test_reports(desk: Desk) -> None:
    assert desk.cat(".errors") == ""
    desk.fails(".recall?bogus=1")
    assert desk.cat(".errors").startswith(".recall?bogus=1  ")
    assert json.loads(desk.cat(".errors?format=json"))[0]["event"] == "request"
    assert "engrams: 3" in desk.cat(".status")
    assert json.loads(desk.cat(".status?format=json"))["kinds"] == {"Deal": 2, "task": 1}
    assert "# Deal" in desk.cat(".schema") and "# task" in desk.cat(".schema")
    assert "# task" not in desk.cat(".schema?kind=Deal")
    assert desk.cat(".schema?kind=deal") == desk.cat(".schema?kind=Deal")
    assert ".recall" in desk.cat(".help")


def test_events_are_appended_and_followed(desk: Desk) -> None:
    assert desk.files.live(".events") and not desk.files.live(".errors")
    assert desk.cat(".events") == ""
    follower = desk.files.session(".events", ALICE)
    desk.engine.commit(event="rename", former=("task", "old"))
    desk.engine.commit(namespace=(("team", "x"),))
    (line,) = desk.cat(".events").splitlines()
    assert json.loads(line)["path"] == "deal/acme.md"
    assert json.loads(line)["from"] == "task/old.md"
    assert follower.read(1000, 0).decode() == line + "\n"
    desk.files.close()
    assert desk.engine.listeners == []


def test_roots_mode_shows_one_kind() -> None:
    desk = desk_of(root_kind="Deal", mountpoint="/deal")
    desk.cat(".recall?q=a")
    assert desk.engine.scopes == [replace(SCOPE, kinds=frozenset({"Deal"}))]
    desk.cat(".recall?q=a&kinds=work")  # a group, of which one kind is shown
    assert desk.engine.asked[1].kinds == ("Deal",)
    assert desk.fails(".recall?q=a&kinds=task") == "EINVAL"
    assert desk.fails(".recall?q=a&kinds=nobody") == "EINVAL"
    assert desk.fails(".recall?budget=100") == "EINVAL"
    assert all(notice.kind == "Deal" for notice in desk.engine.recorded)
    assert "# task" not in desk.cat(".schema") and "<slug>.md" in desk.cat(".schema")
    assert desk.fails(".schema?kind=task") == "EINVAL"
    desk.engine.commit("task")
    desk.engine.commit("Deal")
    assert [json.loads(line)["path"] for line in desk.cat(".events").splitlines()] == ["acme.md"]
    assert desk.files.path_of(an_entry("acme")) == "acme.md"
    assert desk.files.path_of(an_entry("acme", "task")) is None
    assert "/deal/.recall" in desk.cat(".recall", BOB) + desk.cat(".help")


def test_a_mount_limited_to_some_kinds() -> None:
    desk = desk_of(only_kinds=frozenset({"task"}))
    desk.cat(".recall?q=a")
    assert desk.engine.scopes[0].kinds == {"task"}
    assert desk.files.path_of(an_entry("a", "task")) == "task/a.md"
    assert desk.files.path_of(an_entry("a")) is None


@given(
    st.sampled_from(
        [".recall", ".search", ".schema", ".errors", ".status", ".help", ".events", ""]
    ),
    st.sampled_from(["?", ":", ""]),
    st.text(max_size=40)
    | st.sampled_from(["q=a", "q=%ff", "q=a&budget=\ud800", "set=", "&&", "="]),
)
def test_serving_is_total(name: str, separator: str, request: str) -> None:
    desk = desk_of()
    try:
        answer = desk.files.serve(name + separator + request, ALICE)
        assert isinstance(answer, bytes)
    except FsError as error:
        assert error.code in {"EINVAL", "ENOENT"}
