"""A question as a line of letters: one for each word that can speak of time, "." for the others.

`engine.time_words` says which letter. "|" stands where punctuation parts two words; D is a date in
digits, Y a number of four digits, N another number, Q a quarter or half.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from engine.time_words import HOLE, UNSPACED, Sign, Words

_CLOCK = r"(?:[Tt ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?:[Zz]|[-+][0-9]{2}:?[0-9]{2})?)?"
_TOKEN = re.compile(
    rf"""
    (?P<iso>[0-9]{{4}}-[0-9]{{1,2}}-[0-9]{{1,2}}{_CLOCK} | [0-9]{{4}}/[0-9]{{1,2}}/[0-9]{{1,2}}
        | [0-9]{{4}}-[0-9]{{2}}(?![0-9]))
    | (?P<local>[0-9]{{1,2}}(?P<between>[./-])[0-9]{{1,2}}(?P=between)[0-9]{{4}}(?![0-9]))
    | (?P<week>[0-9]{{4}}-?[Ww][0-9]{{2}}(?![0-9]))
    | (?P<quarter>[QqTtHh][1-4](?!\w))
    | (?P<number>[0-9]+)(?:(?:st|nd|rd|th|er|ère|e|º|ª)(?!\w))?
    | (?P<word>[{UNSPACED}] | [^\W\d_{UNSPACED}]+)
    """,
    re.VERBOSE,
)
_JOINED = re.compile(r",?[ \t\r\n\u00a0\u202f]{1,8}|[-'’,]?")
_POINT = re.compile(r"\.[ \t\r\n\u00a0]{0,8}")


class Token(NamedTuple):
    """A word, a number or a date in digits, and where it stands."""

    what: str  # which group of _TOKEN
    text: str
    key: str  # folded
    start: int
    end: int
    gap: str  # before it: " " joins, "." is a point, "|" parts


def tokens_of(question: str) -> Iterator[Token]:
    """The words, numbers and written dates of a text in NFC."""
    before = 0
    for match in _TOKEN.finditer(question):
        between = question[before : match.start()] if match.start() - before < 16 else "|"
        gap = " " if _JOINED.fullmatch(between) else "." if _POINT.fullmatch(between) else "|"
        before = match.end()
        what = match.lastgroup or ""
        what = "local" if what == "between" else what
        text = match[what]
        yield Token(what, text, text.casefold(), match.start(), before, gap)


class Placed(NamedTuple):
    """A sign and the tokens that it stands for."""

    sign: Sign
    first: int
    last: int


def line_of(tokens: Sequence[Token], words: Words) -> tuple[str, list[Placed | None]]:
    """The letters of a question, and what is behind each of them."""
    letters: list[str] = []
    signs: list[Placed | None] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.gap == "|" or (token.gap == "." and not _points(letters, token, words)):
            letters.append("|")
            signs.append(None)
        length, sign = _sign(tokens, at, words)
        letters.append(_letter(sign))
        signs.append(Placed(sign, at, at + length - 1))
        at += length
    return "".join(letters), signs


def _letter(sign: Sign) -> str:
    """A relative phrase is R for a week, J for a year, r for anything else: weekdays stand in weeks
    and months in years."""
    return {"week": "R", "year": "J"}.get(sign.unit, "r") if sign.letter == "R" else sign.letter


def _points(letters: Sequence[str], token: Token, words: Words) -> bool:
    """Whether a point belongs to what is before it: Sept. 2025, am 3. Mai."""
    before = letters[-1] if letters else ""
    return before == "m" or (before == "N" and words.point and token.what == "word")


def _sign(tokens: Sequence[Token], at: int, words: Words) -> tuple[int, Sign]:
    """How many tokens from here on are one sign, and which."""
    token = tokens[at]
    if token.what in ("iso", "local", "week"):
        return 1, Sign("D")
    if token.what == "quarter":
        letter = token.key[0]
        unit = "half" if letter == "h" and token.key[1] in "12" else "quarter"
        known = unit == "half" or letter in words.quarters
        return 1, Sign("Q" if known else ".", int(token.key[1]), unit)
    amount = _amount(token, words)
    if amount is not None and at + 1 < len(tokens):
        phrase = _phrase(tokens, at, words, f"{HOLE} {tokens[at + 1].key}")
        if phrase is not None:
            return phrase
    phrase = _phrase(tokens, at, words, token.key)
    if phrase is not None:
        sign = phrase[1]
        upper = token.text[0].isupper()
        return (phrase[0], Sign("M", sign.value)) if sign.letter == "a" and upper else phrase
    if amount is None:
        return 1, Sign(".")
    if token.what == "word":
        return 1, Sign("n", amount)
    return 1, Sign("Y" if len(token.text) == 4 else "N", amount)


def _amount(token: Token, words: Words) -> int | None:
    if token.what == "number":
        return int(token.text) if len(token.text) <= 4 else None
    return words.numbers.get(token.key)


def _phrase(tokens: Sequence[Token], at: int, words: Words, first: str) -> tuple[int, Sign] | None:
    for keys, sign in words.phrases.get(first, ()):
        amount: int | None = None
        for offset, key in enumerate(keys):
            if at + offset >= len(tokens):
                break
            token = tokens[at + offset]
            if offset and token.gap != " ":
                break
            if key == HOLE:
                amount = _amount(token, words)
                if amount is None:
                    break
            elif key != token.key:
                break
        else:
            if sign.hole and amount is not None:
                sign = Sign("R", sign.value * amount, sign.unit)
            return len(keys), sign
    return None
