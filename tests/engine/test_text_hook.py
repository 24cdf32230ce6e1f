"""The hook on the embedded text: the hash covers what it makes; its failure stores nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from engine.errors import EmbedderFailed
from engine.model import Draft, Part
from engine.validation import Head
from tests.engine.desk import HERE, Desk
from tests.engine.hash_embedder import HashEmbedder

KINDS = """
kinds:
  note: {fields: {owner: {type: string}}}
  log: {embed: false}
"""
BODY = "# Pumps\n\nintro\n\n## Station\n\nwater\n"


def tagged(head: Head, part: Part) -> str:
    return f"[{head.kind} {head.title} {part.position}] {part.embed_text}"


def desk_with(hook: Callable[..., object] | None, **options: object) -> Desk:
    return Desk(
        **{"kinds": KINDS, "embed": "inline", "embedder": HashEmbedder(), "text_hook": hook}
        | options
    )


def embedded(desk: Desk) -> list[str]:
    return desk.options["embedder"].texts  # type: ignore[no-any-return]


def test_parts_and_the_engram_itself_are_embedded_as_the_hook_says() -> None:
    desk = desk_with(tagged)
    desk.put("a", f"---\nowner: Ann\n---\n{BODY}")
    assert embedded(desk) == [
        "[note Pumps 0] Pumps\nowner: Ann",
        "[note Pumps 1] Pumps\nintro",
        "[note Pumps 2] Pumps\nStation\nwater",
    ]
    assert desk.engine.status(HERE).pending_vectors == 0
    desk.sound()


def test_words_are_found_as_written_and_never_those_of_the_hook() -> None:
    desk = desk_with(lambda head, part: "zebra")
    desk.put("a", BODY)
    asked = desk.engine.search
    assert asked(HERE, "water", channels=("lexical",)).total == 1
    assert asked(HERE, "zebra", channels=("lexical",)).total == 0
    assert asked(HERE, "zebra", channels=("vector",)).total == 1
    assert embedded(desk) == ["zebra"]  # one text, one vector


def test_only_what_the_hook_makes_anew_is_embedded_anew() -> None:
    desk = desk_with(lambda head, part: part.embed_text.replace("water", "fluid"))
    desk.put("a", BODY)
    before = len(embedded(desk))
    desk.put("a", BODY.replace("water", "fluid"))
    assert len(embedded(desk)) == before  # its text is the one that is embedded already
    desk.put("a", BODY.replace("water", "oil"))
    assert embedded(desk)[before:] == ["Pumps\nStation\noil"]


def test_a_text_that_the_hook_empties_has_no_vector_and_waits_for_none() -> None:
    desk = desk_with(lambda head, part: "" if part.position else part.embed_text)
    desk.put("a", BODY)
    assert embedded(desk) == ["Pumps"]
    assert desk.engine.status(HERE).pending_vectors == 0
    desk.sound()


def test_kinds_that_are_not_embedded_do_not_ask_it() -> None:
    asked: list[str] = []

    def hook(head: Head, part: Part) -> str:
        asked.append(head.kind)
        return part.embed_text

    desk = desk_with(hook)
    desk.put("a", BODY, kind="log")
    assert (asked, embedded(desk)) == ([], [])
    desk.put("b", "# Outer\n\n## Inner\n\ntext\n")
    assert asked == ["note", "note"]  # not for the heading that has no text of its own


def fails(head: Head, part: Part) -> str:
    if "secret" in part.embed_text:
        raise ValueError("no secrets")
    return part.embed_text


@pytest.mark.parametrize(
    ("hook", "said"),
    [
        (fails, "the text hook failed on part 1 of note/a: ValueError: no secrets"),
        (lambda head, part: None, "the text hook failed on part 0 of note/a: AttributeError"),
        (lambda head, part: "\ud800", "the text hook failed on part 0 of note/a: UnicodeEncode"),
    ],
)
@pytest.mark.parametrize("embed", ["inline", "off"])
def test_a_hook_that_fails_fails_the_put_and_nothing_is_stored(
    hook: Callable[..., object], said: str, embed: str
) -> None:
    desk = desk_with(hook, embed=embed)
    with pytest.raises(EmbedderFailed, match=said):
        desk.put("a", "# Pumps\n\nsecret\n")
    assert desk.at("a") is None
    assert embedded(desk) == []
    assert desk.engine.status(HERE).engrams == 0
    desk.sound()


def test_an_edit_that_it_refuses_leaves_the_engram_as_it_was() -> None:
    desk = desk_with(fails)
    desk.put("a", BODY)
    before = desk.written("a")
    with pytest.raises(EmbedderFailed):
        desk.put("a", BODY + "\nsecret\n")
    with pytest.raises(EmbedderFailed):
        desk.engine.put_many(HERE, [Draft("note", slug, b"secret\n") for slug in ("b", "c")])
    assert desk.written("a") == before
    assert desk.slugs() == ["a"]
    desk.sound()


def test_the_background_embeds_what_the_hook_makes(tmp_path: Path) -> None:
    desk = desk_with(tagged, where=tmp_path, embed="off")
    desk.put("a", BODY)
    desk.reopen(embed="background")
    desk.engine.reading.wait_for_vectors(120)
    assert sorted(embedded(desk)) == [
        "[note Pumps 0] Pumps", "[note Pumps 1] Pumps\nintro",
        "[note Pumps 2] Pumps\nStation\nwater",
    ]  # fmt: skip
    assert desk.engine.status(HERE).pending_vectors == 0
    desk.engine.close()


def test_another_hook_comes_into_force_by_reindex(tmp_path: Path) -> None:
    desk = desk_with(None, where=tmp_path)
    desk.put("a", BODY)
    before = len(embedded(desk))
    desk.reopen(embed="background", text_hook=lambda head, part: part.embed_text.upper())
    assert any("parts or terms of" in problem.message for problem in desk.engine.check())
    counts = desk.engine.reindex()
    assert counts["changed"] == 1
    desk.engine.reading.wait_for_vectors(120)
    assert sorted(embedded(desk)[before:]) == ["PUMPS", "PUMPS\nINTRO", "PUMPS\nSTATION\nWATER"]
    (found,) = desk.engine.search(HERE, "PUMPS\nSTATION\nWATER", channels=("vector",)).hits
    assert found.score > 0
    desk.sound()
    desk.engine.close()


def test_the_mean_of_an_engram_is_of_what_was_embedded() -> None:
    desk = desk_with(lambda head, part: "zebra")
    desk.put("a", BODY)
    desk.put("b", "gardens\n")
    found = desk.engine.find_objects(HERE, "zebra")
    assert [hit.channels for hit in found.hits] == [{"vector": 1}, {"vector": 1}]
    snapshot = desk.engine.reading.index.snapshot()
    assert len(np.unique(snapshot.doc_vector[snapshot.live])) == 1
