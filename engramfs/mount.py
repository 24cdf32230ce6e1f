"""The composition root: settings -> engine -> trees -> FUSE loops, and a clean end.

One process serves one store at one mountpoint, or in roots mode at one for each kind. The main
thread owns the signals; each mountpoint is served by libfuse's threads. This process never touches
its own mountpoints: it would wait for itself for good.
"""

from __future__ import annotations

import logging
import os
import queue
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from engine.namespace import Scope
from engramfs import lock, mounts
from engramfs.commands import Host
from engramfs.control import ControlFiles, ControlSettings
from engramfs.errors import FsError
from engramfs.fuse import Adapter, Options
from engramfs.kinds_watch import watching
from engramfs.launch import fusermount
from engramfs.opening import open_engine, read_kinds
from engramfs.overlay import PlainFiles, directory_name
from engramfs.points import Point, points
from engramfs.server import Server
from engramfs.settings import Settings
from engramfs.tree import Tree, TreeSettings
from engramfs.wire import Failed

if TYPE_CHECKING:
    from engine.engine import Engine

log = logging.getLogger("engramfs.mount")

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_LAST_CALLS_SECONDS = 2.0
_SWITCH_SECONDS = 0.0005
_LOOP = "fuse "  # begins the names of the threads that wait in libfuse


def serve(settings: Settings, ready: Callable[[], None]) -> None:
    """Mount and serve until a signal or an unmount; calls `ready` when every mountpoint answers.

    Raises FsError, Failed or an engine error when it cannot begin; whatever was begun is undone.
    The process ends here when programs still have files open: libfuse's threads cannot be stopped.
    """
    where = points(settings)
    paths = [point.path for point in where]
    if shutil.which("fusermount3") is None:
        raise FsError("ENODEV", "fusermount3 is missing", "install it with: apt-get install fuse3")
    if not Path("/dev/fuse").exists():
        raise FsError(
            "ENODEV",
            "this machine has no /dev/fuse",
            "load it with: modprobe fuse; a container must be given the device",
        )
    mounts.check_paths(
        settings.store,
        paths,
        {"kinds file": settings.text("kinds"), "model": settings.text("model")},
    )
    # A background thread that computes lets a call wait for so long; 5 ms is Python's default.
    sys.setswitchinterval(_SWITCH_SECONDS)
    wake, ended = socket.socketpair()
    with _signals(ended.fileno()):
        kinds = read_kinds(settings)
        engine = open_engine(settings, kinds)
        try:
            _serve(settings, engine, kinds, where, wake, ended, ready)
        finally:
            engine.close()
            log.info("closed")
    if any(thread.name.startswith(_LOOP) for thread in threading.enumerate()):
        logging.shutdown()
        os._exit(0)


def _serve(
    settings: Settings,
    engine: Engine,
    kinds: str | None,
    where: Sequence[Point],
    wake: socket.socket,
    ended: socket.socket,
    ready: Callable[[], None],
) -> None:
    namespace = settings.namespace()
    scope = Scope(namespace, exact=True)
    only = settings.names("only_kinds")
    shown = frozenset(_kind(engine, name) for name in only) if only else None
    show_id = settings.text("id_in_file") == "shown"
    paths = tuple(point.path for point in where)
    roots = {point.path: _kind(engine, point.kind) for point in where if point.kind is not None}
    # As they were given and as they really are: links to engrams are typed in both ways.
    spelled = tuple(
        (roots.get(path), each)
        for path in paths
        for each in dict.fromkeys((path, os.path.realpath(path)))
    )
    names = tuple(Point(path, kind) for kind, path in spelled)
    host = Host(engine, settings.store, namespace, paths, show_id, points=names)
    options = Options(
        allow_other=settings.flag("allow_other"),
        read_only=settings.flag("read_only"),
        permissions=os.geteuid() != 0,
        source=os.path.realpath(settings.store),
    )
    with ExitStack() as stack:
        overlay = PlainFiles(settings.store / "overlay" / directory_name(namespace))
        stack.callback(overlay.close)
        loops = []
        for point in where:
            root = roots.get(point.path)
            read_only = settings.flag("read_only")
            about = ControlSettings(point.path, root, shown, show_id, read_only)
            control = ControlFiles(engine, scope, about, packs=host.packs)
            stack.callback(control.close)
            look = replace(_tree_settings(settings, root, shown), mountpoints=spelled)
            tree = Tree(engine, scope, overlay, control, look)
            loop = _Loop(tree, point.path, options, ended)
            stack.callback(loop.join, _LAST_CALLS_SECONDS)
            stack.callback(tree.shutdown)
            stack.callback(loop.unmount)
            loops.append(loop)
        for loop in loops:
            # One after the other: two helpers of auto_unmount that are started at once inherit
            # each other's end of the pipe by which they learn of our end, and wait for ever.
            loop.start()
            loop.await_ready()
        server = Server(host, settings.store / lock.SOCKET)
        server.start()
        stack.callback(server.stop)
        stack.enter_context(watching(settings, engine, scope, kinds))
        lock.announce(settings.store, host.mountpoints, socket=True)
        log.info("mounted at %s", ", ".join(host.mountpoints))
        ready()
        byte = wake.recv(1)[0]  # a signal, or 0: a loop has ended
        log.info("ending: %s", signal.Signals(byte).name if byte else "unmounted")


