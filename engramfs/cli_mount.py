"""`engramfs mount` and `engramfs umount`."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from engine.errors import EngineError
from engramfs import wire
from engramfs.cli_options import group, settings_of, store_options
from engramfs.errors import FsError
from engramfs.wire import Failed

if TYPE_CHECKING:
    from engramfs.settings import Settings

log = logging.getLogger("engramfs")


@group.command()
@click.argument("mountpoint", required=False)
@store_options
@click.option("--mode", type=click.Choice(["prefix", "roots"]), help="One mountpoint, or many.")
@click.option("--root", "roots", multiple=True, metavar="KIND=DIR", help="Roots mode; repeatable.")
@click.option("--kinds", type=click.Path(), metavar="FILE", help="The kinds.yaml to apply.")
@click.option("--only-kinds", metavar="A,B", help="Show only these kinds.")
@click.option(
    "--embed", type=click.Choice(["background", "inline", "off"]), help="When vectors are made."
)
@click.option(
    "--id-in-file", type=click.Choice(["shown", "never"]), help="Does reading show the id line?"
)
@click.option("--read-only", is_flag=True, default=None, help="Nothing can be written.")
@click.option("--allow-other", is_flag=True, default=None, help="Other users may enter.")
@click.option("--foreground", is_flag=True, help="Stay, and log to standard error.")
@click.option("--ready-fd", type=int, hidden=True)
def mount(
    mountpoint: str | None,
    store: Path | None,
    namespace: tuple[str, ...],
    mode: str | None,
    roots: tuple[str, ...],
    kinds: str | None,
    only_kinds: str | None,
    embed: str | None,
    id_in_file: str | None,
    read_only: bool | None,
    allow_other: bool | None,
    foreground: bool,
    ready_fd: int | None,
) -> None:
    """Mount the store at MOUNTPOINT (default: /engram), or each kind at a root of its own."""
    if mountpoint == "":
        raise Failed("the mountpoint is empty", 2)
    if roots and mode is None:
        mode = "roots"
    settings = settings_of(
        store,
        namespace,
        mountpoint=mountpoint,
        mode=mode,
        roots=roots or None,
        kinds=kinds,
        only_kinds=only_kinds,
        embed=embed,
        id_in_file=id_in_file,
        read_only=read_only,
        allow_other=allow_other,
    )
    if settings.text("mode") == "roots" and mountpoint is not None:
        raise Failed("roots mode takes --root KIND=DIR instead of a mountpoint", 2)
    if settings.text("mode") == "prefix" and settings.names("roots") and roots:
        raise Failed("--root belongs to --mode roots", 2)
    if ready_fd is not None:
        os.set_inheritable(ready_fd, False)  # not for fusermount3, which outlives us
        _serve_for(settings, ready_fd)
    elif foreground:
        _prepare(settings)
        _serve(settings)
    else:
        _start(settings)


def _prepare(settings: Settings) -> list[str]:
    """Everything that can be said before the store is opened. Returns the mountpoints."""
    from engramfs import launch, mounts
    from engramfs.points import points

    settings.namespace()
    paths = [point.path for point in points(settings)]
    launch.await_free(settings.store)
    mounts.check_paths(
        settings.store,
        paths,
        {"kinds file": settings.text("kinds"), "model": settings.text("model")},
    )
    launch.prepare(paths)
    return paths


def _start(settings: Settings) -> None:
    """Start a server process and return when its mount answers."""
    from engramfs import launch

    paths = _prepare(settings)
    arguments = server_arguments(settings, paths)
    pid = launch.start(settings.store, arguments, settings.environment())
    launch.await_answer(paths)
    click.echo(f"mounted {' and '.join(paths)} for the store {settings.store} (process {pid})")


def server_arguments(settings: Settings, paths: Sequence[str]) -> list[str]:
    """The arguments of `engramfs mount` that stand for these settings, whatever the directory."""
    arguments = ["--store", str(settings.store), "--mode", settings.text("mode")]
    for root in settings.names("roots") if settings.text("mode") == "roots" else ():
        arguments += ["--root", root]
    if settings.text("kinds"):
        arguments += ["--kinds", settings.text("kinds")]
    if settings.names("only_kinds"):
        arguments += ["--only-kinds", ",".join(settings.names("only_kinds"))]
    for attribute in settings.names("namespace"):
        arguments += ["--namespace", attribute]
    arguments += ["--embed", settings.text("embed"), "--id-in-file", settings.text("id_in_file")]
    for name in ("read_only", "allow_other"):
        if settings.flag(name):
            arguments.append("--" + name.replace("_", "-"))
    return arguments + (["--", *paths] if settings.text("mode") == "prefix" else [])


def _serve(settings: Settings) -> None:
    from engramfs.mount import log_to_stderr, serve

    log_to_stderr()
    serve(settings, lambda: None)


def _serve_for(settings: Settings, ready_fd: int) -> None:
    """Serve, and tell the command that waits at the other end of the pipe how it went."""
    told = False

    def tell(message: wire.Message) -> None:
        nonlocal told
        told = True
        with os.fdopen(ready_fd, "w", encoding="utf-8") as stream:
            stream.write(json.dumps(message) + "\n")

    try:
        from engramfs.mount import log_to_stderr, serve

        log_to_stderr()
        serve(settings, lambda: tell({"ready": True}))
    except (Failed, EngineError, FsError) as error:
        failed = wire.failure(error)
        log.error("%s", failed)
        if not told:
            tell({"error": str(failed), "exit": failed.exit_code})
        raise click.exceptions.Exit(failed.exit_code) from error
    except Exception:
        if not told:
            tell({"error": f"the server failed (see {settings.store}/log)", "exit": 1})
        raise


@group.command()
@click.argument("mountpoint")
@store_options
def umount(mountpoint: str, store: Path | None, namespace: tuple[str, ...]) -> None:
    """Unmount MOUNTPOINT and wait until everything is committed. In roots mode: all roots."""
    from engramfs import launch

    launch.unmount(str(Path(mountpoint).absolute()))
