"""Random commits against a dictionary: which file has which bytes, which id, which inode.

After every step the listing, the bytes and the ids are the model's, and `check` finds nothing.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
)

from engine.errors import Invalid
from tests.engine.desk import HERE, Desk, id_shown, with_id

SLUGS = st.sampled_from(["a", "b", "c", "d"])
TEXTS = st.sampled_from(
    ["", "text\n", "# T\n\n[[b]] [[c]]\n", "---\naliases: [nick]\n---\n[x](d.md) [[T]] [[nick]]\n"]
)
GRACE = 300


@dataclass(frozen=True)
class File:
    """What the model knows of a live engram."""

    id: str
    inode: int
    written: bytes
    created_ns: int


class EngineMachine(RuleBasedStateMachine):
    """Put, edit, rename, delete, revive, copy, wait, restart."""

    ids = Bundle("ids")

    def __init__(self) -> None:
        super().__init__()
        self.home = tempfile.TemporaryDirectory()
        self.desk = Desk(self.home.name)
        self.files: dict[str, File] = {}
        self.dead: dict[str, File] = {}  # by id
        self.died: dict[str, int] = {}  # when, of those that a path lost
        self.lost: dict[str, tuple[str, int, str]] = {}  # slug -> id, when, why
        self.copied: list[tuple[str, str, int]] = []  # original, copy, when
        self.waiting: dict[str, tuple[str, int]] = {}  # original -> copy, due
        self.same_as: dict[str, str] = {}  # an id that answers with another

    # -- the model's own rules ------------------------------------------------
    def _now(self) -> int:
        return self.desk.clock.now

    def _live(self, id: str) -> str | None:
        return next((slug for slug, file in self.files.items() if file.id == id), None)

    def _settle(self, only: str | None = None) -> None:
        for original, (copy, due) in list(self.waiting.items()):
            slug = self._live(copy)
            if original not in self.dead or slug is None:
                del self.waiting[original]
            elif self._now() >= due or original == only:
                del self.waiting[original]
                self._become(slug, original)

    def _become(self, slug: str, id: str) -> None:
        """The file at `slug` is the engram `id` from now on."""
        file = self.files[slug]
        self.same_as[file.id] = id
        for other, by in self.same_as.items():
            if by == file.id:
                self.same_as[other] = id
        self.copied = [each for each in self.copied if file.id not in each[:2] and each[0] != id]
        dead = self.dead.pop(id)
        written = file.written.replace(file.id.encode(), id.encode())
        self.files[slug] = replace(file, id=id, written=written, created_ns=dead.created_ns)
        self.lost = {at: kept for at, kept in self.lost.items() if kept[0] != id}

    def _lost(self, slug: str) -> tuple[str, str] | None:
        kept = self.lost.get(slug)
        if kept is None or slug in self.files or self._now() - kept[1] > GRACE * 10**9:
            return None
        latest = self.died.get(kept[0]) == kept[1]  # it did not live and die elsewhere since
        return (kept[0], kept[2]) if kept[0] in self.dead and latest else None

    def _who(self, id: str | None) -> str | None:
        return self.same_as.get(id, id) if id is not None else None

    def _store(self, slug: str, id: str, source: bytes, *, new: bool = False) -> None:
        entry = self.desk.entry(slug)
        assert entry.id == id
        old = self.files.get(slug)
        dead = self.dead.pop(id, None)
        if old is not None:
            assert entry.inode == old.inode
        before = old if old is not None and old.id == id else dead
        if before is not None:
            assert entry.created_ns == before.created_ns
        self.files[slug] = File(id, entry.inode, source, entry.created_ns)
        self.lost.pop(slug, None)
        self.waiting.pop(id, None)

    # -- rules ------------------------------------------------------------------
    @rule(target=ids, slug=SLUGS, text=TEXTS)
    def put(self, slug: str, text: str) -> str:
        self._settle()
        kept = self._lost(slug)
        live = self.files.get(slug)
        id = self.desk.put(slug, text).entry.id
        if live is not None:
            assert id == live.id
            again = text.encode() in (live.written, self._shown(live))
            self._store(slug, id, live.written if again else text.encode())
        else:
            assert kept is None or id == kept[0]
            if kept is None:
                assert id not in self.dead and self._live(id) is None
            self._store(slug, id, text.encode())
        return id

    def _shown(self, file: File) -> bytes:
        from engine.document import with_id as shown

        return shown(file.written, file.id)

    @rule(slug=SLUGS, carried=ids, body=st.sampled_from(["one\n", "two [[a]]\n"]))
    def put_with_id(self, slug: str, carried: str, body: str) -> None:
        self._settle()
        owner = self._who(carried)
        assert owner is not None
        live, kept = self.files.get(slug), self._lost(slug)
        former = self.lost.get(slug)
        source = with_id(carried, body).encode()
        alive = self._live(owner)
        if (
            live is None
            and former is not None
            and former[0] != owner
            and (alive is None or kept is None or kept[1] != "overlay")
        ):
            self._settle(only=former[0])
            owner = self._who(carried)
            assert owner is not None
            alive = self._live(owner)
        entry = self.desk.put(slug, source).entry
        own = source.replace(carried.encode(), entry.id.encode())
        if live is not None and alive is not None:
            assert entry.id == live.id
            self._store(slug, entry.id, own if own != self._shown(live) else live.written)
        elif live is not None:
            assert entry.id == owner
            if self.waiting.get(owner, ("", 0))[0] == live.id:
                self.waiting.pop(owner)
                self._become(slug, owner)
            else:
                self.dead[live.id] = live
                self.died.pop(live.id, None)
            self._store(slug, owner, own)
        elif alive is None:
            assert entry.id == owner
            self._store(slug, owner, own)
        elif kept is not None and kept[1] == "overlay":
            assert entry.id == kept[0]
            self._store(slug, entry.id, own)
        else:
            assert entry.id not in self.dead and self._live(entry.id) is None
            self.copied.append((owner, entry.id, self._now()))
            self._store(slug, entry.id, own)

    @rule(slug=SLUGS, number=st.integers(1, 3))
    def put_unknown(self, slug: str, number: int) -> None:
        self._settle()
        id = f"0190a0b0-0000-7000-8000-00000000000{number}"
        if self._live(id) is not None or id in self.dead or id in self.same_as:
            return  # known by now
        live, kept = self.files.get(slug), self._lost(slug)
        if live is not None or (kept is not None and kept[1] == "overlay"):
            with pytest.raises(Invalid):
                self.desk.put(slug, with_id(id))
            return
        former = self.lost.get(slug)
        if former is not None:
            self._settle(only=former[0])
        self.desk.put(slug, with_id(id))
        self._store(slug, id, with_id(id).encode(), new=True)

    @precondition(lambda self: self.files)
    @rule(data=st.data(), why=st.sampled_from(["unlink", "overlay"]))
    def delete(self, data: st.DataObject, why: str) -> None:
        slug = data.draw(st.sampled_from(sorted(self.files)))
        self._settle()
        self.desk.rm(slug, why=why)
        file = self.files.pop(slug)
        now = self._now()
        self.dead[file.id] = file
        self.lost[slug] = (file.id, now, why)
        self.died[file.id] = now
        young = [
            copy
            for original, copy, at in self.copied
            if original == file.id and now - at <= GRACE * 10**9 and self._live(copy)
        ]
        if why == "unlink" and len(young) == 1:
            self.waiting[file.id] = (young[0], now + GRACE * 10**9)

    @precondition(lambda self: self.files)
    @rule(data=st.data(), new=SLUGS)
    def rename(self, data: st.DataObject, new: str) -> None:
        old = data.draw(st.sampled_from(sorted(self.files)))
        self._settle()
        if old == new:
            return
        former = self.lost.get(new)
        if former is not None and new not in self.files:
            self._settle(only=former[0])
        file, target = self.files[old], self.files.get(new)
        linked = any(
            edge.target == file.id
            for slug in self.files
            for edge in self.desk.edges(slug)
            if slug not in (old, new)
        )
        young = self._now() + 10**6 * 5 - file.created_ns <= GRACE * 10**9
        entry = self.desk.mv(old, new).entry
        del self.files[old]
        self.lost.pop(new, None)
        if target is not None and young and not linked:
            assert (entry.id, entry.inode) == (target.id, target.inode)
            self.dead[file.id] = file
            self.same_as[file.id] = target.id
            for other, by in self.same_as.items():
                if by == file.id:
                    self.same_as[other] = target.id
            del self.dead[file.id]
            self.copied = [each for each in self.copied if file.id not in each[:2]]
            self.waiting = {
                original: kept for original, kept in self.waiting.items() if kept[0] != file.id
            }
            written = file.written.replace(file.id.encode(), target.id.encode())
            self.files[new] = replace(target, written=written)
        else:
            assert (entry.id, entry.inode) == (file.id, file.inode)
            if target is not None:
                self.dead[target.id] = target
                self.died.pop(target.id, None)
            self.files[new] = file

    @rule(id=ids, slug=SLUGS)
    def revive(self, id: str, slug: str) -> None:
        self._settle()
        owner = self._who(id)
        assert owner is not None
        if owner not in self.dead or slug in self.files:
            return
        former = self.lost.get(slug)
        if former is not None and former[0] != owner:
            self._settle(only=former[0])
            owner = self._who(id)
            assert owner is not None
            if owner not in self.dead:
                return
        source = self.dead[owner].written
        self.desk.engine.revive(HERE, owner, slug=slug)
        self._store(slug, owner, source)

    @rule(seconds=st.sampled_from([1, 200, 301]))
    def wait(self, seconds: int) -> None:
        self.desk.clock.pass_seconds(seconds)
        self.desk.engine.settle()
        self._settle()

    @rule()
    def restart(self) -> None:
        self.desk.reopen()

    @rule(slug=SLUGS)
    def same_again(self, slug: str) -> None:
        self._settle()
        file = self.files.get(slug)
        if file is None:
            return
        before = self.desk.entry(slug)
        commit = self.desk.put(slug, self._shown(file))
        assert not commit.changed and commit.entry.updated_ns == before.updated_ns

    # -- what always holds --------------------------------------------------------
    @invariant()
    def files_are_the_models(self) -> None:
        assert self.desk.slugs() == sorted(self.files)
        for slug, file in self.files.items():
            entry = self.desk.entry(slug)
            assert (entry.id, entry.inode) == (file.id, file.inode)
            assert self.desk.written(slug) == file.written
            shown = self.desk.shown(slug)
            assert entry.shown_size == len(shown)
            assert not shown or id_shown(shown) == file.id
        for id in self.dead:
            assert self.desk.engine.by_id(HERE, id) is None

    @invariant()
    def the_store_is_sound(self) -> None:
        self.desk.sound()

    def teardown(self) -> None:
        self.desk.engine.close()
        self.home.cleanup()


EngineMachine.TestCase.settings = settings(
    max_examples=12,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestEngineMachine = EngineMachine.TestCase
