"""The graph by command: make, remove and find edges, walk along them, rename, and look at it whole.

Engrams are named by id, as kind/slug, or by their path within a mount.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

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
    words: Iterable[str],
    given: Iterable[tuple[str, object]],
    *,
    store: Path | None,
    namespace: tuple[str, ...],
    as_json: bool,
    **options: object,
) -> None:
    """Ask the graph, or say something of an edge, and print the answer. Options bear the names of
    the request's keys."""
    pairs = _pairs([*given, *options.items(), ("format", "json" if as_json else None)])
    arguments: Message = {"ask": question, "pairs": pairs, "paths": paths_of(words)}
    command = question if question in ("link", "unlink") else "graph"
    click.echo(ask(command, store, namespace, arguments)["text"], nl=False)


def _of(refs: Iterable[str]) -> list[tuple[str, str]]:
    return [("of", ref) for ref in refs]


_json = click.option("--json", "as_json", is_flag=True, help="For programs.")


def _page(command: F) -> F:
    """Which of many, and the form."""
    command = click.option("--offset", metavar="N", help="How many to pass over.")(_json(command))
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
@click.option("--evidence", "evidence_id", metavar="ID", help="The id of what shows it.")
@_json
@store_options
def link(a: str, relation: str, b: str, **options: Any) -> None:
    """Make an edge from A to B, or give the one that is there another note."""
    _ask("link", (a, b), (("from", a), ("relation", relation), ("to", b)), **options)


@group.command()
@click.argument("a")
@click.argument("relation")
@click.argument("b")
@_json
@store_options
def unlink(a: str, relation: str, b: str, **options: Any) -> None:
    """Remove the edge that link made from A to B."""
    _ask("unlink", (a, b), (("from", a), ("relation", relation), ("to", b)), **options)


@group.command()
@click.argument("refs", nargs=-1, required=True)
@_way
@click.option("--hops", metavar="N", help="1 to 4; 1 unless said.")
@click.option("--containment", is_flag=True, help="Their parts as well.")
@click.option("--recipe", metavar="NAME", help="As a recipe of kinds.yaml says.")
@_page
@store_options
def expand(refs: tuple[str, ...], **options: Any) -> None:
    """What the engrams REFS lead to."""
    _ask("expand", refs, _of(refs), **options)


@group.command()
@click.argument("text", nargs=-1)
@click.option("--relation", metavar="NAME", help="Only edges of this.")
@click.option("--of", "ref", metavar="REF", help="The edges of one engram.")
@_page
@store_options
def links(text: tuple[str, ...], relation: str | None, ref: str | None, **options: Any) -> None:
    """Edges whose note has a word of TEXT, or all of a relation, or of an engram."""
    if ref is None:
        _ask("find_links", (), (("q", " ".join(text) or None), ("relation", relation)), **options)
    elif text:
        raise Failed("TEXT and --of exclude one another: give one of them", 2)
    else:
        _ask("neighbours", (ref,), (("of", ref), ("relations", relation)), **options)


@group.command()
@click.option("--rewrite/--no-rewrite", default=None, help="Links to it are to name the new place.")
@click.option("--replace", is_flag=True, help="An engram that is there goes.")
@_json
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
@_json
@store_options
def path(a: str, b: str, **options: Any) -> None:
    """A shortest way from A to B."""
    _ask("path", (a, b), (("from", a), ("to", b)), **options)


graph.add_command(path)  # a decorated function makes one command only: click takes its options


@graph.command()
@click.argument("refs", nargs=-1)
@_page
@store_options
def rank(refs: tuple[str, ...], **options: Any) -> None:
    """The engrams with the highest PageRank; with REFS as seen from those."""
    _ask("rank", refs, _of(refs), **options)


def _whole(ask_name: str, help_line: str) -> None:
    """A command that asks of the graph with nothing but a page."""

    @_page
    @store_options
    def command(**options: Any) -> None:
        _ask(ask_name, (), (), **options)

    graph.command(ask_name.replace("_", "-"), help=help_line)(command)


_whole("communities", "Groups of engrams that are linked among themselves.")
_whole("orphans", "Engrams without an edge.")
_whole("dangling", "Links whose target is missing, or could be several.")
_whole("most_linked", "The engrams that most edges lead to.")
