"""The control files of one mountpoint: a special name in, bytes out.

A request comes in the name (`.recall?q=…`), or is written to a bare name and its answer read back.
An answer stays the same bytes until the next commit in the scope, five seconds at most, so that a
lookup, an open and a read see one file. A bad request is EINVAL, its reason in `.errors`.
"""

from __future__ import annotations

import logging
import stat
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engine.errors import EngineError, Invalid, NotFound, Problem, StoreFull, StrictRecallFailed
from engine.recall.pairs import Pairs, parse_pairs
from engramfs import render
from engramfs.answers import Kept, Packs
from engramfs.caller import asker
from engramfs.conversation import Conversation
from engramfs.errors import FsError
from engramfs.events import EventLog, line_of, within
from engramfs.names import SpecialName, classify
from engramfs.points import Point
from engramfs.questions import AGAIN, NAME, WRITTEN, Questions, written_pairs
from engramfs.reports import Reports

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.model import Change, Entry
    from engine.namespace import Scope
    from engramfs.ports import Caller, Session

log = logging.getLogger("engramfs.control")

ANSWER_SECONDS = 5.0  # … or until the next moment, if that is sooner
ANSWERS = 64
SESSION_SECONDS = 600.0
SESSIONS = 100

_LIVE = ".events"
_REFUSALS = ((Invalid, "EINVAL"), (NotFound, "ENOENT"), (StrictRecallFailed, "ECANCELED"))


@dataclass(frozen=True, slots=True)
class ControlSettings:
    """What one mountpoint shows. `mountpoint` is the path that help texts name."""

    mountpoint: str = "/engram"
    root_kind: str | None = None  # roots mode: the kind that it is limited to
    only_kinds: frozenset[str] | None = None  # prefix mode: the kinds shown; None: all
    show_id: bool = True  # files show their id line
    read_only: bool = False

    @property
    def kinds(self) -> frozenset[str] | None:
        """The kinds shown; None: all."""
        return self.only_kinds if self.root_kind is None else frozenset({self.root_kind})


