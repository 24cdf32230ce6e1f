"""What both forms of an answer share: head, controls, token, and the count of itself in it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Protocol

from engine.config import Config
from engine.filters import split
from engine.model import Degraded
from engine.recall.chunks import Chunk
from engine.recall.given import CHANNELS
from engine.recall.items import Item
from engine.recall.keys import FLOORS, depth_of, usual_roles
from engine.recall.request import RecallRequest
from engine.recall.sources import Source
from engine.recall.tail import NO_TAIL, Tail
from engine.visible import visible

ECHO_BYTES = 256  # of the question and of a filter's values in the controls
REASON_CHARACTERS = 200
SETTLING_ROUNDS = 6
SETTLING_NAMES = 24  # tried where no number is true under the first
_CUT = "…".encode()
PLACEHOLDER_TOKEN = "m000m000"

_COMPARED = (
    "budget", "counter", "max_characters", "limit", "depth", "k", "hops", "seeds",
    "channels", "detail", "fusion", "tags_match", "source_roles", "surfaces", "altitude",
    "max_source_tokens", "max_chunk_tokens",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Head:
    """The accounting of an answer. `tokens` None: no number is true (see `settle`)."""

    tokens: int | None
    omitted: int
    paths: tuple[str, ...]  # of the first items left out
    truncated: bool
    characters: int
    token: str
    counter: str
    controls: Mapping[str, object]  # everything applied
    changed: str  # what differs from its default, as a request
    degraded: tuple[Degraded, ...] = ()
    warnings: tuple[str, ...] = ()
    untagged: int | None = None  # items without a tag, where tags are asked for and let them in


@dataclass(frozen=True, slots=True)
class Extras:
    """How much of the head is told: the first `paths`, echoes cut to `echo` bytes, reasons."""

    paths: int = 0
    echo: int = 0
    controls: bool = False
    reasons: bool = False
    warnings: bool = False  # their number
    bare: bool = False  # tokens and truncated only
    pad: int = 0


class Form(Protocol):
    """Markdown or JSON."""

    front_tokens: int | None  # the head may have so many tokens; None: any
    counts_items: bool  # does an item tell its own tokens?

    def section(self, item: Item) -> str:
        """One item, as it stands in the answer."""

    def ladder(self, head: Head) -> Sequence[Extras]:
        """From the fullest head to the least one; the last is what items are judged with."""

    def source(self, source: Source) -> str:
        """One source, as it stands among the sources."""

    def chunk(self, chunk: Chunk) -> str:
        """One raw passage, as it stands among the chunks."""

    def sources(self, sections: Sequence[str]) -> str:
        """All sources, as they stand in the answer."""

    def chunks(self, sections: Sequence[str]) -> str:
        """All chunks, as they stand in the answer."""

    def render(
        self, head: Head, extras: Extras, sections: Sequence[str], tail: Tail = NO_TAIL
    ) -> str:
        """The whole answer."""


def settle(
    render: Callable[[str, int | None, int], str],
    count: Callable[[str], int],
    guess: int,
    name: Callable[[int], str],
) -> tuple[str, int, str]:
    """The text whose own token count stands in it, that count, and the token that names it.

    Render, count, render again until the count repeats, six rounds at most. Where it goes round in
    circles a padded text is tried, and then one of another name, `name(attempt)`: word pieces see
    no blanks. Where no number is true (a counter that no text can satisfy), the text says none.
    `render` takes the name, the number to say (None: none) and the padding.
    """
    for attempt in range(SETTLING_NAMES):
        named = name(attempt)
        found = _settled(partial(render, named), count, guess)
        if found is not None:
            return (*found, named)
    text = render(name(0), None, 0)
    return text, count(text), name(0)


def _settled(
    render: Callable[[int | None, int], str], count: Callable[[str], int], guess: int
) -> tuple[str, int] | None:
    seen: dict[int, None] = {}
    said = guess
    for _ in range(SETTLING_ROUNDS):
        text = render(said, 0)
        counted = count(text)
        if counted == said:
            return text, counted
        seen[counted] = None
        said = counted
    for pad in range(1, 4):
        for said in [*seen, *(number + pad for number in seen)]:
            text = render(said, pad)
            if count(text) == said:
                return text, said
    return None


def token_of(parts: Iterable[str], attempt: int = 0) -> str:
    """An answer's name: a digest of what it says. A letter and three digits, twice.

    Every such token has the same number of BPE tokens, so that choosing it changes no count, and no
    YAML or JSON reader takes it for a number.
    """
    digest = hashlib.blake2b(digest_size=8, salt=bytes([attempt % 256]))
    for part in parts:
        digest.update(part.encode("utf-8", "surrogatepass"))
        digest.update(b"\x00")
    number = int.from_bytes(digest.digest(), "big")
    text = ""
    for _ in range(2):
        number, letter = divmod(number, 26)
        number, digits = divmod(number, 1000)
        text += f"{chr(97 + letter)}{digits:03d}"
    return text


def controls_of(request: RecallRequest) -> dict[str, object]:
    """Everything applied, after defaults and clamping, by the request's own keys."""
    weights, least = dict(request.weights), dict(request.least)
    return {
        "q": request.question,
        "kinds": list(request.kinds),
        **dict(joined(request.written)),
        **{f"namespace.{name}": value for name, value in request.namespace},
        "budget": request.budget,
        "counter": request.counter,
        "max_characters": request.max_characters,
        "limit": request.limit,
        "depth": request.depth,
        "k": request.k,
        "hops": request.hops,
        "reverse": request.reverse,
        "seeds": request.seeds,
        **{f"min_score.{name}": least.get(name, 0.0) for name in FLOORS},
        "min_score": request.least_score,
        "channels": list(request.channels),
        "weights": {name: weights.get(name, 1.0) for name in CHANNELS},
        "tags": sorted(split(request.tags)),
        "tags_match": request.tags_match,
        "source_roles": list(request.source_roles),
        "surfaces": list(request.surfaces),
        "themes": request.themes,
        "altitude": request.altitude,
        "detail": request.detail,
        "sources": request.sources,
        "max_source_tokens": request.max_source_tokens,
        "chunks": request.chunks,
        "max_chunk_tokens": request.max_chunk_tokens,
        "now": _time(request.now),
        "as_of": _time(request.as_of),
        "fusion": request.fusion,
        "fresh": request.fresh,
        "trace": request.trace,
        "strict": request.strict,
        "format": request.format,
    }


