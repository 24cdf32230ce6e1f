"""A document against its place and its kind: what its head says, or every problem at once."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.catalogue import OPEN, RESERVED_KEYS, WELL_KNOWN, Catalogue, Field, Kind
from engine.config import Config
from engine.document import Document, carried_id, parse
from engine.errors import Invalid, Problem
from engine.model import PropertyValue
from engine.slug import fold, nfc
from engine.values import Unfit, plain_json, typed
from engine.yaml_core import MAX_PROBLEMS
from engine.yaml_nodes import Node, Written

_HEADING = re.compile(r" {0,3}#[ \t]")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Head:
    """What the front matter and the place say of an engram.

    `id` is the one the bytes carry, None if they carry none. `title` is the title property, else
    the first `# heading`, else the slug. `lang` is the engram's, else its kind's, else "".
    """

    id: str | None
    kind: str  # the catalogue's spelling
    slug: str  # NFC
    title: str
    summary: str
    properties: Mapping[str, PropertyValue]
    lang: str = ""
    embed: bool = True
    aliases: tuple[str, ...] = field(default=())


def read_head(
    document: Document, catalogue: Catalogue, kind_name: str, slug: str, name: str
) -> Head:
    """Validate a document that is to stand at `<kind_name>/<name>.md`.

    `slug` and `name` are the file-name stem in NFC and as created. Null properties are left out.
    Raises Invalid with all problems, those of `document` included, in the order of their lines.
    """
    kind = catalogue.kind(kind_name) or (catalogue.open and Kind(kind_name, declared=False))
    if not kind:
        raise Invalid(_unknown_kind(kind_name, catalogue))
    if not kind.parent:
        raise Invalid(
            Problem(
                f"{kind.name} is a kind of parts and has no files of its own",
                key="kind",
                hint=_kinds_hint(catalogue),
            )
        )
    problems = list(document.problems)
    try:
        id_ = carried_id(document)
    except Invalid as error:
        problems += error.problems
        id_ = None
    problems += _place_problems(document, kind, slug, name)
    title = _text(document, "title", problems)
    summary = _text(document, "summary", problems)
    properties = _properties(document, kind, problems)
    problems += _missing(document, kind)
    if problems:
        ordered = sorted(problems, key=lambda problem: problem.line or 0)
        raise Invalid(*ordered[:MAX_PROBLEMS])
    lang = properties.get("lang")
    aliases = properties.get("aliases")
    return Head(
        id_,
        kind.name,
        nfc(slug),
        title or first_heading(document.body) or nfc(slug),
        summary,
        properties,
        lang if isinstance(lang, str) and lang else kind.lang,
        kind.embed,
        tuple(str(alias) for alias in aliases) if isinstance(aliases, list) else (),
    )


def parse_engram(
    source: bytes,
    kind: str = "",
    slug: str = "",
    *,
    catalogue: Catalogue = OPEN,
    limits: Config | None = None,
) -> tuple[Head, str]:
    """Read the bytes of an engram: its head and its body, with LF line ends.

    `kind` and `slug` are of the place it comes from; empty ones are taken from the bytes. Raises
    Invalid with every problem.
    """
    document = parse(source, limits or Config())
    kind = kind or _stated(document, "kind") or _stated(document, "domain")
    slug = slug or _stated(document, "slug")
    return read_head(document, catalogue, kind, slug, slug), document.body


def first_heading(body: str) -> str:
    """The text of the first `# heading` of Markdown outside code and comments, or ""."""
    if "#" not in body:
        return ""
    fence = ""
    if "<!--" in body:
        body = _COMMENT.sub("", body)
    for line in body.split("\n"):
        found = _FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and not line[found.end() :].strip():
                fence = ""
        elif found:
            fence = found[1]
        elif "#" in line[:4]:
            heading = _HEADING.match(line)
            text = _unclosed(line[heading.end() :].strip()) if heading else ""
            if text:
                return text
    return ""


def _unclosed(heading: str) -> str:
    """A heading's text without the `##` that may close it."""
    text = heading.rstrip("#")
    return text.rstrip() if not text or text[-1].isspace() else heading


