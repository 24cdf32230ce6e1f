from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.config import Config
from engine.match_request import match_keys
from engine.model import Notice, Problem, Status
from engine.recall.searches import SEARCHES
from engramfs.graph_requests import ASKS, EDGE_KEYS
from engramfs.names import TABLE, SpecialName
from engramfs.render import (
    as_json,
    errors_json,
    errors_text,
    help_text,
    instant,
    one_line,
    problem_line,
    status_text,
    status_values,
    usage_text,
)

DANGEROUS = "\x1b\x07\x7f\x9b\r\u2028\u202e\u2066"
COUNTS = {"deal": 2, "task": 1}
STATUS = Status(
    3, 9, 1, 2, 77, "background", "minilm", COUNTS, events={"read": 4}, misses=("who?",)
)  # fmt: skip


def notice(no: int, path: str = "deal/acme.md", *problems: Problem) -> Notice:
    return Notice(no, 1_700_000_000 * 10**9 + no, (), "deal", "acme", path, "refused", problems)


def test_errors_read_like_sentences_newest_first() -> None:
    notices = [
        notice(
            2,
            "deal/acme.md",
            Problem("'opne' is not one of open, won, lost", 3, "stage", "write one of them"),
            Problem("the front matter does not end", 1, "", "add a line that is exactly ---"),
        ),
        notice(1, ".recall?bogus=1", Problem("there is no such key", None, "bogus")),
    ]
    assert errors_text(notices).decode() == (
        "deal/acme.md  2023-11-14T22:13:20Z  refused\n"
        "  line 3: stage: 'opne' is not one of open, won, lost (write one of them)\n"
        "  line 1: the front matter does not end (add a line that is exactly ---)\n"
        "\n"
        ".recall?bogus=1  2023-11-14T22:13:20Z  refused\n"
        "  bogus: there is no such key\n"
    )
    assert errors_text([]) == b""
    assert json.loads(errors_json([])) == []
    first = json.loads(errors_json(notices))[0]
    assert first["problems"][0] == {
        "message": "'opne' is not one of open, won, lost",
        "line": 3,
        "key": "stage",
        "hint": "write one of them",
    }


@given(st.text() | st.text(alphabet=DANGEROUS + "ab\n\t"))
def test_stored_text_cannot_command_a_terminal(text: str) -> None:
    shown = one_line(text)
    assert not set(DANGEROUS + "\n") & set(shown)
    shown.encode()
    problem = Problem(text, 1, text, text)
    for rendered in (
        errors_text([notice(1, text, problem)]),
        errors_json([notice(1, text, problem)]),
        status_text(status_values(STATUS, {"store": text})),
        as_json({"a": text}),
        as_json({text: [text]}),
    ):
        assert not set(DANGEROUS) & set(rendered.decode())
    assert "\n" not in problem_line(problem)


@given(
    st.recursive(st.text() | st.integers() | st.none(), lambda inner: st.lists(inner), max_leaves=9)
)
def test_json_says_the_same_value(value: object) -> None:
    assert json.loads(as_json(value)) == value
    assert as_json(value).count(b"\n") == 1


def test_status_as_text_and_as_values() -> None:
    values = status_values(STATUS, {"mountpoint": "/engram"})
    assert status_text(values).decode() == (
        "mountpoint: /engram\n"
        "engrams: 3\n"
        "kinds: deal 2, task 1\n"
        "parts: 9\n"
        "pending vectors: 1\n"
        "vector search: exact\n"
        "vectors: 0\n"
        "vectors in index: 0\n"
        "embed: background\n"
        "model: minilm\n"
        "digests: 0\n"
        "digests stale: 0\n"
        "digests made: by themselves\n"
        "refusals: 2\n"
        "commit: 77\n"
        "events: read 4\n"
        "misses: 1\n"
        "  who?\n"
        "problems: none\n"
    )
    assert json.loads(as_json(values))["kinds"] == {"deal": 2, "task": 1}


def test_help_tells_every_name_of_this_release_and_no_other() -> None:
    text = help_text("/engram").decode()
    for row in TABLE.values():
        assert (f"  {row.name} " in text) == row.exists
    assert "cat '/engram/.recall?q=" in text
    assert max(map(len, text.splitlines())) <= 110


ASKED = [row for row in TABLE.values() if row.writable and not row.unasked]


@pytest.mark.parametrize("row", ASKED, ids=str)
def test_the_usage_of_a_question_names_the_file_and_its_keys(row: SpecialName) -> None:
    text = usage_text(row, "/mnt").decode()
    assert (f"/mnt/{row.name}?" in text) == row.asks and f"> /mnt/{row.name}" in text
    assert "format (md or json)" in text
    if row.name != ".recall":
        name = row.name[1:]
        asks = {**ASKS, **EDGE_KEYS, "match": list(match_keys(Config()))}
        keys = SEARCHES[name].keys if name in SEARCHES else asks[name]
        assert f"Keys, joined by &: {keys[0]}, " in text
    assert max(map(len, text.splitlines())) <= 100


def test_instants_are_utc() -> None:
    assert instant(0) == "1970-01-01T00:00:00Z"
    assert instant(1_500_000_000_999_000_000, milliseconds=True) == "2017-07-14T02:40:00.999Z"
