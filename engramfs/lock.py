"""Who holds a store, where it is mounted, and by which socket to talk to it.

The engine claims the file `lock` with flock when it opens a store, and writes its process number
into it; that ends with the process however it ends. This adds the mountpoints and the socket behind
the number, and reads them. What the file says is believed only while the lock is held.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from engine.errors import StoreHeld

LOCK = "lock"
SOCKET = "socket"
_NUMBER = 32  # bytes kept for the process number, which the engine reads


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that has a store open. `socket` is False while it listens to nobody (yet)."""

    pid: int
    mountpoints: tuple[str, ...] = ()
    socket: bool = False

    def __str__(self) -> str:
        where = f", mounted at {' and '.join(self.mountpoints)}" if self.mountpoints else ""
        return f"process {self.pid or 'unknown'}{where}"


def announce(store: Path, mountpoints: Sequence[str], socket: bool) -> None:
    """Say more about this process, which holds the store; one write, so none reads half of it."""
    descriptor = os.open(store / LOCK, os.O_WRONLY | os.O_CLOEXEC)
    try:
        number = str(os.getpid()).ljust(_NUMBER - 1)
        more = json.dumps({"mountpoints": list(mountpoints), "socket": socket})
        text = f"{number}\n{more}\n".encode()
        os.pwrite(descriptor, text, 0)
        os.ftruncate(descriptor, len(text))
    finally:
        os.close(descriptor)


def holder(store: Path) -> Holder | None:
    """Who holds the store now; None when nobody does or there is no store."""
    try:
        descriptor = os.open(store / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read(os.pread(descriptor, 65536, 0))
    finally:
        os.close(descriptor)
    return None


def held_by(store: Path, who: Holder) -> StoreHeld:
    """The error that names the holder."""
    hint = (
        f"unmount it with: engramfs umount {quote(who.mountpoints[0])}"
        if who.mountpoints
        else "wait until it has ended"
    )
    return StoreHeld(f"the store {store} is held by {who}", hint)


def _read(text: bytes) -> Holder:
    """The engine writes the number alone, and for a moment nothing."""
    number, _, more = text.partition(b"\n")
    pid = int(number) if number.strip().isdigit() else 0
    if not more:
        return Holder(pid)
    said = json.loads(more)
    return Holder(pid, tuple(said["mountpoints"]), bool(said["socket"]))
