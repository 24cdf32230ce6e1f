"""Expressions of time in a question, and the intervals that they mean.

    find("what did we decide last week", now, ["en"])  ->  (Interval(…, text="last week"),)

The words of a question become letters (`engine.time_words`), a few patterns find the expressions in
that line of letters, and the calendar says what they mean. What counts, and what does not:

- a date in digits (2026-04-10, 10.04.2026, 3/5/2026 in the language's order, 2026-W15), a quarter
  or half with its year (Q3 2025);
- the name of a month with a year; the full name of a month or weekday beside a preposition, the
  number of a day, or last, this, next; of "may" and "march" in small letters not the number alone;
- a year beside a preposition of time or the word "year", from 1900 to ten years from now: others
  count things ("port 2048", "room 1999", "2000 users"), and a text that has the number itself is
  found by its words;
- relative phrases: yesterday, last week, 3 days ago, in the last two months;
- since, before, after, until, from … to and between … and around any of these.

Nothing counts that touches a letter, digit or sign of an identifier: 2026.4.10, v2025.1, step-2025.
An interval is half open, as long as its grain, in the time zone of `now`. A month, weekday or day
without a year is the latest that began before now.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from engine import time_words
from engine.calendar_spans import EARLIEST_NS, instant_of, nanoseconds
from engine.slug import nfc
from engine.time_line import Token, line_of, tokens_of
from engine.time_meaning import Meaning, Meanings
from engine.time_words import UNSPACED, Words

ENGLISH = "en"  # is looked at always: agents ask in it whatever their users write
MOST_LANGUAGES = 8  # of a store, the most frequent ones
MOST = 16  # expressions of one question; the first ones
MOST_WORDS = 4_000  # of one question; of a longer one its beginning and its end: the rest is pasted

_HOUR_NS = 3_600_000_000_000
_DIGITS = re.compile(r"[0-9]{4}|[QqTtHh][1-4]")  # of a date that has no word


@dataclass(frozen=True, slots=True)
class Interval:
    """A time from `start_ns` up to `end_ns`, which is outside, and the words that name it.

    `fade_ns`: how far outside nearness ends; 0: as far as the interval is long. An interval that is
    open to the past has the grain of its expression there.
    """

    start_ns: int
    end_ns: int
    text: str
    fade_ns: int = 0

    @property
    def fade(self) -> int:
        """How far outside the interval nearness ends, in nanoseconds."""
        return self.fade_ns or self.end_ns - self.start_ns


_loading = threading.Lock()
_loaded: dict[str, Words | None] = {}


def looked_at(languages: Sequence[str]) -> tuple[str, ...]:
    """Those of a store's languages (primary subtags, most frequent first) that are looked at."""
    return tuple(dict.fromkeys((*languages[:MOST_LANGUAGES], ENGLISH)))


def ready(languages: Sequence[str]) -> bool:
    """Whether the words of these languages are in memory, so that `find` waits for nothing."""
    return all(lang in _loaded for lang in looked_at(languages))


def warm(languages: Sequence[str]) -> None:
    """Read the words of these languages: 0.1 s for the first, some milliseconds for each other."""
    for lang in looked_at(languages):
        if lang not in _loaded:
            with _loading:
                if lang not in _loaded:
                    _loaded[lang] = time_words.load(lang)


def find(question: str, now: datetime, languages: Sequence[str]) -> tuple[Interval, ...]:
    """The times that a question names, in the order of its text; `now` is aware.

    Total over texts. Languages without words are left out, and English is looked at always. Reads
    the words first where they are not (`ready`).
    """
    if now.tzinfo is None:
        raise ValueError("now needs a time zone")
    warm(languages)
    question = nfc(question)
    keys = set(time_words.folded(question))
    digits = _DIGITS.search(question) is not None
    tokens: list[Token] = []
    found: list[_Found] = []
    for rank, lang in enumerate(looked_at(languages)):
        words = _loaded[lang]
        if words is None or (not digits and words.anchors.isdisjoint(keys)):
            continue
        tokens = tokens or _looked_at(question)
        found += _expressions(question, tokens, words, now, rank)
    return tuple(_interval(question, each, now) for each in _apart(found))


