"""What could not be made, why, and when it is tried again."""

from __future__ import annotations

import logging
import math
import time
from collections import Counter
from dataclasses import dataclass

from engine.config import Config
from engine.errors import EngineError
from engine.model import Namespace

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a digest could not be made; it is not tried again before `not_before` (monotonic)."""

    reason: str
    failures: int
    not_before: float


class Troubles:
    """By namespace and name of the digest; written by the digest worker only."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._all: dict[tuple[Namespace, str], Trouble] = {}
        self._broken = 0  # rounds in a row that failed as a whole
        self.broken = ""  # why the last one did

    def failed(self, namespace: Namespace, name: str, reason: str, *, rests: bool = False) -> None:
        """One could not be made. `rests`: for want of another, so it has no pause of its own."""
        before = self._all.get((namespace, name))
        failures = (before.failures if before is not None else 0) + 1
        if before is None or before.reason != reason:
            log.warning("the digest %s could not be made: %s", name, reason)
        pause = math.inf if rests else self._backoff(failures)
        self._all[namespace, name] = Trouble(reason, failures, time.monotonic() + pause)

    def well(self, namespace: Namespace, name: str) -> None:
        """It was made, or is none any more."""
        self._all.pop((namespace, name), None)

    def keep_only(self, namespace: Namespace, names: set[str]) -> None:
        """A namespace has digests of these names and no others."""
        for at in [at for at in self._all if at[0] == namespace and at[1] not in names]:
            del self._all[at]

    def waits(self, namespace: Namespace, name: str) -> bool:
        """It failed and is not to be tried yet."""
        trouble = self._all.get((namespace, name))
        return trouble is not None and time.monotonic() < trouble.not_before < math.inf

    def of(self, namespace: Namespace, name: str) -> str:
        """Why one could not be made; "" when nothing is known against it."""
        trouble = self._all.get((namespace, name))
        return trouble.reason if trouble is not None else self.broken

    def due(self) -> bool:
        """Something may be tried again."""
        return self.next_try() <= time.monotonic()

    def next_try(self) -> float:
        """When (monotonic) something may be tried again; inf: nothing is to be."""
        return min((each.not_before for each in list(self._all.values())), default=math.inf)

    def broke(self, error: Exception) -> float:
        """A round failed as a whole; seconds until the next."""
        self._broken += 1
        self.broken = sentence(error)
        return self._backoff(self._broken)

    def ended(self) -> None:
        """A round came to its end."""
        self._broken, self.broken = 0, ""

    def sentences(self) -> tuple[str, ...]:
        """One for each reason. Whoever asks for `status` reads them, so they name no digest: one
        of another namespace or kind holds a slug of it. `engramfs digest map` names them."""
        reasons = [one.reason for one in list(self._all.values()) if one.not_before < math.inf]
        said = [f"digests could not be made: {self.broken}"] if self.broken else []
        for reason, times in Counter(reasons).items():
            many = "1 digest" if times == 1 else f"{times} digests"
            said.append(f"{many} could not be made: {reason}")
        return tuple(said)

    def _backoff(self, failures: int) -> float:
        config = self._config
        wait = config.embed_retry_seconds * 2.0 ** min(failures - 1, 30)
        return float(min(wait, config.embed_retry_max_seconds))


def sentence(error: Exception) -> str:
    """What a failure is told as."""
    return str(error) if isinstance(error, EngineError) else repr(error)
