"""The JSON form of an answer: one object, one item a line. Arrays are always present."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.filters import CORE_KEYS
from engine.model import NOWHERE, Passage, Relation
from engine.recall.answer import ECHO_BYTES, REASON_CHARACTERS, Extras, Head, echo, echo_each
from engine.recall.chunks import Chunk
from engine.recall.items import Item
from engine.recall.sources import Source
from engine.recall.tail import NO_TAIL, Tail
from engine.visible import json_text

PATHS = (20, 10, 5, 3, 2, 1, 0)
ECHOES = (64, 16, 0)
WARNING_CHARACTERS = 300


class JsonForm:
    """For programs."""

    front_tokens: int | None = None
    counts_items = True

    def section(self, item: Item) -> str:
        return json_text(item_values(item)) + "\n"

    def ladder(self, head: Head) -> Sequence[Extras]:
        most = len(head.paths)
        steps = dict.fromkeys(min(n, most) for n in PATHS)
        return [
            *(Extras(n, ECHO_BYTES, True, True) for n in steps),
            *(Extras(0, n, True, True) for n in ECHOES),
        ]

    def source(self, source: Source) -> str:
        held = {
            "path": source.path,
            "title": source.title,
            "text": None if source.same_as else source.text,
            "same_as": source.same_as or None,
        }
        return f"{json_text(source.id)}:{json_text(held)}"

    def chunk(self, chunk: Chunk) -> str:
        held = {"path": chunk.path, "id": chunk.id, "score": round(chunk.passage.score, 6)}
        return json_text(held | passage_values(chunk.passage))

    def sources(self, sections: Sequence[str]) -> str:
        return "{" + ",\n".join(sections) + "}"

    def chunks(self, sections: Sequence[str]) -> str:
        return "[" + ",\n".join(sections) + "]"

    def render(
        self, head: Head, extras: Extras, sections: Sequence[str], tail: Tail = NO_TAIL
    ) -> str:
        values = self._values(head, extras)
        pieces = [f"{json_text(key)}:{json_text(value)}" for key, value in values.items()]
        # Blanks behind the first commas are what an answer is padded with (see `settle`).
        front = "".join(
            f"{piece},{' ' if n < extras.pad else ''}" for n, piece in enumerate(pieces)
        )
        items = ",".join(sections)
        if extras.bare:
            return f'{{{front}"items":[\n{items}]}}\n'
        behind = f'"sources":{self.sources(tail.sources)},"chunks":{self.chunks(tail.chunks)}'
        return f'{{{front}"items":[\n{items}],{behind}}}\n'

    def _values(self, head: Head, extras: Extras) -> dict[str, object]:
        values: dict[str, object] = {"tokens": head.tokens, "truncated": head.truncated}
        if extras.bare:
            return values
        return values | {
            "omitted": {"count": head.omitted, "paths": list(head.paths[: extras.paths])},
            "untagged": head.untagged,
            "characters": head.characters,
            "counter": head.counter,
            "token": head.token,
            "degraded": [
                {"what": said.what, "reason": said.reason[:REASON_CHARACTERS]}
                for said in head.degraded
            ],
            "warnings": [warning[:WARNING_CHARACTERS] for warning in head.warnings],
            "controls": _echoed(head.controls, extras.echo),
        }


def item_values(item: Item) -> dict[str, object]:
    """An item as JSON holds it."""
    return {
        "path": item.path,
        "id": item.id,
        "kind": item.kind,
        "surface": item.surface,
        "title": item.title,
        "summary": item.summary,
        "status": item.status,
        "source_role": item.source_role,
        "score": round(item.score, 6),
        "channels": dict(item.channels),
        "tokens": item.tokens,
        "relation": relation_values(item.relation),
        "fact": fact_values(item),
        "source_ids": list(item.source_ids),
        "same_as": item.same_as or None,
        "body": item.body,
        "passages": [passage_values(passage) for passage in item.passages],
        "properties": dict(item.properties),
        "properties_cut": list(item.cut),
    }


def fact_values(item: Item) -> dict[str, object] | None:
    """An edge as JSON holds it, with both ends; None for what is no fact."""
    fact = item.fact
    if fact is None:
        return None
    return {
        "source": item.path,
        "source_id": fact.source.id,
        "relation": fact.relation,
        "target": item.target if item.target != fact.target.id else None,
        "target_id": fact.target.id,
        "note": fact.note,
        "role": fact.role,
        "status": fact.status,
        "confidence": fact.confidence,
        "evidence_id": fact.evidence_id,
    }


def relation_values(relation: Relation | None) -> dict[str, object] | None:
    """How an engram was reached, as JSON holds it; None for one that was not reached."""
    if relation is None:
        return None
    return {
        "label": relation.label,
        "direction": "out" if relation.outward else "in",
        "source": relation.source,
        "hop": relation.hop,
    }


def passage_values(passage: Passage) -> dict[str, object]:
    """A passage as JSON holds it; one that does not stand in the file has no lines there, and the
    text of a quote that an item before shows is null."""
    span, there = passage.span, passage.span != NOWHERE
    return {
        "text": passage.text or None,
        "heading_path": list(passage.heading_path),
        "start_line": span.start_line if there else None,
        "end_line": span.end_line if there else None,
        "byte_start": span.byte_start if there else None,
        "byte_end": span.byte_end if there else None,
    }


def with_trace(answer: str, trace: Mapping[str, object]) -> str:
    """The answer with its trace as the last member, so that the whole stays one JSON value."""
    end = answer.rindex("}")
    return f'{answer[:end]},"trace":{json_text(trace)}{answer[end:]}'


def _echoed(controls: Mapping[str, object], most_bytes: int) -> dict[str, object]:
    """Controls with the question and the filters' values cut; without room, filters are counted."""
    shown: dict[str, object] = {}
    filters = 0
    for key, value in controls.items():
        if key == "q" and isinstance(value, str):
            shown[key] = echo(value, most_bytes)
        elif _is_filter(key):
            filters += 1
            if most_bytes:
                shown[key] = echo(str(value), most_bytes)
        elif key in ("kinds", "tags") and isinstance(value, list):
            shown[key] = echo_each(value, most_bytes)
        else:
            shown[key] = value
    if filters and not most_bytes:
        shown["filters"] = filters
    return shown


def _is_filter(key: str) -> bool:
    family = key.partition(".")[0]
    return ("." in key and family != "min_score") or key in CORE_KEYS - {"kinds"}
