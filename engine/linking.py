"""The edges that a commit makes, keeps and settles: written links against who is there after it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from engine.edges import keys_of_engram, keys_of_target, link_of
from engine.entries import Place, is_live, place_of
from engine.links import resolve
from engine.model import Entry, Link, Namespace
from engine.plan import Plan
from engine.slug import fold, nfc
from engine.state import State
from engine.store.edges import DANGLING, EdgeRow
from engine.store.versions import entry_of

Key = tuple[str, str, str, str]


def connect(state: State, plan: Plan) -> None:
    """Add to a plan, whose rows are complete, the edges that change with it."""
    after = After(state, plan)
    for no, content in {**plan.contents, **plan.looked_at}.items():
        entry = after.get(no)
        if entry is not None and is_live(entry) and (content.links or state.edges.out(no)):
            _save(state, plan, after, entry, content.links)
    _merge(state, plan)
    _wake(state, plan, after)


class After:
    """Who is there once a plan is carried out; what `engine.links.resolve` looks names up in."""

    def __init__(self, state: State, plan: Plan | None = None) -> None:
        self._state = state
        self._changed: dict[int, Entry] = {}
        self._at: dict[Place, Entry] = {}
        self._ids: dict[str, Entry] = {}
        self._called: dict[tuple[str, str], list[Entry]] | None = None
        self._aliases: dict[int, tuple[str, ...]] = {}
        self._merged: dict[int, int] = {}
        self._forgotten: set[Place] = set()
        self._heirs = {original: copy for original, copy, _ in state.entries.awaiting()}
        self._now_ns = state.clock() if plan is None else plan.now_ns
        if plan is not None:
            self._changed = {row.engram: entry_of(row) for row in plan.rows}
            self._ids = {entry.id: entry for entry in self._changed.values()}
            self._at = {
                place_of(entry): entry for entry in self._changed.values() if is_live(entry)
            }
            self._aliases = {no: content.head.aliases for no, content in plan.contents.items()}
            self._merged = plan.merged
            self._forgotten = set(plan.forget)
            self._heirs.update({original: copy for original, (copy, _) in plan.awaiting.items()})
            for original in plan.settled:
                self._heirs.pop(original, None)

    def get(self, no: int) -> Entry | None:
        """An engram's state, deleted or not."""
        return self._changed.get(no) or self._state.entries.get(no)

    def lives(self, no: int) -> bool:
        """Is it a live engram?"""
        entry = self.get(no)
        return entry is not None and is_live(entry)

    def stands(self, no: int) -> bool:
        """Does an edge to this engram stay with it? To a deleted one until its grace time is over
        or another has taken its place: an editor's backup dance must not lead links astray."""
        entry = self.get(no)
        if entry is None or entry.deleted_ns is None:
            return entry is not None
        if self._now_ns - entry.deleted_ns > self._state.config.grace_ns:
            return False
        return self._holder(place_of(entry)) is None

    def aliases(self, no: int) -> tuple[str, ...]:
        """What else an engram is called."""
        found = self._aliases.get(no)
        return found if found is not None else self._state.names.aliases(no)

    def changed(self) -> Iterable[Entry]:
        """The engrams of which the plan makes a new state."""
        return self._changed.values()

    def by_id(self, namespace: Namespace, id: str) -> Entry | None:
        """The engram that answers to an id, if it lives or a copy is to succeed it."""
        if id in self._ids:
            return self._seen(namespace, self._ids[id])
        held = self._state.entries.by_id(id)
        return None if held is None else self._seen(namespace, held)

    def at(self, namespace: Namespace, kind: str, slug: str) -> Entry | None:
        """The live engram at a place, or the one that last left it (and lives, or has an heir)."""
        known = self._state.catalogue.by_directory(kind) or self._state.catalogue.kind(kind)
        place = (namespace, known.name if known is not None else kind, nfc(slug))
        here = self._holder(place)
        if here is not None:
            return here
        former = self._state.entries.former(place)
        if former is None or place in self._forgotten:
            return None
        gone = self.get(former.no)
        return None if gone is None else self._seen(namespace, gone)

    def _holder(self, place: Place) -> Entry | None:
        """The live engram at a place."""
        if place in self._at:
            return self._at[place]
        here = self._state.entries.at(place)
        if here is None or here.empty:
            return None
        now = self.get(here.no)
        return here if now is not None and is_live(now) and place_of(now) == place else None

    def by_slug(self, namespace: Namespace, slug: str) -> list[Entry]:
        """Live engrams with a slug, of the exact case if there are any."""
        return self._named("slug", namespace, slug, self._state.names.by_slug(namespace, slug))

    def by_alias(self, namespace: Namespace, alias: str) -> list[Entry]:
        """Live engrams with an alias, of the exact case if there are any."""
        return self._named("alias", namespace, alias, self._state.names.by_alias(namespace, alias))

    def by_title(self, namespace: Namespace, title: str) -> list[Entry]:
        """Live engrams with a title, of the exact case if there are any."""
        return self._named("title", namespace, title, self._state.names.by_title(namespace, title))

    def _named(self, what: str, namespace: Namespace, name: str, found: list[Entry]) -> list[Entry]:
        """Those found that the plan leaves alone, and those that it makes."""
        if not self._changed:
            return found
        every = {entry.no: entry for entry in found if entry.no not in self._changed}
        for entry in self._made().get((what, fold(name)), ()):
            if entry.namespace == namespace:
                every[entry.no] = entry
        exact = [
            entry
            for entry in every.values()
            if any(nfc(own) == nfc(name) for own in self._spellings(what, entry))
        ]
        return exact or list(every.values())

    def _made(self) -> dict[tuple[str, str], list[Entry]]:
        """The live engrams of the plan by what they are called."""
        if self._called is None:
            self._called = {}
            for entry in self._at.values():
                for what in ("slug", "alias", "title"):
                    for name in {fold(own) for own in self._spellings(what, entry)}:
                        self._called.setdefault((what, name), []).append(entry)
        return self._called

    def _spellings(self, what: str, entry: Entry) -> tuple[str, ...]:
        if what == "alias":
            return self.aliases(entry.no)
        return (entry.slug if what == "slug" else entry.title,)

    def _seen(self, namespace: Namespace, entry: Entry) -> Entry | None:
        now = self.get(self._merged.get(entry.no, entry.no))
        if now is None or now.namespace != namespace:
            return None
        awaited = now.no in self._heirs and self.lives(self._heirs[now.no])
        return now if is_live(now) or awaited else None

    def succeeded_by(self, no: int) -> list[int]:
        """The engrams that this one, a copy, is to succeed."""
        return [original for original, copy in self._heirs.items() if copy == no]


