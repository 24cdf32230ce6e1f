"""Links in the text that wrote them: one target is exchanged for another, and nothing else.

Where a link stands is guessed from its shape; that a guess was right, the parser says: a place is
exchanged only if just the links that named the old target name the new one afterwards. So code,
comments and words that look like a link keep every byte.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from engine.body_links import url_link, wiki_link
from engine.errors import Invalid
from engine.model import Link

LinksOf = Callable[[str], Sequence[Link]]  # every link of a text, repeats kept; may raise Invalid

_WIKI = re.compile(r"\[\[(?P<target>[^\[\]\n|#]{1,1024})[^\[\]\n]*\]\]")
_INLINE = re.compile(r"\]\(\s*(?P<angle><)?(?P<target>(?(angle)[^<>\n]|[^()\s<>]){1,2048})")
_REFERENCE = re.compile(
    r"^ {0,3}\[[^\[\]\n]{1,999}\]:[ \t]*\n?[ \t]*"
    r"(?P<angle><)?(?P<target>(?(angle)[^<>\n]|\S){1,2048})",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class _Place:
    """text[start:end] is a target as it stands there; `put` spells another one for this place."""

    start: int
    end: int
    put: Callable[[str], str]


def exchange(text: str, old: str, new: str, front: int, links_of: LinksOf) -> str:
    """`text` with `new` for `old` wherever that is the target of a link, front matter included.

    Both are targets as `engine.model.Link` has them: percent-decoded, without a heading. The first
    `front` characters are the front matter. The text is returned as it was where nothing could be
    exchanged.
    """
    before = list(links_of(text))
    # From the end: what stands before a place does not move.
    for place in sorted(_places(text, old, front), key=lambda one: -one.start):
        spelled = place.put(new)
        tried = f"{text[: place.start]}{spelled}{text[place.end :]}"
        try:
            after = list(links_of(tried))
        except Invalid:
            continue
        if _only_this(before, after, old, new):
            text, before = tried, after
    return text


def _only_this(before: list[Link], after: list[Link], old: str, new: str) -> bool:
    if len(before) != len(after):
        return False
    changed = 0
    for was, now in zip(before, after, strict=True):
        same = (was.relation, was.heading, was.origin) == (now.relation, now.heading, now.origin)
        if not same:
            return False
        if was.target != now.target:
            if (was.target, now.target) != (old, new):
                return False
            changed += 1
    return changed > 0


def _places(text: str, old: str, front: int) -> Iterator[_Place]:
    for match in _WIKI.finditer(text):
        link = wiki_link(match[0][2:-2])
        if link is not None and link[0] == old:
            yield _Place(*match.span("target"), str)
    for pattern in (_INLINE, _REFERENCE):
        for match in pattern.finditer(text, front):
            written = match["target"]
            path = re.split("[#?]", written, maxsplit=1)[0]
            link = url_link(written)
            if link is not None and link[0] == old:
                start = match.start("target")
                yield _Place(start, start + len(path), _in_angles if match["angle"] else _quoted)
    bare = re.compile(rf"(?<![\w/.\[-]){re.escape(old)}(?![\w/-])")
    for match in bare.finditer(text, 0, front):
        yield _Place(*match.span(), str)


def _quoted(target: str) -> str:
    """As it may stand between parentheses: blanks and marks that mean something are encoded."""
    return re.sub(r"[\s()<>%?#\\]", lambda found: quote(found[0], safe=""), target)


def _in_angles(target: str) -> str:
    return re.sub(r"[<>%?#\\]", lambda found: quote(found[0], safe=""), target)
