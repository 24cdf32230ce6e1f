"""`engramfs import`: read Markdown files and put them into a kind, in batches.

Bytes go in as they are, or not at all: a file that would be refused when written in the mount is
reported with its reasons and not altered.
"""

from __future__ import annotations

import base64
import errno
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from engine.slug import nfc
from engramfs.cli_options import attributes, group, settings_of, store_options
from engramfs.cli_progress import bar
from engramfs.wire import Failed, Message

_BATCH_FILES = 1000
_BATCH_CHARACTERS = 11 * 1024 * 1024  # of base64: 8 MiB


@dataclass(frozen=True, slots=True)
class Found:
    """A Markdown file to import, and the place it gets."""

    path: Path
    shown: str  # relative to the imported directory
    directory: str  # of the kind
    name: str  # file-name stem


@dataclass(frozen=True, slots=True)
class Plan:
    """What an import would do. `outside`: Markdown in no kind's directory; `plain`: other files;
    `refused`: those that cannot get a place of their own, each with the reason."""

    files: tuple[Found, ...]
    outside: tuple[str, ...]
    plain: int
    refused: tuple[tuple[str, str], ...] = ()


def plan(root: Path, kind: str | None) -> Plan:
    """Which files below `root` go where; names that begin with a dot are passed over.

    With a kind, every `*.md` at any depth goes into it under its stem; where two would get the same
    name, each gets its path joined by `-`. Without one, the first directory is the kind. A file
    whose name is taken all the same is refused: the second would replace the first in silence.
    """
    markdown: list[tuple[Path, tuple[str, ...]]] = []
    outside: list[str] = []
    plain = 0
    for directory, directories, names in os.walk(root):
        directories[:] = sorted(name for name in directories if not name.startswith("."))
        for name in sorted(names):
            path = Path(directory, name)
            parts = path.relative_to(root).parts
            if name.startswith("."):
                continue
            if not name.endswith(".md"):
                plain += 1
            elif kind is None and len(parts) < 2:
                outside.append(name)
            else:
                markdown.append((path, parts))
    keyed = [(path, parts, *_place(parts, kind)) for path, parts in markdown]
    times = Counter((directory, stem.casefold()) for _, _, directory, stem in keyed)
    files: list[Found] = []
    refused: list[tuple[str, str]] = []
    taken: dict[tuple[str, str], str] = {}
    for path, parts, directory, stem in keyed:
        inner = parts if kind is not None else parts[1:]
        name = stem if times[directory, stem.casefold()] == 1 else "-".join(inner)[:-3]
        shown = "/".join(parts)
        if any("\ud800" <= character <= "\udfff" for character in shown):
            refused.append((shown, "the name is not valid UTF-8 (rename the file)"))
            continue
        first = taken.setdefault((directory.casefold(), nfc(name)), shown)
        if first != shown:
            refused.append(
                (shown, f"{first} has the same place, {directory}/{name}.md (rename one)")
            )
            continue
        files.append(Found(path, shown, directory, name))
    return Plan(tuple(files), tuple(outside), plain, tuple(refused))


def _place(parts: tuple[str, ...], kind: str | None) -> tuple[str, str]:
    return kind if kind is not None else parts[0], parts[-1][:-3]


def _read(file: Found) -> Message:
    """A file as a request carries it. OSError when it cannot be read."""
    # A fifo or a device that is called x.md would be waited for.
    descriptor = os.open(file.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as held:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is no file")
        return {
            "path": file.shown,
            "directory": file.directory,
            "name": file.name,
            "source": base64.b64encode(held.read()).decode(),
            "mtime_ns": status.st_mtime_ns,
            "mode": status.st_mode & 0o777,
        }


def _batches(
    files: tuple[Found, ...], unread: Callable[[str, str], None]
) -> Iterator[list[Message]]:
    """The files as requests carry them, read as late as possible; `unread` hears of the others."""
    batch: list[Message] = []
    size = 0
    for file in files:
        try:
            message = _read(file)
        except OSError as error:
            unread(file.shown, f"it cannot be read: {error.strerror}")
            continue
        batch.append(message)
        size += len(message["source"])
        if len(batch) >= _BATCH_FILES or size >= _BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _elsewhere(path: Path) -> str:
    """What other tools see in a refused file. python-frontmatter re-formats: it only looks."""
    import frontmatter

    try:
        keys = list(frontmatter.load(str(path)).metadata)
    except Exception as error:  # noqa: BLE001  (it raises whatever its parser raises)
        return f"other tools cannot read its front matter either: {str(error).splitlines()[0]}"
    shown = ", ".join(str(key) for key in keys) or "none"
    return f"other tools read these keys in it: {shown}"


@group.command("import")
@click.argument("directory", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--kind", help="Put every file into this kind. Default: its first directory.")
@store_options
def import_(
    directory: Path, kind: str | None, store: Path | None, namespace: tuple[str, ...]
) -> None:
    """Put the Markdown files below DIRECTORY into the store."""
    from engramfs import lock, mounts
    from engramfs.client import connection
    from engramfs.render import one_line

    settings = settings_of(store, namespace)
    who = lock.holder(settings.store)
    under = mounts.under_a_mount(str(directory), who.mountpoints if who else ())
    if under is not None:
        raise Failed(f"{directory} lies in the store's own mount {under}; import from elsewhere")
    found = plan(directory.absolute(), kind)
    outcomes: Counter[str] = Counter()

    def say(path: str, reason: str) -> None:
        click.echo(one_line(f"{path}: {reason}"), err=True)

    def refuse(path: str, reason: str) -> None:
        outcomes["refused"] += 1
        say(path, reason)

    for path, reason in found.refused:
        refuse(path, reason)
    with (
        connection(settings, attributes(settings, whole=False), make=True) as call,
        bar("importing") as advance,
    ):
        total = len(found.files) + len(found.refused)
        for batch in _batches(found.files, refuse):
            for path, outcome, reasons in call("import", {"files": batch})["results"]:
                outcomes[outcome] += 1
                for reason in reasons:
                    say(path, reason)
                if outcome == "refused":
                    say(path, _elsewhere(directory / path))
            advance(outcomes.total(), total)
    for name in found.outside:
        say(name, "stands in no directory of a kind; name one with --kind")
    if found.plain:
        click.echo(f"{found.plain} other files were left alone; copy attachments into the mount")
    counts = ("new", "changed", "unchanged", "refused")
    click.echo(
        f"imported {outcomes.total() - outcomes['refused']} of {total} documents: "
        + ", ".join(f"{outcomes[name]} {name}" for name in counts)
    )
    if outcomes["refused"] or found.outside:
        raise Failed(f"{outcomes['refused'] + len(found.outside)} documents were not imported")
