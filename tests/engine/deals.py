"""A kind with a field of every type, and documents judged by it."""

from __future__ import annotations

from typing import Any

import pytest

from engine.catalogue import Catalogue
from engine.document import parse
from engine.errors import Invalid, Problem
from engine.kinds_file import parse_kinds
from engine.validation import Head, read_head

DEAL = parse_kinds(
    """\
kinds:
  Deal:
    lang: de
    embed: false
    fields:
      stage: {type: string, enum: [open, won, "no"]}
      sleep: {type: string}
      ver: {type: string}
      zip: {type: string}
      amount: {type: number}
      sizes: {type: [number]}
      done: {type: boolean}
      due: {type: datetime}
      days: {type: [datetime]}
      codes: {type: [string]}
      person: {type: string, link: about, to: person}
      who: {type: [string], link: about}
  person: {}
  strict: {fields: {name: {type: string, required: true}}}
  chunk: {part: true}
"""
)


def head(
    block: str, catalogue: Catalogue = DEAL, kind: str = "Deal", slug: str = "acme", body: str = ""
) -> Head:
    return read_head(parse(f"---\n{block}\n---\n{body}".encode()), catalogue, kind, slug, slug)


def problems(block: str, **place: Any) -> tuple[Problem, ...]:
    with pytest.raises(Invalid) as caught:
        head(block, **place)
    return caught.value.problems
