"""The claim of one process on a store directory, held for as long as the store is open.

DuckDB locks its file against other processes only, and by a kind of lock that is lost when any
descriptor of the file is closed; two stores in one process would share a database behind each
other's back. `flock` on a file of its own keeps both out, and names the holder.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from engine.store.failures import held

NAME = "lock"


def claim(directory: Path) -> int:
    """Take the lock and return its descriptor; StoreHeld names the process that has it."""
    descriptor = os.open(directory / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(descriptor, 32).decode("ascii", "replace").strip()
        os.close(descriptor)
        name = "this process" if holder == str(os.getpid()) else f"process {holder or 'unknown'}"
        raise held(str(directory), name) from None
    except BaseException:
        os.close(descriptor)
        raise
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, str(os.getpid()).encode("ascii"), 0)
    return descriptor


def give_up(descriptor: int) -> None:
    """Release the claim; the file stays, it means nothing without the lock."""
    os.close(descriptor)