def _looked_at(question: str) -> list[Token]:
    tokens = list(tokens_of(question))
    if len(tokens) <= MOST_WORDS:
        return tokens
    behind = tokens[-MOST_WORDS // 2 :]
    behind[0] = behind[0]._replace(gap="|")
    return tokens[: MOST_WORDS // 2] + behind


@dataclass(frozen=True, slots=True)
class _Found:
    """An expression in the question, by which of the languages, and its meaning."""

    start: int
    end: int
    rank: int
    meaning: Meaning


def _apart(found: Sequence[_Found]) -> list[_Found]:
    """The longest where several languages find one, in the order of the text."""
    kept: list[_Found] = []
    for each in sorted(found, key=lambda one: (one.start - one.end, one.rank, one.start)):
        if all(each.end <= other.start or other.end <= each.start for other in kept):
            kept.append(each)
    return sorted(kept, key=lambda one: one.start)[:MOST]


def _interval(question: str, found: _Found, now: datetime) -> Interval:
    zone, meant = now.tzinfo, found.meaning
    assert zone is not None
    text = question[found.start : found.end]
    start, end = (instant_of(day, zone) for day in meant.days)
    at = nanoseconds(now)
    if meant.hours:
        start, end = at - meant.hours * _HOUR_NS, at
    elif meant.to_now:
        end = at
    elif meant.from_now:
        start = at
    length = end - start
    if meant.edge in ("B", "E"):
        return Interval(EARLIEST_NS, start if meant.edge == "B" else end, text, length)
    if meant.edge == "S":
        end = max(at, end)
    elif meant.edge == "A":
        start, end = end, max(at, end + length)
    return Interval(start, end, text)


# -- patterns over the letters ---------------------------------------------------------------

_F = "[fo]{0,2}"
_BY_UNIT = "[LTX]f?U|U[LX]"
_REL = f"(?:[rRJ]|{_BY_UNIT})"
_STRICT = "|".join(
    (
        "D",
        f"(?:W[fp]?)?N{_F}[Mam]{_F}Y",  # 3 May 2026
        f"(?:Wf?)?[Mam]f?N{_F}Y",  # May 3, 2026
        "YUNUNU", "YUNU", "YU",  # 2026年5月3日
        f"{_REL}of?[Mam]{_F}Y?",  # the last week of March
        f"[Mam]{_F}Y",
        f"(?:W[fp]?)?N{_F}M",
        "(?:Wf?)?Mf?N",
        f"W{_F}(?:R|{_BY_UNIT})",  # Monday of last week
        f"[Ma]{_F}(?:J|{_BY_UNIT})",  # April last year
        "[WMa][LX]", "[LX]f?[WMa]", "Tf?[WM]",
        f"[Nn]U{_F}Y",  # third quarter of 2025
        f"Q{_F}Y", "YQ(?!f?Y)",
        "[LX]f?[Nn]o?U", "[Nn][LX]U", "[Nn]U[LX]",  # the last two months
        _REL,
        "Uf?Y",  # the year 2025
    )
)  # fmt: skip
_LOOSE = f"(?:{_STRICT}|(?:Wf?)?N{_F}a|af?N|[Ma]|W|Q|Y)"
_PATTERN = re.compile(
    f"(?P<K>K)f?(?:(?P<k1>{_LOOSE}|N)&f?(?P<k2>{_LOOSE}))"
    f"|(?P<F>[FSo])[fp]?(?P<f1>{_LOOSE}|N)[GgE][fp]?(?P<f2>{_LOOSE})"
    f"|(?P<edge>[SBAE])[fp]?(?P<e>{_LOOSE})"
    f"|(?P<in>[PpFg])[fp]?(?P<i>{_LOOSE})"
    f"|(?P<s>{_STRICT})"
)


def _expressions(
    question: str, tokens: Sequence[Token], words: Words, now: datetime, rank: int
) -> Iterator[_Found]:
    """The expressions of one language, at most MOST."""
    letters, signs = line_of(tokens, words)
    if not _TELLING.search(letters):
        return
    meanings = Meanings(tokens, signs, words, now)
    count = 0
    for match in _PATTERN.finditer(letters):
        inside = [each for each in signs[slice(*match.span())] if each is not None]
        start, end = tokens[inside[0].first].start, tokens[inside[-1].last].end
        if not _alone(question, start, end):
            continue
        meant = meanings.of(match)
        if meant is not None:
            start = max(start, tokens[meant.begins].start)
            yield _Found(start, end, rank, meant)
            count += 1
            if count == MOST:
                return


_TELLING = re.compile("[DYMamWrRJUQ]")
_BEFORE = re.compile(r"[\w.@/\\:$€£#=+~&%*^|<>_-]$")
_AFTER = re.compile(r"[\w@/\\$€£#=+~&%*^|<>°_-]|[.:,]\w")
_UNSPACED = re.compile(f"[{UNSPACED}]")


def _alone(question: str, start: int, end: int) -> bool:
    """Whether a text is no piece of a word, a version, a path or another identifier."""
    before, after = question[start - 1 : start], question[end : end + 2]
    if before and _BEFORE.match(before) and not _unspaced(before, question[start]):
        return False
    return not (_AFTER.match(after) and not _unspaced(after[0], question[end - 1]))


def _unspaced(*characters: str) -> bool:
    return any(_UNSPACED.match(character) for character in characters)
