"""kinds.yaml -> Catalogue, with every fault named by its line."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from engine.catalogue import (
    BRIEFINGS,
    DIRECTIONS,
    OPEN,
    RESERVED_KEYS,
    RESERVED_KINDS,
    TYPES,
    WELL_KNOWN,
    Catalogue,
    Field,
    kind_from_spec,
    recipe_from_spec,
)
from engine.config import Config
from engine.errors import Invalid, Problem
from engine.slug import directory_problem, fold
from engine.values import Unfit, typed
from engine.yaml_core import load
from engine.yaml_nodes import Block, Node, Written

CONTAINMENT = frozenset({"contains", "part_of", "partof"})  # relations that parts have by nature
MAX_HOPS = 4

_FIELD_NAME = re.compile(r"[A-Za-z0-9_]+")
_RELATION = re.compile(r"[^\W][\w-]*")
_LANG = re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*")
_OPERATORS = ("eq", "in")

Spec = dict[str, object]
Checker = Callable[["_Reader", Node, int, str], object]


def parse_kinds(text: str) -> Catalogue:
    """Read kinds.yaml. Raises Invalid with every problem; an empty text is open mode."""
    loaded = load(text.removeprefix("\ufeff"), Config())
    if loaded.fatal:
        raise Invalid(*loaded.problems)
    reader = _Reader(list(loaded.problems))
    root = loaded.root
    if root is None:
        root = Block()
    if not isinstance(root, Block):
        raise Invalid(Problem("kinds.yaml is not a mapping", 1, hint="begin it with `kinds:`"))
    catalogue = _catalogue(reader, root)
    if reader.problems:
        raise Invalid(*sorted(reader.problems, key=lambda problem: problem.line or 0))
    return catalogue


class _Reader:
    """Collects problems while values are checked."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems

    def say(self, message: str, line: int | None, key: str, hint: str = "") -> None:
        self.problems.append(Problem(message, line, key, hint))

    def block(self, node: Node, line: int, key: str, what: str) -> Block:
        if isinstance(node, Block):
            return node
        if not (isinstance(node, Written) and node.value is None):
            self.say(f"{what} is not a mapping", line, key, "write it as `name: …` lines")
        return Block()

    def options(self, block: Block, allowed: Mapping[str, Checker], key: str, what: str) -> Spec:
        """The options of a block that are allowed and well formed."""
        spec: Spec = {}
        for name, node in block.items():
            line = block.lines[name]
            if name not in allowed:
                known = ", ".join(allowed)
                self.say(f"{what} has no option `{name}`", line, key, f"the options are {known}")
                continue
            if isinstance(node, Written) and node.value is None:
                continue
            value = allowed[name](self, node, line, key)
            if value is not None:
                spec[name] = value
        return spec


def _catalogue(reader: _Reader, root: Block) -> Catalogue:
    for name in root:
        if name not in ("kinds", "groups", "recipes"):
            reader.say(
                f"kinds.yaml has no section `{name}`",
                root.lines[name],
                name,
                "the sections are kinds, groups and recipes",
            )
    sections = {
        name: reader.block(root[name], root.lines[name], name, f"`{name}`")
        for name in ("kinds", "groups", "recipes")
        if name in root
    }
    declared = sections.get("kinds", Block())
    specs = _kinds(reader, declared)
    catalogue = Catalogue({name: kind_from_spec(name, spec) for name, spec in specs.items()})
    for kind in catalogue.kinds.values():
        for link in kind.fields.values():
            if link.to is not None and catalogue.kind(link.to) is None:
                line = _line_of(declared, kind.name, "fields", link.name, "to")
                key = f"{kind.name}.{link.name}"
                reader.say(f"`to: {link.to}` is not a kind of this file", line, key, _names(specs))
    groups = _groups(reader, sections.get("groups", Block()), catalogue)
    recipes = {
        name: recipe_from_spec(name, spec)
        for name, spec in _recipes(reader, sections.get("recipes", Block())).items()
    }
    if not (specs or groups or recipes):
        return OPEN
    return Catalogue(catalogue.kinds, groups, recipes)


