"""Character classes that `re` has no name for: marks, and scripts written without spaces."""

from __future__ import annotations

import re
import unicodedata
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
_IDEOGRAPHS = (  # whole ranges of letters: not worth asking the database character by character
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xAC00, 0xD7A3),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFD),
)
_LAST_MARK = 0x1EFFF  # marks above it are variation selectors, which the analysis drops


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
    return _ranges(found) + "".join(f"{chr(first)}-{chr(last)}" for first, last in _IDEOGRAPHS)


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
