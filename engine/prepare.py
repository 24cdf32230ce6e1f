"""A document made ready to be committed: parsed, judged, cut, analysed, its links found.

Pure, and the slow part of a commit: it runs before the writer lock is taken. What it makes depends
on the engram's id (the ids of its parts do), on the catalogue and on the place, on nothing else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from engine.catalogue import Catalogue, Kind
from engine.config import Config
from engine.document import Document, parse, with_id, with_place
from engine.errors import EmbedderFailed, Invalid
from engine.host_parts import NOTHING, Hosted, cut_host
from engine.languages import DEFAULT_LANG
from engine.links import find_links
from engine.model import Link, Part, PropertyValue
from engine.parts import cut, head_text
from engine.ports import TextHook
from engine.store.documents import NO_HASH, pack_documents
from engine.store.versions import StoredPart, join_terms, stored
from engine.validation import Head, read_head


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document with all that is derived from it, for one id at one place."""

    id: str
    source: bytes  # as it will be stored
    shown: bytes
    head: Head
    parts: tuple[Part, ...]
    links: tuple[Link, ...]
    lengths: tuple[int, ...]
    hashes: tuple[bytes, ...]
    host_sha256: str = ""  # of the host's parts among them, as it was stored with these

    @property
    def documents(self) -> bytes:
        """Lengths and hashes as the store holds them."""
        return pack_documents(self.lengths, self.hashes)

    @property
    def stored_parts(self) -> tuple[StoredPart, ...]:
        """What the store keeps of the parts."""
        return tuple(stored(part) for part in self.parts)

    @property
    def terms(self) -> str:
        """The terms of all parts as the store holds them."""
        return join_terms(part.runs for part in self.parts)

    @property
    def sha256(self) -> str:
        """Of the source, hexadecimal."""
        return hashlib.sha256(self.source).hexdigest()


@dataclass(frozen=True, slots=True)
class Bench:
    """What preparing a document needs besides the document."""

    catalogue: Catalogue
    config: Config
    count_tokens: Callable[[str], int] | None
    lang: str = DEFAULT_LANG  # of engrams that name none and whose kind names none
    text_hook: TextHook | None = None  # the host's


def text_hash(text: str) -> bytes:
    """The key of a vector: BLAKE2b of the exact text to embed; zeroes for one that never is."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest() if text else NO_HASH


def judge(document: Document, bench: Bench, kind: str, slug: str, name: str) -> Head:
    """The head of a document that is to stand at a place; Invalid with every problem."""
    return read_head(document, bench.catalogue, kind, slug, name)


def unjudged(
    document: Document,
    bench: Bench,
    kind: str,
    slug: str,
    name: str,
    properties: Mapping[str, PropertyValue],
) -> Head:
    """The head of a document that was accepted before: its properties are not judged again.

    A rename within a kind, or a revival, must not fail on a field that became required since.
    """
    try:
        return read_head(document, bench.catalogue, kind, slug, name)
    except Invalid:
        known = bench.catalogue.kind(kind)
        if known is None:
            raise
        lenient = Catalogue({known.name: Kind(known.name, lang=known.lang, declared=False)})
        head = read_head(document, lenient, kind, slug, name)
        return replace(head, properties=properties, embed=known.embed)


def hooked(parts: tuple[Part, ...], head: Head, bench: Bench) -> tuple[Part, ...]:
    """The parts with the text to embed that the host's hook makes of theirs.

    Raises EmbedderFailed when the hook does not give a text.
    """
    if bench.text_hook is None:
        return parts
    return tuple(
        replace(part, embed_text=_rewritten(bench.text_hook, head, part))
        if part.embed_text
        else part
        for part in parts
    )


def _rewritten(hook: TextHook, head: Head, part: Part) -> str:
    try:
        text = hook(head, part)
        text.encode()  # so that the hash of what is embedded can be taken
    except Exception as error:
        raise EmbedderFailed(
            f"the text hook failed on part {part.position} of {head.kind}/{head.slug}: "
            f"{type(error).__name__}: {error}",
            "the hook is the host program's; mend it there and write again",
        ) from error
    return text


def prepare(
    document: Document, head: Head, id: str, bench: Bench, hosted: Hosted = NOTHING
) -> Prepared:
    """Everything derived from a judged document, and its host's parts, for the engram `id`.

    An id in the bytes that is another one's is edited in place: a copy shows its own from now on.
    """
    if head.id is not None and head.id != id:
        source = with_place(document.source, id=id, limits=bench.config)
        document = parse(source, bench.config)
    kind = bench.catalogue.kind(head.kind) or Kind(head.kind, declared=False)
    skip = [name for name, declared in kind.fields.items() if declared.skip_index]
    text = head_text(
        head.title,
        slug=head.slug,
        summary=head.summary,
        aliases=head.aliases,
        properties=head.properties,
        skip=skip,
        lang=head.lang or bench.lang,
        embed=head.embed,
    )
    parts = cut(
        document.body,
        text,
        id,
        body_line=document.body_line,
        body_start=document.body_start,
        newline=document.newline,
        source=document.source,
        max_tokens=bench.config.part_tokens,
        count_tokens=bench.count_tokens,
    )
    parts += cut_host(
        hosted.parts,
        text,
        id,
        first=len(parts),
        max_tokens=bench.config.part_tokens,
        count_tokens=bench.count_tokens,
    )
    parts = hooked(parts, head, bench)
    return Prepared(
        id=id,
        source=document.source,
        shown=with_id(document.source, id, limits=bench.config, document=document),
        head=head,
        parts=parts,
        links=tuple(find_links(head, kind, document)),
        lengths=tuple(len(part.terms) for part in parts),
        hashes=tuple(text_hash(part.embed_text) for part in parts),
        host_sha256=hosted.sha256,
    )
