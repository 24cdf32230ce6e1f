"""Which engrams a prompt touches on: by words alone, a few of them, often none.

    found = match(reader, scope, request, path_of=path_of)

An engram is judged by its name: slug, title, aliases and summary. Those that share two words with
the prompt and reach the floor are given, in order of

    raw * (1 + 0.15 u)    raw = sum over shared words of 1 + ln(N / (1 + df)), / sqrt(words of it)

N and df count heads in scope, u is how much the engram is used (engine.demand). A word has three
characters at least, or is a pair of a script without spaces, and is no stop word. The rule is that
of Seamless. The index names the candidates, by all that stands in their heads; only those are read.
Raises Invalid when the request's namespace contradicts the scope.

Measured at 100,000 engrams: a third of the time of a lexical search of the same twelve words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain

import numpy as np

from engine.also import runs
from engine.columns import Columns
from engine.fusion import ROUNDING, Floats, fitted
from engine.languages import DEFAULT_LANG, lang_of
from engine.masks import Masks, masks
from engine.match_forms import Match, Total, render
from engine.match_request import MatchRequest
from engine.model import Degraded, Entry
from engine.namespace import Scope, bind
from engine.query import Group, telling_words
from engine.reader import Reader, Row
from engine.recall.lines import headed
from engine.scripts import unspaced
from engine.stop_words import stop_words
from engine.text import analyse, terms_of

LEAST_CHARACTERS = 3

Word = tuple[str, Group]  # as it is spelled, and its term in each language


@dataclass(frozen=True, slots=True)
class Matches:
    """The best of `total` engrams that a prompt touches on, and the answer's bytes."""

    items: tuple[Match, ...]
    total: Total
    degraded: tuple[Degraded, ...]
    rendered: bytes


def match(
    reader: Reader,
    scope: Scope,
    request: MatchRequest,
    *,
    path_of: Callable[[Entry], str | None],
    session: str = "",
) -> Matches:
    """The matches of a request under a scope; `session` is who asks, for demand."""
    config = reader.config
    scope = bind(scope, request.namespace)
    columns = reader.columns.now()
    mask = masks(columns, reader.properties, scope, request.filters)
    words = _counting(telling_words(request.prompt, reader.languages(mask.covered)))
    candidates, worth = _candidates(reader, columns, mask, words)
    used = fitted(reader.utility(scope, len(columns)), len(columns))
    found: list[tuple[float, Match]] = []
    looked = 0
    # Of heads that the index takes for likely some have the words in properties alone: read more.
    while looked < min(len(candidates), config.match_read) and len(found) < request.limit:
        some = candidates[looked : looked + config.match_candidates]
        looked += len(some)
        rows = reader.hydrate([columns.entry(no) for no in some])
        for entry in map(columns.entry, some):
            row = rows.get(entry.no)
            if row is None:  # gone meanwhile, or damaged, which `degraded` tells
                continue
            shared, raw = _judged(reader, entry, row, words, worth)
            if _different(shared) < config.match_words or raw < config.match_score:
                continue
            order = round(raw * (1.0 + config.match_utility * float(used[entry.no])), ROUNDING)
            title, path = headed(row.title), path_of(entry)
            found.append((order, Match(entry, path, title, row.summary, tuple(shared), raw)))
    found.sort(key=lambda one: (-one[0], -one[1].entry.updated_ns, one[1].entry.id))
    items = tuple(one for _, one in found[: request.limit])
    reader.note(scope, "prompt", [item.entry for item in items], session)
    total = Total(len(found), looked < len(candidates))
    degraded = reader.unreadable(scope)
    return Matches(items, total, degraded, render(request, items, total, degraded, config))


