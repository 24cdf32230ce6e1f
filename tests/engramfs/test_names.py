from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engramfs.names import TABLE, Kept, classify

RESERVED = [
    *(".recall", ".search", ".find_exact", ".find_objects", ".find_links", ".expand", ".continue"),
    *(".schema", ".status", ".errors", ".rejected", ".link", ".unlink", ".help", ".events"),
    *(".graph", ".views", ".history", ".digests", ".briefing", ".match", ".metrics", ".vector"),
    *(".text", ".neighbours"),
]
IN_THIS_RELEASE = {
    ".recall", ".search", ".schema", ".status", ".errors", ".rejected", ".help", ".events",
    ".find_exact", ".find_objects", ".continue", ".text", ".vector", ".graph", ".views",
    ".expand", ".neighbours", ".find_links", ".link", ".unlink", ".briefing", ".match", ".digests",
}  # fmt: skip


def test_the_table_is_exactly_the_reserved_names() -> None:
    assert sorted(TABLE) == sorted(RESERVED)
    assert {name for name, row in TABLE.items() if row.exists} == IN_THIS_RELEASE


@pytest.mark.parametrize("name", RESERVED)
def test_every_name_is_special_alone_and_with_a_request(name: str) -> None:
    bare = classify(name)
    assert bare is not None and bare.special.name == name and bare.request is None
    for separator in "?:":
        asked = classify(f"{name}{separator}q=a:b?c")
        assert asked is not None
        assert (asked.special.name, asked.request) == (name, "q=a:b?c")


@pytest.mark.parametrize(
    "name",
    [
        *(
            ".recallrc",
            ".recall ",
            "recall",
            ".Recall",
            ".recal",
            ".git",
            "",
            ".",
            "..",
            "?",
            ".?q",
        ),
        *("x.recall", ".recall.md", ".recall*", ".searchable?q=1"),
    ],
)
def test_other_names_are_not_special(name: str) -> None:
    assert classify(name) is None


@given(st.text())
def test_classify_is_total(name: str) -> None:
    asked = classify(name)
    if asked is not None:
        assert name.startswith(asked.special.name)
        assert asked.special is TABLE[asked.special.name]


def test_rows_are_told_in_one_line() -> None:
    for row in TABLE.values():
        assert row.help and "\n" not in row.help
        assert (row.mode == 0) == (row.kept is Kept.LATER)
