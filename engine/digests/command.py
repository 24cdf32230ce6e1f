"""The user's own summariser and guard: commands that are given the texts as Markdown.

    # note/acme: Acme
    > Acme makes pumps.
    > ...

Every stored line stands behind `> `, so that no text can pose as another's heading (docs/adr/0009).
The summariser writes the digest, as UTF-8; ENGRAMFS_TOKENS is how many tokens it should have. The
guard says by its exit code whether the texts may go to the summariser: 0, and only that, is yes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence

from engine.digests.program import NoAnswer, Program
from engine.errors import GuardRefused, SummariserFailed
from engine.ports import Text
from engine.tokens import counter
from engine.visible import one_line, visible

SLACK = 2  # times the tokens asked for that an answer may have: no model counts them exactly
_BYTES_A_TOKEN = 16  # more of an answer is not even read
_GUARD_BYTES = 65_536  # of what a guard writes, which nobody reads


class Command:
    """`engine.ports.Summariser`: a command of the user's."""

    def __init__(
        self,
        words: Sequence[str],
        *,
        seconds: float,
        environment: Mapping[str, str],
        count: Callable[[str], int] | None = None,
    ) -> None:
        """`words`: the program and its arguments; `seconds`: then it is killed; `environment`: all
        the variables it gets; `count` counts tokens, as o200k does if it is None."""
        self._program = Program(words, seconds=seconds, environment=environment)
        self._count = count or counter("o200k")

    @property
    def fingerprint(self) -> str:
        """By its words: a program that is replaced under the same name counts as the same."""
        written = json.dumps(self._program.words).encode("utf-8", "surrogatepass")
        return f"command-{hashlib.sha256(written).hexdigest()[:32]}"

    def summarise(self, texts: Sequence[Text], tokens: int) -> str:
        """What the command writes, without the blank space around it."""
        name = self._program.name
        most = tokens * SLACK * _BYTES_A_TOKEN
        try:
            answer = self._program.run(as_markdown(texts), most, ENGRAMFS_TOKENS=str(tokens))
        except NoAnswer as error:
            raise SummariserFailed(f"the summariser {name} {error}", _HINT) from error
        try:
            text = answer.decode().replace("\r\n", "\n").strip()
        except UnicodeDecodeError as error:
            raise SummariserFailed(f"the summariser {name} wrote no UTF-8", _HINT) from error
        if not text:
            raise SummariserFailed(f"the summariser {name} wrote nothing", _HINT)
        length = self._count(text)
        if length > tokens * SLACK:
            raise SummariserFailed(
                f"the summariser {name} wrote {length} tokens where {tokens} were asked for", _HINT
            )
        return text

    def stop(self) -> None:
        """End the command that runs, with all its children."""
        self._program.stop()


class CommandGuard:
    """`engine.ports.Guard`: a command of the user's."""

    def __init__(
        self, words: Sequence[str], *, seconds: float, environment: Mapping[str, str]
    ) -> None:
        self._program = Program(words, seconds=seconds, environment=environment)

    def __call__(self, texts: Sequence[Text]) -> None:
        """GuardRefused unless the command ends with exit code 0 in time."""
        try:
            self._program.run(as_markdown(texts), _GUARD_BYTES)
        except NoAnswer as error:
            raise GuardRefused(
                f"the guard {self._program.name} {error}",
                "nothing is summarised that it does not let through: see summarizer_guard",
            ) from error

    def stop(self) -> None:
        """End the command that runs, with all its children."""
        self._program.stop()


_HINT = "try it by hand, then `engramfs digest rebuild`; see summarizer_command"


def as_markdown(texts: Sequence[Text]) -> bytes:
    """The texts as a program gets them; what some take for the end of a line is an escape."""
    lines: list[str] = []
    for text in texts:
        lines.append(f"# {': '.join(filter(None, map(one_line, (text.name, text.title))))}")
        for passage in text.passages:
            lines += [f"> {line}".rstrip() for line in visible(passage.strip("\n")).split("\n")]
        lines.append("")
    return "\n".join(lines).encode("utf-8", "replace")
