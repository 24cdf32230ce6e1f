from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engramfs.answers import Kept
from engramfs.conversation import REQUEST_BYTES, Conversation
from engramfs.errors import FsError


class Oracle:
    """Answers `A(<request>)`, and refuses what begins with a bang."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        self.ran = 0

    def ask(self, request: bytes) -> None:
        self.asked.append(request)
        if request.startswith(b"!"):
            raise FsError("EINVAL", "bad request")

    def answer(self, request: bytes) -> bytes:
        self.ran += 1
        return b"A(" + request + b")"

    def open(self) -> Conversation:
        return Conversation(self.ask, self.answer, lambda: b"help")


def test_the_answer_is_read_from_where_the_writing_ended() -> None:
    oracle = Oracle()
    handle = oracle.open()
    assert handle.write(b"pump ", 0) == 5
    assert handle.write(b"failures", 5) == 8
    assert handle.read(100, 13) == b"A(pump failures)"
    assert handle.read(4, 15) == b"pump"
    assert handle.read(100, 29) == b""
    assert handle.read(100, 0) == b"pump failuresA(pump failures)"
    assert handle.size() == 29
    assert (oracle.asked, oracle.ran) == ([b"pump failures"], 1)


def test_writing_after_reading_begins_the_next_request() -> None:
    handle = Oracle().open()
    handle.write(b"one", 0)
    assert handle.read(100, 3) == b"A(one)"
    handle.write(b"two", 9)
    assert handle.read(100, 12) == b"A(two)"
    handle.truncate(0)
    handle.write(b"three", 0)
    assert handle.read(100, 5) == b"A(three)"


def test_a_handle_that_wrote_nothing_reads_what_the_bare_name_shows() -> None:
    handle = Oracle().open()
    assert handle.read(100, 0) == b"help"
    assert handle.read(100, 4) == b""
    handle.flush()


def test_a_close_judges_each_request_once() -> None:
    oracle = Oracle()
    handle = oracle.open()
    handle.flush()
    handle.write(b"!bad", 0)
    with pytest.raises(FsError):
        handle.flush()
    handle.flush()
    handle.write(b"good", 0)
    handle.flush()
    handle.flush()
    assert oracle.asked == [b"!bad", b"good"]
    assert oracle.ran == 0


def test_limits() -> None:
    handle = Oracle().open()
    with pytest.raises(FsError, match="at most"):
        handle.write(bytes(REQUEST_BYTES + 1), 0)
    handle.write(b"abc", 0)
    for offset in (5, -1):
        with pytest.raises(FsError, match="gaps"):
            handle.write(b"x", offset)
    with pytest.raises(FsError, match="emptied"):
        handle.truncate(2)


@given(st.binary(min_size=1, max_size=50), st.integers(0, 100), st.integers(1, 20))
def test_any_reader_sees_the_same_bytes(request: bytes, start: int, step: int) -> None:
    handle = Oracle().open()
    for at in range(0, len(request), step):
        handle.write(request[at : at + step], start + at)
    seen = b""
    offset = start + len(request)
    while not request.startswith(b"!") and (piece := handle.read(step, offset + len(seen))):
        seen += piece
    assert request.startswith(b"!") or seen == b"A(" + request + b")"


def test_answers_are_forgotten_by_age_and_number() -> None:
    now = [0.0]
    kept: Kept[str, int] = Kept(2, 5.0, lambda: now[0])
    kept.put("a", 1)
    now[0] = 5.0
    assert kept.get("a") == 1
    now[0] = 5.1
    assert kept.get("a") is None
    kept.put("a", 1)
    kept.put("b", 2)
    assert kept.get("a") == 1
    kept.put("c", 3)
    assert (kept.get("a"), kept.get("b"), kept.get("c")) == (1, None, 3)


def test_reading_renews_where_asked() -> None:
    now = [0.0]
    kept: Kept[str, int] = Kept(2, 5.0, lambda: now[0], renew=True)
    kept.put("a", 1)
    for moment in (4.0, 8.0, 12.0):
        now[0] = moment
        assert kept.get("a") == 1


def test_heavy_answers_push_out_older_ones() -> None:
    kept: Kept[str, bytes] = Kept(9, 5.0, lambda: 0.0, weigh=len, most_weight=10)
    kept.put("a", b"12345")
    kept.put("b", b"12345")
    kept.put("b", b"1234")
    assert kept.get("a") == b"12345"
    kept.put("c", b"12")
    assert (kept.get("a"), kept.get("b"), kept.get("c")) == (b"12345", None, b"12")
    kept.put("d", b"more than all together")
    assert kept.get("d") is None
