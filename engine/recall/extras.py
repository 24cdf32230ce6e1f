"""What follows the items of a recall: what they are derived from, and raw passages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from engine.ranking import Ranking
from engine.recall.answer import Form
from engine.recall.candidates import Asked
from engine.recall.chunks import Chunk, chunks
from engine.recall.items import Item
from engine.recall.repeats import Shown
from engine.recall.sources import Source, sources_of
from engine.recall.tail import Tail, fitting


def tail_of(asked: Asked, ranking: Ranking, form: Form, items: Sequence[Item], room: int) -> Tail:
    """The tail of an answer with these items, when it may have `room` tokens in all.

    Sources come with an item of a kind that is consolidated from others too. With a budget of 0,
    which has no room for items, they are those of the whole ranking. No text is given twice: a
    source whose text stands before names what has it, and such a chunk is left out.
    """
    request = asked.request
    shown = Shown()
    for item in items:
        shown.give_item(item)
    sources: tuple[str, ...] = ()
    chunked: tuple[str, ...] = ()
    sources_cut = chunks_cut = False
    having = [one.entry for one in items if one.source_ids and one.entry is not None]
    if request.sources and not request.budget:
        having = [one.entry for one in ranking.ranked]
    if having:
        _, found = sources_of(
            asked.reader,
            asked.scope,
            having,
            asked.path_of,
            at_ns=request.as_of_ns,
        )
        written: list[Source] = []  # and one that does not fit
        most = min(request.max_source_tokens, room)
        sections = map(form.source, _once(found, shown, written))
        sources, sources_cut = fitting(sections, form.sources, most, asked.count)
        for source in written[: len(sources)]:
            shown.give(source.name, source.text)
            shown.whole.setdefault(source.entry.no, source.name)
    if request.chunks:
        most = min(request.max_chunk_tokens, room)
        found_chunks = chunks(ranking, asked.path_of, asked.rows, shown=asked.shown)
        fresh = map(form.chunk, _fresh(found_chunks, shown))
        chunked, chunks_cut = fitting(fresh, form.chunks, most, asked.count)
    return Tail(sources, chunked, sources_cut, chunks_cut)


def _once(found: Iterator[Source], shown: Shown, written: list[Source]) -> Iterator[Source]:
    """Sources as they are written, those that are `shown` by name only."""
    so_far = Shown(dict(shown.texts), shown.whole)
    for source in found:
        same_as = so_far.whole.get(source.entry.no) or so_far.texts.get(source.text.strip(), "")
        told = replace(source, text="", same_as=same_as) if same_as else source
        so_far.give(source.name, told.text)
        written.append(told)
        yield told


def _fresh(found: Iterator[Chunk], shown: Shown) -> Iterator[Chunk]:
    """Chunks whose text does not stand before."""
    for chunk in found:
        text = chunk.passage.text
        if not shown.holder(chunk.entry.no, chunk.passage) and text.strip() not in shown.texts:
            shown.give(chunk.id, text)
            yield chunk
