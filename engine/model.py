"""The frozen values that the engine takes and returns. No behaviour beyond derived fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain
from typing import TYPE_CHECKING, Literal

from engine.errors import Problem as Problem

if TYPE_CHECKING:  # its import takes longer than all else here
    import numpy as np
    from numpy.typing import NDArray

# Ordered name=value attributes, for example (("team", "sales"), ("project", "apollo")).
Namespace = tuple[tuple[str, str], ...]

# What a property holds after validation: plain JSON. Numbers that JSON cannot carry exactly
# (integers beyond 2**53, decimals whose text would change) and datetimes stay the written string.
Scalar = str | int | float | bool
PropertyValue = Scalar | list[Scalar] | Mapping[str, object] | list[object] | None


# What a reader did with an engram: opened its file, was given it for a question or with a prompt,
# or saw it listed.
EventKind = Literal["read", "recall", "prompt", "shown"]
SOURCE_ROLES = ("user", "assistant", "system", "tool")  # who can have said an engram


class Identity(StrEnum):
    """Which rule of the identity table decided whose id a commit got."""

    NEW = "new"  # a new id was made, or an unknown one in the bytes was taken
    SAME = "same"  # the engram that is at the path
    COPY = "copy"  # the bytes carried an id that lives elsewhere; a new one was made
    REVIVED = "revived"  # a deleted engram lives again here
    RECLAIMED = "reclaimed"  # the path's own engram, lost within the grace time
    SUCCESSOR = "successor"  # a copy took over the id of its unlinked original


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the in-memory table that `stat` and `ls` are answered from.

    An empty entry (`touch new.md` in a kind that refuses the empty document) has `id == ""`,
    `no == -1` and size 0. Times are nanoseconds since the epoch, sizes are bytes.
    """

    no: int  # dense engram number, never reused; indexes the arrays of `engine.index`
    id: str
    namespace: Namespace
    kind: str  # the catalogue's spelling
    slug: str  # NFC: the key that paths are compared by
    name: str  # the file-name stem as last created or renamed
    inode: int
    mode: int  # permission bits, 0..0o777
    mtime_ns: int
    ctime_ns: int
    created_ns: int
    updated_ns: int  # content changes only
    size: int  # of the source as written
    shown_size: int  # of the source with its id line
    seq: int  # the commit that made this state; grows over the whole store
    source_seq: int  # the commit that holds the bytes
    title: str = ""
    parts: int = 0
    deleted_ns: int | None = None
    host_sha256: str = ""  # of the parts that its host gave (`engine.host_parts`); "": none
    written_ns: int = 0  # when the bytes last changed: `updated` moves with a host's parts too

    @property
    def empty(self) -> bool:
        """True for a durable empty entry, which is not an engram."""
        return not self.id


@dataclass(frozen=True, slots=True)
class Draft:
    """A document about to be put at (kind, slug).

    `source` None means: render it from `title`, `summary` and `properties` and `body`.
    """

    kind: str
    slug: str
    source: bytes | None
    name: str | None = None  # spelling of the file-name stem; None: the slug
    title: str | None = None
    summary: str = ""
    properties: Mapping[str, PropertyValue] = field(default_factory=dict)
    body: str = ""
    mode: int | None = None  # None: keep, or 0o644
    mtime_ns: int | None = None  # None: now
    ctime_ns: int | None = None  # when it was written, as its writer saw it; None: now
    inode: int | None = None  # of the file just created; ignored where the path has one
    by: str = ""  # who writes: "pid:…" of a process, or a session's name; history collapses by it
    amends: int | None = None  # seq of an earlier commit of the same handle, replaced in history
    renamed_onto: bool = False  # the bytes arrive by a rename of a plain file onto this path


@dataclass(frozen=True, slots=True)
class Commit:
    """An accepted write."""

    entry: Entry
    changed: bool  # False: the same bytes again; no new version
    identity: Identity
    replaced: int | None = None  # seq of the version that was current before, None if none
    removed: tuple[Entry, ...] = ()  # engrams soft-deleted by this commit (replaced at the target)
    rewritten: tuple[Entry, ...] = ()  # engrams whose links were made to name a new place


@dataclass(frozen=True, slots=True)
class Engram:
    """One first-class object, hydrated."""

    id: str
    kind: str
    slug: str
    name: str
    title: str
    summary: str
    properties: Mapping[str, PropertyValue]
    body: str
    namespace: Namespace
    created_ns: int
    updated_ns: int
    deleted_ns: int | None
    seq: int
    content_type: str = "text/markdown"


@dataclass(frozen=True, slots=True)
class Span:
    """Where a part stands in the source: lines from 1 (inclusive), bytes half open."""

    start_line: int
    end_line: int
    byte_start: int
    byte_end: int


NOWHERE = Span(0, 0, 0, 0)  # of a part that does not stand in the file


@dataclass(frozen=True, slots=True)
class HostPart:
    """A text that a host adds to an engram: a page of a PDF, a stretch of a transcript.

    `text` has LF line ends once it is stored. `heading_path` says where in the host's material it
    belongs, ("Page 12",) for example; it is searched with the text and shown with it. `span` is
    the place in what the host took it from, kept as given: it is no place in the engram's file.
    """

    text: str
    heading_path: tuple[str, ...] = ()
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """An indexed slice of an engram. Part 0 is the head: title, aliases, summary, slug, values."""

    id: str
    position: int
    heading_path: tuple[str, ...]
    text: str  # LF line ends, as it stands in the body; for part 0 the head's lines
    span: Span
    runs: tuple[tuple[str, ...], ...]  # analysed terms, in order, repeats kept (`engine.also`)
    embed_text: str  # "" = never embedded
    origin: str = "cut"  # or "host"

    @property
    def terms(self) -> tuple[str, ...]:
        """Of all runs."""
        return tuple(chain.from_iterable(self.runs))


