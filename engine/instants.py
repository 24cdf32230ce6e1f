"""ISO 8601 dates and times as instants: nanoseconds since 1970-01-01 UTC."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

_DAY_NS = 86_400_000_000_000
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_SHORTEST = len("2026-04-05")
_FORM = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:(?:[Tt]|[ ]+)([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9})[0-9]*)?)?"
    r"(?:[ ]*(?:([Zz])|([-+])([0-9]{2}):?([0-9]{2})?))?)?"
)


def instant(text: str) -> int | None:
    """The instant that `text` names, or None if it is not a date or a date with a time.

    A bare date is the start of that day; a time without an offset is UTC. Digits of a second
    beyond the ninth are dropped.
    """
    found = _FORM.fullmatch(text.strip()) if len(text) >= _SHORTEST else None
    if not found:
        return None
    year, month, day, hour, minute, second, fraction, _, sign, off_hours, off_minutes = (
        found.groups()
    )
    try:
        days = date(int(year), int(month), int(day)).toordinal() - _EPOCH_DAY
    except ValueError:
        return None
    if hour is None:
        return days * _DAY_NS
    hours, minutes, seconds = int(hour), int(minute), int(second or 0)
    offset = int(off_hours or 0) * 60 + int(off_minutes or 0)
    if (
        hours > 23
        or minutes > 59
        or seconds > 59
        or offset >= 24 * 60
        or int(off_minutes or 0) > 59
    ):
        return None
    minutes_of_day = hours * 60 + minutes - (offset if sign == "+" else -offset)
    nanoseconds = int((fraction or "").ljust(9, "0"))
    return days * _DAY_NS + (minutes_of_day * 60 + seconds) * 1_000_000_000 + nanoseconds


def moment(at_ns: int, zone: str) -> datetime:
    """Nanoseconds since the epoch as a datetime in a zone of the IANA database."""
    return datetime.fromtimestamp(at_ns / 1e9, ZoneInfo(zone))


def is_zone(name: str) -> bool:
    """Is it a zone of the IANA database?"""
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown, no such form, or a directory of zones
        return False
    return True


def aware(text: str) -> datetime | None:
    """The same as a datetime in the zone that the text names, UTC without one; to microseconds."""
    at = instant(text)
    found = _FORM.fullmatch(text.strip())
    if at is None or found is None:
        return None
    sign, hours, minutes = found.groups()[8:]
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    zone = timezone(-offset if sign == "-" else offset)
    try:
        utc = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at // 1000)
        return utc.astimezone(zone)
    except OverflowError:  # beyond the first or last day of the calendar
        return None
