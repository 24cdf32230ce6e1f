from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.also import runs
from engine.query import holds, parse_query, query_terms
from engine.stop_words import stop_words
from engine.text import LONGEST_TERM, analyse, fold, terms_of, tokens

ANY = st.text(alphabet=st.characters(), max_size=60)
UNSPACED = "中文合約轉換問題世界日本語カタカナひらがな한국어ภาษาไทยที่ນ້ຳភាសាမြန်မာ"


def finds(question: str, document: str, *langs: str) -> bool:
    """True if some alternative of every group of the question is a term of the document."""
    terms = {term for run in runs((document,), langs[0] if langs else "en") for term in run}
    groups = query_terms(question, langs or ("en",))
    return bool(groups) and all(terms.intersection(group) for group in groups)


def test_case_29() -> None:
    assert finds("2026.4.10", "release v2026.4.10 is out")
    assert not finds("0", "v2026.4.10") and not finds("0", "bar's")
    assert finds("bars", "the bar's") and finds("bar's", "many bars")


def test_case_28() -> None:
    assert finds("合約", "中文合約轉換體驗課問題")
    assert finds("世界", "你好，世界！")


def test_case_30() -> None:
    assert finds("hello", "Hello")
    assert query_terms("The Who", ["en"]) == (("the",), ("who",))


@pytest.mark.parametrize(
    ("written", "terms"),
    [
        ("v1.2", ["v1.2", "1.2", "1", "2"]),
        ("C++", ["c++", "c"]),
        ("C++17", ["c++17", "c++", "c", "17"]),
        ("C#", ["c#", "c"]),
        ("0x80070005", ["0x80070005", "80070005"]),
        ("snake_case", ["snake_case", "snake", "case"]),
        ("foo.bar()", ["foo.bar()", "foo.bar", "foo", "bar"]),
        ("std::vector", ["std::vector", "std", "vector"]),
        ("CVE-2024-1234", ["cve-2024-1234", "cve", "2024", "1234"]),
        ("1.2.3-rc1", ["1.2.3-rc1", "1.2.3", "1", "2", "3", "rc1"]),
        ("10:00", ["10:00", "10", "00"]),
        ("1,234,567", ["1234567", "1", "234", "567"]),
        ("1,2", ["1", "2"]),
        ("well-known", ["well", "known"]),
        ("e-mail", ["email", "e", "mail"]),
        ("U.S.A.", ["usa", "u", "s", "a"]),
        ("ann@acme.org", ["ann@acme.org", "ann", "acme.org", "acm", "org"]),
        ("isn't", ["isnt"]),
        ("we'll", ["we"]),
        ("l’homme", ["lhomm", "homm"]),
        ("__init__", ["init"]),
        ("ﬁne x²", ["fine", "x2"]),
        ("soft\u00adhyphen", ["softhyphen"]),
        ("Łódź Straße café", ["lodz", "strass", "cafe"]),
        ("हिन्दी भाषा", ["हिंदी", "भाषा"]),
        ("كِتَاب", ["كتاب"]),
        ("Йод ёлка", ["йод", "елка"]),
        ("iPhone15手机", ["iphone15", "手机"]),
        ("世", ["世"]),
        ("🚀", ["🚀"]),
        ("— … «»", []),
    ],
)
def test_terms(written: str, terms: list[str]) -> None:
    assert analyse(written) == terms


def test_a_timestamp_is_found_by_its_date() -> None:
    assert finds("2026-04-05", "due: 2026-04-05T10:00:00Z")


def test_languages() -> None:
    assert analyse("Häuser", "de") == ["haus"]
    assert analyse("running", "en-US") == ["run"]
    assert analyse("running", "tlh") == ["running"]
    assert query_terms("Häuser", ["en", "de"]) == (("hauser", "haus"),)
    assert terms_of("de-AT")["hauser"] == terms_of("de")["hauser"]


def test_no_more_than_three_languages() -> None:
    assert query_terms("houses", ["tlh", "xx", "yy", "en"]) == (("houses",),)


@settings(deadline=None)
@given(ANY)
def test_analysis_is_total_and_terms_are_storable(text: str) -> None:
    terms = analyse(text)
    assert " ".join(terms).split() == terms
    assert all(0 < len(term) <= LONGEST_TERM for term in terms)


