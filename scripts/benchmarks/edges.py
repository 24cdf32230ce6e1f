"""Does recall find more when it goes on along edges, and does it lose anything?

    scripts/bench edges --book DIR [--words-only]

DIR holds the Markdown files of the Rust book. Two sets of questions, each with the chapter that
answers it: twenty asked by hand, which words alone answer well, so that edges can only harm; and
the sentences around the book's links to other chapters, without the link's own text, where the
chapter linked to is wanted and its linker is left out of the ranking. Each is asked by words and
vectors alone, by hop distance at several weights, and by bounded PageRank instead. With
--words-only nothing is embedded.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from engine.channels import Retrieved, retrieve
from engine.embed import OnnxEmbedder
from engine.engine import Engine
from engine.errors import Invalid
from engine.filters import Filters
from engine.fusion import Floats, Mask
from engine.graph_channel import GraphChannel, Reached, Spread
from engine.masks import Masks, masks
from engine.model import Draft
from engine.namespace import Scope
from engine.ranking import Rules, rank
from engine.recall.given import SEARCHED
from scripts.benchmarks.bounded_rank import bounded_rank

SCOPE = Scope((), exact=True)
ASKED = {  # by hand -> the chapter that answers
    "how do I start a new project with cargo": "ch01-03-hello-cargo",
    "declaring a variable again under the same name": "ch03-01-variables-and-mutability",
    "leave an outer loop from inside a nested one": "ch03-05-control-flow",
    "a struct whose fields have no names": "ch05-01-defining-structs",
    "print a struct while debugging": "ch05-02-example-structs",
    "functions that take self": "ch05-03-method-syntax",
    "every possible value has to be handled by an arm": "ch06-02-match",
    "handle one pattern and ignore the rest": "ch06-03-if-let",
    "re-export a name so that other code can call it": (
        "ch07-04-bringing-paths-into-scope-with-the-use-keyword"
    ),
    "should my function panic or return an error": "ch09-03-to-panic-or-not-to-panic",
    "does generic code cost anything at run time": "ch10-01-syntax",
    "restrict a type parameter to types with some behaviour": "ch10-02-traits",
    "run only one test out of many": "ch11-02-running-tests",
    "option to search case insensitively set from the shell": (
        "ch12-05-working-with-environment-variables"
    ),
    "recursive type whose size is not known": "ch15-01-box",
    "several owners of one value": "ch15-04-rc",
    "change a value behind an immutable reference": "ch15-05-interior-mutability",
    "threads that talk by passing messages": "ch16-02-message-passing",
    "only one thread at a time may get at the data": "ch16-03-shared-state",
    "web server that answers many requests with a pool of threads": "ch21-02-multithreaded",
}
WEIGHTS = (0.1, 0.2, 0.4, 0.8)
HARM = 0.0  # of recall@5 that the questions asked by hand may lose

_LINK = re.compile(r"\[([^\[\]]+)\](?:\[([^\[\]]*)\]|\(([^()\s]+)\))")
_DEFINITION = re.compile(r"^\[([^\[\]]+)\]: *(\S+)", re.MULTILINE)
_END = re.compile(r"(?<=[.!?:])\s+|\n\n+")
_LEAST_WORDS = 6  # of a sentence that can be a question


@dataclass(frozen=True, slots=True)
class Question:
    """`without`: a chapter that holds its very words, and is not counted."""

    text: str
    answer: str
    without: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """Questions with what the other channels find; that is the same for every way."""

    questions: Sequence[Question]
    found: Sequence[Retrieved]
    mask: Masks


class ByRank(GraphChannel):
    """Bounded PageRank in the place of hop distance, the best reached as high as by a hop."""

    def reach(self, base: Floats, hits: Mask) -> Mapping[int, Reached]:
        scores = np.where(hits, np.minimum(base, 1.0), 0.0)
        best = np.argsort(-scores, kind="stable")[: self.how.seeds].tolist()
        seeds = {no: float(scores[no]) for no in best if scores[no] > 0.0}
        ranks = bounded_rank(partial(self.neighbours, direction="both"), seeds) if seeds else {}
        reached = {no: score for no, score in ranks.items() if no not in seeds and score > 0.0}
        highest = max(reached.values(), default=1.0)
        return {
            no: Reached(0.5 * score / highest, "", True, no, 1) for no, score in reached.items()
        }


def main(arguments: list[str]) -> bool:
    """Run the benchmark; True when the questions asked by hand lose nothing."""
    parser = argparse.ArgumentParser(prog="scripts/bench edges", description=__doc__)
    parser.add_argument("--book", type=Path, required=True)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--words-only", action="store_true")
    asked = parser.parse_args(arguments)
    files = sorted(asked.book.glob("*.md"))
    if not files:
        parser.error(f"{asked.book} holds no Markdown")
    embed = "off" if asked.words_only else "inline"
    model = None if asked.words_only else OnnxEmbedder(asked.model)
    engine = Engine.open(":memory:", kinds="kinds: {book: {}}", embed=embed, embedder=model)
    try:
        drafts = [Draft("book", file.stem, file.read_bytes()) for file in files]
        for made in engine.put_many(SCOPE, drafts):
            if isinstance(made, Invalid):
                raise made
        sets = {
            "asked by hand": [Question(text, answer) for text, answer in ASKED.items()],
            "around links": list(around_links(files)),
        }
        table = {name: dict(measured(engine, questions)) for name, questions in sets.items()}
    finally:
        engine.close()
    return told(table, sets)


def around_links(files: Sequence[Path]) -> Iterator[Question]:
    """Sentences with a link to another chapter, as questions for that chapter."""
    stems = {file.stem for file in files}
    for file in files:
        text = file.read_text()
        urls = {label.casefold(): url for label, url in _DEFINITION.findall(text)}
        for sentence in _END.split(_DEFINITION.sub("", text)):
            for link in _LINK.finditer(sentence):
                url = link[3] or urls.get((link[2] or link[1]).casefold(), "")
                answer = url.partition("#")[0].removesuffix(".html").removesuffix(".md")
                words = _LINK.sub(" ", sentence).replace('"', " ").split()
                if answer in stems - {file.stem, "SUMMARY"} and len(words) >= _LEAST_WORDS:
                    yield Question(" ".join(words), answer, file.stem)


def measured(
    engine: Engine, questions: Sequence[Question]
) -> Iterator[tuple[str, dict[str, float]]]:
    """Figures of every way to ask: by words and vectors, and through edges."""
    reader = engine.reading
    mask = masks(reader.columns.now(), reader.properties, SCOPE, Filters())
    found = [
        retrieve(reader, reader.columns.now(), mask.covered, mask.hidden, one.text, SEARCHED)
        for one in questions
    ]
    asked = Asked(questions, found, mask)
    yield "no edges", figures(engine, asked, None, 0.0)
    for hops, reverse in ((1, False), (2, False), (1, True)):
        how = Spread(hops, reverse)
        name = f"{hops} hop{'s' if hops > 1 else ''}{', reverse' if reverse else ''}"
        for weight in WEIGHTS:
            print(f"{name}, {weight}", file=sys.stderr, flush=True)
            yield (
                f"{name}, weight {weight}",
                figures(engine, asked, (GraphChannel, how), weight),
            )
    for weight in WEIGHTS:
        print(f"PageRank, {weight}", file=sys.stderr, flush=True)
        yield f"PageRank, weight {weight}", figures(engine, asked, (ByRank, Spread()), weight)


def figures(
    engine: Engine,
    asked: Asked,
    graph: tuple[type[GraphChannel], Spread] | None,
    weight: float,
) -> dict[str, float]:
    """Recall at 5 and at 10, and the mean reciprocal rank."""
    reader = engine.reading
    columns = reader.columns.now()
    rules = Rules(replace(reader.config, graph_weight=weight), now_ns=reader.now_ns())
    places = []
    for question, found in zip(asked.questions, asked.found, strict=True):
        channel = None
        if graph is not None:
            kind, how = graph
            channel = kind(partial(reader.neighbours, SCOPE), how)
        ranking = rank(columns, found, asked.mask.allowed, (), rules, len(columns), channel)
        slugs = [one.entry.slug for one in ranking.ranked if one.entry.slug != question.without]
        places.append(slugs.index(question.answer) if question.answer in slugs else len(slugs) + 1)
    return {
        "recall@5": float(np.mean([place < 5 for place in places])),
        "recall@10": float(np.mean([place < 10 for place in places])),
        "MRR": float(np.mean([1.0 / (place + 1) for place in places])),
    }


def told(
    table: Mapping[str, Mapping[str, Mapping[str, float]]], sets: Mapping[str, Sequence[Question]]
) -> bool:
    """Print the tables, the promise and the JSON; True when it is kept."""
    for name, ways in table.items():
        print(f"\n{name}: {len(sets[name])} questions\n")
        print("| | recall@5 | recall@10 | MRR |\n|---|---|---|---|")
        for way, found in ways.items():
            print(f"| {way} | " + " | ".join(f"{value:.3f}" for value in found.values()) + " |")
    hand = table["asked by hand"]
    before, after = (hand[way]["recall@5"] for way in ("no edges", "1 hop, weight 0.2"))
    kept = after >= before - HARM
    sentence = (
        f"recall@5 of what is asked by hand {after:.3f}, not below {before:.3f} without edges"
    )
    print(f"\n{sentence}: {'kept' if kept else 'MISSED'}")
    print("\n" + json.dumps({"benchmark": "edges", "table": table, "targets": [[kept, sentence]]}))
    return kept
