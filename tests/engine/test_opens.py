"""Which opened files count: a process that goes through many counts for none."""

from __future__ import annotations

from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from engine.config import SECOND_NS
from engine.opens import Opens
from engine.store.events import Event

MOST, WITHIN = 3, 60 * SECOND_NS


def opened(engram: int, seconds: float, session: str = "s") -> Event:
    return Event(int(seconds * SECOND_NS), engram, "read", session, ())


def taken(opens: Opens, seconds: float) -> list[int]:
    return sorted(event.engram for event in opens.take(int(seconds * SECOND_NS)))


def test_an_open_counts_when_its_process_had_a_minute_to_open_more() -> None:
    opens = Opens(MOST, WITHIN, 100)
    opens.add(opened(1, 0), "p")
    opens.add(opened(2, 30), "p")
    assert taken(opens, 60) == [] and len(opens) == 2
    assert taken(opens, 61) == [1] and len(opens) == 1
    assert taken(opens, 1_000) == [2] and len(opens) == 0


def test_too_many_take_back_what_the_process_opened_before() -> None:
    opens = Opens(MOST, WITHIN, 100)
    for engram in range(MOST + 1):
        opens.add(opened(engram, engram), "p")
    assert len(opens) == 0
    opens.add(opened(9, 10), "p")  # it goes on
    opens.add(opened(9, 11), "other")
    assert taken(opens, 1_000) == [9]


def test_as_many_as_may_be_count_all_and_the_same_again_is_not_one_more() -> None:
    opens = Opens(MOST, WITHIN, 100)
    for seconds, engram in enumerate((1, 2, 3, 1, 2, 3, 3)):
        opens.add(opened(engram, seconds), "p")
    assert taken(opens, 1_000) == [1, 2, 3]


def test_what_was_opened_long_before_stays() -> None:
    opens = Opens(MOST, WITHIN, 100)
    opens.add(opened(7, 0), "p")
    for engram in range(MOST + 1):
        opens.add(opened(engram, 61 + engram), "p")
    assert taken(opens, 1_000) == [7]


def test_a_process_may_read_again_after_a_minute() -> None:
    opens = Opens(MOST, WITHIN, 100)
    for engram in range(100):
        opens.add(opened(engram, engram / 100), "p")
    opens.add(opened(5, 100), "p")
    assert taken(opens, 1_000) == [5]


def test_at_the_end_everything_counts_that_was_not_too_much() -> None:
    opens = Opens(MOST, WITHIN, 100)
    for engram in range(MOST + 1):
        opens.add(opened(engram, engram), "grep")
    opens.add(opened(1, 5), "cat")
    assert [event.engram for event in opens.take(None)] == [1]
    assert opens.take(None) == []


def test_no_more_wait_than_can_be_held() -> None:
    opens = Opens(MOST, WITHIN, 5)
    for engram in range(20):
        opens.add(opened(engram, engram), f"p{engram}")
    assert len(opens) == 5
    assert taken(opens, 1_000) == [0, 1, 2, 3, 4]


def test_a_clock_that_is_set_back_keeps_nothing_waiting() -> None:
    opens = Opens(MOST, WITHIN, 100)
    opens.add(opened(1, 10_000), "p")
    assert taken(opens, 5_000) == [1]


@given(
    st.lists(
        st.tuples(st.floats(0, 40), st.integers(0, 6), st.sampled_from("pq"), st.booleans()),
        max_size=60,
    )
)
def test_the_rule_as_it_is_written(steps: list[tuple[float, int, str, bool]]) -> None:
    """An open counts unless some minute that holds it holds more than three engrams."""
    opens, all_opens, found, now = Opens(MOST, WITHIN, 1_000), [], [], 0.0
    for wait, engram, process, collects in steps:
        now += wait
        event = opened(engram, now, session=process)
        all_opens.append((event, process))
        opens.add(event, process)
        if collects:
            found += opens.take(event.at_ns)
    found += opens.take(None)

    def too_many(event: Event, process: str) -> bool:
        own = [one for one, by in all_opens if by == process]
        for last in own:
            inside = [one for one in own if 0 <= last.at_ns - one.at_ns <= WITHIN]
            if event in inside and len({one.engram for one in inside}) > MOST:
                return True
        return False

    counting = {
        (event.engram, event.session)
        for event, process in all_opens
        if not too_many(event, process)
    }
    assert {(event.engram, event.session) for event in found} == counting
    assert len(opens) == 0


def test_the_numbers_of_a_process_are_forgotten() -> None:
    """A shell that starts a `cat` for each file leaves nothing behind."""
    opens = Opens(MOST, WITHIN, 1_000)
    for process in count():
        opens.add(opened(1, process), f"pid:{process}")
        opens.take(process * SECOND_NS)
        if process == 500:
            break
    assert len(opens) <= 61
    opens.take(10_000 * SECOND_NS)
    assert opens._processes == {}
