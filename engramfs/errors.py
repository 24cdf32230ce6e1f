"""The one error that the filesystem itself raises: a named errno, a sentence and a hint."""

from __future__ import annotations


class FsError(Exception):
    """A call that the tree refuses. `code` is the name of an errno, such as "EPERM".

    `engramfs.errno_table` turns it, and the engine's errors, into numbers.
    """

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message
