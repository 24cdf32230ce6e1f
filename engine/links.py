"""The links that an engram expresses, and which engram each of them means."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from engine.body_links import every_body_link, url_link, wiki_link
from engine.catalogue import WELL_KNOWN, Kind
from engine.document import Document
from engine.ids import UUID
from engine.model import Entry, Link, Namespace
from engine.validation import Head

MENTIONS = "mentions"  # the relation of a link in the body

_BRACKETS = re.compile(r"\[\[([^\[\]\n]*)\]\]")
_MARKDOWN = re.compile(r"\[[^\[\]\n]*\]\(([^()\s]+)\)")
_FILE = re.compile(r"\.md(?:[?#].*)?$")
_WEB = re.compile(r"[a-z][a-z0-9+.\-]*://|mailto:", re.IGNORECASE)
_DEEPEST = 64  # steps of a path

Find = Callable[[Namespace, str], Sequence[Entry]]


class Lookup(Protocol):
    """Where names are looked up: live engrams of one namespace, names in NFC."""

    def by_id(self, namespace: Namespace, id: str) -> Entry | None:
        """The engram that answers to an id."""

    def at(self, namespace: Namespace, kind: str, slug: str) -> Entry | None:
        """The engram at a place (`kind` or its directory), else the one that last left it."""

    def by_slug(self, namespace: Namespace, slug: str) -> Sequence[Entry]:
        """Engrams of any kind with this slug: of this case if there are any, else of any case."""

    def by_alias(self, namespace: Namespace, alias: str) -> Sequence[Entry]:
        """The same by alias."""

    def by_title(self, namespace: Namespace, title: str) -> Sequence[Entry]:
        """The same by title."""


def find_links(head: Head, kind: Kind, document: Document) -> tuple[Link, ...]:
    """Links of the front matter (link fields, `derived_from`, `superseded_by`), then of the body.

    Each relation, target and heading once. Lines count from 1 in the file.
    """
    found: dict[tuple[str, str, str, str], Link] = {}
    for link in every_link(head, kind, document):
        found.setdefault((link.relation, link.target, link.heading, link.origin), link)
    return tuple(found.values())


def every_link(head: Head, kind: Kind, document: Document) -> Iterator[Link]:
    """The same with repeats."""
    yield from _of_fields(head, kind, document)
    for link in every_body_link(document.body):
        yield Link(MENTIONS, link.target, link.heading, "body", document.body_line + link.line)


def resolve(link: Link, source: Entry, lookup: Lookup) -> int | None:
    """The number of the engram that a link of `source` means; None: it dangles.

    In this order: id; path relative to the file; kind/slug; slug in the own kind (a link field's
    `to`); slug, then alias, then title in any kind if unique. A path may end in `.md`, or in
    `.html` where no such file is. A field's `to` admits engrams of that kind only.
    """
    target = link.target.strip()
    if UUID.fullmatch(target):
        return _number(lookup.by_id(source.namespace, target.lower()), link)
    for kind, name in _places(target, link.to_kind or source.kind, source.kind):
        for slug in _stems(name):
            entry = _in_kind(kind, slug, source.namespace, lookup)
            if (number := _number(entry, link)) is not None:
                return number
    names = _stems(target)
    if link.heading:
        # A title such as "C# basics", which reads like a heading in a page called C.
        names += [f"{target}#{link.heading}", f"{target}# {link.heading}"]
    for find in (lookup.by_slug, lookup.by_alias, lookup.by_title):
        for name in names:
            entries = _admitted(find, source.namespace, name, link)
            if entries:
                return entries[0].no if len(entries) == 1 else None
    return None


def _of_fields(head: Head, kind: Kind, document: Document) -> Iterator[Link]:
    for name, value in head.properties.items():
        declared = kind.fields.get(name) or WELL_KNOWN.get(name)
        if declared is None or declared.link is None:
            continue
        for written in value if isinstance(value, list) else [value]:
            target = field_target(written) if isinstance(written, str) else None
            if target is not None:
                line = document.lines.get(name)
                yield Link(declared.link, *target, "field", line, declared.to)


def field_target(written: str) -> tuple[str, str] | None:
    """`[[slug]]`, a Markdown link, a path, or bare: an id, kind/slug, a slug, an alias, a title."""
    written = written.strip()
    if brackets := _BRACKETS.fullmatch(written):
        return wiki_link(brackets[1])
    if markdown := _MARKDOWN.fullmatch(written):
        return url_link(markdown[1])
    if _FILE.search(written):
        return url_link(written)
    return (written, "") if written and not _WEB.match(written) else None


def _places(target: str, own: str, directory: str) -> list[tuple[str, str]]:
    """(kind, file name) that a target can stand for, in order."""
    steps = target.strip("/").split("/")
    places: dict[tuple[str, str], None] = {}
    if not target.startswith("/"):
        path: list[str] | None = [directory]
        for step in steps:
            path = _walked(path, step)
        if path is not None and len(path) == 2:
            places[path[0], path[1]] = None
    if len(steps) == 2 and not {".", "..", ""}.intersection(steps):
        places[steps[0], steps[1]] = None
    if len(steps) == 1 and steps[0]:
        places[own, steps[0]] = None
    return list(places)


def _walked(path: list[str] | None, step: str) -> list[str] | None:
    """One step along a path; None: above the root."""
    if path is None or step in (".", ""):
        return path
    if step == "..":
        return path[:-1] if path else None
    return [*path, step] if len(path) < _DEEPEST else None


def _stems(name: str) -> list[str]:
    """What a file name without its ending can be, in order."""
    if name.endswith(".md"):
        return [name.removesuffix(".md"), name]
    if name.endswith(".html"):
        return [name, name.removesuffix(".html")]
    return [name]


def _in_kind(kind: str, slug: str, namespace: Namespace, lookup: Lookup) -> Entry | None:
    """The engram at a place: of this case, else the only one that differs by case."""
    entry = lookup.at(namespace, kind, slug)
    if entry is not None:
        return entry
    others = [e for e in lookup.by_slug(namespace, slug) if e.kind.casefold() == kind.casefold()]
    return others[0] if len(others) == 1 else None


def _admitted(find: Find, namespace: Namespace, name: str, link: Link) -> list[Entry]:
    return [entry for entry in find(namespace, name) if _number(entry, link) is not None]


def _number(entry: Entry | None, link: Link) -> int | None:
    """The engram's number, unless there is none or a link field leads to another kind."""
    if entry is None:
        return None
    if link.to_kind is not None and entry.kind.casefold() != link.to_kind.casefold():
        return None
    return entry.no
