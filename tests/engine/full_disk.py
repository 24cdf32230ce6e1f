"""A program for test_store: a store on a small disk, in a mount namespace of its own.

Run as `unshare --mount --propagation unchanged python -m tests.engine.full_disk DIRECTORY`
(changing the propagation fails where the root is no mountpoint, as in a chroot).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from engine.errors import StoreFull
from engine.store import versions
from engine.store.connection import Store
from tests.engine.store_rows import make


def commits(store: Store, size: int) -> int:
    """Commit rows of `size` bytes until the disk is full; how many were acknowledged."""
    done = 0
    while True:
        with store.lock:
            row = make(store.counters.seq(), store.counters.engram(), source=b"x" * size)
            try:
                with store.transaction() as cursor:
                    versions.append(cursor, row)
            except StoreFull:
                return done
        done += 1


def stored(store: Store) -> int:
    """Rows in the store, each readable."""
    with store.cursor() as cursor:
        present = versions.load_current(cursor)
        for row in present:
            versions.source(cursor, row.seq)
    return len(present)


def main(directory: Path) -> None:
    """Mount a small disk, use it, and take it away again."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", directory], check=True)
    try:
        fill(directory)
    finally:
        subprocess.run(["umount", "-l", directory], check=True)


def fill(directory: Path) -> None:
    """Fill the disk by commits, then let a checkpoint fail, which ends DuckDB's database."""
    ballast = directory / "ballast"
    ballast.write_bytes(bytes(4 << 20))
    store = Store.open(directory / "store")

    acknowledged = commits(store, 100_000)
    assert stored(store) == acknowledged, "a refused commit left something, or took something"
    acknowledged += commits(store, 1_000)  # small ones still fit, and the next refusal is as clean
    assert stored(store) == acknowledged

    assert not store.checkpoint(), "there is no room to fold the log"
    assert "no space left" in store.troubles["checkpoint"], store.troubles
    try:
        with store.cursor() as cursor:
            cursor.execute("CHECKPOINT")
        raise AssertionError("the checkpoint had room")
    except StoreFull:
        assert stored(store) == acknowledged, "the database was not opened again"

    ballast.unlink()
    acknowledged += commits(store, 100_000)
    assert stored(store) == acknowledged
    store.close()
    store = Store.open(directory / "store")
    assert stored(store) == acknowledged, "an acknowledged commit was lost at the next open"
    store.close()
    print("acknowledged", acknowledged)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
