"""The graph by command: make, remove and find edges, walk along them, rename, and look at it whole.

Engrams are named by id, as kind/slug, or by their path within a mount.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import click

from engine.visible import json_text
from engramfs.cli_options import F, ask, group, settings_of, store_options
from engramfs.wire import Failed, Message

_DIRECTIONS = ("out", "in", "both")


def _pairs(given: Iterable[tuple[str, object]]) -> list[tuple[str, str]]:
    """Options as the pairs of a request; those that were not given are left out."""
    return [
        (key, "on" if value is True else str(value))
        for key, value in given
        if value is not None and value is not False
    ]


def paths_of(words: Iterable[str]) -> dict[str, str]:
    """What the words would be as paths, here: the server stands elsewhere. Failed if not UTF-8."""
    found = {}
    for word in words:
        path = os.path.realpath(word)
        if any("\ud800" <= character <= "\udfff" for character in word):
            raise Failed(f"{word[:80]!a} is not UTF-8", 2)
        if not any("\ud800" <= character <= "\udfff" for character in path):
            found[word] = path
    return found


def _ask(
    question: str,
    store: Path | None,
    namespace: tuple[str, ...],
    words: Iterable[str],
    given: Iterable[tuple[str, object]],
    as_json: bool,
) -> None:
    """Ask the graph, or say something of an edge, and print the answer."""
    pairs = _pairs([*given, ("format", "json" if as_json else None)])
    arguments: Message = {"ask": question, "pairs": pairs, "paths": paths_of(words)}
    command = question if question in ("link", "unlink") else "graph"
    click.echo(ask(command, store, namespace, arguments)["text"], nl=False)


def _page(command: F) -> F:
    """Which of many, and the form."""
    command = click.option("--json", "as_json", is_flag=True, help="For programs.")(command)
    command = click.option("--offset", metavar="N", help="How many to pass over.")(command)
    return click.option("--limit", metavar="N", help="How many, 20 unless said.")(command)


def _way(command: F) -> F:
    """Which edges are walked."""
    command = click.option(
        "--direction", metavar="|".join(_DIRECTIONS), help="Of the edges; both unless said."
    )(command)
    return click.option("--relations", metavar="A,B", help="Only edges of these.")(command)


@group.command()
@click.argument("a")
@click.argument("relation")
@click.argument("b")
@click.option("--note", help="Why, in words; found by engramfs links.")
@click.option("--status", help="Any text.")
@click.option("--role", help="Any text.")
@click.option("--confidence", metavar="NUMBER", help="Above 0 and up to 1.")
@click.option("--evidence", metavar="ID", help="The id of what shows it.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@store_options
def link(
    a: str,
    relation: str,
    b: str,
    note: str | None,
    status: str | None,
    role: str | None,
    confidence: str | None,
    evidence: str | None,
    as_json: bool,
    store: Path | None,
    namespace: tuple[str, ...],
) -> None:
    """Make an edge from A to B, or give the one that is there another note."""
    given = (
        ("from", a), ("relation", relation), ("to", b), ("note", note), ("status", status),
        ("role", role), ("confidence", confidence), ("evidence_id", evidence),
    )  # fmt: skip
    _ask("link", store, namespace, (a, b), given, as_json)


@group.command()
@click.argument("a")
@click.argument("relation")
@click.argument("b")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@store_options
def unlink(
    a: str, relation: str, b: str, as_json: bool, store: Path | None, namespace: tuple[str, ...]
) -> None:
    """Remove the edge that link made from A to B."""
    given = (("from", a), ("relation", relation), ("to", b))
    _ask("unlink", store, namespace, (a, b), given, as_json)


@group.command()
@click.argument("refs", nargs=-1, required=True)
@_way
@click.option("--hops", metavar="N", help="1 to 4; 1 unless said.")
@click.option("--containment", is_flag=True, help="Their parts as well.")
@click.option("--recipe", metavar="NAME", help="As a recipe of kinds.yaml says.")
@_page
@store_options
def expand(
    refs: tuple[str, ...],
    relations: str | None,
    direction: str | None,
    hops: str | None,
    containment: bool,
    recipe: str | None,
    limit: str | None,
    offset: str | None,
    as_json: bool,
    store: Path | None,
    namespace: tuple[str, ...],
) -> None:
    """What the engrams REFS lead to."""
    given = (
        *(("of", ref) for ref in refs), ("relations", relations), ("hops", hops),
        ("direction", direction), ("containment", containment), ("recipe", recipe),
        ("limit", limit), ("offset", offset),
    )  # fmt: skip
    _ask("expand", store, namespace, refs, given, as_json)


@group.command()
@click.argument("text", nargs=-1)
@click.option("--relation", metavar="NAME", help="Only edges of this.")
@click.option("--of", "ref", metavar="REF", help="The edges of one engram.")
@_page
@store_options
def links(
    text: tuple[str, ...],
    relation: str | None,
    ref: str | None,
    limit: str | None,
    offset: str | None,
    as_json: bool,
    store: Path | None,
    namespace: tuple[str, ...],
) -> None:
    """Edges whose note has a word of TEXT, or all of a relation, or of an engram."""
    page = (("limit", limit), ("offset", offset))
    if ref is None:
        given = (("q", " ".join(text) or None), ("relation", relation), *page)
        _ask("find_links", store, namespace, (), given, as_json)
    elif text:
        raise Failed("TEXT and --of exclude one another: give one of them", 2)
    else:
        of = (("of", ref), ("relations", relation), *page)
        _ask("neighbours", store, namespace, (ref,), of, as_json)


@group.command()
@click.option("--rewrite/--no-rewrite", default=None, help="Links to it are to name the new place.")
@click.option("--replace", is_flag=True, help="An engram that is there goes.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@click.argument("a")
@click.argument("b")
@store_options
def mv(
    a: str,
    b: str,
    rewrite: bool | None,
    replace: bool,
    as_json: bool,
    store: Path | None,
    namespace: tuple[str, ...],
) -> None:
    """Rename the engram A to B: a place such as note/b, or the directory of a kind."""
    if rewrite is None:
        rewrite = settings_of(store, namespace).flag("rewrite_links")
    arguments: Message = {
        "a": a, "b": b, "rewrite": rewrite, "replace": replace, "paths": paths_of((a, b))
    }  # fmt: skip
    done = ask("mv", store, namespace, arguments)
    if as_json:
        click.echo(json_text(done))
        return
    from engramfs.render import one_line

    click.echo(one_line(f"{done['from']} -> {done['to']}"))
    for path in done["rewritten"]:
        click.echo(one_line(f"rewrote {path}"))


@group.group()
def graph() -> None:
    """Look at the graph as a whole."""


@group.command()
@click.argument("a")
@click.argument("b")
@_way
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@store_options
def path(
    a: str,
    b: str,
    relations: str | None,
    direction: str | None,
    as_json: bool,
    store: Path | None,
    namespace: tuple[str, ...],
) -> None:
    """A shortest way from A to B."""
    given = (("from", a), ("to", b), ("relations", relations), ("direction", direction))
    _ask("path", store, namespace, (a, b), given, as_json)


graph.add_command(path)  # a decorated function makes one command only: click takes its options


@graph.command()
@click.argument("refs", nargs=-1)
@_page
@store_options
def rank(
    refs: tuple[str, ...],
    limit: str | None,
    offset: str | None,
    as_json: bool,
    store: Path | None,
    namespace: tuple[str, ...],
) -> None:
    """The engrams with the highest PageRank; with REFS as seen from those."""
    given = (*(("of", ref) for ref in refs), ("limit", limit), ("offset", offset))
    _ask("rank", store, namespace, refs, given, as_json)


def _whole(ask_name: str, help_line: str) -> None:
    """A command that asks of the graph with nothing but a page."""

    @_page
    @store_options
    def command(
        limit: str | None,
        offset: str | None,
        as_json: bool,
        store: Path | None,
        namespace: tuple[str, ...],
    ) -> None:
        _ask(ask_name, store, namespace, (), (("limit", limit), ("offset", offset)), as_json)

    graph.command(ask_name.replace("_", "-"), help=help_line)(command)


_whole("communities", "Groups of engrams that are linked among themselves.")
_whole("orphans", "Engrams without an edge.")
_whole("dangling", "Links whose target is missing, or could be several.")
_whole("most_linked", "The engrams that most edges lead to.")
