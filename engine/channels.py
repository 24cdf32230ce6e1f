"""The channels: a question in, scores of documents or engrams out. Shared by search and recall.

*lexical* is BM25 over the parts in scope, *vector* the cosine of their embeddings, *exact* what the
question names, *trigram* other spellings of its words. Each alone may be empty, and one that cannot
run is told in `degraded`.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from engine.columns import Columns
from engine.config import Config
from engine.errors import EmbedderFailed
from engine.fusion import ROUNDING, Floats, Ints, Mask, best_by_engram, fitted
from engine.index import PENDING
from engine.matrix import Vectors
from engine.model import Degraded
from engine.naming_in_text import named, titles_contained
from engine.neighbours import candidate_cosines
from engine.query import Group, query_terms
from engine.reader import QueryEmbedder, Reader
from engine.snapshot import Snapshot
from engine.spellings import spelled

T = TypeVar("T")

CONTAINED = 1  # the question contains the title
NAMED = 2  # the question is the engram's id, path, slug, title or alias, or holds one of them
TITLED = 3  # it is the title, where that counts more
NO_WORD = "the question has no word to look for: nothing but signs, or what is left out"
COSINE_DECIMALS = 6  # what a float32 product differs in with its place stands behind these
_MEANING = re.compile(r"[^\W\d_]{2}|[^\W\d_a-zA-Z]")  # a word, or one character of another script


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What the channels found. Arrays are over documents; `engrams` is the length of masks.

    `counted` are the documents in scope that can be found (those of superseded engrams cannot);
    maxima are taken over them. A channel that did not run is None. `exact` maps engrams to
    TITLED, NAMED or CONTAINED. `spellings` are those that the trigram channel found.
    """

    engrams: int
    owners: Ints
    positions: Ints
    counted: Mask
    lexical: Floats | None = None
    cosine: Floats | None = None
    exact: Mapping[int, int] | None = None
    degraded: tuple[Degraded, ...] = ()
    failed: tuple[Degraded, ...] = ()  # those of `degraded` that did not run at all
    warnings: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    trigram: Floats | None = None
    spellings: tuple[str, ...] = ()

    @property
    def ran(self) -> tuple[str, ...]:
        """The channels that ran."""
        found = (
            ("lexical", self.lexical), ("vector", self.cosine), ("exact", self.exact),
            ("trigram", self.trigram),
        )  # fmt: skip
        return tuple(name for name, held in found if held is not None)


@dataclass(slots=True)
class Notes:
    """What is to be said of how the channels ran."""

    degraded: list[Degraded] = field(default_factory=list)
    failed: list[Degraded] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def fail(self, what: str, reason: str) -> None:
        """A channel did not run."""
        said = Degraded(what, reason)
        self.degraded.append(said)
        self.failed.append(said)


def retrieve(
    reader: Reader,
    columns: Columns,
    covered: Mask,
    hidden: Mask,
    question: str,
    channels: Sequence[str],
    *,
    groups: Sequence[Group] | None = None,
    free: Sequence[tuple[str, Group]] = (),
    nearest: int | None = None,
    seconds: float | None = None,
) -> Retrieved:
    """Run `channels` for a question over the engrams that the scope covers.

    `covered` and `hidden` (superseded engrams) are masks over engrams. `groups` are the terms to
    score, None: those of the question; `free` the words (`Query.free`) whose other spellings are
    looked for. `seconds` is how long the vector channel may take,
    `nearest` how many engrams have to be the nearest ones in it (`engine.neighbours.wanted`), None:
    all of them in their order.
    """
    snapshot = reader.index.snapshot()
    owners, positions = snapshot.doc_engram, snapshot.doc_position
    engrams = max(len(columns), int(owners.max(initial=-1)) + 1)
    in_scope, shown = fitted(covered, engrams), fitted(covered & ~hidden, engrams)
    visible = snapshot.visible(in_scope)
    counted = visible & shown[owners]
    notes = Notes()
    if groups is None:
        groups = query_terms(question, reader.languages(covered))
    lexical = cosine = None
    exact: Mapping[int, int] | None = None
    if "lexical" in channels or "exact" in channels:
        lexical = _lexical(reader.config, snapshot, groups, visible, counted, notes)
    if "vector" in channels:
        # Alone, the vector channel gives its whole ranking; and an index knows of no scope.
        whole = np.array_equal(visible, snapshot.live)
        near = nearest if whole and "lexical" in channels else None
        cosine = _vector(reader, snapshot, question, counted, lexical, near, notes, seconds)
    if "exact" in channels and lexical is not None:
        began = time.perf_counter()
        heads = np.where(positions == 0, lexical, 0.0)
        best = best_by_engram(heads, owners, engrams)
        exact = dict.fromkeys(titles_contained(columns, best, question), CONTAINED)
        exact |= dict.fromkeys(named(reader, columns, in_scope, question), NAMED)
        notes.seconds["exact"] = time.perf_counter() - began
    if not groups and not exact:
        notes.warnings.append(NO_WORD)
    trigram: Floats | None = None
    spellings: tuple[str, ...] = ()
    if "trigram" in channels:
        began = time.perf_counter()
        also = spelled(
            reader.vocabulary, snapshot, free, question, reader.languages(covered), visible, counted
        )
        trigram, spellings = also.scores, also.terms
        notes.warnings += also.warnings
        notes.seconds["trigram"] = time.perf_counter() - began
    return Retrieved(
        engrams, owners, positions, counted,
        lexical if "lexical" in channels else None, cosine, exact,
        tuple(notes.degraded), tuple(notes.failed), tuple(notes.warnings), notes.seconds,
        trigram, spellings,
    )  # fmt: skip