def _kinds(reader: _Reader, block: Block) -> dict[str, Spec]:
    specs: dict[str, Spec] = {}
    seen: dict[str, str] = {}
    for name, node in block.items():
        line = block.lines[name]
        problem = kind_name_problem(name)
        if problem:
            reader.say(problem.message, line, name, problem.hint)
        elif fold(name) in seen:
            other = seen[fold(name)]
            reader.say(
                f"the kinds {other} and {name} would share one directory",
                line,
                name,
                "names of kinds differ by more than case",
            )
        seen.setdefault(fold(name), name)
        body = reader.block(node, line, name, f"the kind {name}")
        spec = reader.options(body, _KIND_OPTIONS, name, "a kind")
        if "fields" in body:
            listed = reader.block(body["fields"], body.lines["fields"], name, "`fields`")
            spec["fields"] = _fields(reader, listed, name)
        spec.setdefault("fields", {})
        if spec.get("parent") is False and not spec.get("part"):
            reader.say(
                f"the kind {name} is neither of engrams nor of parts",
                line,
                name,
                "with `parent: false` write `part: true`",
            )
        specs[name] = spec
    return specs


def kind_name_problem(name: str) -> Problem | None:
    """What forbids `name` as the name of a kind, in a file or by mkdir; None if nothing does."""
    if fold(name) in RESERVED_KINDS:
        return Problem(f"the kind {name} is reserved", key=name, hint="choose another name")
    return directory_problem(name)


def _fields(reader: _Reader, block: Block, kind: str) -> dict[str, Spec]:
    specs: dict[str, Spec] = {}
    for name, node in block.items():
        line = block.lines[name]
        key = f"{kind}.{name}"
        if not _FIELD_NAME.fullmatch(name):
            reader.say(
                f"`{name}` is not a field name", line, key, "use letters of A to Z, digits and _"
            )
        elif name in RESERVED_KEYS or name in WELL_KNOWN:
            what = "a reserved key" if name in RESERVED_KEYS else "valid on every kind already"
            reader.say(f"`{name}` is {what} and cannot be declared", line, key, "remove it")
        body = reader.block(node, line, key, f"the field {name}")
        spec = reader.options(body, _FIELD_OPTIONS, key, "a field")
        specs[name] = _complete(reader, body, spec, key, line)
    return specs


def _complete(reader: _Reader, body: Block, spec: Spec, key: str, line: int) -> Spec:
    """Check what needs the whole field: values against its type, links, operators."""
    if "type" not in body:
        reader.say("a field needs a type", line, key, "write type: string, or [string] for a list")
    type_ = spec.setdefault("type", "string")
    base = str(type_[0] if isinstance(type_, list) else type_)
    plain_field = Field(key.rpartition(".")[2], base)
    for option in ("enum", "examples"):
        if option not in spec:
            continue
        values = []
        nodes = body[option]
        for item in nodes if isinstance(nodes, tuple) else ():
            try:
                value = typed(item, plain_field)
            except Unfit as unfit:
                reader.say(f"{option}: {unfit.message}", unfit.line, key, unfit.hint)
            else:
                values.append(value.strip() if isinstance(value, str) else value)
        spec[option] = values
    if base != "string":
        for option in ("link", "to"):
            if option in spec:
                hint = "a link field is a string or [string]"
                reader.say(f"a {base} cannot have `{option}`", body.lines[option], key, hint)
    elif "to" in spec and "link" not in spec:
        reader.say("`to` without `link`", body.lines["to"], key, "name the relation: link: …")
    if base == "boolean" and "in" in (spec.get("operators") or ()):  # type: ignore[operator]
        reader.say("a boolean has the operator eq only", body.lines["operators"], key)
    return spec


def _groups(reader: _Reader, block: Block, catalogue: Catalogue) -> dict[str, tuple[str, ...]]:
    groups = {}
    for name, node in block.items():
        line = block.lines[name]
        if catalogue.kind(name):
            reader.say(f"the group {name} has the name of a kind", line, name, "rename the group")
        members = _strings(reader, node, line, name) or []
        for member in members:
            if catalogue.kind(member) is None:
                reader.say(
                    f"the group {name} holds `{member}`, which is not a kind of this file",
                    line,
                    name,
                    _names(catalogue.kinds),
                )
        groups[name] = tuple(catalogue.expand(members)[0])
    return groups


def _recipes(reader: _Reader, block: Block) -> dict[str, Spec]:
    return {
        name: reader.options(
            reader.block(node, block.lines[name], name, f"the recipe {name}"),
            _RECIPE_OPTIONS,
            name,
            "a recipe",
        )
        for name, node in block.items()
    }


