"""What is to be said of an answer beside its items, gathered on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.errors import StrictRecallFailed
from engine.model import Degraded
from engine.recall.keys import SURFACES


@dataclass(slots=True)
class Said:
    """`failed` are those of `degraded` that did not run; `seconds` are of channels that stand
    apart, `weights` those in force."""

    degraded: list[Degraded] = field(default_factory=list)
    failed: list[Degraded] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)

    def fail(self, what: str, reason: str) -> None:
        """A channel or surface did not run."""
        self.degraded.append(Degraded(what, reason))
        self.failed.append(Degraded(what, reason))

    def strict(self, channels: Sequence[str]) -> StrictRecallFailed:
        """The failure of a request that is strict, which asked for these channels."""
        names = [one.what for one in self.failed]
        without = []
        if any(name != "facts" for name in names):
            ran = ",".join(one for one in channels if one not in names)
            without.append(f"channels={ran or 'lexical'}")
        if "facts" in names:
            without.append(f"surfaces={','.join(one for one in SURFACES if one != 'facts')}")
        return StrictRecallFailed(
            f"{names[0]} did not run: {self.failed[0].reason}",
            f"leave strict out, or ask with {'&'.join(without)}",
        )
