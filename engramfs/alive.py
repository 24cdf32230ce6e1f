"""What /proc tells of other processes: does one still exist, does it have a file open?"""

from __future__ import annotations

from pathlib import Path


def alive(pid: int) -> bool:
    """True for a process that runs or sleeps; a zombie has closed its files already."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123  (at each foreign close)
            status = file.read()
    except OSError:
        return False
    return status[status.rfind(b")") + 2 : status.rfind(b")") + 3] not in (b"Z", b"X", b"x")


def holds(pid: int, end: str) -> bool:
    """Has the process a descriptor of a file whose path ends so? True if it cannot be told.

    Only the links are read: touching what they lead to could be a call to our own mount.
    """
    try:
        links = list(Path(f"/proc/{pid}/fd").iterdir())
    except PermissionError:
        return True
    except OSError:
        return False
    for link in links:
        try:
            if str(link.readlink()).endswith(end):
                return True
        except OSError:
            continue  # closed meanwhile
    return False


def working_directory(pid: int) -> str | None:
    """The path of the directory that a process works in; None if it cannot be told."""
    try:
        return str(Path(f"/proc/{pid}/cwd").readlink())
    except OSError:
        return None
