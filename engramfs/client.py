"""How a command reaches a store: through the socket of the process that holds it, or by opening it.

Either way the same functions of `engramfs.commands` run; users never have to know.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Protocol

from engine.errors import EngineError, StoreHeld
from engramfs import lock, wire
from engramfs.commands import Host, perform
from engramfs.errors import FsError
from engramfs.opening import open_engine, require_store
from engramfs.settings import Settings

_CONNECT_SECONDS = 30.0  # a server that just started reads the store first
_FOREIGN_SECONDS = 2.0  # a program that has the database open and is none of ours


class Call(Protocol):
    """One command of an open connection. Raises Failed."""

    def __call__(
        self,
        command: str,
        arguments: wire.Message,
        progress: Callable[[wire.Message], None] = ...,
    ) -> wire.Message: ...


def _quiet(_: wire.Message) -> None:
    """Nobody watches the progress."""


@contextmanager
def connection(
    settings: Settings,
    namespace: list[list[str]] | None,
    *,
    make: bool = False,
    re_embed: bool = False,
) -> Iterator[Call]:
    """Reach the store of the settings for any number of commands.

    `namespace` None is the whole store. `make` makes a store where there is none;
    `re_embed` drops another model's vectors, for which a store is not opened otherwise.
    Raises Failed: exit code 3 for a store that cannot be read, 4 for one that is held by a
    process that does not answer.
    """
    deadline = time.monotonic() + _CONNECT_SECONDS
    foreign = time.monotonic() + _FOREIGN_SECONDS
    while True:
        who = lock.holder(settings.store)
        if who is not None and who.socket:
            stream = _connect(settings.store)
            if stream is not None:
                with closing(stream):
                    yield _through(stream, namespace)
                return
        elif who is None:
            if not make:
                require_store(settings.store)
            try:
                engine = open_engine(settings, re_embed=re_embed)
            except StoreHeld as error:
                if lock.holder(settings.store) is None and time.monotonic() > foreign:
                    raise wire.failure(error) from error
                # else somebody was faster: look who
            except EngineError as error:
                raise wire.failure(error) from error
            else:
                shown = settings.text("id_in_file") == "shown"
                host = Host(engine, settings.store, settings.namespace(), show_id=shown)
                try:
                    yield _directly(host, namespace)
                finally:
                    engine.close()
                return
        if who is not None and time.monotonic() > deadline:
            raise wire.failure(lock.held_by(settings.store, who))
        time.sleep(0.05)


def _connect(store: Path) -> wire.Stream | None:
    """A stream to the holder; None when it does not listen (any more)."""
    try:
        client = wire.connect(store / lock.SOCKET)
    except OSError:
        return None
    with client:
        return client.makefile("rwb")


def _through(stream: wire.Stream, namespace: list[list[str]] | None) -> Call:
    def call(
        command: str,
        arguments: wire.Message,
        progress: Callable[[wire.Message], None] = _quiet,
    ) -> wire.Message:
        try:
            wire.send(stream, {"command": command, "namespace": namespace, "arguments": arguments})
            while (answer := wire.receive(stream)) is not None:
                if "progress" in answer:
                    progress(answer["progress"])
                elif "error" in answer:
                    raise wire.Failed(answer["error"]["message"], answer["error"]["exit"])
                else:
                    result: wire.Message = answer["result"]
                    return result
        except (OSError, ValueError) as error:
            raise wire.Failed(f"the connection to the store's server broke: {error}") from error
        raise wire.Failed("the store's server ended before it answered")

    return call


def _directly(host: Host, namespace: list[list[str]] | None) -> Call:
    def call(
        command: str,
        arguments: wire.Message,
        progress: Callable[[wire.Message], None] = _quiet,
    ) -> wire.Message:
        request = {"command": command, "namespace": namespace, "arguments": arguments}
        try:
            return perform(host, request, progress)
        except (EngineError, FsError) as error:
            raise wire.failure(error) from error

    return call
