"""The command's side of mount and umount: check, start the server, wait until the mount answers.

The server is a fresh process of its own session; it tells through a pipe that it is ready, or in
one line why not. Only the command ever touches the mountpoint: a server that did would hang.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from shlex import quote
from types import MappingProxyType
from typing import BinaryIO

from engramfs import lock, mounts
from engramfs.alive import alive
from engramfs.errors import FsError
from engramfs.wire import Failed

LOG = "log"
_LOG_BYTES = 8 * 1024 * 1024  # a larger log starts anew; the one before it is kept as log.1
_PROBE_SECONDS = 5.0
_COMMAND_SECONDS = 10.0
_EXITING = 0x4  # PF_EXITING in the flags of /proc/PID/stat
_KILL_BIT = 1 << (signal.SIGKILL - 1)
_END_SECONDS = 60.0  # committing and closing
_HELPER_SECONDS = 5.0


def prepare(mountpoints: Sequence[str]) -> None:
    """See that each mountpoint is a directory that can be mounted on; a stale mount is taken away.

    Raises FsError with one sentence.
    """
    for mountpoint in mountpoints:
        _wait(partial(_no_helper, mountpoint), _HELPER_SECONDS)
        found = mounts.mounted_at(os.path.realpath(mountpoint))
        if found is not None and found.filesystem == mounts.FILESYSTEM:
            _replace(mountpoint, found)
        if not os.path.lexists(mountpoint):
            raise FsError(
                "ENOENT",
                f"the mountpoint {mountpoint} does not exist",
                f"make it: mkdir -p {quote(mountpoint)}",
            )
        if not Path(mountpoint).is_dir():
            raise FsError("ENOTDIR", f"the mountpoint {mountpoint} is not a directory")


def _replace(mountpoint: str, found: mounts.MountLine) -> None:
    """Take away what a killed server left; a mount that answers is in use."""
    answer = probe(mountpoint)
    if answer == "alive":
        raise FsError(
            "EBUSY",
            f"{mountpoint} is mounted already, for the store {found.source}",
            f"unmount it with: engramfs umount {quote(mountpoint)}",
        )
    if answer == "hung":
        raise FsError(
            "EBUSY",
            f"the mount at {mountpoint} does not answer",
            f"end its server, or take it away with: fusermount3 -uz {quote(mountpoint)}",
        )
    fusermount("-u", "-z", mountpoint)


def probe(mountpoint: str) -> str:
    """ "alive", "stale" (its server is gone) or "hung", by listing the mountpoint in a child."""
    try:
        done = subprocess.run(
            ["ls", "-f", "--", mountpoint],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            timeout=_PROBE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return "hung"
    return "alive" if done.returncode == 0 else "stale"


def fusermount(*arguments: str) -> None:
    """Run fusermount3; FsError says what it said."""
    program = shutil.which("fusermount3")
    if program is None:
        raise FsError(
            "ENODEV", "fusermount3 is not on this machine", "install it with: apt-get install fuse3"
        )
    done = subprocess.run(
        [program, *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        env={**os.environ, "LC_ALL": "C"},
    )
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or ["no reason given"]
        raise FsError("EBUSY", said[-1])


def await_free(store: Path) -> None:
    """Return when nobody holds the store. A single command that does, and a server that was killed,
    are waited for, a while.

    Raises StoreHeld, which names the holder.
    """
    _wait(lambda: _stays_or_free(lock.holder(store)), _COMMAND_SECONDS)
    who = lock.holder(store)
    if who is not None:
        raise lock.held_by(store, who)


def _stays_or_free(who: lock.Holder | None) -> bool:
    return who is None or (bool(who.mountpoints) and not _is_killed(who.pid))


def _is_killed(pid: int) -> bool:
    """Is the process gone, ending, or about to be ended by a SIGKILL? (proc(5): stat, status)"""
    try:
        flags = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[6])
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (OSError, IndexError, ValueError):
        return True
    pending = [line.split()[1] for line in lines if line.startswith(("SigPnd:", "ShdPnd:"))]
    return bool(flags & _EXITING) or any(int(mask, 16) & _KILL_BIT for mask in pending)


def start(
    store: Path, arguments: Sequence[str], environment: Mapping[str, str] = MappingProxyType({})
) -> int:
    """Start the server and return its process number once it serves; Failed says why it does not.

    `arguments` are those of `engramfs mount`, complete and with absolute paths, as are the
    variables of `environment`, which it gets beside ours.
    """
    log = store / LOG
    opened = _open_log(log)
    reading, writing = os.pipe()
    with opened as output:
        begin = output.tell()
        server = subprocess.Popen(
            [
                *(sys.executable, "-m", "engramfs", "mount"),
                *("--foreground", "--ready-fd", str(writing)),
                *arguments,
            ],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=(writing,),
            start_new_session=True,
            cwd="/",
            env={**os.environ, **environment},
        )
    os.close(writing)
    try:
        said = _read_line(reading)
    except KeyboardInterrupt:
        server.terminate()
        raise
    if said is None:
        raise Failed(f"the server ended without a word (its log is {log})")
    message = json.loads(said)
    if "error" in message:
        server.wait()
        with log.open(encoding="utf-8", errors="replace") as lines:
            lines.seek(begin)
            why = [line.strip() for line in lines if line.startswith(("fuse: ", "fusermount3: "))]
        raise Failed(": ".join([message["error"], *why[-1:]]), message["exit"])
    return server.pid


def _open_log(log: Path) -> BinaryIO:
    """The log of the store, which is made where it is missing; Failed where that is not allowed."""
    try:
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if log.exists() and log.stat().st_size > _LOG_BYTES:
            log.replace(log.with_name(f"{LOG}.1"))
        return log.open("ab")
    except OSError as error:
        raise Failed(
            f"the store {log.parent} cannot be made or written: {error.strerror} (give another "
            "directory, or the right to write to this one)"
        ) from error


def await_answer(mountpoints: Sequence[str]) -> None:
    """Return when every mount answers; Failed after a while."""
    for mountpoint in mountpoints:
        if probe(mountpoint) != "alive":
            raise Failed(f"the mount at {mountpoint} does not answer")


def unmount(mountpoint: str) -> None:
    """Unmount, and return when the server has committed, closed the store and ended."""
    real = os.path.realpath(mountpoint)
    found = mounts.mounted_at(real)
    if found is None or found.filesystem != mounts.FILESYSTEM:
        raise Failed(f"{mountpoint} is not a mount of engramfs")
    store = Path(found.source)
    who = lock.holder(store)
    try:
        fusermount("-u", real)
    except FsError as error:
        if probe(mountpoint) == "alive":
            if "busy" not in error.message:
                raise Failed(f"{mountpoint} cannot be unmounted: {error.message}") from error
            raise Failed(
                f"{mountpoint} is in use: {error.message} (leave it and close its files, then "
                "try again)"
            ) from error
        fusermount("-u", "-z", real)
    if who is None:
        return

    def ended() -> bool:
        now = lock.holder(store)
        left = now is None or now.pid != who.pid
        return left and not alive(who.pid) and _no_helper(real)

    if not _wait(ended, _END_SECONDS):
        raise Failed(f"{mountpoint} is unmounted, but process {who.pid} has not ended yet")


def _no_helper(mountpoint: str) -> bool:
    """Is no fusermount3 of an earlier server still about to take this mountpoint away?

    With auto_unmount one waits beside each server and unmounts after it, whatever is mounted then.
    """
    wanted = os.fsencode(os.path.realpath(mountpoint))
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                words = Path(entry.path, "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue  # it ended
            if words[0].endswith(b"fusermount3") and wanted in words:
                return False
    return True


def _wait(condition: Callable[[], bool], seconds: float) -> bool:
    """Poll until the condition holds; False when it does not in time."""
    deadline = time.monotonic() + seconds
    pause = 0.005
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
        pause = min(pause * 1.5, 0.1)
    return True


def _read_line(descriptor: int) -> str | None:
    """One line from the pipe; None when it is closed without any."""
    with os.fdopen(descriptor, "r", encoding="utf-8") as stream:
        return stream.readline() or None
