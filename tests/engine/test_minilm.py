"""The bundled model by our graph: the vectors of the shipped one, but for their rounding."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from engine import minilm, protobuf
from engine.embed import OnnxEmbedder
from engine.errors import EmbedderFailed
from engine.tokens import bundled_tokenizer

TEXTS = (
    "", "pump", "The pump in hall 3 got too hot, so the relief valve was opened by hand.",
    "naïve 中文 ภาษาไทย 0x80070005 snake_case foo.bar() v1.2",
    "Long ago the city was ruled by merchants who traded wool for wine. " * 30,
)  # fmt: skip


def shipped() -> Path:
    return OnnxEmbedder()._model_path()


def test_vectors_are_those_of_the_shipped_graph(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").symlink_to(shipped())
    (tmp_path / "tokenizer.json").symlink_to(bundled_tokenizer().path)
    as_shipped, ours = OnnxEmbedder(tmp_path), OnnxEmbedder()
    near = np.sum(as_shipped.embed_passages(TEXTS) * ours.embed_passages(TEXTS), axis=1)
    assert near.min() > 0.97  # one wrong weight, head or layer gives less than 0.9
    assert as_shipped.fingerprint != ours.fingerprint


def test_another_graph_has_another_name() -> None:
    """Whoever changes the graph changes its name: stores must not mix the vectors of both."""
    graph = hashlib.sha256(minilm.model(shipped().read_bytes())).hexdigest()
    assert (minilm.NAME, graph) == (
        "minilm int8 x int8, 1",
        "59d521e39b7bf35690fd4caf239c8ccbab5b8d9ea9e4f665f3509b0c78b89ba1",
    )


@pytest.mark.parametrize(
    ("held", "said"),
    [
        (b"", "no ONNX model"),
        (b"\x0a\x7fshort", "cut off"),
        (b"\xff" * 5, "inside a number"),
        (b"\x0b\x01", "no field begins"),
        (protobuf.field(7, protobuf.field(5, protobuf.field(8, "w"))), "no weights 'inner"),
    ],
)
def test_another_file_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: bytes, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        minilm.model(held)
    (tmp_path / "model.onnx").write_bytes(held)
    monkeypatch.setattr(OnnxEmbedder, "_model_path", lambda self: tmp_path / "model.onnx")
    with pytest.raises(EmbedderFailed, match=r"damaged, or of another release.*pip install"):
        OnnxEmbedder().embed_query("x")


def test_a_bundled_model_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OnnxEmbedder, "_model_path", lambda self: tmp_path / "model.onnx")
    with pytest.raises(EmbedderFailed, match=r"cannot be read: No such file.*pip install"):
        OnnxEmbedder().embed_query("x")


def test_fields_come_back_as_they_were_written() -> None:
    values = [(1, 0), (2, 127), (3, 128), (4, 1 << 40), (5, "naïve"), (16, b"\x00" * 300)]
    written = b"".join(protobuf.field(number, value) for number, value in values)
    read = list(protobuf.fields(written))
    assert [number for number, _ in read] == [number for number, _ in values]
    assert [value if isinstance(value, int) else bytes(value) for _, value in read] == [
        value.encode() if isinstance(value, str) else value for _, value in values
    ]
    [(number, value)] = protobuf.fields(protobuf.field(2, 1.5))
    assert not isinstance(value, int)
    assert (number, np.frombuffer(value, "<f4").tolist()) == (2, [1.5])
    assert list(protobuf.fields(protobuf.field(1, -1))) == [(1, (1 << 64) - 1)]