def _candidates(
    reader: Reader, columns: Columns, mask: Masks, words: Sequence[Word]
) -> tuple[list[int], dict[str, float]]:
    """The engrams, by number, whose heads may share enough, the likeliest first, and what each word
    is worth. Those are left out that could not reach the floor if they had nothing else.

    The length that the index knows counts each word of a head, and its property values: it decides
    which are read, not how they are judged.
    """
    config = reader.config
    snapshot = reader.index.snapshot()
    owners = snapshot.doc_engram
    engrams = max(len(columns), int(owners.max(initial=-1)) + 1)
    heads = snapshot.visible(fitted(mask.covered, engrams)) & (snapshot.doc_position == 0)
    held = snapshot.postings_of(term for _, group in words for term in group)
    total = int(np.count_nonzero(heads))
    score: Floats = np.zeros(snapshot.rows, np.float64)
    shared = np.zeros(snapshot.rows, np.int32)
    worth: dict[str, float] = {}
    for word, group in words:
        rows = [found[heads[found]] for found, _ in (held[term] for term in group)]
        having = rows[0] if len(rows) == 1 else np.unique(np.concatenate(rows))
        worth[word] = 1.0 + math.log(total / (1 + len(having))) if total else 0.0
        score[having] += worth[word]
        shared[having] += 1
    allowed = fitted(mask.allowed, engrams)
    most = np.round(score / math.sqrt(max(config.match_words, 1)), ROUNDING)
    near = np.flatnonzero((shared >= config.match_words) & (most >= config.match_score))
    near = near[allowed[owners[near]]]
    likely = np.round(score[near] / np.sqrt(np.maximum(snapshot.doc_length[near], 1)), ROUNDING)
    updated = fitted(columns.updated_ns, engrams)[owners[near]]
    return owners[near[np.lexsort((owners[near], -updated, -likely))]].tolist(), worth


def _judged(
    reader: Reader, entry: Entry, row: Row, words: Sequence[Word], worth: dict[str, float]
) -> tuple[list[str], float]:
    """(the words that an engram shares with the prompt, the raw score)."""
    lang = lang_of(row.properties, entry.kind, reader.catalogue) or DEFAULT_LANG
    aliases = row.properties.get("aliases")
    also = [str(alias) for alias in aliases] if isinstance(aliases, list) else []
    texts = (entry.slug, row.title, row.summary, *also)
    held = set(chain.from_iterable(runs(texts, lang)))
    shared: list[tuple[int, str]] = []
    told: set[str] = set()
    for at, (word, group) in enumerate(words):
        terms = held.intersection(group)
        if not terms <= told:  # else it is one that is there already, stemmed in another language
            shared.append((at, word))
            told |= terms
    raw = sum(worth[word] for _, word in shared)
    length = sum(map(_counts, set(analyse("\n".join(texts), lang)) - _stop_terms(lang)))
    return _joined(shared), round(raw / math.sqrt(max(length, len(shared), 1)), ROUNDING)


def _counting(words: Sequence[Word]) -> list[Word]:
    """The words that are long enough to say something; of those with the same stem the first."""
    found: dict[Group, str] = {}
    for word, group in words:
        if _counts(word):
            found.setdefault(group, word)
    return [(word, group) for group, word in found.items()]


def _counts(word: str) -> bool:
    return len(word) >= LEAST_CHARACTERS or _is_pair(word)


@cache
def _stop_terms(lang: str) -> frozenset[str]:
    """What stop words are in the index."""
    return frozenset(chain.from_iterable(map(terms_of(lang).__getitem__, stop_words(lang))))


def _joined(shared: Sequence[tuple[int, str]]) -> list[str]:
    """Words by their place in the prompt; pairs that follow each other there as the run that they
    come from."""
    found: list[str] = []
    before = -1
    for at, word in shared:
        follows = found and at == before + 1 and found[-1][-1] == word[0]
        if follows and _is_pair(word) and _is_run(found[-1]):
            found[-1] += word[1]
        else:
            found.append(word)
        before = at
    return found


def _different(shared: Sequence[str]) -> int:
    """How many words those are, where every second character of a run may begin another.

    A word with signs (`gpt-4`) counts as its pieces where one of them is there too.
    """
    count = 0
    for word in shared:
        if _is_run(word):
            count += len(word) // 2
        elif word.isalnum() or not any(other in word for other in shared if other != word):
            count += 1
    return count


def _is_pair(word: str) -> bool:
    return len(word) == 2 and _is_run(word)


def _is_run(word: str) -> bool:
    """Of a script without spaces?"""
    return not word.isascii() and _run().fullmatch(word) is not None


@cache
def _run() -> re.Pattern[str]:
    return re.compile(f"[{unspaced()}]+")
