"""What is mounted where, and which paths a mount must never meet; all by real path."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engramfs.errors import FsError

FILESYSTEM = "fuse.engramfs"
_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class MountLine:
    """One line of /proc/self/mountinfo."""

    mountpoint: str
    filesystem: str
    source: str  # of our own mounts: the store's directory


def parse_mountinfo(text: str) -> list[MountLine]:
    """The mounts of /proc/self/mountinfo, in order; later ones lie over earlier ones."""
    found = []
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields, more = before.split(" "), after.split(" ")
        if len(fields) > 4 and len(more) > 1:
            found.append(MountLine(_plain(fields[4]), more[0], _plain(more[1])))
    return found


def mounts() -> list[MountLine]:
    """What this process sees mounted."""
    return parse_mountinfo(Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape"))


def mounted_at(mountpoint: str) -> MountLine | None:
    """What is mounted exactly there, the uppermost; None when nothing is."""
    found = [line for line in mounts() if line.mountpoint == mountpoint]
    return found[-1] if found else None


def is_below(path: str, directory: str) -> bool:
    """Is the real path `path` the directory or something in it?"""
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def check_paths(store: Path, mountpoints: Sequence[str], others: Mapping[str, str]) -> None:
    """Refuse mountpoints at which the server would meet its own mount, and hang for good.

    `others` maps what a file is ("kinds file") to its path; "" where there is none.
    Raises FsError with one sentence.
    """
    real_store = os.path.realpath(store)
    reals = [os.path.realpath(mountpoint) for mountpoint in mountpoints]
    for mountpoint, real in zip(mountpoints, reals, strict=True):
        if real == real_store:
            raise FsError(
                "EINVAL",
                f"the mountpoint {mountpoint} is the store itself",
                "give the store a directory of its own with --store",
            )
        if is_below(real_store, real):
            raise FsError(
                "EINVAL",
                f"the store {store} would lie under the mountpoint {mountpoint}",
                "give one of them another directory",
            )
        if is_below(real, f"{real_store}/overlay"):
            raise FsError(
                "EINVAL",
                f"the mountpoint {mountpoint} lies in the store's overlay",
                "give another mountpoint",
            )
        for what, path in others.items():
            if path and is_below(os.path.realpath(path), real):
                raise FsError(
                    "EINVAL",
                    f"the {what} {path} lies under the mountpoint {mountpoint}",
                    "keep it outside of the mount",
                )
    for first, second in _pairs(reals):
        if is_below(first, second):
            raise FsError("EINVAL", f"the mountpoints {first} and {second} lie in each other")


def under_a_mount(path: str, mountpoints: Iterable[str]) -> str | None:
    """The mountpoint under which the path lies; None when it lies under none of them."""
    real = os.path.realpath(path)
    return next((one for one in mountpoints if is_below(real, os.path.realpath(one))), None)


def _pairs(values: Sequence[str]) -> list[tuple[str, str]]:
    return [(a, b) for i, a in enumerate(values) for j, b in enumerate(values) if i != j]


def _plain(field: str) -> str:
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), field)
