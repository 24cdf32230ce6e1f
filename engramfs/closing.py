"""Handles that were closed dirty, and whose release is still on its way.

Whether an emptied file stays empty is decided at its release, and what was refused is forgotten
then; but the kernel sends it after close(2) has returned. Whoever looks at once (`: > f; cat f`)
waits for it a moment.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from engramfs.locks import Place
from engramfs.staging import Staged

_PATIENCE_SECONDS = 0.02  # from the close on: a shell that goes on writing is not waited for
_LONGER_SECONDS = 1.0  # … when no process that is known of it has it open any more
_STEP_SECONDS = 0.001


class Closing:
    """Handles by the moment of their latest close."""

    def __init__(self, holds: Callable[[int, str], bool]) -> None:
        """`holds` tells whether a process has a file open whose path ends so."""
        self._holds = holds
        self._since: dict[Staged, tuple[float, int]] = {}  # and what it held

    def __bool__(self) -> bool:
        return bool(self._since)

    def add(self, handle: Staged) -> None:
        """A process that wrote it has closed it, and it is dirty still."""
        self._since[handle] = (time.monotonic(), handle.changes)

    def drop(self, handle: Staged) -> None:
        """It is released."""
        self._since.pop(handle, None)

    def wait(self, place: Place | None = None, kind: str | None = None) -> None:
        """Until those at a place, of a kind, or all of them are released."""
        for handle, closed in list(self._since.items()):
            at = handle.file.place
            if (place is None or at == place) and (kind is None or at[0] == kind):
                self._wait(handle, closed)

    def _wait(self, handle: Staged, closed: tuple[float, int]) -> None:
        since, changes = closed
        until = since + _PATIENCE_SECONDS
        while self._since.get(handle) == closed and handle.dirty and handle.changes == changes:
            if time.monotonic() >= until:
                longer = since + _LONGER_SECONDS
                if until == longer or self._held(handle):
                    self.drop(handle)
                    return
                until = longer
            time.sleep(_STEP_SECONDS)

    def _held(self, handle: Staged) -> bool:
        end = f"/{handle.file.address.name}.md"
        return any(self._holds(pid, end) for pid in {handle.opener, *handle.writers})
