"""Random commits between builds: no digest is ever given that does not say what its engrams say.

The model knows of each kind what the tiny summariser would say now. Texts are asked for by hash, so
the same content is never summarised twice while its text is kept.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from engine.config import Config
from engine.digests.making import Leaves
from engine.errors import NotFound, SummariserFailed
from engine.model import Draft
from engine.namespace import Scope
from engine.ports import Text
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
        self.asked: set[tuple[tuple[int, str, tuple[str, ...]], ...]] = set()

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
        # What was fresh stands as it was, and nothing is put to the summariser a second time.
        assert before.items() <= {digest.name: digest.text for digest in digests}.items()
        self.desk.engine.rebuild_digests(scope)

    @rule(scope=AT, data=st.data())
    def rebuild_one(self, scope: Scope, data: st.DataObject) -> None:
        """Exactly the one that is asked for, and of the tenant what it rests on."""
        before = {digest.name: digest for digest in self.desk.engine.digests(scope)}
        if not before:
            return
        name = data.draw(st.sampled_from(sorted(before)))
        try:
            after = {one.name: one for one in self.desk.engine.rebuild_digests(scope, name)}
        except NotFound:
            assert name.startswith("community-")
            assert name not in {digest.name for digest in self.desk.engine.digests(scope)}
            return
        assert not after[name].stale
        if name != "tenant":
            others = {one for one in {*before, *after} if one != name}
            assert all(before.get(one) == after.get(one) for one in others)

    @rule(scope=AT, kind=KINDS)
    def fail_and_mend(self, scope: Scope, kind: str) -> None:
        """What cannot be made is stale and says why; what was fresh stays so."""
        before = self._said(scope)

        def broken(texts: Sequence[Text]) -> None:
            if any(text.name.startswith(f"{kind}/") for text in texts):
                raise SummariserFailed("broken")

        self.made.fail = broken
        digests = self.desk.engine.rebuild_digests(scope)
        self.made.fail = None
        assert before.items() <= self._said(scope).items()
        for digest in digests:
            assert digest.stale == (not digest.text)
            assert digest.problem or not digest.stale

    @rule()
    def reindex(self) -> None:
        self.desk.engine.reindex()

    @rule()
    def restart(self) -> None:
        before = [self.desk.engine.digests(scope) for scope in SCOPES]
        self.desk.reopen()
        after = [self.desk.engine.digests(scope) for scope in SCOPES]
        unsaid = [[replace(one, problem="") for one in some] for some in before]
        assert unsaid == [list(some) for some in after]

    # -- what holds ------------------------------------------------------------------
    def _said(self, scope: Scope) -> dict[str, str]:
        fresh, _ = self.desk.engine.reading.digests(scope)
        return {digest.name: digest.text for digest in fresh}

    @invariant()
    def nothing_unchanged_is_summarised_again(self) -> None:
        """The same engrams with the same texts are put to the summariser once."""
        given, self.made.given = self.made.given, []
        for texts in given:
            if texts[0].engram >= 0:
                said = tuple(sorted((one.engram, one.name, one.passages) for one in texts))
                assert said not in self.asked
                self.asked.add(said)

    @invariant()
    def a_reader_of_some_kinds_is_told_of_no_others(self) -> None:
        engine = self.desk.engine
        for scope in SCOPES:
            for kind in ("note", "task"):
                of_others = {one.no for one in engine.entries(scope) if one.kind != kind}
                for digest in engine.digests(replace(scope, kinds=frozenset({kind}))):
                    assert digest.name != "tenant"
                    assert of_others.isdisjoint(digest.members.tolist())

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
