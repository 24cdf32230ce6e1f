"""What somebody who writes a script, a language or code searches for, and has to find.

Each case is (what is searched, what is written); the search finds the text if one of its words is a
term of it, because words are alternatives. A case with a third element is not to be found so.
"""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.also import humps, runs, syllables, variants
from engine.query import query_terms
from engine.scripts import spelled
from engine.text import LONGEST_TERM, analyse, fold

FOUND = {
    "ar": [
        ("كتاب", "كِتَابٌ"),
        ("كِتَاب", "كتاب"),
        ("كتاب", "كــتــاب"),
        ("ﻛﺘﺎﺏ", "كتاب"),
        ("احمد", "أحمد"),
        ("أحمد", "احمد"),
        ("اسلام", "إسلام"),
        ("الان", "الآن"),
        ("القران", "القرآن"),
        ("الله", "ٱللَّٰه"),
        ("مدرسه", "مدرسة"),
        ("مدرسة", "المدرسه"),
        ("مدرسة", "المدرسة"),
        ("على", "علي"),
        ("مسوول", "مسؤول"),
        ("کتاب", "كتاب"),
        ("١٢٣", "123"),
        ("123", "رقم ١٢٣"),
        ("3.5", "٣٫٥"),
    ],
    "fa": [
        ("كتاب", "کتاب"),
        ("علي", "علی"),
        ("۱۲۳", "123"),
        ("کتاب", "کتاب‌ها"),
        ("می‌خواهم", "می خواهم"),
        ("می‌خواهم", "میخواهم"),
        ("میخواهم", "می‌خواهم"),
    ],
    "ur": [("ہے", "یہ ہے"), ("کتاب", "کتاب"), ("یہ", "يہ")],
    "hi": [
        ("कलम", "क़लम"),
        ("क़लम", "क़लम"),
        ("जमीन", "ज़मीन"),
        ("पढना", "पढ़ना"),
        ("हिंदी", "हिन्दी"),
        ("हिन्दी", "हिंदी भाषा"),
        ("हाँ", "हां"),
        ("किताब", "किताबें"),
        ("१२३", "123"),
        ("संबंध", "सम्बन्ध"),
    ],
    "bn": [("বাংলা", "বাংলা ভাষা"), ("য়", "য়"), ("২০২৬", "2026")],
    "ta": [("தமிழ்", "தமிழ் மொழி")],
    "th": [
        ("ไทย", "ภาษาไทย"),
        ("ที่", "ที่ดี"),
        ("น้ำ", "นํ้า"),
        ("นํ้า", "น้ำ"),
        ("ทำ", "ทํา"),
        ("ก็", "ก็ดี"),
        ("๑๒๓", "123"),
        ("ภาษา", "Englishภาษา"),
    ],
    "lo": [("ລາວ", "ພາສາລາວ"), ("ນ້ຳ", "ນ້ໍາ")],
    "km": [("ភាសា", "ភាសាខ្មែរ")],
    "my": [("မြန်မာ", "မြန်မာစာ")],
    "bo": [("བོད", "བོད་ཡིག")],
    "zh": [
        ("合约", "中文合约转换"),
        ("国", "中国"),
        ("茶", "紅茶を飲む"),
        ("世界", "你好，世界！"),
        ("2026", "２０２６年"),
        ("年", "2026年"),
        ("手机", "iPhone15手机"),
        ("iphone15", "iPhone15手机"),
    ],
    "ja": [
        ("カタカナ", "ｶﾀｶﾅ"),
        ("ｶﾀｶﾅ", "カタカナ"),
        ("ガイド", "ｶﾞｲﾄﾞ"),
        ("サーバー", "サーバ"),
        ("東京", "東京都"),
        ("猫", "黒猫"),
        ("株", "㈱"),
        ("テスト", "Testテスト123"),
        ("test", "Testテスト123"),
    ],
    "ko": [
        ("한국", "한국어를"),
        ("서울", "서울에서"),
        ("물", "물을"),
        (unicodedata.normalize("NFD", "한국"), "한국"),
    ],
    "de": [
        ("strasse", "Straße"),
        ("STRASSE", "straße"),
        ("Straße", "STRASSE"),
        ("muller", "Müller"),
        ("Müller", "Muller"),
        ("Haus", "Häuser"),
        ("ẞ", "ß"),
    ],
    "tr": [
        ("istanbul", "İstanbul"),
        ("İSTANBUL", "istanbul"),
        ("ısparta", "ISPARTA"),
        ("ılık", "ILIK"),
        ("diyarbakir", "Diyarbakır"),
        ("kitaplar", "KİTAPLAR"),
        ("seker", "şeker"),
    ],
    "vi": [
        ("Viet Nam", "Việt Nam"),
        ("tiếng Việt", "TIẾNG VIỆT"),
        ("duong", "đường"),
        ("Da Nang", "Đà Nẵng"),
        ("Việt", unicodedata.normalize("NFD", "Việt")),
    ],
    "fr": [("coeur", "cœur"), ("eau", "l’eau"), ("ecole", "École"), ("aujourdhui", "aujourd'hui")],
    "es": [("nino", "niño"), ("año", "AÑO")],
    "pt": [("acao", "ação")],
    "da": [("oresund", "Øresund"), ("aero", "Ærø")],
    "is": [("thorn", "Þorn"), ("eir", "eir")],
    "pl": [("lodz", "Łódź")],
    "sv": [("angstrom", "Ångström")],
    "ru": [("елка", "ёлка"), ("ёлка", "елка"), ("книги", "книга"), ("йод", "ЙОД")],
    "uk": [("їжак", "ЇЖАК"), ("київ", "Київ")],
    "el": [("αθηνα", "Αθήνα"), ("ΛΟΓΟΣ", "λόγος")],
    "he": [("שלום", "שָׁלוֹם")],
    "ka": [("ქართული", "ᲥᲐᲠᲗᲣᲚᲘ")],
    "hy": [("հայերեն", "ՀԱՅԵՐԵՆ")],
    "am": [("አማርኛ", "አማርኛ")],
    "en": [
        # code
        ("C++", "C++ code"),
        ("C#", "c# code"),
        (".NET", "on .NET 8"),
        ("asp.net", "ASP.NET Core"),
        ("foo.bar()", "call foo.bar() now"),
        ("foo.bar", "call foo.bar(x, y)"),
        ("bar", "foo.bar()"),
        ("snake_case", "snake_case_name"),
        ("name", "snake_case_name"),
        ("kebab", "kebab-case"),
        ("camelcase", "camelCase"),
        ("camel", "camelCase"),
        ("user", "getUserById"),
        ("request", "XMLHttpRequest"),
        ("http", "XMLHttpRequest"),
        ("__init__", "def __init__(self)"),
        ("std::vector", "std::vector<int>"),
        ("vector", "std::vector<int>"),
        ("stdio.h", "<stdio.h>"),
        ("x86", "x86_64"),
        ("node.js", "Node.js"),
        ("nodejs", "Node.js"),
        ("Node.js", "nodejs"),
        # variants of one word
        ("wifi", "Wi-Fi"),
        ("Wi-Fi", "wifi"),
        ("utf8", "UTF-8"),
        ("UTF-8", "utf8"),
        ("e-mail", "email"),
        ("email", "e-mail"),
        ("phd", "Ph.D."),
        ("us", "U.S."),
        ("dont", "don't"),
        ("obrien", "O’Brien"),
        ("OBrien", "o'brien"),
        ("R&D", "r&d"),
        ("file", "ﬁle"),
        ("naive", "naïve"),
        ("cafe", "cafe\u0301"),
        ("h2o", "H₂O"),
        ("brand", "brand™"),
        # numbers
        ("v1.2", "version v1.2 is"),
        ("1.2", "v1.2"),
        ("2026.4.10", "v2026.4.10"),
        ("1", "1️⃣"),
        ("1,234.5", "1,234.5"),
        ("1234.5", "1,234.5"),
        ("1234", "1,234"),
        ("10 km", "10km"),
        ("10km", "10 km"),
        ("0x80070005", "error 0X80070005"),
        ("80070005", "0x80070005"),
        ("2026-04-10", "2026-04-10T10:00"),
        ("8080", "10.0.0.1:8080"),
        ("½", "1/2"),
        # names of things
        ("550E8400-E29B-41D4-A716-446655440000", "id 550e8400-e29b-41d4-a716-446655440000."),
        ("550e8400", "550e8400-e29b-41d4-a716-446655440000"),
        ("ann@acme.org", "mail ann@acme.org."),
        ("acme.org", "ann@acme.org"),
        ("ann", "ann@acme.org"),
        ("acme.org", "https://www.acme.org/a?x=1"),
        ("https://acme.org/a/b", "see https://acme.org/a/b."),
        ("nginx.conf", "in /etc/nginx/nginx.conf"),
        ("/etc/nginx/nginx.conf", "in /etc/nginx/nginx.conf"),
        ("x.txt", "C:\\Users\\ann\\x.txt"),
        ("42", "src/main.py:42"),
        ("main.py", "src/main.py:42"),
        # signs
        ("🚀", "go 🚀!"),
        ("👍", "👍🏽"),
        ("👍🏽", "👍"),
        ("👨‍👩‍👧", "👨‍👩‍👧"),
        ("❤", "❤️"),
        ("🇩🇪", "🇩🇪"),
        ("⌚", "⌚"),
        ("⭐", "⭐"),
    ],
}
NOT_FOUND = [  # pieces too small to mean what is sought
    ("en", "phone", "iPhone"),
    ("en", "rn", "RNAs"),
    ("en", "ase", "DNAse"),
    ("zh", "中国", "中文国"),
    ("th", "ทย", "ไท ย"),
]


