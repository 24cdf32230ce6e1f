"""What follows the items of a recall: what they are derived from, and raw passages."""

from __future__ import annotations

from collections.abc import Sequence

from engine.ranking import Ranking
from engine.recall.answer import Form
from engine.recall.candidates import Asked
from engine.recall.chunks import chunks
from engine.recall.items import Item
from engine.recall.sources import sources_of
from engine.recall.tail import Tail, fitting


def tail_of(asked: Asked, ranking: Ranking, form: Form, items: Sequence[Item], room: int) -> Tail:
    """The tail of an answer with these items, when it may have `room` tokens in all.

    Sources come with an item of a kind that is consolidated from others too. With a budget of 0,
    which has no room for items, they are those of the whole ranking. A chunk that an item shows is
    not given again.
    """
    request = asked.request
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
            told=asked.may_hear,
        )
        most = min(request.max_source_tokens, room)
        written = map(form.source, found)
        sources, sources_cut = fitting(written, form.sources, most, asked.count)
    if request.chunks:
        given = {
            (one.entry.no, passage.position)
            for one in items
            if one.entry is not None
            for passage in one.passages
        }
        whole = {one.entry.no for one in items if one.entry is not None and one.body is not None}
        fresh = (
            chunk
            for chunk in chunks(ranking, asked.path_of, asked.rows, shown=asked.shown)
            if chunk.entry.no not in whole and (chunk.entry.no, chunk.passage.position) not in given
        )
        most = min(request.max_chunk_tokens, room)
        chunked, chunks_cut = fitting(map(form.chunk, fresh), form.chunks, most, asked.count)
    return Tail(sources, chunked, sources_cut, chunks_cut)
