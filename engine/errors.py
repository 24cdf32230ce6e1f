"""Every error that the engine raises.

    EngineError
    ├── NotFound        missing, deleted or outside the scope: indistinguishable on purpose
    ├── Invalid         a document, request or catalogue that breaks a rule; carries every Problem
    ├── Unsupported     asked for something that is switched off or not in this release
    ├── Conflict        the version expected is no longer the current one, or the path is taken
    ├── StoreHeld       another process has the store open
    ├── StoreCorrupt    bytes on disk disagree with their checksum, or DuckDB cannot read the file
    ├── SchemaTooNew    the store was written by a newer engramfs
    ├── StoreFull       the disk is full; nothing was written
    ├── EmbedderFailed  the model could not be loaded or run
    ├── GraphFailed     the edges could not be walked
    ├── TimeExpressionsNotReady  the words of time expressions are not read yet, or cannot be
    ├── SummariserFailed  a digest's text could not be made
    ├── GuardRefused    the guard did not let a text through to the summariser
    └── StrictRecallFailed  a channel did not run, and the request was strict

The text of an error is one sentence; `hint` is the sentence that says what to do about it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a document, a request or a catalogue.

    `line` counts from 1 in the file as its author sees it; None where no line applies.
    `key` is the front-matter key, request key or kind concerned, or "".
    """

    message: str
    line: int | None = None
    key: str = ""
    hint: str = ""

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line is not None else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{where}{self.message}{hint}"


def shown(text: str) -> str:
    """What was given, as a message quotes it: 80 characters at most, valid UTF-8."""
    clean = text.encode("utf-8", "backslashreplace").decode()
    return clean if len(clean) <= 80 else clean[:79] + "…"


class EngineError(Exception):
    """Base of all errors of the engine: a sentence and a hint."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class NotFound(EngineError):
    """The object is missing, deleted or outside the scope."""


class Invalid(EngineError):
    """A rule was broken; `problems` holds every one found, in document order."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("; ".join(str(problem) for problem in problems))
        self.problems = problems


class Unsupported(EngineError):
    """The feature is switched off or not in this release."""


class Conflict(EngineError):
    """The expected version is not the current one, or the place is taken."""


class StoreHeld(EngineError):
    """Another process has the store open; the message names it."""


class StoreCorrupt(EngineError):
    """What is on disk cannot be trusted: a checksum or DuckDB itself disagrees."""


class SchemaTooNew(EngineError):
    """The store's schema is newer than this program."""


class StoreFull(EngineError):
    """No space left for the store; the transaction was rolled back."""


class EmbedderFailed(EngineError):
    """The embedding model could not be loaded or run."""


class GraphFailed(EngineError):
    """The edges could not be walked."""


class TimeExpressionsNotReady(EngineError):
    """The words that time expressions are found by are not in memory yet, or cannot be read."""


class SummariserFailed(EngineError):
    """A digest's text could not be made."""


class GuardRefused(EngineError):
    """The guard did not let a text through to the summariser."""


class StrictRecallFailed(EngineError):
    """A channel did not run, and the request said `strict`."""
