from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import EmbedderFailed, Invalid
from engine.tokens import COUNTERS, ModelTokenizer, bundled_tokenizer, counter

TEXT = st.text(
    st.one_of(st.sampled_from("aB9 .,-_'\n\t[]é中한ก’\x07\x85\xa0\u200b"), st.characters()),
    max_size=80,
)


def test_known_counts() -> None:
    assert counter("o200k")("hello world") == 2
    assert counter("cl100k")("hello world") == 2
    assert counter("bytes4")("12345") == 2
    assert counter("model")("hello world") == 4  # with the two tokens that the model adds


@pytest.mark.parametrize("name", COUNTERS)
def test_counters_take_anything(name: str) -> None:
    count = counter(name)
    assert count("<|endoftext|> \ud800 naïve") > 0
    assert count("naïve".encode()) == count("naïve")
    assert count(b"\xff\xfe") > 0
    assert count("") in (0, 2)


def test_a_host_counts_its_own_way() -> None:
    assert counter("model", len)("four") == 4


def test_an_unknown_counter_names_the_known_ones() -> None:
    with pytest.raises(Invalid, match="o200k, cl100k, bytes4, model"):
        counter("words")


@settings(deadline=None)
@given(TEXT)
def test_counting_by_word_is_exact(text: str) -> None:
    tokenizer = bundled_tokenizer()
    valid = text.encode("utf-8", "replace").decode()
    assert tokenizer.count(text) == len(tokenizer.tokenizer().encode(valid).ids)


@settings(deadline=None)
@given(TEXT)
def test_no_more_tokens_than_bytes(text: str) -> None:
    added = bundled_tokenizer().count("")
    assert bundled_tokenizer().count(text) - added <= len(text.encode("utf-8", "surrogatepass"))


def test_no_truncation() -> None:
    assert bundled_tokenizer().count("word " * 1000) == 1002
    assert len(bundled_tokenizer().tokenizer().encode("word " * 1000).ids) == 1002


def test_threads_share_a_counter() -> None:
    texts = [f"text number {n} of many, naïve and plain" for n in range(200)]
    with ThreadPoolExecutor(4) as pool:
        for name in COUNTERS:
            count = counter(name)
            assert list(pool.map(count, texts)) == [count(text) for text in texts]


def test_a_missing_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(EmbedderFailed, match=r"tokenizer\.json.*No such file"):
        ModelTokenizer(tmp_path / "tokenizer.json").count("x")


def test_a_damaged_tokenizer(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text('{"version": "1.0", "model"')
    with pytest.raises(EmbedderFailed, match="damaged"):
        ModelTokenizer(tmp_path / "tokenizer.json").count("x")
