"""What somebody waits for who asks for digests."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from engine.model import Namespace


@dataclass(slots=True, eq=False)
class Request:
    """The digests of a namespace, or one of them; `anew`: what is fresh too. `done` of `total`.
    `given_up`: nobody waits for it any more."""

    namespace: Namespace
    name: str | None
    anew: bool
    done: int = 0
    total: int = 0
    given_up: bool = False
    finished: threading.Event = field(default_factory=threading.Event)
