"""What readers' events add up to: pure arithmetic over arrays, indexed by engram number.

    raw(e) = sum over the events of e of weight * 2 ** (-age / half-life)
    u(e)   = raw / (raw + half), in 0..1

(Seamless's rule; the numbers are in `engine.config`). Only events of readers whose namespace the
asker's scope covers count. All decay alike, so sums are kept at one reference time and scaled.
"""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from engine.config import DAY_NS, Config
from engine.fusion import Floats, Mask, fitted
from engine.model import Namespace
from engine.namespace import Scope
from engine.store.events import Event, Stored
from engine.store.places import namespace_of

_SCOPES = 16  # whose sums are kept, 0.8 MB each at 100,000 engrams
_FARTHEST = 500.0  # half-lives; more than a float could hold is a clock that was wrong


def weights(config: Config) -> dict[str, float]:
    """What an event weighs, by class. To have been shown says nothing of being wanted."""
    return {
        "read": config.read_weight,
        "recall": config.recall_weight,
        "prompt": config.prompt_weight,
        "shown": 0.0,
    }


@dataclass(slots=True)
class _Sum:
    """raw of every engram for one scope, at the reference time, with so many of the events."""

    covered: list[bool] = field(default_factory=list)  # by code of the namespace
    raw: Floats = field(default_factory=lambda: np.zeros(0))
    events: int = 0


class Utility:
    """Events in arrays that grow, and their sums. Not safe to share between threads."""

    def __init__(self, config: Config, reference_ns: int) -> None:
        self._weights = weights(config)
        self._classes = {kind: at for at, kind in enumerate(self._weights)}
        self._half = config.demand_half
        self._half_life_ns = config.demand_half_life_days * DAY_NS
        self._reference_ns = reference_ns
        self._codes: dict[Namespace, int] = {}
        self._counts: Counter[tuple[int, str]] = Counter()  # by code and class
        # of each event
        self._namespace = array("i")
        self._engram = array("i")
        self._class = array("b")  # indexes `_weights`
        self._weight = array("d")  # at the reference time
        self._sums: dict[Scope, _Sum] = {}

    def add(self, event: Event) -> None:
        """One more event."""
        code = self._code(event.namespace)
        self._counts[(code, event.kind)] += 1
        self._namespace.append(code)
        self._engram.append(event.engram)
        self._class.append(self._classes[event.kind])
        self._weight.append(self._weights[event.kind] * self._grown(event.at_ns))

    def add_stored(self, stored: Stored, known: Mask) -> None:
        """All that is stored of the `known` engrams; what cannot be read is left out."""
        inside = (stored.engram >= 0) & (stored.engram < len(known))
        sound = inside & known[np.where(inside, stored.engram, 0)] if len(known) else inside
        for at, (kind, packed) in enumerate(stored.groups):
            namespace = namespace_of(packed)
            if namespace is None or kind not in self._weights:
                continue
            mine = (stored.group == at) & sound
            code, times = self._code(namespace), int(np.count_nonzero(mine))
            self._counts[(code, kind)] += times
            self._namespace.frombytes(np.full(times, code, np.int32).tobytes())
            self._engram.frombytes(stored.engram[mine].astype(np.int32).tobytes())
            self._class.frombytes(np.full(times, self._classes[kind], np.int8).tobytes())
            lives = (stored.at_ns[mine] - self._reference_ns) / self._half_life_ns
            grown = self._weights[kind] * np.exp2(np.clip(lives, -_FARTHEST, _FARTHEST))
            self._weight.frombytes(grown.tobytes())

    def counts(self, scope: Scope, among: Mask | None = None) -> dict[str, int]:
        """How many events count for a scope, by class; of the engrams `among` alone."""
        found = dict.fromkeys(self._weights, 0)
        if among is not None:
            covered = np.array([scope.covers(namespace) for namespace in self._codes], bool)
            engrams = np.array(self._engram)
            inside = fitted(among, max(len(among), int(engrams.max(initial=-1)) + 1))
            mine = covered[np.array(self._namespace)] & inside[engrams]
            times = np.bincount(np.array(self._class)[mine], minlength=len(found)).tolist()
            return dict(zip(found, times, strict=True))
        codes = {code for namespace, code in self._codes.items() if scope.covers(namespace)}
        for (code, kind), times in self._counts.items():
            if code in codes:
                found[kind] += times
        return found

    def of(self, scope: Scope, engrams: int, now_ns: int) -> Floats:
        """u of so many engrams for a scope."""
        raw = self._sum(scope).raw / self._grown(now_ns)
        return fitted(raw / (raw + self._half), engrams)

    def _code(self, namespace: Namespace) -> int:
        return self._codes.setdefault(namespace, len(self._codes))

    def _grown(self, at_ns: int) -> float:
        """What one event of a time weighs at the reference time."""
        lives = (at_ns - self._reference_ns) / self._half_life_ns
        return float(2.0 ** min(max(lives, -_FARTHEST), _FARTHEST))

    def _sum(self, scope: Scope) -> _Sum:
        """The sums for a scope, with every event."""
        scope = scope.of_any_kind  # the sums are of each engram
        found = self._sums.pop(scope, None) or _Sum()
        self._sums[scope] = found
        if len(self._sums) > _SCOPES:
            del self._sums[next(iter(self._sums))]
        new = list(self._codes)[len(found.covered) :]
        found.covered += [scope.covers(namespace) for namespace in new]
        if found.events < len(self._engram):
            since = slice(found.events, None)
            mine = np.array(found.covered, bool)[np.array(self._namespace[since])]
            engrams = np.array(self._engram[since])[mine]
            top = int(engrams.max(initial=-1)) + 1
            found.raw = fitted(found.raw, max(len(found.raw), top))
            np.add.at(found.raw, engrams, np.array(self._weight[since])[mine])
            found.events = len(self._engram)
        return found
