"""Random commits between builds: no digest is ever given that does not say what its engrams say.

The model knows of each kind what the tiny summariser would say now. Texts are asked for by hash, so
the same content is never summarised twice while its text is kept.
"""

from __future__ import annotations

import tempfile

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from engine.config import Config
from engine.digests.making import Leaves
from engine.model import Draft
from engine.namespace import Scope
from tests.engine.desk import Desk
from tests.engine.summaries import Counting

SCOPES = [Scope((), exact=True), Scope((("team", "x"),), exact=True)]
AT = st.sampled_from(SCOPES)
KINDS = st.sampled_from(["note", "task"])
SLUGS = st.sampled_from(["a", "b", "c", "d", "e"])
TEXTS = st.sampled_from(["one", "two", "[[a]] [[b]]", "[[b]] [[c]] [[d]]"])
CONFIG = Config(digests=False, grace_ns=0)


class DigestMachine(RuleBasedStateMachine):
    """Put, delete, revive, move, link, rebuild, reindex, restart."""

    def __init__(self) -> None:
        super().__init__()
        self.home = tempfile.TemporaryDirectory()
        self.made = Counting()
        self.desk = Desk(self.home.name, config=CONFIG, summariser=self.made)
        self.texts: dict[str, str] = {}  # by id, of live engrams
        self.dead: list[tuple[Scope, str, str]] = []
        self.asked: set[tuple[Scope, str, tuple[tuple[str, ...], ...]]] = set()

    # -- rules --------------------------------------------------------------------
    @rule(scope=AT, kind=KINDS, slug=SLUGS, text=TEXTS)
    def put(self, scope: Scope, kind: str, slug: str, text: str) -> None:
        entry = self.desk.engine.put(scope, Draft(kind, slug, text.encode())).entry
        self.texts[entry.id] = text

    @rule(scope=AT, kind=KINDS, slug=SLUGS)
    def delete(self, scope: Scope, kind: str, slug: str) -> None:
        entry = self.desk.engine.lookup(scope, kind, slug)
        if entry is not None:
            self.desk.engine.delete(scope, entry.id)
            self.dead.append((scope, entry.id, self.texts.pop(entry.id)))

    @precondition(lambda self: self.dead)
    @rule()
    def revive(self) -> None:
        scope, id, text = self.dead.pop()
        gone = self.desk.engine._state.entries.by_id(id)
        if gone is None or gone.deleted_ns is None:
            return
        if self.desk.engine.lookup(scope, gone.kind, gone.slug) is None:
            self.desk.engine.revive(scope, id)
            self.texts[id] = text

    @rule(scope=AT, kind=KINDS, slug=SLUGS, to=KINDS, onto=SLUGS)
    def move(self, scope: Scope, kind: str, slug: str, to: str, onto: str) -> None:
        entry = self.desk.engine.lookup(scope, kind, slug)
        taken = self.desk.engine.lookup(scope, to, onto)
        if entry is not None and taken is None:
            self.desk.engine.rename(scope, entry.id, to, onto)

    @rule(scope=AT, kind=KINDS, slug=SLUGS, mode=st.sampled_from([0o600, 0o644]))
    def chmod(self, scope: Scope, kind: str, slug: str, mode: int) -> None:
        entry = self.desk.engine.lookup(scope, kind, slug)
        if entry is not None:
            self.desk.engine.set_attributes(scope, entry, mode=mode)

    @rule(scope=AT)
    def rebuild(self, scope: Scope) -> None:
        before = self._said(scope)
        digests = self.desk.engine.rebuild_digests(scope)
        assert all(not digest.stale and not digest.problem for digest in digests)
        fresh, missing = self.desk.engine.reading.digests(scope)
        assert fresh == digests
        assert missing == ()
        assert before.keys() <= {digest.name for digest in digests} | before.keys()
        self.made.take()
        self.desk.engine.rebuild_digests(scope)
        assert self.made.take() == []

    @rule()
    def reindex(self) -> None:
        self.desk.engine.reindex()

    @rule()
    def restart(self) -> None:
        self.desk.reopen()

    # -- what holds ------------------------------------------------------------------
    def _said(self, scope: Scope) -> dict[str, str]:
        fresh, _ = self.desk.engine.reading.digests(scope)
        return {digest.name: digest.text for digest in fresh}

    @invariant()
    def no_digest_is_stale(self) -> None:
        engine = self.desk.engine
        columns = engine._upkeep.columns.now()
        means = engine._upkeep.digests._worker.means
        for scope in SCOPES:
            live = engine.entries(scope)
            fresh, _ = engine.reading.digests(scope)
            for digest in fresh:
                members = digest.members.tolist()
                here = {entry.no for entry in live}
                assert set(members) <= here
                assert digest.namespace == scope.attributes
                if digest.name == "tenant":
                    assert set(members) == here
                    continue
                if digest.name.startswith("kind-"):
                    kind = digest.name.removeprefix("kind-")
                    assert set(members) == {entry.no for entry in live if entry.kind == kind}
                entries = [columns.entry(no) for no in members]
                leaves = Leaves(engine._state).of(entries)
                assert digest.hash == means.tree_of(leaves).hash
                said = (f"{each.title}: {self.texts[each.id]}" for each in entries)
                assert digest.text == "\n".join(said)

    @invariant()
    def the_store_agrees(self) -> None:
        assert self.desk.engine._upkeep.digests.check() == ()

    def teardown(self) -> None:
        self.desk.engine.close()
        self.home.cleanup()


TestDigests = DigestMachine.TestCase
TestDigests.settings = settings(
    max_examples=12,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