@settings(deadline=None)
@given(ANY)
def test_case_width_and_accents_make_no_difference(text: str) -> None:
    terms = analyse(text)
    assert analyse(fold(text)) == terms
    assert analyse(unicodedata.normalize("NFD", text)) == terms


@settings(deadline=None)
@given(st.text(alphabet=UNSPACED, min_size=2, max_size=30), st.data())
def test_any_two_neighbours_are_found(text: str, data: st.DataObject) -> None:
    text = unicodedata.normalize("NFKC", text)
    at = data.draw(st.integers(0, len(text) - 2))
    assert finds(text[at : at + 2], f"see {text}, please")


@settings(deadline=None)
@given(ANY)
def test_a_text_finds_itself(text: str) -> None:
    assert not query_terms(text, ["en", "de"]) or finds(text, text, "en", "de")


@settings(deadline=None)
@given(ANY)
def test_a_token_has_as_many_terms_in_every_language(text: str) -> None:
    for token in tokens(text):
        assert len({len(terms_of(lang)[token]) for lang in ("en", "de", "ru", "ar", "")}) == 1


@pytest.mark.parametrize("sign", ["a.", "a-", "1,", "a'", "+", "c++", "_", "0x", "1.2,", "中", "a"])
def test_long_runs_are_no_trouble(sign: str) -> None:
    analyse(sign * 20_000)


def test_stop_words_go_only_while_a_word_remains() -> None:
    assert query_terms("what is the budget", ["en"]) == (("budget",),)
    assert query_terms("to be or not to be", ["en"]) == (("to",), ("be",), ("or",), ("not",))
    assert query_terms("wie ist das Wetter", ["en", "de"]) == (("wetter", "wett"),)
    assert analyse("to be or not") == ["to", "be", "or", "not"]


@pytest.mark.parametrize("lang", ["en", "de", "fr", "es", "it", "pt", "nl", "sv"])
def test_stop_words_are_words_of_the_analysis(lang: str) -> None:
    assert all(tokens(word) == [word] for word in stop_words(lang))


def test_stop_words_of_a_region_are_those_of_its_language() -> None:
    assert stop_words("en-GB") == stop_words("en_us") == stop_words("en")
    assert stop_words("tlh") == frozenset()


def test_punctuation_only() -> None:
    assert query_terms("?! -- ()", ["en"]) == ()
    assert parse_query('"?!" - ""', ["en"]).groups == ()


def test_operators() -> None:
    query = parse_query('pumps "the who" -foo.bar title:Acme -title:old title:"big deal"', ["en"])
    assert query.groups == (("pump",), ("the",), ("who",), ("acm",), ("big",), ("deal",))
    assert query.phrases == ((("the", "who"),),)
    assert query.excluded == ((("foo.bar", "foo", "bar"),),)
    assert query.titles == ((("acm",),), (("big", "deal"),))
    assert query.excluded_titles == ((("old",),),)


def test_what_is_no_operator() -> None:
    words = parse_query("well-known --flag subtitle:x - y", ["tlh"])
    assert [group[0] for group in words.groups] == [
        *("well", "known", "flag", "subtitle", "x", "y")
    ]
    assert not words.excluded and not words.titles


def test_unpaired_quotes() -> None:
    assert parse_query('"big deal', ["en"]).phrases == ()
    assert parse_query('"big deal" "now', ["en"]).phrases == ((("big", "deal"),),)
    assert parse_query("“big deal”", ["en"]).phrases == ((("big", "deal"),),)


def test_a_stop_word_alone_beside_a_phrase_goes() -> None:
    assert parse_query('the "be"', ["en"]).groups == (("be",),)


@settings(deadline=None)
@given(ANY)
def test_reading_a_query_is_total(text: str) -> None:
    parse_query(text, ["en", "de"])


def test_a_phrase_stands_in_order() -> None:
    terms = " ".join(analyse("The quick foo.bar jumps", "en"))
    (phrase,) = parse_query('"quick foo.bar"', ["de", "en"]).phrases
    assert holds(terms, phrase)
    (phrase,) = parse_query('"foo.bar quick"', ["en"]).phrases
    assert not holds(terms, phrase)


def test_a_phrase_stands_in_one_run() -> None:
    (phrase,) = parse_query('"quick fox"', ["en"]).phrases
    assert holds("the quick fox\tjumps", phrase)
    assert not holds("the quick\tfox jumps", phrase)
