"""Labelled sets in the layout of BEIR, as a store, and how well a ranking answers them.

A set is a folder with `corpus.jsonl` (or .gz) of {_id, title, text}, `queries.jsonl` of
{_id, text}, and `qrels.tsv` with a heading and query, document, score.
"""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.engine import Engine
from engine.errors import Invalid
from engine.model import Draft
from engine.namespace import Scope

SCOPE = Scope((), exact=True)
BATCH = 50  # documents a transaction


@dataclass(frozen=True)
class Document:
    """One document of a set."""

    id: str
    title: str
    text: str


@dataclass(frozen=True)
class LabelledSet:
    """`relevant`: question -> document -> grade above 0; only questions that have one are kept."""

    name: str
    documents: tuple[Document, ...]
    questions: Mapping[str, str]
    relevant: Mapping[str, Mapping[str, int]]


def read_set(folder: Path) -> LabelledSet:
    """Read a set. ValueError names what is missing."""
    packed, plain = folder / "corpus.jsonl.gz", folder / "corpus.jsonl"
    corpus = packed if packed.is_file() else plain
    for path in (corpus, folder / "queries.jsonl", folder / "qrels.tsv"):
        if not path.is_file():
            raise ValueError(f"{path} is missing: a labelled set has corpus, queries and qrels")
    with gzip.open(corpus, "rt") if corpus is packed else corpus.open() as lines:
        documents = tuple(
            Document(row["_id"], row.get("title", "").strip(), row["text"])
            for row in map(json.loads, lines)
        )
    relevant: dict[str, dict[str, int]] = {}
    with (folder / "qrels.tsv").open() as lines:
        for line in itertools.islice(lines, 1, None):
            question, document, grade = line.split("\t")
            if int(grade) > 0:
                relevant.setdefault(question, {})[document] = int(grade)
    with (folder / "queries.jsonl").open() as lines:
        asked = {row["_id"]: row["text"] for row in map(json.loads, lines)}
    questions = {id: text for id, text in asked.items() if id in relevant}
    return LabelledSet(folder.name, documents, questions, relevant)


def source(document: Document) -> bytes:
    """The document as somebody would save it: its title in the front matter, then its text."""
    head = f"---\ntitle: {json.dumps(document.title, ensure_ascii=False)}\n---\n"
    return ((head if document.title else "") + document.text + "\n").encode()


def slug(document: str) -> str:
    """The file that a document is stored as; `document_of` reads it back."""
    return f"d{document}"


def document_of(slug: str) -> str:
    """The id of a document from its slug."""
    return slug[1:]


def fill(engine: Engine, documents: Sequence[Document]) -> None:
    """Put every document; an error says which one was refused."""
    for at in range(0, len(documents), BATCH):
        batch = documents[at : at + BATCH]
        drafts = [Draft("doc", slug(document.id), source(document)) for document in batch]
        for document, result in zip(batch, engine.put_many(SCOPE, drafts), strict=True):
            if isinstance(result, Invalid):
                raise ValueError(f"document {document.id} was refused: {result}")
