"""A session: what one asker is reading, how far it has read, and the namespace it is in.

    session = Session(engine, Scope((("team", "sales"),)))
    page = session.ask(engine.search, "overheating pumps", limit=5)
    more = session.continue_()
    kept = json.dumps(session.export())  # … in another process: session.restore(json.loads(kept))

It belongs to one asker: no two threads use it at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Concatenate, ParamSpec

from engine.asking import Asking
from engine.errors import Invalid, NotFound, Problem
from engine.exported import from_json, to_json
from engine.model import Namespace, Page
from engine.namespace import Scope, bind
from engine.paging import window

P = ParamSpec("P")


class Session:
    """One active result set, an offset in it and a namespace within a ceiling."""

    def __init__(self, engine: Asking, ceiling: Scope, namespace: Namespace = ()) -> None:
        self._engine = engine
        self._ceiling = ceiling
        self.scope = bind(ceiling, namespace)
        self.set_id = ""  # of the active result set; "": none
        self.offset = 0  # of the hits that `continue_` gives next

    def enter(self, namespace: Namespace) -> None:
        """Narrow the session's ceiling by other attributes; Invalid where they contradict it.

        The result set, which is of the namespace before, is let go.
        """
        self.scope = bind(self._ceiling, namespace)
        self.clear()

    def ask(
        self,
        method: Callable[Concatenate[Scope, str, P], Page],
        question: str,
        *args: P.args,
        **options: P.kwargs,
    ) -> Page:
        """Ask `engine.search`, `find_exact` or `find_objects`; its set becomes the active one."""
        page = method(self.scope, question, *args, **options)
        limit = options.get("limit")
        self.set_id = page.set_id
        self._read(page, limit if isinstance(limit, int) else None)
        return page

    def continue_(self, limit: int | None = None, *, shown: bool = True) -> Page:
        """The next hits of the active set; NotFound when there is none, or not any more."""
        if not self.set_id:
            raise NotFound("this session has no result set", "search first")
        page = self._engine.continue_(self.scope, self.set_id, self.offset, limit, shown=shown)
        self._read(page, limit)
        return page

    def clear(self) -> None:
        """Let go of the result set."""
        self.set_id, self.offset = "", 0

    def export(self) -> dict[str, object] | None:
        """Everything that `restore` needs, as plain JSON; None for a session that holds nothing.

        A result set whose time is over is left out.
        """
        reading = self._engine.reading
        kept = None
        if self.set_id:
            try:
                found = reading.results.get(self.scope, self.set_id)
                kept = to_json(found, reading.entries)
            except NotFound:
                self.clear()
        if kept is None and not self.scope.attributes:
            return None
        namespace = [list(attribute) for attribute in self.scope.attributes]
        return {"namespace": namespace, "offset": self.offset, "set": kept}

    def restore(self, exported: Mapping[str, object] | None) -> None:
        """Be where `export` was, the set as young as a new one; None clears.

        Raises Invalid, with the session as it was, for what `export` did not make and for a
        namespace that is not one of this session's ceiling.
        """
        if exported is None:
            self.scope = self._ceiling
            self.clear()
            return
        scope, offset = self._place(exported)
        reading = self._engine.reading
        value = exported.get("set")
        found = None
        if value is not None:
            most = reading.config.result_set_hits
            found = from_json(value, scope, reading.entries, most)
        if found is not None:
            reading.results.restore(found)
        self.scope = scope
        self.set_id, self.offset = ("", 0) if found is None else (found.id, offset)

    def _place(self, exported: object) -> tuple[Scope, int]:
        if not isinstance(exported, Mapping):
            raise _wrong("session", "is not an object")
        pairs, offset = exported.get("namespace"), exported.get("offset")
        if not isinstance(pairs, Sequence) or not all(_is_pair(pair) for pair in pairs):
            raise _wrong("namespace", "is not a list of names and values")
        if not isinstance(offset, int) or isinstance(offset, bool) or offset < 0:
            raise _wrong("offset", "is not a number from 0 on")
        namespace = tuple((name, value) for name, value in pairs)
        scope = bind(self._ceiling, namespace)
        if scope.attributes != namespace:
            raise _wrong("namespace", "is wider than this session may see")
        return scope, offset

    def _read(self, page: Page, limit: int | None) -> None:
        self.offset = window(self._engine.reading.config, limit, page.offset, True).end


def _is_pair(pair: object) -> bool:
    return (
        isinstance(pair, list | tuple)
        and len(pair) == 2
        and all(isinstance(text, str) for text in pair)
    )


def _wrong(key: str, what: str) -> Invalid:
    return Invalid(
        Problem(
            f"the {key} of the exported session {what}",
            key=key,
            hint="restore what `export` gave",
        )
    )
