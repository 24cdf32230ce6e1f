"""The store's socket: how other commands use a store that this process holds."""

from __future__ import annotations

import logging
import socket
import threading
from contextlib import suppress
from pathlib import Path

from engine.errors import EngineError
from engramfs import wire
from engramfs.commands import Host, perform
from engramfs.errors import FsError

log = logging.getLogger("engramfs.server")

_LAST_COMMANDS_SECONDS = 30.0


class Server:
    """Listens from `start` to `stop`."""

    def __init__(self, host: Host, path: Path) -> None:
        self._host = host
        self._path = path
        self._changed = threading.Condition()
        self._connections: set[socket.socket] = set()
        self._running = 0  # commands
        self._listener: socket.socket | None = None

    def start(self) -> None:
        """Bind the socket and accept in the background."""
        self._listener = wire.listen(self._path)
        threading.Thread(target=self._accept, args=(self._listener,), name="socket").start()

    def stop(self) -> None:
        """Accept nothing more, let running commands end, and close every connection."""
        listener, self._listener = self._listener, None
        if listener is None:
            return
        listener.shutdown(socket.SHUT_RDWR)  # wakes the accepting thread
        listener.close()
        self._path.unlink(missing_ok=True)
        with self._changed:
            if not self._changed.wait_for(lambda: self._running == 0, _LAST_COMMANDS_SECONDS):
                log.warning("%d commands still ran when the store was closed", self._running)
            for connection in self._connections:
                with suppress(OSError):  # the other side closed it first
                    connection.shutdown(socket.SHUT_RDWR)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return  # `stop` closed it
            with self._changed:
                self._connections.add(connection)
            threading.Thread(
                target=self._serve, args=(connection,), name="command", daemon=True
            ).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection.makefile("rwb") as stream:
                while (request := wire.receive(stream)) is not None:
                    with self._changed:
                        if self._listener is None:
                            return
                        self._running += 1
                    try:
                        self._answer(stream, request)
                    finally:
                        with self._changed:
                            self._running -= 1
                            self._changed.notify_all()
        except (OSError, ValueError) as error:
            log.info("a command's connection ended: %s", error)
        finally:
            with self._changed:
                self._connections.discard(connection)
            connection.close()

    def _answer(self, stream: wire.Stream, request: wire.Message) -> None:
        """Run one command and send what comes of it."""

        def progress(message: wire.Message) -> None:
            wire.send(stream, {"progress": message})

        try:
            answer: wire.Message = {"result": perform(self._host, request, progress)}
        except (wire.Failed, EngineError, FsError) as error:
            failed = wire.failure(error)
            answer = {"error": {"message": str(failed), "exit": failed.exit_code}}
        except OSError:
            raise  # the connection
        except Exception:
            log.exception("the command %s failed", request.get("command"))
            answer = {"error": {"message": "the server failed; its log says how", "exit": 1}}
        wire.send(stream, answer)
