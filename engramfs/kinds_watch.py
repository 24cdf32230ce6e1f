"""Applies the kinds file again when it changes; a wrong one is a notice in `.errors`."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import EngineError, Invalid, Problem
from engramfs.errors import FsError
from engramfs.opening import read_kinds
from engramfs.settings import Settings

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent

    from engine.engine import Engine
    from engine.namespace import Scope

log = logging.getLogger("engramfs.kinds")

_SLUG = "kinds.yaml"  # its place among the refusals
_QUIET_SECONDS = 0.2  # an editor writes, renames and touches: one look after the last of it


@contextmanager
def watching(
    settings: Settings, engine: Engine, scope: Scope, applied: str | None
) -> Iterator[None]:
    """Watch the kinds file, where there is one, for as long as the context lasts.

    `applied` is the text that the engine was opened with.
    """
    path = settings.text("kinds")
    if not path:
        yield
        return
    from watchdog.events import FileSystemEventHandler
    from watchdog.observers import Observer

    name = Path(path).name
    reloader = _Reloader(settings, engine, scope, applied)

    class Handler(FileSystemEventHandler):
        def on_any_event(self, event: FileSystemEvent) -> None:
            if event.event_type in ("opened", "closed_no_write"):
                return
            touched = (os.fsdecode(event.src_path), os.fsdecode(event.dest_path))
            if any(Path(one).name == name for one in touched):
                reloader.soon()

    observer = Observer()
    # The directory, not the file: editors put a new file in its place.
    observer.schedule(Handler(), str(Path(path).parent), recursive=False)
    observer.start()
    reloader.soon()  # it may have changed before the watch began
    try:
        yield
    finally:
        observer.stop()
        observer.join()
        reloader.stop()


class _Reloader:
    """Applies the file a moment after the last event."""

    def __init__(
        self, settings: Settings, engine: Engine, scope: Scope, applied: str | None
    ) -> None:
        self._settings = settings
        self._engine = engine
        self._scope = scope
        self._lock = threading.Lock()
        self._one = threading.Lock()  # applies at a time: an earlier text never after a later one
        self._timer: threading.Timer | None = None
        self._applied = applied

    def soon(self) -> None:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(_QUIET_SECONDS, self._reload)
            self._timer.daemon = True
            self._timer.start()

    def stop(self) -> None:
        """Return when nothing is being applied and nothing will be."""
        with self._lock:
            timer = self._timer
        if timer is not None:
            timer.cancel()
            timer.join()
        with self._one:
            pass  # one that began before that timer may still have been at it

    def _reload(self) -> None:
        with self._one:
            try:
                self._apply()
            except Invalid as error:
                self._notice(error.problems)
            except (EngineError, FsError) as error:
                self._notice((Problem(error.message, hint=error.hint),))

    def _apply(self) -> None:
        text = read_kinds(self._settings)
        if text is None:
            return
        if text != self._applied:
            for change in self._engine.apply_kinds(text):
                log.info("kinds: %s", change)
            self._applied = text
        self._engine.clear_notices(self._scope, "", _SLUG)

    def _notice(self, problems: tuple[Problem, ...]) -> None:
        for problem in problems:
            log.warning("the kinds file was not applied: %s", problem)
        path = self._settings.text("kinds")
        self._engine.clear_notices(self._scope, "", _SLUG)  # the file as it is now is judged
        self._engine.refuse(
            self._scope,
            kind="",
            slug=_SLUG,
            path=path,
            event="kinds",
            problems=problems,
            source=None,
        )
