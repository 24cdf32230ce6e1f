"""Random commits and replacements of a host's parts against a dictionary."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from engine.host_parts import joined
from engine.model import HostPart
from tests.engine.desk import HERE, Desk, with_id

SLUGS = st.sampled_from(["a", "b", "c"])
BODIES = st.sampled_from(["", "text\n", "# T\n\none\n\n## U\n\n[[b]]\n", "---\nlang: de\n---\nx\n"])
WORDS = ("alpha", "bravo", "delta", "gamma")  # each means one host's text at most to a search
LONG = "".join(f"Sentence {n} is there.\n" for n in range(150))
TEXTS = st.sampled_from([f"about {word}" for word in WORDS] + [LONG, "漢字とかな"])
PATHS = st.sampled_from([(), ("Page 1",), ("Page 1", "Sub")])
PARTS = st.lists(st.builds(HostPart, TEXTS, PATHS), max_size=3).map(tuple)


@dataclass
class Held:
    """What the model knows of an engram, alive or dead."""

    body: bytes
    parts: tuple[HostPart, ...] = ()


class HostPartsMachine(RuleBasedStateMachine):
    """Put, edit, rename, delete, revive, copy, replace, reindex, prune, restart."""

    def __init__(self) -> None:
        super().__init__()
        self.home = tempfile.TemporaryDirectory()
        self.desk = Desk(self.home.name)
        self.held: dict[str, Held] = {}  # by id
        self.at: dict[str, str] = {}  # slug -> id

    def _some(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(sorted(self.at)))

    @rule(slug=SLUGS, body=BODIES)
    def put(self, slug: str, body: str) -> None:
        id = self.desk.put(slug, body).entry.id
        assert slug not in self.at or self.at[slug] == id
        self.held.setdefault(id, Held(b"")).body = body.encode()
        self.at[slug] = id

    @precondition(lambda self: self.at)
    @rule(data=st.data(), parts=PARTS)
    def replace_parts(self, data: st.DataObject, parts: tuple[HostPart, ...]) -> None:
        slug = self._some(data)
        before, held = self.desk.entry(slug), self.held[self.at[slug]]
        commit = self.desk.engine.replace_parts(HERE, f"note/{slug}", parts or None)
        assert commit.changed == (parts != held.parts)
        assert (commit.entry.mtime_ns, commit.entry.ctime_ns) == (before.mtime_ns, before.ctime_ns)
        assert (commit.entry.updated_ns > before.updated_ns) == commit.changed
        held.parts = parts

    @precondition(lambda self: self.at)
    @rule(data=st.data(), new=SLUGS)
    def rename(self, data: st.DataObject, new: str) -> None:
        old = self._some(data)
        if new not in self.at:
            self.desk.mv(old, new)
            self.at[new] = self.at.pop(old)

    @precondition(lambda self: len(self.at) > 1)
    @rule(data=st.data())
    def exchange(self, data: st.DataObject) -> None:
        one, other = self._some(data), self._some(data)
        self.desk.engine.exchange(HERE, self.at[one], self.at[other])
        self.at[one], self.at[other] = self.at[other], self.at[one]

    @precondition(lambda self: self.at)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        slug = self._some(data)
        self.desk.rm(slug, why="overlay")  # no copy succeeds it
        del self.at[slug]

    @precondition(lambda self: len(self.held) > len(self.at))
    @rule(data=st.data(), slug=SLUGS)
    def revive(self, data: st.DataObject, slug: str) -> None:
        dead = sorted(self.held.keys() - set(self.at.values()))
        id = data.draw(st.sampled_from(dead))
        if slug not in self.at:
            self.desk.engine.revive(HERE, id, slug=slug)
            self.at[slug] = id

    @precondition(lambda self: self.at)
    @rule(data=st.data(), new=SLUGS)
    def copy(self, data: st.DataObject, new: str) -> None:
        slug = self._some(data)
        self.desk.clock.pass_seconds(1_000)  # no place remembers what it lost
        if new not in self.at:
            source = with_id(self.at[slug], "copied\n").encode()
            id = self.desk.put(new, source).entry.id
            self.held[id] = Held(source.replace(self.at[slug].encode(), id.encode()))
            self.at[new] = id

    @rule()
    def reindex(self) -> None:
        assert self.desk.engine.reindex()["changed"] == 0

    @rule()
    def fold_and_prune(self) -> None:
        self.desk.engine._upkeep.fulltext.fold(self.desk.engine._state.index)
        self.desk.engine._upkeep.prune()

    @rule()
    def restart(self) -> None:
        self.desk.reopen()

    @invariant()
    def the_parts_are_the_models(self) -> None:
        assert self.desk.slugs() == sorted(self.at)
        for slug, id in self.at.items():
            entry, held = self.desk.entry(slug), self.held[id]
            assert entry.id == id and self.desk.written(slug) == held.body
            children = self.desk.engine.children(HERE, id)
            assert joined(children, id) == held.parts
            assert entry.parts == len(children)
            assert [part.position for part in children] == list(range(len(children)))

    @invariant()
    def they_are_found_where_they_are(self) -> None:
        for word in WORDS:
            slugs = sorted(hit.entry.slug for hit in self.desk.engine.search(HERE, word).hits)
            said = [
                slug
                for slug, id in self.at.items()
                if any(word in part.text for part in self.held[id].parts)
            ]
            assert slugs == sorted(said)

    @invariant()
    def the_store_is_sound(self) -> None:
        self.desk.sound()

    def teardown(self) -> None:
        self.desk.engine.close()
        self.home.cleanup()


HostPartsMachine.TestCase.settings = settings(
    max_examples=12,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestHostPartsMachine = HostPartsMachine.TestCase
