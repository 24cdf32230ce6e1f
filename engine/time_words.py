"""Words that speak of time, by language: what each can be in a time expression.

Names of months and weekdays and phrases such as "last week" or "3 days ago" are dateparser's, of
two hundred languages; no other room knows dateparser. The small words around them (since, between,
last …) are the table below, of the languages that have one.

Each word or phrase is a sign with a letter, out of which `engine.time_expressions` makes one line:

    M month  m short month  a a month that is a verb as well  W weekday  U unit  R relative phrase
    L last  T this  X next  n number word  f article  o "of"  P "in"  p "on": never before a year
    S since  B before  E until  A after  F from  G to  g both to and in  K between  & and
    . nothing: a phrase that looks like one of time and is none
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from engine.slug import nfc

HOLE = "#"  # stands for a number in a phrase

# One character is a word where scripts set no spaces between words.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_SYLLABLES = "\u0e00"  # from here on one sign of a script can be a word
_WORD = re.compile(rf"[0-9]+|[{UNSPACED}]|[^\W\d_{UNSPACED}]+")

UNITS = ("hour", "day", "week", "month", "quarter", "year")
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_RELATIVE = re.compile(r"(?:in (\d+|\\1) (\w+))|(?:(\d+|\\1) (\w+) ago)")
_A_NUMBER = re.compile(r"\(\\d[^)]*\)")
_FORMS = re.compile(r"(\w*)\(([\w|]+)\)")  # a number word as dateparser writes its inflections
_OTHER_CODES = {"no": "nb", "iw": "he", "in": "id", "ji": "yi"}

_SMALL: Mapping[str, Mapping[str, str]] = {
    "en": {
        "f": "the", "o": "of", "P": "in|during|throughout", "p": "on|within|over", "S": "since",
        "B": "before|prior to", "E": "until|till", "A": "after", "F": "from", "G": "to",
        "K": "between", "&": "and", "L": "last|past|previous", "T": "this|current",
        "X": "next|coming|upcoming", "U quarter": "quarter|quarters", "a 3": "march", "a 5": "may",
        "n 1": "first", "n 2": "second|couple of", "n 3": "third|few", "n 4": "fourth",
        "R 0 day": "this morning|this afternoon|this evening|tonight", "R -1 day": "last night",
    },
    "de": {
        "f": "der|die|das|den|dem|des", "P": "in|im|während", "p": "am|an",
        "S": "seit|seit dem|seit der", "B": "vor|vor dem", "E": "bis|bis zum|bis zur|bis ende",
        "A": "nach|nach dem|nach der", "F": "von|vom", "G": "zum|zur", "K": "zwischen", "&": "und",
        "L": "letzte|letzten|letzter|letztes|letztem|vergangene|vergangenen|vergangener|"
        "vergangenes|vergangenem|vorige|vorigen|voriges|voriger",
        "T": "diese|diesen|dieser|dieses|diesem",
        "X": "nächste|nächsten|nächster|nächstes|nächstem|kommende|kommenden|kommendes|kommender",
        "U quarter": "quartal|quartals|quartale|quartalen", "U day": "tage|tagen",
        "n 1": "erste|ersten|erstes", "n 2": "zweite|zweiten|zweites", "n 3": "dritte|dritten",
        "n 4": "vierte|vierten|viertes",
        "R 0 day": "heute morgen|heute früh|heute abend|heute mittag|heute nachmittag|"
        "heute vormittag|heute nacht",
        "R -1 day": "gestern morgen|gestern früh|gestern abend|gestern nachmittag",
        "R -2 week": "vorletzte woche|vorletzter woche", "R -2 month": "vorletzten monat",
        "R -2 year": "vorletztes jahr", ".": "guten morgen|am morgen|jeden morgen",
    },
    "fr": {
        "f": "le|la|les|l", "o": "de|du|des|d", "P": "en|au|pendant|durant|courant|dans",
        "S": "depuis", "B": "avant", "E": "jusqu à|jusqu en|jusqu au", "A": "après", "G": "à|au",
        "K": "entre", "&": "et", "L": "dernier|dernière|derniers|dernières|passé|"
        "passée|passés|passées", "T": "ce|cet|cette",
        "X": "prochain|prochaine|prochains|prochaines",
        "U quarter": "trimestre|trimestres", "n 1": "premier", "n 2": "deuxième|second",
        "n 3": "troisième", "n 4": "quatrième",
        "R 0 day": "ce matin|ce soir|cet après midi|cette nuit", "R -1 day": "hier soir|hier matin",
    },
    "es": {
        "f": "la|los|las", "o": "de|del", "P": "en|durante", "p": "el", "S": "desde",
        "B": "antes de|antes del", "E": "hasta", "A": "después de|después del|tras", "G": "a|al",
        "K": "entre", "&": "y|e",
        "L": "pasado|pasada|pasados|pasadas|último|última|últimos|últimas",
        "T": "este|esta|estos|estas", "X": "próximo|próxima|próximos|próximas|que viene",
        "U quarter": "trimestre|trimestres", "n 1": "primer|un|una", "n 2": "segundo|dos",
        "n 3": "tercer|tres", "n 4": "cuarto|cuatro", "n 5": "cinco", "n 6": "seis", "n 7": "siete",
        "n 8": "ocho", "n 9": "nueve", "n 10": "diez", "n 12": "doce",
        "R 0 day": "esta mañana|esta tarde|esta noche", "R -1 day": "anoche|ayer por la mañana",
        ".": "la mañana|por la mañana|de la mañana",
    },
    "it": {
        "f": "il|lo|la|i|gli|le|l", "o": "di|del|dello|della|dei|degli|delle|dell", "p": "di",
        "P": "in|nel|nello|nella|nei|negli|nelle|nell|durante", "S": "da|dal|dalla|dallo|dall",
        "B": "prima di|prima del|prima della", "E": "fino a|fino al|fino alla",
        "A": "dopo|dopo il|dopo la", "g": "a|al|ad", "K": "tra|fra",
        "&": "e|ed", "L": "scorso|scorsa|scorsi|scorse|passato|passata|ultimo|ultima|ultimi|ultime",
        "T": "questo|questa|questi|queste", "X": "prossimo|prossima|prossimi|prossime",
        "U quarter": "trimestre|trimestri", "n 1": "primo|un|una", "n 2": "secondo|due",
        "n 3": "terzo|tre", "n 4": "quarto|quattro", "n 5": "cinque", "n 6": "sei", "n 7": "sette",
        "n 8": "otto", "n 9": "nove", "n 10": "dieci", "n 12": "dodici",
        "R 0 day": "stamattina|stamani|stasera|stanotte|questa mattina|questa sera",
        "R -1 day": "ieri sera|ieri mattina",
    },
    "pt": {
        "f": "o|a|os|as", "o": "de|do|da|dos|das", "P": "em|durante", "p": "no|na|nos|nas",
        "S": "desde", "B": "antes de|antes do|antes da", "E": "até", "A": "depois de|após",
        "g": "a|ao", "K": "entre", "&": "e",
        "L": "passado|passada|passados|passadas|último|última|últimos|últimas",
        "T": "este|esta|estes|estas|neste|nesta", "X": "próximo|próxima|próximos|próximas",
        "U quarter": "trimestre|trimestres", "n 1": "primeiro", "n 2": "segundo|dois|duas",
        "n 3": "terceiro|três", "n 4": "quarto|quatro", "n 5": "cinco", "n 6": "seis",
        "n 7": "sete", "n 8": "oito", "n 9": "nove", "n 10": "dez", "n 12": "doze",
        "R 0 day": "esta manhã|esta tarde|esta noite|hoje de manhã", "R -1 day": "ontem à noite",
    },
    "nl": {
        "f": "de|het", "P": "in|tijdens|gedurende", "p": "op", "S": "sinds|vanaf", "B": "voor",
        "E": "tot|tot en met", "A": "na", "o": "van", "K": "tussen", "&": "en",
        "L": "vorig|vorige|afgelopen|laatste", "T": "deze|dit",
        "X": "volgend|volgende|komend|komende", "U quarter": "kwartaal|kwartalen",
        "n 1": "een|één|eerste", "n 2": "twee|tweede", "n 3": "drie|derde", "n 4": "vier|vierde",
        "n 5": "vijf", "n 6": "zes", "n 7": "zeven", "n 8": "acht", "n 9": "negen", "n 10": "tien",
        "n 12": "twaalf", "R 0 day": "vanmorgen|vanochtend|vanmiddag|vanavond|vannacht",
        "R -1 day": "gisteravond|gisterochtend",
    },
    "ru": {
        "P": "в|во|за|на", "S": "с|со", "B": "до|перед", "A": "после", "K": "между", "&": "и",
        "L": "прошлый|прошлую|прошлое|прошлой|прошлом|прошлого|последний|последнюю|последние|"
        "последних", "T": "этот|эту|этой|этом|это",
        "X": "следующий|следующую|следующее|следующей|следующем|ближайшие",
        "M 1": "январе", "M 2": "феврале", "M 3": "марте", "M 4": "апреле", "M 5": "мае",
        "M 6": "июне", "M 7": "июле", "M 8": "августе", "M 9": "сентябре", "M 10": "октябре",
        "M 11": "ноябре", "M 12": "декабре", "U quarter": "квартал|квартале|квартала",
    },
}  # fmt: skip

_NO_ORDINAL_POINT = frozenset(_SMALL) - {"de", "ru"}  # where "3. May" ends a sentence


class Sign(NamedTuple):
    """What a word can be: its letter, a number (of the month, the weekday from Monday 0, the
    number word, the amount of a phrase) and a unit. `hole`: the amount stands in the phrase."""

    letter: str
    value: int = 0
    unit: str = ""
    hole: bool = False


Phrase = tuple[tuple[str, ...], Sign]  # folded words, and what they are


@dataclass(frozen=True, slots=True)
class Words:
    """The words of one language. `phrases`: by their first word, the longest first; those that
    begin with a number by "# " and their second word.

    `anchors` are words of which every time expression without a year or a numeric date holds one.
    """

    lang: str
    phrases: Mapping[str, Sequence[Phrase]]
    anchors: frozenset[str]
    numbers: Mapping[str, int]
    day_first: bool = True
    point: bool = True  # "3." is the third
    quarters: frozenset[str] = field(default=frozenset("q"))  # the letter in "Q3"


def folded(text: str) -> tuple[str, ...]:
    """The words of a text, as they are compared."""
    return tuple(_WORD.findall(nfc(text).casefold()))


def load(lang: str) -> Words | None:
    """The words of a language (a primary subtag); None where dateparser has none.

    It reads a module and takes 5 to 15 ms, the first time with dateparser's own import 60 ms more.
    """
    code = _OTHER_CODES.get(lang, lang)
    name = f"dateparser.data.date_translation_data.{code}"
    if not re.fullmatch("[a-z]{2,3}", code) or find_spec(name) is None:
        return None
    info: Mapping[str, Any] = import_module(name).info
    found: dict[tuple[str, ...], Sign] = {}
    numbers = _numbers(info)
    small = list(_small(_SMALL.get(code, {})))
    for keys, sign in small:
        if sign.letter == "n" and len(keys) == 1:
            numbers.setdefault(keys[0], sign.value)
    for keys, sign in (*_units(info), *_names(info), *_relatives(info), *small):
        found[keys] = sign  # later ones count
    order = str(info.get("date_order", "DMY"))
    by_first: dict[str, list[Phrase]] = {}
    for keys, sign in found.items():
        first = keys[0] if keys[0] != HOLE else f"{HOLE} {keys[1]}"
        by_first.setdefault(first, []).append((keys, sign))
    for phrases in by_first.values():
        phrases.sort(key=lambda phrase: -len(phrase[0]))
    return Words(
        lang,
        by_first,
        frozenset(_anchor(keys) for keys, sign in found.items() if sign.letter in "MmaWRU"),
        numbers,
        day_first=order.find("D") < order.find("M"),
        point=code not in _NO_ORDINAL_POINT,
        quarters=frozenset("qt" if code in ("fr", "es", "it", "pt") else "q"),
    )


def _anchor(keys: tuple[str, ...]) -> str:
    return max(reversed([key for key in keys if key != HOLE]), key=len)


def _small(table: Mapping[str, str]) -> Iterator[Phrase]:
    for what, texts in table.items():
        letter, *rest = what.split()
        unit = rest.pop() if rest and rest[-1] in UNITS else ""
        value = int(rest[0]) if rest else {"L": -1, "X": 1}.get(letter, 0)
        for text in texts.split("|"):
            yield folded(text), Sign(letter, value, unit)


def _units(info: Mapping[str, Any]) -> Iterator[Phrase]:
    for unit in UNITS:
        for name in info.get(unit, ()):
            if _tells(keys := folded(name)):
                yield keys, Sign("U", unit=unit)


def _names(info: Mapping[str, Any]) -> Iterator[Phrase]:
    """Months and weekdays; of weekdays the full names only ("so", "die", "sun" are words too)."""
    for letter, names in (("W", _WEEKDAYS), ("M", _MONTHS)):
        for number, english in enumerate(names, 0 if letter == "W" else 1):
            every = list(dict.fromkeys(nfc(name).casefold() for name in info.get(english, ())))
            for name in every:
                keys = folded(name)
                if not _tells(keys) or any(key.isdigit() for key in keys):
                    continue
                if letter == "W" and len("".join(keys)) == 1:
                    continue  # 月 is a month
                if not _is_short(name, every):
                    yield keys, Sign(letter, number)
                elif letter == "M":
                    yield keys, Sign("m", number)


def _is_short(name: str, every: Sequence[str]) -> bool:
    """Whether one of several names is an abbreviation, not an inflection, of another."""
    longest = max(map(len, every))
    begun = any(other.startswith(name) and len(other) > len(name) + 1 for other in every)
    return begun or (len(name) <= 3 < longest) or len(name) < 0.6 * longest


def _relatives(info: Mapping[str, Any]) -> Iterator[Phrase]:
    """ "last week", "3 days ago": what is ahead in hours is a duration more often than a time."""
    units = {
        unit: frozenset(folded(name)[0] for name in info.get(unit, ()) if len(folded(name)) == 1)
        for unit in UNITS
    }
    for meaning, texts in (
        *info.get("relative-type", {}).items(),
        *info.get("relative-type-regex", {}).items(),
    ):
        found = _RELATIVE.fullmatch(meaning)
        if found is None:
            continue
        ahead, ahead_unit, ago, ago_unit = found.groups()
        amount, unit = (ahead, ahead_unit) if ahead else (ago, ago_unit)
        hole = amount == "\\1"
        unit = "hour" if unit in ("minute", "second") else unit
        if unit not in UNITS or (unit == "hour" and (ahead or not hole)):
            continue  # "now" says nothing
        value = (1 if ahead else -1) * (1 if hole else int(amount))
        for text in texts:
            written = _A_NUMBER.sub(f" {HOLE} ", text).replace("\\s*", " ")
            keys = tuple(
                key
                for word in written.split()
                for key in ((HOLE,) if word == HOLE else folded(word))
            )
            plain = not re.search(r"[\\?*+(|\[]", written) and (HOLE in keys) == hole
            if not plain:
                continue
            for each in _inflected(keys, units[unit]) if hole else (keys,):
                if _tells(each):
                    yield each, Sign("R", value, unit, hole)


def _inflected(keys: tuple[str, ...], names: frozenset[str]) -> Iterator[tuple[str, ...]]:
    """A phrase with each of the names of its unit; the tables have some forms only."""
    yield keys
    for at, key in enumerate(keys):
        if key in names:
            for name in names:
                yield (*keys[:at], name, *keys[at + 1 :])


def _tells(keys: tuple[str, ...]) -> bool:
    """Whether a phrase is more than letters and a number: "in 5 m" may be anything."""
    words = [key for key in keys if key != HOLE]
    whole = [len(word) > 1 or word > _SYLLABLES for word in words]
    return whole[-1:] == [True] and len(words) >= 2 if HOLE in keys else any(whole)


def _numbers(info: Mapping[str, Any]) -> dict[str, int]:
    """Number words of a language, those that dateparser writes as one word or as its forms."""
    numbers: dict[str, int] = {}
    for change in info.get("simplifications", ()):
        for written, meant in change.items():
            if not re.fullmatch(r"\d{1,2}", meant):
                continue
            forms = _FORMS.fullmatch(written)
            if forms is not None:
                numbers |= {forms[1] + end: int(meant) for end in forms[2].split("|")}
            elif re.fullmatch(r"[^\W\d]+", written):
                numbers[nfc(written).casefold()] = int(meant)
    return numbers
