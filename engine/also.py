"""What a text is found by besides its words in order: terms that no phrase is made of.

The humps of camelCase, a hyphenated or dotted word in one (`Wi-Fi`: wifi), number and unit of
`10km`, and each ideograph and Hangul syllable alone (`茶` in 紅茶, `물` in 물을). The words of a
question have the second and third of these too, so that either variant finds the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain

from engine.scripts import SYLLABLES
from engine.text import LONGEST_TERM, fold, terms_of, tokens

Run = tuple[str, ...]  # terms in order: a phrase may stand within one, never across two

_HUMP = re.compile("[a-z0-9][A-Z]|[A-Z][A-Z][a-z]{3}")  # not in RNAs, DNAse, mRNA's plural
_NAME = re.compile("[A-Za-z0-9]+")
_HUMPS = re.compile("[A-Z]+(?=[A-Z][a-z]{3})|[A-Z]?[a-z]+|[A-Z]+")
_LONGEST_NAME = 64  # characters; longer ones are data (base64), not names
_JOINED = re.compile(r"[^\W\d_][^\W_]*(?:-[^\W_]+){1,2}|[^\W\d_]+\.[^\W\d_]+")
_JOINT = re.compile("[-.]")
_MEASURE = re.compile(r"([0-9]+(?:\.[0-9]+)?)([^\W\d_]{2,})")
_EASTERN = re.compile("[\u1100-\u11ff\u2e80-\U0003fffd]")  # where a syllable can come from
_SYLLABLE = re.compile(f"[{SYLLABLES}]")


def runs(texts: Iterable[str], lang: str) -> tuple[Run, ...]:
    """The terms of each text in order, and in a last run what they are found by besides.

    Texts without a term are left out, and so is what stands in one of them anyway.
    """
    expand = terms_of(lang)
    found: list[Run] = []
    besides: dict[str, None] = {}
    for text in texts:
        words = tokens(text)
        if words:
            found.append(tuple(chain.from_iterable(map(expand.__getitem__, words))))
        others = [*humps(text), *syllables(text)]
        odd = dict.fromkeys(word for word in words if not word.isalpha())
        others += chain.from_iterable(map(variants, odd))
        besides |= dict.fromkeys(chain.from_iterable(map(expand.__getitem__, others)))
    if besides:
        known = set(chain.from_iterable(found))
        found.append(tuple(term for term in besides if term not in known))
    return tuple(run for run in found if run)


def variants(word: str) -> tuple[str, ...]:
    """Words that a word, as `tokens` gives it, is written as too."""
    if word.isalpha() or len(word) > LONGEST_TERM:
        return ()
    if measure := _MEASURE.fullmatch(word):
        return measure.group(1, 2)
    return (_JOINT.sub("", word),) if _JOINED.fullmatch(word) else ()


def humps(text: str) -> list[str]:
    """get, user, by, id of getUserById; two letters at least, so that mRNA and iPhone have none."""
    if _HUMP.search(text) is None:
        return []
    found: list[str] = []
    for name in _NAME.findall(text):
        # islower and istitle only spare most words the search
        if name.islower() or name.istitle() or len(name) > _LONGEST_NAME:
            continue
        if _HUMP.search(name):
            pieces = [piece.lower() for piece in _HUMPS.findall(name) if len(piece) > 1]
            found += pieces if len(pieces) > 1 else []
    return found


def syllables(text: str) -> list[str]:
    """Each ideograph and Hangul syllable once."""
    if text.isascii() or _EASTERN.search(text) is None:
        return []
    return list(dict.fromkeys(_SYLLABLE.findall(fold(text))))
