"""When the engrams of a mount changed last: what listings made from the engine are dated by."""

from __future__ import annotations

from engine.model import Change
from engramfs.ground import Ground


class Changes:
    """Counts commits in the mount's namespace, those of edges included."""

    def __init__(self, ground: Ground) -> None:
        self._namespace = ground.scope.attributes
        self.count = 0
        self.at_ns = ground.clock()
        self.close = ground.engine.subscribe(self._committed)

    def _committed(self, change: Change) -> None:
        if change.namespace == self._namespace:
            self.count += 1
            self.at_ns = max(self.at_ns, change.time_ns)
