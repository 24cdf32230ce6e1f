"""The file of an edge: what is said of it as `key: value` lines, and back. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.config import Config
from engine.errors import Invalid, Problem, shown
from engine.model import Edge, EdgeMeta
from engine.values import number
from engine.yaml_core import load
from engine.yaml_nodes import Block, Node, Written
from engine.yaml_text import mapping_text
from engramfs.render import instant

BY_HAND = "link"
SETTABLE = ("note", "status", "role", "confidence", "evidence_id")

_CHANGEABLE = f"# {', '.join(SETTABLE)} can be written here\n"


def by_hand(edges: Sequence[Edge]) -> Edge | None:
    """The edge that somebody made with `ln -s`, `.link` or the API; None: texts made them all."""
    return next((edge for edge in edges if edge.origin == BY_HAND), None)


def edge_values(edges: Sequence[Edge], source: str, target: str) -> dict[str, object]:
    """What is said of an edge between two paths; where there are several, of the one by hand.

    `also` names the others, which texts make.
    """
    edge = by_hand(edges) or edges[0]
    values: dict[str, object] = {
        "relation": edge.relation,
        "source": source,
        "target": target,
        "origin": edge.origin,
        "written": "" if edge.origin == BY_HAND else _written(edge),
        "note": edge.note,
        "status": edge.status,
        "role": edge.role,
        "confidence": edge.confidence,
        "evidence_id": edge.evidence_id,
        "created": instant(edge.created_ns) if edge.created_ns else "",
        "updated": instant(edge.updated_ns) if edge.updated_ns else "",
        "also": [f"{each.origin}: {_written(each)}" for each in edges if each is not edge],
    }
    return {key: value for key, value in values.items() if value not in ("", None, [])}


def edge_text(values: Mapping[str, object]) -> bytes:
    """The file: only what has a value, then a comment that says what can be written."""
    if values["origin"] == BY_HAND:
        last = _CHANGEABLE
    else:
        last = f"# made by the text of {values['source']}: change it there\n"
    return (mapping_text(values) + last).encode()


def read_edge(data: bytes, values: Mapping[str, object]) -> EdgeMeta:
    """What a file says that was `values`. A key left out is taken away, as in an engram.

    Raises Invalid with every problem. What an edge is, and where its ends are, cannot be changed.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Invalid(Problem(f"the file of an edge is not UTF-8: {error}")) from None
    loaded = load(text, Config())
    problems = list(loaded.problems)
    root = loaded.root
    if root is not None and not isinstance(root, Block) and not loaded.fatal:
        problems.append(
            Problem("the file of an edge is lines `key: value`", 1, hint="begin with note: …")
        )
    if problems:
        raise Invalid(*problems)
    said: dict[str, str] = {}
    for key, node in (root if isinstance(root, Block) else Block()).items():
        line = root.lines[key] if isinstance(root, Block) else None
        if key in SETTABLE:
            if isinstance(node, Written):
                said[key] = "" if node.value is None else node.text
            else:
                problems.append(Problem(f"`{key}` is not one value", line, key))
        elif _texts(node) != _texts_of(values.get(key)):
            problems.append(_fixed(key, line, key in values))
    confidence = _confidence(said.pop("confidence", ""), problems)
    if problems:
        raise Invalid(*problems)
    return EdgeMeta(**said, confidence=confidence)


def _fixed(key: str, line: int | None, known: bool) -> Problem:
    if known:
        return Problem(
            f"`{key}` of an edge cannot be changed", line, key,
            "leave the line as it was; another edge is made by ln -s",
        )  # fmt: skip
    return Problem(
        f"`{shown(key)}` is not said of an edge", line, key, f"the keys are {', '.join(SETTABLE)}"
    )


def _confidence(text: str, problems: list[Problem]) -> float | None:
    if not text:
        return None
    exact = number(text)
    if exact is None:
        problems.append(
            Problem(
                f"the confidence {shown(text)} is not a number", key="confidence",
                hint="write a number above 0 and up to 1, or leave it out",
            )
        )  # fmt: skip
    return None if exact is None else float(exact)


def _texts(node: Node) -> tuple[str, ...] | None:
    """A scalar, or a list of them, as it is written."""
    if isinstance(node, Written):
        return (node.text,)
    if isinstance(node, tuple) and all(isinstance(item, Written) for item in node):
        return tuple(item.text for item in node if isinstance(item, Written))
    return None


def _texts_of(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    return tuple(value) if isinstance(value, list) else (str(value),)


def _written(edge: Edge) -> str:
    return f"{edge.written}#{edge.heading}" if edge.heading else edge.written
