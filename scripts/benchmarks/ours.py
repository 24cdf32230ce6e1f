"""The engine as a contestant: a synthetic store, and its questions as a whole and by stage."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.channels import retrieve
from engine.engine import Engine
from engine.errors import Invalid
from engine.filters import Filters
from engine.masks import favourites, masks
from engine.namespace import Scope
from engine.query import query_terms
from engine.ranking import Ranking, Rules, rank
from engine.search import CHANNELS
from scripts.benchmarks.corpus import PARTS, ClusteredVectors, Corpus
from scripts.benchmarks.rows import Rows

SCOPE = Scope((), exact=True)
# Puts that are measured go to `plain`: nothing of them is embedded, while the readers use vectors.
KINDS = "kinds: {doc: {}, plain: {embed: false}}"
BATCH = 2_000  # engrams a transaction, and engrams whose parts a peer is handed at a time
FOLD_SECONDS = 900.0


def build(place: Path, parts: int) -> dict[str, float]:
    """Make place/store, unless it is there already: its parts, and the seconds that it took."""
    done = place / "store.json"
    if not done.is_file():
        place.mkdir(parents=True, exist_ok=True)
        begin = time.perf_counter()
        engine = Engine.open(
            place / "store", kinds=KINDS, embed="inline", embedder=ClusteredVectors()
        )
        drafts = Corpus(parts // PARTS).drafts("doc")
        while batch := list(itertools.islice(drafts, BATCH)):
            for result in engine.put_many(SCOPE, batch):
                if isinstance(result, Invalid):
                    raise result
        wait_for_fold(engine)
        cost = {"parts": engine.status(SCOPE).parts, "seconds": time.perf_counter() - begin}
        engine.close()
        done.write_text(json.dumps(cost))
    made: dict[str, float] = json.loads(done.read_text())
    return made


def wait_for_fold(engine: Engine) -> None:
    """Return when no more is unfolded than a quiet moment leaves; TimeoutError."""
    config, deadline = engine.config, time.monotonic() + FOLD_SECONDS
    while True:
        snapshot = engine.reading.index.snapshot()
        unfolded = sum(tail.documents for tail, _ in snapshot.tails)
        if unfolded <= max(config.fold_tail_parts, config.fold_tail_share * snapshot.rows):
            return
        if time.monotonic() > deadline:
            raise TimeoutError(f"{unfolded} parts are not folded after {FOLD_SECONDS:.0f} s")
        time.sleep(0.2)


def rows_of(engine: Engine) -> Iterator[Rows]:
    """What the peers index: terms and vectors of all parts; a row's number is its document's."""
    snapshot = engine.reading.index.snapshot()
    if not np.array_equal(snapshot.doc_number, np.arange(snapshot.rows)):
        raise ValueError("the store was changed since it was built; build it anew")
    entries = engine.reading.columns.now()
    owners = list(dict.fromkeys(snapshot.doc_engram.tolist()))
    first = 0
    for at in range(0, len(owners), BATCH):
        some = [entries.entry(no) for no in owners[at : at + BATCH]]
        held = engine.reading.part_terms(some)
        texts = [text for entry in some for text in held[entry.no]]
        rows = snapshot.doc_vector[first : first + len(texts)]
        vectors = snapshot.vectors[np.maximum(rows, 0)]
        vectors[rows < 0] = np.eye(1, vectors.shape[1], dtype=np.float32)  # peers want one for each
        yield Rows(texts, vectors)
        first += len(texts)


def _languages(engine: Engine) -> Sequence[str]:
    return engine.reading.languages(engine.reading.columns.now().covered(SCOPE))


def terms_of(engine: Engine, question: str) -> list[str]:
    """The terms that the engine looks up for a question, the same for every peer."""
    return [group[0] for group in query_terms(question, _languages(engine))]


def lexical(engine: Engine, question: str, top: int) -> list[tuple[int, float]]:
    """(document, score) of the lexical channel over all parts, ties by document."""
    reader = engine.reading
    snapshot = reader.index.snapshot()
    mask = masks(reader.columns.now(), reader.properties, SCOPE, Filters())
    visible = snapshot.visible(mask.covered)
    scores = snapshot.lexical(query_terms(question, reader.languages(mask.covered)), visible)
    hits = np.flatnonzero(scores)
    if len(hits) > top:
        least = np.partition(scores[hits], len(hits) - top)[len(hits) - top]
        hits = hits[scores[hits] >= least]
    numbers = snapshot.doc_number[hits]
    order = np.lexsort((numbers, -scores[hits].round(9)))[:top]
    return [(int(numbers[at]), float(scores[hits[at]])) for at in order]


def hybrid(engine: Engine, question: str, top: int) -> Ranking:
    """The `top` engrams by both channels, numbers and scores: what the peers give of theirs."""
    reader = engine.reading
    columns = reader.columns.now()
    mask = masks(columns, reader.properties, SCOPE, Filters())
    found = retrieve(reader, columns, mask.covered, mask.hidden, question, CHANNELS)
    rules = Rules(reader.config, now_ns=reader.now_ns())
    return rank(columns, found, mask.allowed, favourites(reader.properties), rules, top)


def touched(engine: Engine, question: str) -> int:
    """Rows that a question reads: the postings of its terms, and every part's vector."""
    snapshot = engine.reading.index.snapshot()
    postings = sum(len(snapshot.postings(term)[0]) for term in terms_of(engine, question))
    return postings + snapshot.rows


def stages(engine: Engine, question: str, top: int) -> dict[str, float]:
    """Seconds of each stage of `hybrid`, and of the page of `engine.search` that stands on it.

    Each stage is run on its own; what `retrieve` and `rank` need beside the stages named is left
    over as "channels, the rest" and "ranking".
    """
    reader, taken, clock = engine.reading, {}, time.perf_counter
    begin = clock()
    groups = query_terms(question, _languages(engine))
    taken["analysing the question"] = clock() - begin
    begin = clock()
    columns = reader.columns.now()
    mask = masks(columns, reader.properties, SCOPE, Filters())
    liked = favourites(reader.properties)
    taken["scope and filters"] = clock() - begin
    begin = clock()
    snapshot = reader.index.snapshot()
    visible = snapshot.visible(mask.covered)
    for term in dict.fromkeys(term for group in groups for term in group):
        snapshot.postings(term)
    taken["fetching postings"] = clock() - begin
    begin = clock()
    snapshot.lexical(groups, visible)
    taken["BM25"] = max(clock() - begin - taken["fetching postings"], 0.0)
    vector = _given(engine, question)
    begin = clock()
    snapshot.cosines(vector)
    taken["cosines"] = clock() - begin
    begin = clock()
    found = retrieve(reader, columns, mask.covered, mask.hidden, question, CHANNELS)
    named = ("fetching postings", "BM25", "cosines")
    taken["channels, the rest"] = clock() - begin - sum(taken[stage] for stage in named)
    begin = clock()
    rules = Rules(reader.config, now_ns=reader.now_ns())
    rank(columns, found, mask.allowed, liked, rules, top)
    taken["ranking"] = clock() - begin
    whole = sum(taken.values())
    begin = clock()
    engine.search(SCOPE, question)
    taken["a page: rows, passages, snippets"] = clock() - begin - whole
    return taken


def _given(engine: Engine, question: str) -> NDArray[np.float32]:
    embedder = engine.reading.embedder
    if embedder is None:
        raise ValueError("the store is open without its vectors")
    return embedder.embed_query(question)
