"""The property index selects exactly what judging each engram selects."""

from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from engine.catalogue import OPEN
from engine.filters import Filters, parse_filters
from engine.kinds_file import parse_kinds
from engine.model import PropertyValue
from engine.properties import PropertyIndex
from tests.engine.judging import holds

CLOSED = parse_kinds(
    "kinds: {k: {fields: {a: {type: number}, b: {type: string}, c: {type: datetime}, "
    "a_min: {type: string}}}}"
)
SCALARS: st.SearchStrategy[PropertyValue] = st.one_of(
    st.sampled_from(
        [
            "1",
            "1.0",
            "1.10",
            "01",
            "0x1",
            "2026-04-05",
            "2026-04-05T00:00:00Z",
            "true",
            "café",
            "x",
            "",
        ]
    ),
    st.sampled_from(["cafe\u0301", "9007199254740993", "2026-04-06", "-5", "1e0", ".inf"]),
    st.integers(-2, 3),
    st.sampled_from([1.0, 1.1, 2.5]),
    st.booleans(),
)
VALUES = st.one_of(
    SCALARS,
    st.lists(SCALARS, max_size=3),
    st.just({"nested": 1}),
    st.none(),
    st.just([None, ["1"], {"x": "1"}]),
)
NAMES = st.sampled_from(["a", "b", "c", "a_min", "c_after"])
PROPERTIES = st.dictionaries(NAMES, VALUES, max_size=4)
TESTS = [
    parse_filters([(f"prop.{name}", value)], catalogue)
    for catalogue, pairs in (
        (
            OPEN,
            [
                ("a", "1"), ("a", "01,1.10"), ("b", "true,x"), ("b", "café"), ("c", "2026-04-05"),
                ("a_min", "1"), ("a_max", "1"), ("c_after", "2026-04-05"),
                ("c_before", "2026-04-06"), ("zz", "1"), ("a", "9007199254740993"),
            ],
        ),
        (
            CLOSED,
            [
                ("a", "1"), ("a", "1.1,-5"), ("b", "1"), ("b", "cafe\u0301"), ("c", "2026-04-05"),
                ("a_min", "1"), ("a_max", "1"), ("c_after", "2026-04-05"), ("tags", "x"),
            ],
        ),
    )
    for name, value in pairs
]  # fmt: skip


class IndexAgrees(RuleBasedStateMachine):
    """However engrams come and go, columns give what judging each engram gives."""

    def __init__(self) -> None:
        super().__init__()
        self.index = PropertyIndex()
        self.model: dict[int, dict[str, PropertyValue]] = {}

    @rule(no=st.integers(0, 6), properties=PROPERTIES)
    def put(self, no: int, properties: dict[str, PropertyValue]) -> None:
        self.index.set(no, properties)
        self.model[no] = properties

    @rule(no=st.integers(0, 6))
    def delete(self, no: int) -> None:
        self.index.remove(no)
        self.model.pop(no, None)

    @rule(filters=st.lists(st.sampled_from(TESTS), min_size=1, max_size=2))
    def select(self, filters: list[Filters]) -> None:
        both = Filters(tests=tuple(test for one in filters for test in one.tests))
        assert self.index.select(both) == {
            no
            for no, properties in self.model.items()
            if all(holds(test, properties) for test in both.tests)
        }

    @invariant()
    def everything_is_known(self) -> None:
        assert self.index.select(Filters()) == set(self.model)
        assert len(self.index) == len(self.model)
        for no, properties in self.model.items():
            assert self.index.of(no) == properties
        assert self.index.of(99) == {}


TestIndexAgrees = IndexAgrees.TestCase


@given(st.lists(PROPERTIES, max_size=5))
def test_a_column_built_late_equals_one_kept_current(
    all_properties: list[dict[str, PropertyValue]],
) -> None:
    early, late = PropertyIndex(), PropertyIndex()
    early.set(1000, dict.fromkeys(["a", "b", "c", "a_min", "c_after"], "1"))
    for filters in TESTS:
        early.select(filters)
    for no, properties in enumerate(all_properties):
        early.set(no, properties)
        late.set(no, properties)
    early.remove(1000)
    for filters in TESTS:
        assert early.select(filters) == late.select(filters)


def test_readers_and_a_writer_at_once() -> None:
    index = PropertyIndex()
    filters = parse_filters([("prop.n_min", "0")], OPEN)
    wrong: list[set[int]] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            found = index.select(filters)
            if not found >= {0}:
                wrong.append(found)

    index.set(0, {"n": 0})
    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for no in range(1, 3000):
        index.set(no % 50 + 1, {"n": no, "s": str(no)})
        index.set(0, {"n": no})
        if no % 7 == 0:
            index.remove(no % 50 + 1)
    done.set()
    for reader in readers:
        reader.join()
    assert not wrong
