"""The one table of special names: what is generated at a mountpoint's root, and what it does.

Every name is reserved from the first release on, so that no user's file can be in the way later.
A name whose feature does not exist yet is never found, and cannot be created.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Kept(StrEnum):
    """What a special name is."""

    ANSWER = "answer"  # a file that answers a request
    DIRECTORY = "directory"  # `.rejected`, `.graph`, `.views`, `.digests`
    LATER = "later"  # reserved: its feature is not in this release


@dataclass(frozen=True, slots=True)
class SpecialName:
    """One row of the table.

    `mode` holds permission bits. `asks`: the name has `?` and `:` forms that carry a request.
    `writable`: a question, whose request may be written to it too, and whose last answer to a
    session is read from the bare name; `unasked`: until one is written, the bare name answers a
    request without a key. `changes`: what is written to it is done, so it has no name that carries
    a request: a lookup must change nothing. `help` is its line in `.help`, `example` a request.
    """

    name: str
    kept: Kept
    mode: int
    help: str
    asks: bool = False
    writable: bool = False
    example: str = ""
    changes: bool = False
    unasked: bool = False

    @property
    def exists(self) -> bool:
        """True when this release serves the name."""
        return self.kept is not Kept.LATER

    @property
    def directory(self) -> bool:
        """True for a directory."""
        return self.kept is Kept.DIRECTORY


@dataclass(frozen=True, slots=True)
class Asked:
    """A special name in a path: `request` is what stood behind `?` or `:`, None if bare."""

    special: SpecialName
    request: str | None = None


def classify(name: str) -> Asked | None:
    """What `name` means at a mountpoint's root; None when it is no special name.

    Only the exact names of the table are special, alone or followed by `?` or `:`.
    `.recallrc` is not.
    """
    if not name.startswith("."):
        return None
    special = TABLE.get(name)
    if special is not None:
        return Asked(special)
    cut = min((at for at in (name.find("?"), name.find(":")) if at > 0), default=-1)
    if cut < 0:
        return None
    special = TABLE.get(name[:cut])
    return None if special is None else Asked(special, name[cut + 1 :])


def _answer(name: str, help_line: str, example: str = "", *, asks: bool = True) -> SpecialName:
    return SpecialName(name, Kept.ANSWER, 0o444, help_line, asks, example=example)


def _question(name: str, help_line: str, example: str, *, unasked: bool = False) -> SpecialName:
    return SpecialName(name, Kept.ANSWER, 0o644, help_line, True, True, example, unasked=unasked)


def _order(name: str, help_line: str, example: str) -> SpecialName:
    return SpecialName(
        name, Kept.ANSWER, 0o644, help_line, writable=True, example=example, changes=True
    )


def _later(name: str, help_line: str) -> SpecialName:
    return SpecialName(name, Kept.LATER, 0, help_line)


_ROWS = (
    _question(".recall", "a context pack for a question", "q=pump failures&budget=2000"),
    _question(".briefing", "what to know before starting", "budget=800", unasked=True),
    _question(".match", "engrams that a prompt touches on", "prompt=the pump is hot again"),
    _question(".search", "one page of ranked engrams", "q=pump&limit=5"),
    _question(
        ".find_exact", "engrams by id, title, a piece of a word or its misspelling", "q=pmup"
    ),
    _question(".find_objects", "engrams ranked as wholes, without passages", "q=pump"),
    _question(".text", "by words alone, with their BM25 scores", "q=pump"),
    _question(".vector", "by meaning alone, with cosines", "q=machine got too hot"),
    _question(".expand", "what some engrams lead to", "of=note%2Fa&relations=about&hops=2"),
    _question(".neighbours", "the edges of an engram, with what is said of them", "of=note%2Fa"),
    _question(".find_links", "edges by relation and the words of their note", "q=because"),
    _question(".continue", "the next page of a search", "set=…&offset=10"),
    _order(".link", "makes an edge, or changes it", "from=note/a&relation=about&to=note/b"),
    _order(".unlink", "removes an edge", "from=note/a&relation=about&to=note/b"),
    _answer(".schema", "the kinds, their fields and how to filter by them", "kind=deal"),
    _answer(
        ".status", "counts, vectors still to be made, refusals, latest questions without a hit"
    ),
    _answer(".errors", "what was refused and why, newest first; empty when nothing was"),
    SpecialName(
        ".rejected",
        Kept.DIRECTORY,
        0o755,
        "the bytes of refused writes, by path; rm discards them, mv out of it writes them again",
    ),
    _answer(".help", "this page"),
    _answer(".events", "one JSON object a line for every commit since the mount", asks=False),
    SpecialName(
        ".graph",
        Kept.DIRECTORY,
        0o755,
        "KIND/SLUG/out/RELATION/, in/: neighbours as links, to make and remove",
        asks=True,
        example="ask=orphans",
    ),
    SpecialName(
        ".views",
        Kept.DIRECTORY,
        0o755,
        "KIND/PROPERTY/VALUE/: engrams as links, by enum, boolean, link and tag",
    ),
    SpecialName(
        ".digests",
        Kept.DIRECTORY,
        0o555,
        "NAME.md: what a kind, linked engrams or all of them say, in short",
        asks=True,
        example="ask=map",
    ),
    _later(".history", "earlier versions"),
    _later(".metrics", "counters for a monitor"),
)

TABLE: Mapping[str, SpecialName] = {row.name: row for row in _ROWS}
