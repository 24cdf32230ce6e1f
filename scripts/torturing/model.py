"""What the files of one worker must hold.

While the server lives there is one answer for each path. When it is killed in the middle of an
operation, that operation may have happened or not: a path then has several possible contents until
it is looked at again.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field

Content = bytes | None  # None: not there

# After an answer the kernel releases a file that was open, and the server removes what was unlinked
# while open, within this time; a kill before it may undo the call.
SETTLED_SECONDS = 1.0


class Difference(AssertionError):
    """The mount shows something that nobody wrote."""


def document(rng: random.Random, *, valid: bool = True, lines: int | None = None) -> bytes:
    """A task of some length; an invalid one has a status that the kind refuses."""
    count = rng.choice((1, 3, 30, 300)) if lines is None else lines
    words = "".join(
        " ".join(f"w{rng.randrange(500)}" for _ in range(8)) + "\n" for _ in range(count)
    )
    return f"---\nstatus: {'open' if valid else 'broken'}\n---\n{words}".encode()


@dataclass
class Model:
    """Paths of one worker, relative to the mountpoint."""

    files: dict[str, bytes] = field(default_factory=dict)
    maybe: dict[str, set[Content]] = field(default_factory=dict)
    former: dict[str, Content] = field(default_factory=dict)  # what a path lost by a removal
    lately: list[tuple[float, str, Content]] = field(default_factory=list)

    def paths(self) -> list[str]:
        return sorted(path for path in self.files if path not in self.maybe)

    def get(self, path: str) -> Content:
        return self.files.get(path)

    def set(self, path: str, content: Content) -> None:
        """The mount said yes."""
        self.maybe.pop(path, None)
        if content is None:
            self.files.pop(path, None)
        else:
            self.files[path] = content

    def refused(self, path: str) -> None:
        """A write to a path was refused. If it was free, the engram that it lost stands again."""
        if path not in self.files:
            self.maybe.setdefault(path, {None}).add(self.former.get(path))

    def not_yet_durable(self, path: str, before: Content) -> None:
        """A removal of a file that may be open still."""
        self.former[path] = before
        now = time.monotonic()
        self.lately = [one for one in self.lately if now - one[0] < SETTLED_SECONDS]
        self.lately.append((now, path, before))

    def lost(self, changes: dict[str, Content]) -> None:
        """The server went while these changes were asked for."""
        now = time.monotonic()
        recent = [(path, before) for at, path, before in self.lately if now - at < SETTLED_SECONDS]
        for path, content in (*changes.items(), *recent):
            self.maybe.setdefault(path, {self.files.get(path)}).add(content)
        self.lately.clear()

    def found(self, path: str, content: Content) -> None:
        """Somebody looked: it must be one of what is possible, and is settled then."""
        possible = self.maybe.get(path, {self.files.get(path)})
        if content not in possible:
            wanted = " or ".join(describe(one) for one in possible)
            raise Difference(f"{path} should be {wanted}, and is {describe(content)}")
        self.set(path, content)


def valid(path: str, data: bytes) -> bool:
    """Would the kind take it? A note needs nothing, a task its status."""
    return path.startswith("note/") or data.startswith(b"---\nstatus: open\n---\n")


def describe(content: Content) -> str:
    if content is None:
        return "absent"
    return f"{len(content)} bytes {content[:60]!r}…{content[-20:]!r}"
