"""Spans of whole days on the calendar: the day, week, month, quarter or year that a date is in.

A span is (first day, day after the last). Weeks go from Monday to Monday. Days become instants only
where a span is given a time zone.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, tzinfo

Span = tuple[date, date]

FIRST_YEAR, LAST_YEAR = 1678, 2261  # whose instants fit 64 bits of nanoseconds
EARLIEST_NS = -(2**63) + 1  # where a span without a beginning begins
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def span_of(unit: str, day: date) -> Span:
    """The span of that unit which a day is in. OverflowError at the ends of the calendar."""
    if unit == "week":
        monday = day - timedelta(days=day.weekday())
        return monday, monday + timedelta(days=7)
    if unit in ("month", "quarter", "year"):
        months = {"month": 1, "quarter": 3, "year": 12}[unit]
        first = date(day.year, day.month - (day.month - 1) % months, 1)
        return first, months_later(first, months)
    return day, day + timedelta(days=1)


def shifted(unit: str, day: date, amount: int) -> date:
    """The day so many units later; the last of a month that has none of its number."""
    if unit in ("day", "week"):
        return day + timedelta(days=amount * (7 if unit == "week" else 1))
    return months_later(day, amount * {"month": 1, "quarter": 3, "year": 12}[unit])


def months_later(day: date, months: int) -> date:
    """OverflowError where the calendar ends."""
    years, month = divmod(day.month - 1 + months, 12)
    year = day.year + years
    if not date.min.year <= year < date.max.year:
        raise OverflowError("the calendar ends before")
    following = date(year + (month + 1) // 12, (month + 1) % 12 + 1, 1)
    return date(year, month + 1, min(day.day, (following - timedelta(days=1)).day))


def instant_of(day: date, zone: tzinfo) -> int:
    """Nanoseconds from the epoch to the beginning of a day there."""
    return nanoseconds(datetime(day.year, day.month, day.day, tzinfo=zone))


def nanoseconds(at: datetime) -> int:
    """From the epoch to an aware time."""
    since = at - _EPOCH
    return ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * 1_000
