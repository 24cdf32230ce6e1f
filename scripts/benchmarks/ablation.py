"""What each part of the ranking is worth: recall as it is, and with each part switched off.

    scripts/bench ablation [--data DIR [SET …]] [--seeds N,…] [--keep DIR] [--values]
                           [--set NAME=VALUE …] [--share X] [--parts NAME,…]
                           [--favourites pages|opened]

On both corpora of our own (see `knowledge_base` and `conversations`), made from each of the seeds,
and on the labelled sets below DIR, whose dates, favourites and readers are drawn at random: there a
part can only harm. Weights may be chosen by looking at seed 1, and are judged by the others. With
--values other values of each number are tried too; --set changes a number of the config throughout;
--share makes our own corpora smaller, --parts tries some parts only. Favourites are some of the
pages that people come back to and a few others, or some of what askers of past questions opened.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from engine.config import Config
from engine.embed import OnnxEmbedder
from engine.engine import Engine
from engine.recall.given import CHANNELS
from scripts.benchmarks.cached import CachedEmbedder
from scripts.benchmarks.corpora import OWN, of_set, own, seeds_of, sets_below
from scripts.benchmarks.judged import OPENED, PAGES, Clock, Judged, fill
from scripts.benchmarks.measures import (
    BUDGETS,
    NAMES,
    Measures,
    ask,
    measured,
    ndcg,
    wait_until_ready,
)
from scripts.benchmarks.quality import changed

WHOLE = "whole"
CHOOSING = ", seed 1"


@dataclass(frozen=True)
class Part:
    """A part of the ranking: a number of the config, or a channel of the request."""

    number: str = ""
    off: float = 0.0
    others: tuple[float, ...] = ()
    channel: str = ""

    def tried(self, values: bool) -> Iterator[tuple[str, Mapping[str, float], Mapping[str, Any]]]:
        """(name, changes of the config, fields of the request)."""
        if self.channel:
            rest = tuple(name for name in CHANNELS if name != self.channel)
            yield "off", {}, {"channels": rest}
        else:
            yield "off", {self.number: self.off}, {}
        for value in self.others if values else ():
            yield f"{value:g}", {self.number: value}, {}


PARTS: Mapping[str, Part] = {
    "recency": Part("recency_floor", 1.0, (0.95, 0.9, 0.85, 0.8, 0.7)),
    "favourite": Part("favourite_factor", 1.0, (1.02, 1.05, 1.15, 1.3)),
    "utility": Part("utility_share", 0.0, (0.05, 0.1, 0.2, 0.4)),
    "graph channel": Part("graph_weight", 0.0, (0.1, 0.2, 0.3, 0.4), channel="graph"),
    "temporal channel": Part("temporal_weight", 0.0, (0.05, 0.1, 0.2, 0.4), channel="temporal"),
    "neighbour share": Part("neighbour_share", 0.0, (0.1, 0.2, 0.3)),
    "head weight": Part("head_weight", 1.0, (0.5, 0.6, 0.7, 0.8, 0.9)),
    "exact channel": Part(channel="exact"),
}


# (part, value, changes of the config, fields of the request)
Change = tuple[str, str, Mapping[str, float], Mapping[str, Any]]


@dataclass
class Found:
    """Of one corpus by (part, value): the measures, nDCG@10 of each question and by family."""

    all: dict[tuple[str, str], Measures] = field(default_factory=dict)
    each: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    by_family: dict[tuple[str, str], dict[str, float]] = field(default_factory=dict)


def main(arguments: list[str]) -> bool:
    """Run the benchmark; True when no part that is on harms the whole."""
    parser = argparse.ArgumentParser(prog="scripts/bench ablation", description=__doc__)
    parser.add_argument("sets", nargs="*", metavar="SET")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seeds", type=seeds_of, default=(1, 2, 3))
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--values", action="store_true")
    parser.add_argument("--favourites", choices=(PAGES, OPENED), default=PAGES)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="changes")
    asked = parser.parse_args(arguments)
    config = changed(Config(), asked.changes)
    names = asked.parts.split(",")
    if unknown := set(names) - PARTS.keys():
        parser.error(f"no part is called {', '.join(sorted(unknown))}: {', '.join(PARTS)}")
    tried: list[Change] = [(WHOLE, "", {}, {})]
    tried += [(name, *each) for name in names for each in PARTS[name].tried(asked.values)]
    work = Path(tempfile.mkdtemp(prefix="engramfs-bench-"))
    table: dict[str, Found] = {}
    try:
        embedder = CachedEmbedder(OnnxEmbedder(), asked.keep or work / "keep")
        judged = list(own(asked.seeds, asked.share))
        if asked.data is not None:
            sets = sets_below(parser, asked.data, asked.sets)
            judged += [(name, of_set(asked.data / name), 0) for name in sets]
        for name, corpus, seed in judged:
            said(f"{name}: {len(corpus.engrams)} engrams, {len(corpus.questions)} questions")
            place = work / name.replace(" ", "-").replace(",", "")
            table[name] = judge(place, corpus, seed, embedder, config, tried, asked.favourites)
    finally:
        shutil.rmtree(work)
    return told(table)


def judge(
    place: Path,
    corpus: Judged,
    seed: int,
    embedder: CachedEmbedder,
    config: Config,
    tried: Sequence[Change],
    liking: str,
) -> Found:
    """The whole, and every part switched off, over one store."""
    clock, found = Clock(), Found()
    engine = Engine.open(
        place, kinds=corpus.kinds, embed="inline", embedder=embedder, clock=clock, config=config
    )
    fill(engine, clock, corpus, seed, liking)
    engine.close()
    for name, value, numbers, how in tried:
        numbered: dict[str, Any] = dict(numbers)
        engine = Engine.open(
            place, embed="inline", embedder=embedder, clock=clock,
            config=replace(config, **numbered),
        )  # fmt: skip
        try:
            wait_until_ready(engine)
            budgets = BUDGETS if name == WHOLE else ()
            answers = [(ask(engine, one.text, budgets, **how), one) for one in corpus.questions]
        finally:
            engine.close()
        found.all[name, value] = measured((answer, one.relevant) for answer, one in answers)
        found.by_family[name, value] = {
            family: measured(
                (answer, one.relevant) for answer, one in answers if one.family == family
            )["nDCG@10"]
            for family in dict.fromkeys(one.family for one in corpus.questions)
        }
        found.each[name, value] = [ndcg(answer.ranked, one.relevant) for answer, one in answers]
        said(f"  {name} {value} nDCG@10 {found.all[name, value]['nDCG@10']:.4f}")
    return found


def told(table: Mapping[str, Found]) -> bool:
    """Print what each part is worth, corpus by corpus, the verdicts and the JSON."""
    for corpus, found in table.items():
        families = list(found.by_family[WHOLE, ""])
        print(f"\n{corpus}\n")
        print("| | " + " | ".join([*NAMES, *(families if len(families) > 1 else [])]) + " |")
        print("|---" * (1 + len(NAMES) + (len(families) if len(families) > 1 else 0)) + "|")
        for key, measures in found.all.items():
            cells = [f"{measures[name]:.3f}" if name in measures else "" for name in NAMES]
            if len(families) > 1:
                cells += [f"{found.by_family[key][family]:.3f}" for family in families]
            print(f"| {' '.join(key).strip()} | {' | '.join(cells)} |")
    verdicts = list(worth(table))
    print("\n" + "\n".join(sentence for _, sentence in verdicts))
    rows = {
        corpus: {" ".join(key).strip(): measures for key, measures in found.all.items()}
        for corpus, found in table.items()
    }
    by_family = {
        corpus: {" ".join(key).strip(): by for key, by in found.by_family.items()}
        for corpus, found in table.items()
    }
    result = {"benchmark": "ablation", "table": rows, "families": by_family, "targets": verdicts}
    print("\n" + json.dumps(result))
    return all(kept for kept, _ in verdicts)


def worth(table: Mapping[str, Found]) -> Iterator[tuple[bool, str]]:
    """What every change gains beside the whole; a verdict (no harm, sentence) of each part.

    Judged by our corpora of other seeds than the one that weights are chosen by. A part earns its
    place, or harms, by more than twice the standard error of the mean over the same questions.
    """
    groups = {
        "ours, judging": [name for name in table if _is_ours(name) and not name.endswith(CHOOSING)],
        "ours, choosing": [name for name in table if name.endswith(CHOOSING)],
        "sets": [name for name in table if not _is_ours(name)],
    }
    used = {group: names for group, names in groups.items() if names}
    print("\nnDCG@10 with a change, less that of the whole (± the standard error)\n")
    print(f"| | {' | '.join([*table, *used])} |\n" + "|---" * (len(table) + len(used) + 1) + "|")
    for key in next(iter(table.values())).all:
        if key[0] == WHOLE:
            continue
        gained = {name: _gained(found, key) for name, found in table.items()}
        means = {group: _mean([gained[name] for name in names]) for group, names in used.items()}
        cells = [f"{mean:+.4f}" for mean, _ in gained.values()]
        cells += [f"{mean:+.4f} ± {error:.4f}" for mean, error in means.values()]
        print(f"| {' '.join(key)} | {' | '.join(cells)} |")
        if key[1] == "off":
            group, (mean, error) = next(iter(means.items()))
            said = "harms" if mean > 2 * error else "earns" if mean < -2 * error else "no matter"
            yield mean <= 2 * error, f"{key[0]} off: {mean:+.4f} ± {error:.4f} ({group}): {said}"


def _is_ours(name: str) -> bool:
    return name.partition(", seed")[0] in OWN


def _gained(found: Found, key: tuple[str, str]) -> tuple[float, float]:
    """(mean, standard error) of what a change gains, question by question."""
    pairs = zip(found.each[key], found.each[WHOLE, ""], strict=True)
    changes = [changed - whole for changed, whole in pairs]
    return statistics.mean(changes), statistics.stdev(changes) / len(changes) ** 0.5


def _mean(gained: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Over corpora, each as weighty as the next."""
    mean = statistics.mean(mean for mean, _ in gained)
    return mean, sum(error**2 for _, error in gained) ** 0.5 / len(gained)


def said(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