def _lexical(
    config: Config,
    snapshot: Snapshot,
    groups: Sequence[Group],
    visible: Mask,
    counted: Mask,
    notes: Notes,
) -> Floats:
    began = time.perf_counter()
    scores = np.zeros(snapshot.rows, dtype=np.float64)
    if groups:
        scores = np.where(counted, np.round(snapshot.lexical(groups, visible), ROUNDING), 0.0)
        if config.head_weight != 1.0:
            scores[snapshot.doc_position == 0] *= config.head_weight
    notes.seconds["lexical"] = time.perf_counter() - began
    return scores


def _vector(
    reader: Reader,
    snapshot: Snapshot,
    question: str,
    counted: Mask,
    lexical: Floats | None,
    nearest: int | None,
    notes: Notes,
    seconds: float | None,
) -> Floats | None:
    began = time.perf_counter()
    vector = question_vector(reader, snapshot, question, counted, notes, seconds)
    if vector is None:
        return None
    if not len(vector):
        return np.zeros(snapshot.rows, dtype=np.float64)
    cosines: Floats | None = None
    if nearest is not None and lexical is not None:
        cosines = candidate_cosines(snapshot, vector, counted, lexical, nearest, reader.config)
    if cosines is None:
        cosines = snapshot.cosines(vector, counted)
    scores: Floats = np.fmax(cosines, 0.0)  # nan: there is no vector
    np.round(scores, COSINE_DECIMALS, out=scores)
    notes.seconds["vector"] = time.perf_counter() - began
    return scores


def question_vector(
    reader: Reader,
    snapshot: Snapshot,
    question: str,
    counted: Mask,
    notes: Notes,
    seconds: float | None,
) -> Vectors | None:
    """float32[dimension]; of length 0 for a question that means nothing to a model.

    None where there is none, so that the vector channel does not run. That is noted, and how many
    of the counted documents have no vector yet.
    """
    embedder = reader.embedder
    if embedder is None:
        notes.fail("vector", "embedding is switched off")
        return None
    pending = int(np.count_nonzero(counted & (snapshot.doc_vector == PENDING)))
    if pending:
        plural = "s" if pending != 1 else ""
        notes.degraded.append(Degraded("vector", f"{pending} vector{plural} pending"))
    if not _MEANING.search(question):
        # A number or a sign means nothing to a model: it would find any text that has one.
        return np.zeros(0, np.float32)
    try:
        vector = within(seconds, lambda: embedder.embed_query(_cut(embedder, question, notes)))
    except EmbedderFailed as error:
        notes.fail("vector", str(error))
        return None
    if vector is None:
        notes.fail("vector", f"the model did not answer within {seconds:g} s")
    return vector


def _cut(embedder: QueryEmbedder, question: str, notes: Notes) -> str:
    """The beginning of the question that the model can read; said when it is not all."""
    limit = embedder.max_tokens
    # No tokenizer makes one token of more than 32 characters on average.
    text = question[: limit * 32]
    if len(text) == len(question) and embedder.count_tokens(text) <= limit:
        return question
    low, high = 1, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if embedder.count_tokens(text[:middle]) <= limit:
            low = middle
        else:
            high = middle - 1
    said = f"the question was cut to its first {low} characters ({limit} tokens) for this channel"
    notes.degraded.append(Degraded("vector", said))
    notes.warnings.append(f"vector: {said}")
    return text[:low]


def within(seconds: float | None, work: Callable[[], T]) -> T | None:
    """The result of `work`, or None when it takes longer; it then ends on its own, unheard."""
    if seconds is None:
        return work()
    done: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            failed.append(error)

    thread = threading.Thread(target=run, name="within", daemon=True)
    thread.start()
    thread.join(seconds)
    if failed:
        raise failed[0]
    return done[0] if done else None
