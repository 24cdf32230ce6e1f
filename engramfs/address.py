"""Paths of a mount -> addresses, a closed union. Pure and total: every string has an address.

An address says what a name *would* be; whether something is there is for the tree to find out.
Names come as the binding hands them over: text, with surrogates where the bytes were no UTF-8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from engine.slug import MAX_NAME_BYTES, SUFFIX, name_problem, nfc
from engramfs.names import Asked, SpecialName, classify


@dataclass(frozen=True, slots=True)
class Root:
    """The mountpoint itself in prefix mode."""


@dataclass(frozen=True, slots=True)
class KindDirectory:
    """The directory of a kind; in roots mode `top` is True and it is the mountpoint itself."""

    kind: str  # the catalogue's spelling
    directory: str  # the directory's name, also the first part of overlay paths below it
    top: bool = False


@dataclass(frozen=True, slots=True)
class EngramFile:
    """`<slug>.md` directly in a kind's directory."""

    kind: str
    directory: str
    slug: str  # NFC: what names are compared by
    name: str  # the file-name stem as written


@dataclass(frozen=True, slots=True)
class Special:
    """A special name, at a mountpoint's root only; `rest` is the path below `.rejected`."""

    name: SpecialName
    request: str | None = None  # what stood behind `?` or `:`; None for the bare name
    rest: tuple[str, ...] = ()
    kind: str | None = None  # roots mode: the kind that the mountpoint is limited to


@dataclass(frozen=True, slots=True)
class Walk:
    """A path of what engrams make: `top` is `.graph`, `.views` (links to them) or `.digests`, and
    `steps` are the names below it."""

    top: str
    steps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plain:
    """A path of the overlay. `parts` begin at the overlay's root, in both modes."""

    parts: tuple[str, ...]
    in_kind: bool = False  # a direct entry of a kind's directory


@dataclass(frozen=True, slots=True)
class Misnamed:
    """A name under which nothing can be: ENOENT when looked up, `code` when created."""

    code: str
    sentence: str


Address = Root | KindDirectory | EngramFile | Special | Walk | Plain | Misnamed

WALKS = frozenset({".graph", ".views", ".digests"})


@dataclass(frozen=True, slots=True)
class Layout:
    """What the mount looks like: prefix mode, or roots mode when `root` is set.

    `kind_of` answers the name of the kind whose directory has that (NFC) name, or None.
    """

    kind_of: Callable[[str], str | None]
    root: KindDirectory | None = None

    def top(self) -> Root | KindDirectory:
        """The address of the mountpoint."""
        return self.root or Root()

    def parse(self, path: str) -> Address:
        """The address of an absolute path below the mountpoint; repeated slashes count once."""
        address: Address = self.top()
        for name in path.split("/"):
            if name:
                address = self.child(address, name)
        return address

    def child(self, parent: Address, name: str) -> Address:
        """The address of the entry `name` in the directory `parent`."""
        if name in ("", ".", "..") or "/" in name or "\0" in name:
            return Misnamed("EINVAL", f"{name!r} is not the name of a directory entry")
        match parent:
            case Root():
                return self._at_root(name)
            case KindDirectory():
                return self._in_kind(parent, name)
            case Plain(parts):
                return Plain((*parts, name))
            case Walk(top, steps):
                return Walk(top, (*steps, name))
            case Special(name=special, request=None) if special.name == ".rejected":
                return Special(special, None, (*parent.rest, name), parent.kind)
            case EngramFile():
                return Misnamed(
                    "ENOTDIR", "an engram is a file; parts and edges are never files in it"
                )
            case Special():
                return Misnamed("ENOTDIR", f"{parent.name.name} is a file")
            case Misnamed():
                return parent

    def _at_root(self, name: str) -> Address:
        asked = classify(name)
        if asked is not None:
            return _special(asked)
        kind = self.kind_of(nfc(name))
        if kind is not None:
            return KindDirectory(kind, nfc(name))
        return Plain((name,))

    def _in_kind(self, parent: KindDirectory, name: str) -> Address:
        asked = classify(name) if parent.top else None
        if asked is not None:
            return _special(asked, parent.kind)
        if name.startswith(".") or not name.endswith(SUFFIX):
            return Plain((parent.directory, name), in_kind=True)
        wrong = engram_name_fault(name)
        if wrong is not None:
            return wrong
        stem = name[: -len(SUFFIX)]
        return EngramFile(parent.kind, parent.directory, nfc(stem), stem)


def _special(asked: Asked, kind: str | None = None) -> Special | Walk:
    if asked.special.name in WALKS and asked.request is None:
        return Walk(asked.special.name)
    return Special(asked.special, asked.request, kind=kind)


def engram_name_fault(name: str) -> Misnamed | None:
    """Why `name` (with its `.md`) cannot name an engram; None when it can."""
    stem = name.removesuffix(SUFFIX)
    problem = name_problem(stem) or name_problem(nfc(stem))
    if problem is None:
        return None
    too_long = len(name.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES
    code = "ENAMETOOLONG" if too_long else "EINVAL"
    return Misnamed(code, f"{problem.message}: {problem.hint}")


def looks_like_engram(name: str) -> bool:
    """True for `x.md` in any case, unless it begins with a dot."""
    return not name.startswith(".") and name.lower().endswith(SUFFIX)


def forbidden_plain(address: Plain) -> str | None:
    """Why no plain file, directory, symlink or fifo may be made at `address`; None when one may.

    Notes in plain directories would silently never be indexed, so they fail loudly. Directories
    that begin with a dot (`.git`, `.obsidian`) may hold anything, and so may the root of prefix
    mode.
    """
    *directories, name = address.parts
    if not looks_like_engram(name):
        return None
    if address.in_kind:
        return (
            f"{name} would not be an engram: their names end in .md in small letters; "
            f"name it {name[: -len(SUFFIX)]}.md"
        )
    if not directories or any(part.startswith(".") for part in directories):
        return None
    return (
        f"{name} would never be indexed in the plain directory {'/'.join(directories)}; "
        "engrams live directly in the directory of a kind, so put it there"
    )


def forbidden_engram_shape(address: EngramFile, shape: str) -> str:
    """The sentence that refuses a directory, symlink or fifo (`shape`) at an engram's name."""
    return (
        f"{address.name}{SUFFIX} is the name of an engram, which is a regular file; "
        f"give the {shape} a name without {SUFFIX}"
    )


def shown_path(layout: Layout, kind_directory: str, name: str) -> str:
    """An engram's path relative to its mountpoint: `deal/acme.md`, or `acme.md` in roots mode."""
    return f"{name}{SUFFIX}" if layout.root is not None else f"{kind_directory}/{name}{SUFFIX}"


def fold(layout: Layout, names: Iterable[str]) -> Address:
    """The address reached by walking `names` down from the mountpoint."""
    address: Address = layout.top()
    for name in names:
        address = layout.child(address, name)
    return address
