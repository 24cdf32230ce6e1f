"""An open answer is one answer, whatever is committed or asked meanwhile; and what fstat tells."""

from __future__ import annotations

import os
from pathlib import Path

from tests.mounted import mounted

NAME = ".recall?q=pump"


def whole(descriptor: int, step: int) -> bytes:
    """The bytes from the beginning on, some at a time."""
    found = b""
    while piece := os.pread(descriptor, step, len(found)):
        found += piece
    return found


def test_a_handle_reads_one_whole_answer(tmp_path: Path) -> None:
    with mounted(tmp_path) as mount:
        note, answer = mount.root / "note" / "pump.md", mount.root / NAME
        note.write_text("The pump is hot.\n")
        size = answer.stat().st_size
        first = os.open(answer, os.O_RDONLY)
        try:
            old = whole(first, 7)
            assert len(old) == size and b"hot" in old
            for number in range(3):  # the name answers otherwise each time
                note.write_text(f"The pump was mended {number} times, and is no longer at work.\n")
                assert mount.sh(f"cat '{NAME}'").stdout.encode() != old
                assert (whole(first, 7), whole(first, 1 << 16)) == (old, old)
                assert os.fstat(first).st_size == size  # of what this process has open
                assert answer.stat().st_size == size
            # The kernel asks without the handle: of two that a process has of one name the newest.
            second = os.open(answer, os.O_RDONLY)
            try:
                new = whole(second, 1 << 16)
                assert os.fstat(first).st_size == os.fstat(second).st_size == len(new) != size
                assert whole(first, 11) == old
            finally:
                os.close(second)
            assert os.fstat(first).st_size == size
        finally:
            os.close(first)
        assert answer.stat().st_size == len(answer.read_bytes()) != size