@dataclass(frozen=True, slots=True)
class _Failure:
    """Why a request failed; its notice was recorded when it did."""

    code: str
    sentence: str

    def error(self) -> FsError:
        """A fresh exception: one that is raised twice would gather tracebacks."""
        return FsError(self.code, self.sentence)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What came of a request, and of which moment it is."""

    moment: object
    result: bytes | _Failure


class ControlFiles:
    """Serves the special names that are files; see `engramfs.ports.Control`."""

    def __init__(
        self,
        engine: Engine,
        scope: Scope,
        settings: ControlSettings = ControlSettings(),
        *,
        packs: Packs | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = engine
        self._scope = scope = replace(scope, kinds=settings.kinds)
        self._settings = settings
        self._questions = Questions(
            engine,
            scope,
            self.path_of,
            packs if packs is not None else Packs(clock),
            Point(settings.mountpoint, settings.root_kind),
            shown=settings.show_id,
        )
        self._reports = Reports(
            engine,
            scope,
            settings.mountpoint,
            roots=settings.root_kind is not None,
        )
        self._events = EventLog()
        self._commits = 0
        self._counting = threading.Lock()
        self._outcomes: Kept[tuple[str, str, Pairs], _Outcome] = Kept(
            ANSWERS, ANSWER_SECONDS, clock
        )
        self._last: Kept[tuple[str, int, int], Pairs | _Failure | bytes] = Kept(
            SESSIONS, SESSION_SECONDS, clock
        )
        self._unsubscribe = engine.subscribe(self._committed)

    def close(self) -> None:
        """Hear of no more commits."""
        self._unsubscribe()

    # -- the port ----------------------------------------------------------

    def reserved(self, name: str) -> bool:
        """Is it a special name of any release, alone or in its `?` or `:` form?"""
        return classify(name) is not None

    def mode(self, name: str) -> int | None:
        """Type and permission bits of a special name that exists now; None: ENOENT."""
        asked = classify(name)
        if asked is None or not asked.special.exists:
            return None
        special = asked.special
        if asked.request is None:
            return (stat.S_IFDIR if special.directory else stat.S_IFREG) | special.mode
        return stat.S_IFREG | 0o444 if special.asks else None

    def live(self, name: str) -> bool:
        """Only `.events` grows under its readers."""
        return name == _LIVE

    def serve(self, name: str, caller: Caller) -> bytes:
        """The whole answer. FsError: ENOENT, EINVAL for a bad request, ECANCELED when strict."""
        asked = classify(name)
        mode = self.mode(name)
        if asked is None or mode is None or stat.S_ISDIR(mode):
            raise FsError("ENOENT", f"{name} is not served here", "read .help for what is")
        special = asked.special
        if special.name == _LIVE:
            return self._events.whole()
        if not special.writable and not special.directory:
            return self._report(special, asked.request or "")
        if asked.request is not None:
            return self._by_name(special, asked.request, caller)
        return self._bare(special, caller)

    def session(self, name: str, caller: Caller) -> Session:
        """The write-then-read form of a bare name, or a reader that follows `.events`."""
        asked = classify(name)
        if asked is not None and name == _LIVE:
            return self._events.follow()
        if asked is None or asked.request is not None or not asked.special.writable:
            raise FsError("EACCES", f"{name} is generated", "it can only be read")
        special = asked.special
        if special.changes:
            return Conversation(
                lambda request: self._do(special, request, caller),
                lambda _: self._bare(special, caller),
                lambda: self._bare(special, caller),
            )
        return Conversation(
            lambda request: self._ask(special, request, caller),
            lambda request: self._answer(special, request, caller),
            lambda: self._bare(special, caller),
        )

    # -- questions ---------------------------------------------------------

    def _by_name(self, special: SpecialName, request: str, caller: Caller) -> bytes:
        try:
            pairs = parse_pairs(request)
            if not special.unasked:
                self._last.put(_session(special, caller), pairs)
        except Invalid:
            pairs = (("", request),)  # only to name it: asking it raises this again
        return self._kept(
            special,
            pairs,
            NAME,
            lambda: self._questions.answer(special.name, parse_pairs(request), NAME, asker(caller)),
        )

    def _bare(self, special: SpecialName, caller: Caller) -> bytes:
        """The answer to this session's last request; before the first one the usage, or what the
        name answers unasked."""
        last = self._last.get(_session(special, caller))
        if isinstance(last, _Failure):
            raise last.error()
        if isinstance(last, bytes):
            return last
        if last is None and special.unasked:
            return self._written(special, (), AGAIN, caller)
        if last is None:
            return render.usage_text(special, self._settings.mountpoint)
        return self._written(special, last, AGAIN, caller)

    def _do(self, special: SpecialName, request: bytes, caller: Caller) -> None:
        """Make or remove an edge: once, at the close of the handle or before its answer is read.

        What came of it is what this session reads from the bare name.
        """
        if self._settings.read_only:
            raise FsError("EROFS", "the mount is read-only")
        pairs: Pairs = (("", request[:200].decode("utf-8", "replace").strip()),)
        came: bytes | _Failure
        try:
            pairs = written_pairs(special.name, request)
            came = self._questions.change(special.name, pairs)
        except EngineError as error:
            came = self._refused(special, pairs, WRITTEN, error)
        self._last.put(_session(special, caller), came)
        if isinstance(came, _Failure):
            raise came.error()

    def _ask(self, special: SpecialName, request: bytes, caller: Caller) -> None:
        """Judge what was written, at the close of a handle that has not read its answer.

        A request that waits for vectors (`fresh`) runs here: the lookup of the bare name that
        reads the answer later would hold up everybody else in the directory.
        """
        pairs, waits = self._judged(special, request, caller)
        if waits:
            self._written(special, pairs, WRITTEN, caller)

    def _answer(self, special: SpecialName, request: bytes, caller: Caller) -> bytes:
        pairs, _ = self._judged(special, request, caller)
        return self._written(special, pairs, WRITTEN, caller)

    def _judged(self, special: SpecialName, request: bytes, caller: Caller) -> tuple[Pairs, bool]:
        """(the pairs, do they wait for vectors); this caller's last request from now on."""
        pairs: Pairs = (("", request[:200].decode("utf-8", "replace").strip()),)
        try:
            pairs = written_pairs(special.name, request)
            waits = self._questions.judge(special.name, pairs, WRITTEN)
        except Invalid as error:
            failure = self._refused(special, pairs, WRITTEN, error)
            self._last.put(_session(special, caller), failure)
            raise failure.error() from error
        self._last.put(_session(special, caller), pairs)
        return pairs, waits

    def _written(self, special: SpecialName, pairs: Pairs, form: str, caller: Caller) -> bytes:
        return self._kept(
            special,
            pairs,
            WRITTEN,
            lambda: self._questions.answer(special.name, pairs, form, asker(caller)),
        )

    # -- outcomes ----------------------------------------------------------

    def _kept(
        self, special: SpecialName, pairs: Pairs, form: str, make: Callable[[], bytes]
    ) -> bytes:
        """The bytes for a request: the ones made before while they hold, else new ones."""
        known = self._outcomes.get((special.name, form, pairs))
        moment = self._moment()  # before the work: what changes during it makes the answer old
        if known is None or known.moment != moment:
            try:
                known = _Outcome(moment, make())
            except EngineError as error:
                raise self._refused(special, pairs, form, error).error() from error
            self._outcomes.put((special.name, form, pairs), known)
        if isinstance(known.result, _Failure):
            raise known.result.error()
        return known.result

    def _refused(
        self, special: SpecialName, pairs: Pairs, form: str, error: EngineError
    ) -> _Failure:
        """Record once why a request was refused; errors that are no refusal go on as they are."""
        known = self._outcomes.get((special.name, form, pairs))
        current = known is not None and known.moment == self._moment()
        if known is not None and current and isinstance(known.result, _Failure):
            return known.result
        code = next((code for kind, code in _REFUSALS if isinstance(error, kind)), None)
        if code is None:
            raise error
        problems = (
            error.problems
            if isinstance(error, Invalid)
            else (Problem(error.message, hint=error.hint),)
        )
        try:
            self._engine.refuse(
                self._scope,
                kind=self._settings.root_kind or "",
                slug="",
                path=_shown_request(special, pairs),
                event="request",
                problems=problems,
                source=None,
            )
        except StoreFull as full:  # the request is bad all the same
            log.warning("not told in .errors: %s", full)
        failure = _Failure(code, "; ".join(str(problem) for problem in problems))
        self._outcomes.put((special.name, form, pairs), _Outcome(self._moment(), failure))
        return failure

    def _report(self, special: SpecialName, request: str) -> bytes:
        pairs: Pairs = (("", request),)
        try:
            pairs = parse_pairs(request)
            return self._reports.report(special.name, pairs)
        except Invalid as error:
            raise self._refused(special, pairs, NAME, error).error() from error

    # -- commits -----------------------------------------------------------

    def _moment(self) -> object:
        """Another one wherever an answer made before may be another now."""
        return self._commits, self._engine.moment

    def _committed(self, change: Change) -> None:
        if change.namespace != self._scope.attributes:
            return
        with self._counting:
            self._commits += 1
        seen = within(change, self._scope.kinds)
        if seen is not None:
            self._events.append(line_of(seen, self._path))

    # -- what this mountpoint shows ----------------------------------------

    def path_of(self, entry: Entry) -> str | None:
        """An engram's path relative to the mountpoint; None when it is not in this tree."""
        if entry.deleted_ns is not None or not self._scope.sees(entry):
            return None
        return self._path(entry.kind, entry.name)

    def _path(self, kind: str, name: str) -> str:
        if kind == self._settings.root_kind:
            return f"{name}.md"
        return f"{self._engine.catalogue.directory(kind)}/{name}.md"


def _session(special: SpecialName, caller: Caller) -> tuple[str, int, int]:
    return special.name, caller.uid, caller.sid


def _shown_request(special: SpecialName, pairs: Pairs, most: int = 200) -> str:
    shown = "&".join(f"{key}={value}" if key else value for key, value in pairs)
    name = f"{special.name}?{shown}" if shown else special.name
    name = name.encode("utf-8", "backslashreplace").decode()
    return name if len(name) <= most else f"{name[: most - 1]}…"
