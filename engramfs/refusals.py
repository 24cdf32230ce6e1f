"""What was refused, why, and the refused bytes: on record once, raised as an errno."""

from __future__ import annotations

from collections.abc import Sequence

from engine.errors import EmbedderFailed, EngineError, Invalid, Problem
from engine.model import Entry
from engramfs.address import EngramFile
from engramfs.errors import FsError
from engramfs.ground import Ground

_SEE = "the reason is in .errors, the bytes are in .rejected"


class Refusals:
    """Writes lines of `.errors` and bytes of `.rejected`."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    def document(self, address: EngramFile, error: EngineError, source: bytes | None) -> FsError:
        """A document that the engine refused; None or no bytes: there is nothing to keep."""
        path = self._ground.path(address)
        if isinstance(error, EmbedderFailed):
            problem = Problem(error.message, hint=error.hint)
            self._record(address, "embed", (problem,), source)
            return FsError("EIO", f"{path} was not stored: {error.message}", _SEE)
        problems = error.problems if isinstance(error, Invalid) else (Problem(str(error)),)
        self._record(address, "refused", problems, source)
        return FsError("EPROTO", f"{path} was refused: {error}", _SEE)

    def failed_write(self, address: EngramFile, error: FsError) -> None:
        """A write failed, and its program closed the file without emptying it."""
        problem = Problem(
            f"a write failed ({error.code}: {error.message}), so nothing was stored",
            hint=error.hint,
        )
        self._record(address, "refused", (problem,), None)

    def late_write(self, address: EngramFile, source: bytes) -> None:
        """Bytes written to a file that was unlinked or replaced meanwhile."""
        problem = Problem(
            "the file was removed or replaced while it was open; what was written to it is kept",
            hint="mv the bytes out of .rejected to have them as a file",
        )
        self._record(address, "late-write", (problem,), source)

    def conflict(self, address: EngramFile, replaced: Entry) -> None:
        """A version was replaced that its replacer had not seen."""
        problem = Problem(
            f"a version (commit {replaced.source_seq}) younger than what replaced it was replaced",
            hint="the replaced version is in the history",
        )
        self._record(address, "conflict", (problem,), None)

    def conflict_refused(self, address: EngramFile, source: bytes) -> FsError:
        """The same under `on_conflict = "refuse"`: nothing is replaced."""
        path = self._ground.path(address)
        problem = Problem(
            "the file was changed by somebody else since it was opened",
            hint="read it again and repeat the change; the bytes are in .rejected",
        )
        self._record(address, "conflict", (problem,), source)
        return FsError("EBUSY", f"{path} was changed by somebody else", _SEE)

    def _record(
        self,
        address: EngramFile,
        event: str,
        problems: Sequence[Problem],
        source: bytes | None,
    ) -> None:
        self._ground.engine.refuse(
            self._ground.scope,
            kind=address.kind,
            slug=address.slug,
            path=self._ground.path(address),
            event=event,
            problems=tuple(problems),
            source=source or None,
            name=address.name,
        )
