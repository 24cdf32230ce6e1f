"""What the signs of one time expression mean: the days of it, as seen from now."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from engine.calendar_spans import FIRST_YEAR, LAST_YEAR, Span, shifted, span_of
from engine.time_line import Placed, Token
from engine.time_words import Sign, Words

_YEARS_AHEAD = 10  # a number further ahead counts something else, if no month stands beside it
_FIRST_BARE_YEAR = 1900
_DIGITS = re.compile("[0-9]+")
_MEASURED = re.compile(
    "ms|s|min|h|[kmgt]i?b|b|px|rpm|[kmg]?hz|[km]?wh?|m?[va]|[nmck]?m|k?g|t|m?l|bar|psi|pa|[cfk]|"
    "(?:bit|byte|row|step|request|user|time|item|line|token|word|euro|dollar)s?|eur|usd|people|"
    "percent"
)  # what numbers count that are no years


@dataclass(frozen=True, slots=True)
class Meaning:
    """Days, or what they bound: `edge` is S since, B before, A after, E until.

    `to_now`: only from the first of the days to now; `from_now`: from now to the last of them;
    `hours`: the last so many instead. `begins`: the token before which nothing has a part in it.
    """

    days: Span
    edge: str = ""
    to_now: bool = False
    from_now: bool = False
    hours: int = 0
    begins: int = 0


@dataclass(frozen=True, slots=True)
class _Said:
    """The signs of one expression by their letters, and in their order."""

    by: dict[str, Sign]
    order: tuple[Placed, ...]
    letters: str

    @property
    def way(self) -> int | None:
        """-1 last, 0 this, 1 next; None where none of them is said."""
        sign = self.by.get("L") or self.by.get("T") or self.by.get("X")
        return sign.value if sign is not None else None

    @property
    def unit(self) -> str:
        sign = self.by.get("U")
        return sign.unit if sign is not None else ""

    def value(self, *letters: str) -> int | None:
        """Of the first of these letters that is there."""
        return next((self.by[letter].value for letter in letters if letter in self.by), None)


class Meanings:
    """The meanings of the expressions in one line (`engine.time_line`), seen from `now`."""

    def __init__(
        self, tokens: Sequence[Token], signs: Sequence[Placed | None], words: Words, now: datetime
    ) -> None:
        self._tokens = tokens
        self._signs = signs
        self._words = words
        self._now = now
        self._today = now.date()

    def of(self, match: re.Match[str]) -> Meaning | None:
        """What a match of the pattern of expressions means; None where it means nothing."""
        try:
            meant = self._range(match) if match["K"] or match["F"] else self._single(match)
        except (ValueError, OverflowError):  # there is no such day
            return None
        first, after = meant.days if meant is not None else (date.min, date.min)
        inside = first.year >= FIRST_YEAR and after <= date(LAST_YEAR + 1, 1, 1)
        return meant if inside else None

    def _single(self, match: re.Match[str]) -> Meaning | None:
        name = next(name for name in ("e", "i", "s") if match[name])
        said = self._said(*match.span(name))
        if match["in"] == "p" and said.letters == "Y":
            return None  # "on 2025 machines"
        meant = self._meant(said)
        if meant is None or not match["edge"]:
            return meant
        return replace(meant, edge=match["edge"])

    def _range(self, match: re.Match[str]) -> Meaning | None:
        one, two = ("k1", "k2") if match["K"] else ("f1", "f2")
        first, second = self._said(*match.span(one)), self._said(*match.span(two))
        until = self._meant(second)
        told = second.by.keys() & {"Y", "D", "R"}  # which year it is in
        borrowed = "Y" in second.by and not first.by.keys() & {"Y", "D", "R"}
        if borrowed:
            first.by["Y"] = second.by["Y"]
        if first.by.keys() <= {"N", "Y"} and (month := second.value("M")) is not None:
            first.by["M"] = Sign("M", month)
        since = self._meant(first)
        if until is None or since is None:
            return None
        begin, end = since.days[0], until.days[1]
        if end <= begin and borrowed:  # from November to February 2026
            begin = shifted("year", begin, -1)
        elif end <= begin and not told:  # from November to February; from Friday to Monday
            end = shifted("week" if "W" in second.by else "year", end, 1)
        return Meaning((begin, end)) if begin < end else None

    def _said(self, start: int, end: int) -> _Said:
        order = tuple(placed for placed in self._signs[start:end] if placed is not None)
        by: dict[str, Sign] = {}
        for placed in order:
            letter = placed.sign.letter
            by.setdefault("M" if letter in "am" else "N" if letter == "n" else letter, placed.sign)
        return _Said(by, order, "".join(placed.sign.letter for placed in order))

    # -- days ------------------------------------------------------------------------------
    def _meant(self, said: _Said) -> Meaning | None:
        if "D" in said.by:
            return _whole(self._written(said))
        quarter = "Q" in said.by or ("N" in said.by and said.unit == "quarter")
        if quarter and said.way is None:
            return _whole(self._quarter(said))
        if {"Y", "U"} <= said.by.keys() and said.way is None:
            return _whole(self._by_units(said))
        if "R" in said.by or "U" in said.by:
            return self._relative(said)
        if "M" in said.by:
            return _whole(self._named(said))
        if "W" in said.by:
            return _whole(span_of("day", self._weekday(said.by["W"].value, said.way)))
        return _whole(self._bare_year(said))

    def _written(self, said: _Said) -> Span | None:
        [at] = [placed.first for placed in said.order if placed.sign.letter == "D"]
        token = self._tokens[at]
        numbers = [int(digits) for digits in _DIGITS.findall(token.text)[:3]]
        if token.what == "week":
            return span_of("week", date.fromisocalendar(numbers[0], numbers[1], 1))
        if token.what == "iso":
            if len(numbers) == 2:
                return span_of("month", date(numbers[0], numbers[1], 1))
            return span_of("day", date(*numbers))
        day, month, year = numbers
        month_first = "/" in token.text and not self._words.day_first
        if (month_first and day <= 12) or month > 12:
            day, month = month, day
        return span_of("day", date(year, month, day))

    def _quarter(self, said: _Said) -> Span | None:
        """With its year, or the latest that began before now."""
        part = said.by["Q"] if "Q" in said.by else said.by["N"]
        length = 6 if part.unit == "half" else 3
        if not 1 <= part.value <= 12 // length or ("Q" not in said.by and "Y" not in said.by):
            return None
        month = (part.value - 1) * length + 1
        year = said.value("Y")
        if year is None:
            year = self._today.year - (month > self._today.month)
        first = date(year, month, 1)
        return first, shifted("month", first, length)

    def _by_units(self, said: _Said) -> Span | None:
        """2025年5月3日; the year 2025, which has its unit before it."""
        numbers = [placed for placed in said.order if placed.sign.letter in "YN"]
        units = [placed.sign.unit for placed in said.order if placed.sign.letter == "U"]
        if units != ["year", "month", "day"][: len(units)]:
            return None
        if said.letters.startswith("U"):
            return self._bare_year(said)
        for placed in said.order[1:]:
            if placed.sign.letter == "U" and self._gap(placed.first):
                return None  # 2025 years
        year, month, day = [placed.sign.value for placed in numbers] + [1] * (3 - len(numbers))
        return span_of(units[-1], date(year, month, day))

    def _gap(self, at: int) -> int:
        return self._tokens[at].start - self._tokens[at - 1].end

    def _relative(self, said: _Said) -> Meaning | None:
        count = said.value("N")
        if "R" not in said.by and count is not None:
            return self._counted(count, said)
        sign = said.by.get("R")
        unit, amount = (sign.unit, sign.value) if sign is not None else (said.unit, said.way or 0)
        if unit == "hour":
            if sign is None and amount < 0:
                return Meaning(span_of("day", self._today), hours=1)
            return _whole(span_of("day", (self._now + timedelta(hours=amount)).date()))
        span = span_of(unit, shifted(unit, self._today, amount))
        if "W" in said.by and unit == "week":
            return _whole(span_of("day", span[0] + timedelta(days=said.by["W"].value)))
        if "M" in said.by:
            behind = said.letters[-1] in "MamY"  # the last week of March
            if behind:
                month = {letter: said.by[letter] for letter in "MY" if letter in said.by}
                return _whole(self._named(_Said(month, said.order, said.letters)))
            if unit == "year":
                return _whole(span_of("month", date(span[0].year, said.by["M"].value, 1)))
        apart = said.letters[0] in "WMa"  # may last quarter's loss …
        return Meaning(span, begins=said.order[1].first if apart else 0)

    def _counted(self, count: int, said: _Said) -> Meaning | None:
        """The last three weeks: from as long ago to now; the next three: from now on."""
        if not count or not said.way:
            return None
        if said.unit == "hour":
            day = (self._now - timedelta(hours=count)).date()
            return Meaning(span_of("day", day), hours=count) if said.way < 0 else None
        other = shifted(said.unit, self._today, said.way * count)
        if said.way < 0:
            return Meaning((other, self._today + timedelta(days=1)), to_now=True)
        return Meaning((self._today, other + timedelta(days=1)), from_now=True)

    def _named(self, said: _Said) -> Span | None:
        """A month, or a day of it: of its year, else the latest that began before now."""
        month, day, year = said.by["M"].value, said.value("N"), said.value("Y")
        if year is None:
            year = self._today.year
            began = (month, day or 1) <= (self._today.month, self._today.day)
            here = day is None and month == self._today.month
            if said.way == -1 or said.way is None:
                year -= not began or (here and said.way == -1)
            elif said.way == 1:
                year += began
        return span_of("month" if day is None else "day", date(year, month, day or 1))

    def _weekday(self, weekday: int, way: int | None) -> date:
        """The last before today, the next after it, or that of this week."""
        if way == 0:
            return self._today + timedelta(days=weekday - self._today.weekday())
        if way == 1:
            return self._today + timedelta(days=(weekday - self._today.weekday()) % 7 or 7)
        return self._today - timedelta(days=(self._today.weekday() - weekday) % 7 or 7)

    def _bare_year(self, said: _Said) -> Span | None:
        year = said.value("Y")
        if year is None or not _FIRST_BARE_YEAR <= year <= self._today.year + _YEARS_AHEAD:
            return None
        behind = said.order[-1].last + 1
        if behind < len(self._tokens):
            token = self._tokens[behind]
            if token.gap == " " and _MEASURED.fullmatch(token.key):
                return None
        return span_of("year", date(year, 1, 1))


def _whole(days: Span | None) -> Meaning | None:
    return Meaning(days) if days is not None else None