def _save(state: State, plan: Plan, after: After, entry: Entry, links: tuple[Link, ...]) -> None:
    """An engram was saved: its edges are those of its text, and those made by hand."""
    before = state.edges.out(entry.no)
    old = {_key(row.relation, row.written, row.heading, row.origin): row for row in before}
    rows: dict[Key, EdgeRow] = {}
    for link in links:
        key = _key(link.relation, link.target, link.heading, link.origin)
        if key in rows:
            continue
        kept = old.get(key)
        target = _target(after, entry, link, kept)
        if kept is not None and kept.target == target:
            rows[key] = kept
        else:
            rows[key] = EdgeRow(
                entry.no,
                link.relation,
                target,
                link.target,
                link.heading,
                link.origin,
                created_ns=kept.created_ns if kept is not None else plan.now_ns,
                updated_ns=plan.now_ns,
            )
    by_hand = [row for row in before if row.origin == "link"]
    now = (*rows.values(), *by_hand)
    if now != before:
        plan.edges[entry.no] = now


def _target(after: After, entry: Entry, link: Link, kept: EdgeRow | None) -> int:
    """The edge follows its engram while the text still names the place that it had."""
    if kept is not None and _settled(kept, after):
        return kept.target
    found = resolve(link, entry, after)
    if found is not None:
        return found
    return kept.target if kept is not None else DANGLING


