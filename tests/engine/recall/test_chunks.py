"""Chunks: raw passages over the whole ranking, the best first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.channels import retrieve
from engine.filters import Filters
from engine.masks import masks
from engine.model import Entry
from engine.ranking import Ranking, Rules, browse, rank
from engine.recall.chunks import BATCH, Chunk, chunks
from tests.engine.library import TREE, Held, Library, path_of


def ranking(library: Library, question: str) -> Ranking:
    columns = library.columns.now()
    mask = masks(columns, library.properties, TREE, Filters())
    found = retrieve(library, columns, mask.covered, mask.hidden, question, ("lexical", "exact"))
    return rank(columns, found, mask.allowed, (), Rules(library.config, now_ns=library.now), 200)


def told(found: list[Chunk]) -> list[tuple[str, int]]:
    return [(one.entry.slug, one.passage.position) for one in found]


def test_the_best_part_first_whichever_engram_it_is_of() -> None:
    library = Library()
    library.put("note/a", "# A\n\npump pump\n\n## Long\n\npump and a great many other words too\n")
    library.put("note/b", "# B\n\npump valve\n")
    library.put("note/c", "# C\n\nNothing.\n")
    ranked = ranking(library, "pump valve")
    found = list(chunks(ranked, path_of, library.hydrate))
    assert told(found) == [("b", 1), ("a", 1), ("a", 2)]
    scores = [one.passage.score for one in found]
    assert scores == sorted(scores, reverse=True)
    [first, *_] = found
    assert (first.path, first.id) == ("note/b.md", first.entry.id)
    assert first.passage.text == "# B\n\npump valve\n"
    assert first.passage.heading_path == ("B",)
    written = library.rows[first.entry.seq].source
    bare = next(chunks(ranked, path_of, library.hydrate, shown=False)).passage.span
    assert written[bare.byte_start : bare.byte_end].decode() == first.passage.text
    assert first.passage.span.start_line == bare.start_line + 3  # the id line's block


def test_each_once_and_rows_are_read_as_they_are_asked_for() -> None:
    library = Library()
    for at in range(3 * BATCH):
        library.put(f"note/n{at:03}", f"# N{at}\n\npump\n")
    read: list[int] = []

    def rows(entries: Sequence[Entry]) -> Mapping[int, Held]:
        read.append(len(entries))
        return library.hydrate(entries)

    ranked = ranking(library, "pump")
    some = chunks(ranked, path_of, rows)
    next(some)
    assert read == [BATCH]
    rest = list(some)
    assert read == [BATCH] * 3
    assert len({(one.entry.no, one.passage.position) for one in rest}) == 3 * BATCH - 1


def test_what_has_no_part_or_cannot_be_read_gives_none() -> None:
    library = Library()
    library.put("note/a", "# A\n\npump\n")
    library.put("note/b", "# B\n\npump\n")
    columns = library.columns.now()
    everything = masks(columns, library.properties, TREE, Filters()).allowed
    assert list(chunks(browse(columns, everything, 9), path_of, library.hydrate)) == []
    ranked = ranking(library, "pump")
    lost = library.entries.at(((), "note", "a"))
    assert lost is not None
    found = chunks(ranked, path_of, lambda entries: {
        no: row for no, row in library.hydrate(entries).items() if no != lost.no
    })  # fmt: skip
    assert told(list(found)) == [("b", 1)]
