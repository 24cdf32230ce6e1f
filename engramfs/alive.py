"""Does a process still exist?"""

from __future__ import annotations


def alive(pid: int) -> bool:
    """True for a process that runs or sleeps; a zombie has closed its files already."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123  (at each foreign close)
            status = file.read()
    except OSError:
        return False
    return status[status.rfind(b")") + 2 : status.rfind(b")") + 3] not in (b"Z", b"X", b"x")
