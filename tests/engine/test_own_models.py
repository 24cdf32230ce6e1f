"""A model of one's own: any directory with model.onnx and tokenizer.json, and what may be wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from engine.embed import ModelSettings, OnnxEmbedder
from engine.errors import EmbedderFailed
from tests.engine.tiny_model import WORDS, table, tokenizer, write_model


def direction(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


def test_pooling(tmp_path: Path) -> None:
    pump, hot = table()[1:3]
    write_model(tmp_path)
    mean = OnnxEmbedder(tmp_path)
    assert np.allclose(mean.embed_query("pump hot"), direction(pump + hot))
    assert mean.dimension == 4
    cls = OnnxEmbedder(tmp_path, ModelSettings(pooling="cls"))
    assert np.allclose(cls.embed_query("pump hot"), direction(pump))
    write_model(tmp_path, whole=True)
    own = OnnxEmbedder(tmp_path)
    assert np.allclose(own.embed_query("pump hot"), direction(np.maximum(pump, hot)))


def test_prefixes_and_length(tmp_path: Path) -> None:
    rows = table()
    settings = ModelSettings("cls", "query: ", "passage: ", max_tokens=3)
    own = OnnxEmbedder(write_model(tmp_path), settings)
    assert np.allclose(own.embed_query("pump"), direction(rows[WORDS.index("query")]))
    assert np.allclose(own.embed_passages(["pump"])[0], direction(rows[WORDS.index("passage")]))
    assert own.count_tokens("pump") == 3
    mean = OnnxEmbedder(tmp_path, ModelSettings(max_tokens=2))
    assert np.array_equal(mean.embed_query("hot pump"), mean.embed_query("hot pump apple pie"))


def test_inputs_as_the_model_wants_them(tmp_path: Path) -> None:
    expected = OnnxEmbedder(write_model(tmp_path)).embed_query("hot pump")
    for inputs in (("input_ids",), ("input_ids", "token_type_ids", "attention_mask")):
        own = OnnxEmbedder(write_model(tmp_path, inputs=inputs))
        assert np.array_equal(own.embed_query("hot pump"), expected)
    own = OnnxEmbedder(write_model(tmp_path, kind=6))  # int32
    assert np.array_equal(own.embed_query("hot pump"), expected)


def test_the_fingerprint_is_of_all_that_vectors_depend_on(tmp_path: Path) -> None:
    first = OnnxEmbedder(write_model(tmp_path)).fingerprint
    assert OnnxEmbedder(write_model(tmp_path)).fingerprint == first
    assert OnnxEmbedder(tmp_path, ModelSettings(max_tokens=9)).fingerprint != first
    assert OnnxEmbedder(write_model(tmp_path, table(5))).fingerprint != first
    assert OnnxEmbedder(write_model(tmp_path, words=WORDS[:-1])).fingerprint != first


def test_no_model(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(tmp_path)
    for use in (lambda: embedder.embed_query("x"), lambda: embedder.count_tokens("x")):
        with pytest.raises(EmbedderFailed, match=r"a directory with model\.onnx"):
            use()
    with pytest.raises(EmbedderFailed, match="cannot be read"):
        _ = embedder.fingerprint


def damage(directory: Path) -> None:
    (directory / "model.onnx").write_bytes(b"no model" * 99)


def cut_short(directory: Path) -> None:
    whole = (directory / "model.onnx").read_bytes()
    (directory / "model.onnx").write_bytes(whole[: len(whole) // 2])


def other_tokenizer(directory: Path) -> None:
    words = (*WORDS, *(f"word{number}" for number in range(100)))
    (directory / "tokenizer.json").write_text(json.dumps(tokenizer(words)))


def no_unknown_word(directory: Path) -> None:
    (directory / "tokenizer.json").write_text(json.dumps(tokenizer(WORDS[1:])))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (damage, r"cannot be loaded.*it is damaged, or no ONNX model"),
        (cut_short, r"cannot be loaded.*it is damaged, or no ONNX model"),
        (other_tokenizer, r"fails at token 108, the last one.*are the two files of one model\?"),
        (no_unknown_word, r"tokenizer\.json cannot read a text: .*install the model again"),
        (
            lambda at: write_model(at, np.full((len(WORDS), 4), np.nan, np.float32)),
            r"a vector without direction \(its length is nan\) \(it is damaged",
        ),
        (
            lambda at: write_model(at, np.zeros((len(WORDS), 4), np.float32)),
            r"a vector without direction \(its length is 0\)",
        ),
        (
            lambda at: write_model(at, inputs=("input_ids", "pixel_values")),
            r"does not read text as tokens: it wants pixel_values tensor\(int64\) \(a model wants",
        ),
        (
            lambda at: write_model(
                at, inputs=("attention_mask",), nodes=(("Identity", ("table",), "out"),)
            ),
            r"it wants no input_ids",
        ),
        (
            lambda at: write_model(at, kind=1, nodes=(("Identity", ("table",), "out"),)),
            r"it wants input_ids tensor\(float\)",
        ),
        (
            lambda at: write_model(at, nodes=(("Identity", ("table",), "out"),)),
            r"of the shape 9x4 for a text of 1 tokens \(it must be one vector a token",
        ),
    ],
)
def test_what_may_be_wrong_is_a_sentence_with_advice(
    tmp_path: Path, make: Callable[[Path], object], said: str
) -> None:
    write_model(tmp_path)
    make(tmp_path)
    with pytest.raises(EmbedderFailed, match=f"(?s){said}"):
        OnnxEmbedder(tmp_path).embed_query("strange")
