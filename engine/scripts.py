"""What the text analysis knows of scripts: their classes, and which spellings are one letter.

Accents of Latin, Greek and Cyrillic, Hebrew points and Arabic vowel signs go; letters that writers
of Arabic, Persian, Urdu, Hindi, Thai and Lao spell in two ways become one of them; every decimal
digit becomes an ASCII one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache

# Blocks of scripts that put no space between words, and Hangul, whose words carry glued particles.
# Only letters and marks of them count, so digits and punctuation inside a block stay what they are.
_UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x0F00, 0x109F),  # Tibetan, Myanmar
    (0x1100, 0x11FF),  # Hangul Jamo
    (0x1780, 0x17FF),  # Khmer
    (0x1950, 0x19DF),  # Tai Le, New Tai Lue
    (0x1A20, 0x1AAF),  # Tai Tham
    (0x1B00, 0x1B7F),  # Balinese
    (0x2E80, 0x2FDF),  # CJK and Kangxi radicals
    (0x3005, 0x3007),  # 々 〆 〇
    (0x3021, 0x30FF),  # Hangzhou numerals, Hiragana, Katakana
    (0x3100, 0x31FF),  # Bopomofo, Hangul Compatibility Jamo, Katakana extensions
    (0xA000, 0xA4CF),  # Yi
    (0xA960, 0xA9FF),  # Hangul Jamo Extended-A, Javanese, Myanmar Extended-B
    (0xAA60, 0xAADF),  # Myanmar Extended-A, Tai Viet
    (0xD7B0, 0xD7FF),  # Hangul Jamo Extended-B
    (0x1AFF0, 0x1B16F),  # Kana extensions
)
_IDEOGRAPHS = (  # and Hangul syllables: whole ranges of letters, each of which can be a word
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xAC00, 0xD7A3),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFD),
)
SYLLABLES = "".join(f"{chr(first)}-{chr(last)}" for first, last in _IDEOGRAPHS)
_LAST_MARK = 0x1EFFF  # marks above it are variation selectors, which the analysis drops

_DIGIT_ZEROES = (
    0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66,
    0x0DE6, 0x0E50, 0x0ED0, 0x0F20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90,
    0x1B50, 0x1BB0, 0x1C40, 0x1C50, 0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0,
)  # fmt: skip
_LETTERS = str.maketrans(
    {
        # a stroke or a ligature is no mark, so that NFD leaves it
        "ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "ı": "i", "æ": "ae",
        "œ": "oe", "þ": "th",
        # Arabic: alef wasla; the yeh and kaf of Persian and Urdu; what looks like a final heh
        "ٱ": "ا", "ى": "ي", "ی": "ي", "ک": "ك", "ة": "ه", "ۃ": "ه", "ہ": "ه", "ە": "ه",
        "٫": ".", "٬": ",",
        # Hindi: the moon over a vowel is written as a dot
        "ँ": "ं",
        **{chr(zero + n): str(n) for zero in _DIGIT_ZEROES for n in range(10)},
    }
)  # fmt: skip
_SPELLED = re.compile("[\u00c0-\u1fff\ua620-\uabff]")  # where something may have to be done
# Accents of Latin, Greek and Cyrillic; Hebrew points; Arabic vowel signs and hamzas on a letter;
# the nukta of Hindi. The breve of й and ў stays: without it they are other letters, and the Russian
# stemmer needs it.
_ACCENT = re.compile(
    "(?<![\u0438\u0443])\u0306|[\u0300-\u0305\u0307-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5"
    "\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u093c]"
)
# Hindi: a nasal before a consonant of its own place is written as a dot over the letter before it.
_NASAL = re.compile("ङ्(?=[क-घ])|ञ्(?=[च-झ])|ण्(?=[ट-ढ])|न्(?=[त-ध])|म्(?=[प-भ])")
# Thai and Lao: the circle of "am" and the tone over it can be typed in either order.
_CIRCLE = re.compile("([\u0e4d\u0ecd])([\u0e48-\u0e4b\u0ec8-\u0ecb])")

_PERSIAN = str.maketrans("يك", "یک")

# (before, after) stemming, by primary language: a stemmer knows letters that `spelled` makes one.
AS_THE_STEMMER_KNOWS: Mapping[str, tuple[Callable[[str], str], Callable[[str], str]]] = {
    "ar": (lambda word: re.sub("ه$", "ة", word), lambda stem: stem.translate(_LETTERS)),
    "fa": (lambda word: word.translate(_PERSIAN), lambda stem: stem.translate(_LETTERS)),
}


def spelled(text: str) -> str:
    """`text`, case-folded and in NFKC, in the one spelling that terms are in."""
    if _SPELLED.search(text) is None:
        return text
    bare = _ACCENT.sub("", unicodedata.normalize("NFD", text)).translate(_LETTERS)
    bare = _CIRCLE.sub(r"\2\1", _NASAL.sub("ं", bare))
    return unicodedata.normalize("NFC", bare)


@cache
def marks() -> str:
    """The inside of a regex class: every combining mark (Mn, Mc, Me) of Unicode."""
    found = [c for c in range(0x300, _LAST_MARK) if unicodedata.category(chr(c))[0] == "M"]
    return _ranges(found)


@cache
def unspaced() -> str:
    """The inside of a regex class: letters and marks of the scripts without spaces."""
    found: list[int] = []
    for first, last in _UNSPACED:
        found += [c for c in range(first, last + 1) if unicodedata.category(chr(c))[0] in "LMN"]
    found = [c for c in found if unicodedata.category(chr(c)) != "Nd"]
    return _ranges(found) + SYLLABLES


def _ranges(codes: list[int]) -> str:
    pieces: list[str] = []
    start = previous = codes[0]
    for code in [*codes[1:], -1]:
        if code == previous + 1:
            previous = code
            continue
        pieces.append(f"{re.escape(chr(start))}-{re.escape(chr(previous))}")
        start = previous = code
    return "".join(pieces)
