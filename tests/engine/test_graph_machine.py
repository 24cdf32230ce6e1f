"""Edges through any sequence of writes: memory, the table and a rebuild agree, in every scope.

After every step the edges in memory are the stored ones, in their order, and what each scope sees
is what an oracle reads from the rows. Opening the store again, folding and indexing anew change
nothing of it. And a store made of the final documents and the explicit edges alone has the same
edges, but for those that follow an engram which their text names by what it was called before.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from engine.edges import keys_of_target
from engine.engine import Engine
from engine.entries import is_live
from engine.errors import Conflict, Invalid
from engine.expand import Expansion
from engine.model import Draft, Edge, EdgeMeta, Entry, Namespace
from engine.namespace import Scope
from engine.slug import fold
from engine.store import edges as stored_edges
from engine.store.edges import DANGLING
from engine.walk import neighbours
from tests.engine.desk import Desk, with_id

KINDS = (
    "kinds: {note: {fields: {owner: {type: string, link: owned_by}}}, task: {}}",
    "kinds: {note: {fields: {owner: {type: string}}}, task: {}}",
    "kinds: {note: {fields: {owner: {type: string, link: owned_by, to: task}}}, task: {}}",
)
SPACES: tuple[Namespace, ...] = ((), (("team", "a"),))
EVERYWHERE = Scope(())
SCOPES = (EVERYWHERE, *(Scope(space, exact=True) for space in SPACES), Scope(SPACES[1]))
SLUGS = st.sampled_from(["a", "b", "c"])
KIND = st.sampled_from(["note", "note", "task"])
SPACE = st.sampled_from([SPACES[0], *SPACES])
RELATIONS = st.sampled_from(["about", "mentions"])
TEXTS = st.sampled_from(
    [
        "text\n",
        "# T\n\n[[a]] [[b]] [[c]]\n",
        "[x](b.md) [y](../task/a.md#h) [[task/b]]\n",
        "---\nowner: b\n---\n[[T]] [[nick]]\n",
        "---\naliases: [nick]\n---\n[[note/a]] [[c]]\n",
        "---\nderived_from: [note/a, c]\n---\n[[c#h]] [[nowhere]]\n",
    ]
)

Seen = dict[tuple[int, str], object]
Written = dict[tuple[str, str, str, str, str], str]


class GraphMachine(RuleBasedStateMachine):
    """Put, edit, rename, exchange, delete, revive, copy, link, unlink, rewrite, other kinds."""

    def __init__(self) -> None:
        super().__init__()
        self.home = tempfile.TemporaryDirectory()
        self.kinds = KINDS[0]
        self.desk = Desk(self.home.name, kinds=self.kinds)
        self.called: dict[str, set[str]] = {}  # folded name -> ids that ever bore it

    # -- writes --------------------------------------------------------------------
    @rule(kind=KIND, slug=SLUGS, space=SPACE, text=TEXTS)
    def put(self, kind: str, slug: str, space: Namespace, text: str) -> None:
        self._put(kind, slug, space, text)

    @precondition(lambda self: self._every())
    @rule(data=st.data(), kind=KIND, slug=SLUGS, text=st.sampled_from(["one\n", "two [[a]]\n"]))
    def put_with_id(self, data: st.DataObject, kind: str, slug: str, text: str) -> None:
        """A copy, a move by an editor, or the return of one that was deleted."""
        entry = data.draw(st.sampled_from(self._every()))
        self._put(kind, slug, entry.namespace, with_id(entry.id, text))

    def _put(self, kind: str, slug: str, space: Namespace, text: str) -> None:
        try:
            draft = Draft(kind, slug, text.encode(), by="cp")
            self.desk.engine.put(Scope(space, exact=True), draft)
        except Invalid:
            pass  # an id that may not stand there: nothing is written

    @precondition(lambda self: self._live())
    @rule(data=st.data(), kind=KIND, slug=SLUGS, rewrite=st.booleans())
    def rename(self, data: st.DataObject, kind: str, slug: str, rewrite: bool) -> None:
        entry = data.draw(st.sampled_from(self._live()))
        scope = Scope(entry.namespace, exact=True)
        with suppress(Invalid):  # the other kind has not its properties: nothing is written
            self.desk.engine.rename(scope, entry.id, kind, slug, rewrite=rewrite)

    @precondition(lambda self: len(self._live()) > 1)
    @rule(data=st.data())
    def exchange(self, data: st.DataObject) -> None:
        entry = data.draw(st.sampled_from(self._live()))
        others = [one for one in self._live() if one.namespace == entry.namespace]
        other = data.draw(st.sampled_from(others))
        with suppress(Invalid):  # as in a rename
            self.desk.engine.exchange(Scope(entry.namespace, exact=True), entry.id, other.id)

    @precondition(lambda self: self._live())
    @rule(data=st.data(), why=st.sampled_from(["unlink", "overlay"]))
    def delete(self, data: st.DataObject, why: str) -> None:
        entry = data.draw(st.sampled_from(self._live()))
        by = data.draw(st.sampled_from(["", "cp"]))
        self.desk.engine.delete(EVERYWHERE, entry.id, why=why, by=by)

    @precondition(lambda self: self._dead())
    @rule(data=st.data(), slug=SLUGS)
    def revive(self, data: st.DataObject, slug: str) -> None:
        entry = data.draw(st.sampled_from(self._dead()))
        with suppress(Conflict):  # the place is taken: nothing is written
            self.desk.engine.revive(EVERYWHERE, entry.id, slug=slug)

    @precondition(lambda self: len(self._live()) > 1)
    @rule(
        data=st.data(),
        relation=RELATIONS,
        meta=st.sampled_from([EdgeMeta(), EdgeMeta(note="why", confidence=0.5)]),
    )
    def link(self, data: st.DataObject, relation: str, meta: EdgeMeta) -> None:
        a, b = data.draw(st.sampled_from(self._live())), data.draw(st.sampled_from(self._live()))
        if a.id != b.id:
            self.desk.engine.link(EVERYWHERE, a.id, relation, b.id, meta)

    @precondition(lambda self: self._by_hand())
    @rule(data=st.data())
    def unlink(self, data: st.DataObject) -> None:
        edge = data.draw(st.sampled_from(self._by_hand()))
        assert self.desk.engine.unlink(EVERYWHERE, edge.source, edge.relation, edge.target)

    @rule(kinds=st.sampled_from(KINDS))
    def other_kinds(self, kinds: str) -> None:
        self.desk.engine.apply_kinds(kinds)
        self.kinds = kinds

    @rule(seconds=st.sampled_from([1, 301]))
    def wait(self, seconds: int) -> None:
        self.desk.clock.pass_seconds(seconds)
        self.desk.engine.settle()

    # -- what changes nothing --------------------------------------------------------
    @rule()
    def reopen(self) -> None:
        self.desk.sound()
        before = self._seen()
        self.desk.reopen()
        assert self._seen() == before

    @rule()
    def fold(self) -> None:
        before = self._seen()
        state = self.desk.engine.reading._state
        state.edges.fold(state.store.lock)
        assert state.edges.unfolded == 0
        assert self._seen() == before

    @rule()
    def reindex(self) -> None:
        before = self._seen()
        self.desk.engine.reindex()
        assert self._seen() == before

    @rule()
    def build_anew(self) -> None:
        """A fresh store with the final documents and the explicit edges."""
        other = Desk(kinds=self.kinds)
        try:
            self._copy_to(other.engine)
            ours, fresh = _written(self.desk.engine), _written(other.engine)
            for key in ours.keys() | fresh.keys():
                if ours.get(key) != fresh.get(key):
                    assert self._followed(key), (key, ours.get(key), fresh.get(key))
        finally:
            other.engine.close()

    def _copy_to(self, other: Engine) -> None:
        engine = self.desk.engine
        for entry in engine.reading.entries.live():
            draft = Draft(entry.kind, entry.slug, engine.source(entry))
            made = other.put(Scope(entry.namespace, exact=True), draft)
            assert made.entry.id == entry.id
        for edge in self._by_hand():
            meta = EdgeMeta(edge.note, edge.status, edge.role, edge.confidence, edge.evidence_id)
            other.link(EVERYWHERE, edge.source, edge.relation, edge.target, meta)

    def _followed(self, key: tuple[str, str, str, str, str]) -> bool:
        """Does the edge lead, or is it hidden because it leads, to one that had the name?"""
        source, relation, written, heading, origin = key
        state = self.desk.engine.reading._state
        entry = state.entries.by_id(source)
        assert entry is not None
        [row] = [
            row
            for row in state.edges.out(entry.no)
            if (row.relation, row.written, row.heading, row.origin)
            == (relation, written, heading, origin)
        ]
        bore = {
            held.no
            for name in keys_of_target(written, heading)
            for id in self.called.get(name, ())
            if (held := state.entries.by_id(id)) is not None
        }
        return row.target in bore

    # -- what always holds -----------------------------------------------------------
    @invariant()
    def memory_is_the_table(self) -> None:
        state = self.desk.engine.reading._state
        for entry in state.entries.all():
            for name in (entry.id, entry.slug, entry.title, *state.names.aliases(entry.no)):
                self.called.setdefault(fold(name), set()).add(entry.id)
        with state.store.cursor() as cursor:
            stored = list(stored_edges.load(cursor).rows())
        assert sorted(state.edges.all(), key=lambda row: row.source) == stored
        for entry in state.entries.all():
            into = [row for row in stored if row.target == entry.no != row.source]
            assert state.edges.into(entry.no) == into
            own = tuple(row for row in stored if row.source == entry.no)
            assert state.edges.out(entry.no) == own

    @invariant()
    def every_scope_sees_its_own(self) -> None:
        engine, state = self.desk.engine, self.desk.engine.reading._state
        for scope in SCOPES:
            met = [entry for entry in self._live() if scope.covers(entry.namespace)]
            wanted = self._visible(scope)
            out, into = (
                Counter(
                    (entry.no, near.relation, near.entry.no)
                    for entry in met
                    for near in neighbours(state, scope, entry.no, direction, limit=None)
                )
                for direction in ("out", "in")
            )
            assert out == wanted
            assert Counter({(b, name, a): n for (a, name, b), n in into.items()}) == wanted
            listed = Counter(
                (edge.source, edge.relation, edge.target)
                for entry in met
                for edge in engine.edges(scope, entry.id)
                if edge.target and edge.source == entry.id
            )
            ids = {entry.no: entry.id for entry in met}
            assert listed == Counter(
                {(ids[a], relation, ids[b]): n for (a, relation, b), n in wanted.items()}
            )

    def _visible(self, scope: Scope) -> Counter[tuple[int, str, int]]:
        """From the rows: edges from whom the scope sees to whom it sees, or is to see there."""
        state = self.desk.engine.reading._state
        found: Counter[tuple[int, str, int]] = Counter()
        for row in state.edges.all():
            source, target = state.entries.get(row.source), self._heir(row.target)
            if source is None or target is None or not is_live(source) or source.no == target.no:
                continue
            if scope.covers(source.namespace) and scope.covers(target.namespace):
                found[source.no, row.relation, target.no] += 1
        return found

    def _heir(self, no: int) -> Entry | None:
        entries = self.desk.engine.reading.entries
        entry = entries.get(no) if no != DANGLING else None
        return entry if entry is None or is_live(entry) else entries.successor(no)

    # -- reading ---------------------------------------------------------------------
    def _every(self) -> list[Entry]:
        return sorted(self.desk.engine.reading.entries.all(), key=lambda entry: entry.no)

    def _live(self) -> list[Entry]:
        return [entry for entry in self._every() if is_live(entry)]

    def _dead(self) -> list[Entry]:
        return [entry for entry in self._every() if not is_live(entry)]

    def _by_hand(self) -> list[Edge]:
        edges = _edges(self.desk.engine)
        return list(
            {(e.source, e.relation, e.target): e for e in edges if e.origin == "link"}.values()
        )

    def _seen(self) -> Seen:
        """All that any scope sees of the graph."""
        engine = self.desk.engine
        return {
            (at, entry.id): (
                engine.edges(scope, entry.id),
                engine.neighbours(scope, entry.id),
                engine.expand(scope, [entry.id], Expansion(hops=2)),
            )
            for at, scope in enumerate(SCOPES)
            for entry in self._live()
            if scope.covers(entry.namespace)
        }

    def teardown(self) -> None:
        self.desk.sound()
        self.desk.engine.close()
        self.home.cleanup()


def _edges(engine: Engine) -> Iterator[Edge]:
    for entry in engine.reading.entries.live():
        for edge in engine.edges(EVERYWHERE, entry.id):
            if edge.source == entry.id:
                yield edge


def _written(engine: Engine) -> Written:
    """The edges that texts make."""
    return {
        (edge.source, edge.relation, edge.written, edge.heading, edge.origin): edge.target
        for edge in _edges(engine)
        if edge.origin != "link"
    }


GraphMachine.TestCase.settings = settings(
    max_examples=10,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestGraphMachine = GraphMachine.TestCase
