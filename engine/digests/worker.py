"""Who makes digests: a thread of low priority that sleeps until something changed.

It makes them a second after the last commit, ten at most after the first, outside the writer lock
but for its own short transactions. Whoever asks for digests is served between two of them. What
cannot be made stays stale, with the reason, and is tried again with growing pauses. A summariser
that hangs holds up this thread and nothing else.
"""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable

from engine.columns import ColumnCache
from engine.digests.making import Call, Means, Postponed, Stopped
from engine.digests.passing import Pass
from engine.digests.request import Request
from engine.digests.scopes import signs
from engine.digests.shelf import Shelf
from engine.digests.troubles import Troubles
from engine.model import Namespace
from engine.ports import Guard, Summariser
from engine.state import State

log = logging.getLogger(__name__)

NICE = 5  # of the thread, as of the one that builds the approximate index
_CLOSE_SECONDS = 2.0  # that closing waits for a summariser; it is told to stop
_LOOK_SECONDS = 1.0  # between two looks at whether the vectors are there


class Worker:
    """Use `start` and `stop`; `changed` tells it of commits, `ask` makes it work at once."""

    def __init__(
        self,
        state: State,
        columns: ColumnCache,
        shelf: Shelf,
        summariser: Summariser,
        guard: Guard | None,
        *,
        readers_first: Callable[[], None],
        vectors_awaited: Callable[[], bool],
    ) -> None:
        self._config = state.config
        self._entries = state.entries
        self._edges = state.edges
        self._columns = columns
        self._shelf = shelf
        found = (getattr(each, "stop", None) for each in (summariser, guard))
        self._stops = [stop for stop in found if stop is not None]
        self._readers_first = readers_first
        self.vectors_awaited = vectors_awaited
        self.means = Means(state, summariser, guard, Call(), self._give_way, self._check)
        self.troubles = Troubles(state.config)
        self._pass = Pass(columns, shelf, self.means, self.troubles)
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._requests: deque[Request] = deque()
        self._woken = threading.Event()  # a first change, a request, or the end
        self._stopping = False
        self._in_round = False
        self._first = self._last = math.inf  # changes not looked at yet (monotonic); inf: none
        self._look_at = math.inf  # when to look again without a change
        self._seen: dict[Namespace, object] = {}  # the signs of those looked at

    # -- what others tell --------------------------------------------------------------
    def start(self) -> None:
        """Look at what there is, if digests are made without being asked for."""
        self._entries.follow(lambda engrams: self.changed())
        self.changed()

    def changed(self) -> None:
        """A commit was made. It wakes nobody but at the first one in a while."""
        if not self._config.digests:
            return
        now = time.monotonic()
        first = math.isinf(self._first)
        if first:
            self._first = now
        self._last = now
        if first:
            self._woken.set()
            self._run_thread()

    def ask(self, namespace: Namespace, name: str | None, *, anew: bool) -> Request:
        """Make now what is stale, or the one of that name; `anew`: what is fresh too."""
        request = Request(namespace, name, anew)
        self._requests.append(request)
        self._woken.set()
        self._run_thread()
        return request

    def stop(self) -> None:
        """End. A summariser that does not even then is left behind, and nothing of it is kept."""
        self._stopping = True
        self._woken.set()
        thread = self._thread
        if thread is None:
            return
        self._stop_programs()
        thread.join(_CLOSE_SECONDS)
        if thread.is_alive():
            log.warning("the summariser does not stop; the engine closes without it")

    @property
    def stopping(self) -> bool:
        """The engine closes."""
        return self._stopping

    def hangs(self) -> float:
        """Seconds that the summariser has not answered, where that is too long; else 0."""
        since = self.means.call.since
        silent = time.monotonic() - since if since is not None else 0.0
        return silent if silent > self._config.digest_silence_seconds else 0.0

    # -- the thread ----------------------------------------------------------------------
    def _stop_programs(self) -> None:
        for stop in self._stops:
            try:
                stop()
            except Exception:
                log.exception("the summariser or its guard could not be stopped")

    def _run_thread(self) -> None:
        if self._thread is not None:
            return
        with self._starting:
            if self._thread is None and not self._stopping:
                self._thread = threading.Thread(
                    target=self._run, name="engine-digests", daemon=True
                )
                self._thread.start()

    def _run(self) -> None:
        try:
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)  # of this thread alone
        except OSError as error:
            log.warning("digests are made at the usual priority: %s", error)
        while not self._stopping:
            self._woken.clear()
            if self._requests:
                self._answer(self._requests.popleft())
                continue
            pause = self._due() - time.monotonic()
            if pause > 0:
                self._woken.wait(None if math.isinf(pause) else pause)
            else:
                self._round()
        for request in self._requests:
            request.finished.set()

    def _due(self) -> float:
        """When (monotonic) the next round is."""
        quiet = self._last + self._config.digest_debounce_seconds
        return min(quiet, self._first + self._config.digest_wait_seconds, self._look_at)

    def _answer(self, request: Request) -> None:
        """Make exactly what is asked for. What was found out besides is left to the next round."""
        try:
            if not request.given_up:
                self._pass.namespace(request.namespace, request)
                self.troubles.ended()
            soon = self._config.digest_debounce_seconds
        except Stopped:
            return
        except Exception as error:
            log.exception("digests could not be made")
            soon = self.troubles.broke(error)
        finally:
            request.finished.set()
        self._seen.pop(request.namespace, None)
        if self._config.digests:
            self._look_at = min(self._look_at, time.monotonic() + soon)

    def _round(self) -> None:
        self._first = self._last = self._look_at = math.inf
        self._in_round = True
        try:
            self._all()
            self.troubles.ended()
        except Stopped:
            pass
        except Postponed:
            self._look_at = -math.inf
        except Exception as error:
            log.exception("digests could not be made")
            self._look_at = time.monotonic() + self.troubles.broke(error)
        finally:
            self._in_round = False

    def _all(self) -> None:
        """Every namespace in which something is new."""
        if self.vectors_awaited():  # they decide which sentences are central
            self._look_at = time.monotonic() + _LOOK_SECONDS
            return
        retry = self.troubles.due() or self._pass.next_look() <= time.monotonic()
        now = signs(self._columns.now(), *self._edges.ends())
        for namespace in dict.fromkeys([*now, *self._shelf.namespaces()]):
            sign = now.get(namespace)
            if retry or namespace not in self._seen or self._seen[namespace] != sign:
                self._seen.pop(namespace, None)  # until it has been looked at to the end
                self._pass.namespace(namespace)
                self._seen[namespace] = sign
        self._look_at = min(self.troubles.next_try(), self._pass.next_look())

    def _give_way(self) -> None:
        """To readers, and in a round to whoever asks for digests."""
        if self._in_round and self._requests:
            raise Postponed
        self._readers_first()

    def _check(self) -> None:
        if self._stopping:
            raise Stopped
