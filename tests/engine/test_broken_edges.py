"""A row of the table of edges that makes no sense hides no engram, and can be mended."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import NotFound
from tests.engine.desk import HERE, Desk

INSERT = (
    "INSERT INTO edge VALUES ({source}, 'about', {target}, 'x', '', '{origin}', '', '', '', NULL, "
    "'', 1, 1)"
)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    desk.put("a", "# A\n\nabout pumps [[b]]\n")
    desk.put("b", "# B\n\nkept\n")
    desk.engine.link(HERE, "note/b", "see", "note/a")
    return desk


@pytest.mark.parametrize("origin", ["body", "link"])
@pytest.mark.parametrize(
    ("source", "target"), [(0, 2_000_000_000), (0, -7), (1_999_999_999, 1), (-9, -8), (77, -1)]
)
def test_a_store_with_a_broken_edge_opens_and_is_mended(
    desk: Desk, source: int, target: int, origin: str
) -> None:
    store = desk.engine._state.store
    with store.transaction() as cursor:
        cursor.execute(INSERT.format(source=source, target=target, origin=origin))
    desk.reopen()
    assert desk.slugs() == ["a", "b"]
    assert desk.written("a") == b"# A\n\nabout pumps [[b]]\n"
    assert [hit.entry.slug for hit in desk.engine.search(HERE, "pumps").hits] == ["a"]
    assert [(edge.relation, edge.written) for edge in desk.engine.edges(HERE, "note/b")][1:] == [
        ("mentions", "b")
    ]
    assert len(desk.engine.expand(HERE, ["note/a"]).reached) == 1
    (trouble,) = desk.engine.status(HERE).problems
    assert trouble == "1 edges have an end that is no engram: run `engramfs check --repair`"
    assert any("no engram" in problem.message for problem in desk.engine.check())
    left = desk.engine.check(repair=True)
    assert [problem for problem in left if "no engram" in problem.message] == []
    desk.put("c", "see [[a]] and [[b]]\n")
    desk.reopen()
    assert desk.engine.status(HERE).problems == ()
    desk.sound()
    with pytest.raises(NotFound):
        desk.engine.expand(HERE, ["note/x"])
    desk.engine.close()
