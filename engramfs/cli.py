"""The command line. Nothing heavy is imported before a command needs it.

Exit codes: 0 done, 1 refused or any other failure, 2 usage, 3 damage found or a store that cannot
be read, 4 the store is held by another process.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import click

from engine.errors import EngineError
from engine.visible import json_text, visible
from engramfs import wire
from engramfs.cli_options import ask, attributes, group, settings_of, store_options
from engramfs.errors import FsError
from engramfs.wire import Failed


@group.command()
@store_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def status(store: Path | None, namespace: tuple[str, ...], as_json: bool) -> None:
    """Who serves the store, what it holds, what is still to be done."""
    found = ask("status", store, namespace, {})
    if as_json:
        click.echo(json_text(found, indent=2))
    else:
        from engramfs.render import status_text

        shown = {name: "none" if value is None else value for name, value in found.items()}
        click.echo(status_text(shown).decode(), nl=False)


@group.group()
def kinds() -> None:
    """Show or change the kinds of engrams."""


@kinds.command("show")
@store_options
def kinds_show(store: Path | None, namespace: tuple[str, ...]) -> None:
    """The kinds as YAML."""
    click.echo(ask("kinds show", store, namespace, {})["text"], nl=False)


@kinds.command("apply")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@store_options
def kinds_apply(file: Path, store: Path | None, namespace: tuple[str, ...]) -> None:
    """Apply the kinds.yaml FILE: all of it, or nothing."""
    try:
        text = file.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Failed(f"{file} is not UTF-8: {error}") from error
    changes = ask("kinds apply", store, namespace, {"text": text}, make=True)["changes"]
    for change in changes or ["nothing changed"]:
        click.echo(visible(change))


@group.command()
@store_options
@click.option("--repair", is_flag=True, help="Rebuild what can be rebuilt.")
def check(store: Path | None, namespace: tuple[str, ...], repair: bool) -> None:
    """Compare everything the store holds with itself. Exit code 3 when something is wrong."""
    problems = ask("check", store, namespace, {"repair": repair})["problems"]
    for problem in problems:
        click.echo(problem)
    if problems:
        raise Failed(f"{len(problems)} problems found", 3)
    click.echo("no problems found")


@group.command()
@store_options
@click.option("--embed", is_flag=True, help="Make all vectors anew, with the configured model.")
def reindex(store: Path | None, namespace: tuple[str, ...], embed: bool) -> None:
    """Rebuild everything that is derived from the engrams."""
    from engramfs.cli_progress import bar
    from engramfs.client import connection

    settings = settings_of(store, namespace)
    with (
        connection(settings, attributes(settings, whole=True), re_embed=embed) as call,
        bar("reindexing") as advance,
    ):
        found = call(
            "reindex",
            {"embed": embed},
            lambda message: advance(message["done"], message["total"]),
        )
    click.echo(f"reindexed {found['engrams']} engrams, {found['parts']} parts")
    if found["pending"]:
        click.echo(f"vectors still to be made: {found['pending']} (engramfs status counts them)")


@group.command()
@store_options
def config(store: Path | None, namespace: tuple[str, ...]) -> None:
    """Every setting, its value, and where that comes from."""
    from engramfs.settings import TABLE

    settings = settings_of(store, namespace)
    click.echo(f"# {settings.store}/config.toml")
    for name, setting in TABLE.items():
        choices = f" ({', '.join(setting.choices)})" if setting.choices else ""
        value = settings.values[name]
        shown = list(value) if isinstance(value, tuple) else value
        written = json.dumps(shown, ensure_ascii=False)
        click.echo(f"{name} = {written}  # {settings.sources[name]}: {setting.help}{choices}")


def main() -> None:
    """The console script: run, and turn whatever happens into one line and an exit code."""
    from engramfs import cli_ask, cli_digest, cli_import, cli_mount, cli_picture  # noqa: F401  (they add theirs)

    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command line and return the exit code."""
    try:
        return int(group.main(arguments, prog_name="engramfs", standalone_mode=False) or 0)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return 130
    except BrokenPipeError:
        # The reader of our output went away; do not complain when Python flushes it at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (Failed, EngineError, FsError) as error:
        failed = wire.failure(error)
        click.echo(visible(f"engramfs: {failed}"), err=True)
        return failed.exit_code
    except OSError as error:
        where = error.filename or "the system"
        click.echo(visible(f"engramfs: {where}: {error.strerror}"), err=True)
        return 1
