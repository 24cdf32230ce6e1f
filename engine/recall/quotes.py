"""The text that says what a fact says, verbatim.

    shown_facts = quoted(reader, scope, facts, shown=True)

Of a link in the body the lines that hold it; of one in a field the lines of the field down to it;
of an edge made by hand the beginning of its evidence: a part, or an engram, that the scope sees.
Reading and parsing the texts takes milliseconds each, so this is asked for the facts that are about
to be shown, not for all that were found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from engine.body_links import every_body_link
from engine.document import Document, parse, with_id
from engine.entries import is_live
from engine.errors import Invalid
from engine.model import NOWHERE, Entry, Passage, Span
from engine.namespace import Scope
from engine.passages import Shift, passages_of, shift, written
from engine.reader import Reader, Row
from engine.recall.facts import Fact

QUOTE_CHARACTERS = 600  # of a line or an evidence that is longer: what stands around the link
FIELD_LINES = 8  # of a field's value, before the line that holds the link
LINK_LINES = 4  # that a link's text may go on for


def quoted(
    reader: Reader,
    scope: Scope,
    facts: Sequence[Fact],
    *,
    shown: bool = True,
    at_ns: int | None = None,
) -> tuple[Fact, ...]:
    """The same facts with `quote` and `quote_of`, where there is such a text; None elsewhere.

    `shown` says whether spans are those of the file with its id line; `at_ns` that texts are those
    of then. Two looks into the store for all facts, and one more for each evidence that is a part
    of an engram.
    """
    look = _Look(reader, scope, shown, at_ns)
    written = [fact.source for fact in facts if fact.origin != "link"]
    texts = {entry.no: _Text(look, entry, row) for entry, row in look.read(written)}
    evidence = _evidence(look, facts)
    return tuple(_with_quote(fact, texts, evidence) for fact in facts)


@dataclass(frozen=True, slots=True)
class _Look:
    """How texts are read for one answer."""

    reader: Reader
    scope: Scope
    shown: bool
    at_ns: int | None

    def read(self, entries: Sequence[Entry]) -> list[tuple[Entry, Row]]:
        """(entry, row) of each engram that can be read, once: as it is, or as it was."""
        once = list({entry.no: entry for entry in entries}.values())
        if self.at_ns is None:
            rows = self.reader.hydrate(once)
            return [(entry, rows[entry.no]) for entry in once if entry.no in rows]
        then = self.reader.hydrate_at(self.scope, once, self.at_ns)
        return [(then.entries[no], row) for no, row in then.rows.items()]


def _with_quote(
    fact: Fact, texts: Mapping[int, _Text], evidence: Mapping[str, tuple[Passage, Entry]]
) -> Fact:
    if fact.origin == "link":
        passage, entry = evidence.get(fact.evidence_id, (None, None))
        return replace(fact, quote=passage, quote_of=entry)
    text = texts.get(fact.source.no)
    passage = text.passage(fact) if text is not None else None
    return replace(fact, quote=passage, quote_of=fact.source if passage is not None else None)


# -- links ---------------------------------------------------------------------------
class _Text:
    """One engram's file as it is shown, in which its links are looked for."""

    def __init__(self, look: _Look, entry: Entry, row: Row) -> None:
        self._catalogue = look.reader.catalogue
        self._entry = entry
        self._row = row
        source = row.source or b""
        self._bytes = source
        self._document: Document | None = None
        self._links: dict[tuple[str, str], int] | None = None
        try:
            if look.shown:
                self._bytes = with_id(source, entry.id, limits=look.reader.config)
            self._document = parse(self._bytes, look.reader.config)
        except Invalid:  # accepted by other limits; what it links to stays true
            return
        self._starts = [0]
        for line in self._bytes.split(b"\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)

    def passage(self, fact: Fact) -> Passage | None:
        """The lines that make an edge; None where they cannot be told."""
        document = self._document
        if document is None:
            return None
        if fact.origin == "field":
            lines = self._field_lines(document, fact)
        else:
            lines = self._body_lines(document, fact)
        if lines is None:
            return None
        start, end = self._starts[lines[0] - 1], self._starts[lines[1]] - 1
        end -= self._bytes[end - 1 : end + 1] == b"\r\n"
        start, end = self._around(start, min(end, len(self._bytes)), fact.written)
        first = lines[0] + self._bytes.count(b"\n", self._starts[lines[0] - 1], start)
        span = Span(first, first + self._bytes.count(b"\n", start, end), start, end)
        text = self._bytes[start:end].decode("utf-8", "replace").replace("\r\n", "\n")
        position, headings = self._part_at(start)
        return Passage(text, headings, span, fact.score, position)

    def _body_lines(self, document: Document, fact: Fact) -> tuple[int, int] | None:
        if self._links is None:
            self._links = {}
            for link in every_body_link(document.body):
                place = document.body_line + link.line
                self._links.setdefault((link.target, link.heading), place)
        first = self._links.get((fact.written, fact.heading))
        if first is None:
            return None
        last, text = first, self._line(first)
        while text.count("[") > text.count("]") and last - first < LINK_LINES - 1:
            if last + 1 >= len(self._starts):
                break
            last += 1
            text += self._line(last)
        return first, last

    def _field_lines(self, document: Document, fact: Fact) -> tuple[int, int] | None:
        catalogue, kind = self._catalogue, self._entry.kind
        borders = sorted({*document.lines.values(), document.body_line})
        for name, first in document.lines.items():
            field = catalogue.field(kind, name)
            if field is None or field.link != fact.relation:
                continue
            end = next((line for line in borders if line > first), first + 1)
            for line in range(first, end):
                if fact.written in self._line(line):
                    return (first if line - first < FIELD_LINES else line), line
        return None

    def _line(self, line: int) -> str:
        return self._bytes[self._starts[line - 1] : self._starts[line]].decode("utf-8", "replace")

    def _around(self, start: int, end: int, written: str) -> tuple[int, int]:
        """Of lines that are too long what stands around the link, cut between words."""
        if end - start <= QUOTE_CHARACTERS:
            return start, end
        at = self._bytes.find(written.encode(), start, end)
        middle = at if at >= 0 else start
        first = max(start, min(middle - QUOTE_CHARACTERS // 2, end - QUOTE_CHARACTERS))
        last = min(end, first + QUOTE_CHARACTERS)
        if first > start:
            first = _after_blank(self._bytes, first, middle)
        if last < end:
            blank = self._bytes.rfind(b" ", middle + len(written.encode()), last)
            last = blank if blank >= 0 else _letter_end(self._bytes, last)
        return first, last

    def _part_at(self, byte: int) -> tuple[int, tuple[str, ...]]:
        """Position and heading path of the part that holds a byte of the shown file."""
        added = len(self._bytes) - len(self._row.source or b"")  # the id line stands before it
        for position, part in enumerate(self._row.parts or ()):
            inside = part.span.byte_start + added <= byte < part.span.byte_end + added
            if position and part.text is None and inside:
                return position, part.heading_path
        return 0, ()


def _after_blank(source: bytes, first: int, before: int) -> int:
    blank = source.find(b" ", first, before)
    if blank >= 0:
        return blank + 1
    while first < len(source) and source[first] & 0xC0 == 0x80:  # inside a letter
        first += 1
    return first


def _letter_end(source: bytes, last: int) -> int:
    while last < len(source) and source[last] & 0xC0 == 0x80:
        last += 1
    return last


# -- evidence ------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Place:
    entry: Entry
    position: int | None  # of the part; None: the engram's first one with text


def _evidence(look: _Look, facts: Sequence[Fact]) -> Mapping[str, tuple[Passage, Entry]]:
    """The beginning of each evidence that the scope sees, by its id."""
    places: dict[str, _Place] = {}
    for fact in facts:
        id = fact.evidence_id
        if fact.origin == "link" and id and id not in places:
            place = _place(look.reader, look.scope, id)
            if place is not None:
                places[id] = place
    read = {entry.no: (entry, row) for entry, row in look.read([p.entry for p in places.values()])}
    found: dict[str, tuple[Passage, Entry]] = {}
    for id, place in places.items():
        if place.entry.no in read:
            entry, row = read[place.entry.no]
            passage = _beginning(id.lower(), place, entry, row, shown=look.shown)
            if passage is not None:
                found[id] = (passage, entry)
    return found


def _place(reader: Reader, scope: Scope, id: str) -> _Place | None:
    entry = reader.entries.by_id(id.lower())
    if entry is not None and entry.deleted_ns is not None:
        entry = reader.entries.successor(entry.no)
    if entry is not None:
        seen = is_live(entry) and scope.sees(entry)
        return _Place(entry, None) if seen else None
    part = reader.find_part(scope, id)
    return _Place(*part) if part is not None else None


def _beginning(id: str, place: _Place, entry: Entry, row: Row, *, shown: bool) -> Passage | None:
    moved = shift(entry, row, shown=shown)
    if place.position is not None:
        wanted = [at for at, part in enumerate(row.parts or ()) if part.id == id]
    else:
        wanted = [*range(1, len(row.parts or ())), 0]
    for position in wanted:
        for passage in passages_of(row, [(position, 0.0)], moved):
            return _begun(passage, row, moved)
    return None


def _begun(passage: Passage, row: Row, moved: Shift) -> Passage:
    """As many whole lines as fit; of a first line that does not, as many words."""
    text = passage.text
    begin = len(text) - len(text.lstrip())
    most = begin + QUOTE_CHARACTERS
    if len(text) <= most:
        return passage
    cut = text.rfind("\n", begin, most)
    if cut < 0:
        cut = text.rfind(" ", begin, most)
    kept = text[: cut if cut > 0 else most].rstrip()
    span = passage.span
    if span != NOWHERE:
        size = _bytes_of(kept, written(row, passage.position, span, moved))
        end_line = span.start_line + kept.count("\n")
        span = Span(span.start_line, end_line, span.byte_start, span.byte_start + size)
    return replace(passage, text=kept, span=span)


def _bytes_of(kept: str, source: bytes) -> int:
    """How many bytes of `source` are its beginning `kept`, in which every line end is LF."""
    before, _, last = kept.rpartition("\n")
    at = 0
    for _ in range(before.count("\n") + 1 if "\n" in kept else 0):
        at = source.index(b"\n", at) + 1
    return at + len(last.encode())
