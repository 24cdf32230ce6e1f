"""Models that a test can make: a table of vectors, one a word, looked up by ONNX Runtime."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.protobuf import field

WORDS = ("[UNK]", "pump", "hot", "apple", "pie", "query", "passage", "text", ":")
_FLOAT, _INT32, _INT64 = 1, 6, 7  # TensorProto.DataType


def table(dimension: int = 4, words: int = len(WORDS)) -> NDArray[np.float32]:
    """float32[words, dimension]: no two words alike."""
    return np.random.default_rng(7).standard_normal((words, dimension)).astype(np.float32)


def write_model(
    directory: Path,
    vectors: NDArray[np.float32] | None = None,
    *,
    inputs: tuple[str, ...] = ("input_ids", "attention_mask"),
    whole: bool = False,
    kind: int = _INT64,
    nodes: tuple[tuple[str, tuple[str, ...], str], ...] | None = None,
    words: tuple[str, ...] = WORDS,
) -> Path:
    """A directory with a model.onnx that looks `vectors` up and a tokenizer.json of `words`.

    `whole`: one vector a text instead of one a token. `nodes` are (operator, inputs, output), from
    "table" and the inputs to "out".
    """
    held = table() if vectors is None else vectors
    if nodes is None:
        looked = "each" if whole else "out"
        nodes = (("Gather", ("table", inputs[0]), looked),)
        nodes += (("ReduceMax", ("each",), "out"),) if whole else ()
    graph = b"".join(_node(*node) for node in nodes) + field(2, "tiny")
    shape = b"".join(field(1, size) for size in held.shape)
    raw = np.ascontiguousarray(held, "<f4").tobytes()
    graph += field(5, shape + field(2, _FLOAT) + field(8, "table") + field(9, raw))
    graph += b"".join(field(11, _value(name, kind)) for name in inputs)
    graph += field(12, _value("out", _FLOAT, sizes=False))
    opset = field(8, field(1, "") + field(2, 17))
    directory.mkdir(exist_ok=True)
    (directory / "model.onnx").write_bytes(field(1, 8) + field(7, graph) + opset)
    (directory / "tokenizer.json").write_text(json.dumps(tokenizer(words)))
    return directory


def tokenizer(words: tuple[str, ...] = WORDS, unknown: str = "[UNK]") -> dict[str, object]:
    """A tokenizer of whole words; the n-th word is token n."""
    vocabulary = {word: number for number, word in enumerate(words)}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
        "normalizer": {"type": "Lowercase"} if unknown == unknown.lower() else None,
        "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None, "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": unknown},
    }  # fmt: skip


def _node(operator: str, inputs: tuple[str, ...], output: str) -> bytes:
    parts = [field(1, name) for name in inputs] + [field(2, output), field(4, operator)]
    if operator == "ReduceMax":  # over the tokens
        parts.append(field(5, field(1, "axes") + field(8, 1) + field(20, 7)))
        parts.append(field(5, field(1, "keepdims") + field(3, 0) + field(20, 2)))
    return field(1, b"".join(parts))


def _value(name: str, kind: int, sizes: bool = True) -> bytes:
    shape = field(2, field(1, field(1, 1)) + field(1, field(2, "tokens"))) if sizes else b""
    return field(1, name) + field(2, field(1, field(1, kind) + shape))
