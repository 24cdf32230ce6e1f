"""Property values: what a written value means by a field's type, and whether it fits.

Values stay plain JSON that keeps what was written. Integers beyond 2**53 and decimals whose text
would change stay strings; `number` gives the exact number beside them, `instants.instant` the
instant beside a datetime.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation

from engine.catalogue import Field
from engine.instants import instant
from engine.model import PropertyValue, Scalar
from engine.slug import nfc
from engine.yaml_nodes import Block, Node, Written, core_value

EXACT_INTEGER = 2**53  # the largest integer that every JSON reader keeps

_LINK = re.compile(r"\[\[[^\[\]\n]+\]\]")
_LANG = re.compile(r"[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8})*")


class Unfit(Exception):
    """A value that is not of its field's type; the text is a sentence, `hint` how to write it."""

    def __init__(self, message: str, hint: str = "", line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.line = line


def number(value: object) -> Decimal | None:
    """The exact number of a JSON number or of a written one; None if it is neither, or endless."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        core = core_value(value)
        if isinstance(core, bool) or not isinstance(core, int | float):
            return None
        if isinstance(core, int):
            return Decimal(core)
    elif isinstance(value, int):
        return Decimal(value)
    elif not isinstance(value, float):
        return None
    try:
        exact = Decimal(value if isinstance(value, str) else repr(value))
    except InvalidOperation:  # .inf and .nan as YAML writes them
        return None
    return exact if exact.is_finite() else None


def plain_json(node: Node) -> PropertyValue:
    """A node as plain JSON, by its own shape: what a property is in open mode."""
    if isinstance(node, Written):
        return _scalar(node)
    if isinstance(node, tuple):
        items: list[object] = [plain_json(item) for item in node]
        return items
    return {key: plain_json(value) for key, value in node.items()}


def typed(node: Node, declared: Field) -> PropertyValue:
    """A node as the value of a declared field; None if it is null. Raises Unfit."""
    if declared.link is not None:
        _require_one_link_a_text(node, declared)
        linked = _links(node, declared.many)
        if linked is not None:
            return linked
    if declared.many:
        if isinstance(node, Written):
            if node.value is None:
                return None
            raise Unfit(
                f"{_shown(node)} is not a list", f"write [{_shown(node, bare=True)}]", node.line
            )
        if isinstance(node, Block):
            raise Unfit("a mapping is not a list", f"write a list of {declared.type} values")
        return [value for item in node if (value := _one(item, declared)) is not None]
    return _one(node, declared)


def fits(value: PropertyValue, declared: Field) -> bool:
    """Whether a stored value is one that the field would accept."""
    if value is None:
        return True
    if declared.many != isinstance(value, list):
        return False
    items = value if isinstance(value, list) else [value]
    return all(_fits_one(item, declared) for item in items)


def _fits_one(value: object, declared: Field) -> bool:
    of_type: dict[str, Callable[[object], bool]] = {
        "string": lambda v: isinstance(v, str),
        "number": lambda v: number(v) is not None,
        "boolean": lambda v: isinstance(v, bool),
        "datetime": lambda v: isinstance(v, str) and instant(v) is not None,
    }
    return of_type[declared.type](value) and (not declared.enum or _listed(value, declared))


def _listed(value: object, declared: Field) -> bool:
    if declared.type == "number":
        return number(value) in {number(choice) for choice in declared.enum}
    if declared.type == "string":
        return nfc(str(value).strip()) in {nfc(str(choice)) for choice in declared.enum}
    return value in declared.enum


def _one(node: Node, declared: Field) -> Scalar | None:
    """One scalar of the field's type; None for null."""
    if not isinstance(node, Written):
        what = "a list" if isinstance(node, tuple) else "a mapping"
        hint = (
            "put the text in quotes" if declared.type == "string" else f"write one {declared.type}"
        )
        raise Unfit(f"{what} is not a {declared.type}", hint, _line(node))
    if node.value is None:
        return None
    value = _READERS[declared.type](node)
    if declared.enum and not _listed(value, declared):
        choices = ", ".join(str(choice) for choice in declared.enum)
        raise Unfit(f"{_shown(node)} is not one of {choices}", f"write one of {choices}", node.line)
    if declared.name == "lang" and declared.link is None and not _LANG.fullmatch(str(value)):
        raise Unfit(
            f"{_shown(node)} is not a language tag", "write one such as en or pt-BR", node.line
        )
    return value


def _string(node: Written) -> str:
    return node.text


def _number(node: Written) -> Scalar:
    value = _scalar(node) if node.plain else None
    if value is None or number(value) is None:
        hint = (
            "remove the quotes" if number(node.text) is not None else "write digits, such as 12.5"
        )
        raise Unfit(f"{_shown(node)} is not a number", hint, node.line)
    return value


def _boolean(node: Written) -> bool:
    if not isinstance(node.value, bool):
        raise Unfit(f"{_shown(node)} is not a boolean", "write true or false", node.line)
    return node.value


def _datetime(node: Written) -> str:
    if instant(node.text) is None:
        raise Unfit(
            f"{_shown(node)} is not a date or time",
            "write 2026-04-05 or 2026-04-05T10:00:00+02:00",
            node.line,
        )
    return node.text.strip()


_READERS: dict[str, Callable[[Written], Scalar]] = {
    "string": _string,
    "number": _number,
    "boolean": _boolean,
    "datetime": _datetime,
}


def _scalar(node: Written) -> Scalar | None:
    """A scalar as JSON that keeps its text: a number only if it is written as JSON would."""
    value = node.value
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if abs(value) <= EXACT_INTEGER and str(value) == node.text else node.text
    return value if repr(value) == node.text else node.text


def _require_one_link_a_text(node: Node, declared: Field) -> None:
    """`"[[A]], [[B]]"` would be the name of one engram, which nothing has."""
    for item in node if isinstance(node, tuple) else (node,):
        links = _LINK.findall(item.text) if isinstance(item, Written) else []
        if isinstance(item, Written) and len(links) > 1:
            listed = ", ".join(f'"{link}"' for link in links)
            said = f"{_shown(item)} holds {len(links)} links, and one text is one link"
            alone = f'write one, such as "{links[0]}"; several need a field of type [string]'
            hint = f"write {declared.name}: [{listed}]" if declared.many else alone
            raise Unfit(said, hint, item.line)


def _links(node: Node, many: bool) -> PropertyValue:
    """The value of a link field that YAML read as nested lists: `[[Bill Gates]]`; else None."""
    if not isinstance(node, tuple) or not node:
        return None
    if len(node) == 1 and (link := _inner(node[0])) is not None:
        one: list[Scalar] = [f"[[{link}]]"]
        return one if many else one[0]
    if not many:
        raise Unfit("a list is not one link", 'write one link, such as "[[Name]]"', _line(node))
    links: list[Scalar] = []
    for item in node:
        if isinstance(item, Written):
            if item.value is not None:
                links.append(item.text)
        elif len(item) == 1 and isinstance(item, tuple) and (link := _inner(item[0])) is not None:
            links.append(f"[[{link}]]")
        else:
            raise Unfit(
                "an element is not a link",
                'put every link in quotes: ["[[A]]", "[[B]]"]',
                _line(item),
            )
    return links


def _inner(node: Node) -> str | None:
    """What stands inside `[[…]]`: a flow list of scalars, joined as it was written."""
    if isinstance(node, tuple) and node and all(isinstance(item, Written) for item in node):
        return ", ".join(item.text for item in node if isinstance(item, Written))
    return None


def _line(node: Node) -> int | None:
    if isinstance(node, Written):
        return node.line
    if isinstance(node, Block):
        return min(node.lines.values(), default=None)
    return next((line for item in node if (line := _line(item)) is not None), None)


def _shown(node: Written, bare: bool = False) -> str:
    text = node.text if len(node.text) <= 60 else node.text[:59] + "…"
    return text if bare or node.plain else f'"{text}"'
