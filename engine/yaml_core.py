"""YAML 1.2 core schema, read from the events of PyYAML's C parser, with limits and line numbers.

PyYAML itself resolves YAML 1.1 (`no` is False, `10:00` is 600) and keeps the last of two equal
keys in silence; its events carry neither fault, so nodes are built here. Keys are strings. Depth,
size and what aliases stand for are bounded before anything is built, so a bomb costs milliseconds.

Problems of single keys are collected; one that stops the parser ends the list.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import yaml

from engine.config import Config
from engine.errors import Problem
from engine.yaml_advice import syntax_problem
from engine.yaml_nodes import Block, Node, Written, core_value

MAX_PROBLEMS = 100  # of one document; more help nobody
_SHOWN = 80  # characters of a key or tag in a message

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_TAG = "tag:yaml.org,2002:"
_CORE_TAGS = {
    "scalar": {"!", *(_TAG + name for name in ("str", "int", "float", "bool", "null"))},
    "list": {"!", _TAG + "seq"},
    "mapping": {"!", _TAG + "map"},
}

# Not printable to YAML. A carriage return alone ends a line there, but for nobody else.
_CONTROL = re.compile("\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ufffe\uffff]")
# Line ends to YAML 1.1, and the byte order mark inside a stream: ordinary characters in YAML 1.2.
_FOREIGN = ("\x85", "\u2028", "\u2029", "\ufeff")
_LINE_END = re.compile("\n")
_DOCUMENT_END = re.compile(r"^\.\.\.(?=\s|\Z)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a YAML text holds. `root` is None for an empty text; positions are character indexes.

    `spans` are the written values of the root's scalar keys, quotes included. A first key can be
    put in at `insert` (-1: nowhere), indented by `indent` blanks, or with a comma where `flow`.
    `explicit`: the text itself has a line that begins with `---`.
    """

    root: Node | None
    problems: tuple[Problem, ...] = ()
    fatal: bool = False
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)
    insert: int = 0
    indent: int = 0
    flow: bool = False
    explicit: bool = False


