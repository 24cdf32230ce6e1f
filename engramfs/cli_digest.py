"""`engramfs digest`: which digests there are, what one says, and making them anew."""

from __future__ import annotations

from pathlib import Path

import click

from engine.slug import SUFFIX
from engine.visible import one_line
from engramfs.cli_options import ask, attributes, group, settings_of, store_options
from engramfs.wire import Failed


@group.group()
def digest() -> None:
    """What the engrams of a kind, of a community of linked ones, or of all say in short."""


@digest.command("map")
@click.option("--known", metavar="HASH", default="", help="Of a map: `unchanged` if it still is.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@store_options
def map_(known: str, as_json: bool, store: Path | None, namespace: tuple[str, ...]) -> None:
    """The digests with their hashes, and of those that are stale or failed why."""
    pairs = [("known", known), *([("format", "json")] if as_json else [])]
    click.echo(ask("digest", store, namespace, {"ask": "map", "pairs": pairs})["text"], nl=False)


@digest.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@store_options
def show(name: str, as_json: bool, store: Path | None, namespace: tuple[str, ...]) -> None:
    """The digest NAME and what is below it. One that is out of date is not shown."""
    arguments = {"ask": "show", "name": name.removesuffix(SUFFIX), "json": as_json}
    click.echo(ask("digest", store, namespace, arguments)["text"], nl=False)


@digest.command()
@click.argument("name", required=False)
@click.option("--anew", is_flag=True, help="Summarise what has not changed as well.")
@store_options
def rebuild(name: str | None, anew: bool, store: Path | None, namespace: tuple[str, ...]) -> None:
    """Make stale digests, or the one NAME alone, and wait for that."""
    from engramfs.cli_progress import bar
    from engramfs.client import connection

    settings = settings_of(store, namespace)
    named = None if name is None else name.removesuffix(SUFFIX)
    with (
        connection(settings, attributes(settings, whole=True)) as call,
        bar("summarising") as advance,
    ):
        found = call(
            "digest",
            {"ask": "rebuild", "name": named, "anew": anew},
            lambda message: advance(message["done"], message["total"]),
        )
    failed = found["failed"]
    for each, why in failed:
        click.echo(f"{one_line(each)}: {one_line(why)}", err=True)
    made = found["made"]
    if named is None:
        click.echo(f"{made} digest{'' if made == 1 else 's'} up to date")
    elif made:
        click.echo(f"{one_line(named)} is up to date")
    if failed:
        raise Failed(f"{len(failed)} digest{'' if len(failed) == 1 else 's'} could not be made")
