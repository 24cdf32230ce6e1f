"""Bytes <-> (front matter, body), without losing a byte.

A document may begin with a byte order mark; a block of YAML between two lines that are exactly
`---` is its front matter; everything behind it is body. Edits are made in the bytes, in place:
comments, order, quoting, line ends and a missing final newline stay as the author wrote them.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass

from engine.catalogue import RESERVED_KEYS
from engine.config import Config
from engine.errors import Invalid, Problem
from engine.ids import UUID
from engine.slug import nfc
from engine.yaml_core import Loaded, load
from engine.yaml_nodes import Block, Node, Written
from engine.yaml_text import double_quoted, mapping_text, scalar_text, single_quoted, verbatim

_BOM = b"\xef\xbb\xbf"
_DEFAULTS = Config()
_UUID_BYTES = re.compile(UUID.pattern.encode(), re.IGNORECASE)
_PROPERTIES = re.compile(r"(?:[&!]\S*\s+)+")  # an anchor or a tag before a value
_NOTHING = Block()


@dataclass(frozen=True, slots=True)
class Document:
    """One parsed document. Offsets are bytes of `source`, lines count from 1.

    `body` has LF line ends and lacks the one blank line that may stand before it; `body_start` and
    `body_line` are where it begins. `problems` are those that concern single keys:
    `validation.read_head` raises them together with its own, so that an author sees all at once.
    """

    source: bytes
    bom: bool
    newline: str
    front_start: int  # of the YAML text; -1 without a block
    front_end: int
    body_start: int
    body: str
    body_line: int
    values: Mapping[str, Node]
    lines: Mapping[str, int]
    problems: tuple[Problem, ...] = ()
    spans: Mapping[str, tuple[int, int]] | None = None  # of reserved scalars, quotes included
    insert: int = 0  # where a first key goes, -1 if nowhere
    indent: int = 0
    flow: bool = False

    @property
    def has_block(self) -> bool:
        """True if there is front matter, be it empty."""
        return self.front_start >= 0


def parse(source: bytes, limits: Config = _DEFAULTS) -> Document:
    """Split and read a document.

    Raises Invalid for what cannot be read at all: not UTF-8, a block that is not closed, YAML that
    does not parse, a block or a nesting beyond `limits`. Problems of single keys (given twice, not
    a string, an alias without anchor) are in `Document.problems`.
    """
    if len(source) > limits.document_bytes:
        raise Invalid(
            Problem(
                f"the document has {len(source)} bytes; the limit is {limits.document_bytes}",
                hint="split it, or keep the data as an attachment",
            )
        )
    bom = source.startswith(_BOM)
    start = len(_BOM) if bom else 0
    text_problem = _utf8_problem(source)
    if text_problem:
        raise Invalid(text_problem)
    first_end = source.find(b"\n", start)
    newline = "\r\n" if first_end > start and source[first_end - 1 : first_end] == b"\r" else "\n"
    first = source[start : first_end if first_end >= 0 else len(source)]
    if first not in (b"---", b"---\r") or (first == b"---\r" and first_end < 0):
        body_start, body_line = _skip_blank_line(source, start, 1)
        body = source[body_start:].decode().replace("\r\n", "\n")
        return Document(
            source, bom, newline, -1, -1, body_start, body, body_line, _NOTHING, _NOTHING.lines
        )
    front_start = first_end + 1
    front_end, body_start = _closing_fence(source, first_end)
    if front_end - front_start > limits.front_matter_bytes:
        raise Invalid(
            Problem(
                f"the front matter has {front_end - front_start} bytes; "
                f"the limit is {limits.front_matter_bytes}",
                1,
                hint="move the data into the body",
            )
        )
    front = source[front_start:front_end].decode()
    loaded = load(front, limits, first_line=2)
    values, problems = _root(loaded, front)
    body_line = 3 + front.count("\n")
    body_start, body_line = _skip_blank_line(source, body_start, body_line)
    return Document(
        source,
        bom,
        newline,
        front_start,
        front_end,
        body_start,
        source[body_start:].decode().replace("\r\n", "\n"),
        body_line,
        values,
        values.lines,
        problems,
        _byte_spans(loaded, front, front_start),
        front_start + len(front[: loaded.insert].encode()) if loaded.insert >= 0 else -1,
        loaded.indent,
        loaded.flow,
    )


def carried_id(document: Document) -> str | None:
    """The id that the bytes carry, in lower case; Invalid if it is not a UUID of 36 characters."""
    if "id" not in document.values:
        return None
    node = document.values["id"]
    if isinstance(node, Written) and UUID.fullmatch(node.text):
        return node.text.lower()
    shown = node.text if isinstance(node, Written) else "a list or mapping"
    raise Invalid(
        Problem(
            f"the id `{shown[:80]}` is not a UUID",
            document.lines["id"],
            "id",
            "remove the line; a new engram gets its id by itself",
        )
    )


def with_id(
    source: bytes, id: str, *, limits: Config = _DEFAULTS, document: Document | None = None
) -> bytes:
    """The bytes as shown: with one `id: <id>` line, first in the front matter.

    A block is made where there is none; an id that the bytes carry is edited in place where it
    differs. An empty document stays empty. `document` saves parsing `source` again.
    """
    if not source:
        return source
    doc = _sound(document if document is not None else parse(source, limits))
    carried = carried_id(doc)
    if carried is not None:
        return source if carried == id.lower() else _edit(doc, {"id": id})
    if not doc.has_block:
        start = len(_BOM) if doc.bom else 0
        block = f"---{doc.newline}id: {id}{doc.newline}---{doc.newline}".encode()
        return source[:start] + block + source[start:]
    if doc.insert < 0:
        raise Invalid(
            Problem(
                "the id line cannot be put before the first key",
                2,
                hint="remove the anchor or tag in front of it, or write `id:` yourself",
            )
        )
    if doc.flow:
        line = f"id: {id}, " if doc.values else f"id: {id}"
    else:
        line = f"{' ' * doc.indent}id: {id}{doc.newline}"
    return source[: doc.insert] + line.encode() + source[doc.insert :]


def with_place(
    source: bytes,
    *,
    id: str | None = None,
    kind: str | None = None,
    slug: str | None = None,
    limits: Config = _DEFAULTS,
) -> bytes:
    """The bytes with the reserved keys that name another id, kind or slug edited in place.

    Keys that are absent or null stay so; only bytes of values change. Invalid if the result would
    not say what was asked (a value that is shared through an anchor, say).
    """
    if not source:
        return source
    doc = _sound(parse(source, limits))
    carried = carried_id(doc)
    wanted: dict[str, str] = {}
    if id is not None and carried is not None and carried != id.lower():
        wanted["id"] = id
    for key, new in (("kind", kind), ("domain", kind), ("slug", slug)):
        node = doc.values.get(key)
        if new is None or not isinstance(node, Written) or node.value is None:
            continue
        old, same = (nfc(node.text), nfc(new)) if key == "slug" else (node.text.strip(), new)
        if old != same and (key == "slug" or old.lower() != same.lower()):
            wanted[key] = new
    if not wanted:
        return source
    edited = _edit(doc, wanted)
    again = parse(edited, limits)
    for key in doc.values.keys() | again.values.keys():
        before, after = doc.values.get(key), again.values.get(key)
        if key in wanted:
            right = isinstance(after, Written) and after.text == wanted[key]
        else:
            right = plain(before) == plain(after)
        if not right or again.problems:
            raise Invalid(
                Problem(
                    f"`{key}` cannot be edited in place",
                    doc.lines.get(key),
                    key,
                    "write reserved keys as simple values, without anchors",
                )
            )
    return edited


def plain(node: Node | None) -> object:
    """A node without its lines, to compare what two blocks say."""
    if isinstance(node, Written):
        return (node.text, node.value)
    if isinstance(node, tuple):
        return tuple(plain(item) for item in node)
    if isinstance(node, Block):
        return {key: plain(value) for key, value in node.items()}
    return None


def _utf8_problem(source: bytes) -> Problem | None:
    try:
        source.decode()
    except UnicodeDecodeError as error:
        line = source.count(b"\n", 0, error.start) + 1
        return Problem(
            f"byte {error.start} (0x{source[error.start]:02X}) is not UTF-8",
            line,
            hint="save the file as UTF-8; other files belong beside the engrams as attachments",
        )
    return None


def _skip_blank_line(source: bytes, start: int, line: int) -> tuple[int, int]:
    for ending in (b"\n", b"\r\n"):
        if source.startswith(ending, start):
            return start + len(ending), line + 1
    return start, line


def _closing_fence(source: bytes, opening_end: int) -> tuple[int, int]:
    """(end of the YAML text, start of what follows the closing fence)."""
    at = opening_end
    while at >= 0:
        at = source.find(b"\n---", at)
        if at < 0:
            break
        after = at + 4
        if after == len(source):
            return at + 1, after
        for ending in (b"\n", b"\r\n"):
            if source.startswith(ending, after):
                return at + 1, after + len(ending)
        at = after
    almost = re.search(rb"^(?:---[ \t]+|\.\.\.[ \t]*)\r?$", source[opening_end + 1 :], re.MULTILINE)
    if almost:
        line = source.count(b"\n", 0, opening_end + 1 + almost.start()) + 1
        hint = f"line {line} must be exactly `---`, without blanks, to close it"
    else:
        hint = "close it with a line that is exactly `---`, or remove the first line"
    raise Invalid(Problem("the front matter that begins on line 1 is not closed", 1, hint=hint))


def _root(loaded: Loaded, front: str) -> tuple[Block, tuple[Problem, ...]]:
    if loaded.fatal:
        raise Invalid(*loaded.problems)
    if loaded.explicit:
        row = next(n for n, line in enumerate(front.split("\n")) if line.startswith("---"))
        message = "a line that begins with `---` is neither YAML nor the end of the block"
        raise Invalid(
            Problem(message, row + 2, hint="make it exactly `---`, or remove it"), *loaded.problems
        )
    if loaded.root is None:
        return _NOTHING, loaded.problems
    if isinstance(loaded.root, Block):
        return loaded.root, loaded.problems
    line = 2 + len(front) - len(front.lstrip()) if front.isspace() else 2
    raise Invalid(
        Problem(
            "the front matter is not a mapping",
            loaded.root.line if isinstance(loaded.root, Written) else line,
            hint="write it as `key: value` lines",
        ),
        *loaded.problems,
    )


def _byte_spans(loaded: Loaded, front: str, base: int) -> dict[str, tuple[int, int]]:
    spans = {}
    for key in RESERVED_KEYS:
        if key in loaded.spans:
            start, end = loaded.spans[key]
            first = base + len(front[:start].encode())
            spans[key] = (first, first + len(front[start:end].encode()))
    return spans


def _sound(document: Document) -> Document:
    if document.problems:
        raise Invalid(*document.problems)
    return document


def _edit(document: Document, wanted: Mapping[str, str]) -> bytes:
    """Replace the written values of reserved keys, last first so that offsets hold."""
    source = document.source
    spans = document.spans or {}
    for key in sorted(wanted, key=lambda name: spans.get(name, (0, 0)), reverse=True):
        if key not in spans:  # it came through a merge key
            raise Invalid(
                Problem(f"`{key}` cannot be edited in place", document.lines.get(key), key)
            )
        start, end = spans[key]
        old = source[start:end]
        found = list(_UUID_BYTES.finditer(old)) if key == "id" else []
        if found:
            new = old[: found[-1].start()] + wanted[key].encode() + old[found[-1].end() :]
        else:
            new = _respell(old.decode(), wanted[key]).encode()
        source = source[:start] + new + source[end:]
    return source


def _respell(old: str, new: str) -> str:
    """A new value in the style of the old one, its anchor and line end kept."""
    prefix = match.group() if (match := _PROPERTIES.match(old)) else ""
    written = old[len(prefix) :]
    tail = written[len(written.rstrip()) :]
    if written.startswith('"'):
        return prefix + double_quoted(new) + tail
    if written.startswith("'"):
        return prefix + single_quoted(new) + tail
    return prefix + scalar_text(new) + tail


def format_engram(
    id: str,
    kind: str,
    slug: str,
    title: str,
    summary: str,
    properties: Mapping[str, object],
    body: str,
    numbers: Container[str] = (),
) -> bytes:
    """The bytes of an engram made without a source.

    Keys id, domain, slug, title, summary, then the other properties sorted; a blank line; the body
    with LF line ends and a final one. Empty texts among the reserved keys are left out, as are null
    properties. `numbers` names the properties whose texts are written numbers ("1.10"): those get
    no quotes. Invalid if a property has the name of a reserved key, or a text is not Unicode.
    """
    head = {"id": id, "domain": kind, "slug": slug, "title": title, "summary": summary}
    taken = sorted(name for name in properties if name in RESERVED_KEYS or not name)
    if taken:
        raise Invalid(
            *(
                Problem(f"`{name}` is not a name for a property", key=name, hint="choose another")
                for name in taken
            )
        )
    rest = {
        name: verbatim(value) if name in numbers else value
        for name, value in sorted(properties.items())
        if value is not None
    }
    front = mapping_text({**{key: value for key, value in head.items() if value}, **rest})
    body = body.replace("\r\n", "\n").replace("\r", "\n")
    if body:
        body = "\n" + body + ("" if body.endswith("\n") else "\n")
    try:
        return f"---\n{front}---\n{body}".encode()
    except UnicodeEncodeError as error:
        message = f"the text holds half of a surrogate pair, U+{ord(error.object[error.start]):04X}"
        raise Invalid(Problem(message, hint="pass whole characters")) from error
