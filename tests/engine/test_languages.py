"""The languages a question is stemmed in: those of its scope, and of nothing outside it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.languages import Languages
from engine.model import Draft, Namespace
from engine.namespace import Scope
from tests.engine.desk import Desk

OURS: Namespace = (("team", "a"),)
THEIRS: Namespace = (("team", "b"),)


def put(desk: Desk, namespace: Namespace, slug: str, lang: str, text: str) -> None:
    source = f"---\nlang: {lang}\n---\n{text}\n".encode()
    desk.engine.put(Scope(namespace), Draft("note", slug, source))


def german_beside(others: tuple[str, ...], namespace: Namespace, where: Path | str) -> Desk:
    desk = Desk(where)
    put(desk, OURS, "town", "de", "# Wälder\n\nDie Häuser am Fluss")
    for lang in others:
        for number in range(2):
            put(desk, namespace, f"{lang}{number}".lower(), lang, "rien")
    return desk


@pytest.mark.parametrize("method", ["search", "find_exact", "find_objects"])
@pytest.mark.parametrize("question", ["Häusern", "Häusern -Autos", "Häusern title:Wald"])
def test_languages_outside_the_scope_do_not_hide_what_is_in_it(method: str, question: str) -> None:
    desk = german_beside(("fr", "es", "it"), THEIRS, ":memory:")
    if method == "find_objects":
        question = "Häusern"  # it has no operators
    ask = getattr(desk.engine, method)
    assert [hit.entry.slug for hit in ask(Scope(OURS), question).hits] == ["town"]


def test_variants_of_one_language_are_one() -> None:
    desk = german_beside(("en", "en-GB", "EN-us"), OURS, ":memory:")
    assert [hit.entry.slug for hit in desk.engine.search(Scope(OURS), "Häusern").hits] == ["town"]


def test_the_order_is_the_same_after_a_restart(tmp_path: Path) -> None:
    desk = german_beside(("pt", "fr", "es"), OURS, tmp_path)
    gone = desk.engine.lookup(Scope(OURS), "note", "pt0")
    assert gone is not None
    put(desk, OURS, "late", "fr", "rien")
    desk.engine.delete(Scope(OURS), gone.id)

    def ranked() -> tuple[str, ...]:
        reading = desk.engine.reading
        return tuple(reading.languages(reading.columns.now().covered(Scope(OURS))))

    before = ranked()
    assert before == ("fr", "es", "de", "pt")
    desk.reopen()
    assert ranked() == before
    desk.engine.close()


def test_only_the_engrams_asked_about_count() -> None:
    languages = Languages()
    assert languages.among(np.ones(3, np.bool_)) == ("en",)
    for number, lang in enumerate(("de", "", "fr", "fr", "de-AT", "de")):
        languages.set(number, lang)
    assert languages.among(np.ones(6, np.bool_)) == ("de", "fr", "en")
    assert languages.among(np.array([0, 0, 1, 1], np.bool_)) == ("fr",)
    assert languages.among(np.zeros(6, np.bool_)) == ("en",)
    languages.remove(4)
    languages.remove(5)
    languages.set(0, "fr")
    assert languages.among(np.ones(999, np.bool_)) == ("fr", "en")
