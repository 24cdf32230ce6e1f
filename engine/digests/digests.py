"""The digests of an open store, as readers, hosts and maintenance see them.

A digest that does not say what its engrams say now has no text here: it cannot be shown by mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from engine.columns import ColumnCache, Columns
from engine.digests.check import disagreements
from engine.digests.request import Request
from engine.digests.scopes import TENANT, Ground, level_of, tells_of, title_of
from engine.digests.shelf import Shelf
from engine.digests.worker import Worker
from engine.errors import EngineError, NotFound, SummariserFailed, shown
from engine.model import Degraded, Digest, DigestCounts, Namespace, Problem
from engine.namespace import Scope
from engine.state import State
from engine.store.digests import DigestRow

WHAT = "digests"  # the surface, as answers name it
_WAIT_SECONDS = 0.2  # between two looks at the progress of a rebuild
_GROUNDS = 100  # namespaces whose standing is kept until something changes
_MAP = "`engramfs digest map` tells those that there are"
_REPAIR = "run `engramfs check --repair`"


class Digests:
    """Use `start` and `stop` once each; the rest from any thread."""

    def __init__(self, state: State, columns: ColumnCache, shelf: Shelf, worker: Worker) -> None:
        self._state = state
        self._columns = columns
        self._shelf = shelf
        self._worker = worker
        self._grounds: tuple[Columns | None, dict[Namespace, Ground]] = (None, {})  # of the last
        self.start, self.stop = worker.start, worker.stop
        self.changed, self.prune = worker.changed, shelf.prune

    # -- reading -----------------------------------------------------------------------
    def fresh(self, scope: Scope) -> tuple[tuple[Digest, ...], tuple[Degraded, ...]]:
        """The fresh digests of exactly the scope's namespace, and why there are no others; where
        the scope has kinds, of those alone that tell of no engram of another."""
        digests = self.all(scope)
        missing = [digest for digest in digests if digest.stale]
        told = tuple(digest for digest in digests if not digest.stale)
        lacking = (digest.lacks for digest in digests if digest.lacks)
        reasons = dict.fromkeys([*lacking, *self._reasons(missing, len(digests))])
        return told, tuple(Degraded(WHAT, reason) for reason in reasons)

    @property
    def changes(self) -> int:
        """How often another digest was there, or one none any more, since the store was opened."""
        return self._shelf.changes

    def all(self, scope: Scope) -> tuple[Digest, ...]:
        """The digests that there are or are to be, by name, the tenant last; stale ones without
        text. None that tells of an engram of a kind that the scope does not see."""
        namespace = scope.attributes
        rows = self._shelf.of(namespace)
        ground = self._ground_of(namespace)
        names = sorted({*rows, *ground.expected()}, key=lambda name: (name == TENANT, name))
        found = (self._digest(ground, name, rows.get(name)) for name in names)
        return tuple(
            digest
            for digest in found
            if digest is not None and tells_of(ground.columns, digest, scope.kinds)
        )

    def one(self, scope: Scope, name: str) -> Digest:
        """The digest of a name; NotFound."""
        ground = self._ground_of(scope.attributes)
        row = self._shelf.of(scope.attributes).get(name)
        if row is not None or name in ground.expected():
            digest = self._digest(ground, name, row)
            if digest is not None and tells_of(ground.columns, digest, scope.kinds):
                return digest
        raise NotFound(f"there is no digest {shown(name)}", _MAP)

    def counts(self, scope: Scope) -> DigestCounts:
        """For `.status`: of the namespaces that the scope covers."""
        at = replace(scope, exact=True)
        seen = [name for name in self._columns.now().namespaces if scope.covers(name)]
        digests = [digest for name in seen for digest in self.all(replace(at, attributes=name))]
        stale = sum(digest.stale for digest in digests)
        made = self._state.config.digests
        return DigestCounts(len(digests) - stale, stale, "on" if made else "off")

    def problems(self) -> tuple[str, ...]:
        """What could not be made and why, while that stands."""
        hanging = self._hanging()
        return (*self._worker.troubles.sentences(), *([hanging] if hanging else []))

    def _ground_of(self, namespace: Namespace) -> Ground:
        columns = self._columns.now()
        of, grounds = self._grounds
        if of is not columns or len(grounds) > _GROUNDS:  # those of before would keep theirs alive
            grounds = {}
            self._grounds = columns, grounds
        held = grounds.get(namespace)
        if held is None:
            held = grounds[namespace] = Ground(columns, namespace)
        return held

    def _digest(self, ground: Ground, name: str, row: DigestRow | None) -> Digest | None:
        """None: it is one of nobody, or a community that is none any more under its name."""
        namespace = ground.namespace
        problem = self._worker.troubles.of(namespace, name)
        if row is None:
            nobody = np.zeros(0, np.int64)
            title = title_of(name, namespace)
            return Digest(
                name, level_of(name), title, "", namespace, nobody, "", 0, True, problem
            )  # fmt: skip
        stale = not ground.fresh(row)
        if not (ground.still_named(row) if stale else row.text):
            return None
        # What is told of a stale one says nothing of how its engrams were.
        title, text = (title_of(name, namespace), "") if stale else (row.title, row.text)
        # Where edges are too many, no communities were looked for (engine.digests.passing).
        lacks = self._crowded() if name == TENANT and not row.edges else ""
        return Digest(
            name, level_of(name), title, text, namespace, row.members, row.hash, row.built_ns,
            stale, problem, lacks,
        )  # fmt: skip

    def _crowded(self) -> str:
        most = self._state.config.digest_edges
        return f"no communities are looked for among more than {most:,} links"

    def _reasons(self, missing: list[Digest], of: int) -> Iterator[str]:
        if not missing:
            return
        hanging = self._hanging()
        if hanging:
            yield hanging
        for digest in missing:
            if digest.problem:
                yield f"{digest.name} is missing: {digest.problem}"
        waiting = sum(not digest.problem for digest in missing)
        if not waiting or hanging:
            return
        many = f"{waiting} of {of}"  # short: a recall in Markdown has few tokens for reasons
        if not self._state.config.digests:
            yield f"{many} are not up to date, and are made only by `engramfs digest rebuild`"
        elif self._worker.vectors_awaited():
            yield f"{many} wait for pending vectors"
        else:
            yield f"{many} are being made"

    def _hanging(self) -> str:
        seconds = self._worker.hangs()
        return f"the summariser has not answered for {seconds:.0f} seconds" if seconds else ""

    # -- maintenance -------------------------------------------------------------------
    def rebuild(
        self,
        scope: Scope,
        name: str | None = None,
        progress: Callable[[int, int], None] | None = None,
        *,
        anew: bool = False,
    ) -> tuple[Digest, ...]:
        """Make the digests of exactly the scope's namespace now, or one of them, and wait for that.

        What did not change is not summarised again, unless `anew`. With the tenant those are made
        that it rests on, where they are stale. One that cannot be made is stale in the answer and
        says why. `progress(done, of)`. Raises NotFound for a name that is none, SummariserFailed
        when the summariser does not answer.
        """
        if name is not None:
            self.one(scope, name)
        request = self._worker.ask(scope.attributes, name, anew=anew)
        try:
            self._await(request, progress or (lambda done, of: None))
        except BaseException:
            request.given_up = True
            raise
        found = self.all(scope)
        if name is not None and all(digest.name != name for digest in found):
            raise NotFound(f"there is no digest {shown(name)} any more", _MAP)
        return found

    def _await(self, request: Request, progress: Callable[[int, int], None]) -> None:
        while not request.finished.wait(_WAIT_SECONDS) and not self._worker.stopping:
            hanging = self._hanging()
            if hanging:
                raise SummariserFailed(hanging, "see `summarizer.command`")
            progress(request.done, request.total)
        if self._worker.stopping:
            raise EngineError("the engine was closed while digests were made")
        progress(request.done, request.total)

    def mark_stale(self) -> None:
        """Look at each again, as if all its engrams had changed."""
        self._shelf.mark_stale()
        self.changed()

    def check(self, repair: bool = False) -> tuple[Problem, ...]:
        """What stored digests say that is not so; with `repair` those go, and are made again."""
        with self._state.store.lock:
            found = list(disagreements(self._columns.now(), self._shelf, self._worker.means))
            if repair and found:
                self._shelf.discard([at for at, _ in found])
                self.changed()
        return tuple(Problem(sentence, key=WHAT, hint=_REPAIR) for _, sentence in found)
