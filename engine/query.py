"""A question as terms: groups of alternatives for scoring, and the operators of exact search."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engine.also import variants
from engine.stop_words import stop_words
from engine.text import terms_of, tokens

MOST_LANGUAGES = 3  # a word is stemmed in so many languages at most

# One position of the question: the term in each language, without repeats. The best one counts.
Group = tuple[str, ...]
# What must stand side by side: in each language the terms in order, without repeats.
Phrase = tuple[tuple[str, ...], ...]

_QUOTES = re.compile("[\u201c\u201d\u201e\u201f\u00ab\u00bb\uff02]")
_CLAUSE = re.compile(
    r"""(?P<minus>(?<!\S)-(?=[\w"]))?(?P<title>\btitle:(?=[^\s]))?"""
    r"""(?:"(?P<quoted>[^"]*)"|(?P<plain>[^\s"]+))""",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Query:
    """What `.search` and `.find_exact` understand.

    `groups` are scored; the words of `phrases` and `titles` are among them. Each of `phrases` must
    stand in the text and each of `titles` in the title; none of `excluded` may stand in the text
    and none of `excluded_titles` in the title. A single word is a phrase too, because one word can
    be several terms (foo.bar, or a run of ideographs). `holds` tests one. `free` are the words
    outside quotes and operators, each in its folded spelling before it is stemmed, and its group.
    """

    groups: tuple[Group, ...] = ()
    phrases: tuple[Phrase, ...] = ()
    excluded: tuple[Phrase, ...] = ()
    titles: tuple[Phrase, ...] = ()
    excluded_titles: tuple[Phrase, ...] = ()
    free: tuple[tuple[str, Group], ...] = ()


def query_terms(question: str, langs: Sequence[str]) -> tuple[Group, ...]:
    """The distinct terms of a question, each with its stem in every one of `langs` (three at most).

    The same analysis as a document's. Stop words are dropped while another word remains. A question
    of nothing but punctuation has no groups.
    """
    return _groups(_telling(tokens(question), langs), langs)


def telling_words(text: str, langs: Sequence[str]) -> tuple[tuple[str, Group], ...]:
    """The distinct words of a plain text without its stop words, as `Query.free` has them."""
    return _spelled(_telling(tokens(text), langs, others=True), langs)


def parse_query(question: str, langs: Sequence[str]) -> Query:
    """Read `"phrase"`, `-word`, `title:word`; a quotation mark without its partner is a blank."""
    text = _QUOTES.sub('"', question)
    if text.count('"') % 2:
        start, _, end = text.rpartition('"')
        text = f"{start} {end}"
    free: list[str] = []  # words outside quotes: stop words may go
    kept: list[str] = []
    found: dict[str, list[Phrase]] = {"text": [], "title": [], "-text": [], "-title": []}
    for clause in _CLAUSE.finditer(text):
        quoted = clause["quoted"]
        words = tokens(clause["plain"] if quoted is None else quoted)
        where = f"{clause['minus'] or ''}{'title' if clause['title'] else 'text'}"
        if where == "text" and quoted is None:
            free += words
            continue
        if words:
            found[where].append(_phrase(words, langs))
        if not clause["minus"]:
            kept += words
    telling = _telling(free, langs, others=bool(kept))
    return Query(
        groups=_groups([*telling, *kept], langs),
        phrases=tuple(found["text"]),
        excluded=tuple(found["-text"]),
        titles=tuple(found["title"]),
        excluded_titles=tuple(found["-title"]),
        free=_spelled(telling, langs),
    )


def holds(terms: str, phrase: Phrase) -> bool:
    """True if the phrase stands in `terms`: those of a text joined by blanks, its runs by tabs."""
    padded = f" {terms} ".replace("\t", " \t ")
    return any(f" {' '.join(written)} " in padded for written in phrase)


def _telling(words: list[str], langs: Sequence[str], others: bool = False) -> list[str]:
    """The words that are no stop words; all of them if none would remain."""
    stops = frozenset[str]().union(*(stop_words(lang) for lang in _languages(langs)))
    plain = terms_of("")  # no language: what a word is made of, unstemmed
    telling = [word for word in words if not stops.issuperset(plain[word])]
    return telling if telling or others else words


def _groups(words: Iterable[str], langs: Sequence[str]) -> tuple[Group, ...]:
    return tuple(dict.fromkeys(group for _, group in _spelled(words, langs)))


def _spelled(words: Iterable[str], langs: Sequence[str]) -> tuple[tuple[str, Group], ...]:
    """The distinct pieces of words, unstemmed, each with its term in every language.

    A variant of a word stands in for its first piece: it counts instead of that, never beside it.
    """
    spelled: dict[tuple[str, Group], None] = {}
    languages = _languages(langs)
    for word in words:
        others = [term for w in variants(word) for lang in languages for term in terms_of(lang)[w]]
        forms = (terms_of(lang)[word] for lang in ("", *languages))
        for plain, *alternatives in zip(*forms, strict=True):
            spelled[plain, tuple(dict.fromkeys((*alternatives, *others)))] = None
            others = []
    return tuple(spelled)


def _phrase(words: list[str], langs: Sequence[str]) -> Phrase:
    written = (
        tuple(term for word in words for term in terms_of(lang)[word]) for lang in _languages(langs)
    )
    return tuple(dict.fromkeys(written))


def _languages(langs: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(langs))[:MOST_LANGUAGES] or ("en",)
