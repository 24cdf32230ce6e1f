"""A title that is a text (a first heading of one long line, say) takes no other engram's room."""

from __future__ import annotations

from tests.engine.library import Library
from tests.engine.test_briefing import Store
from tests.engine.test_match import Store as Matching

LONG = f"# {'pump word ' * 4_000}\n\nShort text of the pump.\n"


def test_it_takes_no_other_constraint_out_of_a_briefing() -> None:
    store = Store()
    store.many("rule", 6)
    store.put("rule/long", LONG)
    text = store.brief().rendered.decode()
    assert all(f"rule/rule-{n}.md" in text for n in range(6))
    assert "rule/long.md" in text


def test_it_takes_no_other_engram_out_of_a_recall() -> None:
    library = Library()
    library.put("note/huge", f'---\ntitle: "{"pump valve " * 9_000}"\n---\nThree words here.\n')
    library.put("note/good", "The pump and its valve.\n", days=90)
    packed = library.ask("q=pump valve")
    assert {item.path for item in packed.items} == {"note/huge.md", "note/good.md"}
    (title,) = [item.title for item in packed.items if item.path == "note/huge.md"]
    assert len(title) == 240
    assert title.endswith("…")


def test_a_match_gives_its_beginning() -> None:
    library = Matching()
    library.put("note/huge", LONG)
    for number in range(40):
        library.put(f"note/other{number}", f"# Something else {number}\n\nEntirely.\n")
    found = library.match("the pump and the word")
    assert [item.entry.slug for item in found.items] == ["huge"]
    assert len(found.rendered) < 1_000
