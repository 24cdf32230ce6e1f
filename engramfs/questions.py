"""What `.recall` and the searches ask of the engine, within what one mountpoint shows."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.briefing.request import BriefingRequest, briefing_keys, parse_briefing
from engine.config import Config
from engine.match_request import MatchRequest, match_keys, parse_match
from engine.recall.pairs import Pairs, parse_written
from engine.recall.request import RecallRequest, parse_request
from engine.recall.searches import SearchRequest, parse_search
from engramfs import digest_answers, graph_answers, searching
from engramfs.answers import Packs
from engramfs.graph_forms import View
from engramfs.graph_requests import (
    ASKS,
    EDGE_KEYS,
    LINE,
    GraphRequest,
    ask_of,
    edge_pairs,
    parse_ask,
    parse_edge,
)
from engramfs.points import Point
from engramfs.refs import ref_of

if TYPE_CHECKING:
    from engine.catalogue import Catalogue
    from engine.engine import Engine
    from engine.model import Entry
    from engine.namespace import Scope

RECALL, BRIEFING, MATCH = ".recall", ".briefing", ".match"
GRAPH = ".graph"  # its `?` form asks of the graph as a whole
DIGESTS = ".digests"  # its `?` form tells what digests there are

# Where a request came from: in a name, written to the file, or a written one that is run again for
# a reader of the bare name, whose lookup must not wait.
NAME, WRITTEN, AGAIN = "name", "written", "again"


_UNASKED = {BRIEFING: frozenset(briefing_keys(Config())), MATCH: frozenset(match_keys(Config()))}


def written_pairs(name: str, data: bytes) -> Pairs:
    """A request that was written to a control file. Plain text is the question, the prompt, the
    engram to begin from, or for an edge its three words."""
    asked = name.removeprefix(".")
    if name in _UNASKED:
        return parse_written(data, _UNASKED[name], "prompt" if name == MATCH else "q")
    if asked in EDGE_KEYS:
        return edge_pairs(parse_written(data, EDGE_KEYS[asked], LINE))
    keys = ASKS.get(asked, ())
    return parse_written(data, keys, "of" if "of" in keys else "q")


def _asks_graph(name: str) -> bool:
    return name == GRAPH or name.removeprefix(".") in ASKS


class Questions:
    """Judges and answers requests.

    `scope` is what the mountpoint shows. `shown`: its files show their id line, so that spans count
    it.
    """

    def __init__(
        self,
        engine: Engine,
        scope: Scope,
        path_of: Callable[[Entry], str | None],
        packs: Packs,
        place: Point,
        *,
        shown: bool,
    ) -> None:
        self._engine = engine
        self._scope = scope
        self._path_of = path_of
        self._shown = shown
        self._packs = packs
        self._place = place
        self._mountpoint = place.path

    def judge(self, name: str, pairs: Pairs, form: str) -> bool:
        """Invalid for a bad request. True when the request waits for pending vectors."""
        if name == RECALL:
            return self._recall_request(pairs, form).fresh
        if name == BRIEFING:
            self._briefing_request(pairs)
            return False
        if name == MATCH:
            self._match_request(pairs, form)
            return False
        if _asks_graph(name):
            self._graph_request(name, pairs, form)
            return False
        return self._search_request(name, pairs, form).fresh

    def answer(self, name: str, pairs: Pairs, form: str, session: str = "") -> bytes:
        """The whole answer; `session` is who asks, for demand. Invalid, NotFound for an unknown
        token, set or engram, StrictRecallFailed."""
        if name == RECALL:
            return self._recall(self._recall_request(pairs, form), form, session)
        if name == BRIEFING:
            return self._briefing(self._briefing_request(pairs), session)
        if name == MATCH:
            return self._engine.match(
                self._scope,
                self._match_request(pairs, form),
                path_of=self._path_of,
                session=session,
            ).rendered
        if _asks_graph(name):
            request = self._graph_request(name, pairs, form)
            return graph_answers.answer(self._view(request.format), request)
        if name == DIGESTS:
            return digest_answers.answer_map(self._engine, self._scope, pairs)
        return self._search(self._search_request(name, pairs, form), form)

    def change(self, name: str, pairs: Pairs) -> bytes:
        """Make or remove the edge that the pairs name, and tell it. Invalid, NotFound."""
        doing = name.removeprefix(".")
        request = parse_edge(doing, pairs)
        act = graph_answers.link if doing == "link" else graph_answers.unlink
        return act(self._view(request.format), request)

    def _graph_request(self, name: str, pairs: Pairs, form: str) -> GraphRequest:
        ask, rest = ask_of(pairs) if name == GRAPH else (name.removeprefix("."), pairs)
        form = NAME if form == NAME else WRITTEN
        return parse_ask(ask, rest, self._engine.config, form=form)

    def _view(self, format: str) -> View:
        engine, scope = self._engine, self._scope
        return View(
            engine,
            scope,
            lambda text: ref_of(engine, scope, text, (self._place,)),
            self._path_of,
            self._next(format),
            self._shown,
        )

    def _search(self, request: SearchRequest, form: str) -> bytes:
        if form == AGAIN:
            request = replace(request, fresh=False)
        page = searching.run(
            self._engine, self._scope, request, shown=self._shown, seconds=self._seconds(form)
        )
        view = self._view(request.format)
        return searching.render(request, page, view.path_of, view.next_request, view.name)

    def _next(self, format: str) -> searching.Next:
        """The request for the next page; without a set it is the same one with another offset."""

        def next_request(set_id: str, offset: int, limit: int) -> str:
            if not set_id:
                return f"offset={offset}"
            asked = f"set={set_id}&offset={offset}&limit={limit}"
            asked += f"&format={format}" if format != "md" else ""
            return f"cat {shlex.quote(f'{self._mountpoint}/.continue?{asked}')}"

        return next_request

    def _recall(self, request: RecallRequest, form: str, session: str) -> bytes:
        if request.token:
            return self._packs.again(request.token, self._mountpoint)
        if form == AGAIN:
            request = replace(request, fresh=False)
        pack = self._engine.recall(
            self._scope,
            request,
            path_of=self._path_of,
            shown=self._shown,
            seconds=self._seconds(form),
            session=session,
        )
        self._packs.put(self._mountpoint, pack.token, pack.rendered)
        return pack.rendered

    def _briefing(self, request: BriefingRequest, session: str) -> bytes:
        found = self._engine.briefing(self._scope, request, path_of=self._path_of, session=session)
        self._packs.put(self._mountpoint, found.token, found.rendered)
        return found.rendered

    def _seconds(self, form: str) -> float:
        """What the vector channel may take: the lookup of a name holds up its directory."""
        config = self._engine.config
        return config.fresh_wait_seconds if form == WRITTEN else config.recall_seconds

    @property
    def _catalogue(self) -> Catalogue:
        """The kinds that can be named here."""
        return self._engine.catalogue.of_kinds(self._scope.kinds)

    def _recall_request(self, pairs: Pairs, form: str) -> RecallRequest:
        return parse_request(
            pairs,
            self._catalogue,
            self._engine.config,
            form=NAME if form == NAME else WRITTEN,
            ceiling=self._scope,
            counters=self._engine.counters,
        )

    def _briefing_request(self, pairs: Pairs) -> BriefingRequest:
        engine = self._engine
        return parse_briefing(
            pairs, self._catalogue, engine.config, ceiling=self._scope, counters=engine.counters
        )

    def _match_request(self, pairs: Pairs, form: str) -> MatchRequest:
        return parse_match(
            pairs,
            self._catalogue,
            self._engine.config,
            form=NAME if form == NAME else WRITTEN,
            ceiling=self._scope,
        )

    def _search_request(self, name: str, pairs: Pairs, form: str) -> SearchRequest:
        return parse_search(
            name.removeprefix("."),
            pairs,
            self._catalogue,
            self._engine.config,
            form=NAME if form == NAME else WRITTEN,
        )
