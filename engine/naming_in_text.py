"""What a question names: the ids, paths, `[[links]]`, slugs, titles and aliases in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import numpy as np

from engine.columns import Columns
from engine.entries import is_live
from engine.fusion import Floats, Mask
from engine.ids import UUID
from engine.model import Entry, Namespace
from engine.reader import Reader
from engine.slug import nfc
from engine.text import tokens

MOST_NAMES = 64  # ids, paths and links looked up in one question
MOST_TITLES = 500  # engrams with the best heads whose titles are compared with the question
LONGEST_NAME = 1024  # characters of a question that may be a name as a whole

_LINK = re.compile(r"\[\[([^\[\]\n]{1,512})\]\]")
_NOT_IN_PATH = re.compile(r"[\s\"'`<>()\[\]{},;|]+")


def named(reader: Reader, columns: Columns, in_scope: Mask, question: str) -> list[int]:
    """Numbers of the engrams that a question names, those it is the name of first.

    The whole question, folded, is an id, path, slug, title or alias; or it holds an id, a path or a
    link in double brackets.
    """
    whole = " ".join(question.split())
    # A scope that is not exact covers many namespaces; a name is looked up in each.
    from_scope = [
        namespace
        for code, namespace in enumerate(columns.namespaces)
        if bool(np.any(in_scope[: len(columns)] & (columns.namespace == code)))
    ]
    found: dict[int, None] = {}
    for entry in _named(reader, from_scope, question, whole):
        if entry.no < len(in_scope) and in_scope[entry.no] and is_live(entry):
            found[entry.no] = None
    return list(found)


def titles_contained(columns: Columns, heads: Floats, question: str) -> list[int]:
    """Engrams whose title of two or more words stands in the question, word by word.

    `heads` is the lexical score of each engram's head: a title in the question has one.
    """
    inside = np.flatnonzero(heads[: len(columns)] > 0.0)
    if len(inside) > MOST_TITLES:
        best = np.argpartition(-heads[inside], MOST_TITLES)[:MOST_TITLES]
        inside = inside[best]
    asked = f" {' '.join(tokens(question))} "
    found = []
    for no in inside.tolist():
        words = tokens(columns.entry(no).title)
        if len(words) > 1 and f" {' '.join(words)} " in asked:
            found.append(no)
    return found


def _named(
    reader: Reader, namespaces: list[Namespace], question: str, whole: str
) -> Iterator[Entry]:
    if len(whole) <= LONGEST_NAME:
        for namespace in namespaces:
            yield from reader.names.by_slug(namespace, whole)
            yield from reader.names.by_title(namespace, whole)
            yield from reader.names.by_alias(namespace, whole)
        yield from _at_path(reader, namespaces, whole)
    for id in _first(match[0] for match in UUID.finditer(question)):
        entry = reader.entries.by_id(id.lower())
        if entry is not None:
            yield entry
    for link in _first(match[1] for match in _LINK.finditer(question)):
        yield from _linked(reader, namespaces, link)
    for path in _first(word for word in _NOT_IN_PATH.split(question) if "/" in word):
        yield from _at_path(reader, namespaces, path.rstrip(".:!?"))


def _at_path(reader: Reader, namespaces: list[Namespace], path: str) -> Iterator[Entry]:
    """Engrams at `kind/slug`, `.md` or not, whatever stands before the kind."""
    directory, slash, name = path.rpartition("/")
    kind_name = directory.rpartition("/")[2]
    if not slash or not kind_name:
        return
    stems = dict.fromkeys((name.removesuffix(".md"), name))
    for namespace in namespaces:
        for kind in reader.entries.kinds(namespace):
            if nfc(reader.catalogue.directory(kind)).casefold() != nfc(kind_name).casefold():
                continue
            for stem in stems:
                entry = reader.entries.at((namespace, kind, nfc(stem)))
                if entry is not None:
                    yield entry


def _linked(reader: Reader, namespaces: list[Namespace], link: str) -> Iterator[Entry]:
    """The engram that `[[link]]` means: at its path, or the only one of that slug, alias, title."""
    target = re.split(r"[|#]", link, maxsplit=1)[0].strip()
    at_path = list(_at_path(reader, namespaces, target))
    if at_path:
        yield from at_path
        return
    for namespace in namespaces:
        for find in (reader.names.by_slug, reader.names.by_alias, reader.names.by_title):
            entries = find(namespace, target)
            if entries:
                if len(entries) == 1:
                    yield entries[0]
                break


def _first(names: Iterable[str]) -> Iterator[str]:
    seen: dict[str, None] = {}
    for name in names:
        if name not in seen:
            seen[name] = None
            yield name
        if len(seen) >= MOST_NAMES:
            return