class _Stop(Exception):
    """Ends the reading of a text: its one problem makes the rest meaningless."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def load(text: str, limits: Config, first_line: int = 1) -> Loaded:
    """Read one YAML document. Never raises for what `text` holds: see `Loaded.problems`."""
    for found in (_CONTROL.search(text), _DOCUMENT_END.search(text)):
        if found:
            line = first_line + text.count("\n", 0, found.start())
            return Loaded(None, (_unreadable(found.group(), line),), fatal=True)
    deep = re.search(rf"(?:[\[{{][ \t\r\n]*){{{limits.front_matter_depth + 1}}}", text)
    if deep:  # the parser itself takes quadratic time over these
        line = first_line + text.count("\n", 0, deep.start())
        return Loaded(None, (_too_deep(line, limits),), fatal=True)
    composer = _Composer(text, limits, first_line)
    try:
        root = composer.document()
    except _Stop as stop:
        composer.problems.append(stop.problem)
        return Loaded(None, tuple(composer.problems[:MAX_PROBLEMS]), fatal=True)
    return Loaded(
        root,
        tuple(composer.problems[:MAX_PROBLEMS]),
        spans=composer.spans,
        insert=composer.insert,
        indent=composer.indent,
        flow=composer.flow,
        explicit=composer.explicit,
    )


def _too_deep(line: int, limits: Config, key: str = "") -> Problem:
    return Problem(
        f"values are nested more than {limits.front_matter_depth} levels deep",
        line,
        key,
        "flatten the value, or put the text in quotes",
    )


def _unreadable(found: str, line: int) -> Problem:
    if found == "...":
        return Problem(
            "a line `...` ends a YAML document", line, hint="remove the line; `---` ends the block"
        )
    return Problem(
        f"the control character U+{ord(found):04X} is not allowed in YAML",
        line,
        hint="remove it, or write it as an escape in a double-quoted value",
    )


class _Composer:
    """Builds the nodes of one text out of parser events."""

    def __init__(self, text: str, limits: Config, first_line: int) -> None:
        self.text = text
        self.limits = limits
        self.first_line = first_line
        self.line_ends = [found.start() for found in _LINE_END.finditer(text)]
        self.problems: list[Problem] = []
        self.spans: dict[str, tuple[int, int]] = {}
        self.insert = 0
        self.indent = 0
        self.flow = False
        self.explicit = False
        self.key = ""  # of the root, being read
        self.nodes = 0
        self.copied = 0
        self.anchors: dict[str, tuple[Node, int]] = {}  # with the number of nodes below
        self.open: set[str] = set()
        self.back: dict[int, int] = {}
        for character in _FOREIGN:
            if character in text:
                stand_in = next(c for c in map(chr, range(0xE000, 0xF8FF)) if c not in text)
                text = text.replace(character, stand_in)
                self.back[ord(stand_in)] = ord(character)
        self.get: Callable[[], Any] = _Loader(text).get_event

    def document(self) -> Node | None:
        self.next()  # StreamStart
        event = self.next()
        if isinstance(event, yaml.StreamEndEvent):
            return None
        self.explicit = bool(event.explicit)
        event = self.next()
        self.place_of_first_key(event)
        root = self.node(event, 0)
        self.key = ""
        self.next()  # DocumentEnd
        event = self.next()
        if not isinstance(event, yaml.StreamEndEvent):
            raise _Stop(
                Problem(
                    "a second YAML document begins here",
                    self.line(event),
                    hint="the block ends at a line that is exactly `---`, without blanks behind it",
                )
            )
        return root

    def next(self) -> Any:
        try:
            return self.get()
        except yaml.YAMLError as error:
            raise _Stop(syntax_problem(error, self.text, self.first_line, self.key)) from error

    def line(self, event: Any) -> int:
        return self.first_line + bisect_left(self.line_ends, event.start_mark.index)

    def restore(self, text: str) -> str:
        return text.translate(self.back) if self.back else text

    def problem(self, message: str, line: int, hint: str = "", key: str | None = None) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(message, line, self.key if key is None else key, hint))

    def place_of_first_key(self, event: Any) -> None:
        if not isinstance(event, yaml.MappingStartEvent):
            return
        start: Any = event.start_mark
        end: Any = event.end_mark
        if event.flow_style:
            self.flow = True
            self.insert = end.index
        elif event.anchor or event.tag:  # they stay in front of it
            row = self.text.rfind("\n", 0, end.index) + 1
            fits = row > start.index and not self.text[row : end.index].strip(" ")
            self.insert, self.indent = (row, end.index - row) if fits else (-1, 0)
        else:
            self.indent = start.column

    def node(self, event: Any, depth: int) -> Node:
        if depth > self.limits.front_matter_depth:
            raise _Stop(_too_deep(self.line(event), self.limits, self.key))
        if isinstance(event, yaml.AliasEvent):
            return self.alias(event)
        self.nodes += 1
        if self.nodes > self.limits.front_matter_nodes:
            raise _Stop(
                Problem(
                    f"there are more than {self.limits.front_matter_nodes} values",
                    self.line(event),
                    self.key,
                    "move data of this size into the body or an attachment",
                )
            )
        anchor = event.anchor
        before = self.nodes + self.copied
        if anchor:
            self.open.add(anchor)
        node: Node
        if isinstance(event, yaml.ScalarEvent):
            node = self.scalar(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            node = self.sequence(event, depth)
        else:
            node = self.mapping(event, depth)
        if anchor:
            self.open.discard(anchor)
            self.anchors[anchor] = (node, self.nodes + self.copied - before + 1)
        return node

    def alias(self, event: Any) -> Node:
        name = event.anchor
        line = self.line(event)
        if name in self.open or name not in self.anchors:
            why = "refers to itself" if name in self.open else "refers to an anchor that is missing"
            name = name[:_SHOWN]
            self.problem(f"the alias *{name} {why}", line, f'for plain text write "*{name}"')
            return Written("", None, True, line)
        node, size = self.anchors[name]
        self.copied += size
        if self.copied > self.limits.front_matter_aliases:
            raise _Stop(
                Problem(
                    f"aliases stand for more than {self.limits.front_matter_aliases} values",
                    line,
                    self.key,
                    "write the values out",
                )
            )
        return node

    def scalar(self, event: Any) -> Written:
        text = self.restore(event.value)
        line = self.line(event)
        if any("\ud800" <= character <= "\udfff" for character in text if character > "\ud7ff"):
            self.problem("an escape names half of a surrogate pair", line, "write the character")
            return Written("", None, False, line)
        plain = event.implicit[0] and not event.style
        if event.tag is None:
            return Written(text, core_value(text) if plain else text, plain, line)
        return self.tagged(text, event, line)

    def tagged(self, text: str, event: Any, line: int) -> Written:
        tag = event.tag.removeprefix(_TAG)
        self.check_tag(event, "scalar", line)
        if tag in ("int", "float", "bool", "null"):
            value = core_value(text)
            if tag == "float" and isinstance(value, int) and not isinstance(value, bool):
                value = float(value)
            names = {"int": int, "float": float, "bool": bool, "null": type(None)}
            if type(value) is not names[tag]:
                self.problem(f"{text!r} is not of the type !!{tag}", line, "remove the tag")
            return Written(text, value, True, line)
        return Written(text, text, False, line)

    def check_tag(self, event: Any, what: str, line: int) -> None:
        if event.tag is not None and event.tag not in _CORE_TAGS[what]:
            tag = event.tag
            shown = "!!" + tag.removeprefix(_TAG) if tag.startswith(_TAG) else tag
            self.problem(
                f"the tag {shown[:_SHOWN]} has no meaning here",
                line,
                "remove it, or put the value in quotes",
            )

    def sequence(self, start: Any, depth: int) -> tuple[Node, ...]:
        self.check_tag(start, "list", self.line(start))
        items: list[Node] = []
        while True:
            event = self.next()
            if isinstance(event, yaml.SequenceEndEvent):
                return tuple(items)
            items.append(self.node(event, depth + 1))

    def mapping(self, start: Any, depth: int) -> Block:
        self.check_tag(start, "mapping", self.line(start))
        block = Block()
        merged: list[Node] = []
        while True:
            event = self.next()
            if isinstance(event, yaml.MappingEndEvent):
                break
            if depth == 0:
                self.key = ""
            name = self.name(event, depth)
            merges = name == "<<" and not event.style
            line = self.line(event)
            if depth == 0:
                self.key = name or ""
            event = self.next()
            begin: int = event.start_mark.index
            value = self.node(event, depth + 1)
            if name is None:
                continue
            if merges and isinstance(value, Block | tuple):
                merged.append(value)
                continue
            if name in block:
                self.problem(
                    f"`{name}` is given twice, on lines {block.lines[name]} and {line}",
                    line,
                    "keep one of them",
                    key=name,
                )
                continue
            block[name] = value
            block.lines[name] = line
            if depth == 0 and not isinstance(event, yaml.CollectionStartEvent):
                self.spans[name] = (begin, event.end_mark.index)
        for source in merged:
            self.merge(block, source, self.line(start))
        return block

    def merge(self, block: Block, source: Node, line: int) -> None:
        """YAML's merge key: what `<<` refers to, as far as the mapping lacks it."""
        for part in source if isinstance(source, tuple) else (source,):
            if not isinstance(part, Block):
                self.problem("`<<` takes a mapping or a list of mappings", line, key="<<")
                continue
            for name, value in part.items():
                if name not in block:
                    block[name] = value
                    block.lines[name] = part.lines[name]

    def name(self, event: Any, depth: int) -> str | None:
        begin = event.start_mark.index
        line = self.line(event)
        known = len(self.problems)
        key = self.node(event, depth + 1)
        if len(self.problems) > known:  # said already
            return None
        if isinstance(key, Written):
            if isinstance(key.value, str) and key.text:
                return key.value
            kinds = {bool: "a boolean", type(None): "null", str: "empty"}
            kind = kinds.get(type(key.value), "a number")
            shown = key.text[:_SHOWN]
            hint = f'write "{shown}": …' if key.text else "put a name before the colon"
            self.problem(f"the key `{shown}` is {kind}, not a string", line, hint, key=shown)
            return None
        end = self.end_of(begin)
        shown = self.text[begin:end]
        kind = "a mapping" if isinstance(key, Block) else "a list"
        hint = f'keys are strings; put text in quotes: "{shown}"'
        self.problem(f"the key `{shown}` is {kind}, not a string", line, hint, key=shown)
        return None

    def end_of(self, begin: int) -> int:
        """Where a key that is a collection ends on its line, as far as a message needs it."""
        line_end = self.text.find("\n", begin)
        line_end = len(self.text) if line_end < 0 else line_end
        closing = max(self.text.rfind(c, begin, line_end) for c in "]}")
        return min(closing + 1 if closing >= 0 else line_end, begin + _SHOWN)
