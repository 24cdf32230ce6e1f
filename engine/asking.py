"""The half of the façade that answers questions. Hosts see it as methods of `Engine`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from engine.arguments import explaining
from engine.model import Entry
from engine.namespace import Scope
from engine.reading import Reading
from engine.upkeep import Upkeep

if TYPE_CHECKING:
    from engine.analysis import Scored
    from engine.briefing.pack import Briefing
    from engine.briefing.request import BriefingRequest
    from engine.expand import Reached
    from engine.filters import Filters
    from engine.match import Matches
    from engine.match_request import MatchRequest
    from engine.model import Digest, Page
    from engine.recall.pack import Pack
    from engine.recall.request import RecallRequest


@explaining
class Asking:
    """Search and recall over an open store; each is seen by the background as a reader."""

    _upkeep: Upkeep
    reading: Reading

    @property
    def counters(self) -> tuple[str, ...]:
        """The host's own token counters."""
        return tuple(self.reading.counters)

    @property
    def moment(self) -> object:
        """What answers rest on beside commits: the kinds, whether vectors are awaited, the digests.

        Another one when any of these is another. It stays while some of many vectors arrive, which
        an answer says it waits for, and while an engram is used.
        """
        reading, upkeep = self.reading, self._upkeep
        return reading.catalogue, bool(upkeep.state.index.pending_count), upkeep.digests.changes

    def search(
        self,
        scope: Scope,
        question: str,
        filters: Filters | None = None,
        *,
        limit: int | None = None,
        offset: int = 0,
        fusion: str = "score",
        channels: Sequence[str] = ("lexical", "vector", "exact"),
        scope_ids: Iterable[str] | None = None,
        shown: bool = True,
        seconds: float | None = None,
    ) -> Page:
        """One page of ranked engrams; Invalid for an empty question."""
        from engine.search import search

        with self._upkeep.reading():
            return search(
                self.reading, scope, question, filters, limit=limit, offset=offset, fusion=fusion,
                channels=channels, scope_ids=scope_ids, shown=shown, seconds=seconds,
            )  # fmt: skip

    def find_exact(
        self,
        scope: Scope,
        text: str,
        filters: Filters | None = None,
        *,
        limit: int | None = None,
        offset: int = 0,
        scope_ids: Iterable[str] | None = None,
        shown: bool = True,
    ) -> Page:
        """One page of engrams by id, title or spelling; Invalid for an empty text."""
        from engine.find_exact import find_exact

        with self._upkeep.reading():
            return find_exact(
                self.reading, scope, text, filters, limit=limit, offset=offset,
                scope_ids=scope_ids, shown=shown,
            )  # fmt: skip

    def find_objects(
        self,
        scope: Scope,
        question: str,
        filters: Filters | None = None,
        *,
        limit: int | None = None,
        offset: int = 0,
        fusion: str = "score",
        scope_ids: Iterable[str] | None = None,
        shown: bool = True,
        seconds: float | None = None,
    ) -> Page:
        """One page of engrams ranked as wholes, without evidence; Invalid for an empty question."""
        from engine.find_objects import find_objects

        with self._upkeep.reading():
            return find_objects(
                self.reading, scope, question, filters, limit=limit, offset=offset, fusion=fusion,
                scope_ids=scope_ids, shown=shown, seconds=seconds,
            )  # fmt: skip

    def continue_(
        self,
        scope: Scope,
        set_id: str,
        offset: int = 0,
        limit: int | None = None,
        *,
        shown: bool = True,
    ) -> Page:
        """The hits of a result set from `offset` on, as they are now.

        NotFound when it is gone, after the config's `result_set_seconds`, or when it was made in
        another scope: search again.
        """
        from engine.paging import next_page, window

        with self._upkeep.reading():
            asked = window(self.reading.config, limit, offset, shown)
            return next_page(self.reading, scope, set_id, asked)

    def page_of(
        self,
        scope: Scope,
        found: Sequence[Reached | Scored],
        *,
        limit: int | None = None,
        offset: int = 0,
        shown: bool = True,
        warnings: Sequence[str] = (),
    ) -> Page:
        """What a walk through the graph gave as a page of hits, which `continue_` goes on with."""
        from engine.paging import window
        from engine.reached import page_of

        with self._upkeep.reading():
            asked = window(self.reading.config, limit, offset, shown)
            return page_of(self.reading, scope, found, asked, tuple(warnings))

    def digests(self, scope: Scope) -> tuple[Digest, ...]:
        """The digests of exactly the scope's namespace, by name; a stale one has no text."""
        return self._upkeep.digests.all(scope)

    def digest(self, scope: Scope, name: str) -> Digest:
        """One of them; NotFound."""
        return self._upkeep.digests.one(scope, name)

    def rebuild_digests(
        self,
        scope: Scope,
        name: str | None = None,
        progress: Callable[[int, int], None] | None = None,
        *,
        anew: bool = False,
    ) -> tuple[Digest, ...]:
        """Make the stale digests of the scope's namespace, or one, and wait; all as they are then.

        What is unchanged is not summarised again, unless `anew`. One that cannot be made is stale
        and says why. `progress(done, of)`. Raises NotFound, and SummariserFailed when the
        summariser does not answer.
        """
        return self._upkeep.digests.rebuild(scope, name, progress, anew=anew)

    def opened(self, scope: Scope, entry: Entry, session: str, process: str) -> None:
        """The file of an engram was opened to be read, which `engine.demand` may count.

        `process` is named as in the `by` of what it writes. Costs microseconds, fails never.
        """
        self._upkeep.state.demand.opened(scope, entry, session, process)

    def recall(
        self,
        scope: Scope,
        request: RecallRequest,
        *,
        path_of: Callable[[Entry], str | None],
        shown: bool = True,
        seconds: float | None = None,
        session: str = "",
    ) -> Pack:
        """The context pack for a request. `session` is who asks, for demand."""
        from engine.recall.recall import recall

        with self._upkeep.reading():
            return recall(
                self.reading, scope, request, path_of=path_of, shown=shown, seconds=seconds,
                session=session,
            )  # fmt: skip

    def briefing(
        self,
        scope: Scope,
        request: BriefingRequest,
        *,
        path_of: Callable[[Entry], str | None],
        session: str = "",
    ) -> Briefing:
        """What to know before starting. `session` is who asks."""
        from engine.briefing.briefing import briefing

        with self._upkeep.reading():
            return briefing(self.reading, scope, request, path_of=path_of, session=session)

    def match(
        self,
        scope: Scope,
        request: MatchRequest,
        *,
        path_of: Callable[[Entry], str | None],
        session: str = "",
    ) -> Matches:
        """The engrams that a prompt touches on. `session` is who asks."""
        from engine.match import match

        with self._upkeep.reading():
            return match(self.reading, scope, request, path_of=path_of, session=session)
