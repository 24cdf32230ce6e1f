"""The corpora that ranking is judged on: ours, made from seeds, and labelled sets of a folder."""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

from scripts.benchmarks import conversations, knowledge_base
from scripts.benchmarks.judged import NOW, Judged, Made, Question
from scripts.benchmarks.labelled import read_set, slug

OWN = {"knowledge base": knowledge_base.made, "conversations": conversations.made}
DRAWN_DAYS = 365
STANDING = 0.1


def own(seeds: Sequence[int], share: float = 1.0) -> Iterator[tuple[str, Judged, int]]:
    """(name, corpus, seed) of ours; `share` of their full size."""
    for name, make in OWN.items():
        for seed in seeds:
            yield f"{name}, seed {seed}", make(seed, share), seed


def seeds_of(text: str) -> tuple[int, ...]:
    """Seeds between commas; "none"."""
    return () if text == "none" else tuple(int(seed) for seed in text.split(","))


def sets_below(parser: argparse.ArgumentParser, data: Path, names: Sequence[str]) -> Sequence[str]:
    """The labelled sets that were named, else all of a folder."""
    found = names or sorted(path.parent.name for path in data.glob("*/qrels.tsv"))
    if not found:
        parser.error(f"{data} holds no folder with a qrels.tsv")
    return found


def of_set(folder: Path) -> Judged:
    """A labelled set with dates, favourites and readers that say nothing."""
    labelled, draw = read_set(folder), random.Random(f"noise {folder.name}")
    engrams = tuple(
        Made(
            "doc", slug(one.id), one.title, one.text,
            NOW - timedelta(days=draw.uniform(0, DRAWN_DAYS)), standing=draw.random() < STANDING,
        )
        for one in labelled.documents
    )  # fmt: skip
    questions = tuple(
        Question(text, "all", {f"doc/{slug(one)}": n for one, n in labelled.relevant[id].items()})
        for id, text in labelled.questions.items()
    )
    past = tuple(
        Question("", "all", {draw.choice(engrams).path: 2}) for _ in range(len(engrams) // 4)
    )
    return Judged(folder.name, "kinds: {doc: {}}", engrams, questions, past)
