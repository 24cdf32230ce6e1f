"""`mv --rewrite`: the engrams that link to one which moves name its new place from now on.

Edges follow their engram anyway; this is for those who read the text. A link that names the engram
by something that did not change (its id, its title, an alias) is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from engine.document import parse
from engine.edges import link_of
from engine.embedding import embed_missing
from engine.entries import is_live, place_of
from engine.errors import EngineError, Invalid
from engine.link_text import exchange
from engine.linking import After
from engine.links import every_link, resolve
from engine.model import Entry, Link
from engine.objects import hosted_of
from engine.plan import Plan
from engine.prepare import judge, prepare
from engine.rows import content_row
from engine.slug import fold
from engine.state import State

_ENDINGS = (".md", ".html", "")


def rewrite_linkers(
    state: State, plan: Plan, before: Entry, moved: Entry, by: str
) -> tuple[Entry, ...]:
    """Add to the plan of a rename, whose other rows are complete, new versions of the engrams that
    link to the moved one by its old place. Returns them as they will be.

    One that cannot be read, or that its kind would refuse today, is left as it is.
    """
    after = After(state, plan)
    planned = {row.engram for row in plan.rows}  # among them one that the rename replaces
    return tuple(
        made
        for source in state.edges.sources(before.no)
        if source not in planned
        for made in _rewritten(state, plan, after, source, before, moved, by)
    )


def _rewritten(
    state: State, plan: Plan, after: After, no: int, before: Entry, moved: Entry, by: str
) -> Iterator[Entry]:
    entry = state.entries.get(no)
    if entry is None or not is_live(entry) or entry.namespace != before.namespace:
        return
    rows = [row for row in state.edges.out(no) if row.target == before.no and row.origin != "link"]
    olds = {row.written: link_of(row) for row in rows if _names_place(row.written, before)}
    if not olds:
        return
    try:
        source = state.sources.written(entry)
        text = source.decode()
        for old, link in olds.items():
            text = _exchanged(state, after, entry, text, old, link, before, moved)
        if text == source.decode():
            return
        document = parse(text.encode(), state.config)
        head = judge(document, state.bench(), entry.kind, entry.slug, entry.name)
        content = prepare(document, head, entry.id, state.bench(), hosted_of(state, entry, None))
    except EngineError:
        return
    plan.vectors.update(embed_missing(state, content))
    row = content_row(
        state, plan, content,
        no=no,
        event="update",
        by=by,
        place=place_of(entry),
        name=entry.name,
        created_ns=entry.created_ns,
        updated_ns=plan.now_ns,
        inode=entry.inode,
        mode=entry.mode,
        mtime_ns=plan.now_ns,
    )  # fmt: skip
    made = plan.add(row, content)
    plan.tell("update", made)
    yield made


def _exchanged(
    state: State,
    after: After,
    entry: Entry,
    text: str,
    old: str,
    link: Link,
    before: Entry,
    moved: Entry,
) -> str:
    source = text.encode()
    front = len(source[: max(parse(source, state.config).front_end, 0)].decode())
    for new in _spellings(state, entry, old, before, moved):
        if new == old:
            return text
        led = Link(link.relation, new, link.heading, link.origin, None, None)
        if resolve(led, entry, after) != moved.no:
            continue
        done = exchange(text, old, new, front, partial(_links, state, entry))
        if done != text:
            return done
    return text


def _links(state: State, entry: Entry, text: str) -> list[Link]:
    document = parse(text.encode(), state.config)
    kind = state.catalogue.kind(entry.kind)
    if kind is None:
        raise Invalid()
    head = judge(document, state.bench(), entry.kind, entry.slug, entry.name)
    return list(every_link(head, kind, document))


def _names_place(written: str, before: Entry) -> bool:
    """Is it the slug, or a path that ends in it?"""
    last = written.strip().rstrip("/").rpartition("/")[2]
    names = {fold(before.slug), fold(before.name)}
    return any(fold(last.removesuffix(ending)) in names for ending in _ENDINGS)


def _spellings(state: State, linker: Entry, old: str, before: Entry, moved: Entry) -> Iterator[str]:
    """How a target in the style of the old one could name the new place, the likest first."""
    prefix, slash, last = old.rpartition("/")
    ending = next(ending for ending in _ENDINGS if last.endswith(ending))
    name = f"{moved.name}{ending}"
    directory = state.catalogue.directory(moved.kind)
    if moved.kind == before.kind:
        yield f"{prefix}{slash}{name}"
    parent, between, step = prefix.rpartition("/")
    if step.strip("."):
        yield f"{parent}{between}{directory}/{name}"
    if ending and moved.kind != linker.kind:
        yield f"../{directory}/{name}"  # as a path: other programs read it too
    yield name
    yield f"../{directory}/{name}" if ending else f"{directory}/{name}"
