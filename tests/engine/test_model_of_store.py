"""A store and its model: what is wrong is told at opening, in the status, or in the answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from engine.embed import OnnxEmbedder
from engine.errors import EmbedderFailed, Unsupported
from tests.engine.desk import HERE, Desk
from tests.engine.hash_embedder import HashEmbedder
from tests.engine.tiny_model import WORDS, table, tokenizer, write_model


class Late(HashEmbedder):
    """A model whose files are missing until they are put there."""

    there = False

    @property
    def fingerprint(self) -> str:
        if not self.there:
            raise EmbedderFailed("the model is not there")
        return "late-32"

    @fingerprint.setter
    def fingerprint(self, value: str) -> None:
        """Made by the class; ours is fixed."""


def two_notes(desk: Desk) -> None:
    desk.put("a", "# Pump\n\nhot pump\n")
    desk.put("b", "# Apple\n\napple pie\n")
    desk.engine.reading.wait_for_vectors(120)
    assert desk.engine.status(HERE).pending_vectors == 0


def said(desk: Desk) -> str:
    """Why the vector channel did not run for a question."""
    page = desk.engine.search(HERE, "hot pump")
    assert page.hits[0].entry.slug == "a"  # the words found it all the same
    return " ".join(each.reason for each in page.degraded if each.what == "vector")


def test_a_model_that_comes_late_and_is_another_is_never_mixed_in(tmp_path: Path) -> None:
    desk = Desk(tmp_path, embed="background", embedder=HashEmbedder())
    two_notes(desk)
    late = Late()
    desk.reopen(embedder=late)
    assert said(desk) == "the model is not there"
    assert desk.engine.status(HERE).problems == ("the model is not there",)
    late.there = True
    assert "not of late-32" in said(desk) and "engramfs reindex --embed" in said(desk)
    assert "not of late-32" in desk.engine.status(HERE).problems[0]
    desk.put("c", "a third\n")
    desk.engine.reading.wait_for_vectors(120)
    assert desk.engine.status(HERE).pending_vectors == 2
    desk.engine.reindex(embed=True)
    desk.engine.reading.wait_for_vectors(120)
    status = desk.engine.status(HERE)
    assert (status.pending_vectors, status.model, status.problems) == (0, "late-32", ())
    assert said(desk) == ""
    desk.sound()
    desk.engine.close()


def test_a_model_that_comes_late_and_is_the_same_goes_on(tmp_path: Path) -> None:
    desk = Desk(tmp_path, embed="background", embedder=HashEmbedder(name="late"))
    two_notes(desk)
    late = Late()
    desk.reopen(embedder=late)
    assert said(desk) == "the model is not there"
    late.there = True
    assert said(desk) == ""
    assert desk.engine.status(HERE).problems == ()
    desk.engine.close()


def test_another_dimension_is_refused_with_the_command_to_run(tmp_path: Path) -> None:
    model = write_model(tmp_path / "model")
    desk = Desk(tmp_path / "store", embed="background", embedder=OnnxEmbedder(model))
    two_notes(desk)
    desk.engine.close()
    write_model(model, table(6))
    for embed in ("background", "inline"):
        with pytest.raises(Unsupported, match=r"\(4 numbers\).*\(6\).*engramfs reindex --embed"):
            Desk(tmp_path / "store", embed=embed, embedder=OnnxEmbedder(model))
    desk = Desk(tmp_path / "store", embed="background", embedder=OnnxEmbedder(model), re_embed=True)
    desk.engine.reading.wait_for_vectors(120)
    assert said(desk) == ""
    desk.sound()
    desk.engine.close()


def test_without_its_tokenizer_a_store_is_not_opened(tmp_path: Path) -> None:
    """What it counts decides where parts are cut, so a guess would cut them elsewhere."""
    model = write_model(tmp_path / "model")
    (model / "tokenizer.json").unlink()
    for embed in ("background", "inline"):
        with pytest.raises(EmbedderFailed, match=r"a directory with model\.onnx and tokenizer"):
            Desk(tmp_path / "store", embed=embed, embedder=OnnxEmbedder(model))
    Desk(tmp_path / "store", embed="off").engine.close()


def no_model(directory: Path) -> None:
    (directory / "model.onnx").unlink()


def damaged(directory: Path) -> None:
    (directory / "model.onnx").write_bytes(b"no model")


def other_tokenizer(directory: Path) -> None:
    words = (*WORDS, *(f"word{number}" for number in range(100)))
    (directory / "tokenizer.json").write_text(json.dumps(tokenizer(words)))


def not_a_number(directory: Path) -> None:
    write_model(directory, np.full((len(WORDS), 4), np.nan, np.float32))


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (no_model, r"model\.onnx.*a model is a directory"),
        (damaged, "cannot be loaded"),
        (other_tokenizer, "are the two files of one model"),
        (not_a_number, "without direction"),
        (lambda at: write_model(at, inputs=("input_ids", "pixels")), "it wants pixels"),
    ],
)
def test_a_wrong_model_is_told_wherever_it_is_missed(
    tmp_path: Path, harm: Callable[[Path], object], reason: str
) -> None:
    model = write_model(tmp_path / "model")
    harm(model)
    desk = Desk(tmp_path / "store", embed="background", embedder=OnnxEmbedder(model))
    desk.put("a", "hot pump\n")
    desk.engine.reading.wait_for_vectors(120)
    assert_told(desk.engine.status(HERE).problems[0], reason)
    assert_told(said(desk), reason)
    assert desk.engine.status(HERE).pending_vectors == 2
    desk.reopen(embed="off")
    desk.engine.close()
    with pytest.raises(EmbedderFailed) as refused:
        Desk(tmp_path / "store", embed="inline", embedder=OnnxEmbedder(model))
    assert_told(str(refused.value), reason)


def assert_told(sentence: str, reason: str) -> None:
    assert re.search(reason, sentence), sentence
    assert sentence.endswith(")"), "a hint says what to do"


def test_a_put_that_cannot_be_embedded_stores_nothing(tmp_path: Path) -> None:
    rows = table()
    rows[WORDS.index("pie")] = np.nan
    model = write_model(tmp_path / "model", rows)
    desk = Desk(tmp_path / "store", embed="inline", embedder=OnnxEmbedder(model))
    desk.put("a", "hot pump\n")
    before = desk.written("a")
    for slug in ("a", "b"):
        with pytest.raises(EmbedderFailed, match="without direction"):
            desk.put(slug, "apple pie\n")
    assert desk.written("a") == before and desk.at("b") is None
    assert "without direction" in desk.engine.status(HERE).problems[0]
    desk.put("b", "apple\n")
    assert desk.engine.status(HERE).problems == ()
    desk.reopen()
    assert desk.slugs() == ["a", "b"] and desk.engine.status(HERE).pending_vectors == 0
    desk.sound()
    desk.engine.close()
