"""The numbers that a store hands out, each once: commits, engrams, documents, inodes, notices.

They are kept in memory and found again at open as one more than the highest in use; where rows are
erased for good, `keep` writes down what they had. Inodes also go to empty entries and kind
directories, so those come in blocks that are written down before the first is handed out.
"""

from __future__ import annotations

from typing import Self

from engine.store import meta
from engine.store.extensions import Cursor

INODE_BLOCK = 1_000
FIRST_INODE = 2  # 1 is the root of a mount


class Counters:
    """Use under the writer lock only. A number given to a commit that fails is not given again."""

    def __init__(self, seq: int, engram: int, doc: int, inode: int, notice: int) -> None:
        self._seq = seq
        self._engram = engram
        self._doc = doc
        self._inode = inode
        self._inode_end = inode
        self._notice = notice

    @classmethod
    def load(cls, cursor: Cursor) -> Self:
        """Find the next free number of each sort.

        An engram's present row has the highest documents that it ever had.
        """
        row = cursor.execute(
            "SELECT (SELECT max(seq) FROM version), (SELECT max(engram) FROM version), "
            "max(first_doc + parts) FROM state "
            "WHERE seq IN (SELECT max(seq) FROM version GROUP BY engram)"
        ).fetchone()
        seq, engram, doc = row if row is not None else (None, None, None)
        last = cursor.execute("SELECT max(no) FROM notice").fetchone()
        return cls(
            seq=max(1, (seq or 0) + 1, meta.number(cursor, "seq_floor")),
            engram=max(-1 if engram is None else engram, meta.number(cursor, "engram_floor") - 1)
            + 1,
            doc=max(doc or 0, meta.number(cursor, "doc_floor"), meta.number(cursor, "folded_doc")),
            inode=meta.number(cursor, "inode", FIRST_INODE),
            notice=(last[0] if last is not None and last[0] is not None else 0) + 1,
        )

    def seq(self) -> int:
        """Number of the next commit, from 1."""
        self._seq += 1
        return self._seq - 1

    def engram(self) -> int:
        """Dense number of a new engram, from 0."""
        self._engram += 1
        return self._engram - 1

    def documents(self, parts: int) -> int:
        """First of `parts` document numbers in a row, from 0."""
        self._doc += parts
        return self._doc - parts

    def notice(self) -> int:
        """Number of the next notice, from 1."""
        self._notice += 1
        return self._notice - 1

    def ready_inode(self) -> int | None:
        """A new inode number from the block at hand; None when that is used up."""
        if self._inode == self._inode_end:
            return None
        self._inode += 1
        return self._inode - 1

    def inode(self, cursor: Cursor) -> int:
        """A new inode number, from 2.

        `cursor` must be one of its own, outside the open transaction: the block has to stay
        written when that is rolled back.
        """
        if self._inode == self._inode_end:
            meta.put(cursor, "inode", self._inode + INODE_BLOCK)
            self._inode_end = self._inode + INODE_BLOCK
        self._inode += 1
        return self._inode - 1

    def keep(self, cursor: Cursor) -> None:
        """Write down the next numbers, in the transaction that erases rows."""
        meta.put(cursor, "seq_floor", self._seq)
        meta.put(cursor, "engram_floor", self._engram)
        meta.put(cursor, "doc_floor", self._doc)

    @property
    def next_seq(self) -> int:
        """The number that the next commit gets; all before it have been handed out."""
        return self._seq

    @property
    def next_doc(self) -> int:
        """One more than the highest document number handed out."""
        return self._doc
