"""What the commands share: the group, its options, settings, and the way to ask a store."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from engramfs import wire

F = TypeVar("F", bound=Callable[..., Any])


def default_store() -> Path:
    """The store where none is named: the platform's directory for data."""
    import platformdirs

    return Path(platformdirs.user_data_dir("engramfs"))


def _path(_: click.Context, __: click.Parameter, value: str | None) -> Path | None:
    """An empty path, as an unset variable leaves it, would be the current directory."""
    if value == "":
        raise click.BadParameter("it is empty")
    return None if value is None else Path(value)


def store_options(command: F) -> F:
    """`--store` and `--namespace`, which every command has."""
    command = click.option(
        "--namespace",
        multiple=True,
        metavar="NAME=VALUE",
        help="Only engrams with this attribute; may be repeated.",
    )(command)
    return click.option(
        "--store",
        type=click.Path(file_okay=False),
        callback=_path,
        envvar="ENGRAMFS_STORE",
        metavar="DIR",
        help="The store's directory. Default: $ENGRAMFS_STORE, else the platform's data directory.",
    )(command)


def settings_of(store: Path | None, namespace: tuple[str, ...], **flags: object) -> Any:
    """The settings of one command."""
    from engramfs.settings import load

    place = (store or default_store()).absolute()
    return load(place, {"namespace": namespace or None, **flags}, os.environ)


def attributes(settings: Any, *, whole: bool) -> list[list[str]] | None:
    """The namespace as a request carries it; none named: the whole store, or the empty one."""
    named = settings.namespace()
    return None if whole and not named else [list(pair) for pair in named]


def ask(
    command: str,
    store: Path | None,
    namespace: tuple[str, ...],
    arguments: wire.Message,
    *,
    make: bool = False,
) -> wire.Message:
    """Run one command on the store, wherever it is open."""
    from engramfs.client import connection

    settings = settings_of(store, namespace)
    with connection(settings, attributes(settings, whole=True), make=make) as call:
        return call(command, arguments)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="engramfs")
def group() -> None:
    """A filesystem whose files are knowledge objects."""