def _kind(engine: Engine, name: str) -> str:
    """The catalogue's spelling of a kind that the user named; an open catalogue makes it."""
    if engine.catalogue.open and engine.catalogue.kind(name) is None:
        engine.make_kind(name)
    found = engine.catalogue.kind(name) or engine.catalogue.by_directory(name)
    if found is None or not found.parent:
        known = ", ".join(kind.name for kind in engine.catalogue.parents()) or "none"
        raise Failed(f"there is no kind {name} (the kinds are: {known})", 2)
    return found.name


def _tree_settings(
    settings: Settings, root: str | None, shown: frozenset[str] | None
) -> TreeSettings:
    mask = os.umask(0o022)
    os.umask(mask)
    return TreeSettings(
        root_kind=root,
        only_kinds=shown,
        show_id=settings.text("id_in_file") == "shown",
        file_bytes=settings.config().document_bytes,
        on_conflict=settings.text("on_conflict"),
        read_only=settings.flag("read_only"),
        rewrite_links=settings.flag("rewrite_links"),
        umask=mask,
        uid=os.getuid(),
        gid=os.getgid(),
    )


class _Loop:
    """One mountpoint, served by a thread that waits in libfuse."""

    def __init__(self, tree: Tree, path: str, options: Options, ended: socket.socket) -> None:
        self._tree = tree
        self._path = path
        self._options = options
        self._ended = ended
        self._news: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=f"{_LOOP}{path}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def await_ready(self) -> None:
        """Return when the kernel has greeted the mount; raises what went wrong instead."""
        problem = self._news.get()
        if problem is not None:
            raise problem

    def _run(self) -> None:
        try:
            Adapter(self._tree, self._path, self._options, lambda: self._news.put(None))
        except RuntimeError as error:
            # 8 says that the loop was ended from outside, which is how it ends.
            if error.args != (8,):
                log.error("libfuse ended with %s", error)
        except BaseException as error:
            log.exception("the mount at %s ended", self._path)
            self._news.put(error)
        finally:
            # Whoever still waits for the mount to be ready learns that it never will be.
            self._news.put(FsError("EIO", f"libfuse could not mount {self._path}"))
            self._ended.send(b"\0")

    def unmount(self) -> None:
        """Take the mount away at once; files that are open end with the process."""
        if self._thread.is_alive():
            try:
                fusermount("-u", "-z", self._path)
            except FsError as error:
                log.warning("could not unmount %s: %s", self._path, error)

    def join(self, seconds: float) -> None:
        self._thread.join(seconds)


@contextmanager
def _signals(descriptor: int) -> Iterator[None]:
    """Write a byte to `descriptor` at each signal that ends the mount, whatever thread gets it.

    libfuse leaves a signal alone that has a handler already.
    """

    def noted(number: int, _: FrameType | None) -> None:
        """The byte says it all."""

    os.set_blocking(descriptor, False)
    former = {number: signal.signal(number, noted) for number in _SIGNALS}
    previous = signal.set_wakeup_fd(descriptor, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(previous)
        for number, handler in former.items():
            signal.signal(number, handler)


def log_to_stderr() -> None:
    """Send the log of the whole process to standard error, one line an event."""
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
