"""The written forms of a request -> (key, value) pairs. Total: a tuple of pairs, or Invalid.

Three forms: `key=value` pairs joined by `&` (in a name or written), plain text (which is the
question), and a JSON object. In pairs `+` is a blank and `%2F` is `/`; a `%` that two hexadecimal
digits do not follow stands for itself, because people write `50% off`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection

from engine.errors import Invalid, Problem, shown

Pairs = tuple[tuple[str, str], ...]

WRITTEN_BYTES = 256 * 1024  # a written request, all of it
KEYS = frozenset((
    "q", "kinds", "budget", "counter", "max_characters", "limit", "offset", "k", "channels",
    "weights", "detail", "fusion", "fresh", "trace", "strict", "format", "set", "kind", "title",
    "created_after", "created_before", "updated_after", "updated_before", "scope_ids", "tags",
    "tags_match", "source_roles", "surfaces", "themes", "depth", "hops", "reverse", "seeds",
    "altitude", "sources", "max_source_tokens", "chunks", "max_chunk_tokens", "min_score", "now",
    "as_of",
))  # fmt: skip
FAMILIES = ("prop", "namespace", "min_score")  # keys of the form family.NAME

_ESCAPED = re.compile(rb"%([0-9A-Fa-f]{2})")
_KEY = re.compile(r"\w+(?:\.[^=&\s]+)?")


def parse_pairs(text: str) -> Pairs:
    """What stands behind `?` or `:` in the name of a control file.

    `text` may hold surrogates for bytes that are no UTF-8 (as the operating system's file names
    come). Raises Invalid for them, and for a piece without `=`.
    """
    pairs: list[tuple[str, str]] = []
    problems: list[Problem] = []
    for piece in text.split("&"):
        if not piece:
            continue
        key, equals, value = piece.partition("=")
        if not equals:
            problems.append(_without_equals(piece))
            continue
        try:
            pairs.append((_decoded(key), _decoded(value)))
        except UnicodeError:
            problems.append(Problem(f"`{shown(piece)}` is not UTF-8", key=shown(key)))
    if problems:
        raise Invalid(*problems)
    return tuple(pairs)


def parse_written(data: bytes, keys: Collection[str] = (), plain: str = "q") -> Pairs:
    """A request written to a control file: pairs, plain text (the question) or a JSON object.

    It is JSON if it is in braces, and pairs if it begins with a key of a request and `=`, or if all
    its pieces look like pairs and one of them has such a key. Anything else is a question, or what
    else `plain` names. `keys` are keys of this request that a recall does not have.
    """
    if len(data) > WRITTEN_BYTES:
        raise Invalid(
            Problem(f"the request has {len(data)} bytes; at most {WRITTEN_BYTES} are read")
        )
    try:
        text = data.decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise Invalid(Problem(f"the request is not UTF-8 (byte {error.start})")) from error
    if not text:
        return ()
    if text.startswith("{") and text.endswith("}"):
        return _from_json(text)
    return parse_pairs(text) if _looks_like_pairs(text, keys) else ((plain, text),)


def known(key: str) -> bool:
    """Is it a key of a request, of this release or another?"""
    family, dot, name = key.partition(".")
    return bool(dot and name) and family in FAMILIES if dot else key in KEYS


def _looks_like_pairs(text: str, of_request: Collection[str]) -> bool:
    pieces = [piece for piece in text.split("&") if piece]
    keys = [piece.partition("=")[0] if "=" in piece else "" for piece in pieces]
    if not keys:
        return False
    its = [known(key) or key in of_request for key in keys]
    return its[0] or (all(_KEY.fullmatch(key) for key in keys) and any(its))


def _decoded(text: str) -> str:
    raw = text.replace("+", " ").encode("utf-8", "surrogateescape")
    return _ESCAPED.sub(lambda match: bytes([int(match[1], 16)]), raw).decode("utf-8")


def _without_equals(piece: str) -> Problem:
    return Problem(
        f"`{shown(piece)}` is not of the form key=value",
        hint="a question is q=…; write %26 for an & inside a value",
    )


def _from_json(text: str) -> Pairs:
    try:
        held = json.loads(text, object_pairs_hook=_Object, parse_constant=_refuse_constant)
    except RecursionError as error:
        raise Invalid(Problem("the JSON request is nested too deeply")) from error
    except ValueError as error:
        raise Invalid(
            Problem(
                f"the request is in braces but not JSON: {shown(str(error))}",
                hint="write a question in braces as q=…",
            )
        ) from error
    pairs: list[tuple[str, str]] = []
    problems: list[Problem] = []
    for key, value in held.pairs:
        _flatten(key, value, pairs, problems)
    if problems:
        raise Invalid(*problems)
    return tuple(pairs)


class _Object:
    """A JSON object with its members in order, repeated names kept."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[str, object]]) -> None:
        self.pairs = pairs


def _flatten(
    key: str, value: object, pairs: list[tuple[str, str]], problems: list[Problem]
) -> None:
    if isinstance(value, _Object):
        if key == "weights":
            _flatten_weights(value, pairs, problems)
        elif key in FAMILIES and not value.pairs:
            problems.append(Problem(f"{key} is empty", key=key, hint="leave it out"))
        elif key in FAMILIES:
            for name, inner in value.pairs:
                _flatten_values(f"{key}.{name}", inner, pairs, problems)
        else:
            said = f"{shown(key)} cannot be an object"
            hint = "only weights, prop, min_score and namespace can"
            problems.append(Problem(said, key=shown(key), hint=hint))
    else:
        _flatten_values(key, value, pairs, problems)


def _flatten_weights(
    weights: _Object, pairs: list[tuple[str, str]], problems: list[Problem]
) -> None:
    given = [(name, _scalar(value)) for name, value in weights.pairs]
    if any(value is None for _, value in given):
        problems.append(Problem("the values of weights are numbers", key="weights"))
    else:
        pairs.append(("weights", ",".join(f"{name}:{value}" for name, value in given)))


def _flatten_values(
    key: str, value: object, pairs: list[tuple[str, str]], problems: list[Problem]
) -> None:
    # A list of nothing is an empty value, which the key itself refuses.
    values = (value or [""]) if isinstance(value, list) else [value]
    for one in values:
        text = _scalar(one)
        if text is None:
            problems.append(
                Problem(
                    f"{shown(key)} is a string, number, boolean or a list of them",
                    key=shown(key),
                    hint="leave a key out to get its default",
                )
            )
        else:
            pairs.append((key, text))


def _scalar(value: object) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return repr(value) if isinstance(value, int | float) else None


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")