def changed_controls(request: RecallRequest, config: Config) -> str:
    """What differs from its default or from what was asked, but for the question, in the syntax of
    a request."""
    k, hops = depth_of(request.depth, config)
    default = RecallRequest(
        budget=config.recall_budget,
        max_characters=config.recall_max_characters,
        limit=config.recall_limit,
        k=k,
        hops=hops,
        seeds=config.recall_seeds,
        source_roles=usual_roles(config),
        max_source_tokens=config.recall_source_tokens,
        max_chunk_tokens=config.recall_chunk_tokens,
    )
    held = {key: (getattr(request, key), getattr(default, key)) for key in _COMPARED}
    pairs = [("kinds", ",".join(request.kinds))] if request.kinds else []
    pairs += joined(request.written)
    pairs += [(f"namespace.{name}", value) for name, value in request.namespace]
    pairs += [
        (key, ",".join(value) if isinstance(value, tuple) else str(value))
        for key, (value, usual) in held.items()
        if value != usual or key in request.clamped
    ]
    if request.weights:
        pairs.append(("weights", ",".join(f"{name}:{w:g}" for name, w in request.weights)))
    pairs += [(f"min_score.{name}", f"{floor:g}") for name, floor in request.least]
    if request.least_score:
        pairs.append(("min_score", f"{request.least_score:g}"))
    if request.tags:
        pairs.append(("tags", ",".join(request.tags)))
    times = (("now", request.now), ("as_of", request.as_of))
    pairs += [(key, _time(at) or "") for key, at in times if at is not None]
    pairs += [("sources", "off")] if request.sources is False else []
    switches = ("reverse", "themes", "sources", "chunks", "fresh", "strict")
    pairs += [(key, "on") for key in switches if getattr(request, key)]
    return "&".join(f"{_encoded(key)}={_encoded(value)}" for key, value in pairs)


def _time(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def joined(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Repeated keys as one, their values joined by commas."""
    values: dict[str, list[str]] = {}
    for key, value in pairs:
        values.setdefault(key, []).append(value)
    return [(key, ",".join(held)) for key, held in values.items()]


def echo(text: str, most_bytes: int) -> str:
    """The beginning of a text, cut between characters: at most `most_bytes` of UTF-8 with the
    ellipsis that says so, which is all where not even it has room."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= most_bytes:
        return text
    return f"{raw[: max(most_bytes - len(_CUT), 0)].decode('utf-8', 'ignore')}…"


def echo_each(values: Sequence[str], most_bytes: int) -> list[str]:
    """The first values, `most_bytes` of UTF-8 in all; "…" stands for the others."""
    kept: list[str] = []
    used = 0
    for at, value in enumerate(values):
        used += len(value.encode("utf-8", "replace"))
        more = len(_CUT) if at + 1 < len(values) else 0
        if used + more > most_bytes:
            return [*kept, "…"]
        kept.append(value)
    return kept


def _encoded(text: str) -> str:
    """Percent-encoded as little as a YAML line and a request need."""
    plain = "".join(f"%{ord(c):02X}" if c in "%&=+#:\"'\\{}[]`|>\n\r\t" else c for c in text)
    return visible(plain.replace(" ", "+"))
