"""A model of one's own, from the settings to the files: used, refused, or told to be missing."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.engine.tiny_model import WORDS, table, write_model
from tests.mounted import Mounted, engramfs, run
from tests.waiting import until


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mounted]:
    model = write_model(tmp_path / "model")
    settings = {
        "ENGRAMFS_MODEL": str(model),
        "ENGRAMFS_MODEL_POOLING": "cls",
        "ENGRAMFS_MODEL_QUERY_PREFIX": "query: ",
        "ENGRAMFS_MODEL_TOKENS": "32",
    }
    mount = Mounted(tmp_path / "mnt", tmp_path / "store", None, extra=settings).start()
    try:
        (mount.root / "note").mkdir()
        (mount.root / "note" / "pump.md").write_text("# Pump\n\nhot pump\n")
        until(lambda: "pending vectors: 0\n" in status(mount))
        yield mount
    finally:
        if mount.root.is_mount():
            mount.stop()


def status(mount: Mounted) -> str:
    return (mount.root / ".status").read_text()


def test_it_answers_questions(mount: Mounted) -> None:
    assert "vector 1" in (mount.root / ".search?q=hot").read_text()
    assert "problems: none" in status(mount)
    mount.check()


def test_a_damaged_one_is_told_and_all_else_works(mount: Mounted, tmp_path: Path) -> None:
    mount.stop()
    (tmp_path / "model" / "model.onnx").write_text("no model")
    mount.start()
    (mount.root / "note" / "pie.md").write_text("# Pie\n\napple pie\n")
    until(lambda: "model.onnx cannot be loaded" in status(mount))
    assert "pending vectors: 2\n" in status(mount)
    assert "it is damaged, or no ONNX model" in status(mount)
    found = (mount.root / ".search?q=apple").read_text()
    assert "note/pie.md" in found
    assert "model.onnx cannot be loaded" in (mount.root / ".recall?q=apple&format=json").read_text()
    mount.check()


def test_what_does_not_fit_the_store_is_no_mount(mount: Mounted, tmp_path: Path) -> None:
    mount.stop()
    settings = dict(mount.extra)
    command = ("mount", mount.root, "--store", mount.store)
    settings["ENGRAMFS_MODEL"] = str(write_model(tmp_path / "six", table(6)))
    refused = run(*command, env=settings)
    assert refused.returncode != 0
    assert "(4 numbers)" in refused.stderr and "engramfs reindex --embed" in refused.stderr
    (tmp_path / "six" / "tokenizer.json").unlink()
    refused = run(*command, env=settings)
    assert refused.returncode != 0
    assert "a model is a directory with model.onnx and tokenizer.json" in refused.stderr
    write_model(tmp_path / "six", table(6))
    engramfs("reindex", "--embed", "--store", mount.store, env=settings)
    engramfs(*command, env=settings)
    assert "pending vectors: 0\n" in status(mount)
    mount.check()


def test_inline_nothing_is_stored_that_could_not_be_embedded(
    mount: Mounted, tmp_path: Path
) -> None:
    mount.stop()
    rows = table()
    rows[WORDS.index("pie")] = np.nan
    settings = dict(mount.extra, ENGRAMFS_MODEL=str(write_model(tmp_path / "broken", rows)))
    store = ("--store", mount.store)
    engramfs("reindex", "--embed", *store, env=settings)
    engramfs("mount", mount.root, *store, "--embed", "inline", env=settings)
    with pytest.raises(OSError) as refused:
        (mount.root / "note" / "new.md").write_text("# pie\n")
    assert refused.value.errno == errno.EIO
    with pytest.raises(OSError):
        (mount.root / "note" / "pump.md").write_text("# pie\n")
    assert (mount.root / "note" / "pump.md").read_text().endswith("# Pump\n\nhot pump\n")
    assert "engrams: 1\n" in status(mount)
    assert "without direction" in mount.errors()
    mount.check()