@dataclass(frozen=True, slots=True)
class Link:
    """A link as an engram writes it: in a link field, a well-known property or the body."""

    relation: str  # field's relation, "derived_from", "superseded_by" or "mentions"
    target: str  # the written target, percent-decoded
    heading: str = ""  # what stood behind '#'
    origin: str = "body"  # body | field
    line: int | None = None
    to_kind: str | None = None  # a link field's `to`


@dataclass(frozen=True, slots=True)
class EdgeMeta:
    """What the one who links says of an edge. A confidence that is not set counts as 1."""

    note: str = ""
    status: str = ""
    role: str = ""
    confidence: float | None = None  # in (0, 1]
    evidence_id: str = ""


NO_META = EdgeMeta()


@dataclass(frozen=True, slots=True)
class Edge:
    """A directed, typed link between two engrams as stored; `target` is "" while it dangles."""

    source: str
    relation: str
    target: str
    written: str
    heading: str = ""
    origin: str = "body"  # body | field | link
    note: str = ""
    status: str = ""
    role: str = ""
    confidence: float | None = None
    evidence_id: str = ""
    created_ns: int = 0
    updated_ns: int = 0


@dataclass(frozen=True, slots=True)
class Passage:
    """A part as evidence: its text or snippet, heading path and span (a host's part: NOWHERE)."""

    text: str
    heading_path: tuple[str, ...]
    span: Span
    score: float = 0.0
    position: int = 0  # among the parts of its engram


@dataclass(frozen=True, slots=True)
class Relation:
    """How an expansion reached an engram: by an edge of this label, or by containment."""

    label: str
    outward: bool  # the edge leads to it; False: it leads from it
    source: str  # id of the engram or part before it
    hop: int  # from 1


@dataclass(frozen=True, slots=True)
class Hit:
    """One ranked engram. `channels` maps a channel's name to the engram's rank in it, from 1."""

    entry: Entry
    score: float
    channels: Mapping[str, int]
    evidence: tuple[Passage, ...] = ()
    summary: str = ""
    properties: Mapping[str, PropertyValue] = field(default_factory=dict)
    status: str = "live"  # or "superseded"
    relation: Relation | None = None  # None: a search found it


@dataclass(frozen=True, slots=True)
class Page:
    """Some hits of a ranking, with what could not run."""

    hits: tuple[Hit, ...]
    total: int
    offset: int
    degraded: tuple[Degraded, ...] = ()
    warnings: tuple[str, ...] = ()
    set_id: str = ""  # of the result set that `continue_` pages through; "" without a hit


@dataclass(frozen=True, slots=True)
class Degraded:
    """A channel or surface that could not run, or ran only in part, and why."""

    what: str
    reason: str


@dataclass(frozen=True, slots=True)
class Digest:
    """The summary of a scope of one namespace, or (level "tenant") of the whole namespace."""

    name: str  # "kind-note", "community-<slug of a member>-<end of its id>", "tenant"
    level: str  # scope | tenant
    title: str
    text: str  # Markdown; "" when it is stale or was never made
    namespace: Namespace
    members: NDArray[np.int64] = field(compare=False)  # numbers of the engrams it covers, sorted
    hash: str  # hexadecimal SHA-256 of all that the text was made of
    built_ns: int
    stale: bool  # it does not say what its engrams say now
    problem: str = ""  # why it could not be made anew, a sentence
    lacks: str = ""  # what it cannot tell of, and why


@dataclass(frozen=True, slots=True)
class Change:
    """What a commit did, told to subscribers: `event` is create, update, delete, rename, revive,
    or of its edges link, unlink."""

    time_ns: int
    event: str
    id: str
    namespace: Namespace
    kind: str
    slug: str
    name: str
    former: tuple[str, str] | None = None  # (kind, name) before a rename


@dataclass(frozen=True, slots=True)
class Notice:
    """One entry of `.errors`."""

    no: int
    at_ns: int
    namespace: Namespace
    kind: str  # "" when it concerns no engram path
    slug: str
    path: str  # as shown to the user, relative to the mountpoint in prefix mode: "deal/acme.md"
    event: str  # refused | conflict | late-write | request | embed | kinds
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class Rejected:
    """Refused bytes that are kept: `rank` 0 is the newest of a path, 9 the oldest."""

    namespace: Namespace
    kind: str
    name: str
    rank: int
    size: int
    at_ns: int
    sha256: str


@dataclass(frozen=True, slots=True)
class VectorIndex:
    """How vectors are searched: `exact`, `building` (exact until it is done) or `hnsw`.

    `held` of the `vectors` are in the approximate index; the others are compared beside it.
    """

    search: str = "exact"
    vectors: int = 0
    held: int = 0


@dataclass(frozen=True, slots=True)
class DigestCounts:
    """How many digests are fresh, and how many are not made (yet); `making`: on or off."""

    fresh: int = 0
    stale: int = 0
    making: str = "on"


@dataclass(frozen=True, slots=True)
class Status:
    """Counts for `.status` and `engramfs status`."""

    engrams: int
    parts: int
    pending_vectors: int
    refusals: int
    seq: int
    embed: str  # background | inline | off
    model: str
    kinds: Mapping[str, int]  # live engrams a kind
    events: Mapping[str, int] = field(default_factory=dict)  # of readers: read, recall, prompt, …
    misses: tuple[str, ...] = ()  # the latest questions without a hit
    problems: tuple[str, ...] = ()  # background failures that still stand
    vector_index: VectorIndex = VectorIndex()
    digests: DigestCounts = DigestCounts()
