"""What a host's own embedder gives is judged: nothing of it is stored or compared unseen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.errors import EmbedderFailed
from tests.engine.desk import HERE, Desk
from tests.engine.hash_embedder import HashEmbedder


def raising(_: Any) -> Any:
    raise RuntimeError("no memory")


WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "not finite": (lambda made: made * np.nan, "a vector of the length nan"),
    "without direction": (lambda made: made * 0, "a vector of the length 0"),
    "not normalised": (lambda made: made * 2, "a vector of the length 2"),
    "too short": (lambda made: made[..., :7], "not (32,)"),
    "one too many": (lambda made: made[None], "not (32,)"),
    "nothing": (lambda made: None, "the shape ()"),
    "no numbers": (lambda made: "vector", "the embedder failed: ValueError"),
    "an error": (raising, "the embedder failed: RuntimeError: no memory"),
}


class Faulty(HashEmbedder):
    """One that gives something else from some moment on."""

    wrong: Callable[[Any], Any] | None = None

    def embed_query(self, text: str) -> Any:
        made = super().embed_query(text)
        return made if self.wrong is None else self.wrong(made)

    def embed_passages(self, texts: Any) -> Any:
        wrong, self.wrong = self.wrong, None
        made = super().embed_passages(texts)
        self.wrong = wrong
        return made if wrong is None else wrong(made)


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_vector_is_told_and_never_kept(what: str) -> None:
    embedder = Faulty()
    desk = Desk(embed="inline", embedder=embedder)
    desk.put("a", "# Pump\n\nhot pump\n")
    embedder.wrong, said = WRONG[what]
    for ask in (desk.engine.search, desk.engine.find_objects):
        page = ask(HERE, "hot pump")
        assert [hit.entry.slug for hit in page.hits] == ["a"]
        assert [lost.what for lost in page.degraded] == ["vector"]
        assert said in page.degraded[0].reason
    with pytest.raises(EmbedderFailed, match="the embedder"):
        desk.put("b", "# Valve\n\ncold valve\n")
    assert desk.at("b") is None
    embedder.wrong = None
    assert desk.engine.search(HERE, "hot pump").degraded == ()
    desk.sound()


def test_a_list_of_numbers_or_wider_ones_are_a_vector_too() -> None:
    embedder = Faulty()
    desk = Desk(embed="inline", embedder=embedder)
    embedder.wrong = lambda made: made.astype(np.float64).tolist()
    desk.put("a", "# Pump\n\nhot pump\n")
    assert desk.engine.search(HERE, "hot pump").degraded == ()
    desk.sound()
