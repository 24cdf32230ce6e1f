"""What the scores should be: those of an index that the extension builds fresh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb

from engine.store.extensions import extension_path


class Oracle:
    """An index that the extension builds fresh over the visible documents."""

    def __init__(self) -> None:
        self._connection = duckdb.connect()
        self._connection.execute(f"LOAD '{extension_path('fts')}'")

    def scores(
        self, documents: Mapping[int, Sequence[str]], question: Sequence[str]
    ) -> dict[int, float]:
        """By document the score of a question over documents given by their terms."""
        self.build({doc: " ".join(terms) for doc, terms in documents.items()})
        return self.ask(question)

    def build(self, documents: Mapping[int, str]) -> None:
        """Index documents anew; each is its terms, joined by blanks."""
        connection = self._connection
        connection.execute("CREATE OR REPLACE TABLE part_text (doc BIGINT, terms VARCHAR)")
        connection.execute(
            "INSERT INTO part_text SELECT unnest(?::BIGINT[]), unnest(?::VARCHAR[])",
            [list(documents), list(documents.values())],
        )
        connection.execute(
            "PRAGMA create_fts_index('part_text', 'doc', 'terms', stemmer='none', "
            "stopwords='none', ignore='(\\s)+', strip_accents=0, lower=0, overwrite=1)"
        )

    def ask(self, question: Sequence[str]) -> dict[int, float]:
        """The scores of what was built last."""
        rows = self._connection.execute(
            "SELECT doc, fts_main_part_text.match_bm25(doc, ?) FROM part_text",
            [" ".join(question)],
        ).fetchall()
        return {doc: score for doc, score in rows if score is not None}
