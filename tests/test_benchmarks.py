"""The benchmarks run small and without the peers, and compare what is equal. Nothing is timed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scripts.benchmarks.corpora import OWN

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
        timeout=1_200,
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
    _, result = ran("quality", "--data", str(tmp_path), "--peers", "duckdb", "--seeds", "none")
    searches = {"lexical", "vector", "rrf", "score", "DuckDB FTS"}
    recalls = {"recall, lexical alone", "recall, vector alone", "recall, whole"}
    assert set(result["table"]) == searches | recalls
    ranked = dict.fromkeys(["nDCG@10", "recall@5", "recall@10", "recall@100", "MRR"], 1.0)
    packed = {"in 1,000 tokens": 1.0, "in 2,000 tokens": 1.0}
    for way, found in result["table"].items():
        assert found == {"made": ranked | (packed if way in recalls else {})}


def test_quality_recalls_from_corpora_of_its_own(tmp_path: Path) -> None:
    told, result = ran("quality", "--share", "0.05", "--seeds", "4", "--peers", "none")
    assert told.returncode == 0, told.stdout + told.stderr
    corpora = {"knowledge base, seed 4", "conversations, seed 4"}
    assert all(set(found) == corpora for found in result["table"].values())
    graph = result["table"]["recall, graph's own order"]
    assert all(0.0 < found["recall@100"] <= 1.0 for found in graph.values())
    for name in corpora:
        whole = result["table"]["recall, whole"][name]
        assert 0.0 < whole["in 1,000 tokens"] <= whole["in 2,000 tokens"]


def test_ablation_switches_every_part_off(tmp_path: Path) -> None:
    told, result = ran("ablation", "--share", "0.05", "--seeds", "4", "--keep", str(tmp_path))
    assert told.stderr.count("Traceback") == 0, told.stderr
    parts = {
        "recency", "favourite", "utility", "graph channel", "temporal channel",
        "neighbour share", "head weight", "exact channel",
    }  # fmt: skip
    for found in result["table"].values():
        assert set(found) == {"whole"} | {f"{part} off" for part in parts}
        assert found["whole"]["recall@100"] > 0.5
    assert len(result["targets"]) == len(parts)


def test_judgements_hold_by_construction() -> None:
    for make in OWN.values():
        corpus = make(4, 0.1)
        assert make(4, 0.1) == corpus, "a seed makes one corpus"
        assert make(5, 0.1) != corpus
        written = {made.path: made for made in corpus.engrams}
        assert len(written) == len(corpus.engrams)
        for question in (*corpus.questions, *corpus.past):
            assert question.relevant.keys() <= written.keys()
            assert max(question.relevant.values()) == 2, f"nothing answers {question.text}"
        changed = [one for one in corpus.questions if one.family in ("rule", "decision", "fact")]
        assert changed
        for one in changed:
            (path,) = one.relevant
            assert "superseded_by" not in written[path].properties


def test_recall_reads_through_a_mount(tmp_path: Path) -> None:
    told, result = ran("recall", "60", "--rounds", "1", "--keep", str(tmp_path))
    assert told.returncode == 0, told.stdout + told.stderr
    one = result["figures"]["one client p50"]["median"].keys()
    eight = result["figures"]["eight clients p50"]["median"].keys()
    assert {"by name", "written, then read", "engine in process", "floor: the same bytes"} <= one
    assert set(eight) == {"8 × by name", "8 × written, then read"}
    assert {"filters", "ranking", "pack", "channel vector"} <= result["stages"].keys()


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
