"""How an engram's symlink is called where it is listed as a neighbour, and what names mean. Pure.

`b.md` is an engram of the same kind as the one whose neighbours are listed, `ann.person.md` one of
the kind whose directory is `person`. A name comes from the neighbour alone: that another one comes
never changes it (ADR 15).
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.slug import MAX_NAME_BYTES, nfc

LINK = ".md"  # of the symlink
EDGE = ".edge"  # of the file with what is said of the edge

_MOST = MAX_NAME_BYTES - len(EDGE)


@dataclass(frozen=True, slots=True)
class AtPlace:
    """The engram `slug` (NFC) of a kind's directory."""

    directory: str
    slug: str


@dataclass(frozen=True, slots=True)
class ById:
    """The engram with an id."""

    id: str


def stem_of(name: str, directory: str, own: str, id: str) -> str:
    """The stem of the link to `directory/name.md`, seen from an engram in the directory `own`.

    The kind is said where it is another one, and where the name has a dot, which could be mistaken
    for it. Where that is too long for a file name the id stands for all of it, with a dot behind.
    """
    stem = name if directory == own and "." not in name else f"{name}.{_said(directory)}"
    return stem if len(stem.encode()) <= _MOST else f"{id}."


def meaning(stem: str, own: str) -> AtPlace | ById:
    """Which engram a stem names; the inverse of `stem_of`."""
    slug, dot, said = nfc(stem).rpartition(".")
    if not dot:
        return AtPlace(own, said)
    return AtPlace(_read(said), slug) if said else ById(slug)


def _said(directory: str) -> str:
    return directory.replace("%", "%25").replace(".", "%2E")


def _read(said: str) -> str:
    return said.replace("%2E", ".").replace("%25", "%")
