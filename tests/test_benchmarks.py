"""The benchmarks run small and without the peers, and compare what is equal. Nothing is timed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
SET = {
    "pump": "The pump overheats when its valve stays closed for an hour.",
    "valve": "A valve that sticks is cleaned with oil and opened by hand.",
    "invoice": "The invoice of March was paid late, with two reminders.",
}


def ran(*arguments: str) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """A benchmark, and the JSON object of its last line."""
    told = subprocess.run(
        [sys.executable, "-m", "scripts.benchmarks", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    last = told.stdout.strip().splitlines()[-1:] or ["{}"]
    return told, json.loads(last[0]) if last[0].startswith("{") else {}


def test_search_answers_as_the_extension_does(tmp_path: Path) -> None:
    told, result = ran(
        "search", "300", "--peers", "duckdb", "--rounds", "1", "--keep", str(tmp_path)
    )
    assert told.returncode == 0, told.stdout + told.stderr
    assert result["questions"] == 250
    assert result["different"] == 0
    assert set(result["figures"]["hybrid p50"]["median"]) >= {"engine", "engine, a page"}
    grown, _ = ran("growth", str(tmp_path), str(tmp_path / "growth.svg"))
    assert grown.returncode == 0, grown.stderr
    assert f"{result['parts']:,} parts" in grown.stdout
    assert (tmp_path / "growth.svg").read_text().startswith("<svg")


def test_quality_judges_every_way_to_ask(tmp_path: Path) -> None:
    place = tmp_path / "made"
    place.mkdir()
    corpus = [{"_id": id, "title": "", "text": text} for id, text in SET.items()]
    (place / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)))
    (place / "queries.jsonl").write_text(json.dumps({"_id": "1", "text": "an overheating pump"}))
    (place / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n1\tpump\t1\n")
    _, result = ran("quality", "--data", str(tmp_path), "--peers", "duckdb")
    assert set(result["table"]) == {"lexical", "vector", "rrf", "score", "DuckDB FTS"}
    for found in result["table"].values():
        assert found == {"made": [1.0, 1.0]}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["search", "--peers", "lucene"], "no peer is called lucene"),
        (["quality", "--data", "/nowhere"], "/nowhere holds no folder with a qrels.tsv"),
        (["nothing"], "usage: scripts/bench "),
    ],
)
def test_what_cannot_run_is_a_sentence(arguments: list[str], sentence: str) -> None:
    told, _ = ran(*arguments)
    assert told.returncode != 0
    assert sentence in told.stderr


def test_graph_walks_as_recursive_sql_does() -> None:
    told, result = ran(
        "graph", "--engrams", "60", "--edges", "240", "--peers", "duckdb", "--rounds", "1"
    )
    assert told.stderr.count("Traceback") == 0, told.stderr
    assert result["different"] == 0
    assert {"load", "link", "neighbours p50", "path p50", "pagerank"} <= result["figures"].keys()


def test_edges_asks_both_sets_with_and_without(tmp_path: Path) -> None:
    (tmp_path / "ch15-04-rc.md").write_text("# Rc\n\nSeveral owners of one value, counted.\n")
    (tmp_path / "ch15-01-box.md").write_text(
        "# Box\n\nA value on the heap has one owner, not as in [the next](ch15-04-rc.md).\n"
    )
    told, result = ran("edges", "--book", str(tmp_path))
    assert told.returncode == 0, told.stdout + told.stderr
    assert result["table"]["around links"]["1 hop, weight 0.2"]["recall@5"] == 1.0
