"""Which expressions of time count, and which interval each means. Now is a Wednesday noon."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import time_expressions
from engine.calendar_spans import EARLIEST_NS, nanoseconds, shifted, span_of
from engine.time_expressions import MOST, MOST_WORDS, Interval, find, looked_at, ready, warm
from engine.time_words import folded, load

NOW = datetime(2026, 7, 15, 12, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ALL = ("en", "de", "fr", "es", "it", "pt", "nl", "ru", "zh", "ja")


def told(question: str, *languages: str, now: datetime = NOW) -> list[str]:
    """The intervals as "first day/day after the last", NOW for now and "" for no beginning."""
    return [_told(each, now) for each in find(question, now, languages or ("en",))]


def _told(interval: Interval, now: datetime) -> str:
    def one(at: int) -> str:
        if at in (EARLIEST_NS, nanoseconds(now)):
            return "" if at == EARLIEST_NS else "now"
        local = (EPOCH + timedelta(microseconds=at // 1000)).astimezone(now.tzinfo)
        return local.strftime("%Y-%m-%d") + ("" if local.hour == 0 else local.strftime("T%H:%M"))

    return f"{one(interval.start_ns)}/{one(interval.end_ns)}"


ENGLISH = {
    "what did we decide last week": "2026-07-06/2026-07-13",
    "meetings in June 2025": "2025-06-01/2025-07-01",
    "on 3 May 2026": "2026-05-03/2026-05-04",
    "May 3, 2026": "2026-05-03/2026-05-04",
    "the 3rd of May": "2026-05-03/2026-05-04",
    "Sept. 2025": "2025-09-01/2025-10-01",
    "may 2025": "2025-05-01/2025-06-01",
    "yesterday": "2026-07-14/2026-07-15",
    "the day before yesterday": "2026-07-13/2026-07-14",
    "this morning": "2026-07-15/2026-07-16",
    "last night": "2026-07-14/2026-07-15",
    "tomorrow": "2026-07-16/2026-07-17",
    "3 days ago": "2026-07-12/2026-07-13",
    "a week ago": "2026-07-06/2026-07-13",
    "two months ago": "2026-05-01/2026-06-01",
    "5 hours ago": "2026-07-15/2026-07-16",
    "in the last two months": "2026-05-15/now",
    "over the past few weeks": "2026-06-24/now",
    "in the past 24 hours": "2026-07-14T12:00/now",
    "the next two weeks": "now/2026-07-30",
    "this year": "2026-01-01/2027-01-01",
    "last quarter": "2026-04-01/2026-07-01",
    "on Monday": "2026-07-13/2026-07-14",
    "last Wednesday": "2026-07-08/2026-07-09",
    "this Friday": "2026-07-17/2026-07-18",
    "next Monday": "2026-07-20/2026-07-21",
    "Monday of last week": "2026-07-06/2026-07-07",
    "in March": "2026-03-01/2026-04-01",
    "in July": "2026-07-01/2026-08-01",
    "in September": "2025-09-01/2025-10-01",
    "last July": "2025-07-01/2025-08-01",
    "next March": "2027-03-01/2027-04-01",
    "April last year": "2025-04-01/2025-05-01",
    "the last week of March 2025": "2025-03-01/2025-04-01",
    "Q3 2025": "2025-07-01/2025-10-01",
    "2025 Q3": "2025-07-01/2025-10-01",
    "third quarter of 2025": "2025-07-01/2025-10-01",
    "in Q4": "2025-10-01/2026-01-01",
    "H1 2025": "2025-01-01/2025-07-01",
    "in 2025": "2025-01-01/2026-01-01",
    "the year 2025": "2025-01-01/2026-01-01",
    "2026-04-10": "2026-04-10/2026-04-11",
    "2026-04-10T12:30:00+02:00": "2026-04-10/2026-04-11",
    "2026/04/10": "2026-04-10/2026-04-11",
    "2026-04": "2026-04-01/2026-05-01",
    "2026-W15": "2026-04-06/2026-04-13",
    "10.04.2026": "2026-04-10/2026-04-11",
    "4/10/2026": "2026-04-10/2026-04-11",
    "25/12/2025": "2025-12-25/2025-12-26",
    "since Monday": "2026-07-13/now",
    "since 2024": "2024-01-01/now",
    "since last week": "2026-07-06/now",
    "after 3 May 2026": "2026-05-04/now",
    "after 2026": "2027-01-01/2028-01-01",
    "before March 2025": "/2025-03-01",
    "until Friday": "/2026-07-11",
    "between March and May 2025": "2025-03-01/2025-06-01",
    "from March to May": "2026-03-01/2026-06-01",
    "from November to February": "2025-11-01/2026-03-01",
    "from November to February 2026": "2025-11-01/2026-03-01",
    "from 3 to 5 May 2026": "2026-05-03/2026-05-06",
    "between 2020 and 2022": "2020-01-01/2023-01-01",
    "from Monday to Friday": "2026-07-13/2026-07-18",
    "since 3 May until yesterday": "2026-05-03/2026-07-15",
    "(yesterday)": "2026-07-14/2026-07-15",
    "yesterday's outage": "2026-07-14/2026-07-15",
    "LAST WEEK!": "2026-07-06/2026-07-13",
}

OTHERS = {
    "de: letzte Woche": "2026-07-06/2026-07-13",
    "de: vergangene Woche": "2026-07-06/2026-07-13",
    "de: vorletzte Woche": "2026-06-29/2026-07-06",
    "de: im März 2025": "2025-03-01/2025-04-01",
    "de: am 3. Mai 2026": "2026-05-03/2026-05-04",
    "de: vor zwei Wochen": "2026-06-29/2026-07-06",
    "de: heute Morgen": "2026-07-15/2026-07-16",
    "de: seit Montag": "2026-07-13/now",
    "de: in den letzten zwei Monaten": "2026-05-15/now",
    "de: vom 3. bis 5. Mai 2026": "2026-05-03/2026-05-06",
    "de: bis Ende März": "/2026-04-01",
    "de: im 3. Quartal 2025": "2025-07-01/2025-10-01",
    "de: 4/10/2026": "2026-10-04/2026-10-05",
    "fr: la semaine dernière": "2026-07-06/2026-07-13",
    "fr: il y a trois jours": "2026-07-12/2026-07-13",
    "fr: lundi dernier": "2026-07-13/2026-07-14",
    "fr: le 1er mai 2025": "2025-05-01/2025-05-02",
    "fr: les trois derniers mois": "2026-04-15/now",
    "fr: aujourd’hui": "2026-07-15/2026-07-16",
    "fr: T3 2025": "2025-07-01/2025-10-01",
    "es: el lunes pasado": "2026-07-13/2026-07-14",
    "es: el 3 de mayo de 2026": "2026-05-03/2026-05-04",
    "es: hace dos semanas": "2026-06-29/2026-07-06",
    "es: de marzo a mayo de 2025": "2025-03-01/2025-06-01",
    "it: lunedì scorso": "2026-07-13/2026-07-14",
    "it: tre giorni fa": "2026-07-12/2026-07-13",
    "pt: segunda-feira passada": "2026-07-13/2026-07-14",
    "nl: vorige week": "2026-07-06/2026-07-13",
    "ru: в марте 2025": "2025-03-01/2025-04-01",
    "ru: 3 дня назад": "2026-07-12/2026-07-13",
    "pl: 3 dni temu": "2026-07-12/2026-07-13",
    "zh: 上周的会议": "2026-07-06/2026-07-13",
    "zh: 会议2025年3月5日": "2025-03-05/2025-03-06",
    "ja: 2025年3月": "2025-03-01/2025-04-01",
    "ko: 2025년 3월 5일": "2025-03-05/2025-03-06",
    "ar: الأسبوع الماضي": "2026-07-06/2026-07-13",
    "he: אתמול": "2026-07-14/2026-07-15",
    "tr: geçen hafta": "2026-07-06/2026-07-13",
}

NONE = """
may we|the Sun|march on|march 4 steps|may 3 people join|this may fail|it is March|Mondays
2026.4.10|v2025.1|release-2025|ISO 8601|error 2024x|CVE-2024-1234|step-2-days-ago|2025.1
logs/2026/04/10.txt|user@2025|#2025|a_2026-04-10|2026-04-10-rc1|555-2026-04-10|$2025
port 2048|room 1999|budget for 2025|2000 users|in 2048|on 2025 machines|in 2000 ms|up to 2000
a maximum of 2000|in 1700|2026-02-30|31/31/2026|99999 days ago|in 5 m|Q3|Q5 2025|now
in five minutes|12:30|2025 years|week|days of rain|last words|next steps|how it works today-ish
""".replace("\n", "|").split("|")  # fmt: skip


@pytest.mark.parametrize(("question", "interval"), ENGLISH.items())
def test_an_expression_becomes_an_interval(question: str, interval: str) -> None:
    assert told(question) == [interval]
    assert told(f"Who said so, {question}, and why?") == [interval]


@pytest.mark.parametrize(("question", "interval"), OTHERS.items())
def test_other_languages_have_their_words(question: str, interval: str) -> None:
    lang, text = question.split(": ", 1)
    assert told(text, lang) == [interval]
    assert told(text, "en") != [interval] or text == "T3 2025" or "/" in text


@pytest.mark.parametrize("question", [each for each in NONE if each])
def test_what_is_no_time(question: str) -> None:
    assert told(question, *ALL) == []


def test_the_words_that_name_it_are_kept() -> None:
    [one, two] = find("What may last week's talk and the 2025-06-01 one share?", NOW, ["en"])
    assert (one.text, two.text) == ("last week", "2025-06-01")


def test_what_only_stands_beside_it_has_no_part() -> None:
    assert told("on Monday, yesterday") == ["2026-07-13/2026-07-14", "2026-07-14/2026-07-15"]
    assert told("in 2025, H1 2024") == ["2025-01-01/2026-01-01", "2024-01-01/2024-07-01"]
    assert told("May last week count?") == ["2026-07-06/2026-07-13"]
    [loss] = find("what may last quarter's loss be", NOW, ["en"])
    assert loss.text == "last quarter"


def test_english_is_looked_at_beside_the_stores_languages() -> None:
    assert looked_at(["de", "en"]) == ("de", "en")
    assert looked_at([]) == ("en",)
    assert told("last week", "de") == told("letzte Woche", "de")
    assert told("letzte Woche") == []
    assert len(looked_at([f"l{at}" for at in range(50)])) == time_expressions.MOST_LANGUAGES + 1


def test_unknown_languages_are_left_out() -> None:
    assert told("yesterday", "xx", "", "../os", "de-AT", "tlh") == ["2026-07-14/2026-07-15"]


def test_days_are_those_of_the_zone_of_now() -> None:
    berlin = NOW.astimezone(ZoneInfo("Europe/Berlin"))
    [day] = find("yesterday", berlin, ["en"])
    assert day.start_ns == nanoseconds(datetime(2026, 7, 13, 22, tzinfo=UTC))
    late = datetime(2026, 7, 15, 23, tzinfo=UTC).astimezone(ZoneInfo("Asia/Tokyo"))
    assert told("today", now=late) == ["2026-07-16/2026-07-17"]
    [long] = find("2026-10-25", berlin, ["en"])  # the clocks go back
    assert long.fade == long.end_ns - long.start_ns == 25 * 3_600 * 10**9
    with pytest.raises(ValueError, match="zone"):
        find("yesterday", NOW.replace(tzinfo=None), ["en"])


def test_an_open_interval_fades_by_its_grain() -> None:
    [before] = find("before March 2025", NOW, ["en"])
    assert before.fade == 31 * 86_400 * 10**9
    [since] = find("since Monday", NOW, ["en"])
    assert since.fade == since.end_ns - since.start_ns


def test_the_end_of_a_month_and_the_leap_day() -> None:
    end = datetime(2026, 5, 31, 12, tzinfo=UTC)
    assert told("three months ago", now=end) == ["2026-02-01/2026-03-01"]
    assert told("in the last three months", now=end) == ["2026-02-28/now"]
    assert told("29 February 2024") == ["2024-02-29/2024-03-01"]
    assert told("29 February 2025") == []
    assert told("on 1 January", now=datetime(2026, 1, 1, 9, tzinfo=UTC)) == [
        "2026-01-01/2026-01-02"
    ]


def test_a_store_is_not_asked_beyond_its_nanoseconds() -> None:
    assert told("in June 1500") == told("since June 2300") == told("in June 9999") == []
    assert told("in June 1815") == ["1815-06-01/1815-07-01"]


def test_the_first_expressions_count_and_a_long_text_is_read_at_both_ends() -> None:
    days = [date(2026, 1, 1) + timedelta(days=at) for at in range(40)]
    found = find(" and ".join(map(str, days)), NOW, ["en"])
    assert [each.text for each in found] == [str(day) for day in days[:MOST]]
    pasted = "word " * (2 * MOST_WORDS)
    assert told(f"yesterday {pasted} last week") == [
        "2026-07-14/2026-07-15",
        "2026-07-06/2026-07-13",
    ]
    assert told("word " * 3_500 + "last week") == ["2026-07-06/2026-07-13"]


_PIECES = st.lists(
    st.sampled_from(
        [*(word for each in (*ENGLISH, *OTHERS) for word in each.split()), *NONE, ".", ",", "-",
         "\ud800", "\x00", "\u202e", "İ", "9" * 5000, "٣", "²", "\u0301", "\n", "0000", "'"]
    ),
    max_size=30,
)  # fmt: skip


@given(_PIECES, st.sampled_from(["", " ", "\n"]))
def test_no_text_makes_it_fail(pieces: list[str], between: str) -> None:
    question = between.join(pieces)
    for each in find(question, NOW, ALL):
        assert EARLIEST_NS <= each.start_ns < each.end_ns < 2**63
        assert each.fade > 0
        assert each.text


@given(st.text(max_size=200))
def test_no_characters_make_it_fail(question: str) -> None:
    assert len(find(question, NOW, ALL)) <= MOST


@pytest.mark.parametrize(
    "piece",
    ["2025 ", "may ", "of the ", "last 2 ", "月", "2026-04-10 ", "monday of the ", "9", "a"],
)
def test_64_kib_of_anything_are_read(piece: str) -> None:
    assert len(find(piece * (65_536 // len(piece)), NOW, ALL)) <= MOST


@given(st.dates(date(1700, 1, 1), date(2200, 12, 31)), st.sampled_from(["day", "week", "month",
       "quarter", "year"]))  # fmt: skip
def test_a_span_holds_its_day_and_touches_the_next(day: date, unit: str) -> None:
    first, after = span_of(unit, day)
    assert first <= day < after
    assert span_of(unit, first) == span_of(unit, after - timedelta(days=1)) == (first, after)
    assert shifted(unit, first, 1) == after
    assert span_of(unit, after)[0] == after


def test_words_are_read_once_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_expressions, "_loaded", {})
    asked: list[str] = []

    def counted(lang: str) -> object:
        asked.append(lang)
        return load(lang)

    monkeypatch.setattr(time_expressions.time_words, "load", counted)
    assert not ready(["de"])
    threads = [threading.Thread(target=warm, args=(["de", "xx"],)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ready(["de"]) and ready(["xx", "en"]) and not ready(["fr"])
    find("hier", NOW, ["de"])
    assert sorted(asked) == ["de", "en", "xx"]


def test_every_language_of_the_library_can_be_read() -> None:
    spec = re.findall(r'"([a-z]{2,3})"', _languages_of_dateparser())
    assert len(spec) > 100
    for lang in spec:
        words = load(lang)
        assert words is not None and words.anchors
        for phrases in words.phrases.values():
            assert all(keys == folded(" ".join(keys)) for keys, _ in phrases if "#" not in keys)


def _languages_of_dateparser() -> str:
    from dateparser.data.languages_info import language_order

    return " ".join(f'"{lang}"' for lang in language_order)


def test_to_import_it_does_not_import_dateparser() -> None:
    code = "import sys, engine.time_expressions; print('dateparser' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