def _stated(document: Document, key: str) -> str:
    node = document.values.get(key)
    return node.text.strip() if isinstance(node, Written) and node.value is not None else ""


def _unknown_kind(name: str, catalogue: Catalogue) -> Problem:
    return Problem(f"there is no kind {name}", key="kind", hint=_kinds_hint(catalogue))


def _kinds_hint(catalogue: Catalogue) -> str:
    return "the kinds are " + ", ".join(kind.name for kind in catalogue.parents())


def _place_problems(document: Document, kind: Kind, slug: str, name: str) -> list[Problem]:
    """A kind that is not the directory's, or a slug that is not the file's."""
    problems = []
    for key in ("kind", "domain", "slug"):
        node = document.values.get(key)
        if node is None or (isinstance(node, Written) and node.value is None):
            continue
        line = document.lines[key]
        wanted = nfc(slug) if key == "slug" else kind.name
        hint = f"remove the line, or write {key}: {wanted}"
        if not isinstance(node, Written):
            problems.append(Problem(f"`{key}` is not a text", line, key, hint))
        elif key == "slug":
            said = {nfc(node.text), nfc(node.text.strip())}
            if not said & {nfc(slug), nfc(name)}:
                what = f"the slug `{node.text}` is not the file's"
                problems.append(Problem(what, line, key, f"{hint}, or rename the file"))
        elif fold(node.text.strip()) not in (fold(kind.name), fold(kind.directory)):
            what = f"the kind `{node.text}` is not the directory's"
            problems.append(Problem(what, line, key, f"{hint}, or move the file"))
    return problems


def _text(document: Document, key: str, problems: list[Problem]) -> str:
    """A reserved text, trimmed; "" if it is missing or null."""
    node = document.values.get(key)
    if node is None:
        return ""
    if not isinstance(node, Written):
        hint = "put the text in quotes"
        problems.append(Problem(f"`{key}` is not a text", document.lines[key], key, hint))
        return ""
    return "" if node.value is None else node.text.strip()


def _properties(
    document: Document, kind: Kind, problems: list[Problem]
) -> dict[str, PropertyValue]:
    properties: dict[str, PropertyValue] = {}
    for key, node in document.values.items():
        if key in RESERVED_KEYS:
            continue
        declared = WELL_KNOWN.get(key) or kind.fields.get(key)
        if declared is None and kind.declared:
            problems.append(_unknown_property(key, document.lines[key], kind))
            continue
        try:
            value = (
                plain_json(node) if declared is None else typed(_as_list(node, declared), declared)
            )
        except Unfit as unfit:
            line = unfit.line or document.lines[key]
            problems.append(Problem(f"`{key}`: {unfit.message}", line, key, unfit.hint))
            continue
        if value is not None:
            properties[key] = value
    return properties


def _as_list(node: Node, declared: Field) -> Node:
    """`tags: one` as `tags: [one]`: so many editors write the well-known lists."""
    single = isinstance(node, Written) and node.value is not None
    if single and declared.many and declared.name in WELL_KNOWN:
        return (node,)
    return node


def _unknown_property(key: str, line: int, kind: Kind) -> Problem:
    names = [*kind.fields, *WELL_KNOWN, *sorted(RESERVED_KEYS)]
    near = difflib.get_close_matches(key, names, 1)
    if near:
        hint = f"did you mean `{near[0]}`?"
    elif kind.fields:
        hint = "it has " + ", ".join(kind.fields)
    else:
        hint = "it has the well-known ones only: " + ", ".join(WELL_KNOWN)
    return Problem(f"the kind {kind.name} has no property `{key[:80]}`", line, key, hint)


def _missing(document: Document, kind: Kind) -> list[Problem]:
    """Required fields that are absent or null."""
    problems = []
    for declared in kind.fields.values():
        node = document.values.get(declared.name)
        null = isinstance(node, Written) and node.value is None
        if declared.required and (node is None or null):
            example = declared.enum[0] if declared.enum else "…"
            problems.append(
                Problem(
                    f"the required property `{declared.name}` is missing",
                    document.lines.get(declared.name),
                    declared.name,
                    f"write {declared.name}: {example}",
                )
            )
    return problems