def _text(reader: _Reader, node: Node, line: int, key: str) -> str | None:
    if isinstance(node, Written):
        return node.text
    reader.say("this is not a text", line, key, "put it in quotes")
    return None


def _flag(reader: _Reader, node: Node, line: int, key: str) -> bool | None:
    if isinstance(node, Written) and isinstance(node.value, bool):
        return node.value
    reader.say("this is not a boolean", line, key, "write true or false")
    return None


def _lang(reader: _Reader, node: Node, line: int, key: str) -> str | None:
    if isinstance(node, Written) and _LANG.fullmatch(node.text):
        return node.text
    reader.say("`lang` is not a language tag", line, key, "write one such as en or pt-BR")
    return None


def _strings(reader: _Reader, node: Node, line: int, key: str) -> list[str] | None:
    if isinstance(node, tuple):
        texts = [item.text for item in node if isinstance(item, Written)]
        if len(texts) == len(node):
            return texts
    reader.say("this is not a list of names", line, key, "write [one, another]")
    return None


def _list(reader: _Reader, node: Node, line: int, key: str) -> bool | None:
    if isinstance(node, tuple) and node:
        return True
    reader.say("this is not a list of values", line, key, "write [one, another]")
    return None


def _type(reader: _Reader, node: Node, line: int, key: str) -> str | list[str] | None:
    inner = node[0] if isinstance(node, tuple) and len(node) == 1 else node
    if isinstance(inner, Written) and inner.text in TYPES:
        return inner.text if inner is node else [inner.text]
    shown = f"`{inner.text}`" if isinstance(inner, Written) else "this"
    types = ", ".join(TYPES)
    reader.say(f"{shown} is not a type", line, key, f"the types are {types}, and lists: [string]")
    return None


def _relation(reader: _Reader, node: Node, line: int, key: str) -> str | None:
    if not isinstance(node, Written) or not _RELATION.fullmatch(node.text):
        reader.say("this is not a relation", line, key, "write one word, such as owned_by")
        return None
    if node.text.lower() in CONTAINMENT:
        hint = "containment is known by itself; choose another word"
        reader.say(f"the relation {node.text} is reserved", line, key, hint)
        return None
    return node.text


def _relations(reader: _Reader, node: Node, line: int, key: str) -> list[str] | None:
    return _strings(reader, node, line, key)


def _hops(reader: _Reader, node: Node, line: int, key: str) -> int | None:
    value = node.value if isinstance(node, Written) else None
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_HOPS:
        return value
    reader.say("`hops` is out of range", line, key, f"write 1 to {MAX_HOPS}")
    return None


def _choice(*choices: str) -> Checker:
    def check(reader: _Reader, node: Node, line: int, key: str) -> str | None:
        if isinstance(node, Written) and node.text in choices:
            return node.text
        reader.say("this is not one of the choices", line, key, f"write {', '.join(choices)}")
        return None

    return check


def _operators(reader: _Reader, node: Node, line: int, key: str) -> list[str] | None:
    names = _strings(reader, node, line, key)
    for name in names or []:
        if name not in _OPERATORS:
            reader.say(f"`{name}` is not an operator", line, key, "the operators are eq and in")
    return names


def _later(reader: _Reader, node: Node, line: int, key: str) -> None:
    """An option that is checked with the whole block."""


_KIND_OPTIONS: dict[str, Checker] = {
    "description": _text,
    "parent": _flag,
    "part": _flag,
    "embed": _flag,
    "lang": _lang,
    "briefing": _choice(*BRIEFINGS),
    "consolidated": _flag,
    "fields": _later,
}
_FIELD_OPTIONS: dict[str, Checker] = {
    "type": _type,
    "description": _text,
    "enum": _list,
    "required": _flag,
    "operators": _operators,
    "link": _relation,
    "to": _text,
    "skip_index": _flag,
    "examples": _list,
}
_RECIPE_OPTIONS: dict[str, Checker] = {
    "relations": _relations,
    "hops": _hops,
    "direction": _choice(*DIRECTIONS),
    "containment": _flag,
}


def _line_of(block: Block, *path: str) -> int | None:
    line = None
    node: Node = block
    for name in path:
        if not isinstance(node, Block) or name not in node:
            return line
        line = node.lines[name]
        node = node[name]
    return line


def _names(names: Mapping[str, object]) -> str:
    return "the kinds are " + ", ".join(names) if names else "declare it under `kinds:`"
