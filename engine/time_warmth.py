"""Has the words of time expressions read behind the back of who asks.

They are dateparser's, and its import takes longer than a question may wait: so it happens in a
thread soon after a store is opened, and again when engrams in another language came. A question
that comes before waits no longer than it may.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

from engine.channels import within
from engine.errors import TimeExpressionsNotReady
from engine.time_expressions import Interval, find, ready, warm

log = logging.getLogger(__name__)

_AFTER_SECONDS = 0.25  # a command that opens a store for one answer has ended by then


def expressions(
    question: str, now: datetime, languages: Sequence[str], seconds: float | None
) -> tuple[Interval, ...]:
    """The times that a question names, in an aware `now`.

    Raises TimeExpressionsNotReady when the words of the languages are not read within `seconds`;
    None: wait for them.
    """
    if not ready(languages):
        try:
            within(seconds, partial(warm, languages))
        except Exception as error:
            log.exception("the words of time expressions cannot be read")
            raise TimeExpressionsNotReady(_said(error), _HINT) from error
        if not ready(languages):
            raise TimeExpressionsNotReady(
                "the words of time expressions are still being read", "ask again in a moment"
            )
    return find(question, now, languages)


class Warmth:
    """Reads them for the languages of a store, in a thread of its own that ends.

    `problem` is why that failed, or "".
    """

    def __init__(self, languages: Callable[[], Sequence[str]], also: Callable[[], object]) -> None:
        self._languages = languages
        self._also = also  # what else a first question would have to wait for
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self.problem = ""

    def due(self) -> bool:
        """Whether there are languages whose words are not read, and can be."""
        return not self.problem and not ready(self._languages())

    def warm(self) -> None:
        """Read what is missing; a failure is kept as `problem`, not tried again."""
        try:
            warm(self._languages())
            self._also()
        except Exception as error:
            log.exception("the words of time expressions cannot be read")
            self.problem = f"{_said(error)}: {_HINT}"

    def start(self) -> None:
        """Begin the thread."""
        self._thread = threading.Thread(target=self._run, name="engine-times", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End it, after the reading that has begun."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        if not self._stopped.wait(_AFTER_SECONDS):
            self.warm()


_HINT = "install engramfs again: the package dateparser belongs to it"


def _said(error: Exception) -> str:
    return f"the words of time expressions cannot be read: {type(error).__name__}: {error}"