def finds(lang: str, question: str, text: str) -> bool:
    """True if a word of the question, in one of its variants, is a term of the text."""
    terms = {term for run in runs((text,), lang) for term in run}
    return any(terms.intersection(group) for group in query_terms(question, (lang,)))


@pytest.mark.parametrize(
    ("lang", "question", "text"), [(lang, *case) for lang, cases in FOUND.items() for case in cases]
)
def test_found(lang: str, question: str, text: str) -> None:
    assert finds(lang, question, text)


@pytest.mark.parametrize(("lang", "question", "text"), NOT_FOUND)
def test_not_found(lang: str, question: str, text: str) -> None:
    assert not finds(lang, question, text)


def test_what_a_text_is_found_by_stands_in_a_run_of_its_own() -> None:
    assert runs(("The YouTube-like Wi-Fi, 10km", "紅茶"), "en") == (
        ("the", "youtub", "like", "wi", "fi", "10km"),
        ("紅茶",),
        ("you", "tube", "youtubelik", "wifi", "10", "km", "紅", "茶"),
    )
    assert runs(("", "?!"), "en") == ()


def test_variants_of_a_word() -> None:
    for word in ("word", "1.2.3", "v1.2", "3d", "2026-04-10", "a-b-c-d", "ann@b.c"):
        assert variants(word) == ()
    assert variants("il-6") == ("il6",) and variants("1.5kg") == ("1.5", "kg")


def test_humps_of_a_name() -> None:
    assert humps("parseHTTPHeader of siRNA") == ["parse", "http", "header", "si", "rna"]
    assert humps("mRNA RNAs DNAse IgG iPhone plain SHOUT") == []


def test_data_on_one_line_has_no_humps() -> None:
    assert humps("aB" * 100_000) == []
    assert syllables("a" * 200_000) == []


@settings(deadline=None)
@given(st.text(alphabet=st.characters(), max_size=40))
def test_spelling_is_settled_at_once(text: str) -> None:
    folded = fold(text)
    assert fold(folded) == folded or analyse(fold(folded)) == analyse(folded)
    assert spelled(folded) == folded


@settings(deadline=None)
@given(st.lists(st.text(alphabet=st.characters(), max_size=40), max_size=3))
def test_runs_are_storable(texts: list[str]) -> None:
    for run in runs(texts, "en"):
        assert run and " ".join(run).split() == list(run)
        assert all(0 < len(term) <= LONGEST_TERM for term in run)
