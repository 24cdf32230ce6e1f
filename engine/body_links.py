"""Links in Markdown: `[[slug]]`, `[text](path)`, reference style.

Images, code, HTML comments, footnote marks and links with a scheme are not links to engrams.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import unquote

from engine.sections import sections

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

LONGEST_PARSED = 1 << 20  # characters of a body; the parser takes up to 14 µs for one
LONGEST_TARGET = 1024  # characters between the brackets of `[[…]]`

_SCHEME = re.compile(r"(?:[a-z][a-z0-9+.\-]*:|//)", re.IGNORECASE)
_WEB = re.compile(r"(?:[a-z][a-z0-9+.\-]*://|mailto:|//)", re.IGNORECASE)
_MEDIA = re.compile(
    r"\.(?:png|jpe?g|gif|svg|webp|bmp|avif|tiff?|mp[34]|m4a|webm|ogv|ogg|mov|wav|flac|pdf)\s*$",
    re.IGNORECASE,
)
_SIMPLE = re.compile(
    r"<!--.*?-->|(?<!!)\[\[(?P<wiki>[^\[\]\n]{1,1024})\]\]"
    r"|(?<!!)\[[^\[\]\n]{0,1024}\]\((?P<url>[^()\s]{1,1024})\)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class BodyLink:
    """A target, percent-decoded, without what stood behind `#` and `?`; `line` counts from 0."""

    target: str
    heading: str
    line: int


def body_links(body: str) -> list[BodyLink]:
    """The links of a Markdown text in order, each target and heading once."""
    found: dict[tuple[str, str], BodyLink] = {}
    for link in every_body_link(body):
        found.setdefault((link.target, link.heading), link)
    return list(found.values())


def every_body_link(body: str) -> Iterator[BodyLink]:
    """The links of a Markdown text in order, repeats kept."""
    if "[" not in body or not ("[[" in body or "](" in body or "]:" in body):
        return iter(())  # nothing that could be a link: most texts are not parsed
    return _parsed(body) if len(body) <= LONGEST_PARSED else _scanned(body)


def wiki_link(inside: str) -> tuple[str, str] | None:
    """(target, heading) of `[[inside]]`: `slug`, `kind/slug`, `slug#heading|text`."""
    written = inside.replace("\\|", "|").partition("|")[0]
    target, _, heading = written.partition("#")
    target = target.strip()
    return None if not target or _WEB.match(target) else (target, heading.strip())


def url_link(url: str) -> tuple[str, str] | None:
    """(target, heading) of `[text](url)`; None for one with a scheme or into its own document."""
    if _SCHEME.match(url):
        return None
    path, _, heading = url.partition("#")
    target = unquote(path.partition("?")[0]).strip()
    return (target, unquote(heading)) if target else None


def _parsed(body: str) -> Iterator[BodyLink]:
    for token in _parser().parse(body, {}):
        if token.children and token.map:
            yield from _of_children(token.children, token.map[0])


def _scanned(body: str) -> Iterator[BodyLink]:
    """Inline links of a text that would take the parser minutes: outside fenced code and comments.

    Reference style and code spans are not understood.
    """
    position = line = 0
    fences = [span for section in sections(body) for span in section.fences]
    for start, end in [*fences, (len(body), len(body))]:
        for match in _SIMPLE.finditer(body, position, start):
            line += body.count("\n", position, match.start())
            position = match.start()
            wiki, url = match["wiki"], match["url"]
            link = wiki_link(wiki) if wiki else url_link(url) if url else None
            if link is not None:
                yield BodyLink(*link, line)
        line += body.count("\n", position, end)
        position = end


def _of_children(children: Sequence[Token], line: int) -> Iterator[BodyLink]:
    for token in children:
        if token.type in ("softbreak", "hardbreak"):
            line += 1
        elif token.type == "html_inline":
            line += token.content.count("\n")
        link = None
        if token.type == "link_open":
            link = url_link(str(token.attrs.get("href", "")))
        elif token.type == "wiki_link":
            link = wiki_link(token.content)
        if link is not None:
            yield BodyLink(*link, line)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").disable(["emphasis", "entity", "balance_pairs"])
    parser.disable(["fragments_join"])
    parser.inline.ruler.before("link", "wiki_link", _wiki_rule)
    parser.core.ruler.at("inline", _inline_rule)
    return parser


def _inline_rule(state: StateCore) -> None:
    """Look for links only where a bracket stands, and never take a footnote for a definition."""
    references = state.env.get("references", {})
    for label in [label for label in references if label.startswith("^")]:
        del references[label]
    for token in state.tokens:
        if token.type == "inline" and "[" in token.content:
            token.children = []
            state.md.inline.parse(token.content, state.md, state.env, token.children)


def _wiki_rule(state: StateInline, silent: bool) -> bool:
    """`[[inside]]` on one line; not `[[1]](url)`, which is a link to the URL."""
    source, start = state.src, state.pos
    if not source.startswith("[[", start):
        return False
    end = source.find("]]", start + 2, start + 2 + LONGEST_TARGET)
    if end < 0 or source.startswith("(", end + 2):
        return False
    inside = source[start + 2 : end]
    if "\n" in inside or "[" in inside or not inside.strip():
        return False
    embedded = start > 0 and source[start - 1] == "!"
    if not silent and not (embedded and _MEDIA.search(inside.partition("|")[0])):
        state.push("wiki_link", "", 0).content = inside
    state.pos = end + 2
    return True