def _merge(state: State, plan: Plan) -> None:
    """Edges to an engram that became one with another lead to that one, and those that were made
    by hand from it lead from that one."""
    for gone, by in plan.merged.items():
        for source in state.edges.sources(gone):
            rows = _planned(state, plan, source)
            plan.edges[source] = tuple(
                replace(row, target=by) if row.target == gone and row.origin != "link" else row
                for row in rows
            )
            for row in rows:
                if row.target == gone and row.origin == "link":
                    _carry(state, plan, row, replace(row, target=by))
        for row in _planned(state, plan, gone):
            if row.origin == "link":
                _carry(state, plan, row, replace(row, source=by))


def _carry(state: State, plan: Plan, row: EdgeRow, new: EdgeRow) -> None:
    """An edge made by hand gets other ends: not where it would lead to itself, or is there."""
    plan.edges[row.source] = tuple(
        each for each in _planned(state, plan, row.source) if each is not row
    )
    if row in plan.linked:
        plan.linked.remove(row)
    else:
        plan.unlinked.append(row)
    rows = _planned(state, plan, new.source)
    there = any((each.origin, each.relation, each.target) == _hand_key(new) for each in rows)
    if new.target != new.source and not there:
        plan.edges[new.source] = (*rows, new)
        plan.linked.append(new)


def _hand_key(row: EdgeRow) -> tuple[str, str, int]:
    return ("link", row.relation, row.target)


def _planned(state: State, plan: Plan, source: int) -> tuple[EdgeRow, ...]:
    """The edges that an engram will have."""
    return plan.edges.get(source, state.edges.out(source))


def _wake(state: State, plan: Plan, after: After) -> None:
    """Links that wait for a target find it among what this commit made, or left alone."""
    keys: set[str] = set()
    for changed in after.changed():
        keys |= keys_of_engram(changed, after.aliases(changed.no))
        before = state.entries.get(changed.no)
        if before is not None:  # a name that it gives up may now be the only one of another
            keys |= keys_of_engram(before, state.names.aliases(before.no))
        for original in after.succeeded_by(changed.no):
            gone = after.get(original)
            if gone is not None:
                keys |= keys_of_engram(gone, ())
    resolve_again(state, plan, after, state.edges.waiting(keys) - set(plan.contents), keys)


def resolve_again(
    state: State,
    plan: Plan,
    after: After,
    sources: Iterable[int],
    keys: Collection[str] | None = None,
) -> None:
    """Plan new targets for those edges of some engrams that wait for one: for one under these
    names (None: under any)."""
    for source in sorted(sources):
        entry = after.get(source)
        if entry is None or not is_live(entry):
            continue
        rows = _planned(state, plan, source)
        now = tuple(
            _woken(state, plan, after, entry, row)
            if keys is None or not keys_of_target(row.written, row.heading).isdisjoint(keys)
            else row
            for row in rows
        )
        if now != rows:
            plan.edges[source] = now


def _woken(state: State, plan: Plan, after: After, entry: Entry, row: EdgeRow) -> EdgeRow:
    if row.origin == "link" or _settled(row, after):
        return row
    found = resolve(link_of(row, _to_kind(state, entry, row)), entry, after)
    if found is None or found == row.target:
        return row
    return replace(row, target=found, updated_ns=plan.now_ns)


def _settled(row: EdgeRow, after: After) -> bool:
    """Does the edge stay with the target that it has?"""
    return row.target not in (DANGLING, row.source) and after.stands(row.target)


def _to_kind(state: State, entry: Entry, row: EdgeRow) -> str | None:
    """The kind that the link field of this relation leads to."""
    kind = state.catalogue.kind(entry.kind)
    if row.origin != "field" or kind is None:
        return None
    led = [field.to for field in kind.fields.values() if field.link == row.relation]
    return led[0] if len(led) == 1 else None


def _key(relation: str, written: str, heading: str, origin: str) -> Key:
    return (relation, written, heading, origin)
